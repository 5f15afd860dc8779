#include "store/net/fake_peer.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/base/clock.h"
#include "store/net/fake_rig.h"

static void on_up(void *ctx)
{
	struct peer *peer = ctx;

	peer->ups++;
	PL_ASSERT(peer->conn != NULL && peer->downs == 0);
	if (peer->close_at_up)
		grpc_conn_close(peer->conn);
}

static void on_down(void *ctx, const struct pl_err *err)
{
	struct peer *peer = ctx;

	PL_ASSERT(peer->live == 0);
	peer->downs++;
	peer->conn = NULL;
	peer->why = *err;
}

void peer_init(struct peer *peer, const struct fake_net_opts *net)
{
	int rc;

	memset(peer, 0, sizeof *peer);
	rc = uv_loop_init(&peer->loop);
	PL_ASSERT(rc == 0);
	peer->net = fake_net_open(&peer->loop, net);
}

enum pl_code peer_open(struct peer *peer, const struct grpc_conn_opts *opts)
{
	static const struct grpc_conn_fns fns = {.on_up = on_up, .on_down = on_down};
	struct grpc_conn_opts full = opts == NULL ? (struct grpc_conn_opts){0} : *opts;
	enum pl_code code;

	if (full.host == NULL)
		full.host = "127.0.0.1";
	if (full.port == 0)
		full.port = fake_net_port(peer->net);
	if (full.connect_timeout_ms == 0)
		full.connect_timeout_ms = 10000;
	if (full.message_max == 0)
		full.message_max = 64 << 20;
	peer->downs = 0;
	code = grpc_conn_open(&peer->loop, &full, &fns, peer, &peer->conn, &peer->why);
	PL_ASSERT(peer->downs == 0);
	return code;
}

static void on_message(void *ctx, struct pl_span message)
{
	struct peer_call *call = ctx;

	PL_ASSERT(call->ended == 0 && call->call != NULL);
	call->messages++;
	call->message_len = message.len;
}

static void on_end(void *ctx, const struct grpc_end *end)
{
	struct peer_call *call = ctx;
	struct peer *peer = call->peer;

	PL_ASSERT(call->call != NULL && (end->code != PL_OK) == (end->err != NULL));
	call->ended++;
	call->call = NULL;
	call->fate = end->fate;
	call->code = end->code;
	call->status = end->status;
	call->sent_ms = end->sent_ms;
	if (!rig_is_stream(call->act))
		call->message_len = end->message.len;
	(void)snprintf(call->text, sizeof call->text, "%s",
	               end->err != NULL ? end->err->msg : end->text);
	peer->live--;
	if (call->then_start)
		(void)peer_call(peer, FAKE_ok, 10);
	if (call->then_close || (peer->close_when_idle && peer->live == 0))
		grpc_conn_close(peer->conn);
}

struct peer_call *peer_call(struct peer *peer, enum fake_act act, size_t len)
{
	struct peer_call *call = &peer->calls[peer->call_count];
	bool stream = rig_is_stream(act);
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

	PL_ASSERT(peer->call_count < PEER_CALLS_MAX);
	*call = (struct peer_call){.peer = peer, .act = act, .number = peer->call_count};
	(void)snprintf(path, sizeof path, "/%s/%u", fake_act_name(act), call->number);
	pl_buf_init(&body, len + GRPC_PREFIX_SIZE);
	if (grpc_frame_begin(&body, &start) == PL_OK &&
	    pl_buf_reserve(&body, len) == PL_OK) {
		memset(body.at + body.len, 'x', len);
		body.len += len;
		grpc_frame_end(&body, start);
		if (grpc_call_start(peer->conn, &opts, &call->call, NULL) == PL_OK) {
			PL_ASSERT(call->ended == 0);
			peer->call_count++;
			peer->live++;
		}
	}
	pl_buf_done(&body);
	return call->call == NULL ? NULL : call;
}

void peer_close(struct peer *peer)
{
	unsigned downs = peer->downs;

	if (peer->conn != NULL)
		grpc_conn_close(peer->conn);
	PL_ASSERT(peer->downs == downs);
}

void peer_run(struct peer *peer)
{
	while (peer->conn != NULL)
		(void)uv_run(&peer->loop, UV_RUN_ONCE);
}

void peer_run_calls(struct peer *peer)
{
	while (peer->conn != NULL && peer->live > 0)
		(void)uv_run(&peer->loop, UV_RUN_ONCE);
}

void peer_done(struct peer *peer)
{
	int rc;

	fake_net_close(peer->net);
	rc = uv_run(&peer->loop, UV_RUN_DEFAULT);
	PL_ASSERT(rc == 0 && peer->conn == NULL);
	rc = uv_loop_close(&peer->loop);
	PL_ASSERT(rc == 0);
	for (unsigned i = 0; i < peer->call_count; i++)
		PL_ASSERT(peer->calls[i].ended == 1);
	fake_net_free(peer->net);
}
