/* Configurations of the API, as the store has them. The API tells the current version of
 * each, and not its history. */
#ifndef COORD_CLI_CONFIG_CONFIG_API_H
#define COORD_CLI_CONFIG_CONFIG_API_H

#include "coord/cli/session/api_session.h"
#include "coord/service/config/config_content.h"

/* Everything is in the arena. A version that cannot be read is found->current_err. */
PL_NODISCARD enum pl_code config_api_read(struct api_session *api, enum config_name name,
                                          struct pl_arena *arena,
                                          struct config_found *out, struct pl_err *err);

/* How the shards have received what config_api_read has found. */
PL_NODISCARD enum pl_code config_api_acceptance(struct api_session *api,
                                                enum config_name name, uint64_t version,
                                                struct config_acceptance *out,
                                                struct pl_err *err);

/* Writes the content (JSON) unless another version than expect is current by then: -1 for
 * any. *version: the one that is current afterwards. PL_CONFLICT. */
PL_NODISCARD enum pl_code config_api_write(struct api_session *api, enum config_name name,
                                           struct pl_span config, int64_t expect,
                                           uint64_t *version, struct pl_err *err);

#endif
