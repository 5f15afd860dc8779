/*
 * Watches: all of a client share one stream, on a connection of its own.
 *
 *   start -> waiting -> creating -> active -> ended
 *              ^           |          |
 *              \-----------+----------/   stream lost: again, from the next revision
 *
 * etcd answers creations in the order in which they were asked for, and names a
 * refused one -1: so they are matched by order, and the id is learnt from the
 * answer. Each watch knows the next revision that it has not seen; it is created
 * again from there, and whatever lies before it is dropped, so that nothing is
 * missed and nothing comes twice.
 *
 * Timed progress reports (progress_notify) are on for every watch: they move the
 * point from which a quiet watch would resume, so that a compaction does not
 * overtake it.
 *
 * Progress asked for: etcd before 3.4.25 and 3.5.8 answers ahead of events that
 * it has yet to send. There the answer is not believed; an event or a timed
 * report, which come in order, has to show the same.
 */
#include "store/etcd/watches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/etcd/codec.h"

enum {
	BODY_MAX = 64 << 20,
	CREATING_MAX = 64,
	ARENA_CHUNK = 256 << 10,
	ARENA_MAX = 1 << 30,
	PROGRESS_AGAIN_MS = 100,
	CHECK_TIMEOUT_MS = 10000,
	/* Streams in a row that bring nonsense: then the watches end. */
	BAD_MAX = 6,
	/* A stream that stood so long was none that fails at once. */
	STEADY_MS = 5000,
	/* Of keys: a message that is too large would end the stream of all. */
	KEYS_MAX = 1 << 20,
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

/* -- the end of a watch --------------------------------------------------- */

static void watch_free(struct kv_watch *watch)
{
	PL_ASSERT(watch->refs > 0);
	if (--watch->refs > 0)
		return;
	pl_list_del(&watch->at);
	pl_list_del(&watch->in_bucket);
	pl_list_del(&watch->in_all);
	pl_timer_done(&watch->timer);
	free(watch);
}

static void watch_note(struct kv_watch *watch, struct kv_watch_note note)
{
	watch->fn(watch->ctx, &note);
}

static void watch_deliver_end(struct kv_watch *watch)
{
	struct client *client = watch->client;
	struct pl_err err = watch->err;
	int64_t compact_revision = watch->compact_revision;
	kv_watch_fn *fn = watch->fn;
	void *ctx = watch->ctx;

	pl_list_del(&watch->in_all);
	watch->ended = true;
	watch_free(watch);
	fn(ctx, &(struct kv_watch_note){.what = KV_WATCH_END,
	                                .err = &err,
	                                .compact_revision = compact_revision});
	client_maybe_closed(client);
}

/* -- sending -------------------------------------------------------------- */

static void stream_drop(struct watches *watches)
{
	if (watches->stream != NULL)
		grpc_call_cancel(watches->stream);
}

static void send_cancel(struct watches *watches, int64_t id)
{
	struct pl_buf body;
	size_t start = 0;
	enum pl_code code;

	pl_buf_init(&body, BODY_MAX);
	code = grpc_frame_begin(&body, &start);
	if (code == PL_OK)
		code = codec_watch_cancel(id, &body, NULL);
	if (code == PL_OK) {
		grpc_frame_end(&body, start);
		code = grpc_call_send(watches->stream, &body, NULL);
	}
	pl_buf_done(&body);
	/* Left alone it would go on sending: a new stream is the other way. */
	if (code != PL_OK)
		stream_drop(watches);
}

/* The last note comes later, on a stack of its own. Nothing comes before it. */
static void watch_end_soon(struct kv_watch *watch, const struct pl_err *err)
{
	if (watch->ending)
		return;
	watch->ending = true;
	watch->err = *err;
	if (watch->state == WATCH_WAITING)
		pl_list_del(&watch->at);
	if (watch->state == WATCH_ACTIVE)
		send_cancel(&watch->client->watches, watch->id);
	pl_timer_set(&watch->timer, 0);
}

static void end_all(struct client *client, const struct pl_err *err)
{
	PL_LIST_EACH (link, &client->watches.all)
		watch_end_soon(PL_LIST_ITEM(link, struct kv_watch, in_all), err);
}

/* What came on the stream is not what etcd says. On another one, of another member
 * if there is one, it may be: nothing is lost by trying, a few times. */
static void stream_bad(struct client *client, struct link_conn *conn,
                       const struct pl_err *err)
{
	struct watches *watches = &client->watches;

	link_move(conn, err);
	stream_drop(watches);
	if (++watches->bad < BAD_MAX)
		return;
	watches->bad = 0;
	end_all(client, err);
}

static enum pl_code send_create(struct watches *watches, const struct kv_watch *watch,
                                struct pl_err *err)
{
	struct codec_watch_create create = {
		.req = &watch->req,
		.from_revision = watch->next_revision,
		.progress_notify = true,
	};
	struct pl_buf body;
	size_t start = 0;
	enum pl_code code;

	pl_buf_init(&body, BODY_MAX);
	code = grpc_frame_begin(&body, &start);
	if (code == PL_OK)
		code = codec_watch_create(&create, &body, err);
	if (code == PL_OK) {
		grpc_frame_end(&body, start);
		code = grpc_call_send(watches->stream, &body, err);
	}
	pl_buf_done(&body);
	return code;
}

static void send_progress(struct watches *watches)
{
	struct pl_buf body;
	size_t start = 0;
	enum pl_code code;

	/* An answer that would not be believed is not asked for. */
	if (watches->stream == NULL || !watches->progress_sound)
		return;
	pl_buf_init(&body, BODY_MAX);
	code = grpc_frame_begin(&body, &start);
	if (code == PL_OK)
		code = codec_watch_progress(&body, NULL);
	if (code == PL_OK) {
		grpc_frame_end(&body, start);
		code = grpc_call_send(watches->stream, &body, NULL);
	}
	pl_buf_done(&body);
	(void)code; /* asked again by the timer */
}

/* -- progress ------------------------------------------------------------- */

/* Everything up to revision has been delivered to the watch, or is about to be. */
static void watch_advanced(struct kv_watch *watch, int64_t revision)
{
	if (watch->next_revision <= revision)
		watch->next_revision = revision + 1;
	if (watch->progress_target != 0 &&
	    watch->next_revision > watch->progress_target && !watch->ending) {
		watch->progress_target = 0;
		watch->progress_due = true;
		pl_timer_set(&watch->timer, 0);
	}
}

/* Does anybody wait? Whose read failed asks again. */
static bool progress_wanted(struct client *client)
{
	bool wanted = false;

	PL_LIST_EACH (link, &client->watches.all) {
		struct kv_watch *watch = PL_LIST_ITEM(link, struct kv_watch, in_all);

		wanted |= watch->progress_target != 0;
		if (!watch->target_missed || watch->ending)
			continue;
		wanted = true;
		watch->target_missed = watches_progress(client, watch, NULL) != PL_OK;
	}
	return wanted;
}

static void ask_version(struct client *client, struct link_conn *conn);

static void on_progress_timer(void *ctx)
{
	struct client *client = ctx;
	struct watches *watches = &client->watches;

	if (client->closing || !progress_wanted(client))
		return;
	if (watches->stream != NULL && !watches->version_asked)
		ask_version(client, watches->conn);
	send_progress(watches);
	pl_timer_set(&watches->progress_timer, pl_clock_ms() + PROGRESS_AGAIN_MS);
}

static void on_progress(struct client *client, int64_t revision)
{
	struct watches *watches = &client->watches;

	if (!watches->progress_sound)
		return;
	PL_LIST_EACH (link, &watches->all) {
		struct kv_watch *watch = PL_LIST_ITEM(link, struct kv_watch, in_all);

		if (watch->state == WATCH_ACTIVE && !watch->ending)
			watch_advanced(watch, revision);
	}
}

/* A linearizable read says how far the watch must have come. */
static void on_target(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct kv_watch *watch = ctx;
	struct client *client = watch->client;
	bool again = watch->target_again;

	watch->target_asked = false;
	watch->target_again = false;
	if (watch->ending || watch->ended || client->closing) {
		watch_free(watch);
		return;
	}
	watch_free(watch); /* not the last: it has not ended */
	if (err == NULL) {
		watch->progress_target = result->header.revision;
		watch_advanced(watch, watch->next_revision - 1);
		if (watch->progress_target != 0)
			send_progress(&client->watches);
		watch->target_missed =
			again && watches_progress(client, watch, NULL) != PL_OK;
	} else if (err->code == PL_DENIED || err->code == PL_AUTH) {
		watch_end_soon(watch, err);
		return;
	} else {
		watch->target_missed = true; /* the timer asks again */
	}
	if (!pl_timer_is_set(&client->watches.progress_timer))
		pl_timer_set(&client->watches.progress_timer,
		             pl_clock_ms() + PROGRESS_AGAIN_MS);
}

/* A read of one key at most, which whoever may watch may read. */
static struct kv_req probe_req(const struct kv_watch *watch)
{
	struct pl_span key = watch->req.keys.from;

	return (struct kv_req){
		.op = KV_GET,
		.get = {.keys = {.kind = KV_ONE,
	                         .from = key.len == 0 ? PL_SPAN_LIT("\0") : key},
	                .count_only = true},
	};
}

enum pl_code watches_progress(struct client *client, struct kv_watch *watch,
                              struct pl_err *err)
{
	struct kv_req req = probe_req(watch);
	enum pl_code code;

	/* The read under way may have been answered before this call. */
	watch->target_again = watch->target_asked;
	if (watch->target_asked)
		return PL_OK;
	code = calls_start(client, &req, CHECK_TIMEOUT_MS, on_target, watch, NULL, err);
	if (code == PL_OK) {
		watch->target_asked = true;
		watch->refs++;
	}
	return code;
}

/* -- is it still the same store? ------------------------------------------ */

void watches_rewound(struct client *client, const struct pl_err *err)
{
	end_all(client, err);
}

/* client_saw() does the judging; an answer that fails is asked for again. */
static void on_check(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct client *client = ctx;

	(void)result;
	client->watches.checking = false;
	if (err != NULL && !client->closing)
		stream_drop(&client->watches); /* comes up, and is checked, again */
}

/* The member that creates the watch is behind what we have seen: it lags, or
 * the store has gone back in time. A linearizable read tells which. */
static void check_rewound(struct client *client, const struct kv_watch *watch)
{
	struct kv_req req = probe_req(watch);

	if (!client->watches.checking &&
	    calls_start(client, &req, CHECK_TIMEOUT_MS, on_check, client, NULL, NULL) ==
	            PL_OK)
		client->watches.checking = true;
}

/* -- messages ------------------------------------------------------------- */

static void watch_requeue(struct kv_watch *watch)
{
	struct watches *watches = &watch->client->watches;

	pl_list_del(&watch->in_bucket);
	pl_list_del(&watch->at);
	watch->state = WATCH_WAITING;
	if (!watch->ending)
		pl_list_add_tail(&watches->waiting, &watch->at);
}

static void pump_later(struct client *client)
{
	struct watches *watches = &client->watches;

	if (!client->closing && !pl_timer_is_set(&watches->timer))
		pl_timer_set(&watches->timer,
		             pl_clock_ms() +
		                     client_backoff_ms(client, watches->failures++));
}

/* The server ended a watch, or refused to create it. */
static void on_refused(struct kv_watch *watch, const struct codec_watch *msg)
{
	struct client *client = watch->client;
	struct status status = status_of_reason(msg->cancel_reason);
	struct pl_err err = {0};

	pl_list_del(&watch->in_bucket);
	watch->state = WATCH_WAITING; /* there is nothing to cancel */
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
		if (status.next == STATUS_TOKEN)
			auth_stale(client, client->watches.token_generation);
		if (status.next == STATUS_GIVE_UP ||
		    (status.next == STATUS_TOKEN && client->auth.user == NULL)) {
			watch_end_soon(watch, &err);
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
		stream_bad(client, watches->conn, &err);
		return;
	}
	watch = watch_at(watches->creating.next);
	pl_list_del(&watch->at);
	watches->creating_count--;
	watch->state = WATCH_WAITING;
	if (watch->ending) {
		/* Called off meanwhile; what the list held may be the last of it. */
		watch_free(watch);
		if (!msg->canceled)
			send_cancel(watches, msg->watch_id);
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
		check_rewound(client, watch);
	watch_note(watch, (struct kv_watch_note){.what = KV_WATCH_READY,
	                                         .header = msg->header,
	                                         .revision = watch->next_revision - 1});
}

static void on_events(struct client *client, struct kv_watch *watch,
                      const struct codec_watch *msg)
{
	size_t skip = 0;
	int64_t last = msg->events[msg->count - 1].record.mod_revision;

	/* Seen before a reconnection, or before where the user wanted to begin. */
	while (skip < msg->count &&
	       msg->events[skip].record.mod_revision < watch->next_revision)
		skip++;
	if (skip == msg->count)
		return;
	client->watches.bad = 0;
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

	/* Some answers that cancel carry no revision. */
	if (msg->header.revision != 0)
		client_saw(client, &msg->header, false, 0);
	if (msg->created) {
		on_created(client, msg);
		watches_pump(client);
		return;
	}
	if (msg->watch_id < 0) {
		if (!msg->canceled)
			on_progress(client, msg->header.revision);
		return;
	}
	watch = watch_find(watches, msg->watch_id);
	if (watch == NULL || watch->ending)
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
		stream_bad(client, watches->conn, &err);
		return;
	}
	link_worked(watches->conn);
	on_decoded(client, &msg);
}

/* -- the stream ----------------------------------------------------------- */

/* All watches on it wait for the next one, the older ones first. */
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

static void on_stream_refused(struct client *client, struct link_conn *conn,
                              const struct grpc_end *end)
{
	struct pl_span text = pl_span_str(end->text);
	struct status status = status_of(end->status, text);
	struct pl_err err = {0};

	status_err(&status, false, text, &err);
	if (status.next == STATUS_TOKEN && client->auth.user != NULL)
		auth_stale(client, client->watches.token_generation);
	else if (status.next == STATUS_TOKEN || status.next == STATUS_GIVE_UP)
		end_all(client, &err);
	else
		link_move(conn, &err);
}

static void on_end(void *ctx, const struct grpc_end *end)
{
	struct client *client = ctx;
	struct watches *watches = &client->watches;
	struct link_conn *conn = watches->conn;

	stream_lost(client);
	if (pl_clock_ms() - watches->opened_ms >= STEADY_MS)
		watches->failures = 0;
	if (end->code == PL_LIMIT)
		end_all(client, end->err); /* it would come again, as large */
	else if (end->code == PL_PROTO)
		stream_bad(client, conn, end->err);
	else if (end->code == PL_OK && end->status != GRPC_OK)
		on_stream_refused(client, conn, end);
	link_release(conn);
	pump_later(client);
}

/* "3.4.25" or later, "3.5.8" or later, or anything newer. */
static bool version_is_sound(const char *version)
{
	unsigned major = 0, minor = 0, patch = 0;

	if (sscanf(version, "%u.%u.%u", &major, &minor, &patch) !=
	    3) // NOLINT(cert-err34-c)
		return false;
	if (major != 3)
		return major > 3;
	return minor > 5 || (minor == 5 && patch >= 8) || (minor == 4 && patch >= 25);
}

static void on_version(void *ctx, const struct link_conn *conn,
                       const struct grpc_end *end)
{
	struct client *client = ctx;
	struct watches *watches = &client->watches;
	struct kv_result result;
	struct pl_arena arena;

	/* Of another member than the stream's it says nothing. */
	if (client->closing || watches->stream == NULL || conn != watches->conn)
		return;
	watches->version_asked = false; /* not heard: again, when it matters */
	if (end->code != PL_OK || end->status != GRPC_OK)
		return;
	pl_arena_init(&arena, 0, 0);
	if (codec_decode(KV_STATUS, pl_span(NULL, 0), end->message, &arena, &result,
	                 NULL) == PL_OK) {
		watches->version_asked = true;
		watches->progress_sound = version_is_sound(result.status.version);
	}
	pl_arena_done(&arena);
}

static void ask_version(struct client *client, struct link_conn *conn)
{
	struct watches *watches = &client->watches;
	struct kv_req req = {.op = KV_STATUS};
	struct pl_buf body;
	size_t start = 0;

	pl_buf_init(&body, BODY_MAX);
	if (grpc_frame_begin(&body, &start) == PL_OK &&
	    codec_encode(&req, &body, NULL, NULL) == PL_OK) {
		grpc_frame_end(&body, start);
		/* Without the answer progress is only believed when it is timed. */
		watches->version_asked = unary_start(client, conn, codec_path(KV_STATUS),
		                                     &body, on_version, client) == PL_OK;
	}
	pl_buf_done(&body);
}

static enum pl_code open_stream(struct client *client, struct link_conn *conn)
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
	link_hold(conn);
	ask_version(client, conn);
	return PL_OK;
}

void watches_pump(struct client *client)
{
	struct watches *watches = &client->watches;
	struct link_conn *conn = link_up(&client->watch_link);
	struct pl_err err = {0};

	if (client->closing || pl_list_empty(&watches->waiting) ||
	    pl_timer_is_set(&watches->timer))
		return;
	if (!auth_ready(client)) {
		if (client->auth.state == AUTH_REFUSED)
			end_all(client, &client->auth.err);
		return;
	}
	if (watches->stream == NULL && conn == NULL)
		return; /* comes again when the link is up */
	if (watches->stream == NULL && open_stream(client, conn) != PL_OK) {
		pump_later(client);
		return;
	}
	while (!pl_list_empty(&watches->waiting) &&
	       watches->creating_count < CREATING_MAX) {
		struct kv_watch *watch = watch_at(watches->waiting.next);
		enum pl_code code = send_create(watches, watch, &err);

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

static void on_pump_timer(void *ctx)
{
	watches_pump(ctx);
}

/* -- the interface -------------------------------------------------------- */

static void on_watch_timer(void *ctx)
{
	struct kv_watch *watch = ctx;

	if (watch->ending) {
		watch_deliver_end(watch);
		return;
	}
	if (!watch->progress_due)
		return;
	watch->progress_due = false;
	watch_note(watch, (struct kv_watch_note){
				  .what = KV_WATCH_PROGRESS,
				  .header = {.cluster_id = watch->client->cluster_id,
	                                     .revision = watch->next_revision - 1},
				  .revision = watch->next_revision - 1});
}

/* The keys stand behind the struct, in the same block. */
static struct kv_watch *watch_new(struct client *client, const struct kv_watch_req *req)
{
	size_t from = req->keys.from.len, to = req->keys.to.len;
	struct kv_watch *watch = pl_calloc(1, sizeof *watch + from + to);

	if (watch == NULL)
		return NULL;
	if (pl_timer_init(&watch->timer, &client->timers.timers, on_watch_timer, watch) !=
	    PL_OK) {
		free(watch);
		return NULL;
	}
	watch->req = *req;
	watch->req.keys.from = pl_span(watch->bytes, from);
	watch->req.keys.to = pl_span(watch->bytes + from, to);
	if (from != 0)
		memcpy(watch->bytes, req->keys.from.at, from);
	if (to != 0)
		memcpy(watch->bytes + from, req->keys.to.at, to);
	watch->client = client;
	watch->refs = 1;
	watch->next_revision = req->from_revision;
	pl_list_init(&watch->at);
	pl_list_init(&watch->in_all);
	pl_list_init(&watch->in_bucket);
	return watch;
}

enum pl_code watches_start(struct client *client, const struct kv_watch_req *req,
                           kv_watch_fn *fn, void *ctx, struct kv_watch **out,
                           struct pl_err *err)
{
	struct watches *watches = &client->watches;
	struct kv_watch *watch;

	if (req->from_revision < 0)
		return pl_err_set(err, PL_INVALID, "watch: from_revision is negative");
	if (req->keys.from.len > KEYS_MAX || req->keys.to.len > KEYS_MAX)
		return pl_err_set(err, PL_LIMIT, "watch: key of more than %d bytes",
		                  KEYS_MAX);
	watch = watch_new(client, req);
	if (watch == NULL)
		return pl_err_set(err, PL_NOMEM, "watch");
	watch->fn = fn;
	watch->ctx = ctx;
	pl_list_add_tail(&watches->all, &watch->in_all);
	pl_list_add_tail(&watches->waiting, &watch->at);
	watches_pump(client);
	if (out != NULL)
		*out = watch;
	return PL_OK;
}

void watches_cancel(struct client *client, struct kv_watch *watch)
{
	struct pl_err err = {0};

	PL_ASSERT(watch->client == client);
	pl_err_set(&err, PL_CANCELED, "watch");
	watch_end_soon(watch, &err);
}

void watches_cancel_all(struct client *client)
{
	struct watches *watches = &client->watches;
	struct pl_err err = {0};

	pl_err_set(&err, PL_CANCELED, "watch: the client closes");
	pl_timer_stop(&watches->timer);
	stream_drop(watches);
	end_all(client, &err);
}

enum pl_code watches_init(struct client *client)
{
	struct watches *watches = &client->watches;
	enum pl_code code;

	pl_list_init(&watches->all);
	pl_list_init(&watches->waiting);
	pl_list_init(&watches->creating);
	for (unsigned i = 0; i < WATCH_BUCKETS; i++)
		pl_list_init(&watches->bucket[i]);
	pl_arena_init(&watches->arena, ARENA_CHUNK, ARENA_MAX);
	code = pl_timer_init(&watches->timer, &client->timers.timers, on_pump_timer,
	                     client);
	if (code != PL_OK)
		return code;
	return pl_timer_init(&watches->progress_timer, &client->timers.timers,
	                     on_progress_timer, client);
}

void watches_done(struct client *client)
{
	struct watches *watches = &client->watches;

	PL_ASSERT(pl_list_empty(&watches->all));
	pl_timer_done(&watches->timer);
	pl_timer_done(&watches->progress_timer);
	pl_arena_done(&watches->arena);
}
