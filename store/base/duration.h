/*
 * Durations as Go writes them, and so etcd and Kubernetes: "1h30m", "250ms", "1.5s",
 * "-3us", "0".
 *
 * The units are ns, us (also µs and μs), ms, s, m and h. Digits finer than a nanosecond
 * are dropped, as Go does. The arithmetic is in integers.
 */
#ifndef STORE_BASE_DURATION_H
#define STORE_BASE_DURATION_H

#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum { PL_DURATION_TEXT_SIZE = 32 };

/* PL_INVALID: text is no duration. PL_LIMIT: it does not fit into 64 bits of
 * nanoseconds. */
PL_NODISCARD enum pl_code pl_duration_ns(struct pl_span text, int64_t *out,
                                         struct pl_err *err);

/* For options: a whole number of milliseconds between low_ms and high_ms. */
PL_NODISCARD enum pl_code pl_duration_ms(struct pl_span text, uint64_t low_ms,
                                         uint64_t high_ms, uint64_t *out,
                                         struct pl_err *err);

/* Prints like Go: "1h30m0s", "1.5s", "250ms", "0s". Returns out, which must have room for
 * PL_DURATION_TEXT_SIZE bytes. */
const char *pl_duration_print(int64_t ns, char *out);

#endif
