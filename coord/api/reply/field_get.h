/* Fields of objects by their paths: "spec.nodeName". A field of another type than the one
 * that is asked for counts as absent, so that any object can be shown. */
#ifndef COORD_API_REPLY_FIELD_GET_H
#define COORD_API_REPLY_FIELD_GET_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/json.h"

/* The path is a constant; each name in it is at most 63 bytes long and has no dot. */
struct pl_json field_at(struct pl_json object, const char *path);

/* NULL: absent. */
const char *field_text(struct pl_json object, const char *path);
const char *field_text_or(struct pl_json object, const char *path, const char *normal);
int64_t field_int(struct pl_json object, const char *path, int64_t normal);
bool field_bool(struct pl_json object, const char *path, bool normal);
/* Whether it is there, and is not null. */
bool field_is_set(struct pl_json object, const char *path);

#endif
