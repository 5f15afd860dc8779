/* Pods that leave tainted nodes. */
#include "tests/support/shardsched/shard/termination_rig.h"

static void tainted_node(const char *taints)
{
	char spec[256];

	(void)snprintf(spec, sizeof spec, "\"taints\":[%s]", taints);
	rig.store.revision++;
	rig_set(&rig.store, PL_SPAN_LIT("/nodes/0000/east/n-1"),
	        pl_span_str(rig_node_json("n-1", "8", spec)));
	rig_set(&rig.store, PL_SPAN_LIT("/alloc/0000/east/n-1"),
	        pl_arena_dup(&rig.store.arena,
	                     pl_span_str(rig_value(&rig, "/alloc/0000/east/n-1"))));
}

#define TOLERATES(more) \
	",\"tolerations\":[{\"key\":\"gone\",\"operator\":\"Exists\"" more "}]"

/* a tolerates nothing, b for ever, c for two seconds. */
static void up_tainted(void)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "8");
	rig_pod(&rig, 1, "a", "1", "");
	rig_pod(&rig, 1, "b", "1", TOLERATES(""));
	rig_pod(&rig, 1, "c", "1",
	        TOLERATES(",\"effect\":\"NoExecute\",\"tolerationSeconds\":2"));
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	T_STR(phase_of("c"), "Bound");
}

static void seconds(int count)
{
	for (int i = 0; i < count; i++) {
		rig.now_ms += 1000;
		rig_run_idle(&rig);
	}
}

T_CASE(a_pod_that_does_not_tolerate_a_taint_leaves_its_node)
{
	struct pod_state state;
	int phase;

	up_tainted();
	tainted_node("{\"key\":\"gone\",\"effect\":\"NoExecute\"}");
	seconds(1);
	state = rig_state(&rig, 1, "a", &phase);
	T_EQ(phase, STATE_TERMINATING);
	T_TRUE(state.next_pending);
	T_SPAN(state.reason, PL_SPAN_LIT("taint.noexecute"));
	T_STR(phase_of("b"), "Bound");
	T_STR(phase_of("c"), "Bound");
	seconds(3);
	T_STR(phase_of("b"), "Bound");
	T_STR(phase_of("c"), "Terminating");
	put_request("a", (struct pod_request_facts){STATE_ASK_NONE, STATE_ENDED_GONE});
	seconds(1);
	T_STR(phase_of("a"), "Pending");
	down();
}

T_CASE(taints_that_go_in_time_evict_no_pod)
{
	up_tainted();
	tainted_node("{\"key\":\"gone\",\"effect\":\"NoSchedule\"}");
	seconds(4);
	T_STR(phase_of("a"), "Bound");
	T_STR(phase_of("c"), "Bound");
	/* The taint is old, but the pod has come just now. */
	rig_pod(&rig, 1, "d", "1",
	        TOLERATES(",\"effect\":\"NoExecute\",\"tolerationSeconds\":100"));
	tainted_node("");
	rig_run_idle(&rig);
	T_STR(phase_of("d"), "Bound");
	tainted_node("{\"key\":\"gone\",\"effect\":\"NoExecute\",\"timeAdded\":"
	             "\"2020-01-01T00:00:00Z\"}");
	seconds(1);
	T_STR(phase_of("a"), "Terminating");
	T_STR(phase_of("c"), "Terminating");
	T_STR(phase_of("d"), "Bound");
	tainted_node("");
	seconds(200);
	T_STR(phase_of("d"), "Bound");
	down();
}

#define GONE "{\"key\":\"gone\",\"effect\":\"NoExecute\""

/* The writer's clock is hours ahead, or ours is behind. */
T_CASE(a_taint_from_the_future_counts_from_now)
{
	up_tainted();
	tainted_node(GONE ",\"timeAdded\":\"2031-01-01T00:00:00Z\"}");
	seconds(1);
	T_STR(phase_of("a"), "Terminating");
	T_STR(phase_of("c"), "Bound");
	seconds(3);
	T_STR(phase_of("c"), "Terminating");
	down();
}

T_CASE(a_clock_that_is_set_evicts_no_pod_early)
{
	up_tainted();
	tainted_node(GONE "}");
	seconds(1);
	rig.wall_off_ms = INT64_C(3600) * 1000;
	seconds(1);
	T_STR(phase_of("c"), "Bound");
	rig.wall_off_ms = -INT64_C(3600) * 1000;
	seconds(1);
	T_STR(phase_of("c"), "Bound");
	seconds(3);
	T_STR(phase_of("c"), "Terminating");
	down();
}

/* The pod came when the taint had been there for long. */
T_CASE(a_clock_that_is_set_evicts_no_late_pod_early)
{
	up_tainted();
	tainted_node(GONE "}");
	seconds(200);
	rig_pod(&rig, 1, "d", "1",
	        TOLERATES(",\"effect\":\"NoExecute\",\"tolerationSeconds\":100"));
	rig_run_idle(&rig);
	T_STR(phase_of("d"), "Bound");
	rig.wall_off_ms = INT64_C(3600) * 1000;
	seconds(99);
	T_STR(phase_of("d"), "Bound");
	seconds(2);
	T_STR(phase_of("d"), "Terminating");
	/* Another pod comes by that clock. */
	rig_pod(&rig, 1, "e", "1",
	        TOLERATES(",\"effect\":\"NoExecute\",\"tolerationSeconds\":100"));
	rig_run_idle(&rig);
	seconds(99);
	T_STR(phase_of("e"), "Bound");
	seconds(2);
	T_STR(phase_of("e"), "Terminating");
	down();
}

#define RENTED "{\"key\":\"rented\",\"effect\":\"NoExecute\""

/* The wall clock is right, after it was set forward. */
T_CASE(a_clock_that_runs_fast_evicts_no_pod_early)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "8");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	tainted_node(RENTED "}");
	seconds(2);
	rig.wall_off_ms = INT64_C(3600) * 1000;
	seconds(2);
	rig_pod(&rig, 1, "a", "1",
	        ",\"tolerations\":[{\"key\":\"rented\",\"operator\":\"Exists\"},{\"key\":"
	        "\"gone\",\"operator\":\"Exists\",\"effect\":\"NoExecute\","
	        "\"tolerationSeconds\":100}]");
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Bound");
	tainted_node(RENTED "}," GONE "}");
	for (unsigned i = 0; i < 101; i++) {
		seconds(1);
		rig.wall_off_ms -= 20;
	}
	T_STR(phase_of("a"), "Bound");
	seconds(4);
	T_STR(phase_of("a"), "Terminating");
	down();
}

/* a tolerates one taint for ever and the other for two seconds. */
static void up_rented(void)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "8");
	rig_pod(&rig, 1, "a", "1",
	        ",\"tolerations\":[{\"key\":\"rented\",\"operator\":\"Exists\"},{\"key\":"
	        "\"gone\",\"operator\":\"Exists\",\"effect\":\"NoExecute\","
	        "\"tolerationSeconds\":2}]");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Bound");
}

T_CASE(a_taint_tolerated_for_ever_shortens_no_other)
{
	up_rented();
	tainted_node(RENTED ",\"timeAdded\":\"2020-01-01T00:00:00Z\"}");
	seconds(10);
	T_STR(phase_of("a"), "Bound");
	tainted_node(RENTED ",\"timeAdded\":\"2020-01-01T00:00:00Z\"}," GONE
	                    ",\"timeAdded\":\"2025-11-21T09:00:11Z\"}");
	seconds(1);
	T_STR(phase_of("a"), "Bound");
	seconds(2);
	T_STR(phase_of("a"), "Terminating");
	down();
}

/* The taints have no timeAdded. */
T_CASE(taints_are_first_seen_each_for_itself)
{
	up_rented();
	tainted_node(RENTED "}");
	seconds(10);
	tainted_node(RENTED "}," GONE "}");
	seconds(1);
	T_STR(phase_of("a"), "Bound");
	/* The Node comes again with another taint, and in another order. */
	tainted_node(GONE "}," RENTED "},{\"key\":\"dry\",\"effect\":\"NoSchedule\"}");
	seconds(1);
	T_STR(phase_of("a"), "Bound");
	seconds(1);
	T_STR(phase_of("a"), "Terminating");
	down();
}

/* The shard has slept for long when the taint comes. */
T_CASE(a_taint_is_first_seen_when_it_is_looked_at)
{
	up_tainted();
	rig.now_ms += 60000;
	tainted_node(GONE "}");
	seconds(1);
	T_STR(phase_of("a"), "Terminating");
	T_STR(phase_of("c"), "Bound");
	seconds(3);
	T_STR(phase_of("c"), "Terminating");
	down();
}

/* The pod was found, waits at the node while the store does not answer, and may stay
 * now. */
T_CASE(a_taint_that_is_written_again_is_looked_at_again)
{
	up_tainted();
	tainted_node(GONE ",\"timeAdded\":\"2020-01-01T00:00:00Z\"}");
	rig_deliver_all(&rig);
	rig.now_ms += 3000;
	rig_run(&rig);
	T_STR(phase_of("c"), "Bound");
	tainted_node(GONE ",\"timeAdded\":\"2031-01-01T00:00:00Z\"}");
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Terminating");
	T_STR(phase_of("c"), "Bound");
	seconds(3);
	T_STR(phase_of("c"), "Terminating");
	down();
}

/* The pods' own partition is another shard's. */
T_CASE(remote_pods_leave_a_tainted_node)
{
	up_tainted();
	rig_lost(&rig, 1);
	rig_run_idle(&rig);
	tainted_node(GONE "}");
	seconds(2);
	T_STR(phase_of("a"), "Terminating");
	T_STR(phase_of("b"), "Bound");
	T_STR(phase_of("c"), "Bound");
	seconds(3);
	T_STR(phase_of("b"), "Bound");
	T_STR(phase_of("c"), "Terminating");
	down();
}

/* The pod's state that was read is outdated: it was asked to go meanwhile. */
T_CASE(remote_pods_that_changed_are_read_again)
{
	up_tainted();
	rig_lost(&rig, 1);
	rig_run_idle(&rig);
	tainted_node(GONE "}");
	seconds(1);
	put_request("c",
	            (struct pod_request_facts){STATE_ASK_NONE, STATE_ENDED_SUCCEEDED});
	seconds(5);
	T_STR(phase_of("c"), "Bound");
	put_request("c", (struct pod_request_facts){STATE_ASK_NONE, STATE_ENDED_NOT});
	seconds(5);
	T_STR(phase_of("c"), "Terminating");
	down();
}

/* The pod's spec was malformed when its state was read, and was repaired since. */
T_CASE(remote_pods_that_were_repaired_are_read_again)
{
	static const char key[] = "/schedules/0001/web/a/spec";
	char spec[1024];

	up_tainted();
	(void)snprintf(spec, sizeof spec, "%s", rig_value(&rig, key));
	rig_lost(&rig, 1);
	rig_run_idle(&rig);
	put_request("a",
	            (struct pod_request_facts){STATE_ASK_NONE, STATE_ENDED_SUCCEEDED});
	rig_put(&rig, key, "{");
	tainted_node(GONE "}");
	seconds(5);
	T_STR(phase_of("a"), "Bound");
	T_TRUE(rig.malformed > 0);
	rig.malformed = 0;
	put_request("a", (struct pod_request_facts){STATE_ASK_NONE, STATE_ENDED_NOT});
	rig_put(&rig, key, spec);
	seconds(5);
	T_STR(phase_of("a"), "Terminating");
	down();
}
