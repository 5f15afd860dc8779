/* Pods that leave their nodes when they are asked to. */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "tests/support/shardsched/shard/termination_rig.h"

/* A pod of no owned partition is on the node. */
static void node_with(const char *leaving)
{
	char value[512];

	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 3, "old", "1", "");
	(void)snprintf(
		value, sizeof value,
		"{\"v\":1,\"generation\":7,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
		"\"nonzero\":{\"cpu\":\"1000m\",\"memory\":\"209715200\"},"
		"\"pods\":{\"0003\":{\"web\":[\"old\"]}}%s}",
		leaving);
	rig_put(&rig, "/alloc/0000/east/n-1", value);
}

T_CASE(a_leaving_pod_stays_marked_when_others_come)
{
	struct alloc alloc;

	rig_open(&rig, NULL);
	node_with(",\"leaving\":{\"0003\":{\"web\":[\"old\"]}}");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_pod(&rig, 1, "new", "1", "");
	rig_run_idle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 2);
	T_TRUE(!alloc.pod[0].leaving);
	T_TRUE(alloc.pod[1].leaving);
	/* The pod does not leave after all. */
	node_with("");
	rig_run_idle(&rig);
	rig_pod(&rig, 1, "other", "1", "");
	rig_run_idle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 2);
	T_TRUE(!alloc.pod[0].leaving && !alloc.pod[1].leaving);
	rig_close(&rig);
}

/* One node with room for one pod, which is on it. */
static void up_with(const char *name)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 1, name, "3", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	T_STR(phase_of(name), "Bound");
}

/* The node does not count as remote any more, where commits pause. */
T_CASE(a_node_becomes_ours_while_a_pod_is_to_leave_it)
{
	const struct sched_node *node;

	up_with("a");
	rig_lost(&rig, 0);
	fleet_view_acquire(rig.sched);
	rig_run_idle(&rig);
	rig.sched->remote.resume_ms = rig.now_ms + 60000;
	put_request("a", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_deliver_all(&rig);
	rig_run(&rig);
	node = node_find(rig.sched, PL_SPAN_LIT("east"), PL_SPAN_LIT("n-1"));
	T_TRUE(!pl_list_empty(&node->ready) && !node->ready_local);
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Terminating");
	T_TRUE(rig.sched->remote.resume_ms > rig.now_ms);
	rig_close(&rig);
}

T_CASE(a_pod_that_is_deleted_keeps_its_place_until_it_has_ended)
{
	struct sched_figures figures;
	struct alloc alloc;

	up_with("a");
	rig_pod(&rig, 1, "b", "3", "");
	put_request("a", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_NOT});
	later();
	T_STR(phase_of("a"), "Terminating");
	T_STR(phase_of("b"), "Pending");
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 1);
	T_TRUE(alloc.pod[0].leaving);
	T_EQ(alloc.used.cpu_milli, 3000);
	put_request("a", (struct pod_request_facts){STATE_ASK_NONE, STATE_ENDED_GONE});
	later();
	T_TRUE(!is_there("a"));
	T_STR(phase_of("a"), "");
	T_STR(phase_of("b"), "Bound");
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 1);
	T_SPAN(alloc.pod[0].name, PL_SPAN_LIT("b"));
	T_TRUE(!alloc.pod[0].leaving);
	sched_figures(rig.sched, &figures);
	T_EQ(figures.terminated, 1);
	T_EQ(figures.ended, 1);
	T_EQ(figures.placed, 2);
	T_EQ(figures.pods, 1);
	down();
}

/* Asked to go by a writer that saw finalizers, or has taken the last one away. */
static void put_deletion(const char *name, enum state_ended ended, bool awaits)
{
	struct pl_buf buf = {.max = 4096};
	int phase;
	struct pod_state state = rig_state(&rig, 1, name, &phase);
	char key[128];

	state.ask = STATE_ASK_DELETE;
	state.awaits_finalizers = awaits;
	state.ended = ended;
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/state", name);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(key), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

T_CASE(a_pod_with_finalizers_gives_its_place_back_and_keeps_its_keys)
{
	struct pod_state state;
	int phase;

	up_with("a");
	rig_pod(&rig, 1, "b", "3", "");
	put_deletion("a", STATE_ENDED_NOT, true);
	later();
	state = rig_state(&rig, 1, "a", &phase);
	T_EQ(phase, STATE_TERMINATING);
	T_TRUE(state.ask == STATE_ASK_DELETE && state.awaits_finalizers);
	T_STR(phase_of("b"), "Pending");
	put_deletion("a", STATE_ENDED_SUCCEEDED, true);
	later();
	state = rig_state(&rig, 1, "a", &phase);
	T_TRUE(is_there("a"));
	T_EQ(phase, STATE_SUCCEEDED);
	T_TRUE(state.ask == STATE_ASK_DELETE && state.awaits_finalizers);
	T_STR(phase_of("b"), "Bound");
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 1);
	/* A shard that lists everything anew leaves it alone, too. */
	rig_lost(&rig, 1);
	rig_own(&rig, 1);
	later();
	T_TRUE(is_there("a"));
	down();
}

T_CASE(a_pod_without_finalizers_any_more_goes_as_any_other)
{
	up_with("a");
	put_deletion("a", STATE_ENDED_NOT, true);
	later();
	put_deletion("a", STATE_ENDED_NOT, false);
	later();
	T_STR(phase_of("a"), "Terminating");
	put_deletion("a", STATE_ENDED_FAILED, false);
	later();
	T_TRUE(!is_there("a"));
	T_STR(phase_of("a"), "");
	down();
}

T_CASE(a_waiting_pod_with_finalizers_is_not_placed_any_more)
{
	struct pod_state state;
	int phase;

	up_with("a");
	rig_pod(&rig, 1, "b", "3", "");
	later();
	T_STR(phase_of("b"), "Pending");
	put_deletion("b", STATE_ENDED_NOT, true);
	put_request("a", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_GONE});
	later();
	T_TRUE(!is_there("a"));
	state = rig_state(&rig, 1, "b", &phase);
	T_EQ(phase, STATE_PENDING);
	T_TRUE(state.ask == STATE_ASK_DELETE && state.awaits_finalizers);
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 0);
	down();
}

T_CASE(a_pod_with_finalizers_goes_on_when_its_node_is_gone)
{
	struct pod_state state;
	int phase;

	up_with("a");
	put_deletion("a", STATE_ENDED_NOT, true);
	later();
	rig_del(&rig, "/nodes/0000/east/n-1");
	rig_del(&rig, "/alloc/0000/east/n-1");
	later();
	state = rig_state(&rig, 1, "a", &phase);
	T_EQ(phase, STATE_FAILED);
	T_TRUE(state.ask == STATE_ASK_DELETE && state.awaits_finalizers);
	T_TRUE(is_there("a"));
	down();
}

T_CASE(a_pod_that_is_evicted_is_placed_again)
{
	int phase;
	struct pod_state state;

	up_with("a");
	put_request("a", (struct pod_request_facts){STATE_ASK_EVICT, STATE_ENDED_NOT});
	rig_run_idle(&rig);
	state = rig_state(&rig, 1, "a", &phase);
	T_EQ(phase, STATE_TERMINATING);
	T_TRUE(state.next_pending && state.ask == STATE_ASK_NONE);
	T_SPAN(state.reason, PL_SPAN_LIT("evicted"));
	put_request("a", (struct pod_request_facts){STATE_ASK_NONE, STATE_ENDED_FAILED});
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Bound");
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 1);
	T_TRUE(!rig_alloc(&rig, 0, "n-1").pod[0].leaving);
	down();
}

/* The pod is deleted after it was evicted: it is not placed again. */
T_CASE(an_evicted_pod_may_still_be_deleted)
{
	up_with("a");
	put_request("a", (struct pod_request_facts){STATE_ASK_EVICT, STATE_ENDED_NOT});
	rig_run_idle(&rig);
	put_request("a", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Terminating");
	put_request("a", (struct pod_request_facts){STATE_ASK_NONE, STATE_ENDED_GONE});
	rig_run_idle(&rig);
	T_TRUE(!is_there("a"));
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 0);
	down();
}

/* There is nothing to move: the pod is bound, and the earlier request is over. */
T_CASE(a_pod_asked_to_move_while_it_waits_stays_where_it_is_bound)
{
	rig_open(&rig, NULL);
	rig_pod(&rig, 1, "a", "3", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Pending");
	put_request("a", (struct pod_request_facts){STATE_ASK_EVICT, STATE_ENDED_NOT});
	rig_run_idle(&rig);
	rig_node(&rig, 0, "n-1", "4");
	rig_deliver_all(&rig);
	later();
	T_STR(phase_of("a"), "Bound");
	down();
}

/* Two pods have one name: the first stands apart from its name, and its pointer was
 * deleted by hand: else the other could not have come. */
T_CASE(the_end_of_a_pod_spares_another_of_its_name)
{
	struct pl_buf buf = {.max = 4096};
	struct pod_state state;
	int phase;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 3, "a", "1", "");
	rig_pod(&rig, 1, "a", "1", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_own(&rig, 3);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	T_STR(rig_where(&rig, 3, "a"), "n-1");
	state = rig_state(&rig, 3, "a", &phase);
	state.ask = STATE_ASK_DELETE;
	state.ended = STATE_ENDED_GONE;
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	rig.store.revision++;
	rig_set(&rig.store, PL_SPAN_LIT("/schedules/0003/web/a/state"),
	        pl_buf_span(&buf));
	pl_buf_done(&buf);
	later();
	T_STR(rig_where(&rig, 3, "a"), "");
	T_TRUE(is_there("a"));
	down();
}

T_CASE(a_finished_pod_frees_its_room)
{
	static const struct {
		enum state_ended ended;
		const char *phase;
	} rows[] = {{STATE_ENDED_SUCCEEDED, "Succeeded"},
	            {STATE_ENDED_FAILED, "Failed"},
	            {STATE_ENDED_GONE, "Bound"}};

	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct alloc alloc;

		up_with("a");
		put_request("a",
		            (struct pod_request_facts){STATE_ASK_NONE, rows[i].ended});
		rig_run_idle(&rig);
		T_STR(phase_of("a"), rows[i].phase);
		alloc = rig_alloc(&rig, 0, "n-1");
		T_EQ(alloc.pods, rows[i].ended == STATE_ENDED_GONE);
		T_EQ(alloc.used.cpu_milli, alloc.pods * 3000);
		T_TRUE(is_there("a"));
		down();
	}
}

T_CASE(a_deleted_pod_without_a_node_goes_at_once)
{
	up_with("a");
	rig_pod(&rig, 1, "b", "3", "");
	rig_run_idle(&rig);
	T_STR(phase_of("b"), "Pending");
	put_request("b", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_run_idle(&rig);
	T_TRUE(!is_there("b"));
	put_request("a",
	            (struct pod_request_facts){STATE_ASK_NONE, STATE_ENDED_SUCCEEDED});
	rig_run_idle(&rig);
	put_request("a", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_run_idle(&rig);
	T_TRUE(!is_there("a"));
	down();
}

/* One pod comes, one goes, another is marked, in one put. */
T_CASE(terminations_ride_with_placements)
{
	struct sched_figures before, after;
	struct alloc alloc;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_pod(&rig, 1, "a", "1", "");
	rig_pod(&rig, 1, "b", "1", "");
	rig_run_idle(&rig);
	sched_figures(rig.sched, &before);
	rig_pod(&rig, 1, "c", "1", "");
	put_request("a",
	            (struct pod_request_facts){STATE_ASK_NONE, STATE_ENDED_SUCCEEDED});
	put_request("b", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_run_idle(&rig);
	sched_figures(rig.sched, &after);
	T_EQ(after.txns, before.txns + 1);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 2);
	T_EQ(alloc.used.cpu_milli, 2000);
	T_TRUE(alloc.pod[0].leaving && !alloc.pod[1].leaving);
	T_STR(phase_of("c"), "Bound");
	down();
}

T_CASE(a_new_owner_finishes_terminations)
{
	up_with("a");
	put_request("a", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_run_idle(&rig);
	rig_lost(&rig, 1);
	put_request("a", (struct pod_request_facts){STATE_ASK_NONE, STATE_ENDED_GONE});
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Terminating");
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	T_TRUE(!is_there("a"));
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 0);
	down();
}

T_CASE(a_quiet_partition_begins_no_termination)
{
	up_with("a");
	sched_quiesce(rig.sched, 1);
	put_request("a", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Bound");
	T_TRUE(sched_is_quiet(rig.sched, 1));
	down();
	up_with("a");
	sched_quiesce(rig.sched, 0);
	put_request("a", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Bound");
	down();
}

/* -- answers ----------------------------------------------------------------------- */

T_CASE(an_unknown_outcome_terminates_a_pod_once)
{
	for (int applied = 0; applied < 2; applied++) {
		struct sched_figures figures;
		unsigned i;

		up_with("a");
		put_request("a", (struct pod_request_facts){STATE_ASK_DELETE,
		                                            STATE_ENDED_GONE});
		i = out_now();
		if (applied == 1)
			(void)rig_exec(&rig.store, &rig.out[i].req.txn);
		rig_fail(&rig, i, PL_UNKNOWN);
		later();
		T_TRUE(!is_there("a"));
		T_EQ(rig_alloc(&rig, 0, "n-1").pods, 0);
		T_EQ(rig_alloc(&rig, 0, "n-1").generation, 3);
		sched_figures(rig.sched, &figures);
		T_EQ(figures.txns_unknown, 1);
		T_EQ(figures.pods, 0);
		down();
	}
}

T_CASE(a_fenced_termination_is_tried_again_after_a_pause)
{
	unsigned i;

	up_with("a");
	put_request("a", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_NOT});
	i = out_now();
	rig_fail(&rig, i, PL_FENCED);
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Bound");
	T_TRUE(sched_deadline_ms(rig.sched) > rig.now_ms);
	T_TRUE(sched_deadline_ms(rig.sched) < UINT64_MAX);
	later();
	T_STR(phase_of("a"), "Terminating");
	down();
}

/* Another writer changes the alloc, or the state. */
T_CASE(a_termination_is_derived_again_after_a_conflict)
{
	unsigned i;

	up_with("a");
	put_request("a", (struct pod_request_facts){STATE_ASK_EVICT, STATE_ENDED_NOT});
	i = out_now();
	put_request("a", (struct pod_request_facts){STATE_ASK_DELETE, STATE_ENDED_NOT});
	T_TRUE(!rig_answer(&rig, i));
	i = out_now();
	rig_node(&rig, 0, "n-2", "4");
	rig_put(&rig, "/alloc/0000/east/n-1",
	        "{\"v\":1,\"generation\":9,\"used\":{\"cpu\":\"3000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"cpu\":\"3000m\",\"memory\":\"209715200\"},"
	        "\"pods\":{\"0001\":{\"web\":[\"a\"]}}}");
	T_TRUE(!rig_answer(&rig, i));
	rig_run_idle(&rig);
	T_STR(phase_of("a"), "Terminating");
	T_TRUE(rig_alloc(&rig, 0, "n-1").pod[0].leaving);
	T_EQ(rig_alloc(&rig, 0, "n-1").generation, 10);
	put_request("a", (struct pod_request_facts){STATE_ASK_NONE, STATE_ENDED_FAILED});
	rig_run_idle(&rig);
	T_TRUE(!is_there("a"));
	down();
}
