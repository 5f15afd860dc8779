/* HTTP/2: requests, streams, windows, and what a client can do wrong. */
#include <stdlib.h>

#include "tests/support/store/net/web_curl.h"
#include "tests/support/store/net/web_h2.h"

T_CASE(requests_share_a_connection)
{
	struct web_h2 *h2;
	struct web_rig rig;
	int32_t ids[50];

	web_open(&rig, NULL);
	h2 = web_h2_open(&rig, NULL);
	for (unsigned i = 0; i < 50; i++)
		ids[i] = web_h2_ask(h2, "GET", i % 2 == 0 ? "/hello?x" : "/none", NULL,
		                    NULL);
	for (unsigned i = 0; i < 50; i++) {
		web_h2_wait(h2, ids[i]);
		T_EQ(web_h2_stream(h2, ids[i])->status, i % 2 == 0 ? 200 : 204);
		T_STR(web_h2_stream(h2, ids[i])->body, i % 2 == 0 ? "hello" : "");
		T_EQ(web_h2_stream(h2, ids[i])->error, 0);
	}
	T_EQ(rig.version, 2);
	T_STR(rig.host, "x");
	web_h2_close(h2);
	web_close(&rig);
}

T_CASE(curl_speaks_http_2_in_clear_text)
{
	static uint8_t body[1 << 20];
	struct web_curl_opts ask = {.path = "/echo", .http2 = true};
	struct web_curl curl;
	struct web_rig rig;

	memset(body, 'x', sizeof body);
	ask.body = pl_span(body, sizeof body);
	web_open(&rig, NULL);
	curl = web_curl(&rig, &ask);
	T_EQ(curl.status, 200);
	T_EQ(curl.conns, 1);
	T_EQ(rig.version, 2);
	T_SPAN(pl_span(curl.got, curl.len), ask.body);
	free(curl.got);
	web_close(&rig);
}

T_CASE(streams_are_fed_side_by_side)
{
	struct http_blob *blob = http_blob_new(5);
	struct http_exchange *exchanges[2];
	struct web_h2 *h2;
	struct web_rig rig;
	int32_t ids[2];

	memcpy(blob->at, "abcde", 5);
	web_open(&rig, NULL);
	h2 = web_h2_open(&rig, NULL);
	for (unsigned i = 0; i < 2; i++) {
		ids[i] = web_h2_ask(h2, "GET", "/stream", NULL, NULL);
		while (rig.requests <= i)
			web_turn(&rig);
		exchanges[i] = rig.last;
	}
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 2; i++)
			http_stream_send(exchanges[i], blob);
		while (web_h2_stream(h2, ids[0])->len < (size_t)5 * (round + 1) ||
		       web_h2_stream(h2, ids[1])->len < (size_t)5 * (round + 1)) {
			web_turn(&rig);
			web_h2_step(h2);
		}
	}
	T_STR(web_h2_stream(h2, ids[1])->body, "abcdeabcdeabcde");
	http_stream_end(exchanges[0]);
	web_h2_wait(h2, ids[0]);
	T_TRUE(!web_h2_stream(h2, ids[1])->closed);
	T_EQ(rig.gones, 1);
	http_exchange_cut(exchanges[1]);
	web_h2_wait(h2, ids[1]);
	T_EQ(web_h2_stream(h2, ids[1])->error, NGHTTP2_CANCEL);
	T_EQ(rig.gones, 2);
	T_EQ(blob->refs, 1);
	http_blob_unref(blob);
	web_h2_close(h2);
	web_close(&rig);
}

T_CASE(a_large_answer_waits_for_windows)
{
	struct web_h2 *h2;
	struct web_rig rig;
	int32_t id;

	web_open(&rig, NULL);
	h2 = web_h2_open(&rig, NULL);
	id = web_h2_ask(h2, "GET", "/big", NULL, NULL);
	web_h2_wait(h2, id);
	T_EQ(web_h2_stream(h2, id)->len, WEB_BIG);
	id = web_h2_ask(h2, "HEAD", "/big", NULL, NULL);
	web_h2_wait(h2, id);
	T_EQ(web_h2_stream(h2, id)->len, 0);
	web_h2_close(h2);
	web_close(&rig);
}

static void closed_window(uint32_t window)
{
	struct web_opts opts = {.limits = {.send_ms = 100}};
	struct web_h2_opts closed = {.window = window, .no_window = true};
	struct http_server_counts counts;
	struct web_h2 *h2;
	struct web_rig rig;
	int32_t id, other;

	web_open(&rig, &opts);
	h2 = web_h2_open(&rig, &closed);
	id = web_h2_ask(h2, "GET", "/big", NULL, NULL);
	other = web_h2_ask(h2, "GET", "/none", NULL, NULL);
	web_h2_wait(h2, other);
	T_EQ(web_h2_stream(h2, other)->status, 204);
	web_h2_wait(h2, id);
	T_EQ(web_h2_stream(h2, id)->len, window);
	T_EQ(web_h2_stream(h2, id)->error, NGHTTP2_CANCEL);
	T_EQ(rig.gones, 2);
	web_counts(&rig, &counts);
	T_EQ(counts.cut, 1);
	T_EQ(counts.held_bytes, 0);
	web_h2_close(h2);
	web_close(&rig);
}

T_CASE(a_window_that_stays_closed_cuts_its_stream_only)
{
	closed_window(1000);
	closed_window(0);
}

T_CASE(a_stream_that_is_reset_is_gone)
{
	struct web_h2 *h2;
	struct web_rig rig;
	int32_t id;

	web_open(&rig, NULL);
	h2 = web_h2_open(&rig, NULL);
	id = web_h2_ask(h2, "GET", "/stream", NULL, NULL);
	while (rig.requests == 0)
		web_turn(&rig);
	T_EQ(nghttp2_submit_rst_stream(h2->session, 0, id, NGHTTP2_CANCEL), 0);
	web_h2_step(h2);
	while (rig.gones == 0)
		web_turn(&rig);
	id = web_h2_ask(h2, "GET", "/hello", NULL, NULL);
	web_h2_wait(h2, id);
	T_STR(web_h2_stream(h2, id)->body, "hello");
	web_h2_close(h2);
	web_close(&rig);
}

static int refused(struct web_h2 *h2, const char *method, const char *path,
                   const char *field, const char *value)
{
	int32_t id = web_h2_ask(h2, method, path, field, value);

	web_h2_wait(h2, id);
	return web_h2_stream(h2, id)->status;
}

T_CASE(bad_requests_are_answered)
{
	static char large[3000], body[200];
	struct web_opts opts = {
		.limits = {.body_bytes = 100, .head_bytes = 2000, .fields = 8}};
	struct web_h2 *h2;
	struct web_rig rig;

	memset(large, 'x', sizeof large - 1);
	web_open(&rig, &opts);
	h2 = web_h2_open(&rig, NULL);
	T_EQ(refused(h2, "GET", "/a#b", NULL, NULL), 400);
	T_EQ(refused(h2, "GET", "/\xc3\xa4", NULL, NULL), 400);
	T_EQ(refused(h2, "OPTIONS", "*", NULL, NULL), 400);
	T_EQ(refused(h2, "GET", "/hello", "expect", "tea"), 417);
	T_EQ(refused(h2, "GET", "/hello", "content-encoding", "br"), 415);
	T_EQ(refused(h2, "GET", "/hello", "host", "y"), 400);
	T_EQ(refused(h2, "GET", "/hello", "large", large), 431);
	h2->body = pl_span(body, sizeof body);
	T_EQ(refused(h2, "POST", "/echo", NULL, NULL), 413);
	h2->body.len = 100;
	T_EQ(refused(h2, "POST", "/echo", NULL, NULL), 200);
	h2->body.len = 0;
	T_EQ(refused(h2, "GET", "/hello", NULL, NULL), 200);
	T_EQ(rig.requests, 2);
	web_h2_close(h2);
	web_close(&rig);
}

T_CASE(a_body_that_does_not_come_is_answered)
{
	struct web_opts opts = {.limits = {.body_ms = 100}};
	struct web_h2 *h2;
	struct web_rig rig;

	web_open(&rig, &opts);
	h2 = web_h2_open(&rig, NULL);
	h2->body_open = true;
	T_EQ(refused(h2, "POST", "/echo", NULL, NULL), 408);
	T_EQ(rig.requests, 0);
	web_h2_close(h2);
	web_close(&rig);
}

T_CASE(more_streams_than_allowed_are_refused)
{
	struct web_opts opts = {.limits = {.streams = 5}};
	struct web_h2 *h2;
	struct web_rig rig;
	unsigned closed = 0;

	web_open(&rig, &opts);
	h2 = web_h2_open(&rig, NULL);
	/* all before the server's settings are known */
	for (unsigned i = 0; i < 8; i++)
		(void)web_h2_ask(h2, "GET", "/later", NULL, NULL);
	while (closed < 3) {
		web_turn(&rig);
		web_h2_step(h2);
		closed = 0;
		for (int32_t id = 1; id < 16; id += 2) {
			closed += web_h2_stream(h2, id)->closed;
			T_TRUE(!web_h2_stream(h2, id)->closed ||
			       web_h2_stream(h2, id)->error == NGHTTP2_REFUSED_STREAM);
		}
	}
	T_EQ(rig.requests, 5);
	web_h2_close(h2);
	web_close(&rig);
}

/* -- floods ------------------------------------------------------------------------- */

static void frame_send(struct web_h2 *h2, uint8_t type, uint8_t flags, uint32_t id,
                       const char *payload, size_t len)
{
	uint8_t frame[9 + 64] = {0, 0, (uint8_t)len,       type,       flags,
	                         0, 0, (uint8_t)(id >> 8), (uint8_t)id};

	T_TRUE(len <= 64);
	if (len > 0)
		memcpy(frame + 9, payload, len);
	if (!h2->client->ended)
		web_send(h2->client, frame, 9 + len);
}

static void flood(uint8_t type, uint8_t flags, uint32_t id, const char *payload,
                  size_t len)
{
	struct web_h2 *h2;
	struct web_rig rig;

	web_open(&rig, NULL);
	h2 = web_h2_open(&rig, NULL);
	for (unsigned i = 0; i < 5000 && !h2->client->ended; i++) {
		frame_send(h2, type, flags, id, payload, len);
		if (i % 100 == 0)
			(void)uv_run(&rig.loop, UV_RUN_NOWAIT);
	}
	web_wait_end(h2->client);
	T_EQ(rig.requests, 0);
	web_h2_close(h2);
	web_close(&rig);
}

T_CASE(floods_of_frames_end_the_connection)
{
	flood(NGHTTP2_PING, 0, 0, "12345678", 8);
	flood(NGHTTP2_SETTINGS, 0, 0, NULL, 0);
	flood(NGHTTP2_PRIORITY, 0, 1, "\0\0\0\0\1", 5);
	flood(NGHTTP2_RST_STREAM, 0, 1, "\0\0\0\1", 4);
	flood(0x55, 0, 0, "unknown", 7);
}

/* An open block of fields that never ends. */
T_CASE(continuations_without_end_close_the_connection)
{
	struct web_h2 *h2;
	struct web_rig rig;

	web_open(&rig, NULL);
	h2 = web_h2_open(&rig, NULL);
	frame_send(h2, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1, "\x82\x86\x84", 3);
	for (unsigned i = 0; i < 100; i++)
		frame_send(h2, NGHTTP2_CONTINUATION, 0, 1, NULL, 0);
	web_wait_end(h2->client);
	T_EQ(rig.requests, 0);
	web_h2_close(h2);
	web_close(&rig);
}

static void stopped_block(const char *frames, size_t len)
{
	struct web_opts opts = {.limits = {.head_ms = 100}};
	struct web_h2 *h2;
	struct web_rig rig;

	web_open(&rig, &opts);
	h2 = web_h2_open(&rig, NULL);
	web_send(h2->client, frames, len);
	web_wait_end(h2->client);
	T_EQ(rig.requests, 0);
	web_h2_close(h2);
	web_close(&rig);
}

T_CASE(a_block_of_fields_that_stops_closes_the_connection)
{
	/* a frame whose block goes on; a frame that is not whole; its head only */
	stopped_block("\0\0\3\1\1\0\0\0\1\x82\x86\x84", 12);
	stopped_block("\0\0\3\1\5\0\0\0\1\x82\x86", 11);
	stopped_block("\0\0\3\1\5\0\0\0\1", 9);
}

/* nghttp2 refuses the request without its method: only its stream ends. */
T_CASE(a_refused_block_of_fields_costs_its_stream_only)
{
	struct web_opts opts = {.limits = {.head_ms = 50}};
	struct web_h2 *h2;
	struct web_client *other;
	struct web_rig rig;
	int32_t id;

	web_open(&rig, &opts);
	h2 = web_h2_open(&rig, NULL);
	id = web_h2_ask(h2, "GET", "/hello", "connection", "close");
	web_h2_wait(h2, id);
	T_EQ(web_h2_stream(h2, id)->error, NGHTTP2_PROTOCOL_ERROR);
	other = web_ask(&rig, "GET /"); /* lasts as long as the limit */
	web_leave(other);
	id = web_h2_ask(h2, "GET", "/hello", NULL, NULL);
	web_h2_wait(h2, id);
	T_EQ(web_h2_stream(h2, id)->status, 200);
	web_h2_close(h2);
	web_close(&rig);
}

/* A field of 4 KiB that costs one byte when it is repeated. */
T_CASE(packed_fields_without_end_close_the_connection)
{
	struct web_opts opts = {.limits = {.head_ms = 600000}};
	uint8_t block[2 + 4 + 4000 + 4000], *at = block;
	uint8_t frame[9] = {0,
	                    sizeof block >> 8,
	                    sizeof block & 255,
	                    NGHTTP2_HEADERS,
	                    NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS,
	                    0,
	                    0,
	                    0,
	                    1};
	struct web_h2 *h2;
	struct web_rig rig;

	*at++ = 0x40; /* literal with indexing, new name of one byte */
	*at++ = 1;
	*at++ = 'x';
	*at++ = 0x7f; /* the value's length: 127 + 33 + 30 * 128 = 4,000 */
	*at++ = 0xa1;
	*at++ = 0x1e;
	memset(at, 'v', 4000);
	at += 4000;
	memset(at, 0xbe, 4000); /* the entry again and again */
	web_open(&rig, &opts);
	h2 = web_h2_open(&rig, NULL);
	web_send(h2->client, frame, sizeof frame);
	web_send(h2->client, block, sizeof block);
	web_wait_end(h2->client);
	T_EQ(rig.requests, 0);
	web_h2_close(h2);
	web_close(&rig);
}

T_CASE(rapid_resets_end_the_connection)
{
	struct web_h2 *h2;
	struct web_rig rig;
	unsigned asked = 0;

	web_open(&rig, NULL);
	h2 = web_h2_open(&rig, NULL);
	while (!h2->client->ended && asked < WEB_H2_STREAMS - 1) {
		int32_t id = web_h2_ask(h2, "GET", "/later", NULL, NULL);

		asked++;
		T_EQ(nghttp2_submit_rst_stream(h2->session, 0, id, NGHTTP2_CANCEL), 0);
		web_h2_step(h2);
		if (asked % 50 == 0)
			(void)uv_run(&rig.loop, UV_RUN_NOWAIT);
		if (h2->away)
			break;
	}
	T_TRUE(asked < WEB_H2_STREAMS - 1);
	web_h2_wait_end(h2);
	web_h2_close(h2);
	web_close(&rig);
}

/* The server's own resets, which a client's errors make, are paid for as well. */
T_CASE(errors_that_make_the_server_reset_streams_end_the_connection)
{
	struct web_h2 *h2;
	struct web_rig rig;
	unsigned asked = 0;

	web_open(&rig, NULL);
	h2 = web_h2_open(&rig, NULL);
	while (!h2->client->ended && asked < WEB_H2_STREAMS - 1 && !h2->away) {
		int32_t id = web_h2_ask(h2, "GET", "/later", NULL, NULL);

		asked++;
		frame_send(h2, NGHTTP2_WINDOW_UPDATE, 0, (uint32_t)id, "\0\0\0\0", 4);
		if (asked % 50 == 0)
			(void)uv_run(&rig.loop, UV_RUN_NOWAIT);
		web_h2_step(h2);
	}
	T_TRUE(asked < WEB_H2_STREAMS - 1);
	web_h2_wait_end(h2);
	web_h2_close(h2);
	web_close(&rig);
}

T_CASE(garbage_ends_the_connection)
{
	struct web_h2 *h2;
	struct web_rig rig;
	uint8_t bytes[64];

	memset(bytes, 0xff, sizeof bytes);
	web_open(&rig, NULL);
	h2 = web_h2_open(&rig, NULL);
	web_send(h2->client, bytes, sizeof bytes);
	web_wait_end(h2->client);
	web_h2_close(h2);
	web_close(&rig);
}

/* -- the end -------------------------------------------------------------------------- */

T_CASE(a_graceful_stop_lets_streams_end)
{
	struct http_exchange *stream;
	struct web_h2 *busy, *idle;
	struct web_rig rig;
	int32_t id;

	web_open(&rig, NULL);
	busy = web_h2_open(&rig, NULL);
	idle = web_h2_open(&rig, NULL);
	id = web_h2_ask(busy, "GET", "/stream", NULL, NULL);
	while (rig.requests == 0)
		web_turn(&rig);
	stream = rig.last;
	http_server_stop_accepting(rig.server);
	web_h2_wait_end(idle);
	T_TRUE(idle->away && idle->away_error == 0);
	http_stream_send_copy(stream, PL_SPAN_LIT("last"));
	http_stream_end(stream);
	web_h2_wait(busy, id);
	T_STR(web_h2_stream(busy, id)->body, "last");
	web_h2_wait_end(busy);
	T_TRUE(busy->away);
	web_h2_close(busy);
	web_h2_close(idle);
	web_close(&rig);
}

T_CASE(an_idle_connection_is_told_that_it_ends)
{
	struct web_opts opts = {.limits = {.idle_ms = 100}};
	struct web_h2 *h2;
	struct web_rig rig;

	web_open(&rig, &opts);
	h2 = web_h2_open(&rig, NULL);
	web_h2_wait_end(h2);
	T_TRUE(h2->away && h2->away_error == 0);
	web_h2_close(h2);
	web_close(&rig);
}
