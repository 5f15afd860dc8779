/*
 * Unconfirmed entries: how long they last, and what is held back meanwhile.
 */
#include "tests/support/shardsched/shard/rules_stale_rig.h"

#define Q "/schedules/0000/web/q"
#define C_STATE "/schedules/0000/web/c/state"

/* RIG_OUT_MAX: b's spec is not being read. */
static unsigned read_of_b(void)
{
	rig_run(&rig);
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		for (size_t n = 0; rig.out[i].used && n < rig.out[i].req.txn.then_count;
		     n++)
			if (rig.out[i].req.txn.then[n].op == KV_GET &&
			    pl_span_eq(rig.out[i].req.txn.then[n].get.keys.from,
			               pl_span_str(key_of_b("spec"))))
				return i;
	return RIG_OUT_MAX;
}

static void put_alloc_alone(uint32_t p, const char *node, unsigned generation)
{
	rig.store.revision++;
	put_alloc(p, node, generation, true);
}

/* A txn for n-1, where b is, or for any node in that zone, is under way. */
static unsigned send_q(const char *selector)
{
	put_pod(Q "/spec", "q", "", selector);
	hear_pods();
	return find_call(Q "/state", false);
}

/* b is on n-1 all the time, and other pods have left. The known spec of b counts while it
 * is read again. */
T_CASE(a_kept_pod_counts_while_it_is_read_again)
{
	unsigned txn;

	anti = true;
	begin(1);
	put_b("x");
	bind_b(0, "n-1", 2, true);
	wait_ms(1000);
	txn = send_q("\"nodeSelector\":{\"zone\":\"z\"}");
	put_alloc_alone(0, "n-1", 4);
	T_TRUE(!rig_answer(&rig, txn));
	txn = read_of_b();
	T_TRUE(txn != RIG_OUT_MAX);
	let_a_go();
	go_on_deaf(txn);
	T_TRUE(!is_bound());
	rig_close(&rig);
}

/* b, of this shard, has been on n-2 for long, and n-2 has changed since anything was
 * heard of b's partition, which is lost. */
T_CASE(a_kept_pod_counts_when_its_partition_is_lost)
{
	unsigned txn;

	anti = true;
	begin(2);
	put_b("x");
	bind_b(1, "n-2", 2, true);
	wait_ms(1000);
	rig_own(&rig, 2);
	wait_ms(1000);
	put_alloc_alone(1, "n-2", 3);
	wait_ms(1000);
	rig_lost(&rig, 2);
	txn = read_of_b();
	let_a_go();
	go_on_deaf(txn);
	T_TRUE(!is_bound());
	rig_close(&rig);
}

/* While the view is lost another pod named b comes to n-2, and b's partition is acquired:
 * its list comes before the view's. */
static void own_while_the_view_is_lost(void)
{
	begin(2);
	put_first();
	bind_b(1, "n-2", 2, !anti);
	wait_ms(100);
	sched_view_lost(rig.sched, SCHED_FLEET);
	end_b(1, "n-2", 3, !anti);
	put_second();
	bind_b(1, "n-2", 4, anti);
	rig_own(&rig, 2);
	rig_view_list(&rig, SCHED_FLEET);
	let_a_go();
	go_on_deaf(RIG_OUT_MAX);
	T_TRUE(!is_bound());
	rig_close(&rig);
}

T_CASE(a_replaced_pod_is_noticed_when_its_partition_is_acquired)
{
	twice(own_while_the_view_is_lost);
}

/* The view tells that b is another pod by now. An edit of the first b that is heard then
 * is older than that. */
T_CASE(an_older_event_confirms_nothing)
{
	unsigned txn;

	anti = false;
	begin(0);
	put_b("x");
	put_a(true);
	wait_ms(10000);
	put_b("x");
	rig_del(&rig, key_of_b("spec"));
	put_second();
	bind_b(1, "n-2", 2, false);
	hear_view();
	T_TRUE(rig_deliver(&rig, 0, SCHED_SCHEDULES, 1));
	txn = read_of_b();
	T_TRUE(txn != RIG_OUT_MAX);
	for (unsigned n = 0; n < 12; n++)
		go_on_deaf(txn);
	T_TRUE(!is_bound());
	rig_close(&rig);
}

/* b is this shard's and in a txn when another pod of its name comes to n-2, and the txn
 * is given up without anything being read. */
T_CASE(an_unconfirmed_entry_outlives_a_txn)
{
	unsigned txn;

	anti = true;
	begin(0);
	put_pod(key_of_b("spec"), "b", "\"app\":\"y\"",
	        "\"nodeSelector\":{\"zone\":\"z\"}");
	hear_pods();
	txn = find_call(key_of_b("state"), false);
	put_a(true);
	rig_del(&rig, key_of_b("spec"));
	put_second();
	bind_b(1, "n-2", 2, true);
	T_TRUE(rig_deliver(&rig, 0, SCHED_SCHEDULES, 1));
	hear_view();
	go_on_deaf(txn);
	T_TRUE(!is_bound());
	rig_fail(&rig, txn, PL_FENCED);
	go_on_deaf(RIG_OUT_MAX);
	T_TRUE(!is_bound());
	rig_close(&rig);
}

/* The spec of b, which is on n-2, is deleted and put again by hand: no lock tells
 * that. */
T_CASE(a_spec_that_is_put_again_by_hand_is_read)
{
	unsigned txn;

	anti = true;
	begin(0);
	put_b("x");
	bind_b(1, "n-2", 2, true);
	wait_ms(1000);
	rig_del(&rig, key_of_b("spec"));
	put_b("x");
	hear_pods();
	txn = read_of_b();
	let_a_go();
	go_on_deaf(txn);
	T_TRUE(!is_bound());
	rig_close(&rig);
}

/* A pod leaves n-2 each time before what is read of n-2 is answered, and the view tells
 * that before or after. */
T_CASE(a_busy_node_is_confirmed_in_the_end)
{
	unsigned generation = 4, reads = 0;

	anti = false;
	begin(1);
	put_b("x");
	bind_b(1, "n-2", 2, true);
	wait_ms(1000);
	sched_view_lost(rig.sched, SCHED_FLEET);
	put_alloc_alone(1, "n-2", 4);
	rig_view_list(&rig, SCHED_FLEET);
	let_a_go();
	for (unsigned txn = read_of_b(); txn != RIG_OUT_MAX && reads < 100; reads++) {
		put_alloc_alone(1, "n-2", ++generation);
		if (reads % 2 == 1)
			hear_view();
		(void)rig_answer(&rig, txn);
		hear_view();
		rig.now_ms += 20;
		txn = read_of_b();
	}
	T_TRUE(reads > 0 && reads < 10);
	rig_close(&rig);
}

static unsigned count_gets(void)
{
	unsigned gets = 0;

	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		for (size_t n = 0; rig.out[i].used && n < rig.out[i].req.txn.then_count;
		     n++)
			gets += rig.out[i].req.txn.then[n].op == KV_GET;
	return gets;
}

/* Pods are added to n-2, several at a time: no pod has left that could come again. */
T_CASE(a_node_that_is_filled_is_not_read_again)
{
	anti = true;
	begin(1);
	put_b("y");
	bind_b(1, "n-2", 2, false);
	wait_ms(1000);
	rig_put(&rig, ALLOC_2,
	        "{\"v\":1,\"generation\":9,\"left\":2,\"used\":{\"cpu\":\"1000m\",\"pods\":"
	        "\"1\"},\"nonzero\":{\"memory\":\"209715200\"},\"pods\":{\"0001\":{\"web\":"
	        "[\"b\"]}}}");
	hear_view();
	rig_run(&rig);
	T_EQ(count_gets(), 0);
	let_a_go();
	wait_ms(5000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* b is this shard's and on n-2 all the time, and other pods have left n-2. Nothing has
 * happened in b's partition for long, which is known up to that revision, or not
 * quite. */
static void leave_n_2(int64_t short_of, bool is_read)
{
	anti = true;
	begin(2);
	put_b("y");
	rig_own(&rig, 2);
	bind_b(1, "n-2", 2, false);
	wait_ms(1000);
	put_alloc_alone(1, "n-2", 4);
	sched_progress(rig.sched, 2, SCHED_SCHEDULES, rig.store.revision - short_of);
	hear_view();
	T_TRUE((read_of_b() != RIG_OUT_MAX) == is_read);
	rig_close(&rig);
}

T_CASE(an_owned_pod_is_not_read_when_its_watch_has_passed_the_alloc)
{
	leave_n_2(0, false);
	leave_n_2(1, true);
}

/* Events of a partition that is not owned, or not listed yet, do not tell up to which
 * revision it is known. */
T_CASE(events_without_a_list_confirm_nothing)
{
	begin(2);
	sched_progress(rig.sched, 2, SCHED_SCHEDULES, rig.store.revision);
	T_EQ(rig.sched->partition[2].upto[SCHED_SCHEDULES], 0);
	T_OK(sched_own(rig.sched, 2, ++rig.epoch, &rig.err), &rig.err);
	sched_progress(rig.sched, 2, SCHED_SCHEDULES, rig.store.revision);
	T_EQ(rig.sched->partition[2].upto[SCHED_SCHEDULES], 0);
	rig_close(&rig);
}

/* Four pods are on n-2, a pod has left it, and each may have been replaced. Its alloc is
 * read once with their specs. */
T_CASE(an_alloc_is_read_once_for_all_that_it_lists)
{
	static const char format[] =
		"{\"v\":1,\"generation\":%u,\"left\":%u,\"used\":{\"cpu\":\"4000m\","
		"\"pods\":\"4\"},\"nonzero\":{\"memory\":\"838860800\"},\"pods\":{\"0001\":{"
		"\"web\":[\"c0\",\"c1\",\"c2\",\"c3\"]}}}";
	char key[64], name[8], json[320];

	anti = true;
	begin(1);
	for (unsigned i = 0; i < 4; i++) {
		(void)snprintf(key, sizeof key, "/schedules/0001/web/c%u/spec", i);
		(void)snprintf(name, sizeof name, "c%u", i);
		put_pod(key, name, "\"app\":\"y\"", "\"priority\":0");
	}
	(void)snprintf(json, sizeof json, format, 2U, 1U);
	rig_put(&rig, ALLOC_2, json);
	wait_ms(6000);
	(void)snprintf(json, sizeof json, format, 6U, 3U);
	rig_put(&rig, ALLOC_2, json);
	hear_view();
	rig_run(&rig);
	T_EQ(count_gets(), 5);
	let_a_go();
	wait_ms(5000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* Another pod named b comes to n-1, with app=x, while a txn is out for n-1. The rule of c
 * about its host has no lock but the alloc, with a view or without. */
static void keep_closed(bool viewed)
{
	unsigned txn;

	anti = true;
	begin(1);
	if (!viewed) {
		rig_del(&rig, "/schedules/0000/web/a/spec");
		wait_ms(80000);
	}
	T_TRUE(rig.viewed[SCHED_FLEET] == viewed);
	put_b("y");
	bind_b(0, "n-1", 2, false);
	wait_ms(1000);
	txn = send_q("\"nodeSelector\":{\"kubernetes.io/hostname\":\"n-1\"}");
	end_b(0, "n-1", 3, false);
	put_b("x");
	bind_b(0, "n-1", 4, true);
	T_TRUE(!rig_answer(&rig, txn));
	put_pod("/schedules/0000/web/c/spec", "c", "",
	        "\"affinity\":{\"podAntiAffinity\":{\"requiredDuringScheduling"
	        "IgnoredDuringExecution\":[{\"topologyKey\":\"kubernetes.io/hostname\","
	        "\"labelSelector\":{\"matchLabels\":{\"app\":\"x\"}}}]}},"
	        "\"nodeSelector\":{\"kubernetes.io/hostname\":\"n-1\"}");
	hear_pods();
	txn = read_of_b();
	T_TRUE(txn != RIG_OUT_MAX);
	go_on_deaf(txn);
	T_TRUE(strstr(rig_value(&rig, C_STATE), "\"n-1\"") == NULL);
	T_TRUE(rig_answer(&rig, txn));
	for (unsigned n = 0; n < 5; n++)
		go_on_deaf(RIG_OUT_MAX);
	T_TRUE(strstr(rig_value(&rig, C_STATE), "\"n-1\"") == NULL);
	T_TRUE(strstr(rig_value(&rig, Q "/state"), "\"n-1\"") != NULL);
	rig_close(&rig);
}

T_CASE(an_unconfirmed_entry_closes_its_node)
{
	keep_closed(true);
}

T_CASE(an_unconfirmed_entry_closes_its_node_without_a_view)
{
	keep_closed(false);
}

/* A txn on n-2 is out while n-2 is deleted and created again, with b, as the view tells;
 * the answer has n-2 as it is by then. */
T_CASE(a_node_created_again_during_a_txn_is_a_member)
{
	unsigned txn;

	anti = true;
	begin(1);
	put_b("x");
	txn = send_q("\"nodeSelector\":{\"kubernetes.io/hostname\":\"n-2\"}");
	rig.store.revision++;
	rig_unset(&rig.store, PL_SPAN_LIT(ALLOC_2));
	rig_del(&rig, NODE_2);
	hear_view();
	put_node(1, "n-2", "z");
	bind_b(1, "n-2", 2, true);
	hear_view();
	T_TRUE(!rig_answer(&rig, txn));
	hear_view();
	let_a_go();
	for (unsigned i = 0; i < 5; i++)
		go_on_deaf(RIG_OUT_MAX);
	T_TRUE(!is_bound());
	rig_close(&rig);
}
