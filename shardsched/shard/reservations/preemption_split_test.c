/* Preemption plans that take several transactions. */
#include "tests/support/shardsched/shard/preemption_rig.h"

/* In every alloc that was written: when all leaving pods have left, there is room for the
 * rest. */
static void no_alloc_was_over(const char *node, int64_t milli, int64_t each)
{
	char key[64];

	(void)snprintf(key, sizeof key, "/alloc/0000/east/%s", node);
	for (uint32_t i = 0; i < rig.store.logged; i++) {
		const struct kv_record *record = &rig.store.log[i].record;
		struct alloc alloc = {0};

		if (!pl_span_eq(record->key, pl_span_str(key)))
			continue;
		T_OK(alloc_parse(record->value, &rig.store.arena, &alloc, &rig.err),
		     &rig.err);
		T_TRUE(alloc.used.cpu_milli - each * leaving(&alloc) <= milli);
	}
}

/* Thirty victims at once, and a transaction takes few operations. */
T_CASE(many_victims_leave_in_several_transactions)
{
	struct alloc alloc;

	rig_open(&rig, NULL);
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 16});
	rig_node(&rig, 0, "n-1", "30");
	own_two();
	for (unsigned i = 0; i < 30; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "low-%u", i);
		pod(name, "1", 0);
	}
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 30);
	pod("high", "30", 10);
	rig_run_idle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 1);
	T_EQ(leaving(&alloc), 30);
	for (unsigned i = 0; i < 30; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "low-%u", i);
		termination_in(1, name);
	}
	rig_run_idle(&rig);
	T_STR(phase_of("high"), "Bound");
	no_alloc_was_over("n-1", 30000, 1000);
	down();
}

/* -- victims that want room themselves --------------------------------------- */

enum { LOWS = 40 };

/* The first pod that is asked to leave, and has not left, leaves. */
static void one_ends(void)
{
	for (unsigned i = 0; i < LOWS; i++) {
		char name[16];
		int phase;

		(void)snprintf(name, sizeof name, "low-%u", i);
		if (state_of(name, &phase).ended != STATE_ENDED_NOT ||
		    phase != STATE_TERMINATING)
			continue;
		termination_in(1, name);
		return;
	}
}

static bool one_is_pending(void)
{
	for (unsigned i = 0; i < LOWS; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "low-%u", i);
		if (strcmp(phase_of(name), "Pending") == 0)
			return true;
	}
	return false;
}

/* Answers all txns but the one that writes the key. Whether there is one. */
static bool answer_but(const char *key)
{
	bool any = false;

	for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
		if (!rig.out[i].used)
			continue;
		if (rig_out_puts(&rig.out[i], key))
			any = true;
		else
			(void)rig_answer(&rig, i);
	}
	return any;
}

/* Everything makes a step. */
static void turn(void)
{
	rig_views(&rig);
	rig_run(&rig);
	(void)answer_but("");
	one_ends();
	rig_deliver_all(&rig);
	rig.now_ms += 100;
}

/* A full node, with one pod of lower priority than the others. */
static void another_node(void)
{
	rig_node(&rig, 0, "n-2", "1");
	pod("least", "1", 0);
	bound_to(1, "least", "n-2");
	rig_put(&rig, "/alloc/0000/east/n-2",
	        "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"memory\":\"209715200\"},"
	        "\"pods\":{\"0001\":{\"web\":[\"least\"]}}}");
	rig_deliver_all(&rig);
}

/* Room is made for a pod in several transactions. */
static void up_with_many(void)
{
	rig_open(&rig, NULL);
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 16});
	rig_node(&rig, 0, "n-1", "40");
	own_two();
	for (unsigned i = 0; i < LOWS; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "low-%u", i);
		pod(name, "1", 1);
	}
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, LOWS);
	pod("high", "40", 10);
	rig_deliver_all(&rig);
}

static void all_end_well(void)
{
	struct alloc alloc;

	for (unsigned i = 0; i < 400 && strcmp(phase_of("high"), "Bound") != 0; i++)
		turn();
	T_STR(phase_of("high"), "Bound");
	for (unsigned i = 0; i < 10; i++)
		later(2);
	alloc = rig_alloc(&rig, 0, "n-2");
	T_EQ(alloc.holds, 1);
	T_EQ(leaving(&alloc), 1);
	down();
}

/* A victim that the first txn told has left before the last one is made, and other pods
 * are to leave another node for it. */
T_CASE(an_evicted_pod_preempts_for_itself)
{
	up_with_many();
	another_node();
	all_end_well();
}

/* The same while the next of these txns is under way. */
T_CASE(an_evicted_pod_waits_for_the_answer_at_its_old_node)
{
	up_with_many();
	while (!one_is_pending())
		turn();
	rig_run(&rig);
	another_node();
	for (unsigned i = 0; i < 20; i++) {
		T_TRUE(answer_but("/alloc/0000/east/n-1"));
		rig_deliver_all(&rig);
		rig.now_ms += 1000;
		rig_run(&rig);
	}
	T_EQ(rig_alloc(&rig, 0, "n-2").holds, 0);
	all_end_well();
}
