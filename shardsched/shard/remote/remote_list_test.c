/* Remote nodes by remote lists, alone and beside the fleet view. */
#include "tests/support/shardsched/shard/remote_rig.h"

T_CASE(a_remote_list_is_kept_for_a_while)
{
	begin();
	remote_list_request(rig.sched, 1);
	rig_run_idle(&rig);
	T_EQ(scope_of("other"), NODE_REMOTE);
	T_TRUE(node_of("third") == NULL);
	T_EQ(fleet_view_applied_rev(rig.sched), 0);
	rig.now_ms += 30000;
	rig_run_idle(&rig);
	T_TRUE(node_of("other") == NULL);
	rig_close(&rig);
}

/* A node that the second list does not bring is gone. */
T_CASE(a_second_remote_list_sweeps)
{
	begin();
	remote_list_request(rig.sched, 1);
	rig_run_idle(&rig);
	rig_del(&rig, "/nodes/0001/east/other");
	rig_del(&rig, "/alloc/0001/east/other");
	rig_run_idle(&rig);
	T_EQ(scope_of("other"), NODE_REMOTE);
	remote_list_request(rig.sched, 1);
	rig_run_idle(&rig);
	T_TRUE(node_of("other") == NULL);
	rig_close(&rig);
}

T_CASE(a_remote_list_of_an_owned_partition_is_moot)
{
	struct sched_action action;

	begin();
	remote_list_request(rig.sched, 1);
	T_TRUE(sched_next(rig.sched, &action));
	T_EQ(action.what, SCHED_REMOTE_LIST);
	rig.remote_list[1] = true;
	rig_own(&rig, 1);
	rig_lost(&rig, 1);
	rig_remote_list(&rig, 1);
	T_TRUE(node_of("other") == NULL);
	remote_list_request(rig.sched, 1);
	rig_run_idle(&rig);
	T_EQ(scope_of("other"), NODE_REMOTE);
	rig_close(&rig);
}

T_CASE(a_failed_remote_list_leaves_nothing)
{
	struct sched_action action;

	begin();
	remote_list_request(rig.sched, 1);
	T_TRUE(sched_next(rig.sched, &action));
	sched_remote_list_records(
		rig.sched, 1, rig_get(&rig.store, PL_SPAN_LIT("/nodes/0001/east/other")),
		1);
	sched_remote_list_failed(rig.sched, 1, &rig_unlisted);
	T_TRUE(node_of("other") == NULL);
	rig_run_idle(&rig);
	rig_close(&rig);
}

/* A request during a moot list is not satisfied by it. */
T_CASE(pods_waiting_for_a_moot_list_get_another)
{
	struct sched_action action;

	begin();
	remote_list_request(rig.sched, 1);
	T_TRUE(sched_next(rig.sched, &action));
	rig.remote_list[1] = true;
	rig_own(&rig, 1);
	rig_lost(&rig, 1);
	remote_list_request(rig.sched, 1);
	rig_run(&rig); /* not two at once */
	rig_remote_list(&rig, 1);
	T_TRUE(node_of("other") == NULL);
	rig_run_idle(&rig);
	T_EQ(scope_of("other"), NODE_REMOTE);
	rig_close(&rig);
}

/* -- pages of lists, and what ends between them ------------------------------------ */

static void view_pages(void)
{
	struct kv_keys keys = sched_view_keys(SCHED_FLEET);

	fleet_view_acquire(rig.sched);
	rig.viewed[SCHED_FLEET] = true;
	rig.view_cursor[SCHED_FLEET] = rig.store.logged;
	sched_view_begin(rig.sched, SCHED_FLEET);
	for (uint32_t i = 0; i < rig.store.keys; i++)
		if (kv_key_in(keys, rig.store.key[i].key))
			sched_view_records(rig.sched, SCHED_FLEET, &rig.store.key[i], 1);
}

static void list_pages(void)
{
	struct sched_action action;

	remote_list_request(rig.sched, 1);
	T_TRUE(sched_next(rig.sched, &action));
	T_EQ(action.what, SCHED_REMOTE_LIST);
	sched_remote_list_records(
		rig.sched, 1, rig_get(&rig.store, PL_SPAN_LIT("/nodes/0001/east/other")),
		1);
	sched_remote_list_records(
		rig.sched, 1, rig_get(&rig.store, PL_SPAN_LIT("/alloc/0001/east/other")),
		1);
}

T_CASE(a_remote_list_grows_old_while_the_view_is_listed)
{
	begin();
	remote_list_request(rig.sched, 1);
	rig_run_idle(&rig);
	view_pages();
	rig.now_ms += 30000;
	rig_run(&rig);
	T_EQ(scope_of("other"), UINT32_MAX);
	sched_view_end(rig.sched, SCHED_FLEET, rig.store.revision);
	T_EQ(scope_of("other"), NODE_REMOTE);
	rig_run_idle(&rig);
	T_EQ(fleet_view_applied_rev(rig.sched), rig.store.revision);
	rig_close(&rig);
}

T_CASE(a_remote_list_fails_while_the_view_is_listed)
{
	begin();
	list_pages();
	view_pages();
	sched_remote_list_failed(rig.sched, 1, &rig_unlisted);
	sched_view_end(rig.sched, SCHED_FLEET, rig.store.revision);
	T_EQ(scope_of("other"), NODE_REMOTE);
	rig_close(&rig);
}

/* The nodes that the list had brought by then were forgotten with the view: it is made again. */
T_CASE(the_view_ends_during_a_remote_list)
{
	begin();
	fleet_view_acquire(rig.sched);
	rig_run_idle(&rig);
	list_pages();
	fleet_view_release(rig.sched);
	rig.now_ms += 30000;
	rig_run(&rig);
	rig_views(&rig);
	T_TRUE(!rig.viewed[SCHED_FLEET]);
	sched_remote_list_end(rig.sched, 1, rig.store.revision);
	rig.now_ms += 1000;
	rig_run_idle(&rig);
	T_EQ(scope_of("other"), NODE_REMOTE);
	rig_close(&rig);
}
