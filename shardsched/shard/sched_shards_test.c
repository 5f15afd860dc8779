/*
 * Several shards over one store, in random histories: pods that fit only on others'
 * nodes, answers that are lost, partitions that change hands, fleet views that come and
 * go. After each step no node holds more than it has and no pod is on two; in the end
 * every pod that fits anywhere is bound.
 */
#include "tests/support/shardsched/shard/shards_rig.h"

enum { STEPS = 1500 };

/* -- invariants -------------------------------------------------------------------- */

static uint32_t pods_on(uint32_t node)
{
	const char *name = node_name(node);

	return rig_alloc(&rig, partition_of_name(name), name).pods;
}

static void check_store(void)
{
	unsigned seen[PODS] = {0};

	for (uint32_t n = 0; n < NODES; n++) {
		char name[16];
		struct alloc alloc;

		(void)snprintf(name, sizeof name, "%s", node_name(n));
		alloc = rig_alloc(&rig, partition_of_name(name), name);
		T_TRUE(alloc.used.cpu_milli <= (int64_t)CPUS * 1000);
		T_EQ(alloc.used.cpu_milli, (int64_t)alloc.pods * 1000);
		for (uint32_t i = 0; i < alloc.pods; i++) {
			uint32_t pod = (uint32_t)strtoul(
				(const char *)alloc.pod[i].name.at + 2, NULL, 10);
			char pod_name[16];
			struct pod_state state;
			int phase;

			T_TRUE(pod < PODS && seen[pod]++ == 0);
			(void)snprintf(pod_name, sizeof pod_name, "p-%u", pod);
			state = rig_state(&rig, alloc.pod[i].partition, pod_name, &phase);
			T_EQ(phase, STATE_BOUND);
			T_TRUE(pl_span_eq(state.node, pl_span_str(name)));
		}
	}
}

/* -- steps ------------------------------------------------------------------------- */

static void submit(uint32_t *pods)
{
	char name[16];

	if (*pods == PODS)
		return;
	(void)snprintf(name, sizeof name, "p-%u", *pods);
	rig_pod(&rig, below(RIG_PARTITIONS), name, "1", "");
	++*pods;
}

static void step(uint32_t *pods)
{
	if (below(16) == 0) {
		select_shard(below(SHARDS));
		submit(pods);
	} else {
		shards_step();
	}
	check_store();
}

/* -- the end ----------------------------------------------------------------------- */

static uint32_t bound(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < NODES; i++)
		count += pods_on(i);
	return count;
}

static void count_remote(void)
{
	for (uint32_t n = 0; n < NODES; n++) {
		uint32_t p = partition_of_name(node_name(n));
		struct alloc alloc = rig_alloc(&rig, p, node_name(n));

		for (uint32_t i = 0; i < alloc.pods; i++)
			remote_ever += owner[alloc.pod[i].partition] != owner[p];
	}
}

static void calm_down(void)
{
	for (unsigned i = 0; i < 2000 && bound() < PODS; i++) {
		for (unsigned n = 0; n < SHARDS; n++) {
			select_shard(n);
			rig_run_idle(&rig);
			check_store();
		}
		rig.now_ms += 250;
	}
	T_EQ(bound(), PODS);
	count_remote();
}

T_CASE_SECONDS(shards_fill_each_others_nodes, 200)
{
	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < 24; i++) {
		uint32_t pods = 0;

		open_all(t_seed() + i);
		for (unsigned n = 0; n < STEPS; n++)
			step(&pods);
		while (pods < PODS)
			submit(&pods);
		calm_down();
		close_all();
	}
	printf("%" PRIu64 " remote, %" PRIu64 " conflicts, %" PRIu64 " views, %" PRIu64
	       " moves, %" PRIu64 " answers lost\n",
	       remote_ever, conflicts_ever, views_ever, moves_ever, lost_ever);
	T_REACHED(remote_ever > 24 && conflicts_ever > 24);
	T_REACHED(views_ever > 24 && moves_ever > 24 && lost_ever > 24);
}
