/* Internals of the workload: its objects as JSON in the arena; NULL: no memory. */
#ifndef TESTS_SUPPORT_COORD_WORK_WORKLOAD_INT_H
#define TESTS_SUPPORT_COORD_WORK_WORKLOAD_INT_H

#include "store/base/arena.h"
#include "tests/support/coord/work/workload.h"

char *workload_node_json(struct pl_arena *arena, uint32_t node);
char *workload_pod_json(const struct workload_spec *workload, struct pl_arena *arena,
                        uint32_t pod);

#endif
