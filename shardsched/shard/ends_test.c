/* Pods that leave their nodes. */
#include "shardsched/shard/sched_rig.h"

static struct rig rig;

/* A pod of nobody's partition is on the node. */
static void node_with(const char *leaving)
{
	char value[512];

	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 3, "old", "1", "");
	(void)snprintf(
		value, sizeof value,
		"{\"v\":1,\"generation\":7,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
		"\"nonzero\":{\"cpu\":\"1000m\",\"memory\":\"209715200\"},"
		"\"pods\":{\"0003\":{\"web\":[\"old\"]}}%s}",
		leaving);
	rig_put(&rig, "/alloc/0000/east/n-1", value);
}

T_CASE(whoever_leaves_is_still_said_to_when_others_come)
{
	struct alloc alloc;

	rig_open(&rig, NULL);
	node_with(",\"leaving\":{\"0003\":{\"web\":[\"old\"]}}");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_pod(&rig, 1, "new", "1", "");
	rig_settle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 2);
	T_TRUE(!alloc.pod[0].leaving);
	T_TRUE(alloc.pod[1].leaving);
	/* It does not leave after all. */
	node_with("");
	rig_settle(&rig);
	rig_pod(&rig, 1, "other", "1", "");
	rig_settle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 2);
	T_TRUE(!alloc.pod[0].leaving && !alloc.pod[1].leaving);
	rig_close(&rig);
}
