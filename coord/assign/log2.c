#include "coord/assign/log2.h"

__extension__ typedef unsigned __int128 wide;

/* The state of the computation of -log2 of a number in [1, 2) over 2^shift, digit by
 * digit. */
struct log2_digits {
	uint64_t mantissa; /* the number, where 2^63 stands for 1 */
	uint64_t shift;    /* at least 1 */
	uint64_t digits;   /* binary digits of the logarithm so far */
};

static struct log2_digits digits_begin(uint64_t hash)
{
	unsigned zeros = (unsigned)__builtin_clzll(hash | 1);

	return (struct log2_digits){.mantissa = (hash == 0 ? 1 : hash) << zeros,
	                            .shift = zeros + 1};
}

/* Squaring a number in [1, 2) doubles its logarithm: if the square is 2 or more, the
 * next binary digit is 1 and the square is halved. Truncation makes the digits too
 * small by less than 2^-61 in all. */
static void digits_next(struct log2_digits *at)
{
	wide square = (wide)at->mantissa * at->mantissa;
	unsigned digit = (unsigned)(square >> 127);

	at->mantissa = (uint64_t)(square >> (63 + digit));
	at->digits = at->digits << 1 | digit;
}

uint64_t assign_log2(uint64_t hash)
{
	struct log2_digits at = digits_begin(hash);

	for (unsigned i = 0; i < ASSIGN_LOG_BITS; i++)
		digits_next(&at);
	return (at.shift << ASSIGN_LOG_BITS) - at.digits;
}

bool assign_log2_at_most(uint64_t hash, uint64_t most)
{
	struct log2_digits at = digits_begin(hash);
	uint64_t highest = at.shift << ASSIGN_LOG_BITS; /* all digits that are still
	                                                 * unknown taken as 0 */

	for (unsigned left = ASSIGN_LOG_BITS; highest > most; left--) {
		uint64_t lowest = highest - ((UINT64_C(1) << left) - 1);

		if (lowest > most)
			return false;
		digits_next(&at);
		highest = (at.shift << ASSIGN_LOG_BITS) - (at.digits << (left - 1));
	}
	return true;
}
