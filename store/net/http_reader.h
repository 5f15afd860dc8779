/*
 * The requests of an HTTP/1 connection, read from its bytes:
 *
 *	HEAD -> BODY... -> END -> HEAD -> ...
 *	  `-------------------------> BAD, which is final
 *
 * Pure. Bytes may come in any pieces; a head that is not whole yet is kept by the caller,
 * who gives it again with more.
 */
#ifndef STORE_NET_HTTP_READER_H
#define STORE_NET_HTTP_READER_H

#include "store/net/http_chunked.h"
#include "store/net/http_head.h"

enum http_event {
	HTTP_EVENT_MORE, /* the rest of in is to be given again with more bytes */
	HTTP_EVENT_HEAD,
	HTTP_EVENT_BODY,
	HTTP_EVENT_END,
	HTTP_EVENT_BAD, /* fault says why */
};

enum http_reader_state {
	HTTP_READER_HEAD,
	HTTP_READER_LENGTH,
	HTTP_READER_CHUNKS,
	HTTP_READER_BAD,
};

struct http_reader {
	enum http_reader_state state;
	uint32_t head_max;
	uint32_t field_max;
	uint64_t body_max;
	size_t scanned;    /* bytes of the head that were looked at */
	size_t line_at;    /* where the line begins that is not whole yet */
	uint32_t lines;    /* whole ones */
	unsigned empties;  /* lines before this head */
	uint64_t left;     /* bytes of the body by Content-Length */
	uint64_t body_len; /* of a chunked body, so far */
	struct http_chunked chunked;
	struct http_fault fault;
};

void http_reader_init(struct http_reader *reader,
                      const struct http_server_limits *limits);
/* Takes bytes off in. HEAD: head is filled and borrows from *bytes, which is the whole
 * head. BODY: *bytes is a piece of the body. */
enum http_event http_reader_next(struct http_reader *reader, struct pl_span *in,
                                 struct http_head *head, struct pl_span *bytes);
/* A request has begun and is not whole. */
bool http_reader_is_inside(const struct http_reader *reader);

#endif
