/*
 * Domain counts: pods counted by the domains of one label, and the set of nodes in
 * domains with at least one of these pods.
 *
 * Invariants: the counts are always right. The set is right while nothing is pending: a
 * domain of one node (a hostname) is updated at once, other domains when
 * domain_counts_refresh is called. Until then domain_counts_nodes gives NULL, and callers
 * ask for single nodes by their domain's number.
 */
#ifndef SHARDSCHED_SNAPSHOT_DOMAIN_COUNTS_H
#define SHARDSCHED_SNAPSHOT_DOMAIN_COUNTS_H

#include "shardsched/snapshot/label_column.h"
#include "store/base/list.h"

enum { DOMAIN_COUNTS_PENDING = 8 };

struct domain_counts {
	struct label_column *column; /* the owner of the counts holds it */
	struct pl_list of_column;    /* in the list of all counts by that column */
	uint32_t *count;             /* by domain number; 0 stays 0 */
	uint32_t cap;                /* capacity of count */
	uint32_t words;              /* length of bits in words */
	uint64_t *bits;              /* a bit for each slot */
	uint32_t inside;             /* pods, in all domains */
	uint32_t others;             /* pods on nodes without the label */
	uint32_t pending_count;      /* above DOMAIN_COUNTS_PENDING: the whole set is made
				      * again */
	uint32_t pending[DOMAIN_COUNTS_PENDING];
	bool moved; /* nodes have moved while something was pending */
};

/* The counts begin at zero. PL_NOMEM. */
PL_NODISCARD enum pl_code domain_counts_init(struct domain_counts *counts,
                                             const struct snapshot *snapshot,
                                             struct label_column *column,
                                             struct pl_err *err);
void domain_counts_done(struct domain_counts *counts);

/* Makes room for numbers below domains and slots below capacity. PL_NOMEM: the counts are
 * unchanged, but maybe longer. */
PL_NODISCARD enum pl_code domain_counts_reserve(struct domain_counts *counts,
                                                uint32_t domains, uint32_t capacity,
                                                struct pl_err *err);

/* Pods came to a node, or left it. */
void domain_counts_add(struct domain_counts *counts, uint32_t slot, uint32_t pods);
void domain_counts_sub(struct domain_counts *counts, uint32_t slot, uint32_t pods);

/* The node, with so many pods, went to another domain. */
void domain_counts_move(struct domain_counts *counts, uint32_t slot, uint32_t from,
                        uint32_t to, uint32_t pods);

void domain_counts_refresh(struct domain_counts *counts, uint32_t slots);

/* A word for 64 slots; NULL: something is pending. */
static inline const uint64_t *domain_counts_nodes(const struct domain_counts *counts)
{
	return counts->pending_count == 0 ? counts->bits : NULL;
}

static inline size_t domain_counts_memory(const struct domain_counts *counts)
{
	return counts->cap * sizeof(uint32_t) + counts->words * sizeof(uint64_t);
}

static inline uint32_t domain_counts_at(const struct domain_counts *counts, uint32_t slot)
{
	return counts->count[counts->column->value[slot]];
}

#endif
