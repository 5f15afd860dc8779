/*
 * Rules while an event about a node is deferred to an answer, or an answer is late: a
 * lock is known, and the pod that came with it is not yet.
 */
#include "tests/support/shardsched/shard/rule_locks_rig.h"

/* b comes to n-1 while a is on its way there. The view tells that, and the lock, and n-1
 * is deferred to the answer, which has a newer alloc still. So the lock is known, and
 * that b has been there since then, but not what b is. */
T_CASE(a_pod_in_a_deferred_event_counts)
{
	static const char alloc[] = "/alloc/0000/east/n-1";
	unsigned txn = begin("z0");

	find_lock(txn);
	binds_b("n-1", alloc);
	rig_deliver_all(&rig);
	rig_put(&rig, alloc, with_b);
	T_TRUE(!rig_answer(&rig, txn));
	go_on_unread();
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound());
	put_node(1, "n-2", "z1", empty);
	wait_ms(20000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* b comes to n-1 while q is on its way there, and the view is lost: what its list has of
 * n-1 is deferred to that answer, and is newer than b and the lock. */
T_CASE(a_pod_older_than_a_deferred_list_record_counts)
{
	static const char alloc[] = "/alloc/0000/east/n-1";
	unsigned txn = begin("z0");

	find_lock(txn);
	rig_close(&rig);
	rig_open(&rig, NULL);
	put_node(0, "n-1", "z0", empty);
	put_node(1, "n-2", "z0", empty);
	rig_own(&rig, 0);
	put_pod_at(0, "a", "\"nodeSelector\":{\"no\":\"where\"},");
	put_pod_at(1, "b", "");
	wait_ms(3000);
	rig_put(&rig, lock, "{\"v\":1}");
	rig_pod(&rig, 0, "q", "8", "");
	rig_deliver_all(&rig);
	txn = until_q_is_sent();
	binds_b("n-1", alloc);
	rig_put(&rig, alloc, with_b);
	sched_view_lost(rig.sched, SCHED_FLEET);
	rig_view_list(&rig, SCHED_FLEET);
	put_pod(0, "a");
	(void)rig_deliver(&rig, 0, SCHED_SCHEDULES, UINT32_MAX);
	for (unsigned n = 0; n < 200; n++) {
		rig_views(&rig);
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (i != txn && rig.out[i].used)
				(void)rig_answer(&rig, i);
		rig.now_ms += 20;
	}
	T_TRUE(!is_bound());
	T_TRUE(!rig_answer(&rig, txn));
	wait_ms(5000);
	T_TRUE(!is_bound());
	put_node(1, "n-2", "z1", empty);
	wait_ms(20000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* n-3 comes with b while this shard's allocs are listed: the view tells of both, and of
 * the lock, before the older list has come to its end. */
T_CASE(a_fact_newer_than_a_list_outlives_it)
{
	static const char alloc[] = "/alloc/0000/east/n-3";
	unsigned txn = begin("z0");
	int64_t listed;

	find_lock(txn);
	rig_put(&rig, "/alloc/0000/east/n-1", empty);
	T_TRUE(!rig_answer(&rig, txn));
	sched_list_begin(rig.sched, 0, SCHED_ALLOCS);
	sched_list_records(rig.sched, 0, SCHED_ALLOCS,
	                   rig_get(&rig.store, PL_SPAN_LIT("/alloc/0000/east/n-1")), 1);
	listed = rig.store.revision;
	put_node(0, "n-3", "z0", empty);
	binds_b("n-3", alloc);
	(void)rig_view_deliver(&rig, SCHED_FLEET, UINT32_MAX);
	(void)rig_deliver(&rig, 0, SCHED_NODES, UINT32_MAX);
	for (unsigned n = 0; n < 20; n++) {
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used && !binds(&rig.out[i].req.txn))
				(void)rig_answer(&rig, i);
	}
	sched_list_end(rig.sched, 0, SCHED_ALLOCS, listed);
	go_on_unread();
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound());
	rig_close(&rig);
}

/* The node to which q is on its way is deleted and created again, with b, before q's
 * shard hears of the deletion. */
T_CASE(a_node_created_again_before_its_deletion_is_heard_is_kept)
{
	static const char *const name[] = {"n-2", "n-3"};
	static const char *const alloc[] = {"/alloc/0001/east/n-2",
	                                    "/alloc/0001/east/n-3"};
	static const char *const node[] = {"/nodes/0001/east/n-2",
	                                   "/nodes/0001/east/n-3"};
	unsigned txn = begin("z0"), to;
	struct kv_result early;

	find_lock(txn);
	rig_close(&rig);
	rig_open(&rig, NULL);
	put_node(1, "n-2", "z0", empty);
	put_node(1, "n-3", "z0", empty);
	rig_own(&rig, 0);
	put_pod_at(0, "a", "\"nodeSelector\":{\"no\":\"where\"},");
	put_pod_at(1, "b", "");
	wait_ms(3000);
	T_TRUE(rig.viewed[SCHED_FLEET]);
	rig_put(&rig, lock, "{\"v\":1}");
	rig_pod(&rig, 0, "q", "4", "");
	rig_deliver_all(&rig);
	txn = until_q_is_sent();
	to = rig_out_puts(&rig.out[txn], alloc[1]);
	rig_del(&rig, alloc[to]);
	rig_del(&rig, node[to]);
	rig_put(&rig, SHAPE, "{\"v\":1}");
	early = rig_exec(&rig.store, &rig.out[txn].req.txn);
	T_TRUE(!early.txn.succeeded);
	put_node(1, name[to], "z0", empty);
	(void)rig_view_deliver(&rig, SCHED_FLEET, UINT32_MAX);
	rig.out[txn].used = false;
	sched_answer(rig.sched, rig.out[txn].txn, &early, NULL);
	binds_b(name[to], alloc[to]);
	put_pod(0, "a");
	rig_deliver_all(&rig);
	for (unsigned n = 0; n < 200; n++) {
		rig_round(&rig, NULL);
		rig.now_ms += 20;
	}
	T_TRUE(!is_bound());
	rig_close(&rig);
}

/* The read of b's spec. */
static unsigned find_read(void)
{
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		if (rig.out[i].used && rig.out[i].req.txn.then_count > 0 &&
		    rig.out[i].req.txn.then[0].op == KV_GET &&
		    pl_span_eq(rig.out[i].req.txn.then[0].get.keys.from,
		               PL_SPAN_LIT(SPEC_B)))
			return i;
	t_fail(__FILE__, __LINE__, "nothing reads it");
	return 0;
}

/* n-2 lists b, whose spec is read as it is then (NULL: it is absent); the answer is late.
 * By then b was removed and created again, and the view has told that. */
static void answer_late(const char *then)
{
	struct kv_result early;
	unsigned txn = begin("z0");

	find_lock(txn);
	other_binds();
	T_TRUE(!rig_answer(&rig, txn));
	rig_deliver_all(&rig);
	rig_run(&rig);
	txn = find_read();
	if (then == NULL)
		rig_del(&rig, SPEC_B);
	else
		rig_put(&rig, SPEC_B, then);
	early = rig_exec(&rig.store, &rig.out[txn].req.txn);
	rig_put(&rig, "/alloc/0001/east/n-2", empty);
	rig_set(&rig.store, pl_span_str(lock), PL_SPAN_LIT("{\"v\":1}"));
	put_pod(1, "b");
	other_binds();
	rig_deliver_all(&rig);
	rig.out[txn].used = false;
	sched_answer(rig.sched, rig.out[txn].txn, &early, NULL);
	go_on_unread();
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound());
	put_node(1, "n-2", "z1", with_b);
	wait_ms(20000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

T_CASE(a_spec_absent_in_a_late_answer_counts)
{
	answer_late(NULL);
}

T_CASE(a_spec_malformed_in_a_late_answer_counts)
{
	answer_late("{");
}

T_CASE(a_spec_replaced_since_a_late_answer_counts)
{
	answer_late(
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"b\",\"uid\":\"u-0\","
		"\"labels\":{\"app\":\"y\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
		"\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}");
}

/* b was on n-3 and malformed, which is known. Then it is put right, and goes to n-2; the
 * view tells of the latter first. */
T_CASE(a_spec_malformed_before_its_pod_moved_counts)
{
	unsigned txn = begin("z0");

	find_lock(txn);
	put_node(1, "n-3", "z0", with_b);
	rig_put(&rig, SPEC_B, "{");
	rig_set(&rig.store, pl_span_str(lock), PL_SPAN_LIT("{\"v\":1}"));
	T_TRUE(!rig_answer(&rig, txn));
	rig_deliver_all(&rig);
	rig_run(&rig);
	T_TRUE(rig_answer(&rig, find_read()));
	put_pod(1, "b");
	other_binds();
	rig_set(&rig.store, PL_SPAN_LIT("/alloc/0001/east/n-3"), pl_span_str(empty));
	rig_deliver_all(&rig);
	go_on_unread();
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound());
	put_node(1, "n-2", "z1", with_b);
	wait_ms(20000);
	T_TRUE(is_bound());
	rig_close(&rig);
}
