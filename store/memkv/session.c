/* The kv interface of one client: calls, waiters, close. */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/check.h"
#include "store/kv/keys.h"
#include "store/memkv/impl.h"

enum { CALL_ARENA_CHUNK = 1024, CALL_BYTES = 64 };

static struct mem_session *session_of(struct kv *kv)
{
	return PL_CONTAINER_OF(kv, struct mem_session, kv);
}

static struct mem_call *call_new(struct memkv *mem)
{
	struct mem_call *call;

	if (mem->idle_count > 0)
		return mem->idle[--mem->idle_count];
	call = pl_malloc(sizeof *call);
	if (call == NULL)
		return NULL;
	*call = (struct mem_call){.delivery = {.kind = DELIVERY_CALL}};
	pl_list_init(&call->delivery.link);
	pl_list_init(&call->link);
	pl_arena_init(&call->arena, CALL_ARENA_CHUNK, 0);
	return call;
}

/* Keeps a few calls for reuse, with the first chunk of their arena. */
static void call_recycle(struct memkv *mem, struct mem_call *call)
{
	for (struct mem_hold *hold = call->holds; hold != NULL; hold = hold->next)
		for (size_t i = 0; i < hold->count; i++)
			mem_version_unref(hold->version[i]);
	call->holds = NULL;
	call->err.code = PL_OK;
	if (mem->idle_count == MEM_CALLS_KEPT) {
		call_free(mem, call);
		return;
	}
	pl_arena_reset(&call->arena);
	mem->idle[mem->idle_count++] = call;
}

void call_free(struct memkv *mem, struct mem_call *call)
{
	(void)mem;
	pl_arena_done(&call->arena);
	free(call);
}

static enum pl_code session_start(struct kv *kv, const struct kv_req *req,
                                  uint64_t timeout_ms, kv_done_fn *done, void *ctx,
                                  struct kv_call **out, struct pl_err *err)
{
	struct mem_session *session = session_of(kv);
	struct memkv *mem = session->mem;
	size_t bytes;
	struct mem_call *call;
	enum pl_code code;

	(void)timeout_ms; /* answers are due at once */
	if (session->closing)
		return pl_err_set(err, PL_CANCELED, "the session is closed");
	code = kv_check_req(req, err);
	if (code == PL_OK)
		code = check_limits(mem, req, err);
	if (code != PL_OK)
		return code;
	bytes = kv_req_bytes(req) + CALL_BYTES;
	if (session->bytes != 0 && session->bytes + bytes > mem->opts.room_bytes)
		return pl_err_set(err, PL_BUSY, "%zu bytes wait for their answers",
		                  session->bytes);
	call = call_new(mem);
	if (call == NULL)
		return pl_err_set(err, PL_NOMEM, "%s", kv_op_name(req->op));
	call->writes = kv_req_writes(req);
	code = exec_req(mem, call, req);
	if (code != PL_OK) {
		call_recycle(mem, call);
		return pl_err_set(err, code, "%s", kv_op_name(req->op));
	}
	call->session = session;
	call->done = done;
	call->ctx = ctx;
	call->bytes = bytes;
	call->result.sent_ms = mem_now(mem);
	session->bytes += bytes;
	pl_list_add_tail(&session->calls, &call->link);
	mem_queue_add(mem, &call->delivery);
	if (out != NULL)
		*out = (struct kv_call *)(void *)call;
	return PL_OK;
}

void call_deliver(struct mem_call *call)
{
	struct mem_session *session = call->session;
	struct memkv *mem = session->mem;
	bool failed = call->err.code != PL_OK;

	pl_list_del(&call->link);
	session->bytes -= call->bytes;
	if (!pl_list_empty(&session->waiters) && pl_list_empty(&session->room.link))
		mem_queue_add(mem, &session->room);
	call->done(call->ctx, failed ? NULL : &call->result, failed ? &call->err : NULL);
	call_recycle(mem, call);
}

static void call_lose(struct mem_call *call, enum pl_code read_code, const char *why)
{
	(void)pl_err_set(&call->err, read_code, "%s: %s", kv_op_name(call->result.op),
	                 why);
	if (call->writes)
		(void)pl_err_unknown(&call->err);
}

static void session_cancel(struct kv *kv, struct kv_call *call)
{
	(void)kv;
	call_lose((struct mem_call *)(void *)call, PL_CANCELED, "canceled");
}

static enum pl_code session_watch(struct kv *kv, const struct kv_watch_req *req,
                                  kv_watch_fn *fn, void *ctx, struct kv_watch **out,
                                  struct pl_err *err)
{
	struct mem_session *session = session_of(kv);
	struct mem_watch *watch;
	enum pl_code code;

	if (session->closing)
		return pl_err_set(err, PL_CANCELED, "the session is closed");
	code = kv_check_watch(req, err);
	if (code == PL_OK)
		code = watch_start(session, req, fn, ctx, &watch, err);
	if (code == PL_OK && out != NULL)
		*out = (struct kv_watch *)(void *)watch;
	return code;
}

static void session_unwatch(struct kv *kv, struct kv_watch *watch)
{
	(void)kv;
	watch_end((struct mem_watch *)(void *)watch, PL_CANCELED, "canceled");
}

/* The watch has passed any revision that a client can have seen by now. */
static enum pl_code session_progress(struct kv *kv, struct kv_watch *watch,
                                     int64_t revision, struct pl_err *err)
{
	(void)kv;
	(void)revision;
	return watch_progress((struct mem_watch *)(void *)watch, err);
}

static struct kv_limits session_limits(struct kv *kv)
{
	const struct memkv *mem = session_of(kv)->mem;

	return (struct kv_limits){.txn_ops = mem->opts.txn_ops_max,
	                          .request_bytes = mem->opts.request_bytes_max,
	                          .progress = !mem->opts.no_progress};
}

static size_t session_room(struct kv *kv)
{
	const struct mem_session *session = session_of(kv);
	size_t room = session->mem->opts.room_bytes;

	return session->bytes < room ? room - session->bytes : 0;
}

/* Half of the room must be free, so that waiters do not wake up at every answer. */
static bool has_room(const struct mem_session *session)
{
	return session->bytes <= session->mem->opts.room_bytes / 2;
}

static void session_when_room(struct kv *kv, struct kv_waiter *waiter)
{
	struct mem_session *session = session_of(kv);

	pl_list_del(&waiter->link);
	pl_list_add_tail(&session->waiters, &waiter->link);
	if ((has_room(session) || session->closing) && pl_list_empty(&session->room.link))
		mem_queue_add(session->mem, &session->room);
}

/* Wakes one waiter in a delivery, because what it starts may use the room up again. */
void session_deliver_room(struct mem_session *session)
{
	struct kv_waiter *waiter;

	if (pl_list_empty(&session->waiters) || (!has_room(session) && !session->closing))
		return;
	waiter = PL_LIST_ITEM(session->waiters.next, struct kv_waiter, link);
	pl_list_del(&waiter->link);
	if (!pl_list_empty(&session->waiters))
		mem_queue_add_first(session->mem, &session->room);
	waiter->fn(waiter->ctx);
}

static uint64_t session_now_ms(struct kv *kv)
{
	return mem_now(session_of(kv)->mem);
}

static struct pl_timers *session_timers(struct kv *kv)
{
	return &session_of(kv)->mem->timers;
}

/* Waiters are called, too, and learn of the close because starting fails from now on. */
static void session_close(struct kv *kv, kv_closed_fn *closed, void *ctx)
{
	struct mem_session *session = session_of(kv);

	PL_ASSERT(!session->closing);
	session->closing = true;
	session->on_closed = closed;
	session->ctx = ctx;
	PL_LIST_EACH (link, &session->calls)
		call_lose(PL_LIST_ITEM(link, struct mem_call, link), PL_CANCELED,
		          "the session was closed");
	PL_LIST_EACH (link, &session->watches)
		watch_end(PL_LIST_ITEM(link, struct mem_watch, link), PL_CANCELED,
		          "the session was closed");
	if (!pl_list_empty(&session->waiters) && pl_list_empty(&session->room.link))
		mem_queue_add(session->mem, &session->room);
	mem_queue_add(session->mem, &session->closed);
}

void session_deliver_closed(struct mem_session *session)
{
	kv_closed_fn *closed = session->on_closed;
	void *ctx = session->ctx;

	/* Waiters that came after the call of close. */
	if (!pl_list_empty(&session->waiters)) {
		mem_queue_add(session->mem, &session->closed);
		return;
	}
	PL_ASSERT(pl_list_empty(&session->calls) && pl_list_empty(&session->watches));
	pl_list_del(&session->room.link);
	pl_list_del(&session->link);
	free(session);
	closed(ctx);
}

void memkv_reconnect(struct kv *kv)
{
	struct mem_session *session = session_of(kv);

	if (session->closing)
		return;
	PL_LIST_EACH (link, &session->calls)
		call_lose(PL_LIST_ITEM(link, struct mem_call, link), PL_UNAVAIL,
		          "the connection broke");
	PL_LIST_EACH (link, &session->watches)
		watch_reconnect(PL_LIST_ITEM(link, struct mem_watch, link));
}

static const struct kv_ops session_ops = {
	.name = "memory",
	.start = session_start,
	.cancel = session_cancel,
	.watch = session_watch,
	.unwatch = session_unwatch,
	.progress = session_progress,
	.limits = session_limits,
	.room = session_room,
	.when_room = session_when_room,
	.now_ms = session_now_ms,
	.timers = session_timers,
	.close = session_close,
};

enum pl_code memkv_session(struct memkv *mem, struct kv **out, struct pl_err *err)
{
	struct mem_session *session = pl_malloc(sizeof *session);

	if (session == NULL)
		return pl_err_set(err, PL_NOMEM, "session");
	*session = (struct mem_session){.kv = {.ops = &session_ops},
	                                .mem = mem,
	                                .room = {.kind = DELIVERY_ROOM},
	                                .closed = {.kind = DELIVERY_CLOSED}};
	pl_list_init(&session->room.link);
	pl_list_init(&session->closed.link);
	pl_list_init(&session->calls);
	pl_list_init(&session->watches);
	pl_list_init(&session->waiters);
	pl_list_add_tail(&mem->sessions, &session->link);
	*out = &session->kv;
	return PL_OK;
}
