/*
 * struct conflicts: what placements conflicted with: how often by cause, on which nodes
 * most, and which nodes are excluded because they keep refusing.
 *
 * Nodes are counted by space-saving: of more nodes than there are rows the one with the
 * lowest count makes room, and the new node inherits its count as `over`. So a count is
 * at most `over` too high, and a node with more than the lowest count is never missing.
 * Counts of nodes are halved every CONFLICT_FADE_MS, so that old conflicts do not hide
 * new ones; counts by cause are not.
 *
 * Exclusions are decided and reported elsewhere; here they are remembered for the
 * summary. Of too many the ones that last longest are kept.
 */
#ifndef SHARDSCHED_SHARD_TXN_CONFLICTS_H
#define SHARDSCHED_SHARD_TXN_CONFLICTS_H

#include "shardsched/model/strings.h"
#include "store/base/err.h"

/* X(CAUSE, word): what was newer than the decision. The words stand in members'
 * records. */
#define CONFLICT_MAP(X)         \
	X(ALLOC, "alloc")       \
	X(NODE, "node")         \
	X(STATE, "state")       \
	X(SPEC, "spec")         \
	X(FENCED, "fenced")     \
	X(REGISTRY, "registry") \
	X(GROUP, "group")       \
	X(BUDGET, "budget")

#define CONFLICT_ENUM(cause, word) CONFLICT_##cause,
enum conflict_cause { CONFLICT_MAP(CONFLICT_ENUM) CONFLICT_CAUSES };

enum {
	CONFLICT_ROWS = 64,
	CONFLICT_EXCLUDED_MAX = 64,
	CONFLICT_SUMMARY_MAX = 16, /* nodes in a summary, of each kind */
	CONFLICT_FADE_MS = 600000,
};

const char *conflict_cause_name(enum conflict_cause cause);

struct conflict_row {
	uint32_t key[2]; /* cluster and name; strings, held */
	uint64_t count, over;
	uint64_t last_ms;
	uint8_t cause; /* of the last conflict */
};

struct conflict_excluded {
	uint32_t key[2];
	uint64_t until_ms;
	uint8_t cause;
};

struct conflicts {
	struct strings *strings;
	/* Placements that had to be decided again */
	uint64_t placements[CONFLICT_CAUSES];
	/* Txns that failed, counted once for each of their causes */
	uint64_t txns[CONFLICT_CAUSES];
	struct conflict_row row[CONFLICT_ROWS];
	struct conflict_excluded excluded[CONFLICT_EXCLUDED_MAX];
	uint32_t rows, excluded_count;
	uint64_t fade_ms; /* when the counts of nodes were halved last */
};

void conflicts_init(struct conflicts *conflicts, struct strings *strings);
void conflicts_done(struct conflicts *conflicts);

/* So many placements conflicted on the node; key NULL: the cause was no node's key. */
void conflicts_add(struct conflicts *conflicts, const uint32_t key[2],
                   enum conflict_cause cause, uint32_t placements, uint64_t now_ms);

/* The node gets no placements until until_ms; until_ms <= now_ms: it gets them again. */
void conflicts_exclude(struct conflicts *conflicts, const uint32_t key[2],
                       enum conflict_cause cause, uint64_t until_ms, uint64_t now_ms);

/* -- summary ----------------------------------------------------------------------- */

struct conflict_node {
	struct pl_span cluster, name;
	enum conflict_cause cause;
	uint64_t count, over; /* over: as in conflict_row */
	uint64_t ago_ms;      /* since the last conflict */
	uint64_t left_ms;     /* until an excluded node comes back */
};

/* A plain value. Spans are borrowed until the next call of any function. */
struct conflict_summary {
	uint64_t placements[CONFLICT_CAUSES], txns[CONFLICT_CAUSES];
	/* With most conflicts, in falling order */
	struct conflict_node node[CONFLICT_SUMMARY_MAX];
	/* Excluded nodes, longest first */
	struct conflict_node excluded[CONFLICT_SUMMARY_MAX];
	uint32_t nodes, excluded_count;
	uint32_t excluded_all; /* how many are excluded now, in the array or not */
};

void conflicts_summarize(const struct conflicts *conflicts, uint64_t now_ms,
                         struct conflict_summary *out);

#endif
