/* A drain through the API: nodes are cordoned, and their pods evicted one by one, as their
 * budgets allow it. */
#ifndef COORD_CLI_NODES_DRAIN_API_H
#define COORD_CLI_NODES_DRAIN_API_H

#include "coord/cli/session/api_session.h"

/* The nodes are the arguments of the command, "east/n-7". timeout_ms 0: however long it
 * takes. PL_TIMEOUT: some pods are still there. */
PL_NODISCARD enum pl_code drain_api(struct api_session *api, uint64_t timeout_ms,
                                    struct pl_err *err);

#endif
