/* A moment between two looks. */
#ifndef COORD_CLI_REST_H
#define COORD_CLI_REST_H

#include "coord/cli/reach/store_session.h"

/* Runs the loop for that long. */
PL_NODISCARD enum pl_code rest(struct store_session *session, uint64_t ms,
                               struct pl_err *err);

#endif
