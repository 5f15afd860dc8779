#include "store/serve/serve.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/serve/serve_int.h"

enum { ARENA_CHUNK = 64 << 10, ROOM_KEPT = 1 << 20, REQUEST_MAX = 3 << 19 };

/* etcd takes requests of 1.5 MiB, and its gRPC half a MiB more. */
_Static_assert(SERVE_MESSAGE_MAX == REQUEST_MAX + (1 << 19), "as clients reckon");

/* -- calls ---------------------------------------------------------------------- */

static bool kind_of(struct pl_span path, enum call_kind *kind, enum kv_op *op)
{
	*op = message_op(path);
	*kind = CALL_UNARY;
	if (*op != KV_OP_COUNT)
		return true;
	*kind = CALL_WATCH;
	if (pl_span_eq(path, PL_SPAN_LIT("/etcdserverpb.Watch/Watch")))
		return true;
	*kind = CALL_KEEP;
	return pl_span_eq(path, PL_SPAN_LIT("/etcdserverpb.Lease/LeaseKeepAlive"));
}

static void *on_call(void *ctx, struct grpc_stream *stream, struct pl_span path)
{
	struct serve_conn *conn = ctx;
	enum call_kind kind;
	enum kv_op op;
	struct serve_call *call;

	if (!kind_of(path, &kind, &op))
		return NULL;
	call = pl_calloc(1, sizeof *call);
	if (call == NULL)
		return NULL;
	call->kind = kind;
	call->op = op;
	call->conn = conn;
	call->stream = stream;
	pl_list_init(&call->watches);
	if (kind == CALL_WATCH && watch_begin(call) != PL_OK) {
		free(call);
		return NULL;
	}
	return call;
}

void call_free_when_done(struct serve_call *call)
{
	if (call->stream == NULL && call->pending == 0)
		free(call);
}

void call_send(struct serve_call *call, enum pl_code code)
{
	struct serve *serve = call->conn->serve;

	if (code == PL_OK)
		grpc_stream_send(call->stream, pl_buf_span(&serve->out));
	else
		grpc_stream_end(call->stream, GRPC_RESOURCE_EXHAUSTED,
		                "grpc: trying to send message larger than max");
	pl_buf_clear(&serve->out, ROOM_KEPT);
	pl_arena_reset(&serve->arena);
}

static void on_message(void *ctx, struct pl_span message)
{
	struct serve_call *call = ctx;

	switch (call->kind) {
	case CALL_UNARY:
		unary_message(call, message);
		return;
	case CALL_WATCH:
		watch_message(call, message);
		return;
	case CALL_KEEP:
		keep_message(call, message);
		return;
	}
	PL_UNREACHABLE("kind of call");
}

static void on_large(void *ctx, uint64_t bytes)
{
	struct serve_call *call = ctx;
	char words[120];

	(void)snprintf(words, sizeof words,
	               "grpc: received message larger than max (%llu vs. %d)",
	               (unsigned long long)bytes, SERVE_MESSAGE_MAX);
	grpc_stream_end(call->stream, GRPC_RESOURCE_EXHAUSTED, words);
}

static void on_half_close(void *ctx)
{
	struct serve_call *call = ctx;

	if (call->kind == CALL_UNARY && !call->asked)
		grpc_stream_end(call->stream, GRPC_INVALID_ARGUMENT, "no request");
	else if (call->kind != CALL_UNARY)
		grpc_stream_end(call->stream, GRPC_OK, "");
}

static void on_gone(void *ctx)
{
	struct serve_call *call = ctx;

	call->stream = NULL;
	watch_drop(call);
	call_free_when_done(call);
}

/* -- connections ------------------------------------------------------------------ */

/* Gets a header for those answers for which the kv gives none. */
static void on_status(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct serve_conn *conn = ctx;

	(void)err;
	if (result != NULL)
		conn->last = result->header;
}

static void *on_conn(void *ctx)
{
	struct serve *serve = ctx;
	const struct kv_req status = {.op = KV_STATUS};
	struct serve_conn *conn = pl_calloc(1, sizeof *conn);
	struct pl_err err = {0};

	if (conn == NULL)
		return NULL;
	conn->serve = serve;
	if (serve->opts.session(serve->opts.ctx, &conn->kv, &err) != PL_OK) {
		free(conn);
		return NULL;
	}
	serve->sessions++;
	(void)!kv_start(conn->kv, &status, SERVE_TIMEOUT_MS, on_status, conn, NULL, &err);
	return conn;
}

static void free_when_closed(struct serve *serve)
{
	if (serve->state != SERVE_GONE || serve->sessions > 0)
		return;
	pl_arena_done(&serve->arena);
	pl_buf_done(&serve->out);
	serve->closed(serve->closed_ctx);
	free(serve);
}

static void on_session_closed(void *ctx)
{
	struct serve_conn *conn = ctx;
	struct serve *serve = conn->serve;

	free(conn);
	serve->sessions--;
	free_when_closed(serve);
}

static void on_conn_gone(void *ctx)
{
	struct serve_conn *conn = ctx;

	kv_close(conn->kv, on_session_closed, conn);
}

/* -- the server ------------------------------------------------------------------- */

enum pl_code serve_open(uv_loop_t *loop, const struct serve_opts *opts,
                        struct serve **out, struct pl_err *err)
{
	const struct grpc_server_opts server = {
		.host = opts->host == NULL ? "127.0.0.1" : opts->host,
		.port = opts->port,
		.message_max = SERVE_MESSAGE_MAX,
	};
	const struct grpc_server_fns fns = {
		.on_conn = on_conn,
		.on_conn_gone = on_conn_gone,
		.on_call = on_call,
		.on_message = on_message,
		.on_large = on_large,
		.on_half_close = on_half_close,
		.on_gone = on_gone,
	};
	struct serve *serve = pl_calloc(1, sizeof *serve);
	enum pl_code code;

	if (serve == NULL)
		return pl_err_set(err, PL_NOMEM, "serve a store");
	serve->opts = *opts;
	pl_arena_init(&serve->arena, ARENA_CHUNK, 0);
	pl_buf_init(&serve->out, SERVE_ANSWER_MAX);
	code = grpc_server_open(loop, &server, &fns, serve, &serve->server, err);
	if (code != PL_OK) {
		pl_arena_done(&serve->arena);
		free(serve);
		return code;
	}
	*out = serve;
	return PL_OK;
}

uint16_t serve_port(const struct serve *serve)
{
	return grpc_server_port(serve->server);
}

static void on_server_gone(void *ctx)
{
	struct serve *serve = ctx;

	PL_ASSERT(serve->state == SERVE_CLOSING);
	serve->state = SERVE_GONE;
	free_when_closed(serve);
}

void serve_close(struct serve *serve, void (*closed)(void *ctx), void *ctx)
{
	PL_ASSERT(serve->state == SERVE_OPEN);
	serve->state = SERVE_CLOSING;
	serve->closed = closed;
	serve->closed_ctx = ctx;
	grpc_server_close(serve->server, on_server_gone, serve);
}
