/*
 * Keep-alives: all leases share one stream, on a channel of its own.
 *
 *   start -> waiting -> sent -> done
 *              ^         |
 *              \---------/   stream lost, or moved to another member
 *
 * Answers carry only the lease's id, so they are matched to the oldest keep-alive that
 * was sent for that lease. A stopped member, or one without a leader, does not answer
 * keep-alives at all: one that is unanswered for half its time moves the stream to
 * another member and is sent again there. Sending one twice does no harm, so they are
 * retried like reads.
 */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/etcd/client.h"
#include "store/etcd/codec.h"
#include "store/etcd/frame.h"

struct keepalive_call {
	struct kv_call base;
	struct pl_list at;
	struct client *client;
	int64_t lease;
	uint64_t deadline_ms;
	uint64_t move_ms; /* when to try another member */
	uint64_t sent_ms;
	bool canceled;
	struct pl_err err;
	struct pl_timer timer;
	kv_done_fn *done;
	void *ctx;
};

static struct keepalive_call *keepalive_at(struct pl_list *at)
{
	return PL_LIST_ITEM(at, struct keepalive_call, at);
}

static void keepalive_finish(struct keepalive_call *keepalive,
                             const struct kv_result *result, const struct pl_err *err)
{
	struct client *client = keepalive->client;
	struct pl_err copy = {0};
	kv_done_fn *done = keepalive->done;
	void *ctx = keepalive->ctx;

	if (err != NULL)
		copy = *err;
	client->stats.timeouts += copy.code == PL_TIMEOUT;
	pl_list_del(&keepalive->at);
	pl_timer_done(&keepalive->timer);
	free(keepalive);
	done(ctx, result, err == NULL ? NULL : &copy);
	client_maybe_close(client);
}

/* Keep-alives that were sent on a lost stream are sent again on the next one. */
static void requeue_sent(struct keepalives *keepalives)
{
	while (!pl_list_empty(&keepalives->sent)) {
		struct pl_list *at = keepalives->sent.prev;

		pl_list_del(at);
		pl_list_add_head(&keepalives->waiting, at);
		keepalive_at(at)->sent_ms = 0;
	}
}

static void move_to_other_member(struct client *client)
{
	struct keepalives *keepalives = &client->keepalives;
	struct pl_err why = {0};

	if (keepalives->stream == NULL)
		return;
	pl_err_set(&why, PL_TIMEOUT, "keep-alive unanswered");
	channel_move(keepalives->conn, &why);
	grpc_call_cancel(keepalives->stream);
}

static void on_keepalive_timer(void *ctx)
{
	struct keepalive_call *keepalive = ctx;
	struct client *client = keepalive->client;
	struct pl_err err = keepalive->err;

	if (!keepalive->canceled && pl_clock_ms() < keepalive->deadline_ms) {
		pl_timer_set(&keepalive->timer, keepalive->deadline_ms);
		if (keepalive->sent_ms != 0)
			move_to_other_member(client);
		return;
	}
	if (keepalive->sent_ms != 0 && !keepalive->canceled)
		move_to_other_member(client);
	if (keepalive->canceled)
		pl_err_set(&err, PL_CANCELED, "%s", kv_op_name(KV_LEASE_KEEP));
	else if (err.code == PL_OK && client->auth.state == AUTH_REFUSED)
		err = client->auth.err;
	else if (err.code == PL_OK && keepalive->sent_ms == 0 &&
	         client->down.code != PL_OK)
		err = client->down;
	else if (err.code == PL_OK)
		pl_err_set(&err, PL_TIMEOUT, "%s: no answer in time",
		           kv_op_name(KV_LEASE_KEEP));
	keepalive_finish(keepalive, NULL, &err);
}

static struct keepalive_call *find_sent(struct keepalives *keepalives, int64_t lease)
{
	PL_LIST_EACH (at, &keepalives->sent)
		if (keepalive_at(at)->lease == lease)
			return keepalive_at(at);
	return NULL;
}

static void on_message(void *ctx, struct pl_span bytes)
{
	struct client *client = ctx;
	struct keepalives *keepalives = &client->keepalives;
	struct kv_result result = {.op = KV_LEASE_KEEP};
	struct codec_keepalive answer;
	struct pl_err err = {0};
	struct keepalive_call *keepalive;

	if (codec_keepalive_decode(bytes, &answer, &err) != PL_OK) {
		keepalives->malformed = err;
		grpc_call_cancel(keepalives->stream); /* on_end() handles the failure */
		return;
	}
	keepalives->failures = 0;
	channel_mark_ok(keepalives->conn);
	client_note_header(client, &answer.header, false, 0);
	keepalive = find_sent(keepalives, answer.id);
	if (keepalive == NULL)
		return; /* the keep-alive ended before the answer came */
	if (answer.ttl_s <= 0) {
		pl_err_set(&err, PL_NOLEASE, "keep lease %016llx alive: it is gone",
		           (unsigned long long)answer.id);
		keepalive_finish(keepalive, NULL, &err);
		return;
	}
	result.header = answer.header;
	result.sent_ms = keepalive->sent_ms;
	result.lease = (struct kv_lease_result){.id = answer.id, .ttl_s = answer.ttl_s};
	keepalive_finish(keepalive, &result, NULL);
}

/* Fails every keep-alive, because no other stream would be answered differently. */
static void fail_all_soon(struct keepalives *keepalives, const struct pl_err *err)
{
	PL_LIST_EACH (at, &keepalives->waiting) {
		keepalive_at(at)->err = *err;
		keepalive_at(at)->deadline_ms = 0;
		pl_timer_set(&keepalive_at(at)->timer, 0);
	}
}

static void on_refused(struct client *client, struct channel_conn *conn,
                       const struct grpc_end *end)
{
	struct keepalives *keepalives = &client->keepalives;
	struct pl_span text = pl_span_str(end->text);
	struct status status = status_of(end->status, text);
	struct pl_err err = {0};

	status_err(&status, false, text, &err);
	if (status.next == STATUS_TOKEN && client->auth.user != NULL)
		auth_stale(client, keepalives->token_generation);
	else if (status.next == STATUS_TOKEN || status.next == STATUS_GIVE_UP)
		fail_all_soon(keepalives, &err);
	else
		channel_move(conn, &err);
}

static void pump_later(struct client *client)
{
	struct keepalives *keepalives = &client->keepalives;

	if (client->state == CLIENT_OPEN)
		pl_timer_set(&keepalives->timer,
		             pl_clock_ms() +
		                     client_backoff_ms(client, keepalives->failures++) /
		                             4);
}

static void on_end(void *ctx, const struct grpc_end *end)
{
	struct client *client = ctx;
	struct keepalives *keepalives = &client->keepalives;
	struct channel_conn *conn = keepalives->conn;

	keepalives->stream = NULL;
	keepalives->conn = NULL;
	requeue_sent(keepalives);
	if (end->code == PL_PROTO || end->code == PL_LIMIT)
		keepalives->malformed = *end->err;
	if (keepalives->malformed.code != PL_OK) { /* the server is not etcd */
		channel_move(conn, &keepalives->malformed);
		fail_all_soon(keepalives, &keepalives->malformed);
		keepalives->malformed.code = PL_OK;
	} else if (end->code == PL_OK && end->status != GRPC_OK) {
		on_refused(client, conn, end);
	}
	channel_release(conn);
	pump_later(client);
}

static enum pl_code open_stream(struct client *client, struct channel_conn *conn)
{
	struct keepalives *keepalives = &client->keepalives;
	struct pl_buf nothing = {.max = 1};
	struct grpc_call_opts opts = {
		.path = CODEC_PATH_KEEP,
		.token = client->auth.token,
		.need_leader = true,
		.body = &nothing,
		.on_message = on_message,
		.on_end = on_end,
		.ctx = client,
	};
	enum pl_code code = grpc_call_start(conn->grpc, &opts, &keepalives->stream, NULL);

	if (code != PL_OK)
		return code;
	keepalives->conn = conn;
	keepalives->token_generation = client->auth.generation;
	channel_hold(conn);
	return PL_OK;
}

static enum pl_code keepalive_send(struct client *client,
                                   struct keepalive_call *keepalive)
{
	struct frame frame;
	enum pl_code code;

	frame_begin(&frame);
	if (frame.code == PL_OK)
		frame.code = codec_keepalive_encode(keepalive->lease, &frame.body, NULL);
	/* The time is taken before the message leaves, so that the lease is never thought
	 * longer than it is. */
	keepalive->sent_ms = pl_clock_ms();
	code = frame_send(&frame, client->keepalives.stream, NULL);
	if (code != PL_OK)
		keepalive->sent_ms = 0;
	return code;
}

void keepalives_pump(struct client *client)
{
	struct keepalives *keepalives = &client->keepalives;
	struct channel_conn *conn = channel_up(&client->lease_channel);

	if (client->state != CLIENT_OPEN || pl_list_empty(&keepalives->waiting) ||
	    pl_timer_is_set(&keepalives->timer) || !auth_ready(client))
		return;
	if (keepalives->stream == NULL && conn == NULL)
		return; /* the channel pumps again once it is up */
	if (keepalives->stream == NULL && open_stream(client, conn) != PL_OK) {
		pump_later(client);
		return;
	}
	while (!pl_list_empty(&keepalives->waiting)) {
		struct keepalive_call *keepalive = keepalive_at(keepalives->waiting.next);

		if (keepalive_send(client, keepalive) != PL_OK) {
			pump_later(client);
			return;
		}
		pl_list_del(&keepalive->at);
		pl_list_add_tail(&keepalives->sent, &keepalive->at);
	}
}

static void on_pump_timer(void *ctx)
{
	keepalives_pump(ctx);
}

enum pl_code keepalives_start(struct client *client, int64_t lease, uint64_t timeout_ms,
                              kv_done_fn *done, void *ctx, struct kv_call **out,
                              struct pl_err *err)
{
	struct keepalive_call *keepalive = pl_calloc(1, sizeof *keepalive);
	uint64_t now = pl_clock_ms();

	if (keepalive == NULL || pl_timer_init(&keepalive->timer, &client->timers.timers,
	                                       on_keepalive_timer, keepalive) != PL_OK) {
		free(keepalive);
		return pl_err_set(err, PL_NOMEM, "%s", kv_op_name(KV_LEASE_KEEP));
	}
	keepalive->base.is_keepalive = true;
	keepalive->client = client;
	keepalive->lease = lease;
	keepalive->done = done;
	keepalive->ctx = ctx;
	keepalive->deadline_ms = now + timeout_ms;
	keepalive->move_ms = client->endpoints.count > 1 ? now + timeout_ms / 2
	                                                 : keepalive->deadline_ms;
	pl_timer_set(&keepalive->timer, keepalive->move_ms);
	pl_list_init(&keepalive->at);
	pl_list_add_tail(&client->keepalives.waiting, &keepalive->at);
	client->stats.calls++;
	keepalives_pump(client);
	if (out != NULL)
		*out = &keepalive->base;
	return PL_OK;
}

void keepalives_cancel(struct client *client, struct kv_call *call)
{
	struct keepalive_call *keepalive =
		PL_CONTAINER_OF(call, struct keepalive_call, base);

	PL_ASSERT(keepalive->client == client);
	keepalive->canceled = true;
	/* The answer must not be taken for that of a later keep-alive of the same lease,
	 * which would make the lease look valid for too long. Therefore a new stream is
	 * opened. */
	if (keepalive->sent_ms != 0 && client->keepalives.stream != NULL)
		grpc_call_cancel(client->keepalives.stream);
	pl_timer_set(&keepalive->timer, 0);
}

void keepalives_cancel_all(struct client *client)
{
	struct keepalives *keepalives = &client->keepalives;

	requeue_sent(keepalives);
	PL_LIST_EACH (at, &keepalives->waiting)
		keepalives_cancel(client, &keepalive_at(at)->base);
	pl_timer_stop(&keepalives->timer);
	if (keepalives->stream != NULL)
		grpc_call_cancel(keepalives->stream);
}

enum pl_code keepalives_init(struct client *client)
{
	pl_list_init(&client->keepalives.waiting);
	pl_list_init(&client->keepalives.sent);
	return pl_timer_init(&client->keepalives.timer, &client->timers.timers,
	                     on_pump_timer, client);
}

void keepalives_done(struct client *client)
{
	PL_ASSERT(pl_list_empty(&client->keepalives.waiting) &&
	          pl_list_empty(&client->keepalives.sent));
	pl_timer_done(&client->keepalives.timer);
}
