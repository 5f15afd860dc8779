/*
 * Unary calls: queue, deadline, retry by class of error.
 *
 *   start -> queued -> in flight -> done
 *              ^          |
 *              \-- retry -/
 *
 * A call is queued while there is no connection, no token, or no knowledge of the
 * server's limits. The end of an attempt decides what follows: a final answer ends the
 * call; a read, and a write that certainly was not applied, is retried; a write that may
 * have been applied ends as PL_UNKNOWN. Every call ends at its deadline at the latest.
 *
 * In the steady state a call costs one allocation here, one in the transport, and its
 * body. The body comes back from the transport, so a retry copies nothing.
 */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/etcd/client.h"
#include "store/etcd/codec.h"
#include "store/kv/keys.h"
#include "store/kv/overlap.h"

enum {
	BODY_MAX = 1 << 30, /* the server's limit is far below */
	CALL_BYTES = 512,   /* bytes that a call costs beside its body */
	ANSWER_ARENA_CHUNK = 64 << 10,
	ANSWER_ARENA_MAX = 1 << 30, /* two bytes on the wire can decode to 64 */
	/* A read that is unanswered for so long is sent to another member, if there is
	 * one. */
	READ_ATTEMPT_MIN_MS = 1000,
	RETRIES_MAX = 64,
};

struct etcd_call {
	struct kv_call base;
	struct pl_list at;
	struct client *client;
	enum kv_op op;
	bool is_write;
	bool linear; /* the answer is at least as new as everything seen before it */
	bool canceled;
	unsigned failures;
	int64_t lease; /* KV_LEASE_REVOKE only: the answer does not name the lease */
	uint64_t txn_ops;
	uint64_t deadline_ms;
	uint64_t attempt_ms; /* deadline of the running attempt */
	uint64_t token_generation;
	int64_t seen_before;
	struct grpc_call *inner;
	struct channel_conn *conn;
	struct pl_timer timer; /* runs while the call is on no connection */
	size_t bytes;
	struct pl_buf body;
	struct pl_buf shape;
	kv_done_fn *done;
	void *ctx;
	struct pl_err err; /* why the last attempt failed, or why the call ends */
};

static struct etcd_call *call_at(struct pl_list *at)
{
	return PL_LIST_ITEM(at, struct etcd_call, at);
}

/* -- the end -------------------------------------------------------------- */

static void call_free(struct etcd_call *call)
{
	struct client *client = call->client;

	pl_list_del(&call->at);
	pl_timer_done(&call->timer);
	client->calls.bytes -= call->bytes;
	pl_buf_done(&call->body);
	pl_buf_done(&call->shape);
	free(call);
}

static void call_finish(struct etcd_call *call, const struct kv_result *result,
                        const struct pl_err *err)
{
	struct client *client = call->client;
	struct pl_err copy = {0};
	kv_done_fn *done = call->done;
	void *ctx = call->ctx;

	if (err != NULL) {
		copy = *err;
		client->stats.unknown += copy.code == PL_UNKNOWN;
		client->stats.timeouts += copy.code == PL_TIMEOUT;
	}
	call_free(call);
	calls_wake_waiters(client);
	done(ctx, result, err == NULL ? NULL : &copy);
	client_maybe_close(client);
}

/* Whether the call failed only for want of a valid token. A token that one member does
 * not know, while no other one can be had in time, does not mean a wrong password: a
 * wrong password ends calls as soon as it is known. */
static bool failed_for_token(const struct client *client, const struct pl_err *err)
{
	return err->code == PL_AUTH && client->auth.user != NULL &&
	       client->auth.state != AUTH_REFUSED;
}

/* Ends a call that is on no connection, with the best known reason. */
static void call_give_up(struct etcd_call *call)
{
	struct client *client = call->client;
	struct pl_err err = call->err;

	if (call->canceled) {
		pl_err_set(&err, PL_CANCELED, "%s", kv_op_name(call->op));
	} else if (failed_for_token(client, &err)) {
		pl_err_set(&err, PL_TIMEOUT,
		           "%s: no token that the server accepts in time",
		           kv_op_name(call->op));
	} else if (err.code == PL_OK && client->auth.state == AUTH_WANTED &&
	           client->auth.err.code != PL_OK) {
		err = client->auth.err;
	} else if (err.code == PL_OK && client->down.code != PL_OK) {
		err = client->down;
	} else if (err.code == PL_OK) {
		pl_err_set(&err, PL_TIMEOUT, "%s: no answer in time",
		           kv_op_name(call->op));
	}
	call_finish(call, NULL, &err);
}

static void call_fail(struct etcd_call *call, enum pl_code code, const char *why)
{
	struct pl_err err = {0};

	pl_err_set(&err, code, "%s: %s", kv_op_name(call->op), why);
	call_finish(call, NULL, &err);
}

/* -- between attempts ----------------------------------------------------- */

static void call_queue(struct etcd_call *call)
{
	pl_list_del(&call->at);
	pl_list_add_tail(&call->client->calls.queued, &call->at);
	pl_timer_set(&call->timer, call->deadline_ms);
}

/* Retries the call after err. pause: waits before, so that the server can recover. */
static void call_retry(struct etcd_call *call, const struct pl_err *err, bool pause)
{
	struct client *client = call->client;
	uint64_t now = pl_clock_ms();
	uint64_t at = pause ? now + client_backoff_ms(client, call->failures) : now;

	call->err = *err;
	if (call->canceled || at >= call->deadline_ms || ++call->failures > RETRIES_MAX) {
		call_give_up(call);
		return;
	}
	client->stats.retries++;
	pl_timer_set(&call->timer, at);
}

static void on_timer(void *ctx)
{
	struct etcd_call *call = ctx;

	if (call->canceled || pl_clock_ms() >= call->deadline_ms) {
		call_give_up(call);
		return;
	}
	call_queue(call);
	calls_pump(call->client);
}

/* -- an attempt ----------------------------------------------------------- */

static void on_answer(struct etcd_call *call, const struct grpc_end *end)
{
	struct client *client = call->client;
	struct kv_result result = {.op = call->op};
	struct pl_err err = {0};
	enum pl_code code;

	pl_arena_reset(&client->calls.arena);
	code = codec_decode(call->op, pl_buf_span(&call->shape), end->message,
	                    &client->calls.arena, &result, &err);
	if (code == PL_OK) {
		result.sent_ms = end->sent_ms;
		if (call->op == KV_LEASE_REVOKE)
			result.lease.id = call->lease;
		client_note_header(client, &result.header, call->linear,
		                   call->seen_before);
		call_finish(call, &result, NULL);
		return;
	}
	/* The server answered OK, but the answer is malformed. */
	if (call->is_write)
		pl_err_unknown(&err);
	call_finish(call, NULL, &err);
}

static void on_refusal(struct etcd_call *call, struct channel_conn *conn,
                       const struct grpc_end *end)
{
	struct client *client = call->client;
	struct pl_span text = pl_span_str(end->text);
	struct status status = status_of(end->status, text);
	struct pl_err err = {0};

	status_err(&status, call->is_write, text, &err);
	if (status.next == STATUS_ELSEWHERE)
		channel_move(conn, &err);
	if (status.next == STATUS_TOKEN)
		auth_stale(client, call->token_generation);
	if (status.next == STATUS_GIVE_UP || (call->is_write && status.maybe_applied) ||
	    (status.next == STATUS_TOKEN && client->auth.user == NULL))
		call_finish(call, NULL, &err);
	else
		call_retry(call, &err, status.next != STATUS_TOKEN || call->failures > 0);
}

static void on_broken(struct etcd_call *call, struct channel_conn *conn,
                      const struct grpc_end *end)
{
	struct pl_err err = *end->err;

	if (end->code == PL_TIMEOUT && channel_is_silent(conn, end->sent_ms)) {
		grpc_conn_probe(conn->grpc);
		channel_move(conn, &err);
	}
	if (end->fate == GRPC_MAYBE && call->is_write) {
		pl_err_wrap(&err, "%s: sent, no answer", kv_op_name(call->op));
		pl_err_unknown(&err);
		call_finish(call, NULL, &err);
	} else if (end->code == PL_LIMIT || end->code == PL_NOMEM ||
	           end->code == PL_PROTO) {
		pl_err_wrap(&err, "%s", kv_op_name(call->op));
		call_finish(call, NULL, &err);
	} else if (end->code == PL_TIMEOUT && pl_clock_ms() >= call->deadline_ms) {
		call_fail(call, PL_TIMEOUT, "no answer in time");
	} else {
		/* A server may refuse streams for long: only the first retry is
		 * immediate. */
		call_retry(call, &err, end->fate != GRPC_UNSENT || call->failures > 0);
	}
}

static void on_end(void *ctx, const struct grpc_end *end)
{
	struct etcd_call *call = ctx;
	struct channel_conn *conn = call->conn;

	if (end->body != NULL) {
		call->body = *end->body;
		*end->body = (struct pl_buf){0};
	}
	call->inner = NULL;
	call->conn = NULL;
	if (end->code == PL_OK)
		channel_mark_ok(conn);
	if (end->code != PL_OK)
		on_broken(call, conn, end);
	else if (end->status != GRPC_OK)
		on_refusal(call, conn, end);
	else
		on_answer(call, end);
	channel_release(conn); /* last, because a retiring connection closes with it */
}

static enum pl_code call_send(struct etcd_call *call, struct channel_conn *conn,
                              struct pl_err *err)
{
	struct client *client = call->client;
	struct grpc_call_opts opts = {
		.path = codec_path(call->op),
		.token = client->auth.token,
		.unary = true,
		.deadline_ms = call->attempt_ms,
		.body = &call->body,
		.on_end = on_end,
		.ctx = call,
	};
	enum pl_code code = grpc_call_start(conn->grpc, &opts, &call->inner, err);

	if (code == PL_OK) {
		call->conn = conn;
		call->token_generation = client->auth.generation;
		call->seen_before = client->seen_revision;
		channel_hold(conn);
	}
	return code;
}

static uint64_t attempt_until(const struct etcd_call *call)
{
	uint64_t now = pl_clock_ms(), half;

	if (call->is_write || call->client->endpoints.count == 1)
		return call->deadline_ms;
	half = (call->deadline_ms - now) / 2;
	if (half < READ_ATTEMPT_MIN_MS)
		half = READ_ATTEMPT_MIN_MS;
	return now + half < call->deadline_ms ? now + half : call->deadline_ms;
}

/* Ends the call from the loop, because the caller may be inside kv_start(). */
static void call_end_soon(struct etcd_call *call, const struct pl_err *err)
{
	struct calls *calls = &call->client->calls;

	if (err != NULL)
		call->err = *err;
	call->deadline_ms = 0;
	pl_list_del(&call->at);
	pl_list_add_tail(&calls->inflight, &call->at);
	pl_timer_set(&call->timer, 0);
}

static void call_dispatch(struct etcd_call *call, struct channel_conn *conn)
{
	struct client *client = call->client;
	struct pl_err err = {0};

	pl_list_del(&call->at);
	pl_list_add_tail(&client->calls.inflight, &call->at);
	pl_timer_stop(&call->timer);
	call->attempt_ms = attempt_until(call);
	if (limits_check(client, call->txn_ops, call->is_write ? call->body.len : 0,
	                 &err) != PL_OK ||
	    call_send(call, conn, &err) != PL_OK)
		call_end_soon(call, &err);
}

void calls_pump(struct client *client)
{
	struct calls *calls = &client->calls;

	if (pl_list_empty(&calls->queued) || channel_up(&client->calls_channel) == NULL)
		return;
	if (!auth_ready(client)) {
		if (client->auth.state == AUTH_REFUSED)
			calls_fail_queued(client, &client->auth.err);
		return;
	}
	if (!limits_ready(client))
		return;
	while (!pl_list_empty(&calls->queued)) {
		struct channel_conn *conn = channel_up(&client->calls_channel);

		if (conn == NULL)
			return;
		call_dispatch(call_at(calls->queued.next), conn);
	}
}

/* -- the interface -------------------------------------------------------- */

/* The depth is at most KV_TXN_DEPTH_MAX: the codec has checked the request. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static bool reads_linearly(const struct kv_req *reqs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct kv_txn *txn = &reqs[i].txn;

		switch (reqs[i].op) {
		case KV_GET:
			if (!reqs[i].get.serializable)
				return true;
			break;
		case KV_TXN:
			if (reads_linearly(txn->then, txn->then_count) ||
			    reads_linearly(txn->otherwise, txn->otherwise_count))
				return true;
			break;
		case KV_PUT:
		case KV_DELETE:
			return true;
		case KV_COMPACT:
		case KV_LEASE_GRANT:
		case KV_LEASE_REVOKE:
		case KV_LEASE_KEEP:
		case KV_LEASE_TTL:
		case KV_STATUS:
		case KV_OP_COUNT:
			break;
		}
	}
	return false;
}

static enum pl_code call_encode(struct etcd_call *call, const struct kv_req *req,
                                struct pl_err *err)
{
	size_t start = 0;
	enum pl_code code;

	pl_buf_init(&call->body, BODY_MAX);
	pl_buf_init(&call->shape, BODY_MAX);
	code = grpc_frame_begin(&call->body, &start);
	if (code != PL_OK)
		return pl_err_set(err, code, "%s", kv_op_name(call->op));
	code = codec_encode(req, &call->body, &call->shape, err);
	if (code == PL_OK && req->op == KV_TXN && kv_overlap_blind(&req->txn))
		/* overlapping puts could crash the server */
		code = kv_overlap_check(&req->txn, err);
	if (code != PL_OK)
		return code;
	grpc_frame_end(&call->body, start);
	call->txn_ops = codec_txn_ops(req);
	call->is_write = kv_req_writes(req);
	call->linear = reads_linearly(req, 1);
	call->bytes = call->body.len + CALL_BYTES;
	return PL_OK;
}

static enum pl_code call_admit(struct client *client, struct etcd_call *call,
                               struct pl_err *err)
{
	struct calls *calls = &client->calls;

	/* A lone request is admitted even if it is larger than the bound. */
	if (calls->bytes > 0 && calls->bytes + call->bytes > calls->bytes_max) {
		if (call->bytes > calls->wanted)
			calls->wanted = call->bytes;
		return pl_err_set(err, PL_BUSY, "%s: %zu bytes are in flight already",
		                  kv_op_name(call->op), calls->bytes);
	}
	return limits_check(client, call->txn_ops, call->is_write ? call->body.len : 0,
	                    err);
}

static struct etcd_call *call_new(struct client *client, const struct kv_req *req,
                                  struct pl_err *err)
{
	struct etcd_call *call = pl_calloc(1, sizeof *call);

	if (call == NULL) {
		pl_err_set(err, PL_NOMEM, "%s", kv_op_name(req->op));
		return NULL;
	}
	call->client = client;
	call->op = req->op;
	call->lease = req->op == KV_LEASE_REVOKE ? req->lease.id : 0;
	pl_list_init(&call->at);
	if (call_encode(call, req, err) != PL_OK ||
	    call_admit(client, call, err) != PL_OK)
		goto fail_body;
	if (pl_timer_init(&call->timer, &client->timers.timers, on_timer, call) !=
	    PL_OK) {
		pl_err_set(err, PL_NOMEM, "%s", kv_op_name(req->op));
		goto fail_body;
	}
	return call;

fail_body:
	pl_buf_done(&call->body);
	pl_buf_done(&call->shape);
	free(call);
	return NULL;
}

enum pl_code calls_start(struct client *client, const struct kv_req *req,
                         uint64_t timeout_ms, kv_done_fn *done, void *ctx,
                         struct kv_call **out, struct pl_err *err)
{
	struct pl_err local = {0};
	struct etcd_call *call = call_new(client, req, &local);

	if (call == NULL) {
		if (err != NULL)
			*err = local;
		return local.code;
	}
	call->done = done;
	call->ctx = ctx;
	call->deadline_ms = pl_clock_ms() + timeout_ms;
	client->calls.bytes += call->bytes;
	client->stats.calls++;
	call_queue(call);
	calls_pump(client);
	if (out != NULL)
		*out = &call->base;
	return PL_OK;
}

void calls_cancel(struct client *client, struct kv_call *base)
{
	struct etcd_call *call = PL_CONTAINER_OF(base, struct etcd_call, base);

	PL_ASSERT(call->client == client);
	if (call->canceled)
		return;
	call->canceled = true;
	if (call->inner != NULL)
		grpc_call_cancel(call->inner);
	else
		call_end_soon(call, NULL);
}

void calls_fail_queued(struct client *client, const struct pl_err *err)
{
	while (!pl_list_empty(&client->calls.queued))
		call_end_soon(call_at(client->calls.queued.next), err);
}

void calls_cancel_all(struct client *client)
{
	while (!pl_list_empty(&client->calls.queued))
		calls_cancel(client, &call_at(client->calls.queued.next)->base);
	PL_LIST_EACH (at, &client->calls.inflight)
		calls_cancel(client, &call_at(at)->base);
}

/* -- the bound on bytes in flight ------------------------------------------ */

static void on_room(void *ctx)
{
	struct client *client = ctx;
	struct calls *calls = &client->calls;
	struct pl_list ready;

	pl_list_init(&ready);
	calls->wanted = 0;
	while (!pl_list_empty(&calls->waiters)) {
		struct pl_list *link = calls->waiters.next;

		pl_list_del(link);
		pl_list_add_tail(&ready, link);
	}
	while (!pl_list_empty(&ready)) {
		struct kv_waiter *waiter =
			PL_LIST_ITEM(ready.next, struct kv_waiter, link);

		pl_list_del(&waiter->link);
		if (calls->bytes >= calls->bytes_max)
			pl_list_add_tail(&calls->waiters, &waiter->link);
		else
			waiter->fn(waiter->ctx);
	}
}

/* Waiters are woken when half the bound is free, not for each call, and when the largest
 * refused request fits, so that it is not refused again at once. */
static bool has_room(const struct calls *calls)
{
	return calls->bytes == 0 || (calls->bytes <= calls->bytes_max / 2 &&
	                             calls->bytes + calls->wanted <= calls->bytes_max);
}

void calls_wake_waiters(struct client *client)
{
	struct calls *calls = &client->calls;

	if (!pl_list_empty(&calls->waiters) && !pl_timer_is_set(&calls->room_timer) &&
	    has_room(calls) && client->state == CLIENT_OPEN)
		pl_timer_set(&calls->room_timer, 0);
}

enum pl_code calls_init(struct client *client, size_t bytes_max)
{
	struct calls *calls = &client->calls;

	pl_list_init(&calls->queued);
	pl_list_init(&calls->inflight);
	pl_list_init(&calls->waiters);
	calls->bytes_max = bytes_max;
	pl_arena_init(&calls->arena, ANSWER_ARENA_CHUNK, ANSWER_ARENA_MAX);
	return pl_timer_init(&calls->room_timer, &client->timers.timers, on_room, client);
}

void calls_done(struct client *client)
{
	PL_ASSERT(pl_list_empty(&client->calls.queued));
	PL_ASSERT(pl_list_empty(&client->calls.inflight));
	/* The waiters are their owners' memory, which may outlive the client. */
	while (!pl_list_empty(&client->calls.waiters))
		pl_list_del(client->calls.waiters.next);
	pl_timer_done(&client->calls.room_timer);
	pl_arena_done(&client->calls.arena);
}
