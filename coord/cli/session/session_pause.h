/* A pause of a command between two reads. */
#ifndef COORD_CLI_SESSION_SESSION_PAUSE_H
#define COORD_CLI_SESSION_SESSION_PAUSE_H

#include "coord/cli/session/store_session.h"

/* Runs the loop for that long. */
PL_NODISCARD enum pl_code session_pause(struct store_session *session, uint64_t ms,
                                        struct pl_err *err);

#endif
