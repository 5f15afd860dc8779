/* A partition as a row, and a shard's share of them as one. */
#ifndef COORD_CLI_SHARDS_PARTITION_ROW_H
#define COORD_CLI_SHARDS_PARTITION_ROW_H

#include "coord/cli/output/output.h"
#include "coord/service/shards/owners_watch.h"
#include "coord/service/shards/shard_shares.h"

extern const struct output_schema partition_schema;

/* entry NULL: no shard owns it. target empty: not known, or none. PL_NOMEM. */
PL_NODISCARD enum pl_code partition_row(uint32_t partition,
                                        const struct owners_watch_entry *entry,
                                        struct pl_span target, struct pl_arena *arena,
                                        struct output_row *row);

/* A partition of the API, which does not tell the lease. */
struct partition_told {
	uint32_t number;
	struct pl_span owner;     /* empty: none */
	int64_t epoch;            /* 0: no owner */
	struct pl_span target;    /* empty: not told */
	struct pl_span malformed; /* why the owner's key can not be read; empty: it can */
};
PL_NODISCARD enum pl_code partition_told_row(const struct partition_told *told,
                                             struct pl_arena *arena,
                                             struct output_row *row);

/* A key below /partitions/ that is no partition's. */
PL_NODISCARD enum pl_code partition_stray_row(const struct owners_watch_entry *entry,
                                              struct pl_arena *arena,
                                              struct output_row *row);

extern const struct output_schema shard_share_schema;

/* target: share->target is known. */
void shard_share_row(const struct shard_share *share, bool target,
                     struct output_row *row);

#endif
