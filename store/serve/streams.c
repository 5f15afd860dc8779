/* Watches and keep-alives: many of them on one stream. */
#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/serve/serve_int.h"

enum { REPORT_MS = 5000 };

/* -- watches -------------------------------------------------------------------- */

struct serve_watch {
	struct pl_list link;
	struct serve_call *call;
	struct kv_watch *watch;
	int64_t id;
	bool created; /* and told so */
	bool reports; /* of progress are wanted */
	bool timed;   /* one is on its way */
	bool dropped; /* its end was asked for */
};

static void tell(struct serve_call *call, const struct message_told *told)
{
	struct serve *serve = call->conn->serve;

	if (call->stream != NULL)
		call_send(call, message_told(told, &serve->arena, &serve->out));
}

static struct serve_watch *find(struct serve_call *call, int64_t id)
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
	struct message_told told = {.header = note->header,
	                            .id = watch->id,
	                            .created = !watch->created,
	                            .canceled = true,
	                            .compact_revision = note->compact_revision,
	                            .reason = reason};

	if (note->err != NULL && !watch->dropped)
		reason_of(note->err, reason, sizeof reason);
	tell(call, &told);
	pl_list_del(&watch->link);
	call->watch_count--;
	call->pending--;
	free(watch);
	call_tidy(call);
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct serve_watch *watch = ctx;
	struct message_told told = {.header = note->header, .id = watch->id};

	switch (note->what) {
	case KV_WATCH_READY:
		watch->call->conn->last = note->header;
		told.created = true;
		watch->created = true;
		tell(watch->call, &told);
		return;
	case KV_WATCH_EVENTS:
		told.header.revision = note->revision;
		told.events = note->events;
		told.count = note->count;
		tell(watch->call, &told);
		return;
	case KV_WATCH_PROGRESS:
		told.header.revision = note->revision;
		if (!watch->timed)
			told.id = -1;
		watch->timed = false;
		tell(watch->call, &told);
		return;
	case KV_WATCH_END:
		on_end(watch, note);
		return;
	}
	PL_UNREACHABLE("note of a watch");
}

static void refuse(struct serve_call *call, int64_t id, const char *reason)
{
	const struct message_told told = {.header = call->conn->last,
	                                  .id = id,
	                                  .created = true,
	                                  .canceled = true,
	                                  .reason = reason};

	tell(call, &told);
}

static void create(struct serve_call *call, const struct message_watch *asked)
{
	int64_t id = asked->id != 0 ? asked->id : ++call->last_id;
	struct serve_watch *watch;
	struct pl_err err = {0};
	char reason[300];

	if (id > call->last_id)
		call->last_id = id;
	if (find(call, id) != NULL) {
		refuse(call, -1, "duplicate watch ID provided on the WatchStream");
		return;
	}
	watch = call->watch_count == SERVE_WATCHES_MAX ? NULL
	                                               : pl_calloc(1, sizeof *watch);
	if (watch == NULL) {
		refuse(call, -1, "etcdserver: too many requests");
		return;
	}
	watch->call = call;
	watch->id = id;
	watch->reports = asked->reports;
	if (kv_watch(call->conn->kv, &asked->create, on_note, watch, &watch->watch,
	             &err) != PL_OK) {
		reason_of(&err, reason, sizeof reason);
		free(watch);
		refuse(call, -1, reason);
		return;
	}
	pl_list_add_tail(&call->watches, &watch->link);
	call->watch_count++;
	call->pending++;
}

static void drop(struct serve_watch *watch)
{
	if (watch->dropped)
		return;
	watch->dropped = true;
	kv_unwatch(watch->call->conn->kv, watch->watch);
}

void watch_drop(struct serve_call *call)
{
	pl_timer_done(&call->reports);
	PL_LIST_EACH (link, &call->watches)
		drop(PL_LIST_ITEM(link, struct serve_watch, link));
}

/* Of quiet watches too: from there they go on when the connection is lost. */
static void report(void *ctx)
{
	struct serve_call *call = ctx;
	struct kv *kv = call->conn->kv;

	PL_LIST_EACH (link, &call->watches) {
		struct serve_watch *watch = PL_LIST_ITEM(link, struct serve_watch, link);
		struct pl_err err = {0};

		if (watch->created && watch->reports && !watch->dropped && !watch->timed)
			watch->timed = kv_progress(kv, watch->watch, 0, &err) == PL_OK;
	}
	pl_timer_set(&call->reports, kv_now_ms(kv) + REPORT_MS);
}

enum pl_code watch_begin(struct serve_call *call)
{
	struct kv *kv = call->conn->kv;
	enum pl_code code = pl_timer_init(&call->reports, kv_timers(kv), report, call);

	if (code == PL_OK)
		pl_timer_set(&call->reports, kv_now_ms(kv) + REPORT_MS);
	return code;
}

/* One of them answers for all. */
static void progress(struct serve_call *call)
{
	PL_LIST_EACH (link, &call->watches) {
		struct serve_watch *watch = PL_LIST_ITEM(link, struct serve_watch, link);
		struct pl_err err = {0};

		if (watch->created && !watch->dropped && !watch->timed &&
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
	switch (asked.asks) {
	case MESSAGE_CREATE:
		create(call, &asked);
		return;
	case MESSAGE_CANCEL:
		watch = find(call, asked.id);
		if (watch != NULL)
			drop(watch);
		return;
	case MESSAGE_PROGRESS:
		progress(call);
		return;
	}
	PL_UNREACHABLE("what a watch request asks");
}

/* -- keep-alives ------------------------------------------------------------------ */

struct keep {
	struct serve_call *call;
	int64_t lease;
};

static void kept(struct serve_call *call, const struct kv_header *header, int64_t lease,
                 int64_t ttl_s)
{
	struct serve *serve = call->conn->serve;

	if (call->stream != NULL)
		call_send(call, message_kept(header, lease, ttl_s, &serve->out));
}

static void on_kept(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct keep *keep = ctx;
	struct serve_call *call = keep->call;

	if (result != NULL)
		kept(call, &result->header, keep->lease, result->lease.ttl_s);
	else if (err->code == PL_NOLEASE && call->conn->last.revision != 0)
		kept(call, &call->conn->last, keep->lease, 0);
	free(keep);
	call->pending--;
	call_tidy(call);
}

void keep_message(struct serve_call *call, struct pl_span message)
{
	struct serve *serve = call->conn->serve;
	struct kv_req req = {.op = KV_LEASE_KEEP};
	struct pl_err err = {0};
	struct keep *keep;

	pl_arena_reset(&serve->arena);
	if (message_keep(message, &serve->arena, &req.lease.id, &err) != PL_OK) {
		grpc_stream_end(call->stream, GRPC_INVALID_ARGUMENT, err.msg);
		return;
	}
	keep = pl_malloc(sizeof *keep);
	if (keep == NULL)
		return; /* it is asked again */
	*keep = (struct keep){call, req.lease.id};
	if (kv_start(call->conn->kv, &req, SERVE_TIMEOUT_MS, on_kept, keep, NULL, &err) !=
	    PL_OK) {
		free(keep);
		return;
	}
	call->pending++;
}
