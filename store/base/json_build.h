/* The tree of a JSON text that the scan has accepted (json_scan.h). */
#ifndef STORE_BASE_JSON_BUILD_H
#define STORE_BASE_JSON_BUILD_H

#include "store/base/arena.h"
#include "store/base/span.h"

struct cJSON;

/* All of it is in the arena, and nothing of it in text. NULL: no memory. */
const struct cJSON *json_build(struct pl_arena *arena, struct pl_span text);

#endif
