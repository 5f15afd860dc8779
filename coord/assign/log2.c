#include "coord/assign/log2.h"

__extension__ typedef unsigned __int128 wide;

/* Squaring a number from 1 to 2 doubles its logarithm: where the square is 2 or more
 * the next binary digit is 1, and half of it goes on. What is cut off makes the digits
 * too small, if anything, by less than 2^-61 in all. */
uint64_t assign_log2(uint64_t hash)
{
	unsigned zeros = (unsigned)__builtin_clzll(hash | 1);
	uint64_t mantissa = (hash == 0 ? 1 : hash) << zeros; /* 1 is 2^63 */
	uint64_t digits = 0;

	for (unsigned i = 0; i < ASSIGN_LOG_BITS; i++) {
		wide square = (wide)mantissa * mantissa;
		unsigned digit = (unsigned)(square >> 127);

		mantissa = (uint64_t)(square >> (63 + digit));
		digits = digits << 1 | digit;
	}
	return ((uint64_t)(zeros + 1) << ASSIGN_LOG_BITS) - digits;
}
