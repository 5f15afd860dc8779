/* Requests as they are sent, and answers of all kinds of servers. */
#include "tests/support/store/net/http_probe.h"

T_CASE(answers_of_every_kind)
{
	struct http_rig b;
	struct http_probe p;

	http_rig_open(&b, NULL, NULL);
	expect_answer(&b, "/hello?secret", PL_OK, 200, "hello");
	expect_answer(&b, "/chunked", PL_OK, 201, "abcdefg");
	expect_answer(&b, "/until_close", PL_OK, 200, "all of it");
	expect_answer(&b, "/moved", PL_OK, 302, "");
	expect_answer(&b, "/continue", PL_OK, 200, "ok");
	expect_answer(&b, "/empty", PL_OK, 204, "");
	probe_get(&b, "/hello", &p);
	T_STR(p.type, "text/x");
	T_TRUE(!p.unsent);
	pl_buf_done(&p.got);
	http_rig_close(&b);
}

T_CASE(broken_servers_are_typed_errors)
{
	struct http_rig b;
	struct http_probe p;

	http_rig_open(&b, NULL, NULL);
	expect_answer(&b, "/cut", PL_UNAVAIL, 200, NULL);
	expect_answer(&b, "/cut_chunk", PL_UNAVAIL, 200, NULL);
	expect_answer(&b, "/bad_chunk", PL_PROTO, 200, NULL);
	expect_answer(&b, "/nothing", PL_UNAVAIL, 0, "");
	expect_answer(&b, "/not_http", PL_PROTO, 0, "");
	expect_answer(&b, "/bad_status", PL_PROTO, 0, "");
	expect_answer(&b, "/hello", PL_OK, 200, "hello");
	probe_get(&b, "/nothing?token=secret", &p);
	T_TRUE(strstr(p.msg, "GET http://127.0.0.1") != NULL);
	T_TRUE(strstr(p.msg, "secret") == NULL);
	pl_buf_done(&p.got);
	http_rig_close(&b);
}

T_CASE(sequential_calls_share_one_connection)
{
	struct http_rig b;

	http_rig_open(&b, NULL, NULL);
	for (int i = 0; i < 20; i++)
		expect_answer(&b, "/hello", PL_OK, 200, "hello");
	T_EQ(fake_http_connections(b.fake), 1);
	http_rig_close(&b);
}

T_CASE(a_body_over_the_bound_ends_the_call)
{
	struct http_probe p = {0};
	struct http_rig b;

	http_rig_open(&b, NULL, NULL);
	probe_begin(&b, "/big_length", (struct http_call_opts){.body_max = BIG - 1}, &p);
	probe_finish(&b, &p);
	T_EQ(p.code, PL_LIMIT);
	pl_buf_done(&p.got);
	p = (struct http_probe){0};
	probe_begin(&b, "/big_length", (struct http_call_opts){.body_max = BIG}, &p);
	probe_finish(&b, &p);
	T_EQ(p.code, PL_OK);
	T_EQ(p.got.len, BIG);
	pl_buf_done(&p.got);
	http_rig_close(&b);
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
	struct http_probe p = {0};
	struct http_rig b;

	http_rig_open(&b, NULL, NULL);
	fake_http_close(b.fake);
	b.fake = fake_http_open(&b.loop, NULL, false, on_endless_head, &b);
	probe_get(&b, "/", &p);
	T_EQ(p.code, PL_LIMIT);
	pl_buf_done(&p.got);
	http_rig_close(&b);
}

T_CASE(the_request_is_sent_as_given)
{
	static const struct http_header headers[] = {{"X-One", "1"}, {"X-None", ""}};
	struct http_probe p = {0};
	struct http_rig b;

	http_rig_open(&b, NULL, NULL);
	probe_begin(&b, "/hello",
	            (struct http_call_opts){.method = "PATCH",
	                                    .headers = headers,
	                                    .header_count = 2,
	                                    .body = PL_SPAN_LIT("{\"a\":1}")},
	            &p);
	probe_finish(&b, &p);
	T_EQ(p.code, PL_OK);
	T_TRUE(strncmp(b.head, "PATCH /hello HTTP/1.1\r\n", 23) == 0);
	T_TRUE(strstr(b.head, "\r\nX-One: 1\r\n") != NULL);
	T_TRUE(strstr(b.head, "\r\nX-None:\r\n") != NULL);
	T_TRUE(strstr(b.head, "\r\nContent-Length: 7\r\n") != NULL);
	T_TRUE(strcasestr(b.head, "Expect") == NULL);
	T_TRUE(strcasestr(b.head, "Content-Type") == NULL);
	T_TRUE(pl_span_eq(pl_buf_span(&b.body), PL_SPAN_LIT("{\"a\":1}")));
	pl_buf_done(&p.got);
	p = (struct http_probe){0};
	probe_begin(&b, "/hello", (struct http_call_opts){.method = "DELETE"}, &p);
	probe_finish(&b, &p);
	T_TRUE(strncmp(b.head, "DELETE /hello HTTP/1.1\r\n", 24) == 0);
	pl_buf_done(&p.got);
	p = (struct http_probe){0};
	probe_begin(&b, "/big_length", (struct http_call_opts){.method = "HEAD"}, &p);
	probe_finish(&b, &p);
	T_EQ(p.code, PL_OK);
	T_EQ(p.got.len, 0);
	pl_buf_done(&p.got);
	http_rig_close(&b);
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
	struct http_rig b;

	http_rig_open(&b, NULL, NULL);
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
	http_rig_close(&b);
}

T_CASE(a_refused_connection_is_an_error)
{
	struct http_probe p = {0};
	struct http_rig b;

	http_rig_open(&b, NULL, NULL);
	fake_http_close(b.fake);
	while (uv_run(&b.loop, UV_RUN_NOWAIT) != 0) {
	}
	b.fake = fake_http_open(&b.loop, NULL, false, on_request, &b);
	probe_begin(&b, "/hello", (struct http_call_opts){0}, &p);
	fake_http_close(b.fake); /* before the client's first step */
	probe_finish(&b, &p);
	T_EQ(p.code, PL_UNAVAIL);
	T_TRUE(p.unsent);
	pl_buf_done(&p.got);
	b.fake = fake_http_open(&b.loop, NULL, false, on_request, &b);
	http_rig_close(&b);
}
