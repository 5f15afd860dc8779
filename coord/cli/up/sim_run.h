/* A sim run is a simulated member in the foreground, until it is interrupted. */
#ifndef COORD_CLI_UP_SIM_RUN_H
#define COORD_CLI_UP_SIM_RUN_H

#include "coord/cli/session/cli_session.h"
#include "coord/up/sim_member.h"

/* Prints regularly, on stderr, how many pods run and have ended. PL_OK: it was
 * interrupted, or for_ms (0: no end) is over. */
PL_NODISCARD enum pl_code sim_run_member(const struct cli_session *cli,
                                         const struct sim_member_opts *opts,
                                         uint64_t for_ms, struct pl_err *err);

#endif
