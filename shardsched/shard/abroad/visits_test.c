/* Nodes of others: visits, alone and beside the view. */
#include "shardsched/shard/abroad/abroad_rig.h"

T_CASE(a_visit_is_kept_for_a_while)
{
	begin();
	visit_want(rig.sched, 1);
	rig_settle(&rig);
	T_EQ(scope_of("other"), NODE_ABROAD);
	T_TRUE(node_of("third") == NULL);
	T_EQ(view_clear(rig.sched), 0);
	rig.now_ms += 30000;
	rig_settle(&rig);
	T_TRUE(node_of("other") == NULL);
	rig_close(&rig);
}

/* What a visit does not find any more is gone. */
T_CASE(a_second_visit_sweeps)
{
	begin();
	visit_want(rig.sched, 1);
	rig_settle(&rig);
	rig_del(&rig, "/nodes/0001/east/other");
	rig_del(&rig, "/alloc/0001/east/other");
	rig_settle(&rig);
	T_EQ(scope_of("other"), NODE_ABROAD);
	visit_want(rig.sched, 1);
	rig_settle(&rig);
	T_TRUE(node_of("other") == NULL);
	rig_close(&rig);
}

T_CASE(a_visit_of_what_is_owned_by_now_is_moot)
{
	struct sched_action action;

	begin();
	visit_want(rig.sched, 1);
	T_TRUE(sched_next(rig.sched, &action));
	T_EQ(action.what, SCHED_VISIT);
	rig.visit[1] = true;
	rig_own(&rig, 1);
	rig_lost(&rig, 1);
	rig_visit(&rig, 1);
	T_TRUE(node_of("other") == NULL);
	visit_want(rig.sched, 1);
	rig_settle(&rig);
	T_EQ(scope_of("other"), NODE_ABROAD);
	rig_close(&rig);
}

T_CASE(a_visit_that_failed_leaves_nothing)
{
	struct sched_action action;

	begin();
	visit_want(rig.sched, 1);
	T_TRUE(sched_next(rig.sched, &action));
	sched_visit_records(rig.sched, 1,
	                    rig_get(&rig.store, PL_SPAN_LIT("/nodes/0001/east/other")),
	                    1);
	sched_visit_failed(rig.sched, 1, &rig_unlisted);
	T_TRUE(node_of("other") == NULL);
	rig_settle(&rig);
	rig_close(&rig);
}

/* What is wanted while a visit is under way of which nothing will come is not that one.
 */
T_CASE(who_waits_for_a_moot_visit_gets_another)
{
	struct sched_action action;

	begin();
	visit_want(rig.sched, 1);
	T_TRUE(sched_next(rig.sched, &action));
	rig.visit[1] = true;
	rig_own(&rig, 1);
	rig_lost(&rig, 1);
	visit_want(rig.sched, 1);
	rig_run(&rig); /* not two at once */
	rig_visit(&rig, 1);
	T_TRUE(node_of("other") == NULL);
	rig_settle(&rig);
	T_EQ(scope_of("other"), NODE_ABROAD);
	rig_close(&rig);
}

/* -- pages of lists, and what ends between them ------------------------------------ */

static void pages_of_the_view(void)
{
	struct kv_keys keys = rig_view_keys(SCHED_WHOLE);

	view_want(rig.sched);
	rig.viewed[SCHED_WHOLE] = true;
	rig.view_cursor[SCHED_WHOLE] = rig.store.logged;
	sched_view_begin(rig.sched, SCHED_WHOLE);
	for (uint32_t i = 0; i < rig.store.keys; i++)
		if (kv_key_in(keys, rig.store.key[i].key))
			sched_view_records(rig.sched, SCHED_WHOLE, &rig.store.key[i], 1);
}

static void pages_of_a_visit(void)
{
	struct sched_action action;

	visit_want(rig.sched, 1);
	T_TRUE(sched_next(rig.sched, &action));
	T_EQ(action.what, SCHED_VISIT);
	sched_visit_records(rig.sched, 1,
	                    rig_get(&rig.store, PL_SPAN_LIT("/nodes/0001/east/other")),
	                    1);
	sched_visit_records(rig.sched, 1,
	                    rig_get(&rig.store, PL_SPAN_LIT("/alloc/0001/east/other")),
	                    1);
}

T_CASE(a_visit_grows_old_while_the_view_is_listed)
{
	begin();
	visit_want(rig.sched, 1);
	rig_settle(&rig);
	pages_of_the_view();
	rig.now_ms += 30000;
	rig_run(&rig);
	T_EQ(scope_of("other"), UINT32_MAX);
	sched_view_end(rig.sched, SCHED_WHOLE, rig.store.revision);
	T_EQ(scope_of("other"), NODE_ABROAD);
	rig_settle(&rig);
	T_EQ(view_clear(rig.sched), rig.store.revision);
	rig_close(&rig);
}

T_CASE(a_visit_fails_while_the_view_is_listed)
{
	begin();
	pages_of_a_visit();
	pages_of_the_view();
	sched_visit_failed(rig.sched, 1, &rig_unlisted);
	sched_view_end(rig.sched, SCHED_WHOLE, rig.store.revision);
	T_EQ(scope_of("other"), NODE_ABROAD);
	rig_close(&rig);
}

/* What it had brought by then was forgotten with the view: it is made again. */
T_CASE(the_view_ends_during_a_visit)
{
	begin();
	view_want(rig.sched);
	rig_settle(&rig);
	pages_of_a_visit();
	view_release(rig.sched);
	rig.now_ms += 30000;
	rig_run(&rig);
	rig_views(&rig);
	T_TRUE(!rig.viewed[SCHED_WHOLE]);
	sched_visit_end(rig.sched, 1, rig.store.revision);
	rig.now_ms += 1000;
	rig_settle(&rig);
	T_EQ(scope_of("other"), NODE_ABROAD);
	rig_close(&rig);
}
