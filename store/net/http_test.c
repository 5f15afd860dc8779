#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/fault.h"
#include "store/net/certs.h"
#include "store/net/fake_http.h"
#include "store/net/http.h"
#include "tests/harness/t.h"

enum { TEXT_MAX = 4096, BIG = 3 * 1024 * 1024, SINK_MAX = 64 * 1024 * 1024 };

/* A server, a client, and the calls between them on one loop. */
struct bench {
	uv_loop_t loop;
	struct fake_http *fake;
	struct http *http;
	struct fake_conn *last; /* connection of the last request */
	char head[TEXT_MAX];    /* of the last request */
	struct pl_buf body;
	unsigned requests;
	bool closed;
};

struct probe {
	struct bench *bench;
	struct http_call *call;
	int status;
	enum pl_code code;
	char msg[PL_ERR_MSG_SIZE];
	char type[64];
	struct pl_buf got;
	unsigned heads, chunks, rooms, ends;
	bool unsent;
	bool pause_each;
	size_t to_send;
};

/* With room past pl_malloc(), whose faults are for the client. */
static void sink_init(struct pl_buf *buf)
{
	pl_buf_init(buf, SINK_MAX);
	buf->at = malloc(TEXT_MAX);
	buf->cap = TEXT_MAX;
	T_TRUE(buf->at != NULL);
}

static void chunk(struct fake_conn *conn, const char *data, size_t len)
{
	char size[32];

	(void)snprintf(size, sizeof size, "%zx\r\n", len);
	fake_conn_text(conn, size);
	fake_conn_send(conn, data, len);
	fake_conn_text(conn, "\r\n");
}

static void send_big(struct fake_conn *conn)
{
	char *data = malloc(BIG);

	T_TRUE(data != NULL);
	for (size_t i = 0; i < BIG; i++)
		data[i] = (char)('a' + i % 23);
	fake_conn_send(conn, data, BIG);
	free(data);
}

static bool asks(const char *head, const char *path)
{
	const char *at = strchr(head, ' ');

	return at != NULL && strncmp(at + 1, path, strlen(path)) == 0;
}

/* One answer a path, each a kind of server that exists. */
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

static void on_request(void *ctx, struct fake_conn *conn, const char *head,
                       struct pl_span body)
{
	struct bench *b = ctx;

	b->requests++;
	b->last = conn;
	(void)snprintf(b->head, sizeof b->head, "%s", head);
	pl_buf_clear(&b->body, SIZE_MAX);
	T_EQ(pl_buf_add(&b->body, body), PL_OK);
	for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
		if (!asks(head, replies[i].path))
			continue;
		fake_conn_text(conn, replies[i].bytes);
		if (asks(head, "/big_length"))
			send_big(conn);
		if (replies[i].cut)
			fake_conn_cut(conn);
		return;
	}
	t_fail(__FILE__, __LINE__, "no reply for %s", head);
}

static void on_closed(void *ctx)
{
	struct bench *b = ctx;

	uv_stop(&b->loop);
	b->closed = true;
}

static void bench_open(struct bench *b, const char *certs, const struct http_opts *opts)
{
	static const struct http_opts plain;
	struct pl_err err = {0};

	*b = (struct bench){0};
	sink_init(&b->body);
	T_EQ(uv_loop_init(&b->loop), 0);
	b->fake = fake_http_open(&b->loop, certs, certs != NULL, on_request, b);
	T_EQ(http_open(&b->loop, opts == NULL ? &plain : opts, &b->http, &err), PL_OK);
}

/* Runs the loop dry, so that a handle nobody closed fails the test. */
static void bench_close(struct bench *b)
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

static void on_end(void *ctx, const struct http_end *end)
{
	struct probe *p = ctx;
	const char *type = http_answer_header(&end->answer, "CONTENT-TYPE");

	uv_stop(&p->bench->loop); /* else uv_run() may go on to wait for other things */
	p->ends++;
	p->call = NULL;
	p->code = end->code;
	T_TRUE((end->code == PL_OK) == (end->err == NULL));
	if (end->err != NULL)
		(void)snprintf(p->msg, sizeof p->msg, "%s", end->err->msg);
	p->status = end->answer.status;
	p->unsent = end->unsent;
	(void)snprintf(p->type, sizeof p->type, "%s", type == NULL ? "" : type);
	T_EQ(pl_buf_add(&p->got, end->answer.body), PL_OK);
}

static void on_head(void *ctx, const struct http_answer *answer)
{
	struct probe *p = ctx;

	T_EQ(p->chunks, 0);
	p->heads++;
	p->status = answer->status;
}

static void on_data(void *ctx, struct pl_span data)
{
	struct probe *p = ctx;

	T_EQ(p->heads, 1);
	T_EQ(p->ends, 0);
	p->chunks++;
	T_EQ(pl_buf_add(&p->got, data), PL_OK);
	if (p->pause_each)
		http_call_pause(p->call);
}

/* Starts with what opts asks for and waits for nothing. */
static void begin(struct bench *b, const char *path, struct http_call_opts opts,
                  struct probe *p)
{
	char url[HTTP_URL_MAX];
	struct pl_err err = {0};

	p->bench = b;
	sink_init(&p->got);
	(void)snprintf(url, sizeof url, "%s%s", fake_http_url(b->fake), path);
	opts.url = url;
	opts.ctx = p;
	opts.on_end = on_end;
	if (opts.timeout_ms == 0 && opts.on_data == NULL)
		opts.timeout_ms = 10000;
	if (http_call_start(b->http, &opts, &p->call, &err) != PL_OK)
		t_fail(__FILE__, __LINE__, "%s", err.msg);
	T_EQ(p->ends, 0);
}

static void finish(struct bench *b, struct probe *p)
{
	while (p->ends == 0)
		(void)uv_run(&b->loop, UV_RUN_ONCE);
	T_EQ(p->ends, 1);
}

static void get(struct bench *b, const char *path, struct probe *p)
{
	*p = (struct probe){0};
	begin(b, path, (struct http_call_opts){0}, p);
	finish(b, p);
}

static void expect(struct bench *b, const char *path, enum pl_code code, int status,
                   const char *body)
{
	struct probe p;

	get(b, path, &p);
	if (p.code != code)
		t_fail(__FILE__, __LINE__, "%s: %s (%s)", path, pl_code_name(p.code),
		       p.msg);
	T_EQ(p.status, status);
	if (body != NULL && !pl_span_eq(pl_buf_span(&p.got), pl_span_str(body)))
		t_fail(__FILE__, __LINE__, "%s: body '" PL_SPAN_FMT "'", path,
		       PL_SPAN_ARG(pl_buf_span(&p.got)));
	pl_buf_done(&p.got);
}

T_CASE(answers_of_every_shape)
{
	struct bench b;
	struct probe p;

	bench_open(&b, NULL, NULL);
	expect(&b, "/hello?secret", PL_OK, 200, "hello");
	expect(&b, "/chunked", PL_OK, 201, "abcdefg");
	expect(&b, "/until_close", PL_OK, 200, "all of it");
	expect(&b, "/moved", PL_OK, 302, "");
	expect(&b, "/continue", PL_OK, 200, "ok");
	expect(&b, "/empty", PL_OK, 204, "");
	get(&b, "/hello", &p);
	T_STR(p.type, "text/x");
	T_TRUE(!p.unsent);
	pl_buf_done(&p.got);
	bench_close(&b);
}

T_CASE(broken_servers_are_typed_errors)
{
	struct bench b;
	struct probe p;

	bench_open(&b, NULL, NULL);
	expect(&b, "/cut", PL_UNAVAIL, 200, NULL);
	expect(&b, "/cut_chunk", PL_UNAVAIL, 200, NULL);
	expect(&b, "/bad_chunk", PL_PROTO, 200, NULL);
	expect(&b, "/nothing", PL_UNAVAIL, 0, "");
	expect(&b, "/not_http", PL_PROTO, 0, "");
	expect(&b, "/bad_status", PL_PROTO, 0, "");
	expect(&b, "/hello", PL_OK, 200, "hello");
	get(&b, "/nothing?token=secret", &p);
	T_TRUE(strstr(p.msg, "GET http://127.0.0.1") != NULL);
	T_TRUE(strstr(p.msg, "secret") == NULL);
	pl_buf_done(&p.got);
	bench_close(&b);
}

T_CASE(one_connection_for_calls_in_a_row)
{
	struct bench b;

	bench_open(&b, NULL, NULL);
	for (int i = 0; i < 20; i++)
		expect(&b, "/hello", PL_OK, 200, "hello");
	T_EQ(fake_http_connections(b.fake), 1);
	bench_close(&b);
}

T_CASE(a_body_over_the_bound_ends_the_call)
{
	struct probe p = {0};
	struct bench b;

	bench_open(&b, NULL, NULL);
	begin(&b, "/big_length", (struct http_call_opts){.body_max = BIG - 1}, &p);
	finish(&b, &p);
	T_EQ(p.code, PL_LIMIT);
	pl_buf_done(&p.got);
	p = (struct probe){0};
	begin(&b, "/big_length", (struct http_call_opts){.body_max = BIG}, &p);
	finish(&b, &p);
	T_EQ(p.code, PL_OK);
	T_EQ(p.got.len, BIG);
	pl_buf_done(&p.got);
	bench_close(&b);
}

static void on_endless_head(void *ctx, struct fake_conn *conn, const char *head,
                            struct pl_span body)
{
	(void)ctx;
	(void)head;
	(void)body;
	fake_conn_text(conn, "HTTP/1.1 200 OK\r\n");
	for (int i = 0; i < 4000; i++)
		fake_conn_text(conn, "X-Header: and one more of these headers\r\n");
}

T_CASE(headers_without_end_are_refused)
{
	struct probe p = {0};
	struct bench b;

	bench_open(&b, NULL, NULL);
	fake_http_close(b.fake);
	b.fake = fake_http_open(&b.loop, NULL, false, on_endless_head, &b);
	get(&b, "/", &p);
	T_EQ(p.code, PL_LIMIT);
	pl_buf_done(&p.got);
	bench_close(&b);
}

T_CASE(what_leaves_is_what_was_asked_for)
{
	static const struct http_header headers[] = {{"X-One", "1"}, {"X-None", ""}};
	struct probe p = {0};
	struct bench b;

	bench_open(&b, NULL, NULL);
	begin(&b, "/hello",
	      (struct http_call_opts){.method = "PATCH",
	                              .headers = headers,
	                              .header_count = 2,
	                              .body = PL_SPAN_LIT("{\"a\":1}")},
	      &p);
	finish(&b, &p);
	T_EQ(p.code, PL_OK);
	T_TRUE(strncmp(b.head, "PATCH /hello HTTP/1.1\r\n", 23) == 0);
	T_TRUE(strstr(b.head, "\r\nX-One: 1\r\n") != NULL);
	T_TRUE(strstr(b.head, "\r\nX-None:\r\n") != NULL);
	T_TRUE(strstr(b.head, "\r\nContent-Length: 7\r\n") != NULL);
	T_TRUE(strcasestr(b.head, "Expect") == NULL);
	T_TRUE(strcasestr(b.head, "Content-Type") == NULL);
	T_TRUE(pl_span_eq(pl_buf_span(&b.body), PL_SPAN_LIT("{\"a\":1}")));
	pl_buf_done(&p.got);
	p = (struct probe){0};
	begin(&b, "/hello", (struct http_call_opts){.method = "DELETE"}, &p);
	finish(&b, &p);
	T_TRUE(strncmp(b.head, "DELETE /hello HTTP/1.1\r\n", 24) == 0);
	pl_buf_done(&p.got);
	p = (struct probe){0};
	begin(&b, "/big_length", (struct http_call_opts){.method = "HEAD"}, &p);
	finish(&b, &p);
	T_EQ(p.code, PL_OK);
	T_EQ(p.got.len, 0);
	pl_buf_done(&p.got);
	bench_close(&b);
}

T_CASE(bad_requests_never_start)
{
	static const struct http_header split[] = {{"X", "a\r\nY: b"}};
	static const char *const urls[] = {"ftp://h/",
	                                   "http://u:p@h/",
	                                   "http://",
	                                   "/x",
	                                   "http://h/a b",
	                                   "http://h:99999/",
	                                   "file:///etc/passwd",
	                                   "http://h/\r\nX: y"};
	struct http_call_opts opts = {.timeout_ms = 1000, .on_end = on_end};
	struct http_call *call;
	struct bench b;

	bench_open(&b, NULL, NULL);
	for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
		opts.url = urls[i];
		T_EQ(http_call_start(b.http, &opts, &call, NULL), PL_INVALID);
	}
	opts.url = "http://127.0.0.1/";
	opts.headers = split;
	opts.header_count = 1;
	T_EQ(http_call_start(b.http, &opts, &call, NULL), PL_INVALID);
	opts.header_count = 0;
	opts.method = "GET /x";
	T_EQ(http_call_start(b.http, &opts, &call, NULL), PL_INVALID);
	opts.method = NULL;
	opts.timeout_ms = 0;
	T_EQ(http_call_start(b.http, &opts, &call, NULL), PL_INVALID);
	bench_close(&b);
}

T_CASE(nobody_listens)
{
	struct probe p = {0};
	struct bench b;

	bench_open(&b, NULL, NULL);
	fake_http_close(b.fake);
	while (uv_run(&b.loop, UV_RUN_NOWAIT) != 0) {
	}
	b.fake = fake_http_open(&b.loop, NULL, false, on_request, &b);
	begin(&b, "/hello", (struct http_call_opts){0}, &p);
	fake_http_close(b.fake); /* before the client's first step */
	finish(&b, &p);
	T_EQ(p.code, PL_UNAVAIL);
	T_TRUE(p.unsent);
	pl_buf_done(&p.got);
	b.fake = fake_http_open(&b.loop, NULL, false, on_request, &b);
	bench_close(&b);
}

T_CASE(deadlines)
{
	struct probe p = {0};
	struct bench b;

	bench_open(&b, NULL, NULL);
	begin(&b, "/never", (struct http_call_opts){.timeout_ms = 50}, &p);
	finish(&b, &p);
	T_EQ(p.code, PL_TIMEOUT);
	T_TRUE(!p.unsent);
	pl_buf_done(&p.got);
	p = (struct probe){0};
	begin(&b, "/stream",
	      (struct http_call_opts){
		      .idle_timeout_ms = 50, .on_head = on_head, .on_data = on_data},
	      &p);
	finish(&b, &p);
	T_EQ(p.code, PL_TIMEOUT);
	T_EQ(p.heads, 1);
	pl_buf_done(&p.got);
	bench_close(&b);
}

T_CASE(cancel_at_any_time)
{
	struct bench b;

	bench_open(&b, NULL, NULL);
	for (int steps = 0; steps < 12; steps++) {
		struct probe p = {0};

		begin(&b, "/never", (struct http_call_opts){0}, &p);
		for (int i = 0; i < steps; i++)
			(void)uv_run(&b.loop, UV_RUN_NOWAIT);
		http_call_cancel(p.call);
		T_EQ(p.ends, 0);
		finish(&b, &p);
		T_EQ(p.code, PL_CANCELED);
		pl_buf_done(&p.got);
	}
	bench_close(&b);
}

T_CASE(closing_cancels_what_runs)
{
	struct probe p[3] = {0};
	struct bench b;

	bench_open(&b, NULL, NULL);
	for (int i = 0; i < 3; i++)
		begin(&b, "/never", (struct http_call_opts){0}, &p[i]);
	while (b.requests < 3)
		(void)uv_run(&b.loop, UV_RUN_ONCE);
	bench_close(&b);
	for (int i = 0; i < 3; i++) {
		T_EQ(p[i].ends, 1);
		T_EQ(p[i].code, PL_CANCELED);
		pl_buf_done(&p[i].got);
	}
}

/* The pipe between server and caller is finite: a caller that pauses stops the
 * server. Everything arrives all the same, once it goes on. */
T_CASE(a_paused_caller_stops_the_server)
{
	struct probe p = {0};
	struct bench b;
	size_t held, before;

	bench_open(&b, NULL, NULL);
	p.pause_each = true;
	begin(&b, "/big_length",
	      (struct http_call_opts){.on_head = on_head, .on_data = on_data}, &p);
	while (p.chunks == 0)
		(void)uv_run(&b.loop, UV_RUN_ONCE);
	do { /* until nothing moves any more */
		before = fake_conn_unsent(b.last);
		for (int i = 0; i < 20; i++)
			(void)uv_run(&b.loop, UV_RUN_NOWAIT);
	} while (fake_conn_unsent(b.last) != before);
	held = p.got.len;
	T_EQ(p.chunks, 1);
	T_TRUE(held <= (size_t)2 * HTTP_STREAM_BUFFER);
	while (p.ends == 0) {
		if (p.call != NULL)
			http_call_resume(p.call);
		/* Not ONCE: paused again, there may be nothing to wait for. */
		(void)uv_run(&b.loop, UV_RUN_NOWAIT);
	}
	T_EQ(p.code, PL_OK);
	T_EQ(p.got.len, BIG);
	for (size_t i = 0; i < BIG; i++) {
		if (p.got.at[i] != 'a' + i % 23)
			t_fail(__FILE__, __LINE__, "byte %zu", i);
	}
	pl_buf_done(&p.got);
	bench_close(&b);
}

static void push(struct probe *p)
{
	char data[10000];

	memset(data, 'x', sizeof data);
	while (p->to_send > 0) {
		size_t len = p->to_send < sizeof data ? p->to_send : sizeof data;
		enum pl_code code = http_call_send(p->call, pl_span(data, len), NULL);

		if (code == PL_BUSY)
			return;
		T_EQ(code, PL_OK);
		p->to_send -= len;
	}
	http_call_send_end(p->call);
}

static void on_room(void *ctx)
{
	struct probe *p = ctx;

	p->rooms++;
	push(p);
}

T_CASE(a_request_that_is_streamed)
{
	struct bench b;

	bench_open(&b, NULL, NULL);
	for (int known = 0; known < 2; known++) {
		struct probe p = {.to_send = BIG};

		begin(&b, "/hello",
		      (struct http_call_opts){.method = "PUT",
		                              .send_stream = true,
		                              .body_len = known ? BIG : -1,
		                              .on_room = on_room},
		      &p);
		push(&p);
		T_TRUE(p.to_send > 0);
		finish(&b, &p);
		T_EQ(p.code, PL_OK);
		T_TRUE(p.rooms > 0);
		if (known)
			T_EQ(b.body.len, BIG);
		else
			T_TRUE(b.body.len > BIG);
		T_TRUE(strncmp(b.head, "PUT ", 4) == 0);
		/* It would cost a second with servers that do not know it. */
		T_TRUE(strcasestr(b.head, "\r\nExpect:") == NULL);
		pl_buf_done(&p.got);
	}
	bench_close(&b);
}

T_CASE(hundreds_of_streams_at_once)
{
	enum { STREAMS = 300, ROUNDS = 5 };
	static struct probe p[STREAMS];
	static struct fake_conn *conns[STREAMS];
	struct bench b;
	size_t want = strlen("{\"type\":\"ADDED\"}\n");

	bench_open(&b, NULL, NULL);
	for (unsigned i = 0; i < STREAMS; i++) {
		begin(&b, "/stream",
		      (struct http_call_opts){.idle_timeout_ms = 15000,
		                              .on_head = on_head,
		                              .on_data = on_data},
		      &p[i]);
		while (b.requests == i)
			(void)uv_run(&b.loop, UV_RUN_ONCE);
		conns[i] = b.last;
	}
	for (unsigned round = 1; round <= ROUNDS; round++) {
		for (unsigned i = 0; i < STREAMS; i++)
			chunk(conns[i], "{\"type\":\"ADDED\"}\n", want);
		for (unsigned i = 0; i < STREAMS; i++) {
			while (p[i].got.len < round * want)
				(void)uv_run(&b.loop, UV_RUN_ONCE);
		}
	}
	T_EQ(fake_http_connections(b.fake), STREAMS);
	for (unsigned i = 0; i < STREAMS; i += 2)
		fake_conn_text(conns[i], "0\r\n\r\n");
	for (unsigned i = 0; i < STREAMS; i += 2)
		finish(&b, &p[i]);
	bench_close(&b);
	for (unsigned i = 0; i < STREAMS; i++) {
		T_EQ(p[i].code, i % 2 == 0 ? PL_OK : PL_CANCELED);
		T_EQ(p[i].heads, 1);
		pl_buf_done(&p[i].got);
	}
}

static char dir[] = "/tmp/placet-http-test-XXXXXX";

static void certs_remove(void)
{
	static const char *const names[] = {"ca.pem", "server.pem", "server-key.pem",
	                                    "client.pem", "client-key.pem"};
	char path[128];

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(dir);
}

struct tls_paths {
	char ca[128], cert[128], key[128];
};

static struct http_opts certs_setup(struct tls_paths *paths, const char *names)
{
	T_TRUE(mkdtemp(dir) != NULL);
	(void)atexit(certs_remove);
	T_EQ(certs_make(dir, names, NULL), PL_OK);
	(void)snprintf(paths->ca, sizeof paths->ca, "%s/ca.pem", dir);
	(void)snprintf(paths->cert, sizeof paths->cert, "%s/client.pem", dir);
	(void)snprintf(paths->key, sizeof paths->key, "%s/client-key.pem", dir);
	return (struct http_opts){.tls = {.ca_file = paths->ca,
	                                  .cert_file = paths->cert,
	                                  .key_file = paths->key}};
}

static enum pl_code tls_code(const struct http_opts *opts)
{
	struct probe p;
	struct bench b;

	bench_open(&b, dir, opts);
	get(&b, "/hello", &p);
	if (p.code == PL_OK)
		expect(&b, "/big_length", PL_OK, 200, NULL);
	pl_buf_done(&p.got);
	bench_close(&b);
	return p.code;
}

T_CASE(tls_with_certificates_on_both_sides)
{
	struct tls_paths paths;
	struct http_opts opts = certs_setup(&paths, "IP:127.0.0.1");
	struct http_opts bad = opts;

	T_EQ(tls_code(&opts), PL_OK);
	bad.tls.ca_file = NULL;
	T_EQ(tls_code(&bad), PL_TLS);
	bad = opts;
	bad.tls.cert_file = NULL;
	bad.tls.key_file = NULL;
	T_EQ(tls_code(&bad), PL_TLS);
	bad = opts;
	bad.tls.ca_file = "/nonexistent";
	T_EQ(tls_code(&bad), PL_TLS);
	bad = opts;
	bad.tls.server_name = "other.example";
	T_EQ(tls_code(&bad), PL_TLS);
}

T_CASE(tls_checks_the_name_it_is_told)
{
	struct tls_paths paths;
	struct http_opts opts = certs_setup(&paths, "DNS:api.example");

	T_EQ(tls_code(&opts), PL_TLS);
	opts.tls.server_name = "api.example";
	T_EQ(tls_code(&opts), PL_OK);
}

/* Whatever fails, at whichever place: the call ends once, nothing leaks, and the
 * next call works. */
static bool torture_once(enum pl_fault point, uint64_t nth, const char *path)
{
	struct http_opts plain = {0};
	struct http_call_opts opts = {.timeout_ms = 5000, .on_end = on_end};
	struct probe p = {0};
	struct http_call *call;
	struct http *http = NULL;
	struct bench b;
	char url[128];
	bool fired;

	bench_open(&b, NULL, NULL);
	sink_init(&p.got);
	p.bench = &b;
	opts.ctx = &p;
	(void)snprintf(url, sizeof url, "%s%s", fake_http_url(b.fake), path);
	opts.url = url;
	pl_fault_arm(point, nth);
	if (http_open(&b.loop, &plain, &http, NULL) == PL_OK) {
		if (http_call_start(http, &opts, &call, NULL) == PL_OK) {
			while (p.ends == 0)
				(void)uv_run(&b.loop, UV_RUN_ONCE);
			T_TRUE(p.code != PL_TIMEOUT);
		}
		http_close(http, on_closed, &b);
		while (!b.closed)
			(void)uv_run(&b.loop, UV_RUN_ONCE);
		b.closed = false;
	}
	fired = pl_fault_fired(point);
	pl_fault_reset();
	expect(&b, "/hello", PL_OK, 200, "hello");
	pl_buf_done(&p.got);
	bench_close(&b);
	return fired;
}

static void torture(enum pl_fault point, const char *path)
{
	uint64_t nth = 1;

	while (torture_once(point, nth, path))
		nth++;
	T_TRUE(nth > 1);
}

T_CASE(torture_connect)
{
	torture(PL_FAULT_NET_CONNECT, "/hello");
}

T_CASE(torture_read)
{
	torture(PL_FAULT_NET_READ, "/chunked");
}

T_CASE(torture_memory)
{
	torture(PL_FAULT_ALLOC, "/chunked");
}
