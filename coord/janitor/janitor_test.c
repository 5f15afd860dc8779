#include <stdio.h>

#include "coord/janitor/janitor.h"
#include "coord/janitor/pin.h"
#include "store/keys/keys.h"
#include "tests/harness/torture.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { LEASE = 500, KEEP = 1000, PIN_MAX = 60000 };

#define INTERVAL UINT64_C(10000)

static struct kit kit;
static struct kv *faulty; /* used by the janitor */
static struct elect *elect;
static struct janitor *janitor; /* NULL: stopped */
static bool elect_stopped;
static unsigned compactions, held, troubles, removals;
static int64_t compacted;
static char removed[2048]; /* "key (why) " */
static char held_by[KEYS_SIZE_MAX];

static void on_note(void *ctx, const struct janitor_note *note)
{
	size_t len = strlen(removed);

	(void)ctx;
	switch (note->what) {
	case JANITOR_COMPACTED:
		T_TRUE(note->revision > compacted);
		compacted = note->revision;
		compactions++;
		break;
	case JANITOR_HELD:
		held++;
		(void)snprintf(held_by, sizeof held_by, PL_SPAN_FMT,
		               PL_SPAN_ARG(note->key));
		break;
	case JANITOR_REMOVED:
		removals++;
		(void)snprintf(removed + len, sizeof removed - len, PL_SPAN_FMT " (%s)\n",
		               PL_SPAN_ARG(note->key), note->err->msg);
		break;
	case JANITOR_TROUBLE:
		T_TRUE(note->err->code != PL_OK);
		troubles++;
		break;
	case JANITOR_STOPPED:
		janitor = NULL;
		break;
	}
}

static void on_elect(void *ctx, const struct elect_note *note)
{
	(void)ctx;
	if (note->what == ELECT_LEAD && janitor != NULL)
		janitor_lead(janitor, true);
	if (note->what == ELECT_STEP_DOWN && janitor != NULL)
		janitor_lead(janitor, false);
	if (note->what == ELECT_STOPPED)
		elect_stopped = true;
}

static void run(uint64_t ms)
{
	kit_until(&kit, kit.now_ms + ms);
}

static void tune(void)
{
	struct config_value value;

	config_default(CONFIG_COORD, &value);
	value.coord.janitor.keep_revisions = KEEP;
	value.coord.janitor.interval_ms = INTERVAL;
	value.coord.janitor.pin_max_ms = PIN_MAX;
	value.coord.janitor.config_history = 3;
	janitor_config(janitor, &value.coord);
}

static void reset(void)
{
	compactions = held = troubles = removals = 0;
	compacted = 0;
	removed[0] = 0;
	elect_stopped = false;
}

static void begin(const struct faulty_rule *rules, size_t count)
{
	struct elect_opts opts = {.role = "janitor", .id = PL_SPAN_LIT("me"), .seed = 3};

	kit_open(&kit, NULL);
	reset();
	T_OK(memkv_session(kit.mem, &faulty, NULL), NULL);
	T_OK(faulty_open(faulty, 7, rules, count, &faulty, NULL), NULL);
	T_OK(elect_open(faulty, &opts, on_elect, NULL, &elect, NULL), NULL);
	T_OK(janitor_open(faulty, elect, 3, on_note, NULL, &janitor, NULL), NULL);
	tune();
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, LEASE, 1 << 20), PL_OK);
	(void)kit_put_leased(&kit, "/shards/me", "{}", LEASE);
	elect_session(elect, LEASE, UINT64_MAX);
	elect_campaign(elect, true, 0);
}

static void end(void)
{
	if (janitor != NULL)
		janitor_stop(janitor);
	run(10000);
	T_TRUE(janitor == NULL);
	elect_stop(elect, false);
	run(10000);
	T_TRUE(elect_stopped);
	kit_close_session(&kit, faulty);
	kit_close(&kit);
}

static int64_t writes(unsigned count)
{
	int64_t revision = 0;

	for (unsigned i = 0; i < count; i++)
		revision = kit_put(&kit, "x", "1");
	return revision;
}

static bool readable(int64_t revision)
{
	return kit_get_at(&kit, kv_key(kit_key("x")), revision) == PL_OK;
}

T_CASE(compacts_behind_the_writers)
{
	int64_t revision;

	begin(NULL, 0);
	revision = writes(3000);
	run(2000);
	T_EQ(compacted, revision + 1 - KEEP); /* the election wrote one revision */
	T_TRUE(readable(compacted) && !readable(compacted - 1));
	run(60000);
	T_EQ(compactions, 1); /* nothing was written */
	revision = writes(50);
	run(INTERVAL + 2000);
	T_EQ(compactions, 2);
	T_TRUE(readable(revision + 1 - KEEP));
	end();
}

static void put_leased(const char *key, const char *value, int64_t lease)
{
	struct kv_req req = kv_op_put_leased(kit_key(key), pl_span_str(value), lease);

	T_EQ(kit_call(&kit, &req), PL_OK);
}

T_CASE(never_past_a_pin)
{
	int64_t pinned;

	begin(NULL, 0);
	(void)writes(3000);
	run(2000);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 900, 1 << 20), PL_OK);
	put_leased("/pins/fsck", "{}", 900);
	pinned = kit.result.header.revision;
	for (unsigned i = 0; i < 20; i++) {
		(void)writes(300);
		run(1000);
		T_TRUE(readable(pinned));
	}
	T_EQ(held, 1);
	T_STR(held_by, "/pins/fsck");
	T_EQ(compacted, pinned - 1);
	T_EQ(kit_lease(&kit, KV_LEASE_REVOKE, 900, 0), PL_OK);
	run(2000);
	T_TRUE(!readable(pinned));
	end();
}

T_CASE(an_old_pin_is_ignored)
{
	int64_t pinned;

	begin(NULL, 0);
	pinned = kit_put(&kit, "/pins/by-hand", "forgotten");
	(void)writes(3000);
	run(PIN_MAX - 1000);
	T_TRUE(readable(pinned));
	T_EQ(compacted, pinned - 1);
	run(3000);
	T_TRUE(!readable(pinned));
	end();
}

T_CASE(only_the_leader)
{
	begin(NULL, 0);
	elect_campaign(elect, false, 0);
	(void)writes(3000);
	(void)kit_put(&kit, "/partitions/0001/owner", "by hand");
	run(60000);
	T_EQ(compactions + removals, 0);
	elect_campaign(elect, true, 0);
	run(60000);
	T_TRUE(compactions > 0);
	T_EQ(removals, 1);
	end();
}

static void config_version(unsigned version)
{
	char key[64], current[64];

	(void)snprintf(key, sizeof key, "/config/coord/%010u", version);
	(void)snprintf(current, sizeof current, "{\"v\":1,\"version\":%u}", version);
	(void)kit_put(&kit, key, "{}");
	(void)kit_put(&kit, "/config/coord/current", current);
}

static unsigned count_of(const char *prefix)
{
	T_EQ(kit_get_at(&kit, kv_prefix(kit_key(prefix)), 0), PL_OK);
	return (unsigned)kit.result.get.count;
}

T_CASE(garbage)
{
	begin(NULL, 0);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 900, 1 << 20), PL_OK);
	put_leased("/partitions/0001/owner", "{\"v\":1,\"shard\":\"s1\"}", 900);
	(void)kit_put(&kit, "/partitions/0002/owner", "{\"v\":1,\"shard\":\"s1\"}");
	(void)kit_put(&kit, "/partitions/strange", "not ours");
	put_leased("/leader/balancer", "{\"v\":1,\"shard\":\"s1\"}", 900);
	(void)kit_put(&kit, "/leader/connector.east", "malformed");
	put_leased("/shards/s1", "{}", 900);
	(void)kit_put(&kit, "/digests/s1", "{}");
	(void)kit_put(&kit, "/digests/gone", "{}");
	run(INTERVAL); /* one sweep: the digest has been seen once */
	T_STR(removed, "/partitions/0002/owner (has no lease, so no shard holds it)\n"
	               "/leader/connector.east (has no lease, so no shard holds it)\n");
	run(INTERVAL + 3000);
	T_STR(strchr(strchr(removed, '\n') + 1, '\n') + 1,
	      "/digests/gone (its shard is gone)\n");
	run(10 * INTERVAL);
	T_EQ(removals, 3);
	T_EQ(count_of("/partitions/"), 2);
	T_EQ(count_of("/leader/"), 2);
	T_EQ(count_of("/digests/"), 1);
	end();
}

T_CASE(history_is_trimmed)
{
	begin(NULL, 0);
	for (unsigned i = 1; i <= 200; i++)
		config_version(i);
	(void)kit_put(&kit, "/config/coord/5-by-hand", "?");
	run(5 * INTERVAL);
	T_EQ(count_of("/config/coord/00"), 3);
	T_STR(kit_show(&kit), "/config/coord/0000000198={} /config/coord/0000000199={} "
	                      "/config/coord/0000000200={}");
	/* An old version is made current by hand; it stays, however many versions come. */
	(void)kit_put(&kit, "/config/coord/current", "{\"v\":1,\"version\":198}");
	(void)kit_put(&kit, "/config/coord/0000000201", "{}");
	(void)kit_put(&kit, "/config/coord/0000000202", "{}");
	run(5 * INTERVAL);
	T_EQ(count_of("/config/coord/0000000198"), 1);
	T_EQ(count_of("/config/coord/0000000199"), 0);
	T_EQ(count_of("/config/coord/00"), 4);
	/* Which version is current is not known, so nothing is removed. */
	(void)kit_put(&kit, "/config/coord/current", "?");
	run(5 * INTERVAL);
	T_EQ(count_of("/config/coord/00"), 4);
	end();
}

/* Many owners, over several pages; those of living shards stay. */
T_CASE(sweep_page_after_page)
{
	char key[64];

	begin(NULL, 0);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 900, 1 << 20), PL_OK);
	for (unsigned i = 0; i < 500; i++) {
		(void)snprintf(key, sizeof key, "/partitions/%04u/owner", i);
		put_leased(key, "{}", i % 5 == 0 ? 0 : 900);
	}
	run(INTERVAL);
	T_EQ(removals, 100);
	T_EQ(count_of("/partitions/"), 400);
	end();
}

/* The epoch is stale and the leader does not know yet: nothing is removed. */
T_CASE(a_stale_leader_removes_nothing)
{
	static const struct faulty_rule deaf[] = {{.what = FAULTY_STALL_WATCH,
	                                           .per_mille = 1000,
	                                           .delay_min_ms = 100000,
	                                           .delay_max_ms = 100000}};

	begin(deaf, 1);
	run(50);
	elect_session(elect, LEASE, UINT64_MAX);
	run(2500); /* a stalled watch is not waited for for ever */
	T_TRUE(elect_epoch(elect) != 0);
	T_EQ(kit_delete(&kit, kv_key(kit_key("/leader/janitor"))), 1);
	(void)kit_put(&kit, "/leader/janitor", "another");
	(void)kit_put(&kit, "/partitions/0002/owner", "{}");
	run(8000);
	T_TRUE(elect_epoch(elect) != 0); /* the leader still believes so */
	T_EQ(removals, 0);
	T_EQ(count_of("/partitions/"), 1);
	T_EQ(count_of("/leader/"), 1);
	end();
}

/* The key is claimed between the look and the removal, so it stays. */
T_CASE(a_key_that_is_claimed_meanwhile_stays)
{
	const struct faulty_rule slow[] = {{.what = FAULTY_SLOW_REQUEST,
	                                    .prefix = PL_SPAN_LIT("/partitions/"),
	                                    .per_mille = 1000,
	                                    .delay_min_ms = 1000,
	                                    .delay_max_ms = 1000}};

	begin(slow, 1);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 900, 1 << 20), PL_OK);
	for (unsigned i = 0; i < 40; i++) {
		(void)kit_put(&kit, "/partitions/0002/owner", "{}");
		run(UINT64_C(100) * i);
		put_leased("/partitions/0002/owner", "{}", 900);
		if (count_of("/partitions/") != 1)
			t_fail(__FILE__, __LINE__, "it is gone");
		run(2 * INTERVAL);
		T_EQ(count_of("/partitions/"), 1);
	}
	end();
}

T_CASE(rewound)
{
	struct memkv_snapshot *before;
	int64_t revision;

	begin(NULL, 0);
	run(1000);
	T_OK(memkv_save(kit.mem, &before, NULL), NULL);
	(void)writes(3000);
	run(2000);
	T_EQ(compactions, 1);
	T_OK(memkv_restore(kit.mem, before, NULL), NULL);
	compacted = 0;
	janitor_rewound(janitor);
	elect_rewound(elect);
	revision = writes(2000);
	run(15000);
	T_TRUE(compactions >= 2);
	T_TRUE(!readable(revision - KEEP - 1) && readable(revision + 1 - KEEP));
	memkv_snapshot_free(before);
	end();
}

/* Answers are lost, requests refused or applied late: garbage goes, living keys stay,
 * and no pin is passed. */
T_CASE_SECONDS(faults, 60)
{
	static const struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER, .per_mille = 200},
		{.what = FAULTY_APPLY_LATE,
	         .per_mille = 150,
	         .delay_min_ms = 1,
	         .delay_max_ms = 4000},
		{.what = FAULTY_REFUSE, .per_mille = 100, .code = PL_UNAVAIL},
		{.what = FAULTY_REFUSE, .per_mille = 100, .code = PL_BUSY},
		{.what = FAULTY_SLOW_ANSWER,
	         .per_mille = 200,
	         .delay_min_ms = 1,
	         .delay_max_ms = 3000},
	};
	char key[64];
	int64_t pinned;

	begin(rules, 5);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 900, 1 << 20), PL_OK);
	for (unsigned i = 0; i < 40; i++) {
		(void)snprintf(key, sizeof key, "/partitions/%04u/owner", i);
		put_leased(key, "{}", i % 2 == 0 ? 0 : 900);
		(void)snprintf(key, sizeof key, "/digests/s%u", i);
		(void)kit_put(&kit, key, "{}");
		(void)snprintf(key, sizeof key, "/shards/s%u", i);
		if (i % 2 != 0)
			put_leased(key, "{}", 900);
	}
	put_leased("/pins/one", "{}", 900);
	pinned = kit.result.header.revision;
	for (unsigned i = 0; i < 50; i++) {
		(void)writes(200);
		run(1000);
		T_TRUE(readable(pinned));
	}
	for (unsigned i = 0; i < 200; i++) {
		run(INTERVAL);
		T_TRUE(elect_epoch(elect) == 0 || count_of("/partitions/") >= 20);
		T_TRUE(count_of("/digests/") >= 20);
	}
	T_EQ(count_of("/partitions/"), 20);
	T_EQ(count_of("/digests/"), 20);
	T_TRUE(!readable(pinned));
	end();
}

static enum pl_code open_and_stop(void)
{
	enum pl_code code = janitor_open(kit.kv, elect, 3, on_note, NULL, &janitor, NULL);

	if (code != PL_OK)
		return code;
	tune();
	janitor_lead(janitor, true);
	run(20000);
	janitor_stop(janitor);
	run(1000);
	T_TRUE(janitor == NULL);
	return PL_OK;
}

T_CASE(torture)
{
	begin(NULL, 0);
	run(1000);
	janitor_stop(janitor);
	run(1000);
	T_TRUE(janitor == NULL);
	(void)kit_put(&kit, "/partitions/0002/owner", "{}");
	(void)kit_put(&kit, "/digests/gone", "{}");
	t_torture(open_and_stop, true);
	end();
}

T_CASE(stopped_with_requests_in_flight)
{
	static const struct faulty_rule slow[] = {{.what = FAULTY_SLOW_ANSWER,
	                                           .per_mille = 1000,
	                                           .delay_min_ms = 1500,
	                                           .delay_max_ms = 1500}};

	for (unsigned i = 0; i < 40; i++) {
		begin(slow, 1);
		(void)writes(10);
		run(3000 + UINT64_C(300) * i);
		janitor_stop(janitor);
		end();
	}
}
