/*
 * For tests of the HTTP client: a server that gives each path its own answer, as real
 * servers of some kind do, and a client of it on the same loop.
 */
#ifndef TESTS_SUPPORT_STORE_NET_HTTP_RIG_H
#define TESTS_SUPPORT_STORE_NET_HTTP_RIG_H

#include <stdio.h>
#include <stdlib.h>

#include "store/base/buf.h"
#include "store/net/http.h"
#include "tests/harness/t.h"
#include "tests/support/store/net/fake_http.h"

enum { TEXT_MAX = 4096, BIG = 3 * 1024 * 1024, SINK_MAX = 64 * 1024 * 1024 };

/* A server, a client, and the calls between them on one loop. */
struct http_rig {
	uv_loop_t loop;
	struct fake_http *fake;
	struct http *http;
	struct fake_conn *last; /* connection of the last request */
	char head[TEXT_MAX];    /* head of the last request */
	struct pl_buf body;
	unsigned requests;
	bool closed;
};

/* Allocates without pl_malloc(), whose faults are for the client. */
static inline void sink_init(struct pl_buf *buf)
{
	pl_buf_init(buf, SINK_MAX);
	buf->at = malloc(TEXT_MAX);
	buf->cap = TEXT_MAX;
	T_TRUE(buf->at != NULL);
}

static inline void send_big(struct fake_conn *conn)
{
	char *data = malloc(BIG);

	T_TRUE(data != NULL);
	for (size_t i = 0; i < BIG; i++)
		data[i] = (char)('a' + i % 23);
	fake_conn_send(conn, data, BIG);
	free(data);
}

static inline bool path_is(const char *head, const char *path)
{
	const char *at = strchr(head, ' ');

	return at != NULL && strncmp(at + 1, path, strlen(path)) == 0;
}

/* The answer of each path, as a kind of server gives it. */
static const struct {
	const char *path, *bytes;
	bool cut;
} replies[] = {
	{"/hello",
         "HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nContent-Length: 5\r\n\r\nhello",
         false},
	{"/chunked",
         "HTTP/1.1 201 Made\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n"
         "0\r\nTrailer: t\r\n\r\n",
         false},
	{"/until_close", "HTTP/1.0 200 OK\r\n\r\nall of it", true},
	{"/moved", "HTTP/1.1 302 Found\r\nLocation: /hello\r\nContent-Length: 0\r\n\r\n",
         false},
	{"/continue",
         "HTTP/1.1 100 Continue\r\nX: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
         false},
	{"/cut", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf", true},
	{"/cut_chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\nhalf",
         true},
	{"/bad_chunk",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhalf\r\n", true},
	{"/nothing", "", true},
	{"/not_http", "220 mail.example ESMTP\r\n", true},
	{"/bad_status", "HTTP/1.1 banana\r\n\r\n", true},
	{"/big_length", "HTTP/1.1 200 OK\r\nContent-Length: 3145728\r\n\r\n", false},
	{"/stream", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false},
	{"/empty", "HTTP/1.1 204 No Content\r\n\r\n", false},
	{"/never", "", false},
};

static inline void on_request(void *ctx, struct fake_conn *conn, const char *head,
                              struct pl_span body)
{
	struct http_rig *b = ctx;

	b->requests++;
	b->last = conn;
	(void)snprintf(b->head, sizeof b->head, "%s", head);
	pl_buf_clear(&b->body, SIZE_MAX);
	T_EQ(pl_buf_add(&b->body, body), PL_OK);
	for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
		if (!path_is(head, replies[i].path))
			continue;
		fake_conn_text(conn, replies[i].bytes);
		if (path_is(head, "/big_length"))
			send_big(conn);
		if (replies[i].cut)
			fake_conn_cut(conn);
		return;
	}
	t_fail(__FILE__, __LINE__, "no reply for %s", head);
}

static inline void on_closed(void *ctx)
{
	struct http_rig *b = ctx;

	uv_stop(&b->loop);
	b->closed = true;
}

static inline void http_rig_open(struct http_rig *b, const char *certs,
                                 const struct http_opts *opts)
{
	static const struct http_opts plain;
	struct pl_err err = {0};

	*b = (struct http_rig){0};
	sink_init(&b->body);
	T_EQ(uv_loop_init(&b->loop), 0);
	b->fake = fake_http_open(&b->loop, certs, certs != NULL, on_request, b);
	T_EQ(http_open(&b->loop, opts == NULL ? &plain : opts, &b->http, &err), PL_OK);
}

/* Runs the loop until it is empty, so that a handle left open fails the test. */
static inline void http_rig_close(struct http_rig *b)
{
	http_close(b->http, on_closed, b);
	T_TRUE(!b->closed);
	fake_http_close(b->fake);
	while (uv_run(&b->loop, UV_RUN_DEFAULT) != 0) {
	}
	T_TRUE(b->closed);
	T_EQ(uv_loop_close(&b->loop), 0);
	pl_buf_done(&b->body);
}

#endif
