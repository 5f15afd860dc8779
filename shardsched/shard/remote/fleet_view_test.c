/* Remote nodes by the fleet view, and what comes and goes with it. */
#include "tests/support/shardsched/shard/remote_rig.h"

T_CASE(the_fleet_view_brings_all_nodes)
{
	begin();
	T_TRUE(node_of("other") == NULL);
	T_EQ(fleet_view_applied_rev(rig.sched), 0);
	fleet_view_acquire(rig.sched);
	rig_run_idle(&rig);
	T_EQ(scope_of("mine"), NODE_LOCAL);
	T_EQ(scope_of("other"), NODE_REMOTE);
	T_EQ(scope_of("third"), NODE_REMOTE);
	T_EQ(fleet_view_applied_rev(rig.sched), rig.store.revision);
	rig_close(&rig);
}

/* The tick lies among the nodes, and its event is progress like any other. */
T_CASE(the_fleet_view_passes_over_the_tick)
{
	begin();
	rig_put(&rig, "/nodes/tick", "{\"v\":1}");
	fleet_view_acquire(rig.sched);
	rig_run_idle(&rig);
	T_EQ(fleet_view_applied_rev(rig.sched), rig.store.revision);
	rig_put(&rig, "/nodes/tick", "{\"v\":1}");
	rig_run_idle(&rig);
	T_EQ(scope_of("other"), NODE_REMOTE);
	T_EQ(fleet_view_applied_rev(rig.sched), rig.store.revision);
	rig_close(&rig);
}

/* Pods are placed on own nodes as ever. */
T_CASE(local_nodes_come_first)
{
	int phase;

	begin();
	fleet_view_acquire(rig.sched);
	rig_pod(&rig, 0, "p", "1", "");
	rig_run_idle(&rig);
	T_TRUE(pl_span_eq(rig_state(&rig, 0, "p", &phase).node, PL_SPAN_LIT("mine")));
	rig_close(&rig);
}

T_CASE(the_fleet_view_is_kept_for_a_while)
{
	begin();
	fleet_view_acquire(rig.sched);
	fleet_view_acquire(rig.sched);
	rig_run_idle(&rig);
	fleet_view_release(rig.sched);
	rig.now_ms += 60000;
	rig_run_idle(&rig);
	T_EQ(scope_of("other"), NODE_REMOTE);
	fleet_view_release(rig.sched);
	rig.now_ms += 29000;
	rig_run_idle(&rig);
	T_TRUE(rig.viewed[SCHED_FLEET]);
	T_TRUE(sched_deadline_ms(rig.sched) <= rig.now_ms + 1000);
	rig.now_ms += 1000;
	rig_run_idle(&rig);
	T_TRUE(!rig.viewed[SCHED_FLEET]);
	T_TRUE(node_of("other") == NULL);
	T_EQ(scope_of("mine"), NODE_LOCAL);
	T_EQ(fleet_view_applied_rev(rig.sched), 0);
	rig_close(&rig);
}

/* The spec of another shard's pod is read by key; until then its node is excluded and the
 * view has not come further. */
T_CASE(specs_of_remote_pods_are_read)
{
	int64_t revision;

	begin();
	fleet_view_acquire(rig.sched);
	rig_run_idle(&rig);
	rig_pod(&rig, 2, "guest", "500m", "");
	alloc_lists(1, "other", 2, "guest");
	revision = rig.store.revision;
	rig_node(&rig, 3, "fourth", "4");
	rig_deliver_all(&rig);
	T_EQ(scope_of("other"), NODE_EXCLUDED);
	T_TRUE(fleet_view_applied_rev(rig.sched) < revision);
	rig_run(&rig);
	T_TRUE(fleet_view_applied_rev(rig.sched) < revision);
	rig_run_idle(&rig);
	T_EQ(scope_of("other"), NODE_REMOTE);
	T_EQ(fleet_view_applied_rev(rig.sched), rig.store.revision);
	T_EQ(rig.sched->snapshot.placed_count, 1);
	rig_close(&rig);
}

/* The view ends, and nothing is left of it. */
T_CASE(remote_pods_are_forgotten_with_the_view)
{
	begin();
	fleet_view_acquire(rig.sched);
	rig_pod(&rig, 2, "guest", "500m", "");
	alloc_lists(1, "other", 2, "guest");
	rig_run_idle(&rig);
	T_EQ(rig.sched->pods.count, 1);
	rig_put(&rig, "/alloc/0001/east/other", "{\"v\":1,\"generation\":3}");
	rig_run_idle(&rig);
	T_EQ(rig.sched->pods.count, 0);
	T_EQ(scope_of("other"), NODE_REMOTE);
	rig_close(&rig);
}

T_CASE(partitions_change_hands_under_the_fleet_view)
{
	begin();
	fleet_view_acquire(rig.sched);
	rig_run_idle(&rig);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	T_EQ(scope_of("other"), NODE_LOCAL);
	rig_lost(&rig, 1);
	T_EQ(scope_of("other"), NODE_REMOTE);
	rig_lost(&rig, 0);
	rig_run_idle(&rig);
	T_EQ(scope_of("mine"), NODE_REMOTE);
	rig_del(&rig, "/nodes/0000/east/mine");
	rig_del(&rig, "/alloc/0000/east/mine");
	rig_run_idle(&rig);
	T_TRUE(node_of("mine") == NULL);
	rig_close(&rig);
}

/* A partition that is handed over gets no placements any more, but counts. */
T_CASE(a_quiet_partition_is_excluded)
{
	begin();
	fleet_view_acquire(rig.sched);
	rig_run_idle(&rig);
	sched_quiesce(rig.sched, 0);
	T_EQ(scope_of("mine"), NODE_EXCLUDED);
	rig_run_idle(&rig);
	T_TRUE(sched_is_quiet(rig.sched, 0));
	rig_close(&rig);
}

/* Nodes that went while the view was not watched are swept; nodes that came since the
 * list are not. */
T_CASE(a_new_list_sweeps)
{
	begin();
	fleet_view_acquire(rig.sched);
	rig_run_idle(&rig);
	sched_view_lost(rig.sched, SCHED_FLEET);
	T_EQ(fleet_view_applied_rev(rig.sched), 0);
	T_EQ(scope_of("other"), NODE_REMOTE);
	rig_del(&rig, "/nodes/0001/east/other");
	rig_del(&rig, "/alloc/0001/east/other");
	sched_view_begin(rig.sched, SCHED_FLEET);
	sched_view_end(rig.sched, SCHED_FLEET, 101); /* before there was any node */
	T_EQ(scope_of("third"), NODE_REMOTE);
	rig_view_list(&rig, SCHED_FLEET);
	T_TRUE(node_of("other") == NULL);
	T_EQ(scope_of("third"), NODE_REMOTE);
	T_EQ(scope_of("mine"), NODE_LOCAL);
	rig_run_idle(&rig);
	rig_close(&rig);
}

T_CASE(events_of_a_node_in_a_txn_hold_the_view_back)
{
	int64_t revision;

	begin();
	fleet_view_acquire(rig.sched);
	rig_run_idle(&rig);
	rig_pod(&rig, 0, "p", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig); /* the commit is in flight */
	rig_put(&rig, "/alloc/0000/east/mine", "{\"v\":1,\"generation\":7}");
	revision = rig.store.revision;
	rig_put(&rig, "/digests/x", "{}");
	rig_deliver_all(&rig);
	T_EQ(fleet_view_applied_rev(rig.sched), revision - 1);
	rig_run_idle(&rig);
	T_EQ(fleet_view_applied_rev(rig.sched), rig.sched->fleet_view.revision);
	rig_close(&rig);
}

T_CASE(a_rewound_store_empties_everything)
{
	begin();
	fleet_view_acquire(rig.sched);
	rig_run_idle(&rig);
	sched_rewound(rig.sched);
	T_EQ(rig.sched->nodes.count, 0);
	T_EQ(fleet_view_applied_rev(rig.sched), 0);
	for (unsigned part = 0; part < SCHED_PARTS; part++)
		rig_list(&rig, 0, (enum sched_part)part);
	rig_view_list(&rig, SCHED_FLEET);
	rig_run_idle(&rig);
	T_EQ(scope_of("other"), NODE_REMOTE);
	rig_close(&rig);
}
