/*
 * For tests of several cores over one store: random steps of whatever may happen between
 * them.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_SHARDS_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_SHARDS_RIG_H

#include <stddef.h>

#include "shardsched/shard/inner.h"
#include "store/keys/partition.h"
#include "tests/support/shardsched/shard/sched_rig.h"

enum { SHARDS = 3, NODES = 6, CPUS = 4, PODS = NODES * CPUS };

/* Everything of a rig but its store. */
enum { PART_AT = offsetof(struct rig, sched), PART_SIZE = sizeof(struct rig) - PART_AT };

static struct rig rig;
static struct pl_rng rng;
static uint8_t part[SHARDS][PART_SIZE];
static unsigned now_is;
static unsigned owner[RIG_PARTITIONS];
static unsigned wants[SHARDS]; /* users of the fleet view */
static uint64_t remote_ever, conflicts_ever, views_ever, moves_ever, lost_ever;

static inline uint32_t below(uint32_t n)
{
	return (uint32_t)pl_rng_below(&rng, n);
}

/* From here on rig is that shard's. Time and epochs are common to all shards. Namespaces
 * without pods are forgotten at once. */
static inline void select_shard(unsigned shard)
{
	uint64_t now_ms = rig.now_ms;
	int64_t epoch = rig.epoch;

	memcpy(part[now_is], (uint8_t *)&rig + PART_AT, PART_SIZE);
	memcpy((uint8_t *)&rig + PART_AT, part[shard], PART_SIZE);
	rig.now_ms = now_ms;
	rig.epoch = epoch;
	rig.sched->rules.tidy_at = 0;
	now_is = shard;
}

static inline uint32_t partition_of_name(const char *name)
{
	uint32_t local = 0;

	T_OK(partition_of_node(PL_SPAN_LIT("east"), pl_span_str(name), RIG_PARTITIONS,
	                       &local, &rig.err),
	     &rig.err);
	return local;
}

static inline const char *node_name(uint32_t i)
{
	static char text[16];

	(void)snprintf(text, sizeof text, "n-%u", i);
	return text;
}

static inline void open_all(uint64_t seed)
{
	static const char *const names[SHARDS] = {"a", "b", "c"};

	rig_open(&rig, &(struct sched_opts){.seed = seed,
	                                    .inflight = 3,
	                                    .batch_size = 8,
	                                    .ready_classes = (uint32_t)(seed % 3)});
	sched_free(rig.sched);
	for (unsigned i = 0; i < SHARDS; i++) {
		const struct sched_opts opts = {.shard = names[i],
		                                .partitions = RIG_PARTITIONS,
		                                .seed = seed + i,
		                                .inflight = 3,
		                                .reads = (uint32_t)(seed >> 2) % 3,
		                                .batch_size = 8};

		rig.sched = NULL;
		T_OK(sched_new(&opts, &rig.sched, &rig.err), &rig.err);
		sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 64});
		memcpy(part[i], (uint8_t *)&rig + PART_AT, PART_SIZE);
		wants[i] = 0;
	}
	now_is = SHARDS - 1;
	for (uint32_t i = 0; i < NODES; i++)
		rig_node(&rig, partition_of_name(node_name(i)), node_name(i), "4");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++) {
		select_shard(owner[p] = p % SHARDS);
		rig_own(&rig, p);
	}
}

static inline void close_all(void)
{
	for (unsigned i = 0; i < SHARDS; i++) {
		struct sched_figures figures;

		select_shard(i);
		sched_figures(rig.sched, &figures);
		conflicts_ever += figures.conflicts;
		sched_free(rig.sched);
	}
	free(rig.store.log);
	pl_arena_done(&rig.store.arena);
}

/* -- steps ------------------------------------------------------------------------- */

static inline void step_answer(void)
{
	unsigned i = below(RIG_OUT_MAX);

	while (i < RIG_OUT_MAX && !rig.out[i].used)
		i++;
	if (i == RIG_OUT_MAX)
		return;
	switch (below(10)) {
	case 0: /* applied, and the answer is lost */
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

static inline void step_move(void)
{
	uint32_t p = below(RIG_PARTITIONS);
	unsigned to = below(SHARDS);

	select_shard(owner[p]);
	if (pl_rng_chance(&rng, 1, 2))
		sched_quiesce(rig.sched, p);
	rig_lost(&rig, p);
	select_shard(owner[p] = to);
	rig_own(&rig, p);
	moves_ever++;
}

static inline void step_view(void)
{
	if (wants[now_is] > 0 && pl_rng_chance(&rng, 1, 2)) {
		fleet_view_release(rig.sched);
		wants[now_is]--;
	} else if (wants[now_is] < 2) {
		fleet_view_acquire(rig.sched);
		wants[now_is]++;
		views_ever++;
	}
}

static inline void step_remote_list(void)
{
	uint32_t p = below(RIG_PARTITIONS);

	if (!rig.remote_list[p])
		return;
	if (pl_rng_chance(&rng, 4, 5)) {
		rig_remote_list(&rig, p);
		return;
	}
	rig.remote_list[p] = false;
	sched_remote_list_failed(rig.sched, p, &rig_unlisted);
}

static inline void step_events(void)
{
	if (pl_rng_chance(&rng, 1, 3))
		(void)rig_view_deliver(&rig, (enum sched_view)below(SCHED_VIEWS),
		                       below(6));
	else
		(void)rig_deliver(&rig, below(RIG_PARTITIONS),
		                  (enum sched_part)below(SCHED_PARTS), below(6));
}

static inline void shards_step(void)
{
	select_shard(below(SHARDS));
	switch (below(16)) {
	case 0:
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
		step_remote_list();
		break;
	case 6:
	case 7:
	case 8:
		step_events();
		break;
	case 9:
	case 10:
	case 11:
		step_answer();
		break;
	default:
		rig_run(&rig);
	}
}

#endif
