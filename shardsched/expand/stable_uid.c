#include "shardsched/expand/stable_uid.h"

#include <string.h>

#include "store/base/compiler.h"
#include "store/base/hash.h"

enum { BYTES = 16 };

/* The hash of the parts' hashes and of which half it is: no part can run over into the
 * next one. */
static uint64_t half_hash(const struct pl_span *parts, unsigned count, uint8_t which)
{
	uint8_t text[STABLE_UID_PARTS_MAX * 8 + 1];
	size_t len = 0;

	for (unsigned i = 0; i < count; i++) {
		uint64_t hash = pl_hash(parts[i]);

		for (unsigned byte = 0; byte < 8; byte++)
			text[len++] = (uint8_t)(hash >> (byte * 8));
	}
	text[len++] = which;
	return pl_hash(pl_span(text, len));
}

void stable_uid_print(const struct pl_span *parts, unsigned count, char out[UID_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	uint64_t halves[2];
	uint8_t bytes[BYTES];
	unsigned at = 0;

	PL_ASSERT(count > 0 && count <= STABLE_UID_PARTS_MAX);
	halves[0] = half_hash(parts, count, 0);
	halves[1] = half_hash(parts, count, 1);
	for (unsigned i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(halves[i / 8] >> (i % 8 * 8));
	bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x50); /* version 5 */
	bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80); /* the usual variant */
	for (unsigned i = 0; i < BYTES; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[at++] = '-';
		out[at++] = digits[bytes[i] >> 4];
		out[at++] = digits[bytes[i] & 15];
	}
	out[at] = 0;
	PL_ASSERT(at == UID_SIZE - 1);
}

void stable_uid_word(uint64_t hash, char out[STABLE_UID_WORD_SIZE])
{
	/* The letters of Kubernetes' generated names: no vowels, and no characters that
	 * look alike. */
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	uint64_t left = hash;

	for (unsigned i = 0; i < STABLE_UID_WORD_SIZE - 1; i++) {
		out[i] = letters[left % (sizeof letters - 1)];
		left /= sizeof letters - 1;
	}
	out[STABLE_UID_WORD_SIZE - 1] = 0;
}
