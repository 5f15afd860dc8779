/*
 * A wait: a command stands still until an operation of coord/service has ended. The loop
 * of the session is run here, and nowhere else for an operation.
 */
#ifndef COORD_CLI_SESSION_CLI_WAIT_H
#define COORD_CLI_SESSION_CLI_WAIT_H

#include "coord/cli/session/store_session.h"

/* A wait is all zero before its operation is started. */
struct cli_wait {
	bool over;
	struct pl_err err;
};

/* The operation's done callback calls this, or is this; ctx is the wait. */
void cli_wait_end(void *ctx, const struct pl_err *err);

/* Runs the loop until cli_wait_end was called; gives its error. */
PL_NODISCARD enum pl_code cli_wait_for(struct store_session *session,
                                       const struct cli_wait *wait, struct pl_err *err);

#endif
