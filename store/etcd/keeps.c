/*
 * Keep-alives: all leases share one stream, on a connection of its own.
 *
 * Answers carry the lease's id and nothing else, so they are matched to the
 * oldest keep-alive sent for that lease. A stopped member, or one that has lost
 * its leader, swallows keep-alives without a word: one that stays unanswered for
 * half its time moves the stream to another member and is sent again there.
 * Sending one twice does no harm, so they may be retried like reads.
 */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/etcd/client.h"
#include "store/etcd/codec.h"
#include "store/etcd/frame.h"

struct keep {
	struct kv_call base;
	struct pl_list at;
	struct client *client;
	int64_t lease;
	uint64_t deadline_ms;
	uint64_t move_ms; /* unanswered until then: try another member */
	uint64_t sent_ms;
	bool canceled;
	struct pl_err err;
	struct pl_timer timer;
	kv_done_fn *done;
	void *ctx;
};

static struct keep *keep_at(struct pl_list *at)
{
	return PL_LIST_ITEM(at, struct keep, at);
}

static void keep_finish(struct keep *keep, const struct kv_result *result,
                        const struct pl_err *err)
{
	struct client *client = keep->client;
	struct pl_err copy = {0};
	kv_done_fn *done = keep->done;
	void *ctx = keep->ctx;

	if (err != NULL)
		copy = *err;
	client->stats.timeouts += copy.code == PL_TIMEOUT;
	pl_list_del(&keep->at);
	pl_timer_done(&keep->timer);
	free(keep);
	done(ctx, result, err == NULL ? NULL : &copy);
	client_maybe_closed(client);
}

/* What was sent on a stream that is gone is sent again on the next. */
static void requeue_sent(struct keeps *keeps)
{
	while (!pl_list_empty(&keeps->sent)) {
		struct pl_list *at = keeps->sent.prev;

		pl_list_del(at);
		pl_list_add_head(&keeps->waiting, at);
		keep_at(at)->sent_ms = 0;
	}
}

static void leave_member(struct client *client)
{
	struct keeps *keeps = &client->keeps;
	struct pl_err why = {0};

	if (keeps->stream == NULL)
		return;
	pl_err_set(&why, PL_TIMEOUT, "keep-alive unanswered");
	link_move(keeps->conn, &why);
	grpc_call_cancel(keeps->stream);
}

static void on_keep_timer(void *ctx)
{
	struct keep *keep = ctx;
	struct client *client = keep->client;
	struct pl_err err = keep->err;

	if (!keep->canceled && pl_clock_ms() < keep->deadline_ms) {
		pl_timer_set(&keep->timer, keep->deadline_ms);
		if (keep->sent_ms != 0)
			leave_member(client);
		return;
	}
	if (keep->sent_ms != 0 && !keep->canceled)
		leave_member(client);
	if (keep->canceled)
		pl_err_set(&err, PL_CANCELED, "%s", kv_op_name(KV_LEASE_KEEP));
	else if (err.code == PL_OK && client->auth.state == AUTH_REFUSED)
		err = client->auth.err;
	else if (err.code == PL_OK && keep->sent_ms == 0 && client->down.code != PL_OK)
		err = client->down;
	else if (err.code == PL_OK)
		pl_err_set(&err, PL_TIMEOUT, "%s: no answer in time",
		           kv_op_name(KV_LEASE_KEEP));
	keep_finish(keep, NULL, &err);
}

static struct keep *find_sent(struct keeps *keeps, int64_t lease)
{
	PL_LIST_EACH (at, &keeps->sent)
		if (keep_at(at)->lease == lease)
			return keep_at(at);
	return NULL;
}

static void on_message(void *ctx, struct pl_span bytes)
{
	struct client *client = ctx;
	struct keeps *keeps = &client->keeps;
	struct kv_result result = {.op = KV_LEASE_KEEP};
	struct codec_keep answer;
	struct pl_err err = {0};
	struct keep *keep;

	if (codec_keep_decode(bytes, &answer, &err) != PL_OK) {
		keeps->bad = err;
		grpc_call_cancel(keeps->stream); /* on_end sees to the rest */
		return;
	}
	keeps->failures = 0;
	link_worked(keeps->conn);
	client_saw(client, &answer.header, false, 0);
	keep = find_sent(keeps, answer.id);
	if (keep == NULL)
		return; /* its time was up before the answer came */
	if (answer.ttl_s <= 0) {
		pl_err_set(&err, PL_NOLEASE, "keep lease %016llx alive: it is gone",
		           (unsigned long long)answer.id);
		keep_finish(keep, NULL, &err);
		return;
	}
	result.header = answer.header;
	result.sent_ms = keep->sent_ms;
	result.lease = (struct kv_lease_result){.id = answer.id, .ttl_s = answer.ttl_s};
	keep_finish(keep, &result, NULL);
}

/* An answer that no other stream will change: everybody hears it. */
static void fail_all_soon(struct keeps *keeps, const struct pl_err *err)
{
	PL_LIST_EACH (at, &keeps->waiting) {
		keep_at(at)->err = *err;
		keep_at(at)->deadline_ms = 0;
		pl_timer_set(&keep_at(at)->timer, 0);
	}
}

static void on_refused(struct client *client, struct link_conn *conn,
                       const struct grpc_end *end)
{
	struct keeps *keeps = &client->keeps;
	struct pl_span text = pl_span_str(end->text);
	struct status status = status_of(end->status, text);
	struct pl_err err = {0};

	status_err(&status, false, text, &err);
	if (status.next == STATUS_TOKEN && client->auth.user != NULL)
		auth_stale(client, keeps->token_generation);
	else if (status.next == STATUS_TOKEN || status.next == STATUS_GIVE_UP)
		fail_all_soon(keeps, &err);
	else
		link_move(conn, &err);
}

static void pump_later(struct client *client)
{
	struct keeps *keeps = &client->keeps;

	if (!client->closing)
		pl_timer_set(&keeps->timer,
		             pl_clock_ms() +
		                     client_backoff_ms(client, keeps->failures++) / 4);
}

static void on_end(void *ctx, const struct grpc_end *end)
{
	struct client *client = ctx;
	struct keeps *keeps = &client->keeps;
	struct link_conn *conn = keeps->conn;

	keeps->stream = NULL;
	keeps->conn = NULL;
	requeue_sent(keeps);
	if (end->code == PL_PROTO || end->code == PL_LIMIT)
		keeps->bad = *end->err;
	if (keeps->bad.code != PL_OK) { /* this server is none of ours */
		link_move(conn, &keeps->bad);
		fail_all_soon(keeps, &keeps->bad);
		keeps->bad.code = PL_OK;
	} else if (end->code == PL_OK && end->status != GRPC_OK) {
		on_refused(client, conn, end);
	}
	link_release(conn);
	pump_later(client);
}

static enum pl_code open_stream(struct client *client, struct link_conn *conn)
{
	struct keeps *keeps = &client->keeps;
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
	enum pl_code code = grpc_call_start(conn->grpc, &opts, &keeps->stream, NULL);

	if (code != PL_OK)
		return code;
	keeps->conn = conn;
	keeps->token_generation = client->auth.generation;
	link_hold(conn);
	return PL_OK;
}

static enum pl_code keep_send(struct client *client, struct keep *keep)
{
	struct frame frame;
	enum pl_code code;

	frame_begin(&frame);
	if (frame.code == PL_OK)
		frame.code = codec_keep_encode(keep->lease, &frame.body, NULL);
	/* Before it leaves: whatever follows counts against us. */
	keep->sent_ms = pl_clock_ms();
	code = frame_send(&frame, client->keeps.stream, NULL);
	if (code != PL_OK)
		keep->sent_ms = 0;
	return code;
}

void keeps_pump(struct client *client)
{
	struct keeps *keeps = &client->keeps;
	struct link_conn *conn = link_up(&client->lease_link);

	if (client->closing || pl_list_empty(&keeps->waiting) ||
	    pl_timer_is_set(&keeps->timer) || !auth_ready(client))
		return;
	if (keeps->stream == NULL && conn == NULL)
		return; /* the link tries again when it is up */
	if (keeps->stream == NULL && open_stream(client, conn) != PL_OK) {
		pump_later(client);
		return;
	}
	while (!pl_list_empty(&keeps->waiting)) {
		struct keep *keep = keep_at(keeps->waiting.next);

		if (keep_send(client, keep) != PL_OK) {
			pump_later(client);
			return;
		}
		pl_list_del(&keep->at);
		pl_list_add_tail(&keeps->sent, &keep->at);
	}
}

static void on_pump_timer(void *ctx)
{
	keeps_pump(ctx);
}

enum pl_code keeps_start(struct client *client, int64_t lease, uint64_t timeout_ms,
                         kv_done_fn *done, void *ctx, struct kv_call **out,
                         struct pl_err *err)
{
	struct keep *keep = pl_calloc(1, sizeof *keep);
	uint64_t now = pl_clock_ms();

	if (keep == NULL || pl_timer_init(&keep->timer, &client->timers.timers,
	                                  on_keep_timer, keep) != PL_OK) {
		free(keep);
		return pl_err_set(err, PL_NOMEM, "%s", kv_op_name(KV_LEASE_KEEP));
	}
	keep->base.is_keep = true;
	keep->client = client;
	keep->lease = lease;
	keep->done = done;
	keep->ctx = ctx;
	keep->deadline_ms = now + timeout_ms;
	keep->move_ms =
		client->endpoints.count > 1 ? now + timeout_ms / 2 : keep->deadline_ms;
	pl_timer_set(&keep->timer, keep->move_ms);
	pl_list_init(&keep->at);
	pl_list_add_tail(&client->keeps.waiting, &keep->at);
	client->stats.calls++;
	keeps_pump(client);
	if (out != NULL)
		*out = &keep->base;
	return PL_OK;
}

void keeps_cancel(struct client *client, struct kv_call *call)
{
	struct keep *keep = PL_CONTAINER_OF(call, struct keep, base);

	PL_ASSERT(keep->client == client);
	keep->canceled = true;
	/* Its answer must not pass for that of a later keep-alive of the lease,
	 * which would make the lease look safe for too long: a new stream. */
	if (keep->sent_ms != 0 && client->keeps.stream != NULL)
		grpc_call_cancel(client->keeps.stream);
	pl_timer_set(&keep->timer, 0);
}

void keeps_cancel_all(struct client *client)
{
	struct keeps *keeps = &client->keeps;

	requeue_sent(keeps);
	PL_LIST_EACH (at, &keeps->waiting)
		keeps_cancel(client, &keep_at(at)->base);
	pl_timer_stop(&keeps->timer);
	if (keeps->stream != NULL)
		grpc_call_cancel(keeps->stream);
}

enum pl_code keeps_init(struct client *client)
{
	pl_list_init(&client->keeps.waiting);
	pl_list_init(&client->keeps.sent);
	return pl_timer_init(&client->keeps.timer, &client->timers.timers, on_pump_timer,
	                     client);
}

void keeps_done(struct client *client)
{
	PL_ASSERT(pl_list_empty(&client->keeps.waiting) &&
	          pl_list_empty(&client->keeps.sent));
	pl_timer_done(&client->keeps.timer);
}
