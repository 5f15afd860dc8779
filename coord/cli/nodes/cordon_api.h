/* placet nodes cordon and uncordon, of the API. */
#ifndef COORD_CLI_NODES_CORDON_API_H
#define COORD_CLI_NODES_CORDON_API_H

#include "coord/cli/session/api_session.h"

PL_NODISCARD enum pl_code cordon_api(struct api_session *api, bool cordon,
                                     struct pl_err *err);

#endif
