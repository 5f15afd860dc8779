/* Internals of the workload: its objects as JSON in the arena; NULL: no memory. */
#ifndef COORD_WORK_WORKLOAD_INT_H
#define COORD_WORK_WORKLOAD_INT_H

#include "coord/work/workload.h"
#include "store/base/arena.h"

char *workload_node_json(struct pl_arena *arena, uint32_t node);
char *workload_pod_json(const struct workload_spec *workload, struct pl_arena *arena,
                        uint32_t pod);

#endif
