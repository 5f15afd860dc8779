/*
 * A node match is a node selector prepared for being compared with all nodes: labels that
 * a node must have, and terms of which one must hold.
 *
 * Each row tests the number that a label column gives to the node's value: whether it is
 * one of a few numbers (compared 64 at a time), or whether its bit is set in a table.
 * Both follow from the texts that the column's numbers stand for, and are made anew when
 * the column has changed.
 */
#ifndef SHARDSCHED_PLUGINS_NODE_MATCH_H
#define SHARDSCHED_PLUGINS_NODE_MATCH_H

#include "shardsched/framework/plugin.h"

enum { MATCH_FEW = 4 };

struct match_row {
	/* NULL: there are too many columns, so labels are compared */
	struct label_column *column;
	uint64_t epoch; /* of the column, for which few and table were made */
	uint32_t key;
	uint32_t op;           /* enum selector_op */
	const uint32_t *value; /* owned by the selector */
	uint32_t count;
	int64_t number;          /* for Gt and Lt */
	bool negate;             /* few and table say which nodes do not match */
	uint32_t few[MATCH_FEW]; /* without a table: the numbers that match */
	uint32_t few_count;
	uint64_t *table; /* a bit for each number; NULL: not needed, or no memory */
	uint32_t words;  /* length of table */
};

struct match_term {
	const struct node_term *term;
	uint32_t first, count; /* range in row */
	bool never;            /* the term is empty or can not be parsed */
};

struct node_match {
	uint32_t labels; /* number of first rows, all of which must hold */
	uint32_t rows;
	uint32_t terms;
	bool any_term; /* there is no list of terms */
	struct match_row *row;
	struct match_term *term;
};

/* labels and terms may be NULL, and must outlive the match. PL_NOMEM: nothing is left
 * open. */
PL_NODISCARD enum pl_code node_match_open(struct snapshot *snapshot,
                                          const struct labels *labels,
                                          const struct node_selector *terms,
                                          struct node_match *out, struct pl_err *err);
/* A zeroed match may be closed too. */
void node_match_close(struct snapshot *snapshot, struct node_match *match);

static inline bool node_match_is_everything(const struct node_match *match)
{
	return match->labels == 0 && match->any_term;
}

/* Must be called before node_match_word when the snapshot may have changed. */
void node_match_ready(struct node_match *match, const struct snapshot *snapshot);

/* The given bits of a word, without the nodes that do not match. */
uint64_t node_match_word(const struct node_match *match, const struct snapshot *snapshot,
                         uint32_t word, uint64_t bits);
uint64_t node_match_term_word(const struct node_match *match,
                              const struct snapshot *snapshot, uint32_t term,
                              struct node_span one);

/* Compares one node by its labels, without columns. */
bool node_match_slot(const struct labels *labels, const struct node_selector *terms,
                     const struct snapshot *snapshot, uint32_t slot);

#endif
