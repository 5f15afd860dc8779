/* Inside the crowd: its objects as JSON, in the arena; NULL without memory. */
#ifndef COORD_WORK_CROWD_INT_H
#define COORD_WORK_CROWD_INT_H

#include "coord/work/crowd.h"
#include "store/base/arena.h"

char *crowd_node_json(struct pl_arena *arena, uint32_t node);
char *crowd_pod_json(const struct crowd *crowd, struct pl_arena *arena, uint32_t pod);

#endif
