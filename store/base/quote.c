#include "store/base/quote.h"

#include "store/base/utf8.h"

static const char hex[] = "0123456789abcdef";

/* Prints one character of the text, and returns how many bytes of the text it was. */
static size_t quote_char(struct pl_span text, char out[4], size_t *len)
{
	size_t take = pl_utf8_char(text.at, text.len);
	uint8_t byte = text.at[0];
	/* C1 controls (U+0080 to U+009F) move cursors just like C0 controls. */
	bool c1 = take == 2 && byte == 0xc2 && text.at[1] < 0xa0;

	if (take > 0 && !c1 && byte >= 0x20 && byte != 0x7f && byte != '\'' &&
	    byte != '\\') {
		memcpy(out, text.at, take);
		*len = take;
		return take;
	}
	out[0] = '\\';
	out[1] = 'x';
	out[2] = hex[byte >> 4];
	out[3] = hex[byte & 15];
	*len = 4;
	return 1;
}

const char *pl_quote(struct pl_span text, char out[PL_QUOTE_SIZE])
{
	static const char cut[] = "...'";
	size_t at = 0, end = 0; /* end: where the output is cut if it does not fit */

	out[at++] = '\'';
	end = at;
	while (text.len > 0) {
		char piece[4];
		size_t len, take = quote_char(text, piece, &len);

		if (at + len + 2 > PL_QUOTE_SIZE) {
			memcpy(out + end, cut, sizeof cut);
			return out;
		}
		memcpy(out + at, piece, len);
		at += len;
		if (at + sizeof cut <= PL_QUOTE_SIZE)
			end = at;
		text.at += take;
		text.len -= take;
	}
	out[at++] = '\'';
	out[at] = 0;
	return out;
}
