/* A node as a row. */
#ifndef COORD_CLI_NODES_NODE_ROW_H
#define COORD_CLI_NODES_NODE_ROW_H

#include "coord/cli/output/output.h"
#include "coord/service/nodes/node_info.h"
#include "store/base/json.h"

enum {
	NODE_ROW_STATE = 2
}; /* column of the state, which is "gone" for a row that goes */

extern const struct output_schema node_schema;

/* The row borrows from the arena and from the info. PL_NOMEM. */
PL_NODISCARD enum pl_code node_row(const struct node_info *info, struct pl_arena *arena,
                                   struct output_row *out);

/* A node of the API as a row; what the store alone knows is left out. The row borrows from
 * the object and the arena. PL_NOMEM. */
PL_NODISCARD enum pl_code node_object_row(struct pl_json node, struct pl_arena *arena,
                                          struct output_row *out);

#endif
