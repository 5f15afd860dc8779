/* A moment as Kubernetes writes it: RFC 3339 with any offset and any fraction. */
#ifndef SHARDSCHED_MODEL_TIMESTAMP_H
#define SHARDSCHED_MODEL_TIMESTAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/span.h"

/* Milliseconds since 1970; what is finer is cut off. Years 1 to 9999. */
bool timestamp_parse(struct pl_span text, int64_t *out);

#endif
