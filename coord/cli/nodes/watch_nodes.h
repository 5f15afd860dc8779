/* placet get nodes --watch: the nodes that are there, then a line for each that comes,
 * changes or goes, until the command is stopped. */
#ifndef COORD_CLI_NODES_WATCH_NODES_H
#define COORD_CLI_NODES_WATCH_NODES_H

#include "coord/cli/nodes/node_pick.h"
#include "coord/cli/session/cli_session.h"

PL_NODISCARD enum pl_code watch_nodes(const struct cli_session *cli,
                                      const struct node_filter *filter,
                                      struct pl_err *err);

#endif
