/* Chance from a seed: the same seed gives the same numbers on every machine. */
#ifndef STORE_BASE_RNG_H
#define STORE_BASE_RNG_H

#include <stdbool.h>
#include <stdint.h>

/* xoshiro256**. A plain value: copying it forks the sequence. */
struct pl_rng {
	uint64_t state[4];
};

void pl_rng_init(struct pl_rng *rng, uint64_t seed);
uint64_t pl_rng_next(struct pl_rng *rng);

/* Uniform in [0, bound), without bias. bound > 0. */
uint64_t pl_rng_below(struct pl_rng *rng, uint64_t bound);

/* Uniform in [low, high]. */
uint64_t pl_rng_between(struct pl_rng *rng, uint64_t low, uint64_t high);

/* True in count of outof cases. */
bool pl_rng_chance(struct pl_rng *rng, uint64_t count, uint64_t outof);

/* From the operating system: for seeds that nobody chose. */
uint64_t pl_rng_seed_random(void);

#endif
