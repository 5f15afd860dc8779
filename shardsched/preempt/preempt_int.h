/*
 * The parts of preemption.
 *
 *	preempt.c    who may preempt, which nodes are tried, in which order, until when
 *	potential.c  nodes whose refusal victims could cure
 *	look.c       the next nodes to be tried; whose order is not known is put in order
 *	order.c      who is more important
 *	lineup.c     the pods of a node in that order, kept between runs
 *	merits.c     how good a candidate each node was for the last class of pods
 *	room.c       what all pods of lower priority on a node hold, kept between runs
 *	asks.c       what the pod asks for, and whether that is free
 *	budgets.c    whom a disruption budget protects
 *	victims.c    one node: who would have to go
 *	adding.c     the same by adding up
 *	choose.c     which node is the best
 *
 * A run at 5,000 full nodes looks at each node that could do, and at each pod on 500 of
 * them, or on all when none goes without overdrawing a budget. So a node costs a look at
 * a row that says how much lifting can give at most; then its pods are read in an order
 * that was found out before. Where nothing but amounts stands in the way (the usual case)
 * victims are found by adding up, and only else by lifting and asking all plugins.
 */
#ifndef SHARDSCHED_PREEMPT_PREEMPT_INT_H
#define SHARDSCHED_PREEMPT_PREEMPT_INT_H

#include "shardsched/framework/resource_request.h"
#include "shardsched/preempt/budgets.h"
#include "shardsched/preempt/preempt.h"
#include "shardsched/preempt/scratch.h"

/* Of all nodes, for one priority. */
struct reclaimable {
	int32_t below;
	uint64_t used;        /* the run that asked last; 0: never */
	uint64_t changes;     /* of the snapshot, up to which it is known */
	struct scratch known; /* uint64_t: bits of slots */
	struct scratch sum;   /* struct room */
};

enum { RECLAIMABLE_SETS = 2 };

/* A pod that may have to go. */
struct victim {
	int64_t started_ms; /* INT64_MAX: not said, so it is the youngest */
	const struct spec *spec;
	int32_t priority;
	uint32_t placed;
};

/* What is kept of each pod. X(type, name) */
#define POD_RANKING_COLUMNS_MAP(X) \
	X(int64_t, cpu_milli)      \
	X(int64_t, memory)         \
	X(int64_t, storage)        \
	X(int32_t, priority)       \
	X(uint32_t, placed)        \
	X(uint32_t, spec) /* its number */

/* Where the pods of a node stand, the most important first. */
struct pod_ranking {
	uint32_t first, count, cap;
};

enum { POD_RANKINGS_MAX = 1 << 21 };

struct pod_rankings {
	uint64_t changes;     /* of the snapshot, up to which they are known */
	struct scratch known; /* uint64_t: bits of slots */
	struct scratch of;    /* struct lineup, by slot */
	uint32_t used, most;  /* pods; most: with more, all are forgotten */
#define POD_RANKING_COLUMN(type, name) struct scratch name;
	POD_RANKING_COLUMNS_MAP(POD_RANKING_COLUMN)
};

/* The less important pods of a node. */
struct ranking_part {
	uint32_t count;
#define POD_RANKING_POINTER(type, name) const type *name;
	POD_RANKING_COLUMNS_MAP(POD_RANKING_POINTER)
};

/* What candidates depend on beside their node, where adding up is enough. */
struct candidate_key {
	int64_t cpu_milli, memory, storage; /* asked for */
	uint64_t budgets;                   /* their epoch */
	int32_t priority;
};

struct candidate_cache {
	struct candidate_key key;
	uint64_t changes;     /* of the snapshot, up to which they are known */
	struct scratch known; /* uint64_t: bits of slots */
	struct scratch rank;  /* struct candidate_rank, by slot */
};

/* What is known of a node before it is tried. */
enum scan_state {
	SCAN_RANKED,   /* the order of its pods is known */
	SCAN_UNRANKED, /* its pods are read, to be ranked */
	SCAN_HOPELESS, /* no pod of it may go, or all of them would not be enough */
};

/* A node that is to be tried. */
struct node_scan {
	uint32_t slot;
	uint32_t next;         /* pod of its chain */
	uint32_t first, count; /* its pods, in victims: when they are put in order */
	enum scan_state state;
};

enum { SCANS_MAX = 16 };

struct preempt {
	struct cycle *cycle; /* of this run */
	struct snapshot *snapshot;
	uint64_t run;
	struct resource_request request;
	int32_t priority;
	int fit;       /* the plugin that filters by amounts; -1: there is none */
	bool only_fit; /* no other one could refuse a node that it refused first */
	bool keep_all;
	bool never_sums; /* for tests: plugins are asked, whatever could be added up */
	bool no_memory;
	uint64_t refused_by; /* plugins that nodes have against the pod, all lifted */
	const struct snapshot *only; /* whose rooms are kept */
	struct reclaimable reclaimable[RECLAIMABLE_SETS];
	struct reclaimable *sum; /* for this priority */
	struct budgets budgets;
	struct scratch words; /* uint64_t: three sets of slots */
	struct pl_bitset potential;
	struct pl_bitset by_fit; /* first refused by NodeResourcesFit */
	struct pl_bitset mixed;
	struct node_scan scan[SCANS_MAX];
	uint32_t scans;
	struct pod_rankings rankings;
	struct candidate_cache candidate_cache;
	struct scratch victims; /* struct victim, of nodes that are put in order */
	struct scratch sorted;  /* the same, in order */
	struct scratch keys;    /* what they are sorted by */
	struct scratch order; /* uint32_t: who comes back first; indexes of the lineup */
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
uint32_t potential_find(struct preempt *preempt, const struct cycle_outcome *last);

/* -- look.c -------------------------------------------------------------------------- */

/* Fills look with the next nodes of potential, from slot on and round, at most so many,
 * whose lineups are known then. Gives the slot behind them. */
size_t scan_ahead(struct preempt *preempt, size_t slot, uint32_t most);

/* -- room.c -------------------------------------------------------------------------- */

/* Before a run. false: no memory. */
PL_NODISCARD bool reclaimable_ready(struct preempt *preempt);
void reclaimable_done(struct preempt *preempt);
/* part: its pods of lower priority. */
const struct request_sum *reclaimable_on(struct preempt *preempt, uint32_t slot,
                                         const struct ranking_part *part);
/* NULL: one would have to count. */
const struct request_sum *reclaimable_known(const struct preempt *preempt, uint32_t slot);

/* Even without those whose priority is lower there is too little on a node. */
static inline void note_refused_by_fit(struct preempt *preempt)
{
	if (preempt->fit >= 0)
		preempt->refused_by |= UINT64_C(1) << preempt->fit;
}

/* -- lineup.c ------------------------------------------------------------------------ */

void pod_rankings_done(struct pod_rankings *rankings);
/* Before a run. false: no memory. */
PL_NODISCARD bool pod_rankings_ready(struct preempt *preempt);
bool pod_ranking_known(const struct pod_rankings *rankings, uint32_t slot);
/* For the nodes of look that are not hopeless; others may be forgotten. false: no memory.
 */
PL_NODISCARD bool pod_rankings_place(struct preempt *preempt);
/* In order, as many as the node has. */
void pod_ranking_fill(struct pod_rankings *rankings, uint32_t slot,
                      const struct victim *pod, uint32_t count);
/* Of one that is known: it is going to be read. */
void pod_ranking_prefetch(const struct pod_rankings *rankings, uint32_t slot);
/* Likewise. */
struct ranking_part pod_ranking_below(const struct pod_rankings *rankings, uint32_t slot,
                                      int32_t below);

/* -- victims.c, adding.c, order.c ------------------------------------------------------
 */

/* On this node adding up is enough. */
bool victims_sums_suffice(const struct preempt *preempt, uint32_t slot);
/* The node becomes a candidate when there are victims that help. */
void victims_find(struct preempt *preempt, uint32_t slot);
/* The same where adding up is enough, and no scalars are asked for: free is what there is
 * without the pods of the part, enough. order and given_up have room. */
void victims_find_by_sum(struct preempt *preempt, uint32_t slot,
                         const struct ranking_part *part,
                         const struct free_amounts *free);
/* How many of them a budget protects: order begins with these, behind them the others.
 * 0: order is as before. */
uint32_t split_protected(struct preempt *preempt, const struct ranking_part *part);
/* Before up to so many are sorted. false: no memory. */
PL_NODISCARD bool victims_sort_ready(struct preempt *preempt, uint32_t most);
/* The most important first: elsewhere, until the next are sorted. */
const struct victim *victims_sort(struct preempt *preempt, struct victim *victim,
                                  uint32_t count);

/* -- choose.c ------------------------------------------------------------------------ */

/* By what candidates are compared: less is better. */
struct candidate_rank {
	uint64_t priorities; /* their sum, each made positive */
	int64_t oldest_ms;   /* start of the oldest of the highest: here more is better */
	uint32_t violations;
	uint32_t count;
	int32_t highest; /* of the first victim */
};

/* So that many below zero are not better than few. */
static inline uint64_t priority_shifted(int32_t priority)
{
	return (uint64_t)((int64_t)priority - INT32_MIN);
}

void rank_candidate(const struct preempt *preempt,
                    const struct preempt_candidate *candidate,
                    struct candidate_rank *out);
/* There is one, whether it is remembered or not. */
void candidate_found(struct preempt *preempt, uint32_t violations);
/* It is not better than another one, so it need not be added: even if what the rank does
 * not tell yet is the best that it can be. */
bool candidate_loses(const struct preempt *preempt, const struct candidate_rank *rank);

/* -- merits.c ------------------------------------------------------------------------ */

void candidate_cache_done(struct candidate_cache *candidate_cache);
/* Before a run. false: no memory. */
PL_NODISCARD bool candidate_cache_ready(struct preempt *preempt);
/* Of a node where adding up is enough. The violations are exact, else it is not worse
 * than it will be found to be. */
void candidate_cache_put(struct preempt *preempt, uint32_t slot,
                         const struct candidate_rank *rank);
/* Something is known of the node. */
bool candidate_cache_has(const struct preempt *preempt, uint32_t slot);
/* The node is a candidate and not better than another one: it need not be tried. */
bool candidate_cache_loses(struct preempt *preempt, uint32_t slot);

/* -- choose.c, continued ------------------------------------------------------------- */

/* Its victims are the last of given_up. false: no memory. */
PL_NODISCARD bool candidate_add(struct preempt *preempt,
                                const struct preempt_candidate *candidate,
                                const struct candidate_rank *rank);
void candidates_choose(struct preempt *preempt, struct preempt_outcome *out);

#endif
