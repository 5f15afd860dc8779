/*
 * gRPC against a real etcd, without a codec: requests are written by hand, and only the
 * parts of the answers are checked that prove them to be answers.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/clock.h"
#include "store/etcd/launch.h"
#include "store/net/grpc.h"
#include "tests/harness/t.h"

enum { CALLS = 3000, IN_FLIGHT = 256, LARGE = 1400000 };

struct grpc_bench {
	uv_loop_t loop;
	struct etcd_launch *launch;
	struct tls *tls;
	struct grpc_conn *conn; /* NULL: down */
	unsigned ups, started, ended, good, messages;
	unsigned to_start;
	/* bytes of the last call's answer, and of the last message of a stream */
	size_t answer_len, message_len;
	enum grpc_fate fate;
	uint32_t status;
	struct pl_err err; /* error of the last call or of the connection */
	char text[200];
	bool close_when_idle;
};

static struct grpc_bench b;

static void on_up(void *ctx)
{
	(void)ctx;
	b.ups++;
}

static void on_down(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	b.conn = NULL;
	b.err = *err;
}

static void varint_add(struct pl_buf *buf, uint64_t value)
{
	uint8_t bytes[10];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (uint8_t)(value | 0x80);
	bytes[len++] = (uint8_t)value;
	T_OK(pl_buf_add(buf, pl_span(bytes, len)), NULL);
}

/* Writes a field of bytes: its number, its length, and len times fill. */
static void bytes_add(struct pl_buf *buf, unsigned field, char fill, size_t len)
{
	varint_add(buf, field << 3 | 2);
	varint_add(buf, len);
	T_OK(pl_buf_reserve(buf, len), NULL);
	memset(buf->at + buf->len, fill, len);
	buf->len += len;
}

static void put_start(size_t value_len);

static void on_end(void *ctx, const struct grpc_end *end)
{
	(void)ctx;
	b.ended++;
	b.fate = end->fate;
	b.status = end->status;
	b.answer_len = end->message.len;
	if (end->err != NULL)
		b.err = *end->err;
	else if (end->status == GRPC_OK)
		b.good++;
	(void)snprintf(b.text, sizeof b.text, "%s", end->text);
	if (b.started < b.to_start)
		put_start(100);
	if (b.close_when_idle && b.ended == b.started)
		grpc_conn_close(b.conn);
}

static void on_message(void *ctx, struct pl_span message)
{
	(void)ctx;
	b.messages++;
	b.message_len = message.len;
}

static struct grpc_call *call_start(const char *path, struct pl_buf *body, bool stream)
{
	struct grpc_call_opts opts = {
		.path = path,
		.unary = !stream,
		.deadline_ms = stream ? 0 : pl_clock_ms() + 15000,
		.body = body,
		.on_message = stream ? on_message : NULL,
		.on_end = on_end,
	};
	struct grpc_call *call = NULL;
	struct pl_err err;

	T_OK(grpc_call_start(b.conn, &opts, &call, &err), &err);
	b.started++;
	return call;
}

/* PutRequest: key 1, value 2. */
static void put_start(size_t value_len)
{
	struct pl_buf body;
	size_t at;

	pl_buf_init(&body, 16 << 20);
	T_OK(grpc_frame_begin(&body, &at), NULL);
	bytes_add(&body, 1, 'k', 8);
	bytes_add(&body, 2, 'v', value_len);
	grpc_frame_end(&body, at);
	(void)call_start("/etcdserverpb.KV/Put", &body, false);
}

/* RangeRequest: key 1. */
static void get_start(size_t key_len)
{
	struct pl_buf body;
	size_t at;

	pl_buf_init(&body, 1 << 20);
	T_OK(grpc_frame_begin(&body, &at), NULL);
	if (key_len > 0)
		bytes_add(&body, 1, 'k', key_len);
	grpc_frame_end(&body, at);
	(void)call_start("/etcdserverpb.KV/Range", &body, false);
}

/* WatchRequest: create_request 1 of key 1. */
static struct grpc_call *watch_start(void)
{
	struct pl_buf body;
	size_t at;

	pl_buf_init(&body, 1000);
	T_OK(grpc_frame_begin(&body, &at), NULL);
	varint_add(&body, 1 << 3 | 2);
	varint_add(&body, 10);
	bytes_add(&body, 1, 'k', 8);
	grpc_frame_end(&body, at);
	return call_start("/etcdserverpb.Watch/Watch", &body, true);
}

static void launch_etcd(bool tls)
{
	struct etcd_launch_opts opts = {.members = 1, .no_fsync = true, .tls = tls};
	struct tls_files files;
	struct pl_err err;

	T_EQ(uv_loop_init(&b.loop), 0);
	T_OK(etcd_launch_start_wait(&b.loop, &opts, &b.launch, &err), &err);
	if (!tls)
		return;
	files = (struct tls_files){.ca_file = etcd_launch_ca_file(b.launch),
	                           .cert_file = etcd_launch_cert_file(b.launch),
	                           .key_file = etcd_launch_key_file(b.launch)};
	T_OK(tls_new(&files, &b.tls, &err), &err);
}

static void connect_with(struct grpc_conn_opts opts)
{
	static const struct grpc_conn_fns fns = {.on_up = on_up, .on_down = on_down};
	const char *endpoint = etcd_launch_endpoint(b.launch, 0);

	opts.host = "127.0.0.1";
	opts.port = (uint16_t)strtoul(strrchr(endpoint, ':') + 1, NULL, 10);
	opts.connect_timeout_ms = 10000;
	opts.message_max = 64 << 20;
	T_OK(grpc_conn_open(&b.loop, &opts, &fns, NULL, &b.conn, &b.err), &b.err);
}

static void run_to_idle(void)
{
	while (b.conn != NULL && b.ended < b.started)
		(void)uv_run(&b.loop, UV_RUN_ONCE);
}

static void run_down(void)
{
	while (b.conn != NULL)
		(void)uv_run(&b.loop, UV_RUN_ONCE);
}

static void stop_etcd(void)
{
	if (b.conn != NULL)
		grpc_conn_close(b.conn);
	run_down();
	etcd_launch_stop_wait(b.launch);
	tls_free(b.tls);
	T_EQ(uv_run(&b.loop, UV_RUN_DEFAULT), 0);
	T_EQ(uv_loop_close(&b.loop), 0);
}

static void calls_of_each_kind(void)
{
	struct grpc_call *watch;

	b.to_start = CALLS;
	for (unsigned i = 0; i < IN_FLIGHT; i++)
		put_start(100);
	run_to_idle();
	T_EQ(b.good, CALLS);

	put_start(LARGE);
	run_to_idle();
	get_start(8);
	run_to_idle();
	T_EQ(b.good, CALLS + 2);
	T_TRUE(b.answer_len > LARGE);

	get_start(0);
	run_to_idle();
	T_EQ(b.fate, GRPC_ANSWERED);
	T_EQ(b.status, GRPC_INVALID_ARGUMENT);
	T_STR(b.text, "etcdserver: key is not provided");

	watch = watch_start();
	while (b.messages < 1)
		(void)uv_run(&b.loop, UV_RUN_ONCE);
	put_start(5000);
	while (b.messages < 2)
		(void)uv_run(&b.loop, UV_RUN_ONCE);
	T_TRUE(b.message_len > 5000);
	grpc_call_cancel(watch);
	run_to_idle();
	T_EQ(b.err.code, PL_CANCELED);
}

T_CASE_SECONDS(calls_in_clear_text, 60)
{
	launch_etcd(false);
	connect_with((struct grpc_conn_opts){0});
	calls_of_each_kind();
	stop_etcd();
}

T_CASE_SECONDS(calls_under_tls_with_a_client_certificate, 60)
{
	launch_etcd(true);
	connect_with((struct grpc_conn_opts){.tls = b.tls});
	calls_of_each_kind();
	stop_etcd();
}

T_CASE_SECONDS(tls_and_clear_text_do_not_mix, 60)
{
	struct tls_files files = {0};

	launch_etcd(true);
	connect_with((struct grpc_conn_opts){0});
	put_start(1);
	run_down();
	T_EQ(b.fate, GRPC_UNSENT);
	T_TRUE(b.err.code == PL_UNAVAIL || b.err.code == PL_TLS);
	tls_free(b.tls);
	files.ca_file = etcd_launch_ca_file(b.launch);
	T_OK(tls_new(&files, &b.tls, NULL), NULL);
	connect_with((struct grpc_conn_opts){.tls = b.tls});
	put_start(1);
	run_down();
	T_EQ(b.err.code, PL_TLS);
	T_TRUE(strstr(b.err.msg, "server wants a client certificate") != NULL);
	T_EQ(b.fate, GRPC_UNSENT);
	stop_etcd();
}

T_CASE_SECONDS(a_killed_server_ends_every_call, 60)
{
	launch_etcd(false);
	connect_with((struct grpc_conn_opts){0});
	(void)watch_start();
	while (b.messages < 1)
		(void)uv_run(&b.loop, UV_RUN_ONCE);
	T_OK(etcd_launch_signal(b.launch, 0, SIGKILL, NULL), NULL);
	run_down();
	T_EQ(b.ended, 1);
	T_EQ(b.fate, GRPC_MAYBE);
	T_EQ(b.err.code, PL_UNAVAIL);
	stop_etcd();
}

T_CASE_SECONDS(a_stopped_server_takes_the_connection_down, 60)
{
	launch_etcd(false);
	connect_with((struct grpc_conn_opts){
		.ping_idle_ms = 100, .ping_gap_ms = 5500, .ping_timeout_ms = 200});
	put_start(1);
	run_to_idle();
	T_EQ(b.good, 1);
	T_OK(etcd_launch_signal(b.launch, 0, SIGSTOP, NULL), NULL);
	put_start(1);
	run_down();
	T_EQ(b.err.code, PL_TIMEOUT);
	T_TRUE(strstr(b.err.msg, "server is silent") != NULL);
	T_EQ(b.fate, GRPC_MAYBE);
	T_OK(etcd_launch_signal(b.launch, 0, SIGCONT, NULL), NULL);
	stop_etcd();
}
