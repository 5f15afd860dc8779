/* A call that is reported as unsent must never arrive: tested against a server that stops
 * sending while it goes on reading. It is a plain socket, served between turns of the
 * loop. */
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/net/grpc.h"
#include "tests/harness/t.h"

static uv_loop_t loop;
static struct grpc_conn *conn;
static bool up, down;
static int listener, server;
static bool second_arrived;

struct ended {
	bool done;
	enum grpc_fate fate;
};

static void on_up(void *ctx)
{
	(void)ctx;
	up = true;
}

static void on_down(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	(void)err;
	down = true;
}

static void on_end(void *ctx, const struct grpc_end *end)
{
	struct ended *ended = ctx;

	ended->done = true;
	ended->fate = end->fate;
}

static void call_start(struct ended *ended, const char *text, size_t len)
{
	struct pl_buf body = {.max = len + 100};
	struct grpc_call_opts opts = {.path = "/x/y",
	                              .unary = true,
	                              .deadline_ms = pl_clock_ms() + 60000,
	                              .body = &body,
	                              .on_end = on_end,
	                              .ctx = ended};
	struct pl_err err;
	size_t start;

	T_EQ(grpc_frame_begin(&body, &start), PL_OK);
	T_EQ(pl_buf_reserve(&body, len), PL_OK);
	memset(body.at + body.len, '.', len);
	memcpy(body.at + body.len, text, strlen(text));
	body.len += len;
	grpc_frame_end(&body, start);
	T_OK(grpc_call_start(conn, &opts, NULL, &err), &err);
	pl_buf_done(&body);
}

static uint16_t listen_up(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	socklen_t len = sizeof addr;
	int small = 4096;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	T_TRUE(listener >= 0);
	T_EQ(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
	T_EQ(bind(listener, (struct sockaddr *)&addr, sizeof addr), 0);
	T_EQ(listen(listener, 1), 0);
	T_EQ(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
	return ntohs(addr.sin_port);
}

/* Sends SETTINGS with a large window, and the same for the connection. */
static void server_greet(void)
{
	static const uint8_t hello[] = {0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4,    0x3f, 0, 0,
	                                0, 0, 0, 4, 8, 0, 0, 0, 0, 0, 0x3f, 0,    0, 0};

	while ((server = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) < 0)
		(void)uv_run(&loop, UV_RUN_NOWAIT);
	T_EQ(write(server, hello, sizeof hello), (ssize_t)sizeof hello);
	while (!up)
		(void)uv_run(&loop, UV_RUN_ONCE);
}

/* Buffers are small, so that the kernel accepts the last bytes in small steps. */
static void shrink(uv_handle_t *handle, void *ctx)
{
	int size = 8192;

	(void)ctx;
	if (handle->type == UV_TCP)
		T_EQ(uv_send_buffer_size(handle, &size), 0);
}

/* False: no bytes to read now. */
static bool server_read(size_t size)
{
	static char bytes[64 << 10];
	ssize_t count = read(server, bytes, size);

	if (count > 0)
		second_arrived |= memmem(bytes, (size_t)count, "SECOND", 6) != NULL;
	return count > 0;
}

T_CASE(unsent_calls_never_arrive)
{
	struct grpc_conn_opts opts = {
		.host = "127.0.0.1", .connect_timeout_ms = 5000, .message_max = 1000};
	static const struct grpc_conn_fns fns = {.on_up = on_up, .on_down = on_down};
	struct ended first = {0}, second = {0};
	struct pl_err err;

	T_EQ(uv_loop_init(&loop), 0);
	opts.port = listen_up();
	T_OK(grpc_conn_open(&loop, &opts, &fns, NULL, &conn, &err), &err);
	server_greet();
	uv_walk(&loop, shrink, NULL);
	call_start(&first, "FIRST", 1100 << 10);
	call_start(&second, "SECOND", 100);
	/* Runs until all remaining bytes are with libuv, the second call at their end. */
	do {
		(void)server_read(1 << 10);
		(void)uv_run(&loop, UV_RUN_NOWAIT);
	} while (grpc_conn_unsent(conn) > 12 << 10);
	T_TRUE(grpc_conn_unsent(conn) > 300);
	while (server_read(64 << 10))
		;
	T_EQ(shutdown(server, SHUT_WR), 0);
	while (!down)
		(void)uv_run(&loop, UV_RUN_ONCE);
	T_TRUE(first.done && second.done);
	T_EQ(second.fate, GRPC_UNSENT);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	while (server_read(64 << 10))
		;
	T_TRUE(!second_arrived);
	(void)close(server);
	(void)close(listener);
	T_EQ(uv_loop_close(&loop), 0);
}
