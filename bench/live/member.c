#include "bench/live/member.h"

#include <stdlib.h>

#include "bench/common/report.h"
#include "shardsched/records/pod_state.h"
#include "shardsched/records/txn_builder.h"
#include "store/base/list.h"

enum { INFLIGHT = 8, PER_TXN = 64, VALUE_MAX = STATE_BYTES_MAX };

/* A state that is to be said of a pod. */
struct gone_pod {
	struct pl_list link;
	struct keys_text key;
	struct pl_span value; /* behind it */
	int64_t revision;
	bool alone; /* sent in a transaction of its own, after a failed one with others */
};

struct member_txn {
	struct member *member;
	struct pl_list gone; /* pods of the transaction; empty: the slot is free */
	struct pl_arena arena;
	struct txn_builder builder;
};

struct member {
	struct kv *kv;
	struct kv_watch *watch;
	bool ended;
	struct pl_list waiting;
	struct member_txn call[INFLIGHT];
	struct pl_arena arena; /* memory of one parsed state */
	struct pl_buf buf;
};

static void send_waiting(struct member *m);

/* -- results of transactions -------------------------------------------------------- */

static void drop_all(struct pl_list *list)
{
	PL_LIST_EACH (link, list) {
		pl_list_del(link);
		free(PL_LIST_ITEM(link, struct gone_pod, link));
	}
}

/* Each for itself: of one that is not as it was there will be news. */
static void retry_txn(struct member *m, struct member_txn *call)
{
	bool was_alone = true;

	PL_LIST_EACH (link, &call->gone)
		was_alone = PL_LIST_ITEM(link, struct gone_pod, link)->alone;
	if (was_alone) {
		drop_all(&call->gone);
		return;
	}
	PL_LIST_EACH (link, &call->gone) {
		pl_list_del(link);
		PL_LIST_ITEM(link, struct gone_pod, link)->alone = true;
		pl_list_add_tail(&m->waiting, link);
	}
}

static void on_answer(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct member_txn *call = ctx;

	if (err != NULL) {
		if (err->code != PL_CANCELED && err->code != PL_UNKNOWN)
			bench_check(err->code, err, "say that pods are gone");
		drop_all(&call->gone);
		return;
	}
	if (result->txn.succeeded)
		drop_all(&call->gone);
	else
		retry_txn(call->member, call);
	send_waiting(call->member);
}

/* -- saying it ---------------------------------------------------------------------- */

static bool add_pod(struct member_txn *call, struct gone_pod *gone)
{
	if (!builder_put(&call->builder, keys_span(&gone->key), gone->revision,
	                 gone->value))
		return false;
	pl_list_del(&gone->link);
	pl_list_add_tail(&call->gone, &gone->link);
	return true;
}

static void send_some(struct member *m, struct member_txn *call)
{
	unsigned count = 0;
	struct kv_req req;
	struct pl_err err = {0};

	pl_arena_reset(&call->arena);
	builder_begin(&call->builder, &call->arena, kv_limits(m->kv));
	PL_LIST_EACH (link, &m->waiting) {
		struct gone_pod *gone = PL_LIST_ITEM(link, struct gone_pod, link);

		if (count == PER_TXN || (gone->alone && count > 0) ||
		    !add_pod(call, gone))
			break;
		count++;
		if (gone->alone)
			break;
	}
	if (count == 0)
		bench_fail("say that pods are gone: %s",
		           pl_code_name(call->builder.code));
	builder_req(&call->builder, &req);
	bench_check(kv_start(m->kv, &req, LIVE_TIMEOUT_MS, on_answer, call, NULL, &err),
	            &err, "say that pods are gone");
}

static void send_waiting(struct member *m)
{
	for (unsigned i = 0; i < INFLIGHT && !pl_list_empty(&m->waiting); i++)
		if (pl_list_empty(&m->call[i].gone))
			send_some(m, &m->call[i]);
}

static void take_state(struct member *m, const struct kv_record *record)
{
	struct pod_state state;
	struct pl_span value;
	struct keys_id id;
	struct gone_pod *gone;

	pl_arena_reset(&m->arena);
	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != KEYS_STATE ||
	    state_parse(record->value, &m->arena, &state, NULL) != PL_OK ||
	    state.phase != STATE_TERMINATING || state.ended != STATE_ENDED_NOT)
		return;
	state.ended = STATE_ENDED_GONE;
	pl_buf_clear(&m->buf, VALUE_MAX);
	bench_check(state_print(&state, &m->buf, NULL), NULL, "a state");
	value = pl_buf_span(&m->buf);
	gone = bench_alloc(1, sizeof *gone + value.len);
	memcpy(gone + 1, value.at, value.len);
	gone->value = pl_span(gone + 1, value.len);
	gone->revision = record->mod_revision;
	bench_check(keys_build(&id, &gone->key, NULL), NULL, "a key");
	pl_list_add_tail(&m->waiting, &gone->link);
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct member *m = ctx;

	if (note->what == KV_WATCH_END) {
		if (note->err->code != PL_CANCELED)
			bench_check(note->err->code, note->err, "watch");
		m->ended = true;
		return;
	}
	for (size_t i = 0; i < note->count; i++)
		if (!note->events[i].is_delete)
			take_state(m, &note->events[i].record);
	send_waiting(m);
}

/* -- open and close ----------------------------------------------------------------- */

struct member *member_open(struct kv *kv, int64_t from)
{
	const struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("/schedules/")),
	                                 .from_revision = from};
	struct member *m = bench_alloc(1, sizeof *m);
	struct pl_err err = {0};

	m->kv = kv;
	pl_list_init(&m->waiting);
	pl_arena_init(&m->arena, 1 << 14, 0);
	pl_buf_init(&m->buf, VALUE_MAX);
	for (unsigned i = 0; i < INFLIGHT; i++) {
		m->call[i].member = m;
		pl_list_init(&m->call[i].gone);
		pl_arena_init(&m->call[i].arena, 1 << 14, 0);
	}
	bench_check(kv_watch(kv, &req, on_note, m, &m->watch, &err), &err, "watch");
	return m;
}

static bool is_busy(const struct member *m)
{
	for (unsigned i = 0; i < INFLIGHT; i++)
		if (!pl_list_empty(&m->call[i].gone))
			return true;
	return !m->ended;
}

void member_close(struct member *member, void (*turn)(void *ctx), void *ctx)
{
	kv_unwatch(member->kv, member->watch);
	drop_all(&member->waiting);
	while (is_busy(member))
		turn(ctx);
	for (unsigned i = 0; i < INFLIGHT; i++)
		pl_arena_done(&member->call[i].arena);
	pl_arena_done(&member->arena);
	pl_buf_done(&member->buf);
	free(member);
}

/* -- child process ------------------------------------------------------------------ */

struct member_start_args {
	struct live *live;
	int64_t from;
};

static void run_member(void *ctx, void *result)
{
	const struct member_start_args *start = ctx;
	uv_loop_t loop;

	(void)result;
	(void)uv_loop_init(&loop);
	(void)member_open(live_client(start->live, &loop), start->from);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
}

void member_start(struct child *child, struct live *live)
{
	struct member_start_args start = {live, live_revision(live) + 1};

	child_start(child, &live->loop, run_member, &start);
}
