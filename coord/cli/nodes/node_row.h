/* A node as a row. */
#ifndef COORD_CLI_NODES_NODE_ROW_H
#define COORD_CLI_NODES_NODE_ROW_H

#include "coord/cli/output/output.h"
#include "coord/service/nodes/node_info.h"

enum {
	NODE_ROW_STATE = 2
}; /* column of the state, which is "gone" for a row that goes */

extern const struct output_schema node_schema;

/* The row borrows from the arena and from the info. PL_NOMEM. */
PL_NODISCARD enum pl_code node_row(const struct node_info *info, struct pl_arena *arena,
                                   struct output_row *out);

#endif
