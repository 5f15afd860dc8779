/*
 * Decoder of a chunked body (RFC 9112, 7.1), stricter than llhttp's: a size has digits
 * and nothing but an extension, and every line ends with CR LF. Extensions and trailers
 * are checked, bounded and dropped. Pure; bytes may come in any pieces.
 */
#ifndef STORE_NET_HTTP_CHUNKED_H
#define STORE_NET_HTTP_CHUNKED_H

#include "store/base/span.h"

enum {
	HTTP_CHUNKED_LINE_MAX = 256,        /* a size with its extension */
	HTTP_CHUNKED_EXTRA_MAX = 16 * 1024, /* all extensions and trailers of a body */
};

enum http_chunked_state {
	HTTP_CHUNKED_SIZE,      /* in a line with a size */
	HTTP_CHUNKED_EXTENSION, /* behind its digits */
	HTTP_CHUNKED_DATA,
	HTTP_CHUNKED_DATA_END, /* CR LF behind the data */
	HTTP_CHUNKED_TRAILER,
	HTTP_CHUNKED_DONE,
	HTTP_CHUNKED_BAD,
};

/* All zero: at the start. */
struct http_chunked {
	enum http_chunked_state state;
	uint64_t left;      /* bytes of this chunk */
	unsigned line_len;  /* bytes of this line */
	unsigned digits;    /* of the size */
	unsigned extra_len; /* bytes of extensions and trailers so far */
	bool last;          /* this chunk is the last one */
	bool cr;            /* the byte before was CR */
	bool colon;         /* of a trailer's line */
};

/* Takes bytes off in; *data becomes the next piece of the body (empty: none yet).
 * Returns NULL, or what is wrong. The end: state is HTTP_CHUNKED_DONE, and in begins with
 * what follows. */
const char *http_chunked_next(struct http_chunked *chunked, struct pl_span *in,
                              struct pl_span *data);

#endif
