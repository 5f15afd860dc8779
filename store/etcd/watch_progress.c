/*
 * How far a watch has come, and whether the store was rewound.
 *
 * Timed progress reports (progress_notify) are on for every watch. They move the revision
 * from which a quiet watch resumes, so that a compaction does not overtake it.
 *
 * Requested progress: etcd before 3.4.25 and 3.5.8 answers ahead of events that it has
 * not sent yet. These members' answers are not believed; an event or a timed report,
 * which come in order, has to show the same.
 */
#include <string.h>

#include "store/base/clock.h"
#include "store/base/num.h"
#include "store/etcd/codec.h"
#include "store/etcd/frame.h"
#include "store/etcd/watches.h"

enum { PROGRESS_AGAIN_MS = 100, CHECK_TIMEOUT_MS = 10000 };

/* -- the member's version -------------------------------------------------- */

/* Parses the next number of "3.4.23" and the dot after it; the rest is ignored. */
static bool version_part_parse(const char **version, uint64_t *part)
{
	size_t len = strspn(*version, "0123456789");

	if (pl_num_u64(pl_span(*version, len), part, NULL) != PL_OK)
		return false;
	*version += len;
	*version += **version == '.';
	return true;
}

/* Whether progress answers are reliable: "3.4.25" or later, "3.5.8" or later, or newer.
 */
static bool version_is_sound(const char *version)
{
	uint64_t major, minor, patch;

	if (!version_part_parse(&version, &major) ||
	    !version_part_parse(&version, &minor) ||
	    !version_part_parse(&version, &patch))
		return false;
	if (major != 3)
		return major > 3;
	return minor > 5 || (minor == 5 && patch >= 8) || (minor == 4 && patch >= 25);
}

static void on_version(void *ctx, const struct channel_conn *conn,
                       const struct grpc_end *end)
{
	struct client *client = ctx;
	struct watches *watches = &client->watches;
	struct kv_result result;
	struct pl_arena arena;

	/* The version of another member than the stream's says nothing. */
	if (client->state != CLIENT_OPEN || watches->stream == NULL ||
	    conn != watches->conn)
		return;
	watches->version_asked = false; /* not known: asked again when it is needed */
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

void watches_ask_version(struct client *client, struct channel_conn *conn)
{
	struct watches *watches = &client->watches;
	struct kv_req req = {.op = KV_STATUS};
	struct frame frame;

	frame_begin(&frame);
	if (frame.code == PL_OK)
		frame.code = codec_encode(&req, &frame.body, NULL, NULL);
	/* Without the version only timed progress is believed. */
	watches->version_asked = frame_ask(&frame, client, conn, codec_path(KV_STATUS),
	                                   on_version, client) == PL_OK;
}

/* -- progress ---------------------------------------------------------------- */

/* Everything up to revision has been delivered to the watch, or is about to be. */
void watch_advanced(struct kv_watch *watch, int64_t revision)
{
	if (watch->next_revision <= revision)
		watch->next_revision = revision + 1;
	if (watch->progress_target != 0 &&
	    watch->next_revision > watch->progress_target && watch->life == WATCH_OPEN) {
		watch->progress_target = 0;
		watch->progress_due = true;
		pl_timer_set(&watch->timer, 0);
	}
}

/* Whether any watch waits for progress. Reads that failed are repeated. */
static bool progress_wanted(struct client *client)
{
	bool wanted = false;

	PL_LIST_EACH (link, &client->watches.all) {
		struct kv_watch *watch = PL_LIST_ITEM(link, struct kv_watch, in_all);

		wanted |= watch->progress_target != 0;
		if (!watch->target_missed || watch->life != WATCH_OPEN)
			continue;
		wanted = true;
		watch->target_missed = watches_progress(client, watch, NULL) != PL_OK;
	}
	return wanted;
}

void watches_on_progress_timer(void *ctx)
{
	struct client *client = ctx;
	struct watches *watches = &client->watches;

	if (client->state != CLIENT_OPEN || !progress_wanted(client))
		return;
	if (watches->stream != NULL && !watches->version_asked)
		watches_ask_version(client, watches->conn);
	watches_send_progress(watches);
	pl_timer_set(&watches->progress_timer, pl_clock_ms() + PROGRESS_AGAIN_MS);
}

void watches_on_progress(struct client *client, int64_t revision)
{
	struct watches *watches = &client->watches;

	if (!watches->progress_sound)
		return;
	PL_LIST_EACH (link, &watches->all) {
		struct kv_watch *watch = PL_LIST_ITEM(link, struct kv_watch, in_all);

		if (watch->state == WATCH_ACTIVE && watch->life == WATCH_OPEN)
			watch_advanced(watch, revision);
	}
}

void watch_progress_to(struct kv_watch *watch, int64_t revision)
{
	struct watches *watches = &watch->client->watches;

	if (revision > watch->progress_target)
		watch->progress_target = revision;
	watch_advanced(watch, watch->next_revision - 1);
	if (watch->progress_target == 0 || pl_timer_is_set(&watches->progress_timer))
		return; /* the timer requests progress once for all watches */
	watches_send_progress(watches);
	pl_timer_set(&watches->progress_timer, pl_clock_ms() + PROGRESS_AGAIN_MS);
}

/* A linearizable read says how far the watch must come. */
static void on_target(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct kv_watch *watch = ctx;
	struct client *client = watch->client;
	bool again = watch->target == WATCH_TARGET_REPEAT;

	PL_ASSERT(watch->target != WATCH_TARGET_NONE);
	watch->target = WATCH_TARGET_NONE;
	if (watch->life != WATCH_OPEN || client->state != CLIENT_OPEN) {
		watch_free(watch);
		return;
	}
	watch_free(watch); /* not the last reference: the watch has not ended */
	if (err == NULL) {
		watch_progress_to(watch, result->header.revision);
		watch->target_missed =
			again && watches_progress(client, watch, NULL) != PL_OK;
	} else if (err->code == PL_DENIED || err->code == PL_AUTH) {
		watch_end_soon(watch, err);
		return;
	} else {
		watch->target_missed = true; /* the timer repeats the read */
	}
	if (!pl_timer_is_set(&client->watches.progress_timer))
		pl_timer_set(&client->watches.progress_timer,
		             pl_clock_ms() + PROGRESS_AGAIN_MS);
}

/* A read of at most one key, which a user that may watch may read. */
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

	/* The read under way may have been answered before this call, so it is repeated.
	 */
	if (watch->target != WATCH_TARGET_NONE) {
		watch->target = WATCH_TARGET_REPEAT;
		return PL_OK;
	}
	code = calls_start(client, &req, CHECK_TIMEOUT_MS, on_target, watch, NULL, err);
	if (code == PL_OK) {
		watch->target = WATCH_TARGET_ASKED;
		watch->refs++;
	}
	return code;
}

/* -- a rewound store ------------------------------------------------------- */

void watches_rewound(struct client *client, const struct pl_err *err)
{
	watches_end_all(client, err);
}

/* client_note_header() compares the revisions; a read that failed is repeated. */
static void on_check(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct client *client = ctx;

	(void)result;
	client->watches.checking = false;
	if (err != NULL && client->state == CLIENT_OPEN)
		watches_drop_stream(
			&client->watches); /* the next stream is checked again */
}

/* The member that created the watch is behind what the client has seen: it lags, or the
 * store was rewound. A linearizable read shows which. */
void watches_check_rewound(struct client *client, const struct kv_watch *watch)
{
	struct kv_req req = probe_req(watch);

	if (!client->watches.checking &&
	    calls_start(client, &req, CHECK_TIMEOUT_MS, on_check, client, NULL, NULL) ==
	            PL_OK)
		client->watches.checking = true;
}
