/* Which versions a configuration had, and their contents. */
#ifndef COORD_CLI_CONFIG_PAST_H
#define COORD_CLI_CONFIG_PAST_H

#include "coord/cli/config/config_ops.h"

struct config_past {
	uint64_t current; /* 0: the default */
	uint64_t before;  /* the newest one below current; 0: there is none */
};

PL_NODISCARD enum pl_code config_past_find(struct store_session *session,
                                           enum config_name name, struct config_past *out,
                                           struct pl_err *err);

/* Version 0 is the default. PL_NOTFOUND. */
PL_NODISCARD enum pl_code config_past_content(struct store_session *session,
                                              enum config_name name, uint64_t version,
                                              struct pl_json *out, struct pl_err *err);

#endif
