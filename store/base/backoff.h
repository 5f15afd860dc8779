/*
 * The pause before another attempt: exponential, with jitter, so that clients that failed
 * together do not come back together.
 */
#ifndef STORE_BASE_BACKOFF_H
#define STORE_BASE_BACKOFF_H

#include "store/base/rng.h"

/* min_ms doubled for each of so many failures in a row before this one, at most max_ms:
 * the pause without jitter, for cores that draw nothing at random. */
static inline uint64_t pl_doubled_ms(uint32_t failures, uint64_t min_ms, uint64_t max_ms)
{
	uint64_t ms = min_ms;

	for (uint32_t i = 0; i < failures && ms < max_ms; i++)
		ms *= 2;
	return ms < max_ms ? ms : max_ms;
}

/* The same, of which a random part of up to a half is taken off. */
static inline uint64_t pl_backoff_ms(struct pl_rng *rng, uint32_t failures,
                                     uint64_t min_ms, uint64_t max_ms)
{
	uint64_t ms = pl_doubled_ms(failures, min_ms, max_ms);

	return ms / 2 + pl_rng_below(rng, ms / 2 + 1);
}

#endif
