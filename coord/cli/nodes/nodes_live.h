/* placet get nodes --watch: the nodes that are there, then a line for each that comes,
 * changes or goes, until the command is stopped. */
#ifndef COORD_CLI_NODES_LIVE_H
#define COORD_CLI_NODES_LIVE_H

#include "coord/cli/nodes/node_pick.h"
#include "coord/cli/reach/reach.h"

PL_NODISCARD enum pl_code nodes_live(const struct reach *reach,
                                     const struct node_pick *pick, struct pl_err *err);

#endif
