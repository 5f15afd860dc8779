/* placet wait --for=delete: until pods do not exist any more. */
#ifndef COORD_CLI_PODS_WAIT_GONE_H
#define COORD_CLI_PODS_WAIT_GONE_H

#include "coord/cli/input/pods_args.h"
#include "coord/cli/session/cli_session.h"

/* Waits for the named pods, and the pods in files. A pod that does not exist is
 * gone. */
PL_NODISCARD enum pl_code wait_gone(const struct cli_session *cli,
                                    const struct pods_args *given, uint64_t timeout_ms,
                                    struct pl_err *err);

#endif
