/*
 * The JSON of values that every commit writes, straight into a buffer: json_out.h takes
 * five times as long, and one commit writes hundreds of them.
 *
 * The first failure sticks and what follows does nothing. Every element is written with a
 * comma behind it, and the bracket that closes takes the last one's place. What is left
 * half written is taken back at the end.
 */
#ifndef SHARDSCHED_RECORDS_VALUE_WRITER_H
#define SHARDSCHED_RECORDS_VALUE_WRITER_H

#include <stdbool.h>

#include "store/base/buf.h"
#include "store/base/num.h"

struct value_writer {
	struct pl_buf *buf;
	uint8_t *at, *end; /* next byte to write; end of the reserved room */
	size_t begun;      /* length of the buffer before the value */
	enum pl_code code;
};

void value_writer_begin(struct value_writer *out, struct pl_buf *buf);
/* PL_OK: the value, of at most bytes_max, is in the buffer without the last comma. Else
 * the buffer is as it was. */
PL_NODISCARD enum pl_code value_writer_end(struct value_writer *out, size_t bytes_max);

void value_writer_fail(struct value_writer *out, enum pl_code code);
/* False after a failure. */
bool value_writer_grow(struct value_writer *out, size_t more);

/* Adds the text in quotes; bytes that are not UTF-8 become U+FFFD. */
void value_writer_escaped(struct value_writer *out, struct pl_span text);
/* Adds the time in quotes: "2026-11-21T05:00:00.000Z". */
void value_writer_stamp(struct value_writer *out, int64_t ms);
/* Adds the closing bracket, and a comma. */
void value_writer_close(struct value_writer *out, char bracket);

static inline void value_writer_raw(struct value_writer *out, const void *at, size_t len)
{
	if ((size_t)(out->end - out->at) < len && !value_writer_grow(out, len))
		return;
	memcpy(out->at, at, len);
	out->at += len;
}

#define VALUE_WRITER_LIT(out, text) value_writer_raw(out, text, sizeof(text) - 1)

/* Classes of bytes. */
enum {
	TEXT_PLAIN = 1, /* ASCII without controls and spaces, which a JSON string has
			 * unescaped */
	TEXT_NAME = 2,  /* an RFC 1123 name */
};
extern const uint8_t text_classes[256];

static inline bool text_is(struct pl_span text, unsigned class)
{
	unsigned classes = class;

	for (size_t i = 0; i < text.len; i++)
		classes &= text_classes[text.at[i]];
	return classes != 0;
}

/* Adds the text without quotes. PL_INVALID: it is empty, or has a byte outside the
 * class. */
static inline void value_writer_word(struct value_writer *out, struct pl_span text,
                                     unsigned class)
{
	if (text.len == 0 || !text_is(text, class))
		value_writer_fail(out, PL_INVALID);
	else
		value_writer_raw(out, text.at, text.len);
}

static inline void value_writer_number(struct value_writer *out, uint64_t value)
{
	char text[PL_NUM_TEXT_SIZE];

	value_writer_raw(out, text, pl_num_print_u64(text, value));
}

#endif
