/* Lists of shards, of partitions and of conflicts, once and as they change. */
#include <stdarg.h>

#include "coord/service/shards/conflict_watch.h"
#include "coord/service/shards/partition_list.h"
#include "coord/service/shards/shard_drain.h"
#include "coord/service/shards/shard_list.h"
#include "tests/harness/torture.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { PARTITIONS = 3 };

static struct kit kit;
static struct service service;
static unsigned dones, samples;
static struct pl_err failure;
static char story[4096];

#define SHARD(id)                                                                       \
	"{\"v\":1,\"id\":\"" id "\",\"instance\":\"0123456789abcdef0123456789abcdef\"," \
	"\"state\":\"active\",\"pid\":1,\"weight\":1000,\"started\":"                   \
	"\"2026-11-21T05:00:00.000Z\",\"partitions\":[]}"

PL_PRINTF(1, 2) static void tell(const char *fmt, ...)
{
	size_t len = strlen(story);
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(story + len, sizeof story - len, fmt, args);
	va_end(args);
}

/* Checks all that was told since. */
static void told(const char *words)
{
	T_STR(story, words);
	story[0] = 0;
}

static void on_done(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	dones++;
	failure = err == NULL ? (struct pl_err){0} : *err;
}

static void on_shard(void *ctx, const struct shard_list_note *note)
{
	(void)ctx;
	T_EQ(dones, 0);
	switch (note->what) {
	case SHARD_LIST_BEGIN:
		tell("[ ");
		break;
	case SHARD_LIST_SHARD:
		T_TRUE(note->entry != NULL);
		tell(PL_SPAN_FMT "%s ", PL_SPAN_ARG(note->id),
		     note->drain ? "(drain)" : "");
		break;
	case SHARD_LIST_END:
		tell("%u] ", note->count);
		break;
	case SHARD_LIST_MISSING:
		tell("missing " PL_SPAN_FMT " ", PL_SPAN_ARG(note->id));
		break;
	case SHARD_LIST_GONE:
		tell("-" PL_SPAN_FMT " ", PL_SPAN_ARG(note->id));
		break;
	case SHARD_LIST_TROUBLE:
		tell("trouble ");
		break;
	}
}

static void on_partition(void *ctx, const struct partition_list_note *note)
{
	(void)ctx;
	T_EQ(dones, 0);
	switch (note->what) {
	case PARTITION_LIST_BEGIN:
		tell("[ ");
		break;
	case PARTITION_LIST_PARTITION:
		if (note->stray)
			tell("stray " PL_SPAN_FMT " ", PL_SPAN_ARG(note->key));
		else
			tell("%u=%s>" PL_SPAN_FMT " ", note->partition,
			     note->entry == NULL      ? ""
			     : note->entry->malformed ? "malformed"
			                              : note->entry->owner.shard,
			     PL_SPAN_ARG(note->target));
		break;
	case PARTITION_LIST_SHARE:
		tell("%s" PL_SPAN_FMT "=%u/%u ", note->share->state,
		     PL_SPAN_ARG(note->share->shard), note->share->partitions,
		     note->share->target);
		break;
	case PARTITION_LIST_END:
		tell("] ");
		break;
	case PARTITION_LIST_GONE:
		tell("-" PL_SPAN_FMT " ", PL_SPAN_ARG(note->key));
		break;
	case PARTITION_LIST_TROUBLE:
		tell("trouble ");
		break;
	}
}

static void run(void)
{
	kit_until(&kit, kit.now_ms + 100);
}

static void up(void)
{
	kit_open(&kit, NULL);
	service = (struct service){.kv = kit.kv,
	                           .partitions = PARTITIONS,
	                           .timeout_ms = 1000,
	                           .user = "ann@host"};
	dones = samples = 0;
	story[0] = 0;
	(void)kit_put(&kit, "/shards/east-0", SHARD("east-0"));
	(void)kit_put(&kit, "/shards/east-1", SHARD("east-1"));
	(void)kit_put(&kit, "/partitions/0001/owner", "{\"v\":1,\"shard\":\"east-0\"}");
}

static void on_drained(void *ctx, const struct shard_drain_result *result,
                       const struct pl_err *err)
{
	(void)ctx, (void)result;
	T_OK(err == NULL ? PL_OK : err->code, err);
}

static void drain(const char *id)
{
	const struct shard_drain_opts opts = {
		.id = pl_span_str(id), .why = "", .done = on_drained};
	struct shard_drain *running;

	T_OK(shard_drain_start(&service, &opts, &running, &kit.err), &kit.err);
	run();
}

/* -- shards ------------------------------------------------------------------------- */

static struct shard_list *list_shards(bool follow)
{
	const struct shard_list_opts opts = {
		.follow = follow, .note = on_shard, .done = on_done};
	struct shard_list *list;

	T_OK(shard_list_start(&service, &opts, &list, &kit.err), &kit.err);
	told("");
	T_EQ(dones, 0);
	run();
	return list;
}

T_CASE(shards_are_listed_with_the_drains_that_are_wanted)
{
	up();
	drain("east-1");
	drain("west-0");
	(void)list_shards(false);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	told("[ east-0 east-1(drain) 2] missing west-0 ");
	kit_close(&kit);
}

T_CASE(a_list_of_shards_follows_changes_until_it_is_canceled)
{
	struct shard_list *list;

	up();
	list = list_shards(true);
	told("[ east-0 east-1 2] ");
	(void)kit_put(&kit, "/shards/west-0", SHARD("west-0"));
	run();
	told("west-0 ");
	(void)kit_delete(&kit, kv_key(PL_SPAN_LIT("/shards/west-0")));
	run();
	told("-west-0 ");
	drain("east-0"); /* anything may be different then */
	told("[ east-0(drain) east-1 2] ");
	T_EQ(dones, 0);
	shard_list_cancel(list);
	T_EQ(dones, 0);
	run();
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_CANCELED, &failure);
	kit_close(&kit);
}

/* -- partitions --------------------------------------------------------------------- */

static struct partition_list *list_partitions(bool follow, bool targets, bool shares)
{
	const struct partition_list_opts opts = {.follow = follow,
	                                         .targets = targets,
	                                         .shares = shares,
	                                         .note = on_partition,
	                                         .done = on_done};
	struct partition_list *list;

	T_OK(partition_list_start(&service, &opts, &list, &kit.err), &kit.err);
	told("");
	T_EQ(dones, 0);
	run();
	return list;
}

T_CASE(partitions_are_listed_with_their_owners)
{
	up();
	(void)kit_put(&kit, "/partitions/0002/owner", "[]");
	(void)kit_put(&kit, "/partitions/0007/owner", "{\"v\":1,\"shard\":\"x\"}");
	(void)list_partitions(false, false, false);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	told("[ 0=> 1=east-0> 2=malformed> stray /partitions/0007/owner ] ");
	kit_close(&kit);
}

T_CASE(partitions_are_listed_with_their_targets)
{
	up();
	(void)kit_delete(&kit, kv_key(PL_SPAN_LIT("/shards/east-1")));
	(void)list_partitions(false, true, false);
	T_EQ(dones, 1);
	told("[ 0=>east-0 1=east-0>east-0 2=>east-0 ] ");
	kit_close(&kit);
}

T_CASE(partitions_are_counted_by_shard)
{
	struct partition_list *list;

	up();
	(void)kit_delete(&kit, kv_key(PL_SPAN_LIT("/shards/east-1")));
	list = list_partitions(true, false, true);
	told("[ ownedeast-0=1/3 free=2/0 ] ");
	(void)kit_put(&kit, "/partitions/0002/owner", "{\"v\":1,\"shard\":\"east-0\"}");
	run();
	told("[ ownedeast-0=2/3 free=1/0 ] ");
	partition_list_cancel(list);
	run();
	T_EQ(dones, 1);
	kit_close(&kit);
}

T_CASE(a_list_of_partitions_follows_changes_until_it_is_canceled)
{
	struct partition_list *list;

	up();
	list = list_partitions(true, false, false);
	told("[ 0=> 1=east-0> 2=> ] ");
	(void)kit_put(&kit, "/partitions/0002/owner", "{\"v\":1,\"shard\":\"east-1\"}");
	run();
	told("2=east-1> ");
	(void)kit_put(&kit, "/partitions/0009/owner", "{\"v\":1,\"shard\":\"x\"}");
	(void)kit_delete(&kit, kv_key(PL_SPAN_LIT("/partitions/0009/owner")));
	(void)kit_delete(&kit, kv_key(PL_SPAN_LIT("/partitions/0001/owner")));
	run();
	told("stray /partitions/0009/owner -/partitions/0009/owner 1=> ");
	T_EQ(dones, 0);
	partition_list_cancel(list);
	partition_list_cancel(list);
	run();
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_CANCELED, &failure);
	kit_close(&kit);
}

/* -- conflicts ------------------------------------------------------------------------ */

static int64_t sampled_ms;

static void on_sample(void *ctx, const struct conflict_stats *stats, uint32_t shards)
{
	(void)ctx;
	T_EQ(shards, 2);
	sampled_ms = stats->now_ms;
	samples++;
}

static struct conflict_watch *watch_conflicts(uint64_t every_ms)
{
	const struct conflict_watch_opts opts = {.every_ms = every_ms,
	                                         .wall_ms = 5000,
	                                         .sample = on_sample,
	                                         .done = on_done};
	struct conflict_watch *watch;

	T_OK(conflict_watch_start(&service, &opts, &watch, &kit.err), &kit.err);
	T_EQ(samples + dones, 0);
	kit_until(&kit, kit.now_ms + 50);
	return watch;
}

T_CASE(conflicts_are_sampled_once)
{
	up();
	(void)watch_conflicts(0);
	T_EQ(samples, 1);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	kit_close(&kit);
}

T_CASE(conflicts_are_sampled_again_and_again)
{
	struct conflict_watch *watch;
	int64_t first;

	up();
	watch = watch_conflicts(1000);
	T_EQ(samples, 1);
	first = sampled_ms;
	kit_until(&kit, kit.now_ms + 3000);
	T_EQ(samples, 4);
	T_EQ(sampled_ms, first + 3000);
	conflict_watch_cancel(watch);
	kit_until(&kit, kit.now_ms + 3000);
	T_EQ(samples, 4);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_CANCELED, &failure);
	kit_close(&kit);
}

/* -- failures -------------------------------------------------------------------------- */

T_CASE(a_store_that_does_not_answer_ends_a_list_in_time)
{
	const struct faulty_rule slow = {.what = FAULTY_SLOW_REQUEST,
	                                 .per_mille = 1000,
	                                 .delay_min_ms = 60000,
	                                 .delay_max_ms = 60000};
	const struct shard_list_opts opts = {.note = on_shard, .done = on_done};
	struct shard_list *list;

	up();
	T_OK(faulty_open(kit.kv, 1, &slow, 1, &kit.kv, &kit.err), &kit.err);
	service.kv = kit.kv;
	T_OK(shard_list_start(&service, &opts, &list, &kit.err), &kit.err);
	kit_until(&kit, kit.now_ms + 999);
	T_EQ(dones, 0);
	kit_until(&kit, kit.now_ms + 100);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_TIMEOUT, &failure);
	told("");
	kit_close(&kit);
}

static enum pl_code until_done(enum pl_code started)
{
	if (started != PL_OK)
		return failure.code;
	kit_until(&kit, kit.now_ms + 2000);
	T_EQ(dones, 1);
	dones = 0;
	return failure.code;
}

static enum pl_code list_some_partitions(void)
{
	const struct partition_list_opts opts = {
		.targets = true, .note = on_partition, .done = on_done};
	struct partition_list *list;

	return until_done(partition_list_start(&service, &opts, &list, &failure));
}

static enum pl_code list_some_shards(void)
{
	const struct shard_list_opts opts = {.note = on_shard, .done = on_done};
	struct shard_list *list;

	return until_done(shard_list_start(&service, &opts, &list, &failure));
}

static enum pl_code sample_conflicts(void)
{
	const struct conflict_watch_opts opts = {.sample = on_sample, .done = on_done};
	struct conflict_watch *watch;

	return until_done(conflict_watch_start(&service, &opts, &watch, &failure));
}

T_CASE(a_failed_allocation_ends_a_list)
{
	up();
	t_torture(list_some_partitions, true);
	t_torture(list_some_shards, true);
	t_torture(sample_conflicts, true);
	kit_close(&kit);
}
