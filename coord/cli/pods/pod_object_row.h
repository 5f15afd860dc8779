/* A pod of the API as a row, as get pods shows one of the store. */
#ifndef COORD_CLI_PODS_POD_OBJECT_ROW_H
#define COORD_CLI_PODS_POD_OBJECT_ROW_H

#include "coord/cli/output/output.h"
#include "store/base/json.h"

/* The row borrows from the object and the arena. PL_NOMEM. */
PL_NODISCARD enum pl_code pod_object_row(struct pl_json pod, int64_t now_ms,
                                         struct pl_arena *arena, struct output_row *out);

#endif
