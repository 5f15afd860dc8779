/*
 * The head of a request and what it means: target, body, persistence, encodings. The
 * bytes of an HTTP/1 head are read by llhttp after http_guard has let them through; the
 * fields of HTTP/2 come from nghttp2. Pure.
 */
#ifndef STORE_NET_HTTP_HEAD_H
#define STORE_NET_HTTP_HEAD_H

#include "store/net/http_server.h"

/* Why a request is refused; status 0: it is not. */
struct http_fault {
	int status;
	const char *text; /* a literal */
};

/* All spans point into the head, but path may be a literal. */
struct http_head {
	struct http_field *fields; /* the caller's array */
	size_t field_count, field_max;
	struct pl_span method, target, path, query;
	struct pl_span authority; /* of the target, or HTTP/2's; at NULL: none */
	unsigned version, minor;  /* 1 and 0 or 1; 2 */
	uint64_t length;          /* of the body as it is sent */
	bool has_length, chunked;
	bool keep_alive;
	bool expects_continue;
	bool body_gzip;    /* the body is packed */
	bool accepts_gzip; /* the answer's body may be packed */
};

/* Reads lines that http_guard has accepted, the empty one included. Names keep their
 * case. */
struct http_fault http_head_parse(struct http_head *head, struct pl_span bytes);
/* Reads what the fields say, for both versions; called by http_head_parse(). */
struct http_fault http_head_judge(struct http_head *head);

#endif
