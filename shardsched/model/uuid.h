/*
 * A UUID in 16 bytes, for UUIDs that are not compared as strings. Only the text form
 * "6ba7b810-9dad-51d1-80b4-00c04fd430c8" in lower case is accepted, so that the UUID is
 * printed as it was read.
 */
#ifndef SHARDSCHED_MODEL_UUID_H
#define SHARDSCHED_MODEL_UUID_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/span.h"

enum { UUID_SIZE = 16, UUID_TEXT_LEN = 36 };

/* False: the text is no UUID, and out is unchanged. */
bool uuid_read(struct pl_span text, uint8_t out[UUID_SIZE]);
/* A span of out, without a NUL byte. */
struct pl_span uuid_print(const uint8_t uuid[UUID_SIZE], char out[UUID_TEXT_LEN]);

#endif
