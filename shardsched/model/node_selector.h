/*
 * Terms that select nodes: a pod's required or preferred node affinity, and where
 * a volume can be reached. Terms are alternatives, what is in a term holds together.
 *
 * A term without anything matches no node. One that cannot be parsed (Gt with a
 * word, a value that no label can have) matches none either; in a preferred list
 * it makes the whole cycle an error, which is for the plugin to say.
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
	struct node_term term[]; /* as they were written */
};

/* With a reference; NULL when it is not set or on failure. */
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

/* name: the number of the node's name; 0: only labels are asked, rows about fields stop
 * nobody. */
bool node_term_matches(const struct strings *strings, const struct node_term *term,
                       const struct labels *labels, uint32_t name);
bool node_selector_matches(const struct strings *strings,
                           const struct node_selector *selector,
                           const struct labels *labels, uint32_t name);

#endif
