/*
 * What placements conflicted with: how often by cause, on which nodes most, and which
 * nodes are set aside because they keep refusing.
 *
 * Nodes are kept by space-saving: of more nodes than there are rows the one with the
 * least makes room, and its count is inherited as `over`, so a count is at most that much
 * too high, and whoever has more than the least can not be missing. Counts of nodes fade:
 * they are halved every FADE_MS, so that what was does not hide what is. Those by cause
 * do not.
 *
 * What is set aside is told by whoever does it; here it is only remembered, the ones that
 * last longest when they are too many.
 */
#ifndef SHARDSCHED_SHARD_TXN_CONFLICTS_H
#define SHARDSCHED_SHARD_TXN_CONFLICTS_H

#include "shardsched/model/strings.h"
#include "store/base/err.h"

/* X(CAUSE, word): what was newer than the decision. */
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
	CONFLICT_SUMMARY_MAX = 16, /* of each, in a summary */
	CONFLICT_FADE_MS = 600000,
};

const char *conflict_cause_name(enum conflict_cause cause);

struct conflict_row {
	uint32_t key[2]; /* cluster and name: strings, held */
	uint64_t count, over;
	uint64_t last_ms;
	uint8_t cause; /* of the last one */
};

struct conflict_excluded {
	uint32_t key[2];
	uint64_t until_ms;
	uint8_t cause;
};

struct conflicts {
	struct strings *strings;
	uint64_t placements[CONFLICT_CAUSES]; /* that have to be decided again */
	uint64_t txns[CONFLICT_CAUSES];       /* that failed; each cause once */
	struct conflict_row row[CONFLICT_ROWS];
	struct conflict_excluded excluded[CONFLICT_EXCLUDED_MAX];
	uint32_t rows, excluded_count;
	uint64_t fade_ms; /* when counts were halved last */
};

void conflicts_init(struct conflicts *conflicts, struct strings *strings);
void conflicts_done(struct conflicts *conflicts);

/* So many placements on that node; key NULL: it was no node that was in the way. */
void conflicts_add(struct conflicts *conflicts, const uint32_t key[2],
                   enum conflict_cause cause, uint32_t placements, uint64_t now_ms);

/* That node gets no more tries until then; not after now: from now on again. */
void conflicts_exclude(struct conflicts *conflicts, const uint32_t key[2],
                       enum conflict_cause cause, uint64_t until_ms, uint64_t now_ms);

/* -- for people ------------------------------------------------------------------- */

struct conflict_node {
	struct pl_span cluster, name;
	enum conflict_cause cause;
	uint64_t count, over; /* of a node */
	uint64_t ago_ms;      /* since the last one */
	uint64_t left_ms;     /* of one that is set aside */
};

/* A plain value; spans are borrowed until the next call of anything. */
struct conflict_summary {
	uint64_t placements[CONFLICT_CAUSES], txns[CONFLICT_CAUSES];
	struct conflict_node node[CONFLICT_SUMMARY_MAX];     /* the most first */
	struct conflict_node excluded[CONFLICT_SUMMARY_MAX]; /* the longest first */
	uint32_t nodes, excluded_count;
	uint32_t excluded_all; /* at the moment, told or not */
};

void conflicts_summarize(const struct conflicts *conflicts, uint64_t now_ms,
                         struct conflict_summary *out);

#endif
