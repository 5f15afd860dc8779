/* Where the pod of a name stands, whether the name leads elsewhere or not. */
#ifndef COORD_CLI_POD_LOCATE_H
#define COORD_CLI_POD_LOCATE_H

#include "coord/cli/reach/reach.h"

/* *out: the partition of its schedule. PL_NOTFOUND: there is no such pod. */
PL_NODISCARD enum pl_code pod_locate(const struct reach *reach, struct pl_span space,
                                     struct pl_span name, uint32_t *out,
                                     struct pl_err *err);

#endif
