#include "store/base/rng.h"

#include <errno.h>
#include <sys/random.h>

#include "store/base/err.h"

static uint64_t rotl(uint64_t x, unsigned by)
{
	return (x << by) | (x >> (64 - by));
}

/* SplitMix64 spreads even the seeds 0, 1 and 2 over the whole state. */
void pl_rng_init(struct pl_rng *rng, uint64_t seed)
{
	for (unsigned i = 0; i < 4; i++)
		rng->state[i] = pl_rng_mix(seed += UINT64_C(0x9e3779b97f4a7c15));
}

uint64_t pl_rng_next(struct pl_rng *rng)
{
	uint64_t *s = rng->state;
	uint64_t result = rotl(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

uint64_t pl_rng_below(struct pl_rng *rng, uint64_t bound)
{
	uint64_t floor, x;

	PL_ASSERT(bound > 0);
	/* 2^64 mod bound; draws below it would be the bias */
	floor = (0 - bound) % bound;
	do
		x = pl_rng_next(rng);
	while (x < floor);
	return x % bound;
}

uint64_t pl_rng_between(struct pl_rng *rng, uint64_t low, uint64_t high)
{
	PL_ASSERT(low <= high);
	if (high - low == UINT64_MAX)
		return pl_rng_next(rng);
	return low + pl_rng_below(rng, high - low + 1);
}

bool pl_rng_chance(struct pl_rng *rng, uint64_t count, uint64_t outof)
{
	return pl_rng_below(rng, outof) < count;
}

uint64_t pl_rng_seed_random(void)
{
	uint64_t seed = 0;
	ssize_t got;

	do /* a signal may interrupt while the system gathers its first entropy */
		got = getrandom(&seed, sizeof seed, 0);
	while (got < 0 && errno == EINTR);
	PL_ASSERT(got == (ssize_t)sizeof seed); /* cannot fail for 8 bytes */
	return seed;
}
