#include "store/base/base64url.h"

void pl_base64url_encode(struct pl_span bytes, char *out)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint32_t bits = 0;
	unsigned have = 0;

	for (size_t i = 0; i < bytes.len; i++) {
		bits = bits << 8 | bytes.at[i];
		for (have += 8; have >= 6; have -= 6)
			*out++ = alphabet[bits >> (have - 6) & 63];
	}
	if (have > 0)
		*out = alphabet[bits << (6 - have) & 63];
}

/* The value of a character; -1: it is none of the alphabet. */
static int value_of(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '-')
		return 62;
	return c == '_' ? 63 : -1;
}

bool pl_base64url_decode(struct pl_span text, uint8_t *out)
{
	uint32_t bits = 0;
	unsigned have = 0;

	if (text.len % 4 == 1)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		int value = value_of(text.at[i]);

		if (value < 0)
			return false;
		bits = bits << 6 | (uint32_t)value;
		have += 6;
		if (have >= 8) {
			have -= 8;
			*out++ = (uint8_t)(bits >> have);
		}
	}
	return (bits & ((1U << have) - 1)) == 0;
}
