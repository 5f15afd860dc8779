/* Profiles that change while pods are decided, wait and are in flight. */
#include "store/base/fault.h"
#include "tests/support/shardsched/shard/configure_rig.h"

T_CASE(the_next_pod_is_decided_by_the_new_profile)
{
	up(0, 0);
	rig_pod(&rig, 1, "a", "1", "");
	rig_run_idle(&rig);
	T_STR(where("a"), "n-2");
	profiles_are(most);
	rig_pod(&rig, 1, "b", "1", "");
	rig_run_idle(&rig);
	T_STR(where("b"), "n-1");
	profiles_are("");
	rig_pod(&rig, 1, "c", "1", "");
	rig_run_idle(&rig);
	T_STR(where("c"), "n-2");
	rig_close(&rig);
}

/* Decided by the old profile: a pod in a txn stays, a waiting pod is decided again. */
T_CASE(a_pod_waiting_at_its_node_is_withdrawn)
{
	up(1, 1);
	for (int i = 0; i < 3; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "p-%d", i);
		rig_pod(&rig, 1, name, "1", "");
	}
	rig_deliver_all(&rig);
	rig_run(&rig);
	rig_run(&rig);
	T_EQ(rig.sched->waiting, 2);
	T_EQ(queued(QUEUE_IN_FLIGHT), 3);
	profiles_are(most);
	T_EQ(rig.sched->waiting, 0);
	T_EQ(queued(QUEUE_IN_FLIGHT), 0);
	T_EQ(queued(QUEUE_ACTIVE), 2);
	rig_run_idle(&rig);
	T_STR(where("p-0"), "n-2");
	T_STR(where("p-1"), "n-1");
	T_STR(where("p-2"), "n-1");
	rig_close(&rig);
}

T_CASE(a_pod_in_a_failed_txn_starts_anew)
{
	struct conflict_summary summary;

	up(1, 1);
	rig_pod(&rig, 1, "a", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	rig_put(&rig, "/alloc/0000/east/n-2", "{\"v\":1,\"generation\":7}");
	profiles_are(most);
	T_TRUE(!rig_answer(&rig, 0));
	sched_check(rig.sched);
	rig_run_idle(&rig);
	T_STR(where("a"), "n-1");
	sched_conflicts(rig.sched, &summary);
	T_EQ(summary.placements[CONFLICT_ALLOC], 1);
	T_EQ(summary.txns[CONFLICT_ALLOC], 1);
	T_SPAN(summary.node[0].name, PL_SPAN_LIT("n-2"));
	rig_close(&rig);
}

/* The first commit on a node compares its Node beside its alloc; the conflict counts
 * once. */
T_CASE(a_node_that_changed_is_counted_once)
{
	struct conflict_summary summary;

	up(4, 1);
	rig_pod(&rig, 1, "a", "1", "");
	rig_pod(&rig, 1, "b", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	rig_node(&rig, 0, "n-2", "1");
	T_TRUE(!rig_answer(&rig, 0));
	sched_conflicts(rig.sched, &summary);
	T_EQ(summary.placements[CONFLICT_NODE] + summary.placements[CONFLICT_ALLOC],
	     summary.node[0].count);
	T_EQ(summary.placements[CONFLICT_NODE], 2); /* both pods went there */
	T_EQ(summary.txns[CONFLICT_NODE], 1);
	rig_run_idle(&rig);
	T_STR(where("b"), "n-1");
	rig_close(&rig);
}

/* The txn is sent again as it was: it does not depend on profiles. */
T_CASE(a_txn_of_unknown_outcome_is_settled)
{
	up(1, 1);
	rig_pod(&rig, 1, "a", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	profiles_are(most);
	rig_fail(&rig, 0, PL_UNKNOWN);
	profiles_are("");
	sched_check(rig.sched);
	rig.now_ms += 5000;
	rig_run_idle(&rig);
	T_STR(where("a"), "n-2");
	T_EQ(sched_load(rig.sched, 1), 0);
	rig_close(&rig);
}

T_CASE(a_txn_whose_partition_is_lost_after_that)
{
	up(1, 1);
	rig_pod(&rig, 1, "a", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	profiles_are(most);
	sched_lost(rig.sched, 1);
	rig.owned[1] = false;
	sched_check(rig.sched);
	rig_fail(&rig, 0, PL_FENCED);
	sched_check(rig.sched);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	T_STR(where("a"), "n-1");
	rig_close(&rig);
}

T_CASE(a_profile_comes_for_pods_that_had_none)
{
	up(0, 0);
	rig_pod(&rig, 1, "a", "1", ",\"schedulerName\":\"night\"");
	rig_run_idle(&rig);
	T_STR(where("a"), "");
	profiles_are(two_names);
	rig_run_idle(&rig);
	T_STR(where("a"), "n-2");
	rig_close(&rig);
}

T_CASE(a_profile_goes_and_its_pods_wait_for_another)
{
	up(0, 0);
	profiles_are(two_names);
	rig_pod(&rig, 1, "a", "100", ",\"schedulerName\":\"night\"");
	rig_run_idle(&rig);
	T_STR(where("a"), "Pending");
	T_EQ(queued(QUEUE_WAITING), 1);
	profiles_are("");
	T_EQ(queued(QUEUE_WAITING), 0);
	T_EQ(sched_load(rig.sched, 1), 0);
	rig_node(&rig, 0, "n-3", "200");
	rig_run_idle(&rig);
	T_STR(where("a"), "Pending");
	profiles_are(two_names);
	rig_run_idle(&rig);
	T_STR(where("a"), "n-3");
	rig_close(&rig);
}

T_CASE(a_waiting_pod_is_tried_again_and_keeps_its_attempts)
{
	int phase;

	up(0, 0);
	rig_pod(&rig, 1, "a", "100", "");
	rig_run_idle(&rig);
	T_EQ(rig_state(&rig, 1, "a", &phase).attempts, 1);
	T_EQ(queued(QUEUE_WAITING), 1);
	profiles_are(most);
	T_EQ(queued(QUEUE_ACTIVE), 1);
	rig.now_ms += 31000;
	rig_run_idle(&rig);
	T_EQ(rig_state(&rig, 1, "a", &phase).attempts, 2);
	rig_close(&rig);
}

/* No shard would ever place the pod, or release its reservation. */
T_CASE(a_pod_without_a_profile_loses_its_reservation)
{
	rig_open(&rig, NULL);
	profiles_are(two_names);
	rig_node(&rig, 0, "n-1", "4");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_pod(&rig, 1, "low", "4", "");
	rig_run_idle(&rig);
	T_STR(where("low"), "n-1");
	rig_priority = 10;
	rig_pod(&rig, 1, "high", "4", ",\"schedulerName\":\"night\"");
	rig_priority = 0;
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 1);
	profiles_are(most);
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
	rig_close(&rig);
}

/* Whichever allocation fails, the change happens whole or not at all, and every pod is
 * placed in the end. */
T_CASE_SECONDS(any_allocation_may_fail, 60)
{
	const struct settings_weight weight = {PL_SPAN_LIT("web"), 2};
	const struct sched_settings settings = {.profiles = pl_span_str(most),
	                                        .fair = true,
	                                        .weight = &weight,
	                                        .weights = 1};
	bool failed = false, passed = false;

	for (uint64_t nth = 1;; nth++) {
		struct queue *queue;
		bool fired;
		enum pl_code code;

		up(1, 1);
		for (int i = 0; i < 3; i++) {
			char name[8];

			(void)snprintf(name, sizeof name, "p-%d", i);
			rig_pod(&rig, 1, name, "1", "");
			rig_deliver_all(&rig);
		}
		rig_run(&rig);
		queue = rig.sched->queue;
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = sched_configure(rig.sched, &settings, &rig.err);
		config_migrate_run(rig.sched);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		T_TRUE((code == PL_OK) == (rig.sched->queue != queue));
		T_TRUE(code == PL_OK || code == PL_NOMEM);
		failed = failed || code != PL_OK;
		passed = passed || (fired && code == PL_OK);
		sched_check(rig.sched);
		rig_run_idle(&rig);
		rig.now_ms += 20000;
		rig_run_idle(&rig);
		T_STR(where("p-0"), "n-2");
		T_STR(where("p-2"), code == PL_OK ? "n-1" : "n-2");
		rig_close(&rig);
		if (!fired)
			break;
	}
	T_TRUE(failed && passed);
}
