/*
 * Whole numbers from text that people or other programs wrote.
 *
 * The text is the number and nothing else: decimal digits, no spaces, no plus
 * sign, no leading zeros (they are octal to some), no minus zero. So every
 * number has exactly one spelling, and what was read prints the same.
 */
#ifndef STORE_BASE_NUM_H
#define STORE_BASE_NUM_H

#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum { PL_NUM_TEXT_SIZE = 24 }; /* any 64-bit number, its sign and a NUL */

/* PL_INVALID: not a number; PL_LIMIT: beyond the type or the range.
 * err may be NULL; its message quotes the text, cut and made printable. */
PL_NODISCARD enum pl_code pl_num_u64(struct pl_span text, uint64_t *out,
                                     struct pl_err *err);
PL_NODISCARD enum pl_code pl_num_i64(struct pl_span text, int64_t *out,
                                     struct pl_err *err);
PL_NODISCARD enum pl_code pl_num_u64_in(struct pl_span text, uint64_t low, uint64_t high,
                                        uint64_t *out, struct pl_err *err);
PL_NODISCARD enum pl_code pl_num_i64_in(struct pl_span text, int64_t low, int64_t high,
                                        int64_t *out, struct pl_err *err);

/* 1 to 65535. */
PL_NODISCARD enum pl_code pl_num_port(struct pl_span text, uint16_t *out,
                                      struct pl_err *err);

/* Without the cost of printf, into PL_NUM_TEXT_SIZE bytes; gives the length, a NUL
 * follows. */
size_t pl_num_print_u64(char *out, uint64_t value);
size_t pl_num_print_i64(char *out, int64_t value);

#endif
