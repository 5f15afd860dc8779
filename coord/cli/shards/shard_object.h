/* Shards and partitions of the API (placet.io/v1), as the store's records say them. */
#ifndef COORD_CLI_SHARDS_SHARD_OBJECT_H
#define COORD_CLI_SHARDS_SHARD_OBJECT_H

#include "coord/cli/shards/partition_row.h"
#include "coord/membership/roster.h"
#include "store/base/json.h"

struct shard_object {
	struct roster_entry entry;
	bool drain; /* the configuration wants the shard drained */
};

/* Borrows from the object and the arena. PL_NOMEM. */
PL_NODISCARD enum pl_code shard_object_read(struct pl_json shard, struct pl_arena *arena,
                                            struct shard_object *out);
/* Borrows from the object. */
void partition_object_read(struct pl_json partition, struct partition_told *out);

#endif
