/*
 * A node selector: terms that select nodes, as in a pod's node affinity and in the places
 * from which a volume can be reached. Terms are alternatives; all requirements of a term
 * hold together.
 *
 * An empty term matches no node, nor does a term that can not be parsed (Gt with a word,
 * a value that no label can have). A preferred term that can not be parsed makes the
 * whole cycle an error, which the plugin reports.
 */
#ifndef SHARDSCHED_MODEL_NODE_SELECTOR_H
#define SHARDSCHED_MODEL_NODE_SELECTOR_H

#include "shardsched/model/selector.h"

struct node_term {
	const struct selector *labels; /* matchExpressions; no rows: they are not asked */
	const struct selector *fields; /* matchFields */
	int64_t weight;                /* 0 in required lists */
};

struct node_selector {
	struct intern_item item;
	uint32_t zero;
	uint64_t count;
	struct node_term term[]; /* in the order of the object */
};

/* Returns the value with a reference; NULL when draft is not set, or on failure. */
const struct node_selector *node_selector_make(struct maker *maker,
                                               struct draft_node_terms draft);

static inline bool node_term_is_empty(const struct node_term *term)
{
	return term->labels->count == 0 && term->fields->count == 0;
}

static inline bool node_term_is_invalid(const struct node_term *term)
{
	return ((term->labels->flags | term->fields->flags) & SELECTOR_INVALID) != 0;
}

/* name: the number of the node's name; 0: only labels are compared, and requirements on
 * fields count as met. */
bool node_term_matches(const struct strings *strings, const struct node_term *term,
                       const struct labels *labels, uint32_t name);
bool node_selector_matches(const struct strings *strings,
                           const struct node_selector *selector,
                           const struct labels *labels, uint32_t name);

#endif
