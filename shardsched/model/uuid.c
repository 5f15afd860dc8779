#include "shardsched/model/uuid.h"

#include <string.h>

static bool is_dash(unsigned at)
{
	return at == 8 || at == 13 || at == 18 || at == 23;
}

/* 16: no hexadecimal digit in lower case. */
static unsigned digit_of(uint8_t byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - (unsigned)'0';
	return byte >= 'a' && byte <= 'f' ? byte - (unsigned)'a' + 10 : 16;
}

bool uuid_read(struct pl_span text, uint8_t out[UUID_SIZE])
{
	uint8_t read[UUID_SIZE] = {0};
	unsigned digits = 0;

	if (text.len != UUID_TEXT_LEN)
		return false;
	for (unsigned at = 0; at < UUID_TEXT_LEN; at++) {
		unsigned digit = digit_of(text.at[at]);

		if (is_dash(at)) {
			if (text.at[at] != '-')
				return false;
			continue;
		}
		if (digit == 16)
			return false;
		read[digits / 2] = (uint8_t)(read[digits / 2] * 16U + digit);
		digits++;
	}
	memcpy(out, read, sizeof read);
	return true;
}

struct pl_span uuid_print(const uint8_t uuid[UUID_SIZE], char out[UUID_TEXT_LEN])
{
	unsigned digits = 0;
	int half;

	for (unsigned at = 0; at < UUID_TEXT_LEN; at++) {
		if (is_dash(at)) {
			out[at] = '-';
			continue;
		}
		half = digits % 2 == 0 ? uuid[digits / 2] >> 4 : uuid[digits / 2] & 15;
		out[at] = "0123456789abcdef"[half];
		digits++;
	}
	return pl_span(out, UUID_TEXT_LEN);
}
