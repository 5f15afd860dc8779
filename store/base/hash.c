#include "store/base/hash.h"

#include <pthread.h>

#include "store/base/err.h"
#include "store/base/rng.h"

struct sip_state {
	uint64_t v0, v1, v2, v3;
};

static uint64_t rotl(uint64_t x, unsigned by)
{
	return (x << by) | (x >> (64 - by));
}

static inline void sip_round(struct sip_state *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = rotl(s->v1, 13) ^ s->v0;
	s->v3 = rotl(s->v3, 16) ^ s->v2;
	s->v0 = rotl(s->v0, 32);
	s->v2 += s->v1;
	s->v0 += s->v3;
	s->v1 = rotl(s->v1, 17) ^ s->v2;
	s->v3 = rotl(s->v3, 21) ^ s->v0;
	s->v2 = rotl(s->v2, 32);
}

static inline void sip_word(struct sip_state *s, uint64_t word)
{
	s->v3 ^= word;
	sip_round(s);
	sip_round(s);
	s->v0 ^= word;
}

/* Little-endian on every machine; compilers turn it into one load. */
static inline uint64_t load_word(const uint8_t *at, size_t len)
{
	uint64_t word = 0;

	for (size_t i = 0; i < len; i++)
		word |= (uint64_t)at[i] << (8 * i);
	return word;
}

uint64_t pl_hash_keyed(struct pl_span bytes, struct pl_hash_key key)
{
	struct sip_state s = {
		.v0 = key.k0 ^ UINT64_C(0x736f6d6570736575),
		.v1 = key.k1 ^ UINT64_C(0x646f72616e646f6d),
		.v2 = key.k0 ^ UINT64_C(0x6c7967656e657261),
		.v3 = key.k1 ^ UINT64_C(0x7465646279746573),
	};
	size_t whole = bytes.len / 8 * 8;

	for (size_t i = 0; i < whole; i += 8)
		sip_word(&s, load_word(bytes.at + i, 8));
	sip_word(&s, (uint64_t)bytes.len << 56 |
	                     (whole == bytes.len
	                              ? 0
	                              : load_word(bytes.at + whole, bytes.len - whole)));
	s.v2 ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t pl_hash(struct pl_span bytes)
{
	return pl_hash_keyed(bytes, (struct pl_hash_key){0, 0});
}

static struct pl_hash_key process_key;

static void make_process_key(void)
{
	process_key.k0 = pl_rng_seed_random();
	process_key.k1 = pl_rng_seed_random();
}

struct pl_hash_key pl_hash_process_key(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int rc = pthread_once(&once, make_process_key);

	PL_ASSERT(rc == 0);
	return process_key;
}
