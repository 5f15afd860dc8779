#include <stdlib.h>

#include "store/base/fault.h"
#include "store/net/sock.h"
#include "tests/harness/t.h"
#include "tests/support/store/net/fake_net.h"

enum { MUCH = 64 << 20 };

/* A socket, a server that reads when the test says so, and a port without a listener. */
static struct {
	uv_loop_t loop;
	struct fake_net *net;
	struct sock *sock;
	unsigned opens, rooms, fails, closes;
	struct pl_err err;
	struct sockaddr_in addrs[2];
	struct addrinfo list[2];
} b;

static void on_open(void *ctx)
{
	(void)ctx;
	b.opens++;
}

static void on_data(void *ctx, struct pl_span data)
{
	(void)ctx;
	(void)data;
}

static void on_room(void *ctx)
{
	(void)ctx;
	b.rooms++;
}

static void on_fail(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	b.fails++;
	b.err = *err;
}

static void on_closed(void *ctx)
{
	(void)ctx;
	b.closes++;
}

/* Returns a port that was free a moment ago and has no listener. */
static uint16_t dead_port(void)
{
	struct fake_net_opts opts = {.mode = FAKE_NET_CLOSE};
	struct fake_net *net = fake_net_open(&b.loop, &opts);
	uint16_t port = fake_net_port(net);

	fake_net_close(net);
	(void)uv_run(&b.loop, UV_RUN_DEFAULT);
	fake_net_free(net);
	return port;
}

static void open_to(bool first_lives, bool second_lives)
{
	static const struct sock_fns fns = {.on_open = on_open,
	                                    .on_data = on_data,
	                                    .on_room = on_room,
	                                    .on_fail = on_fail};
	struct fake_net_opts net = {.mode = FAKE_NET_SILENT};
	struct sock_opts opts = {.addrs = b.list, .host = "127.0.0.1"};
	bool lives[2] = {first_lives, second_lives};
	uint16_t dead;

	T_EQ(uv_loop_init(&b.loop), 0);
	dead = dead_port();
	b.net = fake_net_open(&b.loop, &net);
	for (unsigned i = 0; i < 2; i++) {
		T_EQ(uv_ip4_addr("127.0.0.1", lives[i] ? fake_net_port(b.net) : dead,
		                 &b.addrs[i]),
		     0);
		b.list[i].ai_addr = (struct sockaddr *)&b.addrs[i];
		b.list[i].ai_addrlen = sizeof b.addrs[i];
	}
	b.list[0].ai_next = &b.list[1];
	T_OK(sock_open(&b.loop, &opts, &fns, NULL, &b.sock, &b.err), &b.err);
	T_EQ(b.opens + b.fails, 0);
}

static void done(void)
{
	sock_close(b.sock, on_closed, NULL);
	T_EQ(b.closes, 0);
	fake_net_close(b.net);
	T_EQ(uv_run(&b.loop, UV_RUN_DEFAULT), 0);
	T_EQ(b.closes, 1);
	T_EQ(uv_loop_close(&b.loop), 0);
	fake_net_free(b.net);
}

static void run_to_open(void)
{
	while (b.opens + b.fails == 0)
		(void)uv_run(&b.loop, UV_RUN_ONCE);
}

T_CASE(the_next_address_is_tried_when_one_refuses)
{
	open_to(false, true);
	run_to_open();
	T_EQ(b.opens, 1);
	T_EQ(b.fails, 0);
	done();
}

T_CASE(the_second_address_is_not_tried_when_the_first_answers)
{
	open_to(true, true);
	run_to_open();
	(void)uv_run(&b.loop, UV_RUN_NOWAIT);
	T_EQ(fake_net_connections(b.net), 1);
	done();
}

T_CASE(one_failure_is_reported_when_all_addresses_refuse)
{
	open_to(false, false);
	run_to_open();
	T_EQ(b.opens, 0);
	T_EQ(b.fails, 1);
	T_EQ(b.err.code, PL_UNAVAIL);
	T_STR(b.err.msg, "connect: connection refused");
	done();
	T_EQ(b.fails, 1);
}

T_CASE(closing_is_possible_at_every_step_of_connecting)
{
	for (unsigned steps = 0; steps < 8; steps++) {
		memset(&b, 0, sizeof b);
		open_to(false, true);
		for (unsigned i = 0; i < steps; i++)
			(void)uv_run(&b.loop, UV_RUN_NOWAIT);
		done();
	}
}

T_CASE(bytes_not_accepted_by_the_kernel_are_known)
{
	struct pl_buf data;

	open_to(true, true);
	run_to_open();
	while (fake_net_connections(b.net) == 0)
		(void)uv_run(&b.loop, UV_RUN_ONCE);
	fake_net_reading(b.net, false);
	pl_buf_init(&data, MUCH);
	T_OK(pl_buf_reserve(&data, MUCH), NULL);
	memset(data.at, 'x', MUCH);
	data.len = MUCH;
	T_OK(sock_send(b.sock, &data, NULL), NULL);
	T_EQ(data.len, 0);
	T_TRUE(sock_busy(b.sock));
	T_TRUE(sock_written(b.sock) > 0 && sock_written(b.sock) < MUCH);
	fake_net_reading(b.net, true);
	while (b.rooms == 0)
		(void)uv_run(&b.loop, UV_RUN_ONCE);
	T_TRUE(!sock_busy(b.sock));
	T_EQ(sock_written(b.sock), MUCH);
	pl_buf_done(&data);
	done();
}
