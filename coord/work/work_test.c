/* The driver over real shards and a store in memory, with fake_sched.h. */
#include "coord/work/work_int.h"
#include "tests/harness/torture.h"
#include "tests/support/coord/work/fake_sched.h"
#include "tests/support/coord/work/work_fixture.h"

enum { PODS = 120, SPACE_KEY_SIZE = 64, CALM_MS = 60000 };

static unsigned pods;

static void key_of(unsigned pod, const char *leaf, char out[SPACE_KEY_SIZE])
{
	(void)snprintf(out, SPACE_KEY_SIZE, "/schedules/%04u/ns/pod-%u/%s",
	               pod % PARTITIONS, pod, leaf);
}

static void submit(unsigned count)
{
	char key[SPACE_KEY_SIZE];

	for (unsigned i = 0; i < count; i++) {
		key_of(pods++, "spec", key);
		(void)kit_put(&kit, key, "{}");
	}
}

static unsigned with_state(void)
{
	unsigned found = 0;
	char key[SPACE_KEY_SIZE];

	for (unsigned i = 0; i < pods; i++) {
		key_of(i, "state", key);
		T_EQ(kit_get_at(&kit, kv_key(kit_key(key)), 0), PL_OK);
		if (kit.result.get.count == 0)
			continue;
		T_EQ(kit.result.get.records[0].version, 1); /* put once */
		found++;
	}
	return found;
}

T_CASE(every_pod_is_decided_whether_it_was_there_or_comes)
{
	workers_up();
	submit(PODS / 2);
	settle();
	T_EQ(with_state(), pods);
	T_EQ(fixtures[0].opened + fixtures[1].opened, moves);
	T_EQ(work_opened(fixtures[0].work) + work_opened(fixtures[1].work), PARTITIONS);
	T_EQ(fake.runs_max, 7);
	/* Less what the fences need. */
	T_TRUE(fake.limits.txn_ops > 0 &&
	       fake.limits.txn_ops < kv_limits(nodes[0].kv).txn_ops);
	submit(PODS / 2);
	run_ms(200);
	T_EQ(with_state(), pods);
	T_EQ(fixtures[0].trouble + fixtures[1].trouble, 0);
	workers_down();
}

T_CASE(a_quiet_partition_gets_progress)
{
	int64_t revision;

	workers_up();
	settle();
	revision = kit_put(&kit, "/elsewhere", "{}");
	run_ms(30000); /* progress is read from time to time */
	T_TRUE(fake.progress >= revision);
	workers_down();
}

static uint64_t fake_clock_ns(void *ctx)
{
	(void)ctx;
	return fake.clock_ns;
}

/* A turn has seven pods at most: as many as take five milliseconds. */
T_CASE(long_turns_become_shorter)
{
	turns_clock_ns = fake_clock_ns;
	fake.run_ns = 50 * UINT64_C(1000000);
	workers_up();
	submit(PODS);
	settle();
	T_EQ(with_state(), pods);
	T_EQ(fake.runs_max, 7);
	T_EQ(fake.run_last, 1);
	workers_down();
}

T_CASE(plugins_are_timed_by_the_clock_that_measures_turns)
{
	turns_clock_ns = fake_clock_ns;
	workers_up();
	settle();
	T_TRUE(fake.times_plugins);
	workers_down();
	turns_clock_ns = NULL;
	workers_up();
	settle();
	T_TRUE(!fake.times_plugins);
	workers_down();
}

T_CASE(a_partition_is_open_without_waiting_for_others)
{
	static struct faulty_rule slow;

	slow = (struct faulty_rule){.what = FAULTY_SLOW_ANSWER,
	                            .ops = 1U << KV_GET,
	                            .prefix = PL_SPAN_LIT("/nodes/0003/"),
	                            .per_mille = 1000,
	                            .delay_min_ms = 9000,
	                            .delay_max_ms = 9000};

	fault_rules = &slow;
	fault_rule_count = 1;
	up();
	pods = 0;
	submit(PARTITIONS);
	worker_open(0);
	until(&nodes[0], SHARD_OWN, SETTLED_MS);
	run_ms(3000);
	T_EQ(work_opened(fixtures[0].work), PARTITIONS - 1);
	T_EQ(with_state(), pods - 1);
	run_ms(10000);
	T_EQ(with_state(), pods);
	workers_down();
}

static void all_nodes_slow(struct faulty_rule *slow, uint64_t ms)
{
	*slow = (struct faulty_rule){.what = FAULTY_SLOW_ANSWER,
	                             .ops = 1U << KV_GET,
	                             .prefix = PL_SPAN_LIT("/nodes/"),
	                             .per_mille = 1000,
	                             .delay_min_ms = ms,
	                             .delay_max_ms = ms};
	fault_rules = slow;
	fault_rule_count = 1;
	up();
	pods = 0;
	submit(PARTITIONS);
	worker_open(0);
	until(&nodes[0], SHARD_OWN, SETTLED_MS);
}

/* The first are open, and their pods placed, long before the last. */
T_CASE(a_few_partitions_are_listed_at_once)
{
	static struct faulty_rule slow;

	all_nodes_slow(&slow, 1000);
	run_ms(1500);
	T_TRUE(work_opened(fixtures[0].work) >= 1 && work_opened(fixtures[0].work) <= 3);
	T_EQ(with_state(), work_opened(fixtures[0].work));
	run_ms((uint64_t)PARTITIONS / 2 * 1500);
	T_EQ(work_opened(fixtures[0].work), PARTITIONS);
	T_EQ(with_state(), pods);
	workers_down();
}

/* No list ends before the next one begins. */
T_CASE(long_lists_do_not_hold_up_others_for_long)
{
	static struct faulty_rule slow;

	all_nodes_slow(&slow, 8000);
	run_ms(7000);
	T_EQ(work_opened(fixtures[0].work), 0);
	run_ms(PARTITIONS / 2 * 2000 + 2000);
	T_EQ(work_opened(fixtures[0].work), PARTITIONS);
	T_EQ(with_state(), pods);
	workers_down();
}

T_CASE(a_handover_under_load_loses_and_repeats_nothing)
{
	workers_up();
	settle();
	configure(CONFIG_COORD, "{\"handover_ms\":60000}");
	configure(CONFIG_SHARDS, "{\"drain\":[\"b\"]}");
	for (unsigned i = 0; i < PODS; i++) {
		submit(1);
		run_ms(STEP_MS);
	}
	until(&nodes[1], SHARD_DRAINED, 10000);
	for (uint32_t p = 0; p < PARTITIONS; p++)
		T_TRUE(nodes[1].why[p] == CLAIMS_KEPT ||
		       nodes[1].why[p] == CLAIMS_HANDED_OVER);
	T_EQ(work_opened(fixtures[1].work), 0);
	T_EQ(fake.quiesced, nodes[1].reports[SHARD_QUIESCE]);
	T_TRUE(fake.quiesced >= 2);
	T_EQ(work_opened(fixtures[0].work), PARTITIONS);
	T_EQ(with_state(), pods);
	workers_down();
}

T_CASE(a_partition_that_never_becomes_quiet_is_not_reported_quiet)
{
	workers_up();
	settle();
	configure(CONFIG_COORD, "{\"handover_ms\":2000}");
	fake.never_quiet = true;
	configure(CONFIG_SHARDS, "{\"drain\":[\"b\"]}");
	until(&nodes[1], SHARD_QUIESCE, 5000);
	run_ms(1000);
	T_EQ(nodes[1].reports[SHARD_DRAINED], 0);
	fake.never_quiet = false;
	submit(PODS / 2);
	until(&nodes[1], SHARD_DRAINED, 30000);
	settle();
	T_EQ(with_state(), pods);
	workers_down();
}

T_CASE_SECONDS(through_a_storm_each_pod_is_decided_once, 120)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		fault_rules = work_storm;
		fault_rule_count = sizeof work_storm / sizeof work_storm[0];
		fault_seed = seed * 100;
		pods = 0;
		workers_up();
		for (unsigned i = 0; i < PODS; i++) {
			submit(1);
			run_ms(300);
		}
		for (unsigned i = 0; i < 2; i++)
			faulty_pause(nodes[i].kv, true);
		run_ms(CALM_MS);
		T_EQ(owned_by_all(), PARTITIONS);
		T_EQ(with_state(), pods);
		T_TRUE(faulty_count(nodes[0].kv, FAULTY_LOSE_ANSWER) > 0);
		workers_down();
	}
}

static const char *record_of(unsigned which)
{
	static char text[4096];
	char key[64];
	const char *value;

	(void)snprintf(key, sizeof key, "/shards/%s", which == 0 ? "a" : "b");
	value = value_at(key);
	(void)snprintf(text, sizeof text, "%s", value == NULL ? "" : value);
	return text;
}

/* Settings that can not be applied at once are tried again; the record names the
 * version in use. */
T_CASE(settings_are_applied_while_it_works)
{
	workers_up();
	settle();
	T_EQ(fake.configured, 0);
	configure(CONFIG_SCHEDULER, "{\"shard\":{\"batch\":33}}");
	run_ms(12000); /* the record has been refreshed by then */
	T_EQ(fake.configured, 2);
	T_EQ(fake.batch, 33);
	T_TRUE(strstr(record_of(0), "\"config\":{\"scheduler\":1}") != NULL);
	fake.news_fail = 30; /* each shard tries once a second */
	configure(CONFIG_SCHEDULER, "{\"shard\":{\"batch\":44}}");
	run_ms(11000);
	T_EQ(fake.configured, 2);
	T_TRUE(fixtures[0].trouble > 5 && fixtures[1].trouble > 5);
	T_TRUE(strstr(record_of(0), "\"config\":{\"scheduler\":1},\"refused\":{"
	                            "\"scheduler\":\"version 2: ") != NULL);
	submit(PODS);
	run_ms(20000);
	T_EQ(fake.configured, 4);
	T_EQ(fake.batch, 44);
	T_TRUE(strstr(record_of(0), "\"config\":{\"scheduler\":2}") != NULL);
	T_TRUE(strstr(record_of(0), "refused") == NULL);
	T_EQ(with_state(), pods);
	workers_down();
}

T_CASE(without_room_in_the_client_it_waits)
{
	struct faulty_rule busy = {.what = FAULTY_REFUSE,
	                           .ops = 1U << KV_TXN,
	                           .prefix = PL_SPAN_LIT("/schedules/"),
	                           .per_mille = 700,
	                           .code = PL_BUSY};

	fault_rules = &busy;
	fault_rule_count = 1;
	workers_up();
	submit(PODS);
	settle();
	T_EQ(with_state(), pods);
	T_TRUE(faulty_count(nodes[0].kv, FAULTY_REFUSE) > 10);
	workers_down();
}

T_CASE(a_txn_that_can_not_be_started_fails_and_is_not_tried_all_the_time)
{
	unsigned runs;

	workers_up();
	settle();
	fake.value_bytes = 1600 << 10; /* more than the store accepts */
	submit(PODS);
	run_ms(1000);
	runs = fake.runs;
	run_ms(5000);
	T_TRUE(fake.runs - runs < 2 * 5000 / 20 * 2);
	T_EQ(with_state(), 0);
	fake.value_bytes = 0;
	run_ms(20000);
	T_EQ(with_state(), pods);
	workers_down();
}

T_CASE(records_that_could_not_be_kept_are_listed_again)
{
	unsigned begun;

	workers_up();
	submit(PODS / 2);
	settle();
	begun = fake.begun;
	fake.relist = true;
	submit(PODS / 2);
	settle();
	T_TRUE(!fake.relist);
	T_EQ(fake.begun, begun + 1);
	T_EQ(with_state(), pods);
	workers_down();
}

T_CASE(after_a_restored_store_everything_is_listed_again)
{
	struct memkv_snapshot *saved = NULL;

	workers_up();
	submit(PODS / 2);
	settle();
	T_OK(memkv_save(kit.mem, &saved, &kit.err), &kit.err);
	submit(PODS / 2);
	run_ms(1000);
	T_EQ(with_state(), PODS);
	for (unsigned i = 0; i < 2; i++)
		nodes[i].epochs_may_return = true;
	T_OK(memkv_restore(kit.mem, saved, &kit.err), &kit.err);
	memset(last_epoch, 0, sizeof last_epoch);
	for (unsigned i = 0; i < 2; i++)
		memkv_reconnect(nodes[i].kv);
	pods = PODS / 2;
	submit(PODS / 4);
	run_ms(CALM_MS);
	T_TRUE(fake.rewound > 0);
	T_EQ(owned_by_all(), PARTITIONS);
	T_EQ(with_state(), pods);
	memkv_snapshot_free(saved);
	workers_down();
}

/* The longest lag in the records. */
static long reported_lag(void)
{
	long most = -1;

	for (unsigned i = 0; i < 2; i++) {
		const char *at = strstr(record_of(i), "\"lag_ms\":");
		long lag = at == NULL ? -1 : strtol(at + strlen("\"lag_ms\":"), NULL, 10);

		most = lag > most ? lag : most;
	}
	return most;
}

/* One of its commits has been answered, and no watch has shown it. */
static void answered(struct work *work)
{
	struct kv_result put = {.op = KV_PUT};
	struct kv_result result = {
		.op = KV_TXN,
		.header.revision = memkv_revision(kit.mem) + 1,
		.txn = {.succeeded = true, .results = &put, .count = 1}};

	rates_answered(work, &result);
	T_EQ(work->rates.sent_rev, result.header.revision);
}

/* No watch shows that commit any more, and new commits have lower revisions than the
 * watches have shown. */
T_CASE(in_a_restored_store_the_lag_is_measured_anew)
{
	struct memkv_snapshot *saved = NULL;

	workers_up();
	settle();
	T_OK(memkv_save(kit.mem, &saved, &kit.err), &kit.err);
	submit(PODS);
	run_ms(1000);
	T_EQ(with_state(), pods);
	for (unsigned i = 0; i < 2; i++) {
		nodes[i].epochs_may_return = true;
		answered(fixtures[i].work);
	}
	T_OK(memkv_restore(kit.mem, saved, &kit.err), &kit.err);
	memset(last_epoch, 0, sizeof last_epoch);
	for (unsigned i = 0; i < 2; i++)
		memkv_reconnect(nodes[i].kv);
	pods = 0;
	run_ms(20000);
	T_EQ(reported_lag(), 0);
	for (unsigned i = 0; i < 2; i++)
		T_TRUE(fixtures[i].work->rates.seen_rev <= memkv_revision(kit.mem));
	memkv_snapshot_free(saved);
	workers_down();
}

T_CASE(failed_opens_are_tried_again)
{
	fake.news_fail = 4;
	workers_up();
	submit(PODS);
	settle();
	T_EQ(fake.news_fail, 0);
	T_EQ(fixtures[0].trouble + fixtures[1].trouble, 4);
	T_EQ(with_state(), pods);
	workers_down();
}

T_CASE(malformed_keys_are_reported)
{
	fake.malformed = 3;
	workers_up();
	settle();
	T_EQ(fixtures[0].malformed + fixtures[1].malformed, 3);
	workers_down();
}

T_CASE(the_load_is_reported)
{
	workers_up();
	settle();
	T_TRUE(strstr(value_at("/shards/a"), "\"loads\":[10,") != NULL ||
	       strstr(value_at("/shards/b"), "\"loads\":[10,") != NULL);
	workers_down();
}

T_CASE_SECONDS(it_closes_from_any_state, 120)
{
	static struct faulty_rule slow;

	slow = (struct faulty_rule){.what = FAULTY_SLOW_ANSWER,
	                            .per_mille = 300,
	                            .delay_min_ms = 1,
	                            .delay_max_ms = 1500};

	fault_rules = &slow;
	fault_rule_count = 1;
	for (unsigned step = 0; step < 60; step++) {
		pods = 0;
		workers_up();
		submit(PODS / 4);
		for (unsigned i = 0; i < step; i++)
			run_ms(i < 40 ? STEP_MS * 5 : 1000);
		if (step % 3 == 0)
			submit(10);
		if (step % 4 == 0)
			configure(CONFIG_SHARDS, "{\"drain\":[\"a\"]}");
		if (step % 5 == 0)
			shard_abandon(nodes[0].shard);
		worker_close(0);
		settle();
		workers_down();
	}
}

T_CASE(it_may_be_closed_from_its_notes)
{
	workers_up();
	fixtures[0].close_when_reported = true;
	fake.malformed = 20;
	settle();
	T_EQ(fixtures[0].closed, 1);
	workers_down();
}

static enum pl_code open_once(void)
{
	struct work_opts opts = {.sched = {.shard = "a"}};
	struct work *work = NULL;
	enum pl_code code =
		work_open(kit.kv, NULL, &opts, on_work, &fixtures[0], &work, &kit.err);
	unsigned closed = 0;

	fixtures[0] = (struct work_fixture){0};
	if (code != PL_OK)
		return code;
	work_close(work, on_work_closed, &fixtures[0]);
	pl_fault_reset();
	run_ms(STEP_MS);
	closed = fixtures[0].closed;
	T_EQ(closed, 1);
	return PL_OK;
}

T_CASE(without_memory_it_is_not_opened)
{
	up();
	t_torture(open_once, false);
	kit_close(&kit);
}
