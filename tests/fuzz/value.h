/*
 * The frame of a target for a value of the records, with <name>_parse and <name>_print:
 * what is accepted is printed in one way only, and read again as the same; what is
 * refused leaves nothing behind.
 */
#ifndef TESTS_FUZZ_VALUE_H
#define TESTS_FUZZ_VALUE_H

#include <string.h>

#include "store/base/arena.h"
#include "store/base/buf.h"
#include "tests/fuzz/fuzz.h"

enum { FUZZ_UNTOUCHED = 0x5a };

struct fuzz_value {
	size_t size;       /* bytes of the struct */
	size_t bytes_max;  /* as it is printed */
	bool may_be_large; /* an accepted value may be too large once it is printed */
	enum pl_code (*parse)(struct pl_span text, struct pl_arena *arena, void *out,
	                      struct pl_err *err);
	enum pl_code (*print)(const void *value, struct pl_buf *out, struct pl_err *err);
};

static inline void fuzz_value_again(const struct fuzz_value *what, void *value,
                                    struct pl_arena *arena, struct pl_span text)
{
	struct pl_err err = {0};
	struct pl_buf again;
	enum pl_code code;

	pl_buf_init(&again, what->bytes_max);
	code = what->parse(text, arena, value, &err);
	PL_ASSERT(code == PL_OK);
	code = what->print(value, &again, &err);
	PL_ASSERT(code == PL_OK);
	PL_ASSERT(pl_span_eq(text, pl_buf_span(&again)));
	pl_buf_done(&again);
}

static inline bool fuzz_value_untouched(const struct fuzz_value *what, const void *value)
{
	const uint8_t *at = value;

	for (size_t i = 0; i < what->size; i++)
		if (at[i] != FUZZ_UNTOUCHED)
			return false;
	return true;
}

static inline int fuzz_value(const struct fuzz_value *what, void *value,
                             const uint8_t *data, size_t size)
{
	struct pl_arena arena;
	struct pl_buf text;
	struct pl_err err = {0};
	enum pl_code code;

	memset(value, FUZZ_UNTOUCHED, what->size);
	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&text, what->bytes_max);
	code = what->parse(pl_span(data, size), &arena, value, &err);
	PL_ASSERT(code == err.code && code != PL_NOMEM);
	if (code == PL_OK) {
		code = what->print(value, &text, &err);
		PL_ASSERT(code == PL_OK || (code == PL_LIMIT && what->may_be_large));
	} else {
		PL_ASSERT(fuzz_value_untouched(what, value));
	}
	if (code == PL_OK)
		fuzz_value_again(what, value, &arena, pl_buf_span(&text));
	pl_buf_done(&text);
	pl_arena_done(&arena);
	return 0;
}

/* The whole target. */
#define FUZZ_VALUE(type, name, most, large)                                       \
	static enum pl_code parse_it(struct pl_span text, struct pl_arena *arena, \
	                             void *out, struct pl_err *err)               \
	{                                                                         \
		return name##_parse(text, arena, out, err);                       \
	}                                                                         \
	static enum pl_code print_it(const void *value, struct pl_buf *out,       \
	                             struct pl_err *err)                          \
	{                                                                         \
		return name##_print(value, out, err);                             \
	}                                                                         \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)              \
	{                                                                         \
		static const struct fuzz_value what = {.size = sizeof(type),      \
		                                       .bytes_max = (most),       \
		                                       .may_be_large = (large),   \
		                                       .parse = parse_it,         \
		                                       .print = print_it};        \
		type value;                                                       \
                                                                                  \
		return fuzz_value(&what, &value, data, size);                     \
	}

#endif
