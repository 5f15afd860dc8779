/*
 * Rules while what is known of a node or of a pod is of another time than the view.
 */
#include "tests/support/shardsched/shard/rules_stale_rig.h"

/* A list of its partition has n-2 with b, and is slow: by the time it comes the node is
 * deleted, b waits again, and the view has told that. */
T_CASE(a_deleted_node_does_not_return_with_an_older_list)
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

/* n-2 has changed and lists b, as the view or a list of its partition tells while a txn
 * is out for n-2: the event is deferred. Before the answer the view is given up, the node
 * is deleted, and the view, begun anew, does not have it. */
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

T_CASE(a_deleted_node_does_not_return_with_a_deferred_list_record)
{
	forget_while_it_waits(false);
}

T_CASE(a_deleted_node_does_not_return_with_a_deferred_view_event)
{
	forget_while_it_waits(true);
}

/* The view tells of b on n-2. By the time its spec is read the key has another pod's,
 * which waits. */
T_CASE(a_spec_newer_than_the_alloc_does_not_count)
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

/* The same, and b is this shard's: events about its own pods are ahead of the view. */
T_CASE(an_owned_spec_newer_than_the_alloc_does_not_count)
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

/* So far ahead that all of that was told before the view tells of n-2. */
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

T_CASE(a_pod_listed_by_a_late_view_counts)
{
	tell_of_n_2_late(false);
}

T_CASE(an_edited_pod_listed_by_a_late_view_counts)
{
	tell_of_n_2_late(true);
}

/* The label of b, of this shard, is edited while n-2 lists b. It is the same pod all the
 * same. */
T_CASE(an_edited_spec_is_of_the_listed_pod)
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

/* The pod and n-2 are other shards'. An edit of the label puts the alloc as if b had gone and
 * come back, so the spec is read again. */
T_CASE(a_label_that_is_edited_with_the_alloc_is_heard)
{
	begin(1);
	put_b("y");
	bind_b(1, "n-2", 2, false);
	hear_view();
	for (unsigned n = 0; n < 10; n++)
		go_on_deaf(RIG_OUT_MAX);
	put_b("x");
	bind_b(1, "n-2", 4, true);
	hear_view();
	let_a_go();
	for (unsigned n = 0; n < 10; n++)
		go_on_deaf(RIG_OUT_MAX);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* While the view is lost b ends, and another pod of its name comes to n-2. */
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

T_CASE(a_spec_older_than_the_alloc_does_not_count)
{
	twice(lose_the_view);
}

/* The same without a view: remote lists tell of n-2. */
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

T_CASE(a_spec_older_than_the_view_does_not_count)
{
	twice(close_the_view);
}

/* Other pods have come to n-2 and gone, as a list ahead of the view tells, so b may be
 * another pod by now; as far as the view has come it is the same one. */
T_CASE(a_kept_pod_counts_as_before_across_a_gap)
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

/* n-3 still lists b, since its event is deferred to an answer, when the view tells that b
 * is on n-2, where it is another pod. */
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

T_CASE(a_spec_known_from_another_node_does_not_count)
{
	twice(move_to_another_node);
}

/* b is this shard's, waits, and has its status written: it is in that txn when another
 * pod of its name comes to n-2, of which nothing else is heard. */
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

T_CASE(a_spec_of_a_pod_in_a_txn_does_not_count)
{
	twice(come_under_a_call);
}

/* b is this shard's and bound to n-2 by another, as the view tells; events about this
 * shard's own pods have not come so far. */
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

T_CASE(an_owned_spec_older_than_the_alloc_does_not_count)
{
	twice(come_ahead_of_the_watch);
}
