/* Which versions a configuration had, and their contents. */
#ifndef COORD_CLI_CONFIG_CONFIG_VERSIONS_H
#define COORD_CLI_CONFIG_CONFIG_VERSIONS_H

#include "coord/cli/config/config_session.h"

struct config_versions {
	uint64_t current; /* 0: the default */
	uint64_t before;  /* the newest one below current; 0: there is none */
};

PL_NODISCARD enum pl_code config_versions_find(struct store_session *session,
                                               enum config_name name,
                                               struct config_versions *out,
                                               struct pl_err *err);

/* Version 0 is the default. PL_NOTFOUND. */
PL_NODISCARD enum pl_code config_versions_content(struct store_session *session,
                                                  enum config_name name, uint64_t version,
                                                  struct pl_json *out,
                                                  struct pl_err *err);

#endif
