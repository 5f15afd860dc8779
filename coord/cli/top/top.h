/* What all shards tell of conflicts, put together: placet top conflicts. */
#ifndef COORD_CLI_TOP_TOP_H
#define COORD_CLI_TOP_TOP_H

#include "coord/membership/roster.h"
#include "store/base/buf.h"

enum { TOP_CAUSES_MAX = 32, TOP_LIMIT_MAX = 1000 };

struct top_shard {
	struct pl_span id;
	const struct membership_work *work;
};

struct top_node {
	struct pl_span cluster, name, cause, shard; /* of whoever told the most */
	uint64_t count, over, most;
	uint32_t shards; /* that tell of it */
	int64_t at_ms;
};

/* Borrows from the roster: it is good until the loop runs again. */
struct top_conflicts {
	int64_t now_ms;
	uint32_t limit;  /* rows of nodes that are printed */
	uint32_t silent; /* shards that tell of no scheduling */
	struct membership_work sum;
	struct membership_cause cause[TOP_CAUSES_MAX]; /* most placements first */
	uint32_t causes;
	struct top_shard *shard; /* most conflicts first */
	struct top_node *node, *aside;
	uint32_t shards, nodes, asides;
};

PL_NODISCARD enum pl_code top_collect(const struct roster *roster, struct pl_arena *arena,
                                      struct top_conflicts *out, struct pl_err *err);

PL_NODISCARD enum pl_code top_text(const struct top_conflicts *top, struct pl_buf *out);
/* One object on one line. */
PL_NODISCARD enum pl_code top_json(const struct top_conflicts *top, struct pl_buf *out);

#endif
