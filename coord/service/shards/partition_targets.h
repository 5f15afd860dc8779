/* Which shard each partition falls to, as every shard computes it from the same
 * records and configurations. */
#ifndef COORD_SERVICE_SHARDS_PARTITION_TARGETS_H
#define COORD_SERVICE_SHARDS_PARTITION_TARGETS_H

#include "coord/assign/assign.h"
#include "coord/service/shards/shards_view.h"
#include "store/base/map.h"

struct partition_targets {
	struct assign *assign;
	struct pl_map weights; /* the weights that assign has, by id */
	uint64_t round;
};

PL_NODISCARD enum pl_code partition_targets_init(struct partition_targets *targets,
                                                 uint32_t partitions, struct pl_err *err);
void partition_targets_done(struct partition_targets *targets);

/* Computes only what is different; *changed: something was. */
PL_NODISCARD enum pl_code partition_targets_refresh(struct partition_targets *targets,
                                                    const struct shards_view *view,
                                                    bool *changed, struct pl_err *err);

#endif
