/* Shards over a store with random faults, and without memory. */
#include "store/base/fault.h"
#include "store/base/rng.h"
#include "tests/support/coord/shard/shard_fixture.h"

enum { STORM_MS = 60000, CHANGE_MS = 4000, CALM_MS = 60000 };

/* Answers lost, late, before and after the watch events. */
static const struct faulty_rule storm[] = {
	{.what = FAULTY_LOSE_ANSWER, .per_mille = 100},
	{.what = FAULTY_REFUSE, .per_mille = 80, .code = PL_UNAVAIL},
	{.what = FAULTY_REFUSE, .per_mille = 40, .code = PL_BUSY},
	{.what = FAULTY_APPLY_LATE,
         .per_mille = 80,
         .delay_min_ms = 10,
         .delay_max_ms = 3000},
	{.what = FAULTY_SLOW_ANSWER,
         .per_mille = 100,
         .delay_min_ms = 1,
         .delay_max_ms = 1500},
	{.what = FAULTY_SLOW_REQUEST,
         .per_mille = 50,
         .delay_min_ms = 1,
         .delay_max_ms = 1500},
	{.what = FAULTY_AFTER_NOTE, .per_mille = 50, .delay_max_ms = 500},
	{.what = FAULTY_SLOW_NOTE,
         .per_mille = 50,
         .delay_min_ms = 1,
         .delay_max_ms = 2000},
	{.what = FAULTY_END_WATCH, .per_mille = 20, .code = PL_COMPACTED},
};

static const struct faulty_rule rewinding[] = {
	{.what = FAULTY_END_WATCH, .per_mille = 60, .code = PL_REWOUND},
};

static void open_faulty(const struct faulty_rule *rules, size_t count, uint64_t seed)
{
	static const char *const ids[] = {"a", "b", "c"};

	up();
	fault_rules = rules;
	fault_rule_count = count;
	fault_seed = seed;
	for (unsigned i = 0; i < 3; i++) {
		node_open(&nodes[i], ids[i], 100 + i);
		nodes[i].epochs_may_return = rules == rewinding;
	}
}

static void calm(void)
{
	for (unsigned i = 0; i < 3; i++)
		faulty_pause(nodes[i].kv, true);
	run_ms(CALM_MS);
	T_EQ(owned_by_all(), PARTITIONS);
	for (unsigned i = 0; i < 3; i++) {
		T_EQ(shard_state(nodes[i].shard), MEMBERSHIP_ACTIVE);
		T_TRUE(shard_owned(nodes[i].shard) >= 2);
	}
}

/* The checks of on_own() hold all the time. */
static void weather(const struct faulty_rule *rules, size_t count, uint64_t seed)
{
	static const char *const drains[] = {"{\"drain\":[\"a\"]}",
	                                     "{\"drain\":[\"b\",\"c\"]}", "{}"};

	open_faulty(rules, count, seed);
	for (unsigned i = 0; i < STORM_MS / CHANGE_MS; i++) {
		run_ms(CHANGE_MS);
		configure(CONFIG_SHARDS, drains[i % 3]);
	}
	for (unsigned i = 0; i < 3; i++)
		T_TRUE(faulty_count(nodes[i].kv, rules[0].what) > 2);
	calm();
	for (unsigned i = 0; i < 3; i++)
		faulty_pause(nodes[i].kv, false);
	for (unsigned i = 0; i < 3; i++) {
		if (nodes[i].shard != NULL)
			shard_leave(nodes[i].shard);
		until(&nodes[i], SHARD_CLOSED, 120000);
	}
	down();
}

T_CASE_SECONDS(lost_late_and_refused_requests_are_made_up_for, 60)
{
	for (uint64_t i = 0; i < 6; i++)
		weather(storm, sizeof storm / sizeof storm[0], t_seed() + 100 * i);
}

T_CASE_SECONDS(watches_that_say_rewound_cost_epochs_and_nothing_else, 60)
{
	for (uint64_t i = 0; i < 3; i++)
		weather(rewinding, sizeof rewinding / sizeof rewinding[0],
		        t_seed() + 100 * i);
}

static void one_faulty(const struct faulty_rule *rule)
{
	open_faulty(rule, 1, 1);
	for (unsigned i = 0; i < 3; i++)
		faulty_pause(nodes[i].kv, true);
	settle();
}

T_CASE(a_member_that_went_unwatched_is_missed_by_the_next_list)
{
	const struct faulty_rule blind = {.what = FAULTY_END_WATCH,
	                                  .prefix = PL_SPAN_LIT("/shards/"),
	                                  .per_mille = 1000,
	                                  .code = PL_COMPACTED,
	                                  .count = 1};

	one_faulty(&blind);
	faulty_pause(nodes[0].kv, false);
	faulty_pause(nodes[1].kv, false);
	shard_abandon(nodes[2].shard);
	run_ms(SETTLED_MS);
	T_EQ(faulty_count(nodes[0].kv, FAULTY_END_WATCH), 1);
	T_EQ(owned_by_all(), PARTITIONS);
	down();
}

T_CASE(a_lease_that_can_not_be_renewed_is_given_up_before_the_store_does)
{
	const struct faulty_rule mute = {.what = FAULTY_REFUSE,
	                                 .ops = 1u << KV_LEASE_KEEP,
	                                 .per_mille = 1000,
	                                 .code = PL_UNAVAIL};

	one_faulty(&mute);
	faulty_pause(nodes[0].kv, false);
	until(&nodes[0], SHARD_DOWN, TTL_S * UINT64_C(1000));
	T_TRUE(nodes[0].reports[SHARD_DOUBT] > 0);
	T_TRUE(value_at("/shards/a") != NULL); /* the store still has it */
	run_ms(SETTLED_MS);
	faulty_pause(nodes[0].kv, true);
	run_ms(SETTLED_MS);
	T_EQ(owned_by_all(), PARTITIONS);
	T_TRUE(shard_owned(nodes[0].shard) > 0);
	down();
}

/* The releases do not get through: the keys go with the lease at the end. */
T_CASE(leaving_ends_in_time_whatever_the_store_does)
{
	const struct faulty_rule stuck = {.what = FAULTY_SLOW_REQUEST,
	                                  .ops = 1u << KV_TXN,
	                                  .prefix = PL_SPAN_LIT("/partitions/"),
	                                  .per_mille = 1000,
	                                  .delay_min_ms = 3600000,
	                                  .delay_max_ms = 3600000};
	uint64_t since;

	one_faulty(&stuck);
	faulty_pause(nodes[0].kv, false);
	since = kit.now_ms;
	shard_leave(nodes[0].shard);
	until(&nodes[0], SHARD_CLOSED, 60000);
	T_TRUE(kit.now_ms - since < 6000);
	run_ms(1000);
	T_EQ(owned_by_all(), PARTITIONS);
	down();
}

/* True: there were that many allocations. */
static bool live_with_failure(uint64_t nth)
{
	struct shard_opts opts = {.id = "a",
	                          .partitions = PARTITIONS,
	                          .ttl_s = TTL_S,
	                          .seed = 7,
	                          .wall_ms = wall_ms,
	                          .ctx = &nodes[0]};
	enum pl_code code;
	bool fired;

	up();
	nodes[0] = (struct shard_node){.quiet = true, .id = "a"};
	node_count = 1;
	T_OK(memkv_session(kit.mem, &nodes[0].kv, &kit.err), &kit.err);
	pl_fault_reset();
	pl_fault_arm(PL_FAULT_ALLOC, nth);
	code = shard_open(nodes[0].kv, &opts, on_shard, &nodes[0].shard, &kit.err);
	if (code == PL_OK) {
		run_ms(12000);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		T_EQ(shard_state(nodes[0].shard), MEMBERSHIP_ACTIVE);
		T_EQ(shard_owned(nodes[0].shard), PARTITIONS);
		shard_leave(nodes[0].shard);
		until(&nodes[0], SHARD_CLOSED, 20000);
	} else {
		T_CODE(code, PL_NOMEM, NULL);
		fired = true;
		pl_fault_reset();
		nodes[0].reports[SHARD_CLOSED] = 1;
		kit_run(&kit, kit.now_ms + STEP_MS);
	}
	down();
	return fired;
}

T_CASE_SECONDS(each_failed_allocation_is_got_over, 60)
{
	uint64_t nth = 1;

	while (live_with_failure(nth))
		nth++;
	T_TRUE(nth > 300);
}
