/*
 * Timestamps of the wall clock in one spelling of RFC 3339: "2026-11-21T05:00:00.000Z",
 * which is UTC with milliseconds.
 */
#ifndef STORE_BASE_TIMESTAMP_H
#define STORE_BASE_TIMESTAMP_H

#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum { PL_TIMESTAMP_SIZE = 25 }; /* with a NUL */

#define PL_TIMESTAMP_MS_MAX INT64_C(253402300799999) /* the end of the year 9999 */

/* Prints milliseconds since 1970. A time outside the years 1970 to 9999 becomes the
 * nearest time inside. Returns out. */
const char *pl_timestamp_print(int64_t ms, char out[PL_TIMESTAMP_SIZE]);

PL_NODISCARD enum pl_code pl_timestamp_parse(struct pl_span text, int64_t *out,
                                             struct pl_err *err);

#endif
