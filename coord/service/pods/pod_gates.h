/* Whether a pod's spec, as it stands in the store, has scheduling gates. */
#ifndef COORD_SERVICE_PODS_POD_GATES_H
#define COORD_SERVICE_PODS_POD_GATES_H

#include <stdbool.h>

#include "store/base/span.h"

/* Most have none, which is seen without reading them. */
bool pod_has_gates(struct pl_span spec);

#endif
