#include "coord/api/base/go_quote.h"

#include <stdio.h>

#include "store/base/utf8.h"

enum { ESCAPE_MAX = 8 }; /* "\u00a0" with a NUL, and room */

/* The letter behind the backslash; 0: there is none. */
static char letter_of(uint8_t byte)
{
	static const char from[] = "\a\b\f\n\r\t\v\\\"", to[] = "abfnrtv\\\"";
	const char *at = byte == 0 ? NULL : strchr(from, byte);

	if (at == NULL)
		return 0;
	return to[at - from];
}

/* Prints the character at the start of text and returns how many bytes of the text the
 * character takes. */
static size_t quote_char(struct pl_span text, char out[ESCAPE_MAX], size_t *len)
{
	uint8_t byte = text.at[0];
	size_t take = pl_utf8_char(text.at, text.len);
	char letter = letter_of(byte);
	/* C1 controls and the space that does not break are not printable. */
	bool c1 = take == 2 && byte == 0xc2 && text.at[1] <= 0xa0;

	if (letter != 0) {
		out[0] = '\\';
		out[1] = letter;
		*len = 2;
		return 1;
	}
	if (c1) {
		*len = (size_t)snprintf(out, ESCAPE_MAX, "\\u%04x", text.at[1]);
		return 2;
	}
	if (take == 0 || byte < 0x20 || byte == 0x7f) {
		*len = (size_t)snprintf(out, ESCAPE_MAX, "\\x%02x", byte);
		return 1;
	}
	memcpy(out, text.at, take);
	*len = take;
	return take;
}

static size_t quoted_size(struct pl_span text)
{
	char piece[ESCAPE_MAX];
	size_t size = 3, len;

	while (text.len > 0) {
		size_t take = quote_char(text, piece, &len);

		size += len;
		text = pl_span(text.at + take, text.len - take);
	}
	return size;
}

const char *go_quote(struct pl_arena *arena, struct pl_span text)
{
	char *out = pl_arena_alloc(arena, quoted_size(text)), *at = out;
	char piece[ESCAPE_MAX];
	size_t len;

	if (out == NULL)
		return NULL;
	*at++ = '"';
	while (text.len > 0) {
		size_t take = quote_char(text, piece, &len);

		memcpy(at, piece, len);
		at += len;
		text = pl_span(text.at + take, text.len - take);
	}
	*at++ = '"';
	*at = 0;
	return out;
}
