/*
 * Several shards over one store, in random histories: pods that only fit on others'
 * nodes, answers that are lost, partitions that change hands, views that are held and let
 * go. After each step no node holds more than it has and no pod is on two; in the end
 * every pod that fits anywhere is bound.
 */
#include <stddef.h>

#include "shardsched/shard/inner.h"
#include "shardsched/shard/sched_rig.h"
#include "store/keys/partition.h"

enum { SHARDS = 3, NODES = 6, CPUS = 4, PODS = NODES * CPUS, STEPS = 1500 };

/* All of a rig but its store. */
enum { PART_AT = offsetof(struct rig, sched), PART_SIZE = sizeof(struct rig) - PART_AT };

static struct rig rig;
static struct pl_rng rng;
static uint8_t part[SHARDS][PART_SIZE];
static unsigned now_is;
static unsigned owner[RIG_PARTITIONS];
static unsigned wants[SHARDS]; /* of the view */
static uint64_t abroad_ever, conflicts_ever, views_ever, moves_ever, lost_ever;

static uint32_t below(uint32_t n)
{
	return (uint32_t)pl_rng_below(&rng, n);
}

/* From here on rig is that shard's. Time and epochs are everybody's. */
static void be(unsigned shard)
{
	uint64_t now_ms = rig.now_ms;
	int64_t epoch = rig.epoch;

	memcpy(part[now_is], (uint8_t *)&rig + PART_AT, PART_SIZE);
	memcpy((uint8_t *)&rig + PART_AT, part[shard], PART_SIZE);
	rig.now_ms = now_ms;
	rig.epoch = epoch;
	now_is = shard;
}

static uint32_t home_of_node(const char *name)
{
	uint32_t home = 0;

	T_OK(partition_of_node(PL_SPAN_LIT("east"), pl_span_str(name), RIG_PARTITIONS,
	                       &home, &rig.err),
	     &rig.err);
	return home;
}

static const char *node_name(uint32_t i)
{
	static char text[16];

	(void)snprintf(text, sizeof text, "n-%u", i);
	return text;
}

static void open_all(uint64_t seed)
{
	static const char *const names[SHARDS] = {"a", "b", "c"};

	rig_open(&rig, &(struct sched_opts){.seed = seed, .inflight = 3, .batch = 8});
	sched_free(rig.sched);
	for (unsigned i = 0; i < SHARDS; i++) {
		const struct sched_opts opts = {.shard = names[i],
		                                .partitions = RIG_PARTITIONS,
		                                .seed = seed + i,
		                                .inflight = 3,
		                                .batch = 8};

		rig.sched = NULL;
		T_OK(sched_new(&opts, &rig.sched, &rig.err), &rig.err);
		sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 64});
		memcpy(part[i], (uint8_t *)&rig + PART_AT, PART_SIZE);
		wants[i] = 0;
	}
	now_is = SHARDS - 1;
	for (uint32_t i = 0; i < NODES; i++)
		rig_node(&rig, home_of_node(node_name(i)), node_name(i), "4");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++) {
		be(owner[p] = p % SHARDS);
		rig_own(&rig, p);
	}
}

static void close_all(void)
{
	for (unsigned i = 0; i < SHARDS; i++) {
		struct sched_figures figures;

		be(i);
		sched_figures(rig.sched, &figures);
		conflicts_ever += figures.conflicts;
		sched_free(rig.sched);
	}
	free(rig.store.log);
	pl_arena_done(&rig.store.arena);
}

/* -- what must always be so ---------------------------------------------------- */

static uint32_t pods_on(uint32_t node)
{
	const char *name = node_name(node);

	return rig_alloc(&rig, home_of_node(name), name).pods;
}

static void check_store(void)
{
	unsigned seen[PODS] = {0};

	for (uint32_t n = 0; n < NODES; n++) {
		char name[16];
		struct alloc alloc;

		(void)snprintf(name, sizeof name, "%s", node_name(n));
		alloc = rig_alloc(&rig, home_of_node(name), name);
		T_TRUE(alloc.used.cpu_milli <= CPUS * 1000);
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

/* -- steps --------------------------------------------------------------------- */

static void step_answer(void)
{
	unsigned i = below(RIG_OUT_MAX);

	while (i < RIG_OUT_MAX && !rig.out[i].used)
		i++;
	if (i == RIG_OUT_MAX)
		return;
	switch (below(10)) {
	case 0: /* applied, and nobody heard of it */
		(void)rig_exec(&rig.store, &rig.out[i].req.txn);
		rig_fail(&rig, i, PL_UNKNOWN);
		lost_ever++;
		break;
	case 1:
		rig_fail(&rig, i, pl_rng_chance(&rng, 1, 2) ? PL_UNKNOWN : PL_BUSY);
		break;
	default:
		(void)rig_answer(&rig, i);
	}
}

static void step_move(void)
{
	uint32_t p = below(RIG_PARTITIONS);
	unsigned to = below(SHARDS);

	be(owner[p]);
	if (pl_rng_chance(&rng, 1, 2))
		sched_quiesce(rig.sched, p);
	rig_lost(&rig, p);
	be(owner[p] = to);
	rig_own(&rig, p);
	moves_ever++;
}

static void step_view(void)
{
	if (wants[now_is] > 0 && pl_rng_chance(&rng, 1, 2)) {
		view_release(rig.sched);
		wants[now_is]--;
	} else if (wants[now_is] < 2) {
		view_want(rig.sched);
		wants[now_is]++;
		views_ever++;
	}
}

static void step_visit(void)
{
	uint32_t p = below(RIG_PARTITIONS);

	if (!rig.visit[p])
		return;
	if (pl_rng_chance(&rng, 4, 5)) {
		rig_visit(&rig, p);
		return;
	}
	rig.visit[p] = false;
	sched_visit_end(rig.sched, p, 0);
}

static void step_news(void)
{
	if (pl_rng_chance(&rng, 1, 3))
		(void)rig_view_deliver(&rig, (enum sched_view)below(SCHED_VIEWS),
		                       below(6));
	else
		(void)rig_deliver(&rig, below(RIG_PARTITIONS),
		                  (enum sched_part)below(SCHED_PARTS), below(6));
}

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
	be(below(SHARDS));
	switch (below(16)) {
	case 0:
		submit(pods);
		break;
	case 1:
		rig.now_ms += below(400);
		break;
	case 2:
		if (pl_rng_chance(&rng, 1, 12))
			step_move();
		break;
	case 3:
		if (pl_rng_chance(&rng, 1, 8))
			step_view();
		break;
	case 4:
	case 5:
		rig_views(&rig);
		step_visit();
		break;
	case 6:
	case 7:
	case 8:
		step_news();
		break;
	case 9:
	case 10:
	case 11:
		step_answer();
		break;
	default:
		rig_run(&rig);
	}
	check_store();
}

/* -- the end ------------------------------------------------------------------- */

static uint32_t bound(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < NODES; i++)
		count += pods_on(i);
	return count;
}

static void count_abroad(void)
{
	for (uint32_t n = 0; n < NODES; n++) {
		uint32_t p = home_of_node(node_name(n));
		struct alloc alloc = rig_alloc(&rig, p, node_name(n));

		for (uint32_t i = 0; i < alloc.pods; i++)
			abroad_ever += owner[alloc.pod[i].partition] != owner[p];
	}
}

static void calm_down(void)
{
	for (unsigned i = 0; i < 2000 && bound() < PODS; i++) {
		for (unsigned n = 0; n < SHARDS; n++) {
			be(n);
			rig_settle(&rig);
			check_store();
		}
		rig.now_ms += 250;
	}
	T_EQ(bound(), PODS);
	count_abroad();
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
	printf("%" PRIu64 " abroad, %" PRIu64 " conflicts, %" PRIu64 " views, %" PRIu64
	       " moves, %" PRIu64 " answers lost\n",
	       abroad_ever, conflicts_ever, views_ever, moves_ever, lost_ever);
	T_TRUE(abroad_ever > 24 && conflicts_ever > 24);
	T_TRUE(views_ever > 24 && moves_ever > 24 && lost_ever > 24);
}
