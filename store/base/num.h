/*
 * Whole numbers read from text of people and other programs, and printed.
 *
 * The text must be the number and nothing else: decimal digits without spaces, plus sign,
 * leading zeros (some readers take them for octal) or a minus zero. So every number has
 * exactly one spelling, and printing a number that was read gives the same text.
 */
#ifndef STORE_BASE_NUM_H
#define STORE_BASE_NUM_H

#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum { PL_NUM_TEXT_SIZE = 24 }; /* room for any 64-bit number, its sign and a NUL */

/* PL_INVALID: text is no number. PL_LIMIT: it is beyond the type or the range. err may be
 * NULL. Its message quotes the text, cut and made printable. */
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

/* Print into PL_NUM_TEXT_SIZE bytes, without the cost of printf. Return the length; a NUL
 * follows. */
size_t pl_num_print_u64(char *out, uint64_t value);
size_t pl_num_print_i64(char *out, int64_t value);

#endif
