/*
 * Runs of plain bytes in JSON strings: printable ASCII but the quote and the backslash.
 * Most strings are such a run from end to end, and most of the time of reading and
 * writing JSON goes into finding that.
 */
#ifndef STORE_BASE_JSON_PLAIN_H
#define STORE_BASE_JSON_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The top bits of the bytes that are something else; 0: all eight are plain. Each term has
 * the top bit of a byte set if that byte, or one below it, is below 0x20, a quote or a
 * backslash: so the lowest bit that is set is always right. */
static inline uint64_t pl_json_plain_stops(uint64_t word)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones * 0x80;
	uint64_t quote = word ^ ones * '"', slash = word ^ ones * '\\';

	return (((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote) |
	        ((slash - ones) & ~slash) | word) &
	       tops;
}

static inline bool pl_json_plain_byte(uint8_t byte)
{
	return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/* The number of plain bytes that the text begins with. */
static inline size_t pl_json_plain_run(const uint8_t *at, size_t len)
{
	size_t run = 0;
	uint64_t word, stops;

	while (len - run >= sizeof word) {
		memcpy(&word, at + run, sizeof word);
		stops = pl_json_plain_stops(word);
		if (stops != 0) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
			return run + (size_t)__builtin_ctzll(stops) / 8;
#else
			break;
#endif
		}
		run += sizeof word;
	}
	while (run < len && pl_json_plain_byte(at[run]))
		run++;
	return run;
}

#endif
