/* A partition that is handed over while the fleet view is held gets no placements. */
#include "tests/support/shardsched/shard/remote_rig.h"

enum { ROUNDS = 400 };

/* One pod comes in each round, and fits on the partition's node only. Gives in how many
 * rounds the partition was quiet. */
static unsigned quiet_rounds(bool view)
{
	unsigned quiet = 0;
	char name[16];

	begin();
	rig_node(&rig, 1, "other", "4000");
	rig_own(&rig, 1);
	if (view)
		fleet_view_acquire(rig.sched);
	rig_run_idle(&rig);
	sched_quiesce(rig.sched, 1);
	for (unsigned i = 0; i < ROUNDS; i++) {
		(void)snprintf(name, sizeof name, "p-%03u", i);
		if (i < 100)
			rig_pod(&rig, 0, name, "5", "");
		rig_deliver_all(&rig);
		rig_views(&rig);
		rig_run(&rig);
		quiet += i < 100 && sched_is_quiet(rig.sched, 1);
		(void)rig_remote_list_all(&rig);
		for (unsigned n = 0; n < RIG_OUT_MAX; n++)
			if (rig.out[n].used)
				(void)rig_answer(&rig, n);
		rig.now_ms += 5;
	}
	rig_close(&rig);
	return quiet;
}

T_CASE(a_handed_over_partition_gets_quiet_without_the_view)
{
	T_TRUE(quiet_rounds(false) > 90);
}

T_CASE(a_handed_over_partition_gets_quiet_with_the_view)
{
	T_TRUE(quiet_rounds(true) > 0);
}
