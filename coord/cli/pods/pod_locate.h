/* Where the pod of a name stands, whether the name leads elsewhere or not. */
#ifndef COORD_CLI_PODS_POD_LOCATE_H
#define COORD_CLI_PODS_POD_LOCATE_H

#include "coord/cli/session/cli_session.h"

/* *out: the partition of its schedule. PL_NOTFOUND: there is no such pod. */
PL_NODISCARD enum pl_code pod_locate(const struct cli_session *cli,
                                     struct pl_span namespace, struct pl_span name,
                                     uint32_t *out, struct pl_err *err);

#endif
