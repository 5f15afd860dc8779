/*
 * Several shards over one store that preempt on each other's nodes, in random histories:
 * pods of different sizes and priorities that come and go, members that end terminating
 * pods, lost answers, partitions that change hands. After each step the pods of a node
 * never take more than it has, nor do all that are nominated there once the leaving pods
 * have left. In the end no pod waits while less important ones are in the way, and no pod
 * was evicted for nothing.
 */
#include "tests/support/shardsched/shard/shards_rig.h"

enum { STEPS = 2500, WORLDS = 24, ALL = 40, PRIORITIES = 4 };

static uint64_t terminated_ever, nominated_ever;

/* -- pods -------------------------------------------------------------------- */

struct random_node {
	uint32_t partition, cpus;
	int priority;
	bool there;
};

static struct random_node its[ALL];

static const char *pod_name(uint32_t i)
{
	static char text[16];

	(void)snprintf(text, sizeof text, "p-%u", i);
	return text;
}

static uint32_t number_of(struct pl_span name)
{
	uint32_t pod = (uint32_t)strtoul((const char *)name.at + 2, NULL, 10);

	T_TRUE(pod < ALL);
	return pod;
}

static void submit(uint32_t i)
{
	char cpu[8];

	if (its[i].there)
		return;
	its[i] = (struct random_node){below(RIG_PARTITIONS), 1 + below(3),
	                              (int)below(PRIORITIES), true};
	rig_priority = its[i].priority;
	(void)snprintf(cpu, sizeof cpu, "%u", its[i].cpus);
	rig_pod(&rig, its[i].partition, pod_name(i), cpu, "");
	rig_priority = 0;
}

static struct pod_state state_of(uint32_t i, int *phase)
{
	return rig_state(&rig, its[i].partition, pod_name(i), phase);
}

/* The pod's member says that it does not run any more. */
static void end(uint32_t i)
{
	struct pl_buf buf = {.max = 4096};
	struct pod_state state;
	char key[128];
	int phase;

	state = state_of(i, &phase);
	if (!its[i].there || phase != STATE_TERMINATING || state.ended != STATE_ENDED_NOT)
		return;
	state.ended = STATE_ENDED_GONE;
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/state", its[i].partition,
	               pod_name(i));
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(key), pl_buf_span(&buf));
	pl_buf_done(&buf);
	terminated_ever++;
}

/* -- invariants -------------------------------------------------------------- */

struct random_sums {
	int64_t pods, leaving, holds;
};

static struct random_sums sums_of(const struct alloc *alloc, const char *node)
{
	struct random_sums sums = {0};

	for (uint32_t i = 0; i < alloc->pods; i++) {
		uint32_t pod = number_of(alloc->pod[i].name);
		struct pod_state state;
		int phase;

		sums.pods += its[pod].cpus;
		sums.leaving += alloc->pod[i].leaving ? its[pod].cpus : 0;
		state = state_of(pod, &phase);
		T_EQ(phase, alloc->pod[i].leaving ? STATE_TERMINATING : STATE_BOUND);
		T_TRUE(pl_span_eq(state.node, pl_span_str(node)));
	}
	for (uint32_t i = 0; i < alloc->holds; i++) {
		T_EQ(alloc->hold[i].kind, ALLOC_RESERVATION_NOMINATED);
		sums.holds += alloc->hold[i].used.cpu_milli / 1000;
	}
	nominated_ever += alloc->holds;
	return sums;
}

/* Whether any node has a reservation. */
static bool check_store(void)
{
	bool held = false;

	for (uint32_t n = 0; n < NODES; n++) {
		struct alloc alloc;
		struct random_sums sums;
		char name[16];

		(void)snprintf(name, sizeof name, "%s", node_name(n));
		alloc = rig_alloc(&rig, partition_of_name(name), name);
		sums = sums_of(&alloc, name);
		T_EQ(alloc.used.cpu_milli, (sums.pods + sums.holds) * 1000);
		T_TRUE(sums.pods <= CPUS);
		T_TRUE(sums.pods - sums.leaving + sums.holds <= CPUS);
		held = held || alloc.holds > 0;
	}
	return held;
}

static void step(void)
{
	static bool held;

	switch (below(24)) {
	case 0:
	case 1:
		submit(below(ALL));
		break;
	case 2:
	case 3:
		end(below(ALL));
		break;
	case 4: /* reservations have to be renewed, or are lost */
		if (pl_rng_chance(&rng, 1, 20))
			rig.now_ms += 20000 + below(120000);
		else if (held && pl_rng_chance(&rng, 1, 2)) /* the renewal is only due */
			rig.now_ms += 30000 + below(20000);
		break;
	default:
		shards_step();
	}
	held = check_store();
}

/* -- the end ----------------------------------------------------------------- */

/* The cpu that pods of that priority or a higher one take of a node. */
static int64_t taken_by(const struct alloc *alloc, int priority)
{
	int64_t cpus = 0;

	for (uint32_t i = 0; i < alloc->pods; i++) {
		uint32_t pod = number_of(alloc->pod[i].name);

		cpus += its[pod].priority >= priority ? its[pod].cpus : 0;
	}
	return cpus;
}

static bool could_be(uint32_t i)
{
	for (uint32_t n = 0; n < NODES; n++) {
		struct alloc alloc =
			rig_alloc(&rig, partition_of_name(node_name(n)), node_name(n));

		if (taken_by(&alloc, its[i].priority) + its[i].cpus <= CPUS)
			return true;
	}
	return false;
}

static bool is_calm(void)
{
	for (uint32_t i = 0; i < ALL; i++) {
		int phase;

		(void)state_of(i, &phase);
		if (its[i].there && phase != STATE_BOUND &&
		    (phase != STATE_PENDING || could_be(i)))
			return false;
	}
	return true;
}

/* Pods on nodes of other shards. */
static void count_remote(void)
{
	for (uint32_t n = 0; n < NODES; n++) {
		uint32_t p = partition_of_name(node_name(n));
		struct alloc alloc = rig_alloc(&rig, p, node_name(n));

		for (uint32_t i = 0; i < alloc.pods; i++)
			remote_ever += owner[alloc.pod[i].partition] != owner[p];
	}
}

static void all_go_on(void)
{
	for (unsigned n = 0; n < SHARDS; n++) {
		select_shard(n);
		rig_run_idle(&rig);
		(void)check_store();
	}
	for (uint32_t pod = 0; pod < ALL; pod++)
		end(pod);
	rig.now_ms += 250;
}

static void calm_down(void)
{
	bool calm = false;

	for (unsigned i = 0; i < 2000 && !calm; i++) {
		all_go_on();
		calm = is_calm();
	}
	T_TRUE(calm);
	/* The other shards hear what the last one did, and act on it; three seconds are
	 * enough for what that causes. */
	for (unsigned i = 0; i < 12; i++) {
		all_go_on();
		T_TRUE(is_calm());
	}
	for (uint32_t i = 0; i < ALL; i++) {
		int phase;

		T_EQ(state_of(i, &phase).nominated_node.len, 0);
	}
	count_remote();
	for (uint32_t n = 0; n < NODES; n++)
		T_EQ(rig_alloc(&rig, partition_of_name(node_name(n)), node_name(n)).holds,
		     0);
}

T_CASE_SECONDS(shards_preempt_on_each_others_nodes, 200)
{
	uint64_t preempted = 0, renewed = 0, lapsed = 0;

	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < WORLDS; i++) {
		memset(its, 0, sizeof its);
		open_all(t_seed() + i);
		for (unsigned n = 0; n < STEPS; n++)
			step();
		calm_down();
		for (unsigned n = 0; n < SHARDS; n++) {
			struct sched_figures figures;

			select_shard(n);
			sched_figures(rig.sched, &figures);
			preempted += figures.preempted;
			renewed += figures.renewed;
			lapsed += figures.lapsed;
		}
		close_all();
	}
	printf("%" PRIu64 " made room, %" PRIu64 " ended, %" PRIu64 " remote, %" PRIu64
	       " conflicts, %" PRIu64 " views, %" PRIu64 " moves, %" PRIu64
	       " answers lost, %" PRIu64 " renewed, %" PRIu64 " lapsed\n",
	       preempted, terminated_ever, remote_ever, conflicts_ever, views_ever,
	       moves_ever, lost_ever, renewed, lapsed);
	T_REACHED(renewed > WORLDS && lapsed > 0);
	T_REACHED(preempted > WORLDS && terminated_ever > WORLDS &&
	          nominated_ever > WORLDS);
	T_REACHED(remote_ever > WORLDS && conflicts_ever > WORLDS && views_ever > WORLDS);
	T_REACHED(moves_ever > WORLDS && lost_ever > WORLDS);
}
