/* Room that was made is reserved for the pod that needed it, and no longer than it
 * waits. */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "tests/support/shardsched/shard/preemption_rig.h"

T_CASE(a_nomination_goes_with_its_pod_or_its_placement)
{
	up();
	pod("high", "2", 10);
	rig_run_idle(&rig);
	rig_del(&rig, "/schedules/0001/web/high/state");
	rig_del(&rig, "/schedules/0001/web/high/spec");
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
	T_EQ(rig_alloc(&rig, 0, "n-1").used.cpu_milli, 4000);
	termination_in(1, "low-0");
	rig_run_idle(&rig);
	later(12);
	T_STR(phase_of("low-0"), "Bound");
	down();

	up();
	pod("high", "2", 10);
	rig_run_idle(&rig);
	rig_node(&rig, 0, "n-2", "4");
	rig_run_idle(&rig);
	later(12);
	T_STR(phase_of("high"), "Bound");
	T_EQ(rig_alloc(&rig, 0, "n-2").pods, 1);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
	down();
}

/* The nomination does not help the pod any more: the state that tells of it goes with the
 * reservation. */
T_CASE(a_state_changes_with_its_nomination)
{
	struct pod_state state;
	int phase;

	up();
	pod("high", "2", 10);
	rig_run_idle(&rig);
	state = state_of("high", &phase);
	T_SPAN(state.nominated_node, PL_SPAN_LIT("n-1"));
	pod("high", "3", 10); /* edited: the room is for another pod now */
	rig_run_idle(&rig);
	state = state_of("high", &phase);
	T_SPAN(state.nominated_node, PL_SPAN_LIT("n-1"));
	T_EQ(rig_alloc(&rig, 0, "n-1").hold[0].used.cpu_milli, 3000);
	down();

	up();
	pod("high", "2", 10);
	rig_run_idle(&rig);
	pod("high", "9", 10);
	rig_run_idle(&rig);
	for (unsigned i = 0; i < 5; i++)
		later(12);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
	state = state_of("high", &phase);
	T_EQ(phase, STATE_PENDING);
	T_EQ(state.nominated_node.len, 0);
	T_SPAN(state.reason, PL_SPAN_LIT("fit.cpu"));
	down();
}

/* Another shard has ended the nomination: the state says so when the pod is tried
 * again. */
T_CASE(a_state_is_corrected_after_another_shard_ended_the_nomination)
{
	struct pod_state state;
	int phase;

	up();
	pod("high", "2", 10);
	rig_run_idle(&rig);
	rig_lost(&rig, 0);
	rig_run_idle(&rig);
	rig_del(&rig, "/nodes/0000/east/n-1");
	rig_del(&rig, "/alloc/0000/east/n-1");
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	for (unsigned i = 0; i < 3; i++)
		later(12);
	state = state_of("high", &phase);
	T_EQ(phase, STATE_PENDING);
	T_EQ(state.nominated_node.len, 0);
	T_EQ(rig.malformed, 0);
	rig_close(&rig);
}

/* The next owner finds the nomination in the alloc. */
T_CASE(a_nomination_outlives_its_shard)
{
	struct alloc alloc;

	up();
	pod("high", "2", 10);
	rig_run_idle(&rig);
	rig_lost(&rig, 0);
	rig_lost(&rig, 1);
	rig_run_idle(&rig);
	rig_own(&rig, 1);
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	later(12);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 1);
	T_EQ(leaving(&alloc), 2);
	pod("other", "1", 0);
	rig_run_idle(&rig);
	termination_in(1, "low-0");
	termination_in(1, "low-1");
	rig_run_idle(&rig);
	T_STR(phase_of("high"), "Bound");
	T_STR(phase_of("other"), "Pending");
	T_EQ(rig_alloc(&rig, 0, "n-1").used.cpu_milli, 4000);
	down();
}

/* A pod has been decided for the room that was made for it, and waits at its node, which
 * is in a txn. */
static struct sched_pod *up_waiting(void)
{
	struct sched_pod *mid;

	rig_open(&rig, &(struct sched_opts){
			       .batch_size = 1, .inflight = 1, .ready_classes = 1});
	rig_node(&rig, 0, "n-1", "2");
	pod("low-0", "1", 0);
	pod("low-1", "1", 1);
	own_two();
	rig_run_idle(&rig);
	pod("mid", "1", 5);
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 1);
	termination_in(1, "low-0");
	rig_deliver_all(&rig);
	rig_run(&rig);
	T_TRUE(rig.out[0].used && rig_answer(&rig, 0));
	rig_deliver_all(&rig);
	pod("tiny", "0", 30);
	rig_deliver_all(&rig);
	rig_run(&rig);
	mid = pod_find(rig.sched, 1, PL_SPAN_LIT("web"), PL_SPAN_LIT("mid"));
	T_EQ(mid->stage, POD_ASSUMED);
	return mid;
}

/* The decision is undone for a pod of higher priority; then the nomination is to be shown
 * again. */
T_CASE_SECONDS(any_allocation_may_fail_while_a_decision_is_undone, 60)
{
	bool fired = true, undone = false;

	for (uint64_t nth = 1; fired; nth++) {
		const struct sched_pod *mid = up_waiting();

		pod("top", "2", 20);
		rig_deliver_all(&rig);
		fired = rig_run_failing(&rig, nth);
		undone = undone || mid->stage != POD_ASSUMED;
		rig_run_idle(&rig);
		later(12);
		rig_node(&rig, 0, "n-2", "8");
		rig_run_idle(&rig);
		for (unsigned i = 0; i < 3; i++)
			later(12);
		T_STR(phase_of("top"), "Bound");
		rig_close(&rig);
	}
	T_TRUE(undone);
}
