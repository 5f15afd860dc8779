/*
 * Nodes out of files that are to be written to the store. All of them are checked
 * before any is written.
 */
#ifndef COORD_SERVICE_NODES_NODES_INPUT_H
#define COORD_SERVICE_NODES_NODES_INPUT_H

#include "shardsched/model/parse.h"
#include "store/base/map.h"

enum { NODES_INPUT_MAX = 4 << 20 };

struct nodes_input_node {
	struct pl_map_node link; /* keyed by the node's name */
	struct pl_span json;     /* valid, and without white space */
	unsigned tag;            /* free for the caller; 0 at first */
};

/* PL_MAP_EACH over names walks them in the order of adding. Must not move. */
struct nodes_input {
	struct pl_arena arena;   /* names and JSON of all nodes */
	struct pl_arena scratch; /* for one node at a time */
	struct pl_map names;
	struct model model;
	struct field_errors errors;
};

void nodes_input_init(struct nodes_input *input);
void nodes_input_done(struct nodes_input *input);

/* kind and json as objects.h gives them. PL_INVALID: not a Node, not a valid one, or a
 * duplicate name; PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code nodes_input_add(struct nodes_input *input, struct pl_span kind,
                                          struct pl_span json, struct pl_err *err);

static inline struct nodes_input_node *nodes_input_of(struct pl_map_node *link)
{
	return PL_CONTAINER_OF(link, struct nodes_input_node, link);
}

#endif
