/*
 * The logarithm of a hash, in integers only. The results of libm differ between
 * machines in the last bits, and two shards that disagree on the winner of a partition
 * would pass it to each other again and again.
 */
#ifndef COORD_ASSIGN_LOG2_H
#define COORD_ASSIGN_LOG2_H

#include <stdbool.h>
#include <stdint.h>

enum { ASSIGN_LOG_BITS = 38 };

/* -log2(hash / 2^64) with ASSIGN_LOG_BITS bits of fraction; a hash of 0 counts as 1.
 * The result is between 1 and 64 << ASSIGN_LOG_BITS, never below the true value and at
 * most two units above it. */
uint64_t assign_log2(uint64_t hash);

/* Whether assign_log2(hash) <= most. A few binary digits usually decide it. */
bool assign_log2_at_most(uint64_t hash, uint64_t most);

/* A lower bound of assign_log2(hash) that is cheap to compute: 1 - x < -ln(x). */
static inline uint64_t assign_log2_least(uint64_t hash)
{
	uint64_t rest = (hash == 0 ? UINT64_MAX : 0 - hash) >> (64 - ASSIGN_LOG_BITS);

	return rest + (rest >> 2) + (rest >> 3) + (rest >> 4); /* 1/ln(2) is 1.4426... */
}

#endif
