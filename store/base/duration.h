/*
 * Lengths of time as Go writes them, which is how etcd and Kubernetes do:
 * "1h30m", "250ms", "1.5s", "-3us", "0".
 *
 * Units: ns, us (also µs and μs), ms, s, m, h. Digits beyond a nanosecond are
 * dropped, as Go does; the arithmetic is in whole numbers.
 */
#ifndef STORE_BASE_DURATION_H
#define STORE_BASE_DURATION_H

#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum { PL_DURATION_TEXT_SIZE = 32 };

/* PL_INVALID: not a duration, PL_LIMIT: beyond 64 bits of nanoseconds. */
PL_NODISCARD enum pl_code pl_duration_ns(struct pl_span text, int64_t *out,
                                         struct pl_err *err);

/* For options: from low to high milliseconds, and nothing finer than one. */
PL_NODISCARD enum pl_code pl_duration_ms(struct pl_span text, uint64_t low_ms,
                                         uint64_t high_ms, uint64_t *out,
                                         struct pl_err *err);

/* As Go prints it: "1h30m0s", "1.5s", "250ms", "0s". Gives out, which has room for
 * PL_DURATION_TEXT_SIZE bytes. */
const char *pl_duration_print(int64_t ns, char *out);

#endif
