/*
 * Pod find: the partition that the schedule of a named pod stands in, whether its name
 * falls there or a pointer leads there.
 */
#ifndef COORD_SERVICE_PODS_POD_FIND_H
#define COORD_SERVICE_PODS_POD_FIND_H

#include "coord/service/base/service.h"
#include "coord/service/pods/pod_filter.h"

struct pod_find;

/* PL_NOTFOUND: there is no such pod. partition counts only without err. */
typedef void pod_find_fn(void *ctx, uint32_t partition, const struct pl_err *err);

PL_NODISCARD enum pl_code pod_find_start(const struct service *service,
                                         const struct pod_name *name, pod_find_fn *done,
                                         void *ctx, struct pod_find **out,
                                         struct pl_err *err);
void pod_find_cancel(struct pod_find *find);

#endif
