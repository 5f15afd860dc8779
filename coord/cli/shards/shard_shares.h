/* How many partitions each shard has, and how many it should. */
#ifndef COORD_CLI_SHARDS_SHARD_SHARES_H
#define COORD_CLI_SHARDS_SHARD_SHARES_H

#include "coord/assign/assign.h"
#include "coord/cli/shards/partition_row.h"
#include "coord/cli/shards/shards_watch.h"

typedef void shard_shares_fn(void *ctx, const struct shard_share *share);

/* Shards that are there or own something, by id; then what is free and what is
 * malformed, if anything is. PL_NOMEM. */
PL_NODISCARD enum pl_code shard_shares_count(const struct shards_watch *shards_watch,
                                             const struct assign *assign,
                                             uint32_t partitions, shard_shares_fn *fn,
                                             void *ctx);

#endif
