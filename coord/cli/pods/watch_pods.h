/* placet get pods --watch: the pods that are there, then a line for each that comes,
 * changes or goes, until the command is stopped. */
#ifndef COORD_CLI_PODS_WATCH_PODS_H
#define COORD_CLI_PODS_WATCH_PODS_H

#include "coord/cli/pods/pod_pick.h"
#include "coord/cli/session/cli_session.h"

PL_NODISCARD enum pl_code watch_pods(const struct cli_session *cli,
                                     const struct pod_pick *pick, struct pl_err *err);

#endif
