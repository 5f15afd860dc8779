#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/etcd/client.h"

enum { UNARY_TIMEOUT_MS = 5000 };

struct unary_call {
	struct channel_conn *conn;
	unary_end_fn *done;
	void *ctx;
};

static void on_end(void *ctx, const struct grpc_end *end)
{
	struct unary_call *unary = ctx;
	struct unary_call copy = *unary;

	free(unary);
	if (end->fate == GRPC_ANSWERED)
		channel_mark_ok(copy.conn);
	else if (end->code == PL_TIMEOUT && channel_is_silent(copy.conn, end->sent_ms))
		channel_move(copy.conn, end->err);
	channel_release(copy.conn);
	copy.done(copy.ctx, copy.conn, end);
}

enum pl_code unary_start(struct client *client, struct channel_conn *conn,
                         const char *path, struct pl_buf *body, unary_end_fn *done,
                         void *ctx)
{
	struct unary_call *unary = pl_malloc(sizeof *unary);
	struct grpc_call_opts opts = {
		.path = path,
		.token = client->auth.token,
		.unary = true,
		.deadline_ms = pl_clock_ms() + UNARY_TIMEOUT_MS,
		.body = body,
		.on_end = on_end,
		.ctx = unary,
	};
	struct grpc_call *call;
	enum pl_code code;

	if (unary == NULL)
		return PL_NOMEM;
	*unary = (struct unary_call){.conn = conn, .done = done, .ctx = ctx};
	channel_hold(conn);
	code = grpc_call_start(conn->grpc, &opts, &call, NULL);
	if (code != PL_OK) {
		channel_release(conn);
		free(unary);
	}
	return code;
}
