/*
 * The watch stream: its messages, and the next stream when it is lost.
 *
 * Calling a watch's user is the last thing that handling a message does.
 */
#include "store/base/clock.h"
#include "store/etcd/codec.h"
#include "store/etcd/watches.h"

enum {
	CREATING_MAX = 64,
	/* After so many malformed streams in a row the watches end. */
	MALFORMED_MAX = 6,
	/* A stream that lasted so long does not count as a failure. */
	STEADY_MS = 5000,
};

static struct kv_watch *watch_at(struct pl_list *at)
{
	return PL_LIST_ITEM(at, struct kv_watch, at);
}

static struct pl_list *bucket_of(struct watches *watches, int64_t id)
{
	return &watches->bucket[(uint64_t)id % WATCH_BUCKETS];
}

static struct kv_watch *watch_find(struct watches *watches, int64_t id)
{
	PL_LIST_EACH (link, bucket_of(watches, id)) {
		struct kv_watch *watch = PL_LIST_ITEM(link, struct kv_watch, in_bucket);

		if (watch->id == id)
			return watch;
	}
	return NULL;
}

/* The stream brought a malformed message. Another stream, of another member if there is
 * one, may be valid: trying a few times loses nothing. */
static void stream_malformed(struct client *client, struct channel_conn *conn,
                             const struct pl_err *err)
{
	struct watches *watches = &client->watches;

	channel_move(conn, err);
	watches_drop_stream(watches);
	if (++watches->malformed < MALFORMED_MAX)
		return;
	watches->malformed = 0;
	watches_end_all(client, err);
}

/* -- messages --------------------------------------------------------------- */

static void watch_requeue(struct kv_watch *watch)
{
	struct watches *watches = &watch->client->watches;

	pl_list_del(&watch->in_bucket);
	pl_list_del(&watch->at);
	watch->state = WATCH_WAITING;
	if (watch->life == WATCH_OPEN)
		pl_list_add_tail(&watches->waiting, &watch->at);
}

static void pump_later(struct client *client)
{
	struct watches *watches = &client->watches;

	if (client->state == CLIENT_OPEN && !pl_timer_is_set(&watches->timer))
		pl_timer_set(&watches->timer,
		             pl_clock_ms() +
		                     client_backoff_ms(client, watches->failures++));
}

/* The server does not accept the token that the stream was opened with, and leaves the
 * stream open: it would refuse every creation on it. A stream with an outdated token is
 * replaced at once. Otherwise a new token is requested, and the next stream waits for it,
 * longer after each refusal. */
static void stream_refused_token(struct client *client)
{
	struct watches *watches = &client->watches;

	watches_drop_stream(watches);
	if (watches->token_generation != client->auth.generation) {
		pl_timer_stop(&watches->timer);
		watches->replace = true;
		return;
	}
	auth_stale(client, watches->token_generation);
	pump_later(client);
}

/* The server ended a watch, or refused to create it. */
static void on_refused(struct kv_watch *watch, const struct codec_watch *msg)
{
	struct client *client = watch->client;
	struct status status = status_of_reason(msg->cancel_reason);
	struct pl_err err = {0};

	pl_list_del(&watch->in_bucket);
	watch->state = WATCH_WAITING; /* there is nothing to cancel on the server */
	if (msg->compact_revision > 0) {
		pl_err_set(&err, PL_COMPACTED,
		           "watch from revision %lld: compacted up to %lld",
		           (long long)watch->next_revision,
		           (long long)msg->compact_revision);
		watch->compact_revision = msg->compact_revision;
		watch_end_soon(watch, &err);
		return;
	}
	if (msg->cancel_reason.len != 0 && status.code != PL_OK) {
		status_err(&status, false, msg->cancel_reason, &err);
		if (status.next == STATUS_GIVE_UP ||
		    (status.next == STATUS_TOKEN && client->auth.user == NULL)) {
			watch_end_soon(watch, &err);
			return;
		}
		if (status.next == STATUS_TOKEN) {
			watch_requeue(watch);
			stream_refused_token(client);
			return;
		}
	}
	watch_requeue(watch);
	pump_later(client);
}

static void on_created(struct client *client, const struct codec_watch *msg)
{
	struct watches *watches = &client->watches;
	struct pl_err err = {0};
	struct kv_watch *watch;
	bool behind;

	if (pl_list_empty(&watches->creating) ||
	    (!msg->canceled &&
	     (msg->watch_id < 0 || watch_find(watches, msg->watch_id) != NULL))) {
		pl_err_set(&err, PL_PROTO,
		           "watch: an answer to a creation that was not asked for");
		stream_malformed(client, watches->conn, &err);
		return;
	}
	watch = watch_at(watches->creating.next);
	pl_list_del(&watch->at);
	watches->creating_count--;
	watch->state = WATCH_WAITING;
	if (watch->life != WATCH_OPEN) {
		/* The watch was cancelled meanwhile; the list's reference may be the
		 * last. */
		watch_free(watch);
		if (!msg->canceled)
			watch_send_cancel(watches, msg->watch_id);
		return;
	}
	watch_free(watch);
	if (msg->canceled) {
		on_refused(watch, msg);
		return;
	}
	behind =
		msg->header.revision < client->seen_revision && watch->next_revision != 0;
	watch->id = msg->watch_id;
	watch->state = WATCH_ACTIVE;
	pl_list_add_tail(bucket_of(watches, watch->id), &watch->in_bucket);
	if (watch->next_revision == 0)
		watch->next_revision = msg->header.revision + 1;
	if (behind)
		watches_check_rewound(client, watch);
	watch_note(watch, (struct kv_watch_note){.what = KV_WATCH_READY,
	                                         .header = msg->header,
	                                         .revision = watch->next_revision - 1});
}

static void on_events(struct client *client, struct kv_watch *watch,
                      const struct codec_watch *msg)
{
	size_t skip = 0;
	int64_t last = msg->events[msg->count - 1].record.mod_revision;

	/* The first events were seen before a reconnection, or are older than what the
	 * user asked for. */
	while (skip < msg->count &&
	       msg->events[skip].record.mod_revision < watch->next_revision)
		skip++;
	if (skip == msg->count)
		return;
	client->watches.malformed = 0;
	client->stats.watch_events += msg->count - skip;
	client->stats.watch_messages++;
	watch_advanced(watch, last);
	watch_note(watch, (struct kv_watch_note){.what = KV_WATCH_EVENTS,
	                                         .header = msg->header,
	                                         .revision = last,
	                                         .events = msg->events + skip,
	                                         .count = msg->count - skip});
}

static void on_decoded(struct client *client, const struct codec_watch *msg)
{
	struct watches *watches = &client->watches;
	struct kv_watch *watch;

	/* Some messages that cancel have no revision. */
	if (msg->header.revision != 0)
		client_note_header(client, &msg->header, false, 0);
	if (msg->created) {
		on_created(client, msg);
		watches_pump(client);
		return;
	}
	if (msg->watch_id < 0) {
		if (!msg->canceled)
			watches_on_progress(client, msg->header.revision);
		return;
	}
	watch = watch_find(watches, msg->watch_id);
	if (watch == NULL || watch->life != WATCH_OPEN)
		return;
	if (msg->canceled)
		on_refused(watch, msg);
	else if (msg->count > 0)
		on_events(client, watch, msg);
	else
		watch_advanced(watch, msg->header.revision);
}

static void on_message(void *ctx, struct pl_span bytes)
{
	struct client *client = ctx;
	struct watches *watches = &client->watches;
	struct codec_watch msg;
	struct pl_err err = {0};

	pl_arena_reset(&watches->arena);
	if (codec_watch_decode(bytes, &watches->arena, &msg, &err) != PL_OK) {
		stream_malformed(client, watches->conn, &err);
		return;
	}
	channel_mark_ok(watches->conn);
	on_decoded(client, &msg);
}

/* -- the stream ------------------------------------------------------------- */

/* All watches of the stream wait for the next one, the older ones first. */
static void stream_lost(struct client *client)
{
	struct watches *watches = &client->watches;

	watches->stream = NULL;
	watches->conn = NULL;
	watches->creating_count = 0;
	watches->progress_sound = false;
	watches->version_asked = false;
	PL_LIST_EACH (link, &watches->creating) {
		struct kv_watch *watch = watch_at(link);

		pl_list_del(&watch->at);
		watch_free(watch);
	}
	pl_list_init(&watches->waiting);
	PL_LIST_EACH (link, &watches->all) {
		struct kv_watch *watch = PL_LIST_ITEM(link, struct kv_watch, in_all);

		client->stats.watch_resumes += watch->state == WATCH_ACTIVE;
		pl_list_init(&watch->at);
		watch_requeue(watch);
	}
}

static void on_stream_refused(struct client *client, struct channel_conn *conn,
                              const struct grpc_end *end)
{
	struct pl_span text = pl_span_str(end->text);
	struct status status = status_of(end->status, text);
	struct pl_err err = {0};

	status_err(&status, false, text, &err);
	if (status.next == STATUS_TOKEN && client->auth.user != NULL)
		auth_stale(client, client->watches.token_generation);
	else if (status.next == STATUS_TOKEN || status.next == STATUS_GIVE_UP)
		watches_end_all(client, &err);
	else
		channel_move(conn, &err);
}

static void on_end(void *ctx, const struct grpc_end *end)
{
	struct client *client = ctx;
	struct watches *watches = &client->watches;
	struct channel_conn *conn = watches->conn;
	bool replace = watches->replace;

	watches->replace = false;
	stream_lost(client);
	if (pl_clock_ms() - watches->opened_ms >= STEADY_MS)
		watches->failures = 0;
	if (end->code == PL_LIMIT)
		watches_end_all(client, end->err); /* the message would come again */
	else if (end->code == PL_PROTO)
		stream_malformed(client, conn, end->err);
	else if (end->code == PL_OK && end->status != GRPC_OK)
		on_stream_refused(client, conn, end);
	channel_release(conn);
	if (replace)
		watches_pump(client);
	else
		pump_later(client);
}

static enum pl_code open_stream(struct client *client, struct channel_conn *conn)
{
	struct watches *watches = &client->watches;
	struct pl_buf nothing = {.max = 1};
	struct grpc_call_opts opts = {
		.path = CODEC_PATH_WATCH,
		.token = client->auth.token,
		.need_leader = true,
		.body = &nothing,
		.on_message = on_message,
		.on_end = on_end,
		.ctx = client,
	};
	enum pl_code code = grpc_call_start(conn->grpc, &opts, &watches->stream, NULL);

	if (code != PL_OK)
		return code;
	watches->conn = conn;
	watches->opened_ms = pl_clock_ms();
	watches->token_generation = client->auth.generation;
	channel_hold(conn);
	watches_ask_version(client, conn);
	return PL_OK;
}

void watches_pump(struct client *client)
{
	struct watches *watches = &client->watches;
	struct channel_conn *conn = channel_up(&client->watch_channel);
	struct pl_err err = {0};

	if (client->state != CLIENT_OPEN || pl_list_empty(&watches->waiting) ||
	    pl_timer_is_set(&watches->timer))
		return;
	if (!auth_ready(client)) {
		if (client->auth.state == AUTH_REFUSED)
			watches_end_all(client, &client->auth.err);
		return;
	}
	if (watches->stream == NULL && conn == NULL)
		return; /* the channel pumps again once it is up */
	if (watches->stream == NULL && open_stream(client, conn) != PL_OK) {
		pump_later(client);
		return;
	}
	while (!pl_list_empty(&watches->waiting) &&
	       watches->creating_count < CREATING_MAX) {
		struct kv_watch *watch = watch_at(watches->waiting.next);
		enum pl_code code = watch_send_create(watches, watch, &err);

		if (code == PL_INVALID) {
			watch_end_soon(watch, &err);
			continue;
		}
		if (code != PL_OK) {
			pump_later(client);
			return;
		}
		pl_list_del(&watch->at);
		pl_list_add_tail(&watches->creating, &watch->at);
		watches->creating_count++;
		watch->state = WATCH_CREATING;
		watch->refs++;
	}
}

void watches_on_timer(void *ctx)
{
	watches_pump(ctx);
}
