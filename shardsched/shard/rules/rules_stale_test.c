/*
 * Rules, where what is known of a node or of a pod is of another time than the view.
 */
#include "shardsched/shard/rules/rules_stale_rig.h"

/* A list of its partition has n-2 with b, and is slow: by the time that it comes the node
 * has gone, b waits again, and the view has told that. */
T_CASE(a_node_that_has_gone_does_not_come_back_by_an_older_list)
{
	struct kv_record node, alloc;

	begin(1);
	put_b("x");
	bind_b(1, "n-2", 2, true);
	remote_list_request(rig.sched, 1);
	rig_run(&rig);
	T_TRUE(rig.remote_list[1]);
	node = *rig_get(&rig.store, PL_SPAN_LIT(NODE_2));
	alloc = *rig_get(&rig.store, PL_SPAN_LIT(ALLOC_2));
	hear_view();
	go_on_deaf(RIG_OUT_MAX);
	rig_del(&rig, NODE_2);
	rig_unset(&rig.store, pl_span_str(key_of_b("state")));
	rig_unset(&rig.store, PL_SPAN_LIT(ALLOC_2));
	rig_set(&rig.store, PL_SPAN_LIT(SHAPE), PL_SPAN_LIT("{\"v\":1}"));
	bump(true);
	hear_view();
	rig.remote_list[1] = false;
	sched_remote_list_records(rig.sched, 1, &alloc, 1);
	sched_remote_list_records(rig.sched, 1, &node, 1);
	sched_remote_list_end(rig.sched, 1, alloc.mod_revision);
	let_a_go();
	go_on_deaf(RIG_OUT_MAX);
	T_TRUE(!is_bound());
	rig_close(&rig);
}

/* n-2 has changed and has b, as the view or a list of its partition tells while a commit
 * of ours is out for it: that waits. Before there is an answer the view is given up, the
 * node goes, and the view, begun anew, does not have it. */
static void forget_while_it_waits(bool viewed)
{
	unsigned txn;

	begin(1);
	put_pod("/schedules/0000/web/q/spec", "q", "",
	        "\"nodeSelector\":{\"kubernetes.io/hostname\":\"n-2\"}");
	hear_pods();
	txn = find_call("/schedules/0000/web/q/state", false);
	rig_del(&rig, "/schedules/0000/web/a/spec");
	hear_pods();
	put_b("x");
	put_node(1, "n-2", "z");
	bind_b(1, "n-2", 2, true);
	if (viewed) {
		hear_view();
	} else {
		sched_view_lost(rig.sched, SCHED_FLEET);
		remote_list_request(rig.sched, 1);
		rig_run(&rig);
		rig_remote_list(&rig, 1);
	}
	for (unsigned n = 0; n < 80; n++)
		go_on_deaf(txn);
	rig_views(&rig);
	for (unsigned n = 0; n < 40; n++)
		go_on_deaf(txn);
	T_TRUE(!rig.viewed[SCHED_FLEET] && !remote_follows(rig.sched, 1));
	rig_del(&rig, NODE_2);
	rig_unset(&rig.store, pl_span_str(key_of_b("state")));
	rig_unset(&rig.store, PL_SPAN_LIT(ALLOC_2));
	rig_set(&rig.store, PL_SPAN_LIT(SHAPE), PL_SPAN_LIT("{\"v\":1}"));
	bump(true);
	let_a_go();
	rig_run(&rig);
	rig_views(&rig);
	T_TRUE(rig.viewed[SCHED_FLEET]);
	rig_fail(&rig, txn, PL_FENCED);
	go_on_deaf(RIG_OUT_MAX);
	T_TRUE(!is_bound());
	rig_close(&rig);
}

T_CASE(a_node_that_has_gone_does_not_come_back_by_what_a_list_told_before)
{
	forget_while_it_waits(false);
}

T_CASE(a_node_that_has_gone_does_not_come_back_by_what_an_earlier_view_told)
{
	forget_while_it_waits(true);
}

/* The view tells of b on n-2. By the time that its spec is read that is another's, which
 * waits. */
T_CASE(a_spec_that_is_newer_than_who_is_listed)
{
	unsigned txn;

	begin(1);
	put_b("y");
	bind_b(1, "n-2", 2, false);
	hear_view();
	txn = find_call(key_of_b("spec"), true);
	end_b(1, "n-2", 3, false);
	put_b("x");
	T_TRUE(rig_answer(&rig, txn));
	let_a_go();
	go_on_deaf(RIG_OUT_MAX);
	end(4);
}

/* Likewise, and b is ours: what is heard of our pods is ahead of the view. */
T_CASE(a_spec_of_ours_that_is_newer_than_who_is_listed)
{
	begin(0);
	put_b("y");
	bind_b(1, "n-2", 2, false);
	wait_ms(100);
	end_b(1, "n-2", 3, false);
	put_b("x");
	let_a_go();
	go_on_deaf(RIG_OUT_MAX);
	end(4);
}

/* So far ahead that it has told all of that before the view tells of n-2. */
static void tell_of_n_2_late(bool edited)
{
	begin(0);
	put_b("y");
	bind_b(1, "n-2", 2, false);
	end_b(1, "n-2", 3, false);
	put_b("x");
	if (edited)
		put_b("x");
	hear_pods();
	T_TRUE(rig_view_deliver(&rig, SCHED_FLEET, 1));
	let_a_go();
	go_on_deaf(RIG_OUT_MAX);
	end(4);
}

T_CASE(who_is_listed_later_and_came_before)
{
	tell_of_n_2_late(false);
}

T_CASE(who_is_listed_later_and_came_before_and_is_edited)
{
	tell_of_n_2_late(true);
}

/* The label of b, of ours, is edited while n-2 lists it. It is b all the same. */
T_CASE(an_edited_spec_is_of_who_is_listed)
{
	begin(0);
	put_b("y");
	bind_b(1, "n-2", 2, false);
	hear_pods();
	put_b("x");
	hear_pods();
	hear_view();
	let_a_go();
	for (unsigned n = 0; n < 10; n++)
		go_on_deaf(RIG_OUT_MAX);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* While the view is lost b ends, and another comes to n-2 by its name. */
static void lose_the_view(void)
{
	begin(1);
	put_first();
	bind_b(1, "n-2", 2, !anti);
	wait_ms(100);
	sched_view_lost(rig.sched, SCHED_FLEET);
	end_b(1, "n-2", 3, !anti);
	put_second();
	bind_b(1, "n-2", 4, anti);
	rig_view_list(&rig, SCHED_FLEET);
	let_a_go();
	go_on_deaf(RIG_OUT_MAX);
	end(5);
}

T_CASE(a_spec_that_is_older_than_who_is_listed)
{
	twice(lose_the_view);
}

/* Likewise, but there is no view then: visits tell of n-2. */
static void close_the_view(void)
{
	begin(1);
	put_first();
	bind_b(1, "n-2", 2, !anti);
	wait_ms(100);
	rig_del(&rig, "/schedules/0000/web/a/spec");
	wait_ms(20000);
	remote_list_request(rig.sched, 1);
	wait_ms(60000);
	T_TRUE(!rig.viewed[SCHED_FLEET]);
	remote_list_request(rig.sched, 1);
	wait_ms(1000);
	end_b(1, "n-2", 3, !anti);
	put_second();
	bind_b(1, "n-2", 4, anti);
	remote_list_request(rig.sched, 1);
	wait_ms(1000);
	put_a(true);
	wait_ms(5000);
	end(5);
}

T_CASE(a_spec_that_was_older_before_the_view_was_there)
{
	twice(close_the_view);
}

/* Others have come to n-2 and gone, as a list tells that is ahead of the view, so b may
 * be another by now; as far as the view has come it is who it was. */
T_CASE(who_stays_while_more_has_changed_counts_as_before)
{
	unsigned txn;

	anti = true;
	begin(1);
	put_b("x");
	bind_b(1, "n-2", 2, true);
	wait_ms(100);
	bind_b(1, "n-2", 4, false);
	remote_list_request(rig.sched, 1);
	rig_run(&rig);
	rig_remote_list(&rig, 1);
	let_a_go();
	txn = find_call(key_of_b("spec"), true);
	go_on_deaf(txn);
	T_TRUE(!is_bound());
	T_TRUE(rig_answer(&rig, txn));
	go_on_deaf(RIG_OUT_MAX);
	end(5);
}

/* n-3 lists b still, since its news waits for an answer, when the view tells that b is on
 * n-2, where it is another. */
static void move_to_another_node(void)
{
	unsigned txn;

	begin(1);
	put_first();
	bind_b(0, "n-3", 2, !anti);
	wait_ms(100);
	put_pod("/schedules/0000/web/q/spec", "q", "",
	        "\"nodeSelector\":{\"zone\":\"z3\"}");
	hear_pods();
	txn = find_call("/schedules/0000/web/q/state", false);
	end_b(0, "n-3", 3, !anti);
	put_second();
	bind_b(1, "n-2", 2, anti);
	hear_view();
	let_a_go();
	go_on_deaf(txn);
	T_TRUE(!is_bound());
	T_TRUE(!rig_answer(&rig, txn));
	go_on_deaf(RIG_OUT_MAX);
	end(3);
}

T_CASE(a_spec_that_is_known_from_another_node)
{
	twice(move_to_another_node);
}

/* b is ours, waits, and is told why: in that call it is when another by its name comes to
 * n-2, of which nothing else is heard. */
static void come_under_a_call(void)
{
	unsigned txn;

	begin(0);
	put_first();
	hear_pods();
	txn = find_call(key_of_b("state"), false);
	if (!anti)
		let_a_go();
	go_on_deaf(txn);
	if (anti)
		put_a(true);
	rig_del(&rig, key_of_b("spec"));
	put_second();
	bind_b(1, "n-2", 2, anti);
	if (anti)
		T_TRUE(rig_deliver(&rig, 0, SCHED_SCHEDULES, 1));
	hear_view();
	go_on_deaf(txn);
	T_TRUE(!is_bound());
	T_TRUE(!rig_answer(&rig, txn));
	go_on_deaf(RIG_OUT_MAX);
	end(3);
}

T_CASE(a_spec_of_who_is_in_a_call)
{
	twice(come_under_a_call);
}

/* b is ours and bound to n-2 by others, as the view tells; what is heard of our pods has
 * not come so far. */
static void come_ahead_of_the_watch(void)
{
	begin(0);
	put_first();
	if (!anti)
		put_a(true);
	wait_ms(1000);
	if (anti)
		put_a(true);
	rig_del(&rig, key_of_b("spec"));
	put_second();
	bind_b(1, "n-2", 2, anti);
	if (anti)
		T_TRUE(rig_deliver(&rig, 0, SCHED_SCHEDULES, 1));
	hear_view();
	go_on_deaf(RIG_OUT_MAX);
	end(3);
}

T_CASE(a_spec_of_ours_that_is_older_than_who_is_listed)
{
	twice(come_ahead_of_the_watch);
}
