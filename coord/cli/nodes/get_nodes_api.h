/* placet get nodes, of the API. */
#ifndef COORD_CLI_NODES_GET_NODES_API_H
#define COORD_CLI_NODES_GET_NODES_API_H

#include "coord/cli/nodes/node_pick.h"
#include "coord/cli/session/api_session.h"

/* PL_NOTFOUND: some named nodes do not exist. */
PL_NODISCARD enum pl_code get_nodes_api(const struct node_pick *pick,
                                        struct api_session *api, struct pl_err *err);

#endif
