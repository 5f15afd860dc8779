#include "tests/support/store/net/conn_rig.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/base/clock.h"
#include "tests/support/store/net/grpc_rig.h"

static void on_up(void *ctx)
{
	struct conn_rig *rig = ctx;

	rig->ups++;
	PL_ASSERT(rig->conn != NULL && rig->downs == 0);
	if (rig->close_at_up)
		grpc_conn_close(rig->conn);
}

static void on_down(void *ctx, const struct pl_err *err)
{
	struct conn_rig *rig = ctx;

	PL_ASSERT(rig->live == 0);
	rig->downs++;
	rig->conn = NULL;
	rig->why = *err;
}

void conn_rig_init(struct conn_rig *rig, const struct fake_net_opts *net)
{
	int rc;

	memset(rig, 0, sizeof *rig);
	rc = uv_loop_init(&rig->loop);
	PL_ASSERT(rc == 0);
	rig->net = fake_net_open(&rig->loop, net);
}

enum pl_code conn_rig_open(struct conn_rig *rig, const struct grpc_conn_opts *opts)
{
	static const struct grpc_conn_fns fns = {.on_up = on_up, .on_down = on_down};
	struct grpc_conn_opts full = opts == NULL ? (struct grpc_conn_opts){0} : *opts;
	enum pl_code code;

	if (full.host == NULL)
		full.host = "127.0.0.1";
	if (full.port == 0)
		full.port = fake_net_port(rig->net);
	if (full.connect_timeout_ms == 0)
		full.connect_timeout_ms = 10000;
	if (full.message_max == 0)
		full.message_max = 64 << 20;
	rig->downs = 0;
	code = grpc_conn_open(&rig->loop, &full, &fns, rig, &rig->conn, &rig->why);
	PL_ASSERT(rig->downs == 0);
	return code;
}

static void on_message(void *ctx, struct pl_span message)
{
	struct conn_rig_call *call = ctx;

	PL_ASSERT(call->ended == 0 && call->call != NULL);
	call->messages++;
	call->message_len = message.len;
}

static void on_end(void *ctx, const struct grpc_end *end)
{
	struct conn_rig_call *call = ctx;
	struct conn_rig *rig = call->rig;

	PL_ASSERT(call->call != NULL && (end->code != PL_OK) == (end->err != NULL));
	call->ended++;
	call->call = NULL;
	call->fate = end->fate;
	call->code = end->code;
	call->status = end->status;
	call->sent_ms = end->sent_ms;
	if (!grpc_rig_is_stream(call->act))
		call->message_len = end->message.len;
	(void)snprintf(call->text, sizeof call->text, "%s",
	               end->err != NULL ? end->err->msg : end->text);
	rig->live--;
	if (call->then_start)
		(void)conn_rig_call(rig, FAKE_ok, 10);
	if (call->then_close || (rig->close_when_idle && rig->live == 0))
		grpc_conn_close(rig->conn);
}

struct conn_rig_call *conn_rig_call(struct conn_rig *rig, enum fake_act act, size_t len)
{
	struct conn_rig_call *call = &rig->calls[rig->call_count];
	bool stream = grpc_rig_is_stream(act);
	struct pl_buf body;
	size_t start;
	char path[40];
	struct grpc_call_opts opts = {
		.path = path,
		.unary = !stream,
		.deadline_ms = stream ? 0 : pl_clock_ms() + 15000,
		.body = &body,
		.on_message = stream ? on_message : NULL,
		.on_end = on_end,
		.ctx = call,
	};

	PL_ASSERT(rig->call_count < CONN_RIG_CALLS_MAX);
	*call = (struct conn_rig_call){.rig = rig, .act = act, .number = rig->call_count};
	(void)snprintf(path, sizeof path, "/%s/%u", fake_act_name(act), call->number);
	pl_buf_init(&body, len + GRPC_PREFIX_SIZE);
	if (grpc_frame_begin(&body, &start) == PL_OK &&
	    pl_buf_reserve(&body, len) == PL_OK) {
		memset(body.at + body.len, 'x', len);
		body.len += len;
		grpc_frame_end(&body, start);
		if (grpc_call_start(rig->conn, &opts, &call->call, NULL) == PL_OK) {
			PL_ASSERT(call->ended == 0);
			rig->call_count++;
			rig->live++;
		}
	}
	pl_buf_done(&body);
	return call->call == NULL ? NULL : call;
}

void conn_rig_close(struct conn_rig *rig)
{
	unsigned downs = rig->downs;

	if (rig->conn != NULL)
		grpc_conn_close(rig->conn);
	PL_ASSERT(rig->downs == downs);
}

void conn_rig_run(struct conn_rig *rig)
{
	while (rig->conn != NULL)
		(void)uv_run(&rig->loop, UV_RUN_ONCE);
}

void conn_rig_run_calls(struct conn_rig *rig)
{
	while (rig->conn != NULL && rig->live > 0)
		(void)uv_run(&rig->loop, UV_RUN_ONCE);
}

void conn_rig_done(struct conn_rig *rig)
{
	int rc;

	fake_net_close(rig->net);
	rc = uv_run(&rig->loop, UV_RUN_DEFAULT);
	PL_ASSERT(rc == 0 && rig->conn == NULL);
	rc = uv_loop_close(&rig->loop);
	PL_ASSERT(rc == 0);
	for (unsigned i = 0; i < rig->call_count; i++)
		PL_ASSERT(rig->calls[i].ended == 1);
	fake_net_free(rig->net);
}
