/* Requests and answers of HTTP/1.1 in clear text. */
#include "tests/support/store/net/web_rig.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"
#define GET_LAST(path) "GET " path " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

static unsigned count_of(const struct web_client *client, const char *text)
{
	unsigned count = 0;
	const char *at = client->got;

	while ((at = strstr(at, text)) != NULL) {
		count++;
		at++;
	}
	return count;
}

T_CASE(a_request_is_answered)
{
	struct web_client *client;
	struct web_rig rig;

	web_open(&rig, NULL);
	client = web_ask(&rig, GET_LAST("/hello?a=b"));
	T_STR(rig.line, "GET /hello?a=b");
	T_STR(rig.host, "x");
	T_EQ(rig.version, 1);
	T_TRUE(strncmp(client->got, "HTTP/1.1 200 OK\r\ndate: ", 23) == 0);
	T_TRUE(web_has(client, "\r\ncontent-type: text/x\r\n"));
	T_TRUE(web_has(client, "\r\ncontent-length: 5\r\n"));
	T_TRUE(web_has(client, "\r\nconnection: close\r\n"));
	T_TRUE(web_has(client, "\r\n\r\nhello"));
	web_leave(client);
	web_close(&rig);
}

T_CASE(a_connection_serves_many_requests)
{
	struct http_server_counts counts;
	struct web_client *client;
	struct web_rig rig;

	web_open(&rig, NULL);
	client = web_connect(&rig);
	for (unsigned i = 1; i <= 20; i++) {
		web_text(client, GET("/hello"));
		while (count_of(client, "\r\n\r\nhello") < i)
			web_turn(&rig);
	}
	web_counts(&rig, &counts);
	T_EQ(counts.conns, 1);
	T_EQ(counts.requests, 20);
	T_EQ(counts.open_exchanges, 0);
	T_EQ(counts.held_bytes, 0);
	web_leave(client);
	web_close(&rig);
}

T_CASE(pipelined_requests_are_answered_in_order)
{
	struct web_client *client;
	struct web_rig rig;
	const char *hello, *none, *later;

	web_open(&rig, NULL);
	client = web_connect(&rig);
	web_text(client, GET("/hello") GET("/later") GET("/none") GET_LAST("/stream"));
	web_wait_text(client, "hello");
	while (rig.requests < 2)
		web_turn(&rig);
	T_EQ(rig.requests, 2);
	http_respond(rig.last, 200, NULL, 0, PL_SPAN_LIT("later"));
	while (rig.requests < 4)
		web_turn(&rig);
	http_stream_send_copy(rig.last, PL_SPAN_LIT("streamed"));
	http_stream_end(rig.last);
	web_wait_end(client);
	hello = strstr(client->got, "hello");
	later = strstr(client->got, "later");
	none = strstr(client->got, " 204 No Content");
	T_TRUE(hello < later && later < none);
	T_TRUE(strstr(none, "8\r\nstreamed\r\n0\r\n\r\n") != NULL);
	T_TRUE(strstr(none, "content-length") == NULL);
	web_leave(client);
	web_close(&rig);
}

T_CASE(an_exchange_has_a_field_of_its_own)
{
	const struct http_field own = {PL_SPAN_LIT("audit-id"), PL_SPAN_LIT("a-1")};
	const struct http_field given[] = {
		{PL_SPAN_LIT("content-type"), PL_SPAN_LIT("text/plain")}};
	struct web_client *client;
	struct web_rig rig;

	web_open(&rig, NULL);
	client = web_connect(&rig);
	web_text(client, GET_LAST("/later"));
	while (rig.requests < 1)
		web_turn(&rig);
	T_EQ(http_exchange_status(rig.last), 0);
	http_exchange_set_field(rig.last, own);
	http_respond(rig.last, 403, given, 1, PL_SPAN_LIT("later"));
	T_EQ(http_exchange_status(rig.last), 403);
	web_wait_end(client);
	T_TRUE(strstr(client->got, "\r\naudit-id: a-1\r\n") != NULL);
	T_TRUE(strstr(client->got, "\r\ncontent-type: text/plain\r\n") != NULL);
	web_leave(client);
	web_close(&rig);
}

T_CASE(who_sends_many_requests_ahead_lets_others_come_first)
{
	enum { AHEAD = 500 };
	struct web_client *flood, *client;
	unsigned flooded;
	struct web_rig rig;

	web_open(&rig, NULL);
	client = web_connect(&rig);
	flood = web_connect(&rig);
	for (int i = 0; i < AHEAD; i++)
		web_text(flood, GET("/hello"));
	while (rig.requests == 0)
		web_turn(&rig);
	flooded = rig.requests;
	T_TRUE(flooded < AHEAD / 4);
	web_text(client, GET("/hello"));
	web_wait_text(client, "hello");
	T_TRUE(rig.requests < AHEAD);
	while (rig.requests < AHEAD + 1)
		web_turn(&rig);
	web_leave(flood);
	web_leave(client);
	web_close(&rig);
}

T_CASE(bodies_come_by_length_or_in_chunks_in_any_pieces)
{
	static const char text[] =
		"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde"
		"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
		"3;ext=\"y\"\r\nfgh\r\nA\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n" GET_LAST(
			"/hello");
	struct web_rig rig;

	web_open(&rig, NULL);
	for (size_t step = 1; step < sizeof text; step += 13) {
		struct web_client *client = web_connect(&rig);

		for (size_t at = 0; at < sizeof text - 1; at += step) {
			size_t left = sizeof text - 1 - at;

			web_send(client, text + at, left < step ? left : step);
			(void)uv_run(&rig.loop, UV_RUN_NOWAIT);
		}
		web_wait_end(client);
		T_TRUE(web_has(client, "\r\n\r\nabcdeHTTP/1.1 200"));
		T_TRUE(web_has(client, "\r\n\r\nfgh0123456789HTTP/1.1 200"));
		T_TRUE(web_has(client, "\r\n\r\nhello"));
		web_leave(client);
	}
	web_close(&rig);
}

T_CASE(a_client_that_expects_100_is_told_to_go_on)
{
	struct web_client *client;
	struct web_rig rig;

	web_open(&rig, NULL);
	client = web_connect(&rig);
	web_text(client, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
	                 "Content-Length: 2\r\n\r\n");
	web_wait_text(client, "HTTP/1.1 100 Continue\r\n\r\n");
	web_text(client, "ab");
	web_wait_text(client, "\r\n\r\nab");
	web_text(client, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
	                 "Content-Length: 2\r\n\r\ncd");
	web_wait_text(client, "\r\n\r\ncd");
	T_EQ(count_of(client, "100 Continue"), 1);
	web_leave(client);
	client = web_ask(&rig, "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n");
	T_TRUE(web_has(client, "HTTP/1.1 417 "));
	web_leave(client);
	web_close(&rig);
}

T_CASE(head_gets_the_length_and_no_body)
{
	struct web_client *client;
	struct web_rig rig;

	web_open(&rig, NULL);
	client = web_ask(&rig,
	                 "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n" GET_LAST("/none"));
	T_TRUE(web_has(client, "content-length: 5\r\n\r\nHTTP/1.1 204"));
	web_leave(client);
	client = web_ask(&rig, "HEAD /big HTTP/1.1\r\nHost: x\r\n\r\n" GET_LAST("/none"));
	T_TRUE(web_has(client, "content-length: 4194304\r\n\r\nHTTP/1.1 204"));
	web_leave(client);
	web_close(&rig);
}

T_CASE(http_1_0_ends_with_the_connection_unless_asked)
{
	struct web_client *client;
	struct web_rig rig;

	web_open(&rig, NULL);
	client = web_ask(&rig, "GET /hello HTTP/1.0\r\n\r\n");
	T_TRUE(web_has(client, "connection: close\r\n\r\nhello"));
	web_leave(client);
	client = web_ask(&rig, "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
	                       "GET /feed HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	T_TRUE(web_has(client, "connection: keep-alive\r\n\r\nhello"));
	T_TRUE(!web_has(client, "chunked"));
	T_TRUE(client->got_len > WEB_BIG);
	web_leave(client);
	web_close(&rig);
}

T_CASE(a_stream_leaves_in_one_piece_each_turn)
{
	struct http_blob *blob = http_blob_new(3);
	struct web_client *client;
	struct web_rig rig;

	memcpy(blob->at, "abc", 3);
	web_open(&rig, NULL);
	client = web_connect(&rig);
	web_text(client, GET("/stream"));
	web_wait_text(client, "transfer-encoding: chunked\r\n\r\n");
	http_stream_send(rig.last, blob);
	http_stream_send_copy(rig.last, PL_SPAN_LIT("d"));
	http_stream_send(rig.last, blob);
	T_EQ(http_exchange_pending(rig.last), 7);
	T_EQ(blob->refs, 3);
	web_wait_text(client, "\r\n\r\n7\r\nabcdabc\r\n");
	T_EQ(http_exchange_pending(rig.last), 0);
	T_EQ(blob->refs, 1);
	T_EQ(rig.gones, 0);
	http_stream_end(rig.last);
	T_EQ(rig.gones, 0);
	web_wait_text(client, "0\r\n\r\n");
	while (rig.gones == 0)
		web_turn(&rig);
	web_text(client, GET("/hello"));
	web_wait_text(client, "\r\n\r\nhello");
	http_blob_unref(blob);
	web_leave(client);
	web_close(&rig);
}

T_CASE(an_exchange_ends_when_its_client_leaves)
{
	static const char *const paths[] = {GET("/later"), GET("/stream")};
	struct web_rig rig;

	web_open(&rig, NULL);
	for (unsigned i = 0; i < 2; i++) {
		struct web_client *client = web_connect(&rig);

		web_text(client, paths[i]);
		while (rig.requests <= i)
			web_turn(&rig);
		if (i == 0) { /* may have sent its end only: it is found by the answer */
			http_respond(rig.last, 200, NULL, 0, PL_SPAN_LIT("x"));
		}
		web_leave(client);
		while (rig.gones <= i)
			web_turn(&rig);
	}
	web_close(&rig);
}

T_CASE(a_client_that_has_sent_its_end_gets_what_is_due)
{
	struct web_client *client;
	struct web_rig rig;

	web_open(&rig, NULL);
	client = web_connect(&rig);
	web_text(client, GET("/hello") GET("/later"));
	web_finish(client);
	while (rig.requests < 2)
		web_turn(&rig);
	for (unsigned i = 0; i < 10; i++)
		(void)uv_run(&rig.loop, UV_RUN_NOWAIT);
	T_TRUE(rig.last != NULL);
	http_respond(rig.last, 200, NULL, 0, PL_SPAN_LIT("later"));
	web_wait_end(client);
	T_TRUE(web_has(client, "hello") && web_has(client, "\r\n\r\nlater"));
	web_leave(client);
	client = web_connect(
		&rig); /* a stream has no end that the client would wait for */
	web_text(client, GET("/stream"));
	web_finish(client);
	web_wait_end(client);
	T_EQ(rig.gones, 3);
	web_leave(client);
	web_close(&rig);
}

T_CASE(a_cut_exchange_loses_its_connection)
{
	struct web_client *client;
	struct web_rig rig;

	web_open(&rig, NULL);
	client = web_connect(&rig);
	web_text(client, GET("/stream"));
	web_wait_text(client, "chunked\r\n\r\n");
	http_exchange_cut(rig.last);
	T_EQ(rig.gones, 0);
	http_stream_send_copy(rig.last, PL_SPAN_LIT("lost"));
	web_wait_end(client);
	T_TRUE(!web_has(client, "lost"));
	T_EQ(rig.gones, 1);
	web_leave(client);
	web_close(&rig);
}

T_CASE(closing_ends_what_runs)
{
	struct web_client *clients[3];
	struct web_rig rig;

	web_open(&rig, NULL);
	for (unsigned i = 0; i < 3; i++) {
		clients[i] = web_connect(&rig);
		web_text(clients[i], i == 0 ? GET("/later") : GET("/stream"));
	}
	while (rig.requests < 3)
		web_turn(&rig);
	for (unsigned i = 0; i < 3; i++)
		web_leave(clients[i]);
	web_close(&rig);
	T_EQ(rig.gones, 3);
}

T_CASE(a_large_answer_arrives_whole)
{
	struct web_client *client;
	struct web_rig rig;

	web_open(&rig, NULL);
	client = web_connect(&rig);
	web_reading(client, false);
	web_text(client, GET_LAST("/big"));
	while (rig.requests == 0)
		web_turn(&rig);
	T_EQ(rig.gones, 0);
	web_reading(client, true);
	web_wait_end(client);
	T_TRUE(client->got_len > WEB_BIG);
	T_EQ(client->got[client->got_len - 1], 'b');
	T_EQ(rig.gones, 1);
	T_EQ(rig.big->refs, 1);
	web_leave(client);
	web_close(&rig);
}

T_CASE(a_producer_is_asked_when_there_is_room)
{
	struct web_opts opts = {.limits = {.unread_bytes = 1 << 20}};
	struct web_client *client;
	struct web_rig rig;

	web_open(&rig, &opts);
	client = web_ask(&rig, GET_LAST("/feed"));
	T_TRUE(client->got_len > WEB_BIG && rig.rooms > 0);
	web_leave(client);
	web_close(&rig);
}
