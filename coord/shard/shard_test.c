/* Shards that join, leave, die, and are refused. */
#include "tests/support/coord/shard/shard_fixture.h"

/* -- shards come and go ------------------------------------------------------------ */

T_CASE(one_shard_takes_all)
{
	up();
	node_open(&nodes[0], "a", 100);
	until(&nodes[0], SHARD_ACTIVE, 5000);
	settle();
	T_EQ(shard_partitions(nodes[0].shard), PARTITIONS);
	T_EQ(shard_owned(nodes[0].shard), PARTITIONS);
	T_EQ(shard_state(nodes[0].shard), MEMBERSHIP_ACTIVE);
	T_TRUE(strstr(value_at("/shards/a"), "\"state\":\"active\"") != NULL);
	T_TRUE(strstr(value_at("/shards/a"), "\"partitions\":[0,1,2,3,") != NULL);
	T_TRUE(strstr(value_at("/partitions/0023/owner"), "\"a\"") != NULL);
	T_EQ(nodes[0].reports[SHARD_LEAD], 3);
	down();
}

T_CASE(three_shards_share)
{
	unsigned before;

	open_three();
	before = moves;
	T_TRUE(before <= 3 * PARTITIONS);
	for (unsigned i = 0; i < 3; i++) /* each chose its salt */
		T_NEAR(shard_owned(nodes[i].shard), PARTITIONS / 3.0, 1.01);
	run_ms(SETTLED_MS);
	T_EQ(moves, before); /* and no partition moves any more */
	T_EQ(nodes[0].reports[SHARD_LEAD] + nodes[1].reports[SHARD_LEAD] +
	             nodes[2].reports[SHARD_LEAD],
	     3);
	down();
}

/* The second shard of a process comes a little later: the first has taken nothing by
 * then. */
T_CASE(shards_of_a_process_begin_together)
{
	up();
	together = 2;
	node_open(&nodes[0], "a", 100);
	until(&nodes[0], SHARD_ACTIVE, 5000);
	run_ms(100);
	T_EQ(shard_owned(nodes[0].shard), 0);
	node_open(&nodes[1], "b", 100);
	settle();
	T_EQ(moves, PARTITIONS);
	T_NEAR(shard_owned(nodes[1].shard), PARTITIONS / 2.0, 1.01);
	/* A shard that comes later does not make them wait. */
	shard_abandon(nodes[1].shard);
	settle();
	T_EQ(shard_owned(nodes[0].shard), PARTITIONS);
	together = 0;
	down();
}

/* A shard of another process does not count, and one that never comes is not waited
 * for. */
T_CASE(a_missing_shard_is_not_waited_for_long)
{
	uint64_t since;

	up();
	together = 2;
	node_open(&nodes[0], "a", 100);
	node_open(&nodes[1], "b", 101);
	until(&nodes[0], SHARD_ACTIVE, 5000);
	since = kit.now_ms;
	until(&nodes[0], SHARD_OWN, 5000);
	T_TRUE(kit.now_ms - since >= 200 && kit.now_ms - since <= 1000);
	together = 0;
	settle();
	down();
}

T_CASE(a_joining_shard_takes_only_for_itself)
{
	open_three();
	moves = 0;
	node_open(&nodes[3], "d", 104);
	settle();
	T_EQ(moves, shard_owned(nodes[3].shard));
	T_TRUE(moves > 0);
	down();
}

T_CASE(a_leaving_shard_hands_everything_over)
{
	uint64_t since;

	open_three();
	since = kit.now_ms;
	shard_leave(nodes[1].shard);
	until(&nodes[1], SHARD_CLOSED, 10000);
	T_TRUE(kit.now_ms - since < 2000); /* nothing was in flight */
	T_EQ(nodes[1].reports[SHARD_DRAINING], 1);
	T_EQ(nodes[1].reports[SHARD_DRAINED], 1);
	for (uint32_t p = 0; p < PARTITIONS; p++)
		T_EQ(nodes[1].epoch[p], 0);
	T_TRUE(value_at("/shards/b") == NULL);
	run_ms(1000);
	T_EQ(owned_by_all(), PARTITIONS); /* long before any lease could run out */
	down();
}

T_CASE(work_in_flight_is_waited_for_and_no_longer_than_promised)
{
	uint64_t since;

	open_three();
	nodes[1].quiet = false;
	since = kit.now_ms;
	shard_leave(nodes[1].shard);
	run_ms(1000);
	T_TRUE(nodes[1].shard != NULL && nodes[1].reports[SHARD_QUIESCE] > 0);
	for (uint32_t p = 0; p < PARTITIONS; p++)
		T_TRUE(!shard_may_begin(nodes[1].shard, p));
	until(&nodes[1], SHARD_CLOSED, 60000);
	T_TRUE(kit.now_ms - since < 15000);
	settle();
	down();
}

T_CASE(the_last_one_leaves_nothing_behind)
{
	uint64_t since;

	up();
	node_open(&nodes[0], "a", 100);
	settle();
	since = kit.now_ms;
	shard_leave(nodes[0].shard);
	until(&nodes[0], SHARD_CLOSED, 20000);
	T_TRUE(kit.now_ms - since < 1500); /* there is nothing to wait for */
	T_TRUE(value_at("/shards/a") == NULL);
	T_EQ(kit_get_at(&kit, kv_prefix(kit_key("/partitions/")), 0), PL_OK);
	T_EQ(kit.result.get.count, 0);
	T_EQ(kit_get_at(&kit, kv_prefix(kit_key("/leader/")), 0), PL_OK);
	T_EQ(kit.result.get.count, 0);
	down();
}

T_CASE(partitions_of_a_dead_shard_are_taken_once_its_lease_is_gone)
{
	unsigned owned;
	uint64_t since;

	open_three();
	owned = shard_owned(nodes[2].shard);
	shard_abandon(nodes[2].shard);
	for (uint32_t p = 0; p < PARTITIONS; p++)
		T_EQ(shard_epoch(nodes[2].shard, p), 0); /* from here on */
	since = kit.now_ms;
	run_ms(1000);
	T_EQ(nodes[2].reports[SHARD_CLOSED], 1);
	T_EQ(owned_by_all(), PARTITIONS - owned);
	while (owned_by_all() < PARTITIONS && kit.now_ms - since < 60000)
		run_ms(STEP_MS);
	T_TRUE(kit.now_ms - since <= TTL_S * 1000 + 1000);
	down();
}

T_CASE(leaving_and_abandoning_end_from_any_moment)
{
	for (uint64_t ms = 0; ms < 2500; ms += 60) {
		up();
		node_open(&nodes[0], "a", 100);
		node_open(&nodes[1], "b", 101);
		for (uint64_t i = 0; i < ms; i += STEP_MS)
			run_ms(STEP_MS);
		shard_leave(nodes[0].shard);
		if (ms % 120 == 0) {
			run_ms(STEP_MS);
			if (nodes[0].shard != NULL)
				shard_abandon(nodes[0].shard);
		}
		until(&nodes[0], SHARD_CLOSED, 20000);
		down();
	}
}

/* -- shards that are refused ------------------------------------------------------- */

T_CASE(an_id_in_use_is_refused)
{
	open_three();
	node_open(&nodes[3], "a", 104);
	until(&nodes[3], SHARD_REFUSED, 60000);
	T_EQ(nodes[3].refused.code, PL_EXISTS);
	T_EQ(nodes[3].reports[SHARD_OWN], 0);
	shard_leave(nodes[3].shard);
	until(&nodes[3], SHARD_CLOSED, 10000);
	T_EQ(owned_by_all(), PARTITIONS);
	T_TRUE(value_at("/shards/a") != NULL);
	down();
}

T_CASE(other_partitions_than_there_are_is_refused)
{
	struct shard_opts opts = {.id = "x",
	                          .partitions = PARTITIONS + 1,
	                          .ttl_s = TTL_S,
	                          .seed = 3,
	                          .ctx = &nodes[1]};

	up();
	node_open(&nodes[0], "a", 100);
	settle();
	nodes[1] = (struct shard_node){.id = "x"};
	T_OK(memkv_session(kit.mem, &nodes[1].kv, &kit.err), &kit.err);
	T_OK(shard_open(nodes[1].kv, &opts, on_shard, &nodes[1].shard, &kit.err),
	     &kit.err);
	node_count = 2;
	until(&nodes[1], SHARD_REFUSED, 5000);
	T_EQ(nodes[1].refused.code, PL_CONFLICT);
	down();
}

T_CASE(options_that_make_no_sense_open_nothing)
{
	struct shard_opts opts = {.id = "No", .ttl_s = TTL_S};
	struct shard *shard = NULL;

	up();
	T_CODE(shard_open(kit.kv, &opts, on_shard, &shard, &kit.err), PL_INVALID, NULL);
	opts.id = "a";
	opts.weight = MEMBERSHIP_WEIGHT_MAX + 1;
	T_CODE(shard_open(kit.kv, &opts, on_shard, &shard, &kit.err), PL_INVALID, NULL);
	T_TRUE(shard == NULL);
	down();
}
