/*
 * Internals of preemption, shared by its files:
 *
 *	preempt.c          whether the pod may preempt, which nodes are tried, and until when
 *	potential.c        nodes where removing pods could help
 *	node_scan.c        the next nodes to be tried; ranks their pods where that is not cached
 *	victim_order.c     which pod is more important
 *	pod_ranking.c      cache: the pods of a node in that order
 *	reclaimable.c      cache: what all pods of lower priority hold on a node
 *	candidate_cache.c  cache: how good a candidate each node was for the last class of pods
 *	budgets.c          which pods a disruption budget protects
 *	victims.c          one node: which pods would have to go, by asking the plugins
 *	victims_by_sum.c   the same by adding up
 *	choose.c           which candidate is the best
 *
 * A run at 5,000 full nodes looks at each node where removing pods could help, and at
 * each pod on 500 of them, or of all when no candidate goes without overdrawing a budget.
 * So a node first costs a look at a row that says how much removing pods can give at
 * most; then its pods are read in an order that is cached. Where only amounts stand in
 * the way (the usual case) victims are found by adding up; only otherwise are pods
 * removed in a probe and the plugins asked.
 */
#ifndef SHARDSCHED_PREEMPT_PREEMPT_INT_H
#define SHARDSCHED_PREEMPT_PREEMPT_INT_H

#include "shardsched/framework/resource_request.h"
#include "shardsched/preempt/budgets.h"
#include "shardsched/preempt/known_slots.h"
#include "shardsched/preempt/preempt.h"
#include "shardsched/preempt/scratch.h"

/* For all nodes: the sum of what pods below one priority hold. */
struct reclaimable {
	int32_t below;
	uint64_t used;            /* number of the run that used it last; 0: never */
	struct known_slots known; /* the slots whose sum is valid */
	struct scratch sums;      /* struct request_sum, by slot */
};

enum { RECLAIMABLE_SETS = 2 };

/* A pod that may have to go. */
struct victim {
	int64_t started_ms; /* INT64_MAX: not started, so it counts as the youngest */
	const struct spec *spec;
	int32_t priority;
	uint32_t placed;
};

/* Cached for each pod. X(type, name) */
#define POD_RANKING_COLUMNS_MAP(X) \
	X(int64_t, cpu_milli)      \
	X(int64_t, memory)         \
	X(int64_t, storage)        \
	X(int32_t, priority)       \
	X(uint32_t, placed)        \
	X(uint32_t, spec) /* the spec's id */

/* Where the ranked pods of a node are in the columns, the most important one first. */
struct pod_ranking {
	uint32_t first, count, cap;
};

enum { POD_RANKINGS_MAX = 1 << 21 };

struct pod_rankings {
	struct known_slots known; /* the slots whose ranking is valid */
	struct scratch of;        /* struct pod_ranking, by slot */
	uint32_t used, most; /* number of pods; beyond most, all rankings are dropped */
#define POD_RANKING_COLUMN(type, name) struct scratch name;
	POD_RANKING_COLUMNS_MAP(POD_RANKING_COLUMN)
};

/* The pods of a node below one priority. */
struct ranking_part {
	uint32_t count;
#define POD_RANKING_POINTER(type, name) const type *name;
	POD_RANKING_COLUMNS_MAP(POD_RANKING_POINTER)
};

/* The inputs of a candidate besides its node, where adding up suffices. */
struct candidate_key {
	int64_t cpu_milli, memory, storage; /* requested amounts */
	uint64_t budgets;                   /* epoch of the budgets in the catalog */
	int32_t priority;
};

struct candidate_cache {
	struct candidate_key key;
	struct known_slots known; /* the slots whose rank is valid */
	struct scratch rank;      /* struct candidate_rank, by slot */
};

/* State of a node before it is tried. */
enum scan_state {
	SCAN_RANKED,   /* the order of its pods is known */
	SCAN_UNRANKED, /* pods of the node are read, to be ranked */
	SCAN_HOPELESS, /* no pod of it may go, or all of them would not be enough */
};

/* A node that is going to be tried. */
struct node_scan {
	uint32_t slot;
	uint32_t next;         /* placed pod that is read next */
	uint32_t first, count; /* pods in preempt.victims, while they are ranked */
	enum scan_state state;
};

enum { SCANS_MAX = 16 };

struct preempt {
	struct cycle *cycle; /* of this run */
	struct snapshot *snapshot;
	uint64_t run;
	struct resource_request request;
	int32_t priority;
	int fit; /* the plugin that filters by free amounts; -1: there is none */
	/* no other plugin could refuse a node that it was the first to refuse */
	bool only_fit;
	bool keep_all;
	/* for tests: ask the plugins, even where adding up would suffice */
	bool never_sums;
	bool no_memory;
	/* plugins that refused a node with all pods of lower priority removed */
	uint64_t refused_by;
	const struct snapshot *only; /* the snapshot that the caches are about */
	struct reclaimable reclaimable[RECLAIMABLE_SETS];
	struct reclaimable *current; /* the sums for this priority */
	struct budgets budgets;
	struct scratch words; /* uint64_t: three sets of slots */
	struct pl_bitset potential;
	struct pl_bitset by_fit; /* nodes first refused by the fit plugin */
	struct pl_bitset mixed;
	struct node_scan scan[SCANS_MAX];
	uint32_t scans;
	struct pod_rankings rankings;
	struct candidate_cache candidate_cache;
	struct scratch victims; /* struct victim, of the nodes that are ranked */
	struct scratch sorted;  /* struct victim, sorted */
	struct scratch keys;    /* sort keys */
	/* uint32_t: indexes of the ranking, in the order in which pods are reprieved */
	struct scratch order;
	struct scratch candidate_victims; /* uint32_t: victims of all candidates */
	struct scratch candidates;        /* struct preempt_candidate */
	struct scratch ranks;             /* struct candidate_rank, of each candidate */
	struct scratch tied;              /* uint32_t: indexes of candidates */
	/* number of candidates, and of candidates that overdraw no budget */
	uint32_t found, found_without_violations;
	uint32_t candidate_victim_count;
	uint32_t candidates_count;
};

/* -- potential.c ------------------------------------------------------------------------- */

/* Fills potential and by_fit. Returns how many nodes potential has. */
uint32_t potential_find(struct preempt *preempt, const struct cycle_outcome *last);

/* -- node_scan.c ------------------------------------------------------------------------- */

/* Fills scan with the next nodes of potential, at most most, starting at slot and
 * wrapping around. The pods of nodes that are not hopeless are ranked. Returns the slot
 * behind the last node. */
size_t scan_ahead(struct preempt *preempt, size_t slot, uint32_t most);

/* -- reclaimable.c ----------------------------------------------------------------------- */

/* Called before a run. false: out of memory. */
PL_NODISCARD bool reclaimable_ready(struct preempt *preempt);
void reclaimable_done(struct preempt *preempt);
/* part: the pods of the node below the priority. */
const struct request_sum *reclaimable_on(struct preempt *preempt, uint32_t slot,
                                         const struct ranking_part *part);
/* NULL: the sum is not cached. */
const struct request_sum *reclaimable_known(const struct preempt *preempt, uint32_t slot);

/* The node has too little even with all pods of lower priority removed. */
static inline void note_refused_by_fit(struct preempt *preempt)
{
	if (preempt->fit >= 0)
		preempt->refused_by |= UINT64_C(1) << preempt->fit;
}

/* -- pod_ranking.c ----------------------------------------------------------------------- */

void pod_rankings_done(struct pod_rankings *rankings);
/* Called before a run. false: out of memory. */
PL_NODISCARD bool pod_rankings_ready(struct preempt *preempt);
bool pod_ranking_known(const struct pod_rankings *rankings, uint32_t slot);
/* Makes room for the rankings of all scans that are not hopeless; other rankings may be
 * dropped. false: out of memory. */
PL_NODISCARD bool pod_rankings_place(struct preempt *preempt);
/* Stores the ranked pods of a node: all of them, in order. */
void pod_ranking_fill(struct pod_rankings *rankings, uint32_t slot,
                      const struct victim *pod, uint32_t count);
/* The ranking must be known; it is going to be read. */
void pod_ranking_prefetch(const struct pod_rankings *rankings, uint32_t slot);
/* The ranking must be known. */
struct ranking_part pod_ranking_below(const struct pod_rankings *rankings, uint32_t slot,
                                      int32_t below);

/* -- victims.c, victims_by_sum.c, victim_order.c ----------------------------------------- */

/* Whether adding up suffices on this node. */
bool victims_sums_suffice(const struct preempt *preempt, uint32_t slot);
/* Makes the node a candidate if there are victims that help. */
void victims_find(struct preempt *preempt, uint32_t slot);
/* The same where adding up suffices and no scalars are requested. free is what the node
 * has without the pods of the part, and is enough for the pod. order and candidate_victims have
 * room. */
void victims_find_by_sum(struct preempt *preempt, uint32_t slot,
                         const struct ranking_part *part,
                         const struct free_amounts *free);
/* Returns how many of the pods a budget protects: order begins with these, followed by
 * the others. 0: order is not written. */
uint32_t split_protected(struct preempt *preempt, const struct ranking_part *part);
/* Called before up to most victims are sorted. false: out of memory. */
PL_NODISCARD bool victims_sort_ready(struct preempt *preempt, uint32_t most);
/* Returns the victims sorted, the most important one first, until the next call. */
const struct victim *victims_sort(struct preempt *preempt, struct victim *victim,
                                  uint32_t count);

/* -- choose.c ---------------------------------------------------------------------------- */

/* Fields by which candidates are compared, one after another: less is better. */
struct candidate_rank {
	uint64_t priorities; /* sum of the victims' priorities, each made positive */
	/* start of the oldest victim of the highest priority: here more is better */
	int64_t oldest_ms;
	uint32_t violations;
	uint32_t count;
	int32_t highest; /* priority of the first victim */
};

/* Shifts priorities so that a sum of many negative ones is not below a sum of few. */
static inline uint64_t priority_shifted(int32_t priority)
{
	return (uint64_t)((int64_t)priority - INT32_MIN);
}

void rank_candidate(const struct preempt *preempt,
                    const struct preempt_candidate *candidate,
                    struct candidate_rank *out);
/* Counts a candidate, whether it is remembered or not. */
void candidate_found(struct preempt *preempt, uint32_t violations);
/* Whether the candidate is not better than the best so far, and so need not be added;
 * fields of rank that are not known yet must have their best value. */
bool candidate_loses(const struct preempt *preempt, const struct candidate_rank *rank);

/* -- candidate_cache.c ------------------------------------------------------------------- */

void candidate_cache_done(struct candidate_cache *candidate_cache);
/* Called before a run. false: out of memory. */
PL_NODISCARD bool candidate_cache_ready(struct preempt *preempt);
/* For a node where adding up suffices. violations is exact; in all else the rank is not
 * worse than the real one. */
void candidate_cache_put(struct preempt *preempt, uint32_t slot,
                         const struct candidate_rank *rank);
/* Whether the rank of the node is cached. */
bool candidate_cache_has(const struct preempt *preempt, uint32_t slot);
/* Whether the node is known to be a candidate that is not better than the best so far: it
 * need not be tried. */
bool candidate_cache_loses(struct preempt *preempt, uint32_t slot);

/* -- choose.c, continued ----------------------------------------------------------------- */

/* The victims are the last ones of candidate_victims. false: out of memory. */
PL_NODISCARD bool candidate_add(struct preempt *preempt,
                                const struct preempt_candidate *candidate,
                                const struct candidate_rank *rank);
void candidates_choose(struct preempt *preempt, struct preempt_outcome *out);

#endif
