/* Calls over a session joined to the fake server by memory: see grpc_rig.h. */
#include "tests/harness/t.h"
#include "tests/support/store/net/grpc_rig.h"

static struct grpc_rig rig;

#define expect(call, fate, code, words) T_TRUE(grpc_rig_ended(call, fate, code, words))

static struct grpc_rig_call *call_run(enum fake_act act, size_t len)
{
	struct grpc_rig_call *call = grpc_rig_call(&rig, act, len);

	T_TRUE(call != NULL);
	grpc_rig_run(&rig);
	return call;
}

static void open_rig(void)
{
	T_OK(grpc_rig_init(&rig, NULL, NULL), NULL);
}

T_CASE(a_unary_call_brings_its_answer)
{
	struct grpc_rig_call *call;

	open_rig();
	call = call_run(FAKE_ok, 300);
	T_TRUE(rig.ready);
	expect(call, GRPC_ANSWERED, PL_OK, "");
	T_EQ(call->status, GRPC_OK);
	T_EQ(call->message_len, 300);
	T_EQ(call->sent_ms, 1000);
	T_STR(fake_h2_call(rig.server, 0)->timeout, "5000m");
	T_EQ(grpc_session_unsent(&rig.session), 0);
	call = call_run(FAKE_ok, 0);
	T_EQ(call->message_len, 0);
	T_EQ(call->status, GRPC_OK);
	grpc_rig_done(&rig);
}

T_CASE(metadata_is_sent)
{
	open_rig();
	T_TRUE(grpc_rig_call_at(&rig, FAKE_ok, 1, 1000 + 123456, "secret.7") != NULL);
	grpc_rig_run(&rig);
	T_STR(fake_h2_call(rig.server, 0)->timeout, "124000m");
	T_STR(fake_h2_call(rig.server, 0)->token, "secret.7");
	T_TRUE(fake_h2_call(rig.server, 0)->leader);
	T_TRUE(grpc_rig_call_at(&rig, FAKE_ok, 1, 5000, "evil\r\nx: y") == NULL);
	grpc_rig_done(&rig);
}

T_CASE(each_kind_of_answer_has_its_end)
{
	static const struct {
		enum fake_act act;
		enum grpc_fate fate;
		enum pl_code code;
		const char *words;
	} rows[] = {
		{FAKE_error, GRPC_ANSWERED, PL_OK, "key \"a%b\" is bad \xc3\xa4"},
		{FAKE_frag, GRPC_ANSWERED, PL_OK, ""},
		{FAKE_early, GRPC_ANSWERED, PL_OK, ""},
		{FAKE_early_hints, GRPC_ANSWERED, PL_OK, ""},
		{FAKE_big, GRPC_ANSWERED, PL_OK, ""},
		{FAKE_refuse, GRPC_UNSENT, PL_UNAVAIL, "REFUSED_STREAM"},
		{FAKE_reset, GRPC_MAYBE, PL_UNAVAIL, "INTERNAL_ERROR"},
		{FAKE_lie, GRPC_MAYBE, PL_LIMIT, "4294967295 bytes, at most 1048576"},
		{FAKE_half, GRPC_MAYBE, PL_PROTO, "within a message"},
		{FAKE_two, GRPC_MAYBE, PL_PROTO, "behind the message"},
		{FAKE_none, GRPC_MAYBE, PL_PROTO, "without a message"},
		{FAKE_nostatus, GRPC_MAYBE, PL_PROTO, "without grpc-status"},
		{FAKE_badstatus, GRPC_MAYBE, PL_PROTO, "malformed grpc-status"},
		{FAKE_html, GRPC_MAYBE, PL_PROTO, "HTTP status 404"},
		{FAKE_proxy, GRPC_MAYBE, PL_UNAVAIL, "HTTP status 503"},
		{FAKE_text, GRPC_MAYBE, PL_PROTO, "content-type"},
		{FAKE_packed, GRPC_MAYBE, PL_PROTO, "compressed"},
		{FAKE_garbage, GRPC_MAYBE, PL_PROTO, "not a gRPC message: flags 0x49"},
	};

	for (size_t chunk = 1; chunk <= 1000; chunk = chunk * 7 + 3) {
		open_rig();
		rig.chunk = chunk;
		for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
			expect(call_run(rows[i].act, 100), rows[i].fate, rows[i].code,
			       rows[i].words);
		/* The connection works as before. */
		T_TRUE(!rig.dead && rig.session.streams == 0);
		expect(call_run(FAKE_ok, 10), GRPC_ANSWERED, PL_OK, "");
		grpc_rig_done(&rig);
	}
}

T_CASE(a_large_answer_arrives_whole_in_pieces_of_any_size)
{
	static const size_t chunks[] = {1, 9, 1000, 16384, 70000, SIZE_MAX};
	uint32_t first = 0;

	for (unsigned i = 0; i < sizeof chunks / sizeof *chunks; i++) {
		struct grpc_rig_call *call;

		open_rig();
		rig.chunk = chunks[i];
		call = call_run(FAKE_big, 1);
		T_EQ(call->message_len, 100000);
		T_TRUE(i == 0 || call->message_sum == first);
		first = call->message_sum;
		grpc_rig_done(&rig);
	}
}

T_CASE_SECONDS(a_huge_message_costs_its_size_and_is_given_back, 60)
{
	struct fake_opts fake = {.window = 65535, .big_size = 96 << 20};
	struct grpc_session_opts opts = {
		.scheme = "http", .authority = "x", .message_max = 100 << 20};
	struct grpc_rig_call *call;

	T_OK(grpc_rig_init(&rig, &fake, &opts), NULL);
	call = call_run(FAKE_big, 1);
	T_EQ(call->message_len, 96 << 20);
	T_EQ(call->status, GRPC_OK);
	grpc_rig_done(&rig);
}

T_CASE(a_claimed_length_alone_allocates_nothing)
{
	struct fake_opts fake = {.window = 65535, .big_size = 900 << 20};
	struct grpc_session_opts opts = {
		.scheme = "http", .authority = "x", .message_max = 1 << 30};
	struct grpc_rig_call *call;

	T_OK(grpc_rig_init(&rig, &fake, &opts), NULL);
	call = call_run(FAKE_claim, 1);
	T_EQ(call->ended, 0);
	T_TRUE(call->call->decoder.body.cap < 4096);
	grpc_rig_tick(&rig, 6000);
	expect(call, GRPC_MAYBE, PL_TIMEOUT, "no answer in time");
	grpc_rig_done(&rig);
}

T_CASE(streams_send_and_receive_while_open)
{
	struct grpc_rig_call *call;

	open_rig();
	call = call_run(FAKE_stream, 10);
	T_EQ(call->messages, 1);
	for (size_t i = 1; i <= 5; i++) {
		T_TRUE(grpc_rig_send(call, i * 1000));
		T_TRUE(grpc_rig_send(call, 7)); /* queued after a waiting one */
		grpc_rig_run(&rig);
		T_EQ(call->messages, 1 + 2 * i);
		T_EQ(call->message_len, 7);
	}
	T_EQ(grpc_session_unsent(&rig.session), 0);
	grpc_call_cancel(call->call);
	T_EQ(call->ended, 0); /* not inside cancel */
	grpc_rig_run(&rig);
	expect(call, GRPC_MAYBE, PL_CANCELED, "/stream/0");
	T_EQ(fake_h2_call(rig.server, 0)->resets, 1);
	grpc_rig_done(&rig);
}

T_CASE(a_stream_ended_by_the_server_frees_its_slot)
{
	struct grpc_rig_call *call;

	open_rig();
	call = call_run(FAKE_stream_end, 10);
	expect(call, GRPC_ANSWERED, PL_OK, "");
	T_EQ(call->messages, 1);
	T_EQ(rig.session.streams, 0);
	grpc_rig_done(&rig);
}

T_CASE(a_stream_may_be_cancelled_from_its_own_message)
{
	struct grpc_rig_call *call;

	open_rig();
	call = grpc_rig_call(&rig, FAKE_stream, 10);
	call->cancel_at_message = true;
	T_TRUE(grpc_rig_send(call, 10));
	grpc_rig_run(&rig);
	expect(call, GRPC_MAYBE, PL_CANCELED, "");
	T_EQ(call->messages, 1);
	grpc_rig_done(&rig);
}

T_CASE(a_stream_is_busy_past_its_unsent_maximum)
{
	struct fake_opts fake = {.window = 0};
	struct grpc_rig_call *call;
	unsigned sent = 0;

	T_OK(grpc_rig_init(&rig, &fake, NULL), NULL);
	call = call_run(FAKE_stream, 10);
	while (grpc_rig_send(call, 1 << 20))
		sent++;
	T_EQ(sent, 4);
	T_TRUE(grpc_session_unsent(&rig.session) > 4 << 20);
	fake_h2_window(rig.server, 1 << 20);
	grpc_rig_run(&rig);
	T_EQ(grpc_session_unsent(&rig.session), 0);
	grpc_rig_done(&rig);
}

T_CASE(a_closed_window_holds_a_request_back_until_its_deadline)
{
	struct fake_opts fake = {.window = 0};
	struct grpc_rig_call *call;

	T_OK(grpc_rig_init(&rig, &fake, NULL), NULL);
	call = call_run(FAKE_ok, 1000);
	T_EQ(call->ended, 0);
	grpc_rig_tick(&rig, 5999);
	T_EQ(call->ended, 0);
	grpc_rig_tick(&rig, 6000);
	expect(call, GRPC_MAYBE, PL_TIMEOUT, "no answer in time");
	T_EQ(call->sent_ms, 0);
	T_EQ(grpc_session_unsent(&rig.session), 0);
	fake_h2_window(rig.server, 1000);
	grpc_rig_run(&rig);
	T_EQ(fake_h2_call(rig.server, 0)->wholes, 0);
	T_EQ(fake_h2_call(rig.server, 0)->resets, 1);
	grpc_rig_done(&rig);
}

T_CASE(calls_past_max_concurrent_streams_wait)
{
	struct fake_opts fake = {.window = 65535, .max_streams = 3};

	T_OK(grpc_rig_init(&rig, &fake, NULL), NULL);
	for (unsigned i = 0; i < 3; i++)
		T_TRUE(grpc_rig_call(&rig, FAKE_silent, 10) != NULL);
	for (unsigned i = 0; i < 10; i++)
		T_TRUE(grpc_rig_call(&rig, FAKE_ok, 10) != NULL);
	grpc_rig_run(&rig);
	T_EQ(fake_h2_call(rig.server, 2)->heads, 1);
	T_EQ(fake_h2_call(rig.server, 3)->heads, 0);
	grpc_call_cancel(rig.calls[12].call);
	grpc_rig_run(&rig);
	expect(&rig.calls[12], GRPC_UNSENT, PL_CANCELED, "");
	grpc_call_cancel(rig.calls[1].call);
	grpc_rig_run(&rig);
	for (unsigned i = 3; i < 12; i++)
		expect(&rig.calls[i], GRPC_ANSWERED, PL_OK, "");
	grpc_rig_done(&rig);
}

T_CASE(waiting_calls_are_unsent_when_the_connection_dies)
{
	struct fake_opts fake = {.window = 65535, .max_streams = 1};

	T_OK(grpc_rig_init(&rig, &fake, NULL), NULL);
	T_TRUE(grpc_rig_call(&rig, FAKE_silent, 10) != NULL);
	T_TRUE(grpc_rig_call(&rig, FAKE_ok, 10) != NULL);
	grpc_rig_run(&rig);
	grpc_rig_die(&rig);
	expect(&rig.calls[0], GRPC_MAYBE, PL_UNAVAIL, "cut");
	expect(&rig.calls[1], GRPC_UNSENT, PL_UNAVAIL, "cut");
	grpc_rig_done(&rig);
}

T_CASE(a_deadline_before_the_server_speaks_is_unsent)
{
	struct grpc_rig_call *call;

	open_rig();
	call = grpc_rig_call(&rig, FAKE_ok, 10);
	grpc_rig_tick(&rig, 6000);
	expect(call, GRPC_UNSENT, PL_TIMEOUT, "could not be sent");
	grpc_rig_done(&rig);
}

/* --- other servers -------------------------------------------------------- */

static void feed_refused(const char *bytes, size_t len, enum pl_code code,
                         const char *words)
{
	struct pl_err err;

	for (size_t piece = 1; piece <= len; piece += len - 1) {
		enum pl_code got = PL_OK;

		open_rig();
		for (size_t at = 0; got == PL_OK && at < len; at += piece)
			got = grpc_session_feed(&rig.session, pl_span(bytes + at, piece),
			                        &err);
		T_EQ(got, code);
		if (piece == len && strstr(err.msg, words) == NULL)
			T_STR(err.msg, words);
		grpc_rig_done(&rig);
	}
}

T_CASE(other_protocols_are_recognised_by_their_first_bytes)
{
	feed_refused("HTTP/1.1 400 Bad Request\r\n", 26, PL_PROTO, "answers in HTTP/1");
	feed_refused("SSH-2.0-OpenSSH_9.2\r\n", 21, PL_PROTO, "'SSH-2.0-OpenSSH_9.2");
	feed_refused("\0\0\0\x04\x01\0\0\0\0", 9, PL_PROTO, "not an HTTP/2 server");
	feed_refused("\0\0\0\x01\x04\0\0\0\0", 9, PL_PROTO, "not an HTTP/2 server");
}

T_CASE(a_server_of_TLS_is_recognised)
{
	struct pl_err err;

	open_rig();
	T_CODE(grpc_session_feed(&rig.session, pl_span("\x15\x03\x01\0\x02\x02\x46", 7),
	                         &err),
	       PL_TLS, NULL);
	T_STR(err.msg, "server speaks TLS: use https");
	grpc_rig_done(&rig);
}

T_CASE(broken_http2_ends_the_connection)
{
	/* A frame on a stream that was never opened. */
	static const uint8_t evil[] = {0, 0, 1, 0, 1, 0, 0, 0, 9, 'x'};
	struct pl_err err;

	open_rig();
	(void)grpc_rig_call(&rig, FAKE_silent, 3);
	grpc_rig_run(&rig);
	(void)!grpc_session_feed(&rig.session, pl_span(evil, sizeof evil), &err);
	grpc_rig_run(&rig);
	T_TRUE(rig.dead);
	T_EQ(rig.why.code, PL_PROTO);
	expect(&rig.calls[0], GRPC_MAYBE, PL_PROTO, "HTTP/2");
	grpc_rig_done(&rig);
}
