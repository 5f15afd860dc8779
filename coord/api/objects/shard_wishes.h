/*
 * The wishes of configurations about shards: `shards` says which are to be drained, `weights`
 * gives factors. A Shard shows both as its spec.
 */
#ifndef COORD_API_OBJECTS_SHARD_WISHES_H
#define COORD_API_OBJECTS_SHARD_WISHES_H

#include "coord/config/config.h"
#include "store/base/arena.h"

struct sources;

struct shard_wishes {
	struct pl_arena arena;
	struct config_shards shards;
	struct config_weights weights;
	int64_t revision; /* of the newer one of both; 0: the defaults */
};

void shard_wishes_init(struct shard_wishes *wishes);
void shard_wishes_done(struct shard_wishes *wishes);
/* Reads both as the sources have them. One that can not be read counts as the default. */
void shard_wishes_read(struct sources *sources, struct shard_wishes *wishes);

#endif
