#include "store/base/base64url.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

static void both(const char *bytes, const char *text)
{
	size_t len = strlen(bytes);
	char encoded[32] = {0};
	uint8_t decoded[32] = {0};

	T_EQ(pl_base64url_encoded(len), strlen(text));
	pl_base64url_encode(pl_span(bytes, len), encoded);
	T_STR(encoded, text);
	T_EQ(pl_base64url_decoded(strlen(text)), len);
	T_TRUE(pl_base64url_decode(pl_span_str(text), decoded));
	T_MEM(decoded, bytes, len);
}

T_CASE(the_vectors_of_the_rfc_without_padding)
{
	both("", "");
	both("f", "Zg");
	both("fo", "Zm8");
	both("foo", "Zm9v");
	both("foob", "Zm9vYg");
	both("fooba", "Zm9vYmE");
	both("foobar", "Zm9vYmFy");
	both("\xfb\xff\xbf", "-_-_");
}

T_CASE(other_texts_are_refused)
{
	static const char *const wrong[] = {"Z",      "Zg==", "Zg=",   "Zm9vY",
	                                    "Zm+v",   "Zm/v", "Zm 9",  "Zh",
	                                    "Zm9vYh", "Zm9",  "Z\x80", "Zm\n9"};
	uint8_t out[32];

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		if (pl_base64url_decode(pl_span_str(wrong[i]), out))
			t_fail(__FILE__, __LINE__, "%s is decoded", wrong[i]);
	T_TRUE(!pl_base64url_decode(pl_span("Z\0", 2), out));
}

T_CASE(all_bytes_survive)
{
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (unsigned round = 0; round < 2000; round++) {
		uint8_t bytes[64], back[64];
		char text[96];
		size_t len = (size_t)pl_rng_below(&rng, sizeof bytes + 1);

		for (size_t i = 0; i < len; i++)
			bytes[i] = (uint8_t)pl_rng_below(&rng, 256);
		pl_base64url_encode(pl_span(bytes, len), text);
		T_TRUE(pl_base64url_decode(pl_span(text, pl_base64url_encoded(len)),
		                           back));
		T_MEM(back, bytes, len);
	}
}
