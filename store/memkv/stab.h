/*
 * Which ranges contain this key? A treap of ranges, ordered by where they begin,
 * that knows the furthest end of each subtree.
 *
 * A query costs the ranges it finds plus a logarithm. Nothing allocates, nothing
 * fails. Ranges are found in the order of (begin, seq).
 */
#ifndef STORE_MEMKV_STAB_H
#define STORE_MEMKV_STAB_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/rng.h"
#include "store/base/span.h"

/* Embedded. begin, end, endless and seq are set before it is added, and must
 * not change while it is in. */
struct stab_node {
	struct stab_node *left, *right;
	const struct stab_node *furthest; /* whose end is the greatest, down from here */
	struct pl_span begin;
	struct pl_span end; /* the first key behind the range */
	bool endless;
	uint64_t seq; /* tells equal ranges apart */
	uint64_t weight;
};

struct stab {
	struct stab_node *root;
	struct pl_rng rng;
};

typedef enum pl_code stab_fn(void *ctx, struct stab_node *node);

void stab_init(struct stab *stab, uint64_t seed);
void stab_add(struct stab *stab, struct stab_node *node);
void stab_del(struct stab *stab, struct stab_node *node);

/* Stops at the first code that is not PL_OK, and returns it. */
PL_NODISCARD enum pl_code stab_each(const struct stab *stab, struct pl_span key,
                                    stab_fn *fn, void *ctx);

#endif
