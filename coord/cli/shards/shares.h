/* How many partitions each shard has, and how many it should. */
#ifndef COORD_CLI_SHARES_H
#define COORD_CLI_SHARES_H

#include "coord/assign/assign.h"
#include "coord/cli/shards/partition_row.h"
#include "coord/cli/shards/scene.h"

typedef void shares_fn(void *ctx, const struct share *share);

/* Shards that are there or own something, by id; then what is free and what is
 * garbled, if anything is. PL_NOMEM. */
PL_NODISCARD enum pl_code shares_count(const struct scene *scene,
                                       const struct assign *assign, uint32_t partitions,
                                       shares_fn *fn, void *ctx);

#endif
