/*
 * Conflict stats: the conflicts in the shards' records, put together. Each record holds
 * what its shard has counted since it started, and its worst nodes.
 */
#ifndef COORD_SERVICE_SHARDS_CONFLICT_STATS_H
#define COORD_SERVICE_SHARDS_CONFLICT_STATS_H

#include "coord/membership/roster.h"

enum { CONFLICT_CAUSES_MAX = 32 };

struct conflict_shard {
	struct pl_span id;
	const struct membership_work *work;
};

struct conflict_node {
	struct pl_span cluster, name;
	struct pl_span cause, shard; /* of the shard that counted most */
	uint64_t count;              /* conflicts on the node, of all shards together */
	uint64_t over;               /* by which the count may be too large */
	uint64_t most;               /* of one shard */
	uint32_t shards;             /* with conflicts on the node */
	int64_t at_ms;               /* of the last conflict; until when it is excluded */
};

/* Borrows from the roster and the arena: good until the loop runs again. */
struct conflict_stats {
	int64_t now_ms;
	uint32_t silent; /* shards whose records say nothing about scheduling */
	struct membership_work sum;
	struct membership_cause cause[CONFLICT_CAUSES_MAX]; /* most placements first */
	uint32_t causes;
	struct conflict_shard *shard; /* most conflicts first */
	struct conflict_node *node;   /* most conflicts first */
	struct conflict_node
		*excluded; /* nodes that some shard places nothing on for now */
	uint32_t shards, nodes, excluded_count;
};

/* now_ms: of the wall's clock. PL_NOMEM. */
PL_NODISCARD enum pl_code conflict_stats_collect(const struct roster *roster,
                                                 int64_t now_ms, struct pl_arena *arena,
                                                 struct conflict_stats *out,
                                                 struct pl_err *err);

#endif
