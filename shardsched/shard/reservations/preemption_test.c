/* Pods that make room for themselves. */
#include "tests/support/shardsched/shard/preemption_rig.h"

T_CASE(less_important_pods_leave_and_the_room_is_reserved)
{
	struct sched_figures figures;
	struct pod_state state;
	struct alloc alloc;
	int phase;

	up();
	pod("high", "2", 10);
	rig_run_idle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 4);
	T_EQ(leaving(&alloc), 2);
	T_EQ(alloc.holds, 1);
	T_EQ(alloc.hold[0].kind, ALLOC_RESERVATION_NOMINATED);
	T_SPAN(alloc.hold[0].name, PL_SPAN_LIT("high"));
	T_EQ(alloc.hold[0].partition, 1);
	T_EQ(alloc.hold[0].used.cpu_milli, 2000);
	T_EQ(alloc.used.cpu_milli, 6000);
	T_EQ(alloc.used.pods, 5);
	T_STR(phase_of("low-0"), "Terminating");
	T_STR(phase_of("low-1"), "Terminating");
	T_STR(phase_of("low-2"), "Bound");
	state = state_of("low-0", &phase);
	T_TRUE(state.next_pending);
	T_SPAN(state.reason, PL_SPAN_LIT("preempted"));
	state = state_of("high", &phase);
	T_EQ(phase, STATE_PENDING);
	T_SPAN(state.reason, PL_SPAN_LIT("preempting"));
	T_SPAN(state.nominated_cluster, PL_SPAN_LIT("east"));
	T_SPAN(state.nominated_node, PL_SPAN_LIT("n-1"));
	sched_figures(rig.sched, &figures);
	T_EQ(figures.preempted, 1);
	T_EQ(figures.terminated, 2);

	/* No other pod has to leave meanwhile, however often the pod is tried. */
	for (unsigned i = 0; i < 5; i++)
		later(12);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(leaving(&alloc), 2);

	termination_in(1, "low-0");
	rig_run_idle(&rig);
	T_STR(phase_of("high"), "Pending");
	T_STR(phase_of("low-0"), "Pending");
	termination_in(1, "low-1");
	rig_run_idle(&rig);
	T_STR(phase_of("high"), "Bound");
	state = state_of("high", &phase);
	T_EQ(state.nominated_node.len, 0);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 3);
	T_EQ(alloc.holds, 0);
	T_EQ(alloc.used.cpu_milli, 4000);
	later(30);
	T_STR(phase_of("low-0"), "Pending");
	sched_figures(rig.sched, &figures);
	T_EQ(figures.preempted, 1);
	down();
}

T_CASE(pods_of_equal_priority_do_not_preempt)
{
	struct alloc alloc;

	up();
	pod("other", "1", 0);
	rig_run_idle(&rig);
	later(20);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(leaving(&alloc), 0);
	T_EQ(alloc.holds, 0);
	down();
}

T_CASE(a_pod_that_never_preempts_waits)
{
	struct alloc alloc;

	up();
	rig_put(&rig, "/schedules/0001/web/calm/spec",
	        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"calm\",\"uid\":\"c\"},"
	        "\"spec\":{\"priority\":9,\"preemptionPolicy\":\"Never\",\"containers\":[{"
	        "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}");
	rig_run_idle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(leaving(&alloc), 0);
	down();
}

T_CASE(each_makes_room_for_itself)
{
	struct alloc alloc;

	up();
	pod("high-a", "1", 10);
	pod("high-b", "1", 10);
	pod("high-c", "2", 10);
	for (unsigned i = 0; i < 6; i++)
		later(3);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 3);
	T_EQ(leaving(&alloc), 4);
	for (unsigned i = 0; i < 4; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "low-%u", i);
		termination_in(1, name);
	}
	later(12);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 3);
	T_EQ(alloc.holds, 0);
	T_EQ(alloc.used.cpu_milli, 4000);
	down();
}

T_CASE(a_more_important_pod_takes_the_room_over)
{
	struct alloc alloc;

	up();
	pod("high", "4", 10);
	rig_run_idle(&rig);
	pod("top", "4", 20);
	rig_run_idle(&rig);
	later(12);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(leaving(&alloc), 4);
	T_EQ(alloc.holds, 1);
	T_SPAN(alloc.hold[0].name, PL_SPAN_LIT("top"));
	for (unsigned i = 0; i < 4; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "low-%u", i);
		termination_in(1, name);
	}
	rig_run_idle(&rig);
	T_STR(phase_of("top"), "Bound");
	T_STR(phase_of("high"), "Pending");
	later(12);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 0);
	T_EQ(alloc.pods, 1);
	down();
}

/* Another writer was there: the victim is not what it was. */
T_CASE(a_victim_that_is_gone_is_a_conflict)
{
	struct alloc alloc;
	unsigned out = 0;
	int phase;

	up();
	pod("high", "2", 10);
	rig_deliver_all(&rig);
	rig_run(&rig);
	while (!rig.out[out].used)
		out++;
	/* Deleted by hand, with its entry in the alloc. */
	rig_put(&rig, "/schedules/0001/web/low-0/state",
	        "{\"v\":1,\"uid\":\"u-low-0\",\"phase\":\"Terminating\",\"cluster\":\"east\","
	        "\"node\":\"n-1\",\"since\":\"2026-11-21T09:00:00.000Z\"}");
	rig_run_idle(&rig);
	later(3);
	/* And the alloc says so then. */
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 1);
	T_EQ(leaving(&alloc), 2);
	T_EQ(rig_alloc(&rig, 0, "n-1").used.cpu_milli, 6000);
	T_TRUE(!state_of("low-0", &phase).next_pending);
	T_STR(phase_of("low-1"), "Terminating");
	T_STR(phase_of("low-2"), "Bound");
	rig_close(&rig);
}

static void unknown(bool applied, bool fenced)
{
	struct alloc alloc;
	unsigned out = 0;

	up();
	pod("high", "2", 10);
	rig_deliver_all(&rig);
	rig_run(&rig);
	while (!rig.out[out].used)
		out++;
	if (applied)
		(void)rig_exec(&rig.store, &rig.out[out].req.txn);
	rig_fail(&rig, out, PL_UNKNOWN);
	if (fenced) {
		rig.now_ms += 100;
		rig_run(&rig);
		rig_fail(&rig, out, PL_FENCED);
	}
	for (unsigned i = 0; i < 6; i++)
		later(3);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 1);
	T_EQ(leaving(&alloc), 2);
	T_EQ(alloc.used.cpu_milli, 6000);
	termination_in(1, "low-0");
	termination_in(1, "low-1");
	rig_run_idle(&rig);
	T_STR(phase_of("high"), "Bound");
	down();
}

T_CASE(an_unknown_outcome_of_a_plan_is_found_out)
{
	unknown(false, false);
	unknown(true, false);
	unknown(false, true);
	unknown(true, true);
}

/* A node whose search failed is not taken for one that cannot help. */
T_CASE_SECONDS(any_allocation_may_fail_while_room_is_made, 60)
{
	bool fired = true;
	uint64_t nth = 1;

	for (; fired; nth++) {
		up();
		pod("high", "2", 10);
		rig_deliver_all(&rig);
		fired = rig_run_failing(&rig, nth);
		rig_run_idle(&rig);
		for (unsigned i = 0; i < 3; i++)
			later(12);
		T_EQ(rig_alloc(&rig, 0, "n-1").holds, 1);
		rig_close(&rig);
	}
	T_TRUE(nth > 5);
}
