/*
 * The parts of preemption.
 *
 *	preempt.c    who may preempt, which nodes are tried, in which order, and until
 *when potential.c  nodes whose refusal victims could cure room.c       what all pods of
 *lower priority on a node hold, kept between runs asks.c       what the pod asks for, and
 *whether that is free victims.c    one node: who would have to go order.c      who is
 *more important budgets.c    whom a disruption budget protects choose.c     which node is
 *the best
 *
 * A run at 5,000 full nodes looks at each node that could do, and at each pod on 500 of
 * them. So a node costs a look at a row that says how much lifting can give at most;
 * where nothing but amounts stands in the way (the usual case) victims are found by
 * adding up, and only else by lifting and asking all plugins.
 */
#ifndef SHARDSCHED_PREEMPT_INNER_H
#define SHARDSCHED_PREEMPT_INNER_H

#include "shardsched/preempt/asks.h"
#include "shardsched/preempt/budgets.h"
#include "shardsched/preempt/preempt.h"
#include "shardsched/preempt/scratch.h"

/* Of all nodes, for one priority. */
struct rooms {
	int32_t below;
	uint64_t used;        /* the run that asked last; 0: never */
	uint64_t changes;     /* of the snapshot, up to which it is known */
	struct scratch known; /* uint64_t: bits of slots */
	struct scratch room;  /* struct room */
};

enum { ROOMS = 2 };

/* A pod that may have to go. */
struct victim {
	int64_t started_ms; /* INT64_MAX: not said, so it is the youngest */
	int32_t priority;
	uint32_t placed;
	bool protected; /* a budget is overdrawn when it goes */
};

/* A node that is to be tried. */
struct look {
	uint32_t slot;
	uint32_t next;         /* pod of its chain */
	uint32_t first, count; /* its pods of lower priority, in victims */
	bool hopeless;         /* it has none, or not enough of them */
};

enum { LOOKS = 16 };

struct preempt {
	struct cycle *cycle; /* of this run */
	struct snapshot *snapshot;
	uint64_t run;
	struct asks asks;
	int32_t priority;
	int fit;       /* the plugin that filters by amounts; -1: there is none */
	bool only_fit; /* no other one could refuse a node that it refused first */
	bool keep_all;
	bool never_adds; /* for tests: plugins are asked, whatever could be added up */
	bool no_memory;
	uint64_t refused_by; /* plugins that nodes have against the pod, all lifted */
	const struct snapshot *only; /* whose rooms are kept */
	struct rooms rooms[ROOMS];
	struct rooms *room; /* for this priority */
	struct budgets budgets;
	struct scratch words; /* uint64_t: three sets of slots */
	struct pl_bitset potential;
	struct pl_bitset by_fit; /* first refused by NodeResourcesFit */
	struct pl_bitset mixed;
	struct look look[LOOKS];
	uint32_t looks;
	struct scratch victims;      /* struct victim, of the nodes that are looked at */
	struct scratch sorted;       /* the same, while they are sorted */
	struct scratch given_up;     /* uint32_t: victims of candidates */
	struct scratch candidates;   /* struct preempt_candidate */
	struct scratch ranks;        /* struct candidate_rank, of each */
	struct scratch tied;         /* uint32_t */
	uint32_t found, found_clean; /* candidates; those that overdraw no budget */
	uint32_t given_up_count;
	uint32_t candidates_count;
};

/* -- potential.c -------------------------------------------------------------------- */

/* Fills potential and by_fit. How many there are. */
uint32_t potential_find(struct preempt *preempt, const struct outcome *last);

/* -- look.c -------------------------------------------------------------------------- */

/* Fills look with the next nodes of potential, from slot on and round, at most so many,
 * and finds their pods. Gives the slot behind them. */
size_t look_ahead(struct preempt *preempt, size_t slot, uint32_t most);

/* -- room.c -------------------------------------------------------------------------- */

/* Before a run. false: no memory. */
PL_NODISCARD bool rooms_ready(struct preempt *preempt);
void rooms_done(struct preempt *preempt);
const struct room *room_of(struct preempt *preempt, uint32_t slot);
/* NULL: one would have to count. */
const struct room *room_known(const struct preempt *preempt, uint32_t slot);

/* Even without those whose priority is lower there is too little on a node. */
static inline void refused_by_fit(struct preempt *preempt)
{
	if (preempt->fit >= 0)
		preempt->refused_by |= UINT64_C(1) << preempt->fit;
}

/* -- victims.c, order.c ----------------------------------------------------------------
 */

/* The node becomes a candidate when there are victims that help. */
void victims_find(struct preempt *preempt, const struct look *look);
/* The most important first. */
void victims_sort(struct preempt *preempt, struct victim *victim, uint32_t count);

/* -- choose.c ------------------------------------------------------------------------ */

/* By what candidates are compared: less is better. */
struct candidate_rank {
	uint64_t priorities; /* their sum, each made positive */
	int64_t oldest_ms;   /* start of the oldest of the highest: here more is better */
	uint32_t violations;
	uint32_t count;
	int32_t highest; /* of the first victim */
};

/* Its victims are the last of given_up. false: no memory. */
PL_NODISCARD bool candidate_add(struct preempt *preempt,
                                const struct preempt_candidate *candidate);
void candidates_choose(struct preempt *preempt, struct preempt_outcome *out);

#endif
