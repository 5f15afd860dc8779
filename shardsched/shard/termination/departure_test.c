/* Pods of several shards that leave one node. */
#include "tests/support/shardsched/shard/termination_rig.h"

enum { BEFORE = 1, AFTER = 3 };

/* On n-1 in own partition 0: web/mine of own partition 2, which has ended, and web/theirs
 * of another shard. */
static void two_leave(const char *pods, const char *leaving)
{
	char value[512];

	(void)snprintf(
		value, sizeof value,
		"{\"v\":1,\"generation\":7,\"used\":{\"cpu\":\"2000m\",\"pods\":\"2\"},"
		"\"nonzero\":{\"cpu\":\"2000m\",\"memory\":\"419430400\"},"
		"\"pods\":{%s},\"leaving\":{%s}}",
		pods, leaving);
	rig_put(&rig, "/alloc/0000/east/n-1", value);
}

static void up_two(uint32_t theirs, const char *pods, const char *leaving)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 2, "mine", "1", "");
	rig_pod(&rig, theirs, "theirs", "1", "");
	two_leave(pods, leaving);
	rig_put(&rig, "/schedules/0002/web/mine/state",
	        "{\"v\":1,\"uid\":\"u-mine\",\"phase\":\"Terminating\",\"ended\":\"Gone\","
	        "\"cluster\":\"east\",\"node\":\"n-1\",\"shard\":\"a\",\"epoch\":\"3\","
	        "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	rig_own(&rig, 0);
	rig_own(&rig, 2);
	rig_run_idle(&rig);
}

static bool mine_has_gone(void)
{
	int phase;

	(void)rig_state(&rig, 2, "mine", &phase);
	return phase < 0;
}

#define THEIRS_FIRST "\"0001\":{\"web\":[\"theirs\"]},\"0002\":{\"web\":[\"mine\"]}"
#define THEIRS_LAST "\"0002\":{\"web\":[\"mine\"]},\"0003\":{\"web\":[\"theirs\"]}"
#define MINE "\"0002\":{\"web\":[\"mine\"]}"

T_CASE(pods_of_several_shards_depart_in_order)
{
	up_two(BEFORE, THEIRS_FIRST, THEIRS_FIRST);
	rig.now_ms += 400;
	rig_run_idle(&rig);
	T_TRUE(!mine_has_gone());
	/* The pod of the other shard has gone. */
	rig_put(&rig, "/alloc/0000/east/n-1",
	        "{\"v\":1,\"generation\":8,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"cpu\":\"1000m\",\"memory\":\"209715200\"},"
	        "\"pods\":{" MINE "},\"leaving\":{" MINE "}}");
	rig_run_idle(&rig);
	T_TRUE(mine_has_gone());
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 0);
	down();

	up_two(AFTER, THEIRS_LAST, THEIRS_LAST);
	T_TRUE(mine_has_gone());
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 1);
	down();
}

/* However often something else happens on the node. */
T_CASE(no_pod_waits_long_to_depart)
{
	up_two(BEFORE, THEIRS_FIRST, THEIRS_FIRST);
	for (unsigned i = 0; i < 6; i++) {
		T_TRUE(!mine_has_gone());
		rig.now_ms += 80;
		two_leave(THEIRS_FIRST, THEIRS_FIRST);
		rig_run_idle(&rig);
	}
	rig.now_ms += 80;
	rig_run_idle(&rig);
	T_TRUE(mine_has_gone());
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 1);
	down();
}

/* The state is of an alloc that has not arrived. */
T_CASE(a_departure_by_an_unseen_alloc_is_waited_for)
{
	up_two(AFTER, THEIRS_LAST, "");
	T_TRUE(!mine_has_gone());
	two_leave(THEIRS_LAST, MINE);
	rig_run_idle(&rig);
	T_TRUE(mine_has_gone());
	down();

	up_two(AFTER, THEIRS_LAST, ""); /* the alloc never arrives */
	rig.now_ms += 501;
	rig_run_idle(&rig);
	T_TRUE(mine_has_gone());
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 1);
	down();
}

/* A txn that writes the node anyway takes them along. */
T_CASE(a_placement_takes_waiting_departures_along)
{
	up_two(BEFORE, THEIRS_FIRST, THEIRS_FIRST);
	T_TRUE(!mine_has_gone());
	rig_pod(&rig, 2, "new", "1", "");
	rig_run_idle(&rig);
	T_TRUE(mine_has_gone());
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 2);
	down();
}
