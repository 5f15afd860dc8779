/* Pods that leave their nodes. */
#include "shardsched/shard/inner.h"
#include "shardsched/shard/sched_rig.h"
#include "store/keys/partition.h"

static struct rig rig;

/* A pod of nobody's partition is on the node. */
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

T_CASE(whoever_leaves_is_still_said_to_when_others_come)
{
	struct alloc alloc;

	rig_open(&rig, NULL);
	node_with(",\"leaving\":{\"0003\":{\"web\":[\"old\"]}}");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_pod(&rig, 1, "new", "1", "");
	rig_settle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 2);
	T_TRUE(!alloc.pod[0].leaving);
	T_TRUE(alloc.pod[1].leaving);
	/* It does not leave after all. */
	node_with("");
	rig_settle(&rig);
	rig_pod(&rig, 1, "other", "1", "");
	rig_settle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 2);
	T_TRUE(!alloc.pod[0].leaving && !alloc.pod[1].leaving);
	rig_close(&rig);
}

/* -- what others say about a pod ------------------------------------------- */

struct say {
	enum state_ask ask;
	enum state_ended ended;
};

static void says(const char *name, struct say say)
{
	struct pl_buf buf = {.max = 4096};
	int phase;
	struct pod_state state = rig_state(&rig, 1, name, &phase);
	char key[128];

	if (say.ask != STATE_ASK_NONE)
		state.ask = say.ask;
	state.ended = say.ended;
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/state", name);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(key), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static const char *phase_of(const char *name)
{
	int phase;

	(void)rig_state(&rig, 1, name, &phase);
	return phase < 0 ? "" : state_phase_word((enum state_phase)phase);
}

/* One node with room for one pod, which is on it. */
static void up_with(const char *name)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 1, name, "3", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_settle(&rig);
	T_STR(phase_of(name), "Bound");
}

static void down(void)
{
	T_EQ(rig.garbled, 0);
	rig_close(&rig);
}

static void later(void)
{
	for (int i = 0; i < 4; i++) {
		rig.now_ms += 5000;
		rig_settle(&rig);
	}
}

static bool is_there(const char *name)
{
	char key[128];

	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/spec", name);
	return rig_value(&rig, key)[0] != 0;
}

T_CASE(a_pod_that_is_deleted_keeps_its_place_until_it_has_ended)
{
	struct sched_figures figures;
	struct alloc alloc;

	up_with("a");
	rig_pod(&rig, 1, "b", "3", "");
	says("a", (struct say){STATE_ASK_DELETE, STATE_ENDED_NOT});
	later();
	T_STR(phase_of("a"), "Terminating");
	T_STR(phase_of("b"), "Pending");
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 1);
	T_TRUE(alloc.pod[0].leaving);
	T_EQ(alloc.used.cpu_milli, 3000);
	says("a", (struct say){STATE_ASK_NONE, STATE_ENDED_GONE});
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

T_CASE(a_pod_that_is_evicted_is_placed_again)
{
	int phase;
	struct pod_state state;

	up_with("a");
	says("a", (struct say){STATE_ASK_EVICT, STATE_ENDED_NOT});
	rig_settle(&rig);
	state = rig_state(&rig, 1, "a", &phase);
	T_EQ(phase, STATE_TERMINATING);
	T_TRUE(state.next_pending && state.ask == STATE_ASK_NONE);
	T_SPAN(state.reason, PL_SPAN_LIT("evicted"));
	says("a", (struct say){STATE_ASK_NONE, STATE_ENDED_FAILED});
	rig_settle(&rig);
	T_STR(phase_of("a"), "Bound");
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 1);
	T_TRUE(!rig_alloc(&rig, 0, "n-1").pod[0].leaving);
	down();
}

/* Deleted after it was evicted: it is not placed again. */
T_CASE(who_is_evicted_may_still_be_deleted)
{
	up_with("a");
	says("a", (struct say){STATE_ASK_EVICT, STATE_ENDED_NOT});
	rig_settle(&rig);
	says("a", (struct say){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_settle(&rig);
	T_STR(phase_of("a"), "Terminating");
	says("a", (struct say){STATE_ASK_NONE, STATE_ENDED_GONE});
	rig_settle(&rig);
	T_TRUE(!is_there("a"));
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 0);
	down();
}

T_CASE(what_has_run_to_its_end_gives_its_place_back)
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
		says("a", (struct say){STATE_ASK_NONE, rows[i].ended});
		rig_settle(&rig);
		T_STR(phase_of("a"), rows[i].phase);
		alloc = rig_alloc(&rig, 0, "n-1");
		T_EQ(alloc.pods, rows[i].ended == STATE_ENDED_GONE);
		T_EQ(alloc.used.cpu_milli, alloc.pods * 3000);
		T_TRUE(is_there("a"));
		down();
	}
}

T_CASE(who_is_asked_without_a_place_goes_at_once)
{
	up_with("a");
	rig_pod(&rig, 1, "b", "3", "");
	rig_settle(&rig);
	T_STR(phase_of("b"), "Pending");
	says("b", (struct say){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_settle(&rig);
	T_TRUE(!is_there("b"));
	says("a", (struct say){STATE_ASK_NONE, STATE_ENDED_SUCCEEDED});
	rig_settle(&rig);
	says("a", (struct say){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_settle(&rig);
	T_TRUE(!is_there("a"));
	down();
}

/* One comes, one goes, another is marked: one put. */
T_CASE(ends_ride_with_placements)
{
	struct sched_figures before, after;
	struct alloc alloc;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_pod(&rig, 1, "a", "1", "");
	rig_pod(&rig, 1, "b", "1", "");
	rig_settle(&rig);
	sched_figures(rig.sched, &before);
	rig_pod(&rig, 1, "c", "1", "");
	says("a", (struct say){STATE_ASK_NONE, STATE_ENDED_SUCCEEDED});
	says("b", (struct say){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_settle(&rig);
	sched_figures(rig.sched, &after);
	T_EQ(after.txns, before.txns + 1);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.pods, 2);
	T_EQ(alloc.used.cpu_milli, 2000);
	T_TRUE(alloc.pod[0].leaving && !alloc.pod[1].leaving);
	T_STR(phase_of("c"), "Bound");
	down();
}

T_CASE(whoever_takes_over_ends_what_is_half_done)
{
	up_with("a");
	says("a", (struct say){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_settle(&rig);
	rig_lost(&rig, 1);
	says("a", (struct say){STATE_ASK_NONE, STATE_ENDED_GONE});
	rig_settle(&rig);
	T_STR(phase_of("a"), "Terminating");
	rig_own(&rig, 1);
	rig_settle(&rig);
	T_TRUE(!is_there("a"));
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 0);
	down();
}

T_CASE(nothing_is_begun_where_it_is_to_be_quiet)
{
	up_with("a");
	sched_quiesce(rig.sched, 1);
	says("a", (struct say){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_settle(&rig);
	T_STR(phase_of("a"), "Bound");
	T_TRUE(sched_is_quiet(rig.sched, 1));
	down();
	up_with("a");
	sched_quiesce(rig.sched, 0);
	says("a", (struct say){STATE_ASK_DELETE, STATE_ENDED_NOT});
	rig_settle(&rig);
	T_STR(phase_of("a"), "Bound");
	down();
}

/* -- answers ---------------------------------------------------------------- */

static unsigned out_now(void)
{
	unsigned i = 0;

	rig_deliver_all(&rig);
	rig_run(&rig);
	while (i < RIG_OUT_MAX && !rig.out[i].used)
		i++;
	T_TRUE(i < RIG_OUT_MAX);
	return i;
}

T_CASE(an_unknown_outcome_ends_it_once)
{
	for (int applied = 0; applied < 2; applied++) {
		struct sched_figures figures;
		unsigned i;

		up_with("a");
		says("a", (struct say){STATE_ASK_DELETE, STATE_ENDED_GONE});
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

T_CASE(a_fenced_end_is_tried_again_after_a_pause)
{
	unsigned i;

	up_with("a");
	says("a", (struct say){STATE_ASK_DELETE, STATE_ENDED_NOT});
	i = out_now();
	rig_fail(&rig, i, PL_FENCED);
	rig_settle(&rig);
	T_STR(phase_of("a"), "Bound");
	T_TRUE(sched_deadline_ms(rig.sched) > rig.now_ms);
	T_TRUE(sched_deadline_ms(rig.sched) < UINT64_MAX);
	later();
	T_STR(phase_of("a"), "Terminating");
	down();
}

/* Somebody writes the alloc, or the state, under it. */
T_CASE(a_conflict_is_worked_out_again)
{
	unsigned i;

	up_with("a");
	says("a", (struct say){STATE_ASK_EVICT, STATE_ENDED_NOT});
	i = out_now();
	says("a", (struct say){STATE_ASK_DELETE, STATE_ENDED_NOT});
	T_TRUE(!rig_answer(&rig, i));
	i = out_now();
	rig_node(&rig, 0, "n-2", "4");
	rig_put(&rig, "/alloc/0000/east/n-1",
	        "{\"v\":1,\"generation\":9,\"used\":{\"cpu\":\"3000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"cpu\":\"3000m\",\"memory\":\"209715200\"},"
	        "\"pods\":{\"0001\":{\"web\":[\"a\"]}}}");
	T_TRUE(!rig_answer(&rig, i));
	rig_settle(&rig);
	T_STR(phase_of("a"), "Terminating");
	T_TRUE(rig_alloc(&rig, 0, "n-1").pod[0].leaving);
	T_EQ(rig_alloc(&rig, 0, "n-1").generation, 10);
	says("a", (struct say){STATE_ASK_NONE, STATE_ENDED_FAILED});
	rig_settle(&rig);
	T_TRUE(!is_there("a"));
	down();
}

/* -- nodes that are gone ------------------------------------------------------ */

/* The name falls in another partition than the rig puts nodes in: so it is put there. */
static uint32_t home(const char *node)
{
	uint32_t at = 0;

	T_OK(partition_of_node(PL_SPAN_LIT("east"), pl_span_str(node), RIG_PARTITIONS,
	                       &at, &rig.err),
	     &rig.err);
	return at;
}

T_CASE(whose_node_is_gone_is_placed_again_or_goes)
{
	rig_open(&rig, NULL);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_node(&rig, home("n-1"), "n-1", "8");
	rig_pod(&rig, 1, "a", "1", "");
	rig_pod(&rig, 1, "b", "1", "");
	rig_pod(&rig, 1, "c", "1", "");
	rig_settle(&rig);
	T_STR(phase_of("c"), "Bound");
	says("b", (struct say){STATE_ASK_DELETE, STATE_ENDED_NOT});
	says("c", (struct say){STATE_ASK_EVICT, STATE_ENDED_NOT});
	rig_settle(&rig);
	rig.store.revision++;
	for (uint32_t i = 0; i < rig.store.keys; i++)
		if (memmem(rig.store.key[i].key.at, rig.store.key[i].key.len, "n-1", 3))
			rig_unset(&rig.store, rig.store.key[i].key);
	rig_settle(&rig);
	T_STR(phase_of("a"), "Pending");
	T_TRUE(!is_there("b"));
	T_STR(phase_of("c"), "Pending");
	rig_node(&rig, home("n-2"), "n-2", "8");
	later();
	T_STR(phase_of("a"), "Bound");
	T_STR(phase_of("c"), "Bound");
	down();
}

/* What was held there is gone with its alloc, and keeps nobody from seeing that. */
T_CASE(whose_node_is_gone_with_what_it_held_is_placed_again)
{
	uint32_t p = home("n-1");
	char key[64];

	rig_open(&rig, NULL);
	for (uint32_t i = 0; i < RIG_PARTITIONS; i++)
		rig_own(&rig, i);
	rig_node(&rig, p, "n-1", "8");
	rig_pod(&rig, 1, "a", "1", "");
	rig_settle(&rig);
	T_STR(phase_of("a"), "Bound");
	(void)snprintf(key, sizeof key, "/alloc/%04u/east/n-1", p);
	rig_put(&rig, key,
	        "{\"v\":1,\"generation\":9,\"used\":{\"cpu\":\"2000m\",\"pods\":\"2\"},"
	        "\"nonzero\":{\"memory\":\"419430400\"},\"pods\":{\"0001\":{\"web\":"
	        "[\"a\"]}},\"holds\":[{\"kind\":\"gang\",\"namespace\":\"web\",\"name\":"
	        "\"g\",\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},\"nonzero\":{\"memory\":"
	        "\"209715200\"},\"until\":\"2026-11-21T09:00:10.000Z\"}]}");
	rig_deliver_all(&rig);
	rig_del(&rig, key);
	(void)rig_deliver(&rig, p, SCHED_ALLOCS, UINT32_MAX);
	(void)snprintf(key, sizeof key, "/nodes/%04u/east/n-1", p);
	rig_del(&rig, key);
	rig_settle(&rig);
	T_STR(phase_of("a"), "Pending");
	T_EQ(rig.sched->gangs.holds, 0);
	down();
}

/* It comes back while the pod is sent away: there is an alloc, so it stays. */
T_CASE(whose_node_comes_back_is_left_alone)
{
	char key[64];
	unsigned i;

	rig_open(&rig, NULL);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_pod(&rig, 1, "a", "1", "");
	rig_put(&rig, "/schedules/0001/web/a/state",
	        "{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"n-1\","
	        "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	i = out_now();
	rig_node(&rig, home("n-1"), "n-1", "8");
	(void)snprintf(key, sizeof key, "/alloc/%04u/east/n-1", home("n-1"));
	rig_put(&rig, key,
	        "{\"v\":1,\"generation\":9,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"cpu\":\"1000m\",\"memory\":\"209715200\"},"
	        "\"pods\":{\"0001\":{\"web\":[\"a\"]}}}");
	T_TRUE(!rig_answer(&rig, i));
	rig_settle(&rig);
	T_STR(phase_of("a"), "Bound");
	says("a", (struct say){STATE_ASK_DELETE, STATE_ENDED_GONE});
	rig_settle(&rig);
	T_TRUE(!is_there("a"));
	T_EQ(rig_alloc(&rig, home("n-1"), "n-1").pods, 0);
	down();
}

/* Whether it is gone is for the owner of its partition to know. */
T_CASE(whose_node_is_not_ours_any_more_is_left_alone)
{
	rig_open(&rig, NULL);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_settle(&rig);
	rig_pod(&rig, 3, "a", "1", "");
	rig_put(&rig, "/schedules/0003/web/a/state",
	        "{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"n-1\","
	        "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	T_TRUE(home("n-1") != 3);
	rig_deliver_all(&rig);
	rig_lost(&rig, home("n-1"));
	rig_settle(&rig);
	T_TRUE(strstr(rig_value(&rig, "/schedules/0003/web/a/state"), "\"Bound\""));
	rig_own(&rig, home("n-1"));
	rig_settle(&rig);
	T_TRUE(strstr(rig_value(&rig, "/schedules/0003/web/a/state"), "\"Pending\""));
	down();
}

/* It is there again, without the pod: nobody here knows whether that runs. */
T_CASE(whose_node_comes_back_without_it_is_left_alone)
{
	rig_open(&rig, NULL);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_settle(&rig);
	rig_pod(&rig, 1, "a", "1", "");
	rig_put(&rig, "/schedules/0001/web/a/state",
	        "{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"n-1\","
	        "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	rig_deliver_all(&rig);
	rig_node(&rig, home("n-1"), "n-1", "8");
	rig_deliver_all(&rig);
	rig_settle(&rig);
	T_STR(phase_of("a"), "Bound");
	rig_close(&rig);
}

/* -- taints ------------------------------------------------------------------- */

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
	rig_settle(&rig);
	T_STR(phase_of("c"), "Bound");
}

static void seconds(int count)
{
	for (int i = 0; i < count; i++) {
		rig.now_ms += 1000;
		rig_settle(&rig);
	}
}

T_CASE(who_does_not_tolerate_a_taint_leaves_its_node)
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
	says("a", (struct say){STATE_ASK_NONE, STATE_ENDED_GONE});
	seconds(1);
	T_STR(phase_of("a"), "Pending");
	down();
}

T_CASE(taints_that_go_in_time_move_nobody)
{
	up_tainted();
	tainted_node("{\"key\":\"gone\",\"effect\":\"NoSchedule\"}");
	seconds(4);
	T_STR(phase_of("a"), "Bound");
	T_STR(phase_of("c"), "Bound");
	/* Since long ago, but the pod has come just now. */
	rig_pod(&rig, 1, "d", "1",
	        TOLERATES(",\"effect\":\"NoExecute\",\"tolerationSeconds\":100"));
	tainted_node("");
	rig_settle(&rig);
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

/* Who wrote when it was tainted is hours ahead, or we are behind. */
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

T_CASE(a_clock_that_is_set_moves_nobody_early)
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

/* It was found, waits at the node while the store does not answer, and may stay now. */
T_CASE(a_taint_that_is_said_anew_is_looked_at_anew)
{
	up_tainted();
	tainted_node(GONE ",\"timeAdded\":\"2020-01-01T00:00:00Z\"}");
	rig_deliver_all(&rig);
	rig.now_ms += 3000;
	rig_run(&rig);
	T_STR(phase_of("c"), "Bound");
	tainted_node(GONE ",\"timeAdded\":\"2031-01-01T00:00:00Z\"}");
	rig_settle(&rig);
	T_STR(phase_of("a"), "Terminating");
	T_STR(phase_of("c"), "Bound");
	seconds(3);
	T_STR(phase_of("c"), "Terminating");
	down();
}

/* The pods' own partition is another shard's. */
T_CASE(pods_of_others_leave_a_tainted_node)
{
	up_tainted();
	rig_lost(&rig, 1);
	rig_settle(&rig);
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

/* What was read of it is old: somebody has asked it to go meanwhile. */
T_CASE(pods_of_others_that_changed_are_read_again)
{
	up_tainted();
	rig_lost(&rig, 1);
	rig_settle(&rig);
	tainted_node(GONE "}");
	seconds(1);
	says("c", (struct say){STATE_ASK_NONE, STATE_ENDED_SUCCEEDED});
	seconds(5);
	T_STR(phase_of("c"), "Bound");
	says("c", (struct say){STATE_ASK_NONE, STATE_ENDED_NOT});
	seconds(5);
	T_STR(phase_of("c"), "Terminating");
	down();
}

/* Its spec made no sense when its state was read, and was put right since. */
T_CASE(pods_of_others_that_were_mended_are_read_again)
{
	static const char key[] = "/schedules/0001/web/a/spec";
	char spec[1024];

	up_tainted();
	(void)snprintf(spec, sizeof spec, "%s", rig_value(&rig, key));
	rig_lost(&rig, 1);
	rig_settle(&rig);
	says("a", (struct say){STATE_ASK_NONE, STATE_ENDED_SUCCEEDED});
	rig_put(&rig, key, "{");
	tainted_node(GONE "}");
	seconds(5);
	T_STR(phase_of("a"), "Bound");
	T_TRUE(rig.garbled > 0);
	rig.garbled = 0;
	says("a", (struct say){STATE_ASK_NONE, STATE_ENDED_NOT});
	rig_put(&rig, key, spec);
	seconds(5);
	T_STR(phase_of("a"), "Terminating");
	down();
}

/* Its node's partition is another shard's, and nothing there is known here. */
T_CASE(a_pod_leaves_a_node_of_others)
{
	const char *name = home("n-1") != 1 ? "n-1" : home("n-2") != 1 ? "n-2" : "n-3";
	uint32_t there = home(name);

	rig_open(&rig, NULL);
	rig_node(&rig, there, name, "8");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_pod(&rig, 1, "a", "1", "");
	rig_settle(&rig);
	T_STR(phase_of("a"), "Bound");
	T_TRUE(there != 1);
	rig_lost(&rig, there);
	says("a", (struct say){STATE_ASK_DELETE, STATE_ENDED_NOT});
	later();
	T_STR(phase_of("a"), "Terminating");
	says("a", (struct say){STATE_ASK_NONE, STATE_ENDED_GONE});
	later();
	T_TRUE(!is_there("a"));
	T_EQ(rig_alloc(&rig, there, name).pods, 0);
	down();
}

/* What is read of it then is not kept: nobody would bring it up to date, and it would
 * look as if the node were known. */
T_CASE(a_pod_leaves_a_node_that_was_forgotten_while_it_was_told)
{
	const char *name = home("n-1") != 1 ? "n-1" : home("n-2") != 1 ? "n-2" : "n-3";
	uint32_t there = home(name);
	char key[64], value[512];

	rig_open(&rig, NULL);
	rig_node(&rig, there, name, "8");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_pod(&rig, 1, "a", "1", "");
	rig_settle(&rig);
	rig_lost(&rig, there);
	says("a", (struct say){STATE_ASK_DELETE, STATE_ENDED_GONE});
	while (!rig.out[0].used) {
		rig_deliver_all(&rig);
		rig_run(&rig);
		(void)rig_visit_all(&rig);
		rig.now_ms += 10;
	}
	(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", there, name);
	(void)snprintf(value, sizeof value, "%s", rig_value(&rig, key));
	rig_put(&rig, key, value); /* somebody was there first */
	rig.now_ms += 31000;
	rig_run(&rig);
	T_TRUE(!rig_answer(&rig, 0));
	rig_run(&rig);
	later();
	T_TRUE(!is_there("a"));
	T_EQ(rig_alloc(&rig, there, name).pods, 0);
	down();
}

/* -- several that leave one node --------------------------------------------------- */

enum { BEFORE = 1, AFTER = 3 };

/* On n-1 in our partition 0: web/mine of our partition 2, which has ended, and web/theirs
 * of another one. */
static void two_leave(const char *pods, const char *leaving)
{
	char value[512];

	(void)snprintf(
		value, sizeof value,
		"{\"v\":1,\"generation\":7,\"used\":{\"cpu\":\"2000m\",\"pods\":\"2\"},"
		"\"nonzero\":{\"cpu\":\"2000m\",\"memory\":\"419430400\"},"
		"\"pods\":{%s},\"leaving\":{%s}}",
		pods, leaving);
	rig_put(&rig, "/alloc/0000/east/n-1", value);
}

static void up_two(uint32_t theirs, const char *pods, const char *leaving)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 2, "mine", "1", "");
	rig_pod(&rig, theirs, "theirs", "1", "");
	two_leave(pods, leaving);
	rig_put(&rig, "/schedules/0002/web/mine/state",
	        "{\"v\":1,\"uid\":\"u-mine\",\"phase\":\"Terminating\",\"ended\":\"Gone\","
	        "\"cluster\":\"east\",\"node\":\"n-1\",\"shard\":\"a\",\"epoch\":\"3\","
	        "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	rig_own(&rig, 0);
	rig_own(&rig, 2);
	rig_settle(&rig);
}

static bool mine_has_gone(void)
{
	int phase;

	(void)rig_state(&rig, 2, "mine", &phase);
	return phase < 0;
}

#define THEIRS_FIRST "\"0001\":{\"web\":[\"theirs\"]},\"0002\":{\"web\":[\"mine\"]}"
#define THEIRS_LAST "\"0002\":{\"web\":[\"mine\"]},\"0003\":{\"web\":[\"theirs\"]}"
#define MINE "\"0002\":{\"web\":[\"mine\"]}"

T_CASE(pods_of_several_shards_leave_a_node_in_turn)
{
	up_two(BEFORE, THEIRS_FIRST, THEIRS_FIRST);
	rig.now_ms += 400;
	rig_settle(&rig);
	T_TRUE(!mine_has_gone());
	/* Theirs has gone. */
	rig_put(&rig, "/alloc/0000/east/n-1",
	        "{\"v\":1,\"generation\":8,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"cpu\":\"1000m\",\"memory\":\"209715200\"},"
	        "\"pods\":{" MINE "},\"leaving\":{" MINE "}}");
	rig_settle(&rig);
	T_TRUE(mine_has_gone());
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 0);
	down();

	up_two(AFTER, THEIRS_LAST, THEIRS_LAST);
	T_TRUE(mine_has_gone());
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 1);
	down();
}

/* However often something else happens there. */
T_CASE(nobody_waits_for_his_turn_for_long)
{
	up_two(BEFORE, THEIRS_FIRST, THEIRS_FIRST);
	for (unsigned i = 0; i < 6; i++) {
		T_TRUE(!mine_has_gone());
		rig.now_ms += 80;
		two_leave(THEIRS_FIRST, THEIRS_FIRST);
		rig_settle(&rig);
	}
	rig.now_ms += 80;
	rig_settle(&rig);
	T_TRUE(mine_has_gone());
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 1);
	down();
}

/* The state tells of an alloc that is not known here yet. */
T_CASE(who_leaves_by_an_alloc_that_is_to_come_waits_for_it)
{
	up_two(AFTER, THEIRS_LAST, "");
	T_TRUE(!mine_has_gone());
	two_leave(THEIRS_LAST, MINE);
	rig_settle(&rig);
	T_TRUE(mine_has_gone());
	down();

	up_two(AFTER, THEIRS_LAST, ""); /* it never does */
	rig.now_ms += 501;
	rig_settle(&rig);
	T_TRUE(mine_has_gone());
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 1);
	down();
}

/* What is written there anyway takes them along. */
T_CASE(whoever_comes_takes_along_who_waits_for_his_turn)
{
	up_two(BEFORE, THEIRS_FIRST, THEIRS_FIRST);
	T_TRUE(!mine_has_gone());
	rig_pod(&rig, 2, "new", "1", "");
	rig_settle(&rig);
	T_TRUE(mine_has_gone());
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 2);
	down();
}
