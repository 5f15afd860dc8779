/* Random numbers from a seed: one seed gives the same numbers on every machine. */
#ifndef STORE_BASE_RNG_H
#define STORE_BASE_RNG_H

#include <stdbool.h>
#include <stdint.h>

/* SplitMix64's finalizer: close numbers get unrelated results, and no two numbers get the
 * same one. */
static inline uint64_t pl_rng_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* xoshiro256**, as a plain value: a copy forks the sequence. */
struct pl_rng {
	uint64_t state[4];
};

void pl_rng_init(struct pl_rng *rng, uint64_t seed);
uint64_t pl_rng_next(struct pl_rng *rng);

/* Uniform in [0, bound), without bias. bound must be greater than 0. */
uint64_t pl_rng_below(struct pl_rng *rng, uint64_t bound);

/* Uniform in [low, high]. */
uint64_t pl_rng_between(struct pl_rng *rng, uint64_t low, uint64_t high);

/* True in count out of outof cases. */
bool pl_rng_chance(struct pl_rng *rng, uint64_t count, uint64_t outof);

/* A seed from the operating system, for callers that have none. */
uint64_t pl_rng_seed_random(void);

#endif
