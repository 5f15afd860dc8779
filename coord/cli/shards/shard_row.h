/* A shard as a row: its record, and what the configuration wants of it. */
#ifndef COORD_CLI_SHARDS_SHARD_ROW_H
#define COORD_CLI_SHARDS_SHARD_ROW_H

#include "coord/cli/output/output.h"
#include "coord/membership/roster.h"

extern const struct output_schema shard_schema;

struct shard_row_about {
	bool drain;     /* the configuration names it */
	int64_t now_ms; /* since 1970 */
	bool of_api;    /* instance, salt and loads are not known */
};

/* PL_NOMEM. The row borrows from the entry and the arena. */
PL_NODISCARD enum pl_code shard_row(const struct roster_entry *entry,
                                    const struct shard_row_about *about,
                                    struct pl_arena *arena, struct output_row *row);

#endif
