/* Which shard each partition falls to, as every shard computes it from the same
 * records and configurations. */
#ifndef COORD_CLI_TARGETS_H
#define COORD_CLI_TARGETS_H

#include "coord/assign/assign.h"
#include "coord/cli/shards/scene.h"
#include "store/base/map.h"

struct targets {
	struct assign *assign;
	struct pl_map weights; /* what assign was told, by id */
	uint64_t round;
};

PL_NODISCARD enum pl_code targets_init(struct targets *targets, uint32_t partitions,
                                       struct pl_err *err);
void targets_done(struct targets *targets);

/* Only what is different is computed anew; *changed, if something was. */
PL_NODISCARD enum pl_code targets_refresh(struct targets *targets,
                                          const struct scene *scene, bool *changed,
                                          struct pl_err *err);

#endif
