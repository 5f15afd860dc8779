/* Connections over TCP, against the fake server and against other servers. */
#include <netdb.h>
#include <stdio.h>

#include "store/base/fault.h"
#include "tests/harness/t.h"
#include "tests/support/store/net/conn_rig.h"

static struct conn_rig rig;

static const struct fake_net_opts good = {.h2 = {.window = 65535, .big_size = 30 << 20}};

static void holds(const char *text, const char *words)
{
	if (strstr(text, words) == NULL)
		T_STR(text, words);
}

T_CASE(calls_started_while_connecting_are_sent_once_up)
{
	conn_rig_init(&rig, &good);
	T_OK(conn_rig_open(&rig, NULL), &rig.why);
	T_TRUE(grpc_conn_usable(rig.conn));
	rig.close_when_idle = true;
	for (unsigned i = 0; i < 200; i++)
		T_TRUE(conn_rig_call(&rig, i % 2 ? FAKE_ok : FAKE_error, i) != NULL);
	T_TRUE(grpc_conn_unsent(rig.conn) > 1000);
	T_EQ(rig.ups, 0);
	conn_rig_run(&rig);
	T_EQ(rig.ups, 1);
	T_EQ(rig.why.code, PL_CANCELED);
	for (unsigned i = 0; i < 200; i++) {
		T_EQ(rig.calls[i].fate, GRPC_ANSWERED);
		T_EQ(rig.calls[i].status, i % 2 ? 0 : 3);
		T_TRUE(rig.calls[i].sent_ms != 0);
	}
	conn_rig_done(&rig);
}

T_CASE(names_are_looked_up)
{
	struct grpc_conn_opts opts = {.host = "localhost"};
	struct addrinfo *known = NULL;

	/* A machine without /etc/hosts resolves no name at all. */
	if (getaddrinfo(opts.host, NULL, NULL, &known) != 0)
		return;
	freeaddrinfo(known);
	conn_rig_init(&rig, &good);
	T_OK(conn_rig_open(&rig, &opts), &rig.why);
	rig.close_at_up = true;
	conn_rig_run(&rig);
	T_EQ(rig.ups, 1);
	conn_rig_done(&rig);
}

T_CASE(an_invalid_name_is_an_error)
{
	char host[200];
	struct grpc_conn_opts opts = {.host = host};

	memset(host, 'a', sizeof host - 1);
	host[sizeof host - 1] = 0;
	conn_rig_init(&rig, &good);
	T_OK(conn_rig_open(&rig, &opts), &rig.why);
	conn_rig_run(&rig);
	T_TRUE(rig.why.code == PL_INVALID || rig.why.code == PL_UNAVAIL);
	conn_rig_done(&rig);
}

T_CASE(closing_during_the_name_lookup)
{
	struct grpc_conn_opts opts = {.host = "localhost"};

	conn_rig_init(&rig, &good);
	T_OK(conn_rig_open(&rig, &opts), &rig.why);
	T_TRUE(conn_rig_call(&rig, FAKE_ok, 1) != NULL);
	conn_rig_close(&rig);
	T_TRUE(!grpc_conn_usable(rig.conn));
	T_TRUE(conn_rig_call(&rig, FAKE_ok, 1) == NULL);
	conn_rig_run(&rig);
	T_EQ(rig.why.code, PL_CANCELED);
	T_EQ(rig.calls[0].fate, GRPC_UNSENT);
	conn_rig_done(&rig);
}

T_CASE(closing_while_connecting)
{
	conn_rig_init(&rig, &good);
	T_OK(conn_rig_open(&rig, NULL), &rig.why);
	conn_rig_close(&rig);
	conn_rig_run(&rig);
	T_EQ(rig.why.code, PL_CANCELED);
	conn_rig_done(&rig);
}

T_CASE(closing_and_starting_from_an_end)
{
	conn_rig_init(&rig, &good);
	T_OK(conn_rig_open(&rig, NULL), &rig.why);
	T_TRUE(conn_rig_call(&rig, FAKE_ok, 1) != NULL);
	T_TRUE(conn_rig_call(&rig, FAKE_silent, 1) != NULL);
	T_TRUE(conn_rig_call(&rig, FAKE_stream, 1) != NULL);
	rig.calls[0].then_start = true;
	while (rig.call_count < 4)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	rig.calls[3].then_close = true;
	conn_rig_run(&rig);
	T_EQ(rig.calls[3].fate, GRPC_ANSWERED);
	T_EQ(rig.calls[1].fate, GRPC_MAYBE);
	T_EQ(rig.calls[1].code, PL_CANCELED);
	T_EQ(rig.calls[2].code, PL_CANCELED);
	conn_rig_done(&rig);
}

/* --- missing servers, and other servers ----------------------------------- */

static void wrong_server(const struct fake_net_opts *net, uint32_t timeout_ms,
                         enum pl_code code, const char *words)
{
	struct grpc_conn_opts opts = {.connect_timeout_ms = timeout_ms};

	conn_rig_init(&rig, net);
	T_OK(conn_rig_open(&rig, &opts), &rig.why);
	T_TRUE(conn_rig_call(&rig, FAKE_ok, 100) != NULL);
	conn_rig_run(&rig);
	T_STR(pl_code_name(rig.why.code), pl_code_name(code));
	holds(rig.why.msg, words);
	holds(rig.why.msg, "127.0.0.1:");
	T_EQ(rig.ups, 0);
	T_EQ(rig.calls[0].fate, GRPC_UNSENT);
	T_EQ(rig.calls[0].code, code);
	conn_rig_done(&rig);
}

T_CASE(a_refused_connection_is_an_error)
{
	struct grpc_conn_opts opts = {0};

	conn_rig_init(&rig, &good);
	opts.port = fake_net_port(rig.net);
	fake_net_close(rig.net);
	(void)uv_run(&rig.loop, UV_RUN_DEFAULT);
	T_OK(conn_rig_open(&rig, &opts), &rig.why);
	T_TRUE(conn_rig_call(&rig, FAKE_ok, 1) != NULL);
	conn_rig_run(&rig);
	T_EQ(rig.why.code, PL_UNAVAIL);
	holds(rig.why.msg, "connect: connection refused");
	T_EQ(rig.calls[0].fate, GRPC_UNSENT);
	(void)uv_run(&rig.loop, UV_RUN_DEFAULT);
	T_EQ(uv_loop_close(&rig.loop), 0);
	fake_net_free(rig.net);
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
	conn_rig_init(&rig, &good);
	T_OK(conn_rig_open(&rig, NULL), &rig.why);
	T_TRUE(conn_rig_call(&rig, FAKE_ok, 1) != NULL);
	T_TRUE(conn_rig_call(&rig, FAKE_silent, 1) != NULL);
	T_TRUE(conn_rig_call(&rig, FAKE_stream, 1) != NULL);
	while (rig.calls[0].ended == 0 || rig.calls[2].messages == 0)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	fake_net_cut(rig.net);
	conn_rig_run(&rig);
	T_EQ(rig.why.code, PL_UNAVAIL);
	T_EQ(rig.calls[1].fate, GRPC_MAYBE);
	T_EQ(rig.calls[1].code, PL_UNAVAIL);
	conn_rig_done(&rig);
}

T_CASE(goaway_makes_it_unusable_and_it_ends_after_its_calls)
{
	conn_rig_init(&rig, &good);
	T_OK(conn_rig_open(&rig, NULL), &rig.why);
	T_TRUE(conn_rig_call(&rig, FAKE_away, 1) != NULL);
	conn_rig_run(&rig);
	T_EQ(rig.calls[0].fate, GRPC_ANSWERED);
	T_EQ(rig.why.code, PL_UNAVAIL);
	holds(rig.why.msg, "server is going away");
	conn_rig_done(&rig);
}

/* --- volume -------------------------------------------------------------------- */

T_CASE(a_slow_reader_holds_back_the_bytes_and_nothing_is_lost)
{
	struct fake_net_opts net = {.h2 = {.window = 1 << 30}};
	enum { LEN = 8 << 20 };

	conn_rig_init(&rig, &net);
	T_OK(conn_rig_open(&rig, NULL), &rig.why);
	while (rig.ups == 0)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	fake_net_reading(rig.net, false);
	for (unsigned i = 0; i < 3; i++)
		T_TRUE(conn_rig_call(&rig, FAKE_silent, LEN) != NULL);
	for (unsigned i = 0; i < 50; i++)
		(void)uv_run(&rig.loop, UV_RUN_NOWAIT);
	T_TRUE(grpc_conn_unsent(rig.conn) > LEN);
	T_TRUE(grpc_conn_unsent(rig.conn) < (size_t)3 * LEN + 1000);
	T_TRUE(grpc_conn_traffic(rig.conn).bytes_out < (uint64_t)2 * LEN);
	fake_net_reading(rig.net, true);
	while (fake_h2_call(fake_net_h2(rig.net, 0), 2)->wholes == 0)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	T_EQ(grpc_conn_unsent(rig.conn), 0);
	T_TRUE(grpc_conn_traffic(rig.conn).bytes_out > (uint64_t)3 * LEN);
	conn_rig_close(&rig);
	conn_rig_run(&rig);
	conn_rig_done(&rig);
}

/* Sends until the kernel accepts no more; its buffers grow a few times before that. */
static void run_until_stuck(void)
{
	uint64_t before;

	do {
		before = grpc_conn_traffic(rig.conn).bytes_out;
		for (unsigned i = 0; i < 50; i++)
			(void)uv_run(&rig.loop, UV_RUN_NOWAIT);
	} while (grpc_conn_traffic(rig.conn).bytes_out != before);
}

T_CASE(calls_behind_a_full_socket_are_unsent_after_a_cut)
{
	struct fake_net_opts net = {.h2 = {.window = 1 << 30}};

	conn_rig_init(&rig, &net);
	T_OK(conn_rig_open(&rig, NULL), &rig.why);
	while (rig.ups == 0)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	fake_net_reading(rig.net, false);
	T_TRUE(conn_rig_call(&rig, FAKE_silent, 32 << 20) != NULL);
	run_until_stuck();
	T_TRUE(conn_rig_call(&rig, FAKE_silent, 10) != NULL);
	for (unsigned i = 0; i < 20; i++)
		(void)uv_run(&rig.loop, UV_RUN_NOWAIT);
	fake_net_cut(rig.net);
	conn_rig_run(&rig);
	T_EQ(rig.calls[0].fate, GRPC_MAYBE);
	T_EQ(rig.calls[0].sent_ms, 0);
	T_EQ(rig.calls[1].fate, GRPC_UNSENT);
	conn_rig_done(&rig);
}

T_CASE(large_answers)
{
	conn_rig_init(&rig, &good);
	T_OK(conn_rig_open(&rig, NULL), &rig.why);
	rig.close_when_idle = true;
	for (unsigned i = 0; i < 3; i++)
		T_TRUE(conn_rig_call(&rig, FAKE_big, 1) != NULL);
	conn_rig_run(&rig);
	for (unsigned i = 0; i < 3; i++)
		T_EQ(rig.calls[i].message_len, 30 << 20);
	conn_rig_done(&rig);
}

/* --- torture --------------------------------------------------------------------- */

static void scenario(void)
{
	struct fake_net_opts net = {.h2 = {.window = 65535, .big_size = 200000}};

	conn_rig_init(&rig, &net);
	if (conn_rig_open(&rig, NULL) == PL_OK) {
		(void)conn_rig_call(&rig, FAKE_ok, 300);
		(void)conn_rig_call(&rig, FAKE_big, 3);
		(void)conn_rig_call(&rig, FAKE_ok, 100000);
		(void)conn_rig_call(&rig, FAKE_error, 3);
		conn_rig_run_calls(&rig);
		conn_rig_close(&rig);
		conn_rig_run(&rig);
	}
	for (unsigned i = 0; i < rig.call_count; i++)
		T_TRUE(rig.calls[i].code != PL_TIMEOUT);
	conn_rig_done(&rig);
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
