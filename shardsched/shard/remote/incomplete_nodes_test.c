/* Many nodes of which something is unknown, and always will be: no pod waits for that. */
#include "tests/support/shardsched/shard/remote_rig.h"

/* A pod that is too large for any node; gives its state after a while. */
static const char *status_of(unsigned incomplete, bool victim)
{
	static char state[512];
	char name[16];

	rig_open(&rig, NULL);
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 128});
	rig_node(&rig, 0, "mine", "4");
	for (unsigned i = 0; i < incomplete; i++) {
		(void)snprintf(name, sizeof name, "n-%03u", i);
		rig_node(&rig, 0, name, "4");
		alloc_lists(0, name, 1, name); /* there is no such spec */
	}
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	if (victim) {
		rig_pod(&rig, 0, "low", "4", "");
		for (unsigned i = 0; i < 20; i++) {
			rig_run_idle(&rig);
			rig.now_ms += 500;
		}
		T_TRUE(is_on("low", "mine"));
		rig_priority = 10;
		rig_pod(&rig, 0, "p", "4", "");
		rig_priority = 0;
	} else {
		rig_pod(&rig, 0, "p", "100", "");
	}
	for (unsigned i = 0; i < 240; i++) { /* two minutes */
		rig_run_idle(&rig);
		rig.now_ms += 500;
	}
	(void)snprintf(state, sizeof state, "%s",
	               rig_value(&rig, "/schedules/0000/web/p/state"));
	rig_close(&rig);
	return state;
}

T_CASE(few_incomplete_nodes_are_not_waited_for)
{
	T_TRUE(status_of(200, false)[0] != 0);
}

T_CASE(room_is_made_beside_few_incomplete_nodes)
{
	T_TRUE(strstr(status_of(200, true), "nominated") != NULL);
}

T_CASE(many_incomplete_nodes_are_not_waited_for)
{
	T_TRUE(status_of(300, false)[0] != 0);
}

T_CASE(room_is_made_beside_many_incomplete_nodes)
{
	T_TRUE(strstr(status_of(300, true), "nominated") != NULL);
}
