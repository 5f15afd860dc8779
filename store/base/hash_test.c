#include "store/base/hash.h"
#include "tests/harness/t.h"

/* The vectors are from the paper's appendix and its reference: key 00..0f, message 00,
 * 01, 02, ... of each length. */
T_CASE(hashes_match_the_published_vectors)
{
	static const struct pl_hash_key key = {UINT64_C(0x0706050403020100),
	                                       UINT64_C(0x0f0e0d0c0b0a0908)};
	uint8_t text[16];

	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (uint8_t)i;
	T_TRUE(pl_hash_keyed(pl_span(NULL, 0), key) == UINT64_C(0x726fdb47dd0e0e31));
	T_TRUE(pl_hash_keyed(pl_span(text, 1), key) == UINT64_C(0x74f839c593dc67fd));
	T_TRUE(pl_hash_keyed(pl_span(text, 7), key) == UINT64_C(0xab0200f58b01d137));
	T_TRUE(pl_hash_keyed(pl_span(text, 8), key) == UINT64_C(0x93f5f5799a932462));
	T_TRUE(pl_hash_keyed(pl_span(text, 15), key) == UINT64_C(0xa129ca6149be45e5));
}

T_CASE(alignment_does_not_matter)
{
	struct pl_span name = PL_SPAN_LIT("cluster-a/node-0001");
	uint8_t text[64];

	for (size_t from = 0; from < 8; from++) {
		memcpy(text + from, name.at, name.len);
		T_TRUE(pl_hash(pl_span(text + from, name.len)) == pl_hash(name));
	}
}

T_CASE(process_key_does_not_change)
{
	struct pl_hash_key one = pl_hash_process_key(), two = pl_hash_process_key();

	T_TRUE(one.k0 == two.k0 && one.k1 == two.k1 && (one.k0 | one.k1) != 0);
}
