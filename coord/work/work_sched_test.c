/* The driver with the real sched: two shards over a store in memory, nodes and pods
 * written by the fixture, and all keys checked at the end. */
#include "tests/support/coord/work/work_fixture.h"
#include "tests/support/coord/work/workload.h"

enum { NODES = 60, PODS = 480, CALM_MS = 60000 };

static struct workload_spec workload = {
	.partitions = PARTITIONS, .nodes = NODES, .pods = PODS};
static struct workload_found found;
static unsigned dones;

static void on_written(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	T_TRUE(err == NULL);
	dones++;
}

static void put(enum workload_part part, uint32_t first, uint32_t count)
{
	struct workload_range range = {.part = part, .first = first, .count = count};
	unsigned before = dones;

	T_OK(workload_write(kit.kv, &workload, &range, on_written, NULL, &kit.err),
	     &kit.err);
	while (dones == before)
		run_ms(STEP_MS);
}

static void on_found(void *ctx, const struct workload_found *got,
                     const struct pl_err *err)
{
	(void)ctx;
	T_TRUE(err == NULL);
	found = *got;
	dones++;
}

static void look(void)
{
	unsigned before = dones;

	T_OK(workload_check(kit.kv, &workload, on_found, NULL, &kit.err), &kit.err);
	while (dones == before)
		run_ms(1);
	T_STR(found.wrong, "");
	for (unsigned i = 0; i < node_count; i++)
		if (fixtures[i].work != NULL && work_sched(fixtures[i].work) != NULL)
			sched_check(work_sched(fixtures[i].work));
}

static void all_bound(void)
{
	look();
	T_EQ(found.specs, PODS);
	T_EQ(found.bound, PODS);
}

T_CASE(waiting_and_later_pods_are_placed)
{
	workers_up();
	put(WORKLOAD_PART_NODES, 0, NODES);
	put(WORKLOAD_PART_PODS, 0, PODS / 2);
	settle();
	look();
	T_EQ(found.bound, PODS / 2);
	put(WORKLOAD_PART_PODS, PODS / 2, PODS / 2);
	run_ms(1000);
	all_bound();
	T_EQ(fixtures[0].trouble + fixtures[1].trouble, 0);
	workers_down();
}

static long figure_in(const char *key, const char *name)
{
	const char *record = value_at(key), *at = NULL;
	char word[64];

	(void)snprintf(word, sizeof word, "\"%s\":", name);
	if (record != NULL)
		at = strstr(record, word);
	return at == NULL ? -1 : strtol(at + strlen(word), NULL, 10);
}

static long figure(const char *name)
{
	return figure_in("/shards/a", name) + figure_in("/shards/b", name);
}

/* As the records say; and also when nothing is written any more. */
T_CASE(the_records_show_the_state_of_the_work)
{
	workers_up();
	put(WORKLOAD_PART_NODES, 0, NODES);
	put(WORKLOAD_PART_PODS, 0, PODS);
	settle();
	run_ms(60000);
	T_EQ(figure("placed"), PODS);
	T_EQ(figure("pending"), 0);
	T_EQ(figure("placed_per_s"), 0);
	T_EQ(figure("lag_ms"), 0);
	T_TRUE(figure("txns") > 0);
	workers_down();
}

T_CASE(pods_that_were_there_before_the_nodes_are_placed_when_these_come)
{
	workers_up();
	put(WORKLOAD_PART_PODS, 0, PODS);
	settle();
	look();
	T_EQ(found.bound, 0);
	put(WORKLOAD_PART_NODES, 0, NODES);
	run_ms(CALM_MS);
	all_bound();
	workers_down();
}

T_CASE_SECONDS(partitions_change_hands_while_pods_come, 60)
{
	workers_up();
	put(WORKLOAD_PART_NODES, 0, NODES);
	settle();
	for (uint32_t i = 0; i < PODS; i += 4) {
		if (i == PODS / 4)
			configure(CONFIG_SHARDS, "{\"drain\":[\"b\"]}");
		if (i == PODS / 2)
			configure(CONFIG_SHARDS, "{\"drain\":[]}");
		if (i == PODS / 4 * 3)
			configure(CONFIG_SHARDS, "{\"drain\":[\"a\"]}");
		put(WORKLOAD_PART_PODS, i, 4);
		run_ms(100);
		look();
	}
	settle();
	all_bound();
	T_TRUE(nodes[1].reports[SHARD_DRAINED] == 1 &&
	       nodes[0].reports[SHARD_DRAINED] == 1);
	workers_down();
}

/* As when a process dies: its lease expires, and the other shard has to find what it
 * did. */
T_CASE_SECONDS(a_shard_finishes_what_a_dead_one_left, 60)
{
	workers_up();
	put(WORKLOAD_PART_NODES, 0, NODES);
	settle();
	put(WORKLOAD_PART_PODS, 0, PODS / 2);
	shard_abandon(nodes[1].shard);
	put(WORKLOAD_PART_PODS, PODS / 2, PODS / 2);
	settle();
	all_bound();
	T_EQ(work_opened(fixtures[0].work), PARTITIONS);
	workers_down();
}

static void through(const struct faulty_rule *rules, size_t count, uint64_t seed)
{
	fault_rules = rules;
	fault_rule_count = count;
	fault_seed = seed * 100;
	workers_up();
	for (unsigned i = 0; i < 2; i++)
		nodes[i].epochs_may_return = rules != work_storm;
	put(WORKLOAD_PART_NODES, 0, NODES);
	for (uint32_t i = 0; i < PODS; i += 4) {
		put(WORKLOAD_PART_PODS, i, 4);
		run_ms(300);
		look();
	}
	for (unsigned i = 0; i < 2; i++)
		faulty_pause(nodes[i].kv, true);
	run_ms(CALM_MS);
	T_EQ(owned_by_all(), PARTITIONS);
	all_bound();
	workers_down();
}

T_CASE_SECONDS(through_a_storm_every_pod_is_bound_once, 240)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		through(work_storm, sizeof work_storm / sizeof work_storm[0], seed);
}

T_CASE_SECONDS(watches_that_say_rewound_only_cost_time, 120)
{
	static const struct faulty_rule rewinding[] = {
		{.what = FAULTY_END_WATCH, .per_mille = 30, .code = PL_REWOUND}};

	through(rewinding, 1, 3);
}

T_CASE_SECONDS(pods_are_bound_again_in_a_store_that_went_back, 60)
{
	struct memkv_snapshot *saved = NULL;

	workers_up();
	put(WORKLOAD_PART_NODES, 0, NODES);
	put(WORKLOAD_PART_PODS, 0, PODS / 2);
	settle();
	T_OK(memkv_save(kit.mem, &saved, &kit.err), &kit.err);
	put(WORKLOAD_PART_PODS, PODS / 2, PODS / 2);
	run_ms(1000);
	all_bound();
	for (unsigned i = 0; i < 2; i++)
		nodes[i].epochs_may_return = true;
	T_OK(memkv_restore(kit.mem, saved, &kit.err), &kit.err);
	memset(last_epoch, 0, sizeof last_epoch);
	for (unsigned i = 0; i < 2; i++)
		memkv_reconnect(nodes[i].kv);
	/* Submitted again, as their user would do. */
	put(WORKLOAD_PART_PODS, PODS / 2, PODS / 2);
	run_ms(CALM_MS);
	all_bound();
	memkv_snapshot_free(saved);
	workers_down();
}
