#include "store/net/http_chunked.h"

#include "store/net/http_guard.h"

enum { DIGITS_MAX = 15 };

static int digit_of(uint8_t byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte |= 0x20;
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static void line_reset(struct http_chunked *chunked, enum http_chunked_state state)
{
	chunked->state = state;
	chunked->line_len = 0;
	chunked->cr = chunked->colon = false;
}

static const char *size_end(struct http_chunked *chunked)
{
	if (chunked->digits == 0)
		return "a chunk has no size";
	chunked->digits = 0;
	chunked->last = chunked->left == 0;
	line_reset(chunked, chunked->last ? HTTP_CHUNKED_TRAILER : HTTP_CHUNKED_DATA);
	return NULL;
}

/* One byte of the line with a chunk's size. */
static const char *size_byte(struct http_chunked *chunked, uint8_t byte)
{
	int digit = digit_of(byte);

	if (chunked->cr)
		return byte == '\n' ? size_end(chunked) : "a chunk's size has a bare CR";
	if (++chunked->line_len > HTTP_CHUNKED_LINE_MAX)
		return "a chunk's extension is too long";
	if (byte == '\r') {
		chunked->cr = true;
		return NULL;
	}
	if (chunked->state == HTTP_CHUNKED_EXTENSION) {
		if (++chunked->extra_len > HTTP_CHUNKED_EXTRA_MAX)
			return "the chunks' extensions are too long";
		return http_guard_is_value(pl_span(&byte, 1))
		               ? NULL
		               : "a chunk's extension has a control character";
	}
	if (digit >= 0) {
		if (++chunked->digits > DIGITS_MAX)
			return "a chunk's size is too large";
		chunked->left = chunked->left << 4 | (unsigned)digit;
		return NULL;
	}
	if (byte != ';' || chunked->digits == 0)
		return "a chunk's size is no number";
	chunked->state = HTTP_CHUNKED_EXTENSION;
	return NULL;
}

static const char *data_end_byte(struct http_chunked *chunked, uint8_t byte)
{
	if (byte != (chunked->cr ? '\n' : '\r'))
		return "a chunk is longer than its size";
	if (chunked->cr)
		line_reset(chunked, HTTP_CHUNKED_SIZE);
	else
		chunked->cr = true;
	return NULL;
}

/* A trailer's line is checked byte by byte, as it may come in pieces. */
static const char *trailer_byte(struct http_chunked *chunked, uint8_t byte)
{
	struct pl_span one = pl_span(&byte, 1);

	if (++chunked->extra_len > HTTP_CHUNKED_EXTRA_MAX)
		return "the trailers are too long";
	if (chunked->cr) {
		if (byte != '\n' || (chunked->line_len > 0 && !chunked->colon))
			return "a trailer is malformed";
		line_reset(chunked, chunked->line_len == 0 ? HTTP_CHUNKED_DONE
		                                           : HTTP_CHUNKED_TRAILER);
		return NULL;
	}
	if (byte == '\r') {
		chunked->cr = true;
		return NULL;
	}
	if (byte == ':' && chunked->line_len > 0)
		chunked->colon = true;
	else if (chunked->colon ? !http_guard_is_value(one) : !http_guard_is_token(one))
		return "a trailer is malformed";
	chunked->line_len++;
	return NULL;
}

static const char *control_byte(struct http_chunked *chunked, uint8_t byte)
{
	switch (chunked->state) {
	case HTTP_CHUNKED_SIZE:
	case HTTP_CHUNKED_EXTENSION:
		return size_byte(chunked, byte);
	case HTTP_CHUNKED_DATA_END:
		return data_end_byte(chunked, byte);
	case HTTP_CHUNKED_TRAILER:
		return trailer_byte(chunked, byte);
	case HTTP_CHUNKED_DATA:
	case HTTP_CHUNKED_DONE:
	case HTTP_CHUNKED_BAD:
		break;
	}
	return "the body has ended";
}

static void data_take(struct http_chunked *chunked, struct pl_span *in,
                      struct pl_span *data)
{
	size_t len = chunked->left < in->len ? (size_t)chunked->left : in->len;

	*data = pl_span(in->at, len);
	*in = pl_span(in->at + len, in->len - len);
	chunked->left -= len;
	if (chunked->left == 0)
		line_reset(chunked, HTTP_CHUNKED_DATA_END);
}

const char *http_chunked_next(struct http_chunked *chunked, struct pl_span *in,
                              struct pl_span *data)
{
	*data = pl_span(NULL, 0);
	while (in->len > 0 && chunked->state != HTTP_CHUNKED_DONE) {
		const char *wrong;

		if (chunked->state == HTTP_CHUNKED_DATA) {
			data_take(chunked, in, data);
			return NULL;
		}
		wrong = control_byte(chunked, in->at[0]);
		if (wrong != NULL) {
			chunked->state = HTTP_CHUNKED_BAD;
			return wrong;
		}
		*in = pl_span(in->at + 1, in->len - 1);
	}
	return NULL;
}
