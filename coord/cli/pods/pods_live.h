/* placet get pods --watch: the pods that are there, then a line for each that comes,
 * changes or goes, until the command is stopped. */
#ifndef COORD_CLI_PODS_LIVE_H
#define COORD_CLI_PODS_LIVE_H

#include "coord/cli/pods/pod_pick.h"
#include "coord/cli/reach/reach.h"

PL_NODISCARD enum pl_code pods_live(const struct reach *reach,
                                    const struct pod_pick *pick, struct pl_err *err);

#endif
