/* placet top conflicts, of the API: what each shard has placed, and how often placements
 * conflicted. Causes and nodes are in the store alone. */
#ifndef COORD_CLI_TOP_TOP_API_H
#define COORD_CLI_TOP_TOP_API_H

#include "coord/cli/session/api_session.h"

PL_NODISCARD enum pl_code top_api(struct api_session *api, struct pl_err *err);

#endif
