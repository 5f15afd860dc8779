/*
 * A node selector, ready to be held against all nodes: labels that a node must have,
 * and terms of which one must hold.
 *
 * Each row is a test on the number of the node's value in a label column: is it one of
 * these few (compared 64 at a time), or, when many will do, is its bit set in a table.
 * Both follow from the texts that the column's numbers stand for, and are made anew
 * when the column has changed.
 */
#ifndef SHARDSCHED_PLUGINS_NODE_MATCH_H
#define SHARDSCHED_PLUGINS_NODE_MATCH_H

#include "shardsched/framework/plugin.h"

enum { MATCH_FEW = 4 };

struct match_row {
	struct label_column *column; /* NULL: there are too many, labels are asked */
	uint64_t epoch;              /* of the column, to which the rest belongs */
	uint32_t key;
	uint32_t op;           /* enum selector_op */
	const uint32_t *value; /* of the selector */
	uint32_t count;
	int64_t number;          /* Gt and Lt */
	bool negate;             /* what the few or the table say */
	uint32_t few[MATCH_FEW]; /* without a table: numbers of which a node must have one
	                          */
	uint32_t fews;
	uint64_t *table; /* a bit for each number; NULL: no need, or no memory */
	uint32_t words;  /* of it */
};

struct match_term {
	const struct node_term *term;
	uint32_t first, count; /* rows */
	bool never;            /* empty, or cannot be parsed */
};

struct node_match {
	uint32_t labels; /* the first rows: all must hold */
	uint32_t rows;
	uint32_t terms;
	bool any_term; /* there is no list of terms */
	struct match_row *row;
	struct match_term *term;
};

/* labels, terms: NULL when there are none; both outlive it. PL_NOMEM; nothing is left
 * open then. */
PL_NODISCARD enum pl_code node_match_open(struct snapshot *snapshot,
                                          const struct labels *labels,
                                          const struct node_selector *terms,
                                          struct node_match *out, struct pl_err *err);
/* A zeroed one, too. */
void node_match_close(struct snapshot *snapshot, struct node_match *match);

static inline bool node_match_is_everything(const struct node_match *match)
{
	return match->labels == 0 && match->any_term;
}

/* Before the words below are asked, whenever the snapshot may have changed. */
void node_match_ready(struct node_match *match, const struct snapshot *snapshot);

/* Of the slots of that word, given as bits, those that match. */
uint64_t node_match_word(const struct node_match *match, const struct snapshot *snapshot,
                         uint32_t word, uint64_t bits);
uint64_t node_match_term_word(const struct node_match *match,
                              const struct snapshot *snapshot, uint32_t term,
                              struct node_span one);

/* One node, by its labels. */
bool node_match_slot(const struct labels *labels, const struct node_selector *terms,
                     const struct snapshot *snapshot, uint32_t slot);

#endif
