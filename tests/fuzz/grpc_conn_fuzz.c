/*
 * A client with calls in flight and a server that sends any bytes. The first byte
 * chooses the client's calls, the second the size of the pieces in which the rest
 * arrives.
 */
#include <stdlib.h>
#include <string.h>

#include "store/net/grpc_session.h"
#include "tests/fuzz/fuzz.h"

enum { CALLS_MAX = 8, MESSAGE_MAX = 50000 };

struct conn_call {
	struct grpc_call *call;
	unsigned ended;
	bool unary, cancel;
};

struct client {
	struct pl_timers timers;
	struct grpc_session session;
	struct conn_call calls[CALLS_MAX];
	unsigned count;
	uint64_t now_ms;
	bool dead;
	struct pl_err why;
};

static void on_wake(void *ctx)
{
	(void)ctx;
}

static uint64_t on_now(void *ctx)
{
	return ((struct client *)ctx)->now_ms;
}

static void on_message(void *ctx, struct pl_span message)
{
	struct conn_call *call = ctx;

	PL_ASSERT(call->ended == 0 && message.len <= MESSAGE_MAX);
	if (call->cancel)
		grpc_call_cancel(call->call);
}

static void on_end(void *ctx, const struct grpc_end *end)
{
	struct conn_call *call = ctx;

	call->ended++;
	PL_ASSERT(end->text != NULL && (end->code != PL_OK) == (end->err != NULL));
	PL_ASSERT((end->fate == GRPC_ANSWERED) == (end->code == PL_OK));
	PL_ASSERT(end->message.len <= MESSAGE_MAX);
}

static void start_call(struct client *client, bool unary, bool cancel)
{
	struct conn_call *call = &client->calls[client->count];
	struct pl_buf body;
	size_t at;
	struct grpc_call_opts opts = {
		.path = "/a/b",
		.unary = unary,
		.deadline_ms = unary ? client->now_ms + 1000 : 0,
		.body = &body,
		.on_message = unary ? NULL : on_message,
		.on_end = on_end,
		.ctx = call,
	};
	enum pl_code code;

	if (client->count == CALLS_MAX)
		return;
	*call = (struct conn_call){.unary = unary, .cancel = cancel};
	pl_buf_init(&body, 100);
	code = grpc_frame_begin(&body, &at);
	PL_ASSERT(code == PL_OK);
	grpc_frame_end(&body, at);
	if (grpc_session_call(&client->session, &opts, &call->call, NULL) == PL_OK)
		client->count++;
	pl_buf_done(&body);
}

static void close_client(struct client *client)
{
	client->dead = true;
	grpc_session_fail(&client->session, &client->why);
	grpc_session_deliver(&client->session);
}

static void turn_client(struct client *client)
{
	struct grpc_session *session = &client->session;

	if (!client->dead && grpc_session_fill(session, &client->why) != PL_OK)
		close_client(client);
	if (client->dead)
		return;
	pl_buf_clear(&session->out, 1 << 20);
	grpc_session_written(session, session->serialised);
	if (grpc_session_finished(session, &client->why))
		close_client(client);
	else
		grpc_session_deliver(session);
}

/* Feeds from a block of exactly that size, for the sanitizer. */
static void feed_client(struct client *client, const uint8_t *at, size_t len)
{
	uint8_t *copy = malloc(len);

	PL_ASSERT(copy != NULL);
	memcpy(copy, at, len);
	if (grpc_session_feed(&client->session, pl_span(copy, len), &client->why) !=
	    PL_OK)
		close_client(client);
	grpc_session_deliver(&client->session);
	free(copy);
}

static void begin_client(struct client *client, uint8_t mix)
{
	static const struct grpc_session_opts opts = {.scheme = "http",
	                                              .authority = "x",
	                                              .message_max = MESSAGE_MAX,
	                                              .ping_idle_ms = 300,
	                                              .ping_gap_ms = 200,
	                                              .ping_timeout_ms = 200};
	static const struct grpc_session_fns fns = {
		.wake = on_wake, .up = on_wake, .now_ms = on_now};
	enum pl_code code;

	pl_timers_init(&client->timers, NULL, NULL);
	code = grpc_session_init(&client->session, &opts, &client->timers, &fns, client,
	                         NULL);
	PL_ASSERT(code == PL_OK);
	for (unsigned i = 0; i < 4; i++)
		start_call(client, (mix >> i & 1) == 0, (mix & 16) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct client client = {.now_ms = 1000};
	size_t piece, at = 2;
	unsigned turns = 0;

	if (size < 2)
		return 0;
	piece = (size_t)data[1] + 1;
	begin_client(&client, data[0]);
	pl_err_set(&client.why, PL_UNAVAIL, "cut");
	while (at < size && !client.dead) {
		size_t len = size - at < piece ? size - at : piece;

		turn_client(&client);
		if (client.dead)
			break;
		feed_client(&client, data + at, len);
		at += len;
		client.now_ms += data[0] >> 5;
		pl_timers_run(&client.timers, client.now_ms);
		if (++turns == 5)
			start_call(&client, true, false);
	}
	turn_client(&client);
	if (!client.dead)
		close_client(&client);
	for (unsigned i = 0; i < client.count; i++)
		PL_ASSERT(client.calls[i].ended == 1);
	grpc_session_done(&client.session);
	pl_timers_done(&client.timers);
	return 0;
}
