/* Streams of watches and of keep-alives. */
#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/serve/serve_int.h"

enum { PROGRESS_NOTIFY_MS = 5000 };

/* -- watches -------------------------------------------------------------------- */

/* NEW --READY--> OPEN <--progress of the timer--> NOTIFYING */
enum serve_watch_state {
	SERVE_WATCH_NEW, /* the client has not been told that it is created */
	SERVE_WATCH_OPEN,
	SERVE_WATCH_NOTIFYING, /* a progress note of the timer is on its way */
};

struct serve_watch {
	struct pl_list link;
	struct serve_call *call;
	struct kv_watch *watch;
	int64_t id;
	enum serve_watch_state state;
	bool progress_notify; /* the client wants progress */
	bool dropped;         /* the end was asked for */
};

static void send_watch_answer(struct serve_call *call,
                              const struct message_watch_answer *answer)
{
	struct serve *serve = call->conn->serve;

	if (call->stream != NULL)
		call_send(call, message_watch_answer(answer, &serve->arena, &serve->out));
}

static struct serve_watch *find_watch(struct serve_call *call, int64_t id)
{
	PL_LIST_EACH (link, &call->watches) {
		struct serve_watch *watch = PL_LIST_ITEM(link, struct serve_watch, link);

		if (watch->id == id)
			return watch;
	}
	return NULL;
}

static void reason_of(const struct pl_err *err, char *out, size_t size)
{
	const char *words;
	enum grpc_status status = unary_status(err, &words);

	(void)snprintf(out, size, "rpc error: code = %s desc = %s",
	               status == GRPC_OUT_OF_RANGE ? "OutOfRange" : "InvalidArgument",
	               words);
}

static void on_end(struct serve_watch *watch, const struct kv_watch_note *note)
{
	struct serve_call *call = watch->call;
	char reason[300] = "";
	struct message_watch_answer answer = {.header = note->header,
	                                      .id = watch->id,
	                                      .created = watch->state == SERVE_WATCH_NEW,
	                                      .canceled = true,
	                                      .compact_revision = note->compact_revision,
	                                      .reason = reason};

	if (note->err != NULL && !watch->dropped)
		reason_of(note->err, reason, sizeof reason);
	send_watch_answer(call, &answer);
	pl_list_del(&watch->link);
	call->watch_count--;
	call->pending--;
	free(watch);
	call_free_when_done(call);
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct serve_watch *watch = ctx;
	struct message_watch_answer answer = {.header = note->header, .id = watch->id};

	switch (note->what) {
	case KV_WATCH_READY:
		watch->call->conn->last = note->header;
		answer.created = true;
		if (watch->state == SERVE_WATCH_NEW)
			watch->state = SERVE_WATCH_OPEN;
		send_watch_answer(watch->call, &answer);
		return;
	case KV_WATCH_EVENTS:
		answer.header.revision = note->revision;
		answer.events = note->events;
		answer.count = note->count;
		send_watch_answer(watch->call, &answer);
		return;
	case KV_WATCH_PROGRESS:
		answer.header.revision = note->revision;
		if (watch->state != SERVE_WATCH_NOTIFYING)
			answer.id = -1;
		watch->state = SERVE_WATCH_OPEN;
		send_watch_answer(watch->call, &answer);
		return;
	case KV_WATCH_END:
		on_end(watch, note);
		return;
	}
	PL_UNREACHABLE("note of a watch");
}

static void refuse_watch(struct serve_call *call, int64_t id, const char *reason)
{
	const struct message_watch_answer answer = {.header = call->conn->last,
	                                            .id = id,
	                                            .created = true,
	                                            .canceled = true,
	                                            .reason = reason};

	send_watch_answer(call, &answer);
}

static void create_watch(struct serve_call *call, const struct message_watch *asked)
{
	int64_t id = asked->id != 0 ? asked->id : ++call->last_id;
	struct serve_watch *watch;
	struct pl_err err = {0};
	char reason[300];

	if (id > call->last_id)
		call->last_id = id;
	if (find_watch(call, id) != NULL) {
		refuse_watch(call, -1, "duplicate watch ID provided on the WatchStream");
		return;
	}
	watch = call->watch_count == SERVE_WATCHES_MAX ? NULL
	                                               : pl_calloc(1, sizeof *watch);
	if (watch == NULL) {
		refuse_watch(call, -1, "etcdserver: too many requests");
		return;
	}
	watch->call = call;
	watch->id = id;
	watch->progress_notify = asked->progress_notify;
	if (kv_watch(call->conn->kv, &asked->create, on_note, watch, &watch->watch,
	             &err) != PL_OK) {
		reason_of(&err, reason, sizeof reason);
		free(watch);
		refuse_watch(call, -1, reason);
		return;
	}
	pl_list_add_tail(&call->watches, &watch->link);
	call->watch_count++;
	call->pending++;
}

static void drop_watch(struct serve_watch *watch)
{
	if (watch->dropped)
		return;
	watch->dropped = true;
	kv_unwatch(watch->call->conn->kv, watch->watch);
}

void watch_drop(struct serve_call *call)
{
	pl_timer_done(&call->progress_notify);
	PL_LIST_EACH (link, &call->watches)
		drop_watch(PL_LIST_ITEM(link, struct serve_watch, link));
}

/* Progress goes to quiet watches, too: clients resume from there after a lost
 * connection. */
static void on_progress_timer(void *ctx)
{
	struct serve_call *call = ctx;
	struct kv *kv = call->conn->kv;

	PL_LIST_EACH (link, &call->watches) {
		struct serve_watch *watch = PL_LIST_ITEM(link, struct serve_watch, link);
		struct pl_err err = {0};

		if (watch->state == SERVE_WATCH_OPEN && watch->progress_notify &&
		    !watch->dropped && kv_progress(kv, watch->watch, 0, &err) == PL_OK)
			watch->state = SERVE_WATCH_NOTIFYING;
	}
	pl_timer_set(&call->progress_notify, kv_now_ms(kv) + PROGRESS_NOTIFY_MS);
}

enum pl_code watch_begin(struct serve_call *call)
{
	struct kv *kv = call->conn->kv;
	enum pl_code code = pl_timer_init(&call->progress_notify, kv_timers(kv),
	                                  on_progress_timer, call);

	if (code == PL_OK)
		pl_timer_set(&call->progress_notify, kv_now_ms(kv) + PROGRESS_NOTIFY_MS);
	return code;
}

/* One watch answers for all of the stream. */
static void ask_progress(struct serve_call *call)
{
	PL_LIST_EACH (link, &call->watches) {
		struct serve_watch *watch = PL_LIST_ITEM(link, struct serve_watch, link);
		struct pl_err err = {0};

		if (watch->state == SERVE_WATCH_OPEN && !watch->dropped &&
		    kv_progress(call->conn->kv, watch->watch, 0, &err) == PL_OK)
			return;
	}
}

void watch_message(struct serve_call *call, struct pl_span message)
{
	struct serve *serve = call->conn->serve;
	struct serve_watch *watch;
	struct message_watch asked;
	struct pl_err err = {0};

	pl_arena_reset(&serve->arena);
	if (message_watch(message, &serve->arena, &asked, &err) != PL_OK) {
		grpc_stream_end(call->stream, GRPC_INVALID_ARGUMENT, err.msg);
		return;
	}
	switch (asked.kind) {
	case MESSAGE_CREATE:
		create_watch(call, &asked);
		return;
	case MESSAGE_CANCEL:
		watch = find_watch(call, asked.id);
		if (watch != NULL)
			drop_watch(watch);
		return;
	case MESSAGE_PROGRESS:
		ask_progress(call);
		return;
	}
	PL_UNREACHABLE("what a watch request asks");
}

/* -- keep-alives ------------------------------------------------------------------ */

struct serve_keep {
	struct serve_call *call;
	int64_t lease;
};

static void send_keep_answer(struct serve_call *call, const struct kv_header *header,
                             int64_t lease, int64_t ttl_s)
{
	struct serve *serve = call->conn->serve;

	if (call->stream != NULL)
		call_send(call, message_keep_answer(header, lease, ttl_s, &serve->out));
}

static void on_kept(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct serve_keep *keep = ctx;
	struct serve_call *call = keep->call;

	if (result != NULL)
		send_keep_answer(call, &result->header, keep->lease, result->lease.ttl_s);
	else if (err->code == PL_NOLEASE && call->conn->last.revision != 0)
		send_keep_answer(call, &call->conn->last, keep->lease, 0);
	free(keep);
	call->pending--;
	call_free_when_done(call);
}

void keep_message(struct serve_call *call, struct pl_span message)
{
	struct serve *serve = call->conn->serve;
	struct kv_req req = {.op = KV_LEASE_KEEP};
	struct pl_err err = {0};
	struct serve_keep *keep;

	pl_arena_reset(&serve->arena);
	if (message_keep(message, &serve->arena, &req.lease.id, &err) != PL_OK) {
		grpc_stream_end(call->stream, GRPC_INVALID_ARGUMENT, err.msg);
		return;
	}
	keep = pl_malloc(sizeof *keep);
	if (keep == NULL)
		return; /* the client asks again */
	*keep = (struct serve_keep){call, req.lease.id};
	if (kv_start(call->conn->kv, &req, SERVE_TIMEOUT_MS, on_kept, keep, NULL, &err) !=
	    PL_OK) {
		free(keep);
		return;
	}
	call->pending++;
}
