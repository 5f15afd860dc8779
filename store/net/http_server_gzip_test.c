/* Packed bodies, both ways. */
#include <stdlib.h>

#include "store/net/http_gzip.h"
#include "tests/support/store/net/web_curl.h"
#include "tests/support/store/net/web_h2.h"

enum { PACKED_MAX = 1 << 20 };

static struct pl_buf pack(const void *at, size_t len)
{
	struct http_gzip *gzip = http_gzip_new();
	struct pl_buf out;

	pl_buf_init(&out, PACKED_MAX);
	T_EQ(http_gzip_add(gzip, pl_span(at, len), true, &out), PL_OK);
	http_gzip_free(gzip);
	return out;
}

static enum pl_code unpack(struct pl_span packed, size_t piece, size_t max,
                           struct pl_buf *out, bool *whole)
{
	struct http_gzip *gzip = http_gunzip_new();
	enum pl_code code = PL_OK;

	pl_buf_init(out, max);
	for (size_t at = 0; at < packed.len && code == PL_OK; at += piece) {
		size_t left = packed.len - at;

		code = http_gunzip_add(
			gzip, pl_span(packed.at + at, left < piece ? left : piece), out);
	}
	*whole = http_gunzip_is_whole(gzip);
	http_gzip_free(gzip);
	return code;
}

T_CASE(bodies_are_unpacked_up_to_their_bound)
{
	static char plain[100000];
	struct pl_buf packed, out;
	bool whole;

	for (size_t i = 0; i < sizeof plain; i++)
		plain[i] = (char)('a' + i * i % 23);
	packed = pack(plain, sizeof plain);
	for (size_t piece = 1; piece <= packed.len; piece = piece * 7 + 1) {
		T_EQ(unpack(pl_buf_span(&packed), piece, sizeof plain, &out, &whole),
		     PL_OK);
		T_TRUE(whole);
		T_SPAN(pl_buf_span(&out), pl_span(plain, sizeof plain));
		pl_buf_done(&out);
		T_EQ(unpack(pl_buf_span(&packed), piece, sizeof plain - 1, &out, &whole),
		     PL_LIMIT);
		pl_buf_done(&out);
	}
	T_EQ(unpack(pl_span(packed.at, packed.len - 1), 10, sizeof plain, &out, &whole),
	     PL_OK);
	T_TRUE(!whole);
	pl_buf_done(&out);
	T_EQ(pl_buf_add_str(&packed, "more"), PL_OK);
	T_EQ(unpack(pl_buf_span(&packed), packed.len, sizeof plain, &out, &whole),
	     PL_PROTO);
	pl_buf_done(&out);
	packed.at[20] ^= 0xff;
	T_EQ(unpack(pl_buf_span(&packed), packed.len, sizeof plain, &out, &whole),
	     PL_PROTO);
	pl_buf_done(&out);
	T_EQ(unpack(PL_SPAN_LIT("hello"), 5, 100, &out, &whole), PL_PROTO);
	pl_buf_done(&out);
	pl_buf_done(&packed);
}

static long post_packed(struct web_rig *rig, struct pl_span body, bool http2)
{
	struct web_curl_opts ask = {.path = "/echo",
	                            .field = "Content-Encoding: gzip",
	                            .body = body,
	                            .http2 = http2};
	struct web_curl curl = web_curl(rig, &ask);

	free(curl.got);
	return curl.status;
}

T_CASE(a_packed_body_is_the_users_unpacked)
{
	static char zeros[3 << 20];
	struct pl_buf small, bomb;
	struct web_rig rig;

	small = pack("hello", 5);
	bomb = pack(zeros, sizeof zeros);
	T_EQ(pl_buf_add(&bomb, pl_span("", 0)), PL_OK);
	web_open(&rig, NULL);
	for (unsigned http2 = 0; http2 < 2; http2++) {
		T_EQ(post_packed(&rig, pl_buf_span(&small), http2), 200);
		T_EQ(rig.body_len, 5);
		T_EQ(post_packed(&rig, pl_buf_span(&bomb), http2), 200);
		T_EQ(rig.body_len, sizeof zeros);
		T_EQ(post_packed(&rig, pl_span(small.at, small.len - 3), http2), 400);
		T_EQ(post_packed(&rig, PL_SPAN_LIT("no gzip"), http2), 400);
	}
	web_close(&rig);
	pl_buf_done(&small);
	pl_buf_done(&bomb);
}

/* 4 MiB in 4 KiB. */
T_CASE(a_body_that_is_too_large_unpacked_is_refused)
{
	static char zeros[4 << 20];
	struct pl_buf bomb = pack(zeros, sizeof zeros);
	struct http_server_counts counts;
	struct web_rig rig;

	T_TRUE(bomb.len < 65536);
	web_open(&rig, NULL);
	T_EQ(post_packed(&rig, pl_buf_span(&bomb), false), 413);
	T_EQ(post_packed(&rig, pl_buf_span(&bomb), true), 413);
	T_EQ(rig.requests, 0);
	web_counts(&rig, &counts);
	T_EQ(counts.held_bytes, 0);
	web_close(&rig);
	pl_buf_done(&bomb);
}

T_CASE(large_answers_are_packed_for_those_who_accept_it)
{
	struct web_opts opts = {.gzip_local = true};
	struct web_curl_opts ask = {.path = "/big", .accept = "gzip"};
	struct web_curl curl;
	struct web_rig rig;

	web_open(&rig, &opts);
	curl = web_curl(&rig, &ask);
	T_EQ(curl.code, 0);
	T_EQ(curl.len, WEB_BIG);
	T_TRUE(curl.wire_len < WEB_BIG / 50);
	T_EQ(curl.got[WEB_BIG - 1], 'b');
	free(curl.got);
	ask.accept = NULL;
	curl = web_curl(&rig, &ask);
	T_EQ(curl.wire_len, WEB_BIG);
	free(curl.got);
	ask.accept = "gzip";
	ask.path = "/hello"; /* too small */
	curl = web_curl(&rig, &ask);
	T_EQ(curl.wire_len, 5);
	free(curl.got);
	T_EQ(rig.big->refs, 1);
	web_close(&rig);
}

T_CASE(http_2_answers_are_packed_side_by_side)
{
	struct web_opts opts = {.gzip_local = true};
	struct web_h2 *h2;
	struct web_rig rig;
	int32_t ids[3];

	web_open(&rig, &opts);
	h2 = web_h2_open(&rig, NULL);
	for (unsigned i = 0; i < 3; i++)
		ids[i] = web_h2_ask(h2, "GET", "/big", "accept-encoding", "br, gzip");
	for (unsigned i = 0; i < 3; i++) {
		struct web_h2_stream *stream = web_h2_stream(h2, ids[i]);

		web_h2_wait(h2, ids[i]);
		T_EQ(stream->error, 0);
		T_TRUE(stream->len > 1000 && stream->len < WEB_BIG / 50);
		T_EQ(stream->body[0], 0x1f);
	}
	T_EQ(rig.big->refs, 1);
	web_h2_close(h2);
	web_close(&rig);
}

T_CASE(answers_to_this_machine_are_not_packed)
{
	struct web_curl_opts ask = {.path = "/big", .accept = "gzip"};
	struct web_curl curl;
	struct web_rig rig;

	web_open(&rig, NULL);
	curl = web_curl(&rig, &ask);
	T_EQ(curl.wire_len, WEB_BIG);
	free(curl.got);
	web_close(&rig);
}
