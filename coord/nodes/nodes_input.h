/*
 * Nodes that somebody wants in a store, out of files: all of them are looked at before
 * any is written.
 */
#ifndef COORD_NODES_NODES_INPUT_H
#define COORD_NODES_NODES_INPUT_H

#include "shardsched/model/parse.h"
#include "store/base/map.h"

enum { NODES_INPUT_MAX = 4 << 20 };

struct nodes_input_node {
	struct pl_map_node link; /* its key is the name */
	struct pl_span json;     /* valid, and without white space */
	unsigned tag;            /* the caller's; 0 first */
};

/* In the order of adding: PL_MAP_EACH over names. May not be moved. */
struct nodes_input {
	struct pl_arena arena;   /* of names and JSON */
	struct pl_arena scratch; /* of one */
	struct pl_map names;
	struct model model;
	struct field_errors errors;
};

void nodes_input_init(struct nodes_input *input);
void nodes_input_done(struct nodes_input *input);

/* As objects.h tells it. PL_INVALID: it is no Node, not a valid one, or the second of its
 * name; PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code nodes_input_add(struct nodes_input *input, struct pl_span kind,
                                          struct pl_span json, struct pl_err *err);

static inline struct nodes_input_node *nodes_input_of(struct pl_map_node *link)
{
	return PL_CONTAINER_OF(link, struct nodes_input_node, link);
}

#endif
