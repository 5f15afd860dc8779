/* The priority of a pod from its PriorityClass, as Kubernetes' admission computes it. */
#ifndef COORD_API_VERBS_POD_PRIORITY_H
#define COORD_API_VERBS_POD_PRIORITY_H

#include "coord/api/verbs/change.h"

/* Sets priority, priorityClassName and preemptionPolicy of the spec. False: it has been
 * answered. */
bool pod_admit_priority(struct change *change, struct cJSON *spec);

#endif
