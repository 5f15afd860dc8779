/* Connections over TCP, against the fake server and against what is none. */
#include <netdb.h>
#include <stdio.h>

#include "store/base/fault.h"
#include "store/net/fake_peer.h"
#include "tests/harness/t.h"

static struct peer peer;

static const struct fake_net_opts good = {.h2 = {.window = 65535, .big_size = 30 << 20}};

static void holds(const char *text, const char *words)
{
	if (strstr(text, words) == NULL)
		T_STR(text, words);
}

T_CASE(calls_started_before_it_is_up_leave_when_it_is)
{
	peer_init(&peer, &good);
	T_OK(peer_open(&peer, NULL), &peer.why);
	T_TRUE(grpc_conn_usable(peer.conn));
	peer.close_when_idle = true;
	for (unsigned i = 0; i < 200; i++)
		T_TRUE(peer_call(&peer, i % 2 ? FAKE_ok : FAKE_error, i) != NULL);
	T_TRUE(grpc_conn_unsent(peer.conn) > 1000);
	T_EQ(peer.ups, 0);
	peer_run(&peer);
	T_EQ(peer.ups, 1);
	T_EQ(peer.why.code, PL_CANCELED);
	for (unsigned i = 0; i < 200; i++) {
		T_EQ(peer.calls[i].fate, GRPC_ANSWERED);
		T_EQ(peer.calls[i].status, i % 2 ? 0 : 3);
		T_TRUE(peer.calls[i].sent_ms != 0);
	}
	peer_done(&peer);
}

T_CASE(names_are_looked_up)
{
	struct grpc_conn_opts opts = {.host = "localhost"};
	struct addrinfo *known = NULL;

	/* A machine without /etc/hosts knows no name at all. */
	if (getaddrinfo(opts.host, NULL, NULL, &known) != 0)
		return;
	freeaddrinfo(known);
	peer_init(&peer, &good);
	T_OK(peer_open(&peer, &opts), &peer.why);
	peer.close_at_up = true;
	peer_run(&peer);
	T_EQ(peer.ups, 1);
	peer_done(&peer);
}

T_CASE(a_name_that_can_not_be_is_said_so)
{
	char host[200];
	struct grpc_conn_opts opts = {.host = host};

	memset(host, 'a', sizeof host - 1);
	host[sizeof host - 1] = 0;
	peer_init(&peer, &good);
	T_OK(peer_open(&peer, &opts), &peer.why);
	peer_run(&peer);
	T_TRUE(peer.why.code == PL_INVALID || peer.why.code == PL_UNAVAIL);
	peer_done(&peer);
}

T_CASE(closing_during_the_lookup)
{
	struct grpc_conn_opts opts = {.host = "localhost"};

	peer_init(&peer, &good);
	T_OK(peer_open(&peer, &opts), &peer.why);
	T_TRUE(peer_call(&peer, FAKE_ok, 1) != NULL);
	peer_close(&peer);
	T_TRUE(!grpc_conn_usable(peer.conn));
	T_TRUE(peer_call(&peer, FAKE_ok, 1) == NULL);
	peer_run(&peer);
	T_EQ(peer.why.code, PL_CANCELED);
	T_EQ(peer.calls[0].fate, GRPC_UNSENT);
	peer_done(&peer);
}

T_CASE(closing_while_connecting)
{
	peer_init(&peer, &good);
	T_OK(peer_open(&peer, NULL), &peer.why);
	peer_close(&peer);
	peer_run(&peer);
	T_EQ(peer.why.code, PL_CANCELED);
	peer_done(&peer);
}

T_CASE(closing_and_starting_from_an_end)
{
	peer_init(&peer, &good);
	T_OK(peer_open(&peer, NULL), &peer.why);
	T_TRUE(peer_call(&peer, FAKE_ok, 1) != NULL);
	T_TRUE(peer_call(&peer, FAKE_silent, 1) != NULL);
	T_TRUE(peer_call(&peer, FAKE_stream, 1) != NULL);
	peer.calls[0].then_start = true;
	while (peer.call_count < 4)
		(void)uv_run(&peer.loop, UV_RUN_ONCE);
	peer.calls[3].then_close = true;
	peer_run(&peer);
	T_EQ(peer.calls[3].fate, GRPC_ANSWERED);
	T_EQ(peer.calls[1].fate, GRPC_MAYBE);
	T_EQ(peer.calls[1].code, PL_CANCELED);
	T_EQ(peer.calls[2].code, PL_CANCELED);
	peer_done(&peer);
}

/* --- servers that are not there, or something else ------------------------- */

static void wrong_server(const struct fake_net_opts *net, uint32_t timeout_ms,
                         enum pl_code code, const char *words)
{
	struct grpc_conn_opts opts = {.connect_timeout_ms = timeout_ms};

	peer_init(&peer, net);
	T_OK(peer_open(&peer, &opts), &peer.why);
	T_TRUE(peer_call(&peer, FAKE_ok, 100) != NULL);
	peer_run(&peer);
	T_STR(pl_code_name(peer.why.code), pl_code_name(code));
	holds(peer.why.msg, words);
	holds(peer.why.msg, "127.0.0.1:");
	T_EQ(peer.ups, 0);
	T_EQ(peer.calls[0].fate, GRPC_UNSENT);
	T_EQ(peer.calls[0].code, code);
	peer_done(&peer);
}

T_CASE(nobody_listens)
{
	struct grpc_conn_opts opts = {0};

	peer_init(&peer, &good);
	opts.port = fake_net_port(peer.net);
	fake_net_close(peer.net);
	(void)uv_run(&peer.loop, UV_RUN_DEFAULT);
	T_OK(peer_open(&peer, &opts), &peer.why);
	T_TRUE(peer_call(&peer, FAKE_ok, 1) != NULL);
	peer_run(&peer);
	T_EQ(peer.why.code, PL_UNAVAIL);
	holds(peer.why.msg, "connect: connection refused");
	T_EQ(peer.calls[0].fate, GRPC_UNSENT);
	(void)uv_run(&peer.loop, UV_RUN_DEFAULT);
	T_EQ(uv_loop_close(&peer.loop), 0);
	fake_net_free(peer.net);
}

T_CASE(a_server_that_never_answers)
{
	struct fake_net_opts net = {.mode = FAKE_NET_SILENT};

	wrong_server(&net, 40, PL_TIMEOUT, "connected, but no answer within 40 ms");
}

T_CASE(a_server_that_closes)
{
	struct fake_net_opts net = {.mode = FAKE_NET_CLOSE};

	wrong_server(&net, 0, PL_UNAVAIL, "before it spoke HTTP/2");
}

T_CASE(servers_of_other_protocols)
{
	struct fake_net_opts net = {.mode = FAKE_NET_BYTES};

	net.bytes = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
	wrong_server(&net, 0, PL_PROTO, "answers in HTTP/1");
	net.bytes = "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n";
	wrong_server(&net, 0, PL_PROTO, "not an HTTP/2 server: it begins with 'SSH-2.0");
	net.bytes = "\x15\x03\x01 alert";
	wrong_server(&net, 0, PL_TLS, "server speaks TLS: use https");
}

/* --- the end ----------------------------------------------------------------- */

T_CASE(a_cut_ends_every_call)
{
	peer_init(&peer, &good);
	T_OK(peer_open(&peer, NULL), &peer.why);
	T_TRUE(peer_call(&peer, FAKE_ok, 1) != NULL);
	T_TRUE(peer_call(&peer, FAKE_silent, 1) != NULL);
	T_TRUE(peer_call(&peer, FAKE_stream, 1) != NULL);
	while (peer.calls[0].ended == 0 || peer.calls[2].messages == 0)
		(void)uv_run(&peer.loop, UV_RUN_ONCE);
	fake_net_cut(peer.net);
	peer_run(&peer);
	T_EQ(peer.why.code, PL_UNAVAIL);
	T_EQ(peer.calls[1].fate, GRPC_MAYBE);
	T_EQ(peer.calls[1].code, PL_UNAVAIL);
	peer_done(&peer);
}

T_CASE(goaway_makes_it_unusable_and_it_ends_after_its_calls)
{
	peer_init(&peer, &good);
	T_OK(peer_open(&peer, NULL), &peer.why);
	T_TRUE(peer_call(&peer, FAKE_away, 1) != NULL);
	peer_run(&peer);
	T_EQ(peer.calls[0].fate, GRPC_ANSWERED);
	T_EQ(peer.why.code, PL_UNAVAIL);
	holds(peer.why.msg, "server is going away");
	peer_done(&peer);
}

/* --- volume -------------------------------------------------------------------- */

T_CASE(a_slow_reader_holds_back_the_bytes_and_nothing_is_lost)
{
	struct fake_net_opts net = {.h2 = {.window = 1 << 30}};
	enum { LEN = 8 << 20 };

	peer_init(&peer, &net);
	T_OK(peer_open(&peer, NULL), &peer.why);
	while (peer.ups == 0)
		(void)uv_run(&peer.loop, UV_RUN_ONCE);
	fake_net_reading(peer.net, false);
	for (unsigned i = 0; i < 3; i++)
		T_TRUE(peer_call(&peer, FAKE_silent, LEN) != NULL);
	for (unsigned i = 0; i < 50; i++)
		(void)uv_run(&peer.loop, UV_RUN_NOWAIT);
	T_TRUE(grpc_conn_unsent(peer.conn) > LEN);
	T_TRUE(grpc_conn_unsent(peer.conn) < (size_t)3 * LEN + 1000);
	T_TRUE(grpc_conn_traffic(peer.conn).bytes_out < (uint64_t)2 * LEN);
	fake_net_reading(peer.net, true);
	while (fake_h2_call(fake_net_h2(peer.net, 0), 2)->wholes == 0)
		(void)uv_run(&peer.loop, UV_RUN_ONCE);
	T_EQ(grpc_conn_unsent(peer.conn), 0);
	T_TRUE(grpc_conn_traffic(peer.conn).bytes_out > (uint64_t)3 * LEN);
	peer_close(&peer);
	peer_run(&peer);
	peer_done(&peer);
}

/* The kernel takes no more: its buffers grow a few times before that. */
static void run_until_stuck(void)
{
	uint64_t before;

	do {
		before = grpc_conn_traffic(peer.conn).bytes_out;
		for (unsigned i = 0; i < 50; i++)
			(void)uv_run(&peer.loop, UV_RUN_NOWAIT);
	} while (grpc_conn_traffic(peer.conn).bytes_out != before);
}

T_CASE(calls_behind_a_full_socket_are_unsent_when_it_is_cut)
{
	struct fake_net_opts net = {.h2 = {.window = 1 << 30}};

	peer_init(&peer, &net);
	T_OK(peer_open(&peer, NULL), &peer.why);
	while (peer.ups == 0)
		(void)uv_run(&peer.loop, UV_RUN_ONCE);
	fake_net_reading(peer.net, false);
	T_TRUE(peer_call(&peer, FAKE_silent, 32 << 20) != NULL);
	run_until_stuck();
	T_TRUE(peer_call(&peer, FAKE_silent, 10) != NULL);
	for (unsigned i = 0; i < 20; i++)
		(void)uv_run(&peer.loop, UV_RUN_NOWAIT);
	fake_net_cut(peer.net);
	peer_run(&peer);
	T_EQ(peer.calls[0].fate, GRPC_MAYBE);
	T_EQ(peer.calls[0].sent_ms, 0);
	T_EQ(peer.calls[1].fate, GRPC_UNSENT);
	peer_done(&peer);
}

T_CASE(large_answers)
{
	peer_init(&peer, &good);
	T_OK(peer_open(&peer, NULL), &peer.why);
	peer.close_when_idle = true;
	for (unsigned i = 0; i < 3; i++)
		T_TRUE(peer_call(&peer, FAKE_big, 1) != NULL);
	peer_run(&peer);
	for (unsigned i = 0; i < 3; i++)
		T_EQ(peer.calls[i].message_len, 30 << 20);
	peer_done(&peer);
}

/* --- torture --------------------------------------------------------------------- */

static void scenario(void)
{
	struct fake_net_opts net = {.h2 = {.window = 65535, .big_size = 200000}};

	peer_init(&peer, &net);
	if (peer_open(&peer, NULL) == PL_OK) {
		(void)peer_call(&peer, FAKE_ok, 300);
		(void)peer_call(&peer, FAKE_big, 3);
		(void)peer_call(&peer, FAKE_ok, 100000);
		(void)peer_call(&peer, FAKE_error, 3);
		peer_run_calls(&peer);
		peer_close(&peer);
		peer_run(&peer);
	}
	for (unsigned i = 0; i < peer.call_count; i++)
		T_TRUE(peer.calls[i].code != PL_TIMEOUT);
	peer_done(&peer);
}

static void torture(enum pl_fault point, uint64_t hits_min)
{
	for (uint64_t nth = 1;; nth++) {
		bool fired;

		pl_fault_arm(point, nth);
		scenario();
		fired = pl_fault_fired(point);
		pl_fault_reset();
		if (!fired) {
			T_TRUE(nth > hits_min);
			return;
		}
	}
}

T_CASE_SECONDS(torture_connecting, 60)
{
	torture(PL_FAULT_NET_CONNECT, 1);
}

T_CASE_SECONDS(torture_reading, 60)
{
	torture(PL_FAULT_NET_READ, 3);
}

T_CASE_SECONDS(torture_writing, 60)
{
	torture(PL_FAULT_NET_WRITE, 3);
}

T_CASE_SECONDS(torture_memory, 120)
{
	torture(PL_FAULT_ALLOC, 20);
}
