/* Deadlines of nominations. */
#include "shardsched/shard/reservations/reservation.h"
#include "tests/support/shardsched/shard/shards_rig.h"

enum { WALL_MS = 1000 };
static const int64_t rig_wall = 1763715600000; /* when now_ms is 0 */

static struct alloc alloc_0(void)
{
	return rig_alloc(&rig, 0, "n-1");
}

/* 4 cpu, of which a leaving pod has one; the rest and that one are reserved for
 * web/high. */
static void node_until(int64_t until_ms)
{
	const struct alloc_pod old = {.partition = 3,
	                              .namespace = PL_SPAN_LIT("web"),
	                              .name = PL_SPAN_LIT("old"),
	                              .leaving = true};
	const struct alloc_amounts held = {.cpu_milli = 4000,
	                                   .pods = 1,
	                                   .nonzero_cpu_milli = 4000,
	                                   .nonzero_memory = 209715200};
	const struct alloc_reservation hold = {.kind = ALLOC_RESERVATION_NOMINATED,
	                                       .namespace = PL_SPAN_LIT("web"),
	                                       .name = PL_SPAN_LIT("high"),
	                                       .partition = 2,
	                                       .used = held,
	                                       .until_ms = until_ms};
	const struct alloc alloc = {.generation = 7,
	                            .used = {.cpu_milli = 5000,
	                                     .pods = 2,
	                                     .nonzero_cpu_milli = 5000,
	                                     .nonzero_memory = 419430400},
	                            .pod = &old,
	                            .hold = &hold,
	                            .pods = 1,
	                            .holds = 1};
	struct pl_buf buf = {.max = 4096};

	T_OK(alloc_print(&alloc, &buf, &rig.err), &rig.err);
	rig.store.revision++;
	rig_set(&rig.store, PL_SPAN_LIT("/alloc/0000/east/n-1"), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static void up(int64_t until_ms)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_priority = -5;
	rig_pod(&rig, 3, "old", "1", "");
	rig_priority = 0;
	rig_pod(&rig, 2, "high", "4", "");
	node_until(until_ms);
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	T_EQ(alloc_0().holds, 1);
}

static void down(void)
{
	T_EQ(rig.malformed, 0);
	rig_close(&rig);
}

static void later(unsigned seconds)
{
	rig.now_ms += (uint64_t)seconds * 1000;
	rig_run_idle(&rig);
}

static struct sched_figures figures(void)
{
	struct sched_figures out;

	sched_figures(rig.sched, &out);
	return out;
}

T_CASE(a_nomination_that_is_not_renewed_ends)
{
	up(rig_wall + WALL_MS + 20000);
	later(79);
	T_EQ(alloc_0().holds, 1);
	later(2);
	T_EQ(alloc_0().holds, 0);
	T_EQ(alloc_0().used.cpu_milli, 1000);
	T_EQ(figures().lapsed, 1);
	down();
}

/* However wrong the writer's clock was. */
T_CASE(a_far_deadline_is_shortened)
{
	up(rig_wall + 86400000);
	later(119);
	T_EQ(alloc_0().holds, 1);
	later(2);
	T_EQ(alloc_0().holds, 0);
	down();

	up(rig_wall - 86400000);
	later(59);
	T_EQ(alloc_0().holds, 1);
	later(2);
	T_EQ(alloc_0().holds, 0);
	down();
}

/* A nomination outlives a clock that is set meanwhile. */
T_CASE(a_clock_change_ends_no_nomination)
{
	up(rig_wall + WALL_MS + 20000);
	later(10);
	rig.wall_off_ms = 86400000;
	later(69);
	T_EQ(alloc_0().holds, 1);
	rig.wall_off_ms = -86400000;
	later(2);
	T_EQ(alloc_0().holds, 0);
	down();
}

T_CASE(a_renewed_nomination_stays)
{
	up(rig_wall + WALL_MS + 20000);
	for (unsigned i = 0; i < 5; i++) {
		later(79);
		T_EQ(alloc_0().holds, 1);
		node_until(rig_wall + (int64_t)rig.now_ms + 20000);
		rig_run_idle(&rig);
	}
	T_EQ(figures().lapsed, 0);
	/* Just when it was to be released. */
	rig.now_ms += 81000;
	rig_run(&rig);
	T_EQ(figures().lapsed, 1);
	T_TRUE(rig.out[0].used || rig.out[1].used);
	node_until(rig_wall + (int64_t)rig.now_ms + 20000);
	rig_run_idle(&rig);
	T_EQ(alloc_0().holds, 1);
	T_EQ(alloc_0().generation, 7);
	later(79);
	T_EQ(alloc_0().holds, 1);
	later(2);
	T_EQ(alloc_0().holds, 0);
	down();
}

/* The pod's next owner renews its nomination; the node's next owner gives it time
 * again. */
T_CASE(an_owned_waiting_pod_keeps_its_nomination)
{
	up(rig_wall - 1000);
	rig_own(&rig, 2);
	rig_run_idle(&rig);
	T_TRUE(alloc_0().hold[0].until_ms ==
	       rig_wall + (int64_t)rig.now_ms + RESERVATION_MS);
	for (unsigned i = 0; i < 100; i++) {
		later(7);
		T_EQ(alloc_0().holds, 1);
		T_TRUE(alloc_0().hold[0].until_ms > rig_wall + (int64_t)rig.now_ms);
	}
	T_TRUE(figures().renewed > 10 && figures().renewed < 25);
	rig_lost(&rig, 2);
	later(80);
	rig_lost(&rig, 0);
	later(1000);
	T_EQ(alloc_0().holds, 1);
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	later(59);
	T_EQ(alloc_0().holds, 1);
	later(2);
	T_EQ(alloc_0().holds, 0);
	down();
}

/* The owner does not renew for a malformed pod. */
T_CASE(a_malformed_pod_loses_its_nomination)
{
	up(rig_wall - 1000);
	rig_own(&rig, 2);
	rig_run_idle(&rig);
	rig_put(&rig, "/schedules/0002/web/high/spec", "{");
	rig_run_idle(&rig);
	later(119);
	T_EQ(alloc_0().holds, 1);
	later(2);
	T_EQ(alloc_0().holds, 0);
	T_TRUE(rig.malformed > 0);
	rig_close(&rig);
}

/* -- two shards -------------------------------------------------------------- */

/* The first shard owns the node and the pods there, the second one the pod that wants
 * room. */
enum { NODE_OWNER, POD_OWNER };

static uint32_t node_by_key, pod_at;

static void open_two(void)
{
	static const char *const names[] = {"a", "b"};

	node_by_key = partition_of_name("n-1");
	pod_at = (node_by_key + 1) % RIG_PARTITIONS;
	rig_open(&rig, NULL);
	sched_free(rig.sched);
	for (unsigned i = 0; i < 2; i++) {
		const struct sched_opts opts = {
			.shard = names[i], .partitions = RIG_PARTITIONS, .seed = i};

		rig.sched = NULL;
		T_OK(sched_new(&opts, &rig.sched, &rig.err), &rig.err);
		memcpy(part[i], (uint8_t *)&rig + PART_AT, PART_SIZE);
	}
	now_is = 1;
	rig_node(&rig, node_by_key, "n-1", "4");
	rig_own(&rig, pod_at);
	select_shard(NODE_OWNER);
	rig_own(&rig, node_by_key);
	rig_pod(&rig, node_by_key, "low-0", "2", "");
	rig_pod(&rig, node_by_key, "low-1", "2", "");
}

static void two_later(unsigned shards, unsigned seconds)
{
	rig.now_ms += (uint64_t)seconds * 1000;
	for (unsigned i = 0; i < 2 * shards; i++) {
		select_shard(i % 2 == 0 ? NODE_OWNER : POD_OWNER);
		if (i % 2 < shards)
			rig_run_idle(&rig);
	}
}

static struct alloc alloc_of_two(void)
{
	struct alloc alloc = rig_alloc(&rig, node_by_key, "n-1");

	T_TRUE(alloc.holds <= 1 && alloc.pods <= 2);
	T_TRUE(alloc.used.cpu_milli <= 8000);
	return alloc;
}

static void gone(const char *name)
{
	struct pod_state state;
	struct pl_buf buf = {.max = 4096};
	char key[128];
	int phase;

	state = rig_state(&rig, node_by_key, name, &phase);
	T_EQ(phase, STATE_TERMINATING);
	state.ended = STATE_ENDED_GONE;
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/state", node_by_key,
	               name);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(key), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

T_CASE(a_remote_nomination_stays_while_its_pod_waits)
{
	int phase;

	open_two();
	two_later(2, 1);
	T_EQ(alloc_of_two().pods, 2);
	rig_priority = 9;
	rig_pod(&rig, pod_at, "high", "4", "");
	rig_priority = 0;
	for (unsigned i = 0; i < 60 && alloc_of_two().holds == 0; i++)
		two_later(2, 1);
	for (unsigned i = 0; i < 100; i++) {
		remote_ever += alloc_of_two().holds;
		T_TRUE(alloc_of_two().hold[0].until_ms > rig_wall + (int64_t)rig.now_ms);
		two_later(2, 7);
	}
	T_EQ(remote_ever, 100);
	select_shard(NODE_OWNER);
	T_EQ(figures().lapsed, 0);
	/* The pod's owner stands still, and comes back. */
	two_later(1, 100);
	two_later(1, 30);
	T_EQ(alloc_of_two().holds, 0);
	select_shard(NODE_OWNER);
	T_EQ(figures().lapsed, 1);
	for (unsigned i = 0; i < 60 && alloc_of_two().holds == 0; i++)
		two_later(2, 1);
	T_EQ(alloc_of_two().holds, 1);
	gone("low-0");
	gone("low-1");
	for (unsigned i = 0; i < 30; i++)
		two_later(2, 1);
	(void)rig_state(&rig, pod_at, "high", &phase);
	T_EQ(phase, STATE_BOUND);
	T_EQ(alloc_of_two().holds, 0);
	T_EQ(alloc_of_two().used.cpu_milli, 4000);
	for (unsigned i = 0; i < 2; i++) {
		select_shard(i);
		T_EQ(rig.malformed, 0);
		sched_free(rig.sched);
	}
	free(rig.store.log);
	pl_arena_done(&rig.store.arena);
}
