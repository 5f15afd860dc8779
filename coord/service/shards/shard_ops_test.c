/* Finding, draining and evicting a shard, and the view of all of them. */
#include "coord/config/config_read.h"
#include "coord/service/shards/shard_drain.h"
#include "coord/service/shards/shard_evict.h"
#include "coord/service/shards/shards_view.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;
static struct service service;
static unsigned dones;
static struct pl_err failure;
static struct shard_info found;
static struct shard_drain_result drained;
static size_t leased_keys;
static char notes[256];

#define SHARD                                                                  \
	"{\"v\":1,\"id\":\"east-0\",\"instance\":"                             \
	"\"0123456789abcdef0123456789abcdef\",\"state\":\"active\",\"pid\":1," \
	"\"weight\":1000,\"started\":\"2026-11-21T05:00:00.000Z\",\"partitions\":[]}"

static void on_done(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	dones++;
	failure = err == NULL ? (struct pl_err){0} : *err;
}

static void on_find(void *ctx, const struct shard_info *shard, const struct pl_err *err)
{
	T_TRUE((shard == NULL) == (err != NULL));
	found = shard == NULL ? (struct shard_info){0} : *shard;
	on_done(ctx, err);
}

static void on_lease(void *ctx, const struct shard_lease *lease, const struct pl_err *err)
{
	T_TRUE((lease == NULL) == (err != NULL));
	leased_keys = lease == NULL ? 0 : lease->count;
	on_done(ctx, err);
}

static void on_drain(void *ctx, const struct shard_drain_result *result,
                     const struct pl_err *err)
{
	T_TRUE((result == NULL) == (err != NULL));
	drained = result == NULL ? (struct shard_drain_result){0} : *result;
	on_done(ctx, err);
}

static void up(void)
{
	kit_open(&kit, NULL);
	service = (struct service){
		.kv = kit.kv, .partitions = 8, .timeout_ms = 1000, .user = "ann@host"};
	dones = 0;
}

static enum pl_code run(void)
{
	T_EQ(dones, 0);
	kit_until(&kit, kit.now_ms + 10);
	T_EQ(dones, 1);
	dones = 0;
	return failure.code;
}

static enum pl_code find(const char *id)
{
	struct shard_find *running;

	T_OK(shard_find_start(&service, pl_span_str(id), on_find, NULL, &running,
	                      &kit.err),
	     &kit.err);
	return run();
}

T_CASE(a_shard_is_found_or_others_are_named)
{
	up();
	T_CODE(find("east-0"), PL_NOTFOUND, &failure);
	T_TRUE(strstr(failure.msg, "none at all") != NULL);
	(void)kit_put(&kit, "/shards/east-0", SHARD);
	T_CODE(find("east-0"), PL_OK, &failure);
	T_TRUE(!found.malformed && found.lease == 0);
	(void)kit_put(&kit, "/shards/east-0", "what");
	T_CODE(find("east-0"), PL_OK, &failure);
	T_TRUE(found.malformed);
	T_CODE(find("east-1"), PL_NOTFOUND, &failure);
	T_TRUE(strstr(failure.msg, "there is east-0") != NULL);
	kit_close(&kit);
}

static enum pl_code evict(void)
{
	struct shard_evict *running;

	found.member.id = PL_SPAN_LIT("east-0");
	T_OK(shard_evict_start(&service, &found, on_done, NULL, &running, &kit.err),
	     &kit.err);
	return run();
}

T_CASE(an_eviction_takes_all_that_is_under_the_lease)
{
	struct shard_evict *running;

	up();
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 7, 60), PL_OK);
	(void)kit_put_leased(&kit, "/shards/east-0", SHARD, 7);
	(void)kit_put_leased(&kit, "/partitions/0001/owner", "{}", 7);
	T_CODE(find("east-0"), PL_OK, &failure);
	T_EQ(found.lease, 7);
	T_OK(shard_lease_start(&service, 7, on_lease, NULL, &running, &kit.err),
	     &kit.err);
	T_CODE(run(), PL_OK, &failure);
	T_EQ(leased_keys, 2);
	T_CODE(evict(), PL_OK, &failure);
	T_CODE(find("east-0"), PL_NOTFOUND, &failure);
	found = (struct shard_info){.lease = 7};
	T_CODE(evict(), PL_OK, &failure); /* the lease is gone, as wanted */
	kit_close(&kit);
}

T_CASE(a_record_without_a_lease_is_deleted_unless_it_changed)
{
	up();
	(void)kit_put(&kit, "/shards/east-0", SHARD);
	T_CODE(find("east-0"), PL_OK, &failure);
	(void)kit_put(&kit, "/shards/east-0", SHARD);
	T_CODE(evict(), PL_CONFLICT, &failure);
	T_CODE(find("east-0"), PL_OK, &failure);
	T_CODE(evict(), PL_OK, &failure);
	T_CODE(find("east-0"), PL_NOTFOUND, &failure);
	kit_close(&kit);
}

static enum pl_code drain(const char *id, bool undrain, bool dry_run)
{
	const struct shard_drain_opts opts = {.id = pl_span_str(id),
	                                      .undrain = undrain,
	                                      .dry_run = dry_run,
	                                      .why = "",
	                                      .done = on_drain};
	struct shard_drain *running;

	T_OK(shard_drain_start(&service, &opts, &running, &kit.err), &kit.err);
	return run();
}

T_CASE(a_drain_is_a_version_of_the_configuration)
{
	up();
	T_CODE(drain("east-0", false, true), PL_OK, &failure);
	T_TRUE(drained.changed && drained.version == 0);
	T_CODE(drain("east-0", false, false), PL_OK, &failure);
	T_TRUE(drained.changed && drained.version == 1);
	T_CODE(drain("east-0", false, false), PL_OK, &failure);
	T_TRUE(!drained.changed && drained.version == 1);
	T_CODE(drain("east-0", true, false), PL_OK, &failure);
	T_TRUE(drained.changed && drained.version == 2);
	kit_close(&kit);
}

T_CASE(drains_at_the_same_time_are_both_stored)
{
	struct shard_drain_opts opts = {
		.id = PL_SPAN_LIT("east-0"), .why = "", .done = on_drain};
	struct shard_drain *running;

	up();
	T_OK(shard_drain_start(&service, &opts, &running, &kit.err), &kit.err);
	opts.id = PL_SPAN_LIT("east-1");
	T_OK(shard_drain_start(&service, &opts, &running, &kit.err), &kit.err);
	kit_until(&kit, 10);
	T_EQ(dones, 2);
	T_CODE(failure.code, PL_OK, &failure);
	T_EQ(drained.version, 2);
	kit_close(&kit);
}

T_CASE(cancel_ends_a_drain_through_done)
{
	const struct shard_drain_opts opts = {
		.id = PL_SPAN_LIT("east-0"), .why = "", .done = on_drain};
	struct shard_drain *running;

	up();
	T_OK(shard_drain_start(&service, &opts, &running, &kit.err), &kit.err);
	shard_drain_cancel(running);
	T_CODE(run(), PL_CANCELED, &failure);
	kit_close(&kit);
}

static void on_note(void *ctx, const struct shards_view_note *note)
{
	static const char *const words[] = {
		[SHARDS_VIEW_ALL] = "all",       [SHARDS_VIEW_SHARD] = "shard",
		[SHARDS_VIEW_OWNER] = "owner",   [SHARDS_VIEW_TROUBLE] = "trouble",
		[SHARDS_VIEW_FAILED] = "failed", [SHARDS_VIEW_STOPPED] = "stopped",
	};
	size_t len = strlen(notes);

	(void)ctx;
	(void)snprintf(notes + len, sizeof notes - len, "%s ", words[note->what]);
}

T_CASE(a_view_is_whole_when_all_parts_are_known)
{
	struct shards_view view;

	up();
	notes[0] = 0;
	(void)kit_put(&kit, "/shards/east-0", SHARD);
	T_OK(shards_view_open(&view, kit.kv, SHARDS_VIEW_ROSTER | SHARDS_VIEW_OWNERS,
	                      on_note, NULL, &kit.err),
	     &kit.err);
	T_EQ(view.state, SHARDS_LOADING);
	T_STR(notes, "");
	kit_until(&kit, kit.now_ms + 100);
	T_EQ(view.state, SHARDS_WHOLE);
	T_STR(notes, "all ");
	T_EQ(roster_count(view.roster), 1);
	(void)kit_put(&kit, "/partitions/0001/owner", "{\"v\":1,\"shard\":\"east-0\"}");
	kit_until(&kit, kit.now_ms + 100);
	T_STR(notes, "all owner ");
	shards_view_stop(&view);
	T_STR(notes, "all owner ");
	kit_until(&kit, kit.now_ms + 100);
	T_STR(notes, "all owner stopped ");
	kit_close(&kit);
}
