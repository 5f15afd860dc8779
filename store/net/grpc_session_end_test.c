/* How calls end with their connection: cut, cancelled, out of memory, silent. */
#include "store/base/fault.h"
#include "tests/harness/t.h"
#include "tests/support/store/net/grpc_rig.h"

static struct grpc_rig rig;

#define expect(call, fate, code, words) T_TRUE(grpc_rig_ended(call, fate, code, words))

static void open_rig(void)
{
	T_OK(grpc_rig_init(&rig, NULL, NULL), NULL);
}

/* --- the end of the connection ------------------------------------------- */

T_CASE(goaway_lets_earlier_calls_end_and_refuses_later_ones)
{
	open_rig();
	grpc_rig_run(&rig);
	T_TRUE(grpc_rig_call(&rig, FAKE_away, 10) != NULL);
	T_TRUE(grpc_rig_call(&rig, FAKE_ok, 10) != NULL);
	T_TRUE(grpc_rig_call(&rig, FAKE_silent, 10) != NULL);
	grpc_rig_run(&rig);
	T_EQ(rig.session.state, GRPC_SESSION_DEAD);
	T_TRUE(rig.dead);
	T_STR(rig.why.msg, "server is going away");
	expect(&rig.calls[0], GRPC_ANSWERED, PL_OK, "");
	expect(&rig.calls[1], GRPC_UNSENT, PL_UNAVAIL, "going away");
	expect(&rig.calls[2], GRPC_UNSENT, PL_UNAVAIL, "going away");
	T_TRUE(grpc_rig_call(&rig, FAKE_ok, 10) == NULL);
	grpc_rig_done(&rig);
}

T_CASE(goaway_waits_for_the_calls_before_it)
{
	open_rig();
	T_TRUE(grpc_rig_call(&rig, FAKE_silent, 10) != NULL);
	grpc_rig_run(&rig);
	fake_h2_goaway(rig.server, INT32_MAX, NGHTTP2_NO_ERROR, "");
	grpc_rig_run(&rig);
	T_TRUE(rig.session.state == GRPC_SESSION_AWAY && !rig.dead);
	T_EQ(rig.calls[0].ended, 0);
	grpc_rig_tick(&rig, 6000);
	grpc_rig_run(&rig);
	T_TRUE(rig.dead);
	T_STR(rig.why.msg, "server is going away");
	grpc_rig_done(&rig);
}

T_CASE(goaway_says_why)
{
	open_rig();
	grpc_rig_run(&rig);
	fake_h2_goaway(rig.server, 0, NGHTTP2_ENHANCE_YOUR_CALM, "too_many_pings");
	grpc_rig_run(&rig);
	T_TRUE(rig.dead);
	T_STR(rig.why.msg,
	      "server closes the connection: ENHANCE_YOUR_CALM, too_many_pings");
	grpc_rig_done(&rig);
}

T_CASE(calls_beyond_the_last_stream_number_are_unsent)
{
	open_rig();
	grpc_rig_run(&rig);
	T_EQ(nghttp2_session_set_next_stream_id(rig.session.h2, INT32_MAX - 2), 0);
	T_TRUE(grpc_rig_call(&rig, FAKE_silent, 1) != NULL);
	T_TRUE(grpc_rig_call(&rig, FAKE_ok, 1) != NULL);
	T_TRUE(grpc_rig_call(&rig, FAKE_ok, 1) != NULL);
	T_TRUE(grpc_rig_call(&rig, FAKE_ok, 1) != NULL);
	grpc_rig_run(&rig);
	T_TRUE(rig.session.state == GRPC_SESSION_AWAY && !rig.dead);
	T_EQ(rig.calls[0].ended, 0);
	expect(&rig.calls[1], GRPC_ANSWERED, PL_OK, "");
	expect(&rig.calls[2], GRPC_UNSENT, PL_UNAVAIL, "no stream numbers left");
	expect(&rig.calls[3], GRPC_UNSENT, PL_UNAVAIL, "no stream numbers left");
	grpc_call_cancel(rig.calls[0].call);
	grpc_rig_run(&rig);
	T_TRUE(rig.dead);
	grpc_rig_done(&rig);
}

/* Starts every kind of call at once, for the cuts below. */
static void mix_start(void)
{
	struct grpc_rig_call *stream;

	(void)grpc_rig_call(&rig, FAKE_ok, 20);
	(void)grpc_rig_call(&rig, FAKE_error, 20);
	(void)grpc_rig_call(&rig, FAKE_frag, 5);
	(void)grpc_rig_call(&rig, FAKE_refuse, 5);
	(void)grpc_rig_call(&rig, FAKE_reset, 5);
	(void)grpc_rig_call(&rig, FAKE_silent, 5);
	(void)grpc_rig_call(&rig, FAKE_ok, 40);
	stream = grpc_rig_call(&rig, FAKE_stream, 5);
	if (stream != NULL)
		(void)grpc_rig_send(stream, 9);
	(void)grpc_rig_call(&rig, FAKE_early, 20);
}

static void cut_check(bool up, uint64_t at)
{
	open_rig();
	rig.chunk = 13;
	if (up)
		rig.cut_up = at;
	else
		rig.cut_down = at;
	mix_start();
	grpc_rig_run(&rig);
	if (up && at <= 24) /* the client's preface holds no call */
		for (unsigned i = 0; i < rig.call_count; i++)
			T_EQ(rig.calls[i].fate, GRPC_UNSENT);
	grpc_rig_done(&rig);
}

T_CASE_SECONDS(cut_after_every_byte_each_call_ends_once_with_the_right_fate, 60)
{
	uint64_t up, down;

	open_rig();
	mix_start();
	grpc_rig_run(&rig);
	up = rig.up;
	down = rig.down;
	grpc_rig_done(&rig);
	T_TRUE(up > 300 && down > 300);
	for (uint64_t at = 0; at <= up; at++)
		cut_check(true, at);
	for (uint64_t at = 0; at <= down; at++)
		cut_check(false, at);
}

/* At each place where the bytes can stop, a call whose first byte was not written is
 * unsent, and one whose first byte was written is not. */
T_CASE(unsent_turns_into_maybe_with_the_first_byte_of_the_headers)
{
	bool maybe_before = false;
	uint64_t head;

	open_rig();
	grpc_rig_run(&rig);
	head = rig.up;
	grpc_rig_done(&rig);
	for (uint64_t at = head; at < head + 60; at++) {
		bool maybe;

		open_rig();
		grpc_rig_run(&rig);
		rig.cut_up = at;
		(void)grpc_rig_call(&rig, FAKE_silent, 20);
		grpc_rig_run(&rig);
		grpc_rig_die(&rig);
		maybe = rig.calls[0].fate == GRPC_MAYBE;
		T_TRUE(maybe || !maybe_before);
		T_EQ(maybe, at > head);
		maybe_before = maybe;
		grpc_rig_done(&rig);
	}
}

T_CASE_SECONDS(cancelled_at_every_point_each_call_ends_once, 60)
{
	for (unsigned which = 0; which < 9; which++) {
		bool ended = false;

		for (unsigned steps = 0; !ended; steps++) {
			unsigned left = steps;

			open_rig();
			rig.chunk = 29;
			mix_start();
			while (left > 0 && grpc_rig_step(&rig))
				left--;
			/* No byte moves any more: every point was tried. */
			ended = left > 0;
			if (rig.calls[which].call != NULL) {
				grpc_call_cancel(rig.calls[which].call);
				grpc_call_cancel(rig.calls[which].call);
				T_EQ(rig.calls[which].ended, 0);
			}
			grpc_rig_run(&rig);
			T_EQ(rig.calls[which].ended, 1);
			grpc_rig_done(&rig);
		}
	}
}

T_CASE_SECONDS(torture_every_allocation_fails_once, 60)
{
	for (uint64_t nth = 1;; nth++) {
		bool fired;

		pl_fault_arm(PL_FAULT_ALLOC, nth);
		if (grpc_rig_init(&rig, NULL, NULL) == PL_OK) {
			rig.chunk = 97;
			mix_start();
			(void)grpc_rig_call(&rig, FAKE_big, 5);
			grpc_rig_run(&rig);
			grpc_rig_done(&rig);
		}
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		if (!fired) {
			T_TRUE(nth > 50);
			return;
		}
	}
}

/* --- silence -------------------------------------------------------------- */

static void open_pinging(void)
{
	struct grpc_session_opts opts = {.scheme = "http",
	                                 .authority = "x",
	                                 .message_max = 1000,
	                                 .ping_idle_ms = 1000,
	                                 .ping_gap_ms = 700,
	                                 .ping_timeout_ms = 300};

	T_OK(grpc_rig_init(&rig, NULL, &opts), NULL);
	grpc_rig_run(&rig);
}

T_CASE(a_silent_server_is_pinged_while_calls_wait)
{
	open_pinging();
	grpc_rig_tick(&rig, 5000);
	grpc_rig_run(&rig);
	T_EQ(fake_h2_pings(rig.server), 0); /* no call is in flight */
	(void)grpc_rig_call(&rig, FAKE_stream, 3);
	grpc_rig_run(&rig);
	for (unsigned i = 1; i <= 4; i++) {
		grpc_rig_tick(&rig, 5000 + i * 1000);
		grpc_rig_run(&rig);
		T_EQ(fake_h2_pings(rig.server), i);
	}
	T_TRUE(!rig.dead);
	grpc_rig_done(&rig);
}

T_CASE(a_ping_without_answer_ends_the_connection)
{
	open_pinging();
	(void)grpc_rig_call(&rig, FAKE_stream, 3);
	grpc_rig_run(&rig);
	fake_h2_ping_answers(rig.server, false);
	grpc_rig_tick(&rig, 2000);
	grpc_rig_run(&rig);
	T_EQ(fake_h2_pings(rig.server), 1);
	grpc_rig_tick(&rig, 2299);
	grpc_rig_tick(&rig, 2300); /* the socket is read once more */
	grpc_rig_run(&rig);
	T_TRUE(!rig.dead);
	grpc_rig_tick(&rig, 2301);
	grpc_rig_run(&rig);
	T_TRUE(rig.dead);
	expect(&rig.calls[0], GRPC_MAYBE, PL_TIMEOUT, "server is silent");
	grpc_rig_done(&rig);
}

T_CASE(pings_keep_their_minimum_gap)
{
	open_pinging();
	grpc_session_probe(&rig.session);
	grpc_rig_tick(&rig, 1000);
	grpc_rig_run(&rig);
	T_EQ(fake_h2_pings(rig.server), 1);
	grpc_session_probe(&rig.session);
	grpc_rig_tick(&rig, 1699);
	grpc_rig_run(&rig);
	T_EQ(fake_h2_pings(rig.server), 1);
	grpc_rig_tick(&rig, 1700);
	grpc_rig_run(&rig);
	T_EQ(fake_h2_pings(rig.server), 2);
	grpc_rig_done(&rig);
}

/* --- when a request left ------------------------------------------------- */

/* A lease that is counted from sent_ms must not be counted from later than the server
 * counts it, however long the process was stopped between writing and noticing. */
T_CASE(sent_ms_is_before_the_write_was_noticed)
{
	struct grpc_rig_call *call;

	T_EQ(grpc_rig_init(&rig, NULL, NULL), PL_OK);
	grpc_rig_run(&rig);
	rig.now_ms = 2000;
	call = grpc_rig_call(&rig, FAKE_ok, 10);
	T_EQ(grpc_session_fill(&rig.session, &rig.why), PL_OK);
	rig.now_ms = 9000; /* the server has the bytes, and this process was stopped */
	grpc_rig_run(&rig);
	T_EQ(call->fate, GRPC_ANSWERED);
	T_EQ(call->sent_ms, 2000);
	grpc_rig_done(&rig);
}
