/* Every limit, over sockets: what a client gets, and that the server goes on. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/store/net/web_rig.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define GET_LAST(path) "GET " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
#define POST(fields) "POST /echo HTTP/1.1\r\nHost: x\r\n" fields "\r\n"

static void expect_refusal(const struct web_opts *opts, const char *text,
                           const char *want)
{
	struct http_server_counts counts;
	struct web_client *client;
	struct web_rig rig;

	web_open(&rig, opts);
	client = web_ask(&rig, text);
	if (!web_has(client, want))
		t_fail(__FILE__, __LINE__, "no \"%s\" in \"%s\"", want, client->got);
	T_TRUE(web_has(client, "\r\nconnection: close\r\n"));
	T_TRUE(web_has(client, "\r\ncontent-type: application/json\r\n"));
	T_EQ(rig.requests, 0);
	web_leave(client);
	client = web_ask(&rig, GET_LAST("/hello"));
	T_TRUE(web_has(client, "\r\n\r\nhello"));
	web_counts(&rig, &counts);
	T_EQ(counts.bad_requests, 1);
	T_EQ(counts.held_bytes, 0);
	web_leave(client);
	web_close(&rig);
}

T_CASE(a_refusal_is_a_status_object)
{
	expect_refusal(NULL, "GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
	               "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
	               "\"status\":\"Failure\",\"message\":\"the request has no Host "
	               "field\",\"reason\":\"BadRequest\",\"code\":400}");
}

T_CASE(heads_are_limited)
{
	struct web_opts opts = {.limits = {.head_bytes = 200, .fields = 4}};
	char text[WEB_TEXT];

	(void)snprintf(text, sizeof text, "GET /%0300d HTTP/1.1\r\n", 0);
	expect_refusal(&opts, text, "HTTP/1.1 414 URI Too Long\r\n");
	(void)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nX: %0300d", 0);
	expect_refusal(&opts, text, "HTTP/1.1 431 Request Header Fields Too Large\r\n");
	expect_refusal(&opts, "GET / HTTP/1.1\r\nA:\r\nB:\r\nC:\r\nD:\r\nE:\r\n\r\n",
	               "HTTP/1.1 431 ");
}

T_CASE(bodies_are_limited)
{
	struct web_opts opts = {.limits = {.body_bytes = 10}};

	expect_refusal(&opts, POST("Content-Length: 11\r\n"),
	               "HTTP/1.1 413 Request Entity Too Large\r\n");
	expect_refusal(&opts, POST("Transfer-Encoding: chunked\r\n") "b\r\n",
	               "HTTP/1.1 413 ");
	expect_refusal(
		&opts,
		POST("Transfer-Encoding: chunked\r\n") "6\r\nabcdef\r\n6\r\nabcdef\r\n",
		"HTTP/1.1 413 ");
}

/* The client is still sending, and reads later: a connection that was closed with bytes
 * unread would be reset, and its answer lost. */
T_CASE(a_client_that_sends_too_much_gets_its_answer)
{
	static char body[8 << 20];
	struct http_server_counts counts;
	struct web_client *client;
	struct web_rig rig;

	web_open(&rig, NULL);
	client = web_connect(&rig);
	web_reading(client, false);
	web_text(client, POST("Content-Length: 8388608\r\n"));
	web_send(client, body, sizeof body);
	do {
		web_turn(&rig);
		web_counts(&rig, &counts);
		T_EQ(counts.open_conns, 1); /* all of the body is read, and dropped */
	} while (counts.bytes_in < sizeof body);
	web_reading(client, true);
	web_wait_text(client, "HTTP/1.1 413 ");
	web_leave(client);
	web_close(&rig);
}

T_CASE(all_bodies_together_are_limited)
{
	struct web_opts opts = {.limits = {.bodies_bytes = 1000}};
	struct http_server_counts counts;
	struct web_client *first, *second;
	static char body[900];
	struct web_rig rig;

	memset(body, 'x', sizeof body);
	web_open(&rig, &opts);
	first = web_connect(&rig);
	web_text(first, "POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n");
	web_send(first, body, sizeof body);
	while (rig.requests == 0)
		web_turn(&rig);
	web_counts(&rig, &counts);
	T_EQ(counts.held_bytes, 900);
	second = web_connect(&rig);
	web_text(second, POST("Content-Length: 900\r\n"));
	web_send(second, body, sizeof body);
	web_wait_text(second, "HTTP/1.1 503 Service Unavailable\r\n");
	T_TRUE(web_has(second, "\r\nretry-after: 1\r\n"));
	web_leave(second);
	http_respond(rig.last, 200, NULL, 0, pl_span(NULL, 0));
	while (rig.gones == 0)
		web_turn(&rig);
	web_text(first, POST("Content-Length: 900\r\n"));
	web_send(first, body, sizeof body);
	web_wait_text(first, "xxx");
	web_leave(first);
	web_close(&rig);
}

T_CASE(slow_heads_and_bodies_are_cut)
{
	struct web_opts opts = {.limits = {.head_ms = 100, .body_ms = 100}};

	expect_refusal(&opts, "GET /hel", "HTTP/1.1 408 Request Timeout\r\n");
	expect_refusal(&opts, "GET /hello HTTP/1.1\r\nHost: x\r\n", "HTTP/1.1 408 ");
	expect_refusal(&opts, POST("Content-Length: 5\r\n") "ab", "HTTP/1.1 408 ");
	expect_refusal(&opts, POST("Transfer-Encoding: chunked\r\n") "5\r\nab",
	               "HTTP/1.1 408 ");
}

/* A byte now and then does not help: the time runs from the first one. */
T_CASE(a_head_that_trickles_is_cut)
{
	struct web_opts opts = {.limits = {.head_ms = 200}};
	struct web_client *client;
	struct web_rig rig;

	web_open(&rig, &opts);
	client = web_connect(&rig);
	web_text(client, "GET / HTTP/1.1\r\nX: ");
	while (!client->ended) {
		web_text(client, "y");
		web_turn(&rig);
		web_turn(&rig);
	}
	T_TRUE(web_has(client, "HTTP/1.1 408 "));
	web_leave(client);
	web_close(&rig);
}

T_CASE(idle_connections_are_closed)
{
	struct web_opts opts = {.limits = {.idle_ms = 100}};
	struct web_client *fresh, *used;
	struct web_rig rig;

	web_open(&rig, &opts);
	used = web_connect(&rig);
	web_text(used, GET("/hello"));
	web_wait_text(used, "hello");
	fresh = web_connect(&rig);
	web_wait_end(used);
	web_wait_end(fresh);
	T_EQ(fresh->got_len, 0);
	web_leave(fresh);
	web_leave(used);
	web_close(&rig);
}

T_CASE(an_exchange_that_waits_for_the_server_is_not_idle)
{
	struct web_opts opts = {.limits = {.idle_ms = 50, .head_ms = 50, .send_ms = 50}};
	struct web_client *client, *other;
	struct web_rig rig;

	web_open(&rig, &opts);
	client = web_connect(&rig);
	web_text(client, GET("/later"));
	while (rig.requests == 0)
		web_turn(&rig);
	for (unsigned i = 0; i < 3; i++) { /* each lasts as long as the limit */
		other = web_connect(&rig);
		web_wait_end(other);
		web_leave(other);
	}
	T_EQ(rig.gones, 0);
	http_respond(rig.last, 200, NULL, 0, PL_SPAN_LIT("at last"));
	web_wait_text(client, "at last");
	web_leave(client);
	web_close(&rig);
}

T_CASE(connections_beyond_the_limit_are_closed_at_once)
{
	struct web_opts opts = {.limits = {.conns = 2}};
	struct http_server_counts counts;
	struct web_client *clients[3];
	struct web_rig rig;

	web_open(&rig, &opts);
	for (unsigned i = 0; i < 3; i++)
		clients[i] = web_connect(&rig);
	web_wait_end(clients[2]);
	web_counts(&rig, &counts);
	T_EQ(counts.conns_refused, 1);
	T_EQ(counts.open_conns, 2);
	web_text(clients[1], GET("/hello"));
	web_wait_text(clients[1], "hello");
	web_leave(clients[2]);
	web_leave(clients[0]);
	do {
		web_turn(&rig);
		web_counts(&rig, &counts);
	} while (counts.open_conns == 2);
	clients[2] = web_connect(&rig);
	web_text(clients[2], GET("/hello"));
	web_wait_text(clients[2], "hello");
	web_leave(clients[1]);
	web_leave(clients[2]);
	web_close(&rig);
}

/* -- clients that do not read ------------------------------------------------------- */

T_CASE(a_stream_that_is_not_read_is_cut_beyond_its_limit)
{
	enum { PIECE = 64 * 1024 };
	struct web_opts opts = {.limits = {.unread_bytes = 1 << 20}};
	struct http_blob *blob = http_blob_new(PIECE);
	struct web_client *client, *other;
	struct http_server_counts counts;
	struct web_rig rig;
	unsigned sent = 0;

	memset(blob->at, 'x', PIECE);
	web_open(&rig, &opts);
	client = web_connect(&rig);
	web_text(client, GET("/stream"));
	web_wait_text(client, "\r\n\r\n");
	web_reading(client, false);
	while (rig.last != NULL) { /* the kernel takes some megabytes */
		T_TRUE(http_exchange_pending(rig.last) <= 1 << 20);
		http_stream_send(rig.last, blob);
		T_TRUE(++sent < 100000);
		(void)uv_run(&rig.loop, UV_RUN_NOWAIT);
	}
	T_EQ(rig.gones, 1);
	T_EQ(blob->refs, 1);
	web_counts(&rig, &counts);
	T_EQ(counts.cut, 1);
	T_EQ(counts.held_bytes, 0);
	other = web_ask(&rig, GET_LAST("/hello"));
	T_TRUE(web_has(other, "hello"));
	http_blob_unref(blob);
	web_leave(other);
	web_leave(client);
	web_close(&rig);
}

T_CASE(an_answer_that_is_not_read_is_cut_after_a_time)
{
	struct web_opts opts = {.limits = {.send_ms = 100}};
	struct http_server_counts counts;
	struct web_client *client;
	struct web_rig rig;

	web_open(&rig, &opts);
	client = web_connect(&rig);
	web_reading(client, false);
	for (unsigned i = 0; i < 4; i++) /* more than the kernel takes */
		web_text(client, GET("/big"));
	do {
		web_turn(&rig);
		web_counts(&rig, &counts);
	} while (counts.open_conns > 0);
	T_EQ(counts.cut, 1);
	T_EQ(counts.held_bytes, 0);
	T_EQ(rig.big->refs, 1);
	web_leave(client);
	web_close(&rig);
}

/* Requests that are sent ahead wait: a client that does not read makes no more answers
 * than fit. */
T_CASE(a_client_that_asks_much_and_reads_nothing_holds_little)
{
	struct http_server_counts counts;
	struct web_client *client, *other;
	struct web_rig rig;
	unsigned before;

	web_open(&rig, NULL);
	client = web_connect(&rig);
	web_reading(client, false);
	for (unsigned i = 0; i < 2000; i++)
		web_text(client, GET("/big"));
	do {
		before = rig.requests;
		for (unsigned i = 0; i < 20; i++)
			(void)uv_run(&rig.loop, UV_RUN_NOWAIT);
	} while (rig.requests > before || rig.requests == 0);
	T_TRUE(rig.requests < 20);
	web_counts(&rig, &counts);
	T_TRUE(counts.held_bytes <= 2 * (size_t)WEB_BIG);
	other = web_ask(&rig, GET_LAST("/hello"));
	T_TRUE(web_has(other, "hello"));
	web_reading(client, true);
	while (rig.gones < 100) {
		web_turn(&rig);
		client->got_len = 0;
	}
	web_leave(other);
	web_leave(client);
	web_close(&rig);
}

T_CASE(clients_that_stop_reading_do_not_hold_up_others)
{
	enum { STUCK = 50 };
	struct web_client *stuck[STUCK], *client;
	struct web_rig rig;

	web_open(&rig, NULL);
	for (unsigned i = 0; i < STUCK; i++) {
		stuck[i] = web_connect(&rig);
		web_reading(stuck[i], false);
		web_text(stuck[i], GET("/big") GET("/big") GET("/big"));
	}
	while (rig.requests < STUCK)
		web_turn(&rig);
	client = web_connect(&rig);
	for (unsigned i = 0; i < 100; i++) {
		client->got_len = 0;
		web_text(client, GET("/hello"));
		web_wait_text(client, "hello");
	}
	for (unsigned i = 0; i < STUCK; i++)
		web_leave(stuck[i]);
	web_leave(client);
	web_close(&rig);
}

T_CASE_SECONDS(thousands_of_idle_connections_are_fine, 60)
{
	enum { IDLE = 2000 };
	static struct web_client *clients[IDLE];
	struct http_server_counts counts;
	struct web_rig rig;

	web_open(&rig, NULL);
	for (unsigned i = 0; i < IDLE; i++)
		clients[i] = web_connect(&rig);
	for (unsigned i = 0; i < IDLE; i++)
		web_text(clients[i], GET("/hello"));
	for (unsigned i = 0; i < IDLE; i++)
		web_wait_text(clients[i], "hello");
	web_counts(&rig, &counts);
	T_EQ(counts.open_conns, IDLE);
	T_EQ(counts.held_bytes, 0);
	for (unsigned i = 0; i < IDLE; i++)
		web_leave(clients[i]);
	web_close(&rig);
}

/* -- the end -------------------------------------------------------------------------- */

T_CASE(a_graceful_stop_lets_exchanges_end)
{
	struct web_client *idle, *half, *later, *stream;
	struct http_exchange *answer;
	struct web_rig rig;

	web_open(&rig, NULL);
	idle = web_connect(&rig);
	half = web_connect(&rig);
	web_text(half, "GET /hel");
	later = web_connect(&rig);
	web_text(later, GET("/later"));
	while (rig.requests == 0)
		web_turn(&rig);
	answer = rig.last;
	stream = web_connect(&rig);
	web_text(stream, GET("/stream") GET("/hello"));
	web_wait_text(stream, "chunked");
	http_server_stop_accepting(rig.server);
	web_wait_end(idle);
	web_wait_end(half);
	T_EQ(rig.gones, 0);
	http_stream_send_copy(rig.last, PL_SPAN_LIT("bye"));
	http_stream_end(rig.last);
	web_wait_end(stream);
	T_TRUE(web_has(stream, "3\r\nbye\r\n0\r\n\r\n"));
	T_TRUE(!web_has(stream, "hello"));
	http_respond(answer, 200, NULL, 0, PL_SPAN_LIT("at last"));
	web_wait_end(later);
	T_TRUE(web_has(later, "connection: close\r\n\r\nat last"));
	T_EQ(rig.requests, 2);
	web_leave(idle);
	web_leave(half);
	web_leave(later);
	web_leave(stream);
	web_close(&rig);
}

T_CASE(a_port_that_is_taken_is_an_error)
{
	struct http_server_opts opts = {.host = "127.0.0.1"};
	struct http_server_fns fns = {0};
	struct http_server *server;
	struct web_rig rig;
	struct pl_err err;

	web_open(&rig, NULL);
	opts.port = http_server_port(rig.server);
	T_CODE(http_server_open(&rig.loop, &opts, &fns, NULL, &server, &err), PL_EXISTS,
	       &err);
	opts.host = "no address";
	T_CODE(http_server_open(&rig.loop, &opts, &fns, NULL, &server, &err), PL_INVALID,
	       &err);
	web_close(&rig);
}
