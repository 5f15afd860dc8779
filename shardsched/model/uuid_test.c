#include <string.h>

#include "shardsched/model/uuid.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

static bool reads(const char *text)
{
	uint8_t out[UUID_SIZE] = {0};

	return uuid_read(pl_span_str(text), out);
}

T_CASE(uuid_is_printed_as_it_was_read)
{
	struct pl_span text = PL_SPAN_LIT("0b5c8a4e-0000-4000-8000-00000f0a9b77");
	uint8_t uuid[UUID_SIZE];
	char out[UUID_TEXT_LEN];

	T_TRUE(uuid_read(text, uuid));
	T_EQ(uuid[0], 0x0b);
	T_EQ(uuid[15], 0x77);
	T_SPAN(uuid_print(uuid, out), text);
}

T_CASE(other_spellings_of_a_uuid_are_refused)
{
	T_TRUE(reads("6ba7b810-9dad-51d1-80b4-00c04fd430c8"));
	T_TRUE(!reads(""));
	T_TRUE(!reads("u1"));
	T_TRUE(!reads("6BA7B810-9dad-51d1-80b4-00c04fd430c8"));
	T_TRUE(!reads("6ba7b810-9dad-51d1-80b4-00c04fd430c"));
	T_TRUE(!reads("6ba7b810-9dad-51d1-80b4-00c04fd430c80"));
	T_TRUE(!reads("6ba7b810-9dad-51d1-80b4-00c04fd430cg"));
	T_TRUE(!reads("6ba7b8109dad-51d1-80b4-00c04fd430c8-"));
	T_TRUE(!reads("6ba7b810-9dad-51d1-80b40-0c04fd430c8"));
	T_TRUE(!reads("-ba7b810-9dad-51d1-80b4-00c04fd430c8"));
}

T_CASE(any_sixteen_bytes_are_read_back)
{
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (unsigned i = 0; i < 10000; i++) {
		uint8_t is[UUID_SIZE], got[UUID_SIZE] = {0};
		char out[UUID_TEXT_LEN];

		for (unsigned n = 0; n < UUID_SIZE; n++)
			is[n] = (uint8_t)pl_rng_below(&rng, 256);
		T_TRUE(uuid_read(uuid_print(is, out), got));
		T_TRUE(memcmp(is, got, sizeof is) == 0);
	}
}
