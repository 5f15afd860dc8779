/* The actions of operators on shards, and the content of a shard's record. */
#include "tests/support/coord/shard/shard_fixture.h"

/* -- actions of operators ---------------------------------------------------------- */

T_CASE(drained_by_configuration_and_back)
{
	open_three();
	configure(CONFIG_SHARDS, "{\"drain\":[\"b\"]}");
	until(&nodes[1], SHARD_DRAINED, 30000);
	T_EQ(shard_state(nodes[1].shard), MEMBERSHIP_DRAINING);
	T_EQ(shard_owned(nodes[1].shard), 0);
	settle();
	T_TRUE(strstr(value_at("/shards/b"), "\"state\":\"draining\"") != NULL);
	configure(CONFIG_SHARDS, "{\"drain\":[]}");
	settle();
	T_EQ(shard_state(nodes[1].shard), MEMBERSHIP_ACTIVE);
	T_TRUE(shard_owned(nodes[1].shard) > 0);
	down();
}

T_CASE(a_drained_leader_steps_down)
{
	struct shard_node *leader;
	char json[64];

	open_three();
	leader = leader_of("janitor");
	(void)snprintf(json, sizeof json, "{\"drain\":[\"%s\"]}", leader->id);
	configure(CONFIG_SHARDS, json);
	run_ms(3000);
	T_TRUE(leader->reports[SHARD_FOLLOW] > 0);
	T_TRUE(leader_of("janitor") != leader);
	T_TRUE(leader_of("balancer") != leader);
	down();
}

T_CASE(a_handover_may_take_as_long_as_configured)
{
	open_three();
	configure(CONFIG_COORD, "{\"handover_ms\":700}");
	configure(CONFIG_SHARDS, "{\"drain\":[\"b\"]}");
	until(&nodes[1], SHARD_DRAINED, 30000);
	T_TRUE(nodes[1].handover_ms > 0 && nodes[1].handover_ms <= 700);
	down();
}

T_CASE(the_only_shard_keeps_its_partitions_when_drained)
{
	up();
	node_open(&nodes[0], "a", 100);
	settle();
	configure(CONFIG_SHARDS, "{\"drain\":[\"a\"]}");
	run_ms(SETTLED_MS);
	T_EQ(nodes[0].reports[SHARD_DRAINING], 1);
	T_EQ(nodes[0].reports[SHARD_DRAINED], 0);
	T_EQ(owned_by_all(), PARTITIONS);
	node_open(&nodes[1], "b", 101);
	until(&nodes[0], SHARD_DRAINED, 30000);
	settle();
	T_EQ(shard_owned(nodes[1].shard), PARTITIONS);
	down();
}

T_CASE(a_shard_whose_record_is_deleted_loses_all_and_comes_back)
{
	open_three();
	T_EQ(kit_lease(&kit, KV_LEASE_REVOKE, nodes[0].lease, 0), PL_OK);
	until(&nodes[0], SHARD_DOWN, TTL_S * UINT64_C(1000));
	for (uint32_t p = 0; p < PARTITIONS; p++)
		T_EQ(nodes[0].epoch[p], 0);
	settle();
	T_EQ(nodes[0].reports[SHARD_UP], 2);
	T_TRUE(shard_owned(nodes[0].shard) > 0);
	down();
}

T_CASE(weights_of_members_count)
{
	open_three();
	configure(CONFIG_WEIGHTS, "{\"factors\":{\"a\":100,\"b\":100}}");
	settle();
	T_TRUE(shard_owned(nodes[2].shard) > PARTITIONS / 2);
	down();
}

T_CASE(a_bad_configuration_is_reported_and_the_last_good_one_stands)
{
	open_three();
	configure(CONFIG_SHARDS, "{\"drain\":[\"b\"]}");
	settle();
	(void)kit_put(&kit, "/config/shards/0000000002",
	              "{\"v\":1,\"at\":\"2026-11-21T05:00:00.000Z\",\"by\":\"x\",\"why\":"
	              "\"\",\"config\":{\"drain\":7}}");
	(void)kit_put(&kit, "/config/shards/current", "{\"v\":1,\"version\":2}");
	run_ms(1000);
	T_TRUE(strstr(nodes[0].config_refused.msg, "drain") != NULL);
	T_TRUE(strstr(value_at("/shards/a"), "\"refused\":{\"shards\":\"version 2: ") !=
	       NULL);
	T_EQ(shard_state(nodes[1].shard), MEMBERSHIP_DRAINING);
	T_EQ(shard_owned(nodes[1].shard), 0);
	configure(CONFIG_SHARDS, "{}");
	settle();
	T_TRUE(strstr(value_at("/shards/a"), "refused") == NULL);
	T_EQ(shard_state(nodes[1].shard), MEMBERSHIP_ACTIVE);
	down();
}

T_CASE(a_damaged_record_is_reported_and_takes_no_part)
{
	open_three();
	(void)kit_put(&kit, "/shards/zz", "{\"v\":1}");
	run_ms(1000);
	T_EQ(nodes[0].reports[SHARD_MALFORMED], 1);
	T_EQ(nodes[2].reports[SHARD_MALFORMED], 1);
	settle();
	T_EQ(nodes[0].reports[SHARD_MALFORMED], 1);
	down();
}

/* Longer than any name: an entry that is malformed like any other. */
T_CASE(a_key_that_is_too_long_to_be_a_shards_is_reported)
{
	char key[2000];

	(void)snprintf(key, sizeof key, "/shards/%0*d", 1900, 7);
	open_three();
	(void)kit_put(&kit, key, "{}");
	run_ms(1000);
	T_EQ(nodes[0].reports[SHARD_MALFORMED], 1);
	settle();
	T_EQ(shard_owned(nodes[0].shard) + shard_owned(nodes[1].shard) +
	             shard_owned(nodes[2].shard),
	     PARTITIONS);
	down();
}

/* Invalid keys wherever shards read: none of them stops a shard. */
T_CASE(invalid_keys_below_every_prefix_stop_no_shard)
{
	static const char *const keys[] = {
		"/shards/",
		"/shards//",
		"/shards/a/b",
		"/shards/UPPER",
		"/partitions/",
		"/partitions/9999/owner",
		"/partitions/4095/owner",
		"/partitions/0001/ownerx",
		"/partitions/1/owner",
		"/config/",
		"/config/shards/",
		"/config/shards/9999999999",
		"/config/nothing/current",
		"/config/weights/0000000001x",
		"/leader/",
		"/leader/unknown",
		"/pins/",
		"/pins/x",
		"/digests/gone",
		"/placet/",
		"/placet/metadata",
	};
	static char big[300000];
	unsigned owned = 0;

	memset(big, '[', sizeof big - 1);
	open_three();
	for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		(void)kit_put(&kit, keys[i], "");
		(void)kit_put(&kit, keys[i], big);
		(void)kit_put(&kit, keys[i], "{\"v\":1}");
	}
	run_ms(SETTLED_MS);
	node_open(&nodes[3], "d", 104);
	shard_leave(nodes[0].shard);
	until(&nodes[0], SHARD_CLOSED, 10000);
	run_ms(SETTLED_MS);
	for (unsigned i = 1; i < 4; i++)
		owned += shard_owned(nodes[i].shard);
	T_EQ(owned, PARTITIONS);
	T_TRUE(shard_owned(nodes[3].shard) > 0);
	down();
}

T_CASE(a_removed_record_is_put_back_and_nothing_is_lost)
{
	up();
	node_open(&nodes[0], "a", 100);
	settle();
	T_EQ(kit_delete(&kit, kv_key(kit_key("/shards/a"))), 1);
	run_ms(1000);
	T_TRUE(value_at("/shards/a") != NULL);
	T_EQ(nodes[0].reports[SHARD_DOWN] + nodes[0].reports[SHARD_LOST], 0);
	settle();
	down();
}

/* -- loads and the record ---------------------------------------------------------- */

static int64_t version_of(const char *key)
{
	T_TRUE(value_at(key) != NULL);
	return kit.result.get.records[0].version;
}

/* Every shard watches every record: the more there are, the less often each is
 * refreshed. */
T_CASE(refreshes_of_all_together_are_bounded)
{
	enum { OTHERS = 99, LOOKS = 40, LOOK_MS = 500 };
	int64_t before;

	up();
	configure(CONFIG_COORD, "{\"refresh_ms\":500}");
	node_open(&nodes[0], "a", 100);
	settle();
	for (unsigned round = 0; round < 2; round++) {
		before = version_of("/shards/a");
		for (unsigned i = 1; i <= LOOKS; i++) {
			shard_busy(nodes[0].shard, i / 100.0, 0);
			run_ms(LOOK_MS);
		}
		if (round == 0)
			T_TRUE(version_of("/shards/a") - before >= 10);
		else /* 20 s, 100 members: every 5 s, and one that was due before */
			T_TRUE(version_of("/shards/a") - before <= 5);
		for (unsigned i = 0; round == 0 && i < OTHERS; i++) {
			char key[32];

			(void)snprintf(key, sizeof key, "/shards/x-%u", i);
			(void)kit_put(&kit, key, "{}");
		}
		run_ms(LOOK_MS);
	}
	down();
}

T_CASE(loads_and_rates_come_to_stand_in_the_record)
{
	char want[64];
	uint32_t p;

	open_three();
	p = owned_partition(&nodes[0]);
	shard_load(nodes[0].shard, p, 4711);
	shard_load(nodes[0].shard, PARTITIONS, 1);
	settle();
	T_TRUE(strstr(value_at("/shards/a"), "4711") != NULL);
	shard_busy(nodes[0].shard, 0.5, 12);
	settle();
	(void)snprintf(want, sizeof want, "\"busy\":0.5");
	T_TRUE(strstr(value_at("/shards/a"), want) != NULL);
	down();
}
