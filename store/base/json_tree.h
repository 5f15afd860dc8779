/* A parsed document, and a walk over it without recursion. Only the JSON reader includes
 * this header. */
#ifndef STORE_BASE_JSON_TREE_H
#define STORE_BASE_JSON_TREE_H

#include "store/base/json.h"

struct pl_json_doc {
	const struct cJSON *root;
};

/* Visits parents before their children. up[0..depth) are the ancestors of node. */
struct pl_json_walk {
	const struct cJSON *node; /* NULL: the walk has ended */
	const struct cJSON *up[PL_JSON_DEPTH_MAX + 1];
	size_t depth;
};

void pl_json_walk_init(struct pl_json_walk *walk, const struct cJSON *root);
void pl_json_walk_next(struct pl_json_walk *walk);

/* Sets the error to "path.name: missing", PL_INVALID. */
enum pl_code pl_json_missing(struct pl_json object, const char *name, struct pl_err *err);

#endif
