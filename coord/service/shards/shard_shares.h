/* How many partitions each shard has, and how many it should. */
#ifndef COORD_SERVICE_SHARDS_SHARD_SHARES_H
#define COORD_SERVICE_SHARDS_SHARD_SHARES_H

#include "coord/assign/assign.h"
#include "coord/service/shards/shards_view.h"

struct shard_share {
	struct pl_span shard; /* empty: of no shard; state says why */
	const char *state;    /* "owned", "free", "malformed" */
	uint32_t partitions;
	uint32_t target;
};

typedef void shard_shares_fn(void *ctx, const struct shard_share *share);

/* Shards that are there or own something, by id; then what is free and what is
 * malformed, if anything is. PL_NOMEM. */
PL_NODISCARD enum pl_code shard_shares_count(const struct shards_view *view,
                                             const struct assign *assign,
                                             uint32_t partitions, shard_shares_fn *fn,
                                             void *ctx);

#endif
