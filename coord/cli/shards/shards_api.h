/* placet shards and placet partitions, of the API. */
#ifndef COORD_CLI_SHARDS_SHARDS_API_H
#define COORD_CLI_SHARDS_SHARDS_API_H

#include "coord/cli/session/api_session.h"

PL_NODISCARD enum pl_code shards_api(struct api_session *api, struct pl_err *err);
PL_NODISCARD enum pl_code partitions_api(struct api_session *api, bool summary,
                                         struct pl_err *err);

#endif
