#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/calls.h"
#include "store/kv/relist_int.h"
#include "store/kv/rewrite.h"

enum { CALL_TIMEOUT_DEFAULT_MS = 10000, KEY_MAX = 1 << 20 };

static const char *const what_names[] = {
	[RELIST_BEGIN] = "begin",       [RELIST_PAGE] = "page",
	[RELIST_END] = "end",           [RELIST_EVENTS] = "events",
	[RELIST_PROGRESS] = "progress", [RELIST_LOST] = "lost",
	[RELIST_TROUBLE] = "trouble",   [RELIST_STOPPED] = "stopped",
};

const char *relist_what_name(enum relist_what what)
{
	PL_ASSERT(what <= RELIST_STOPPED);
	return what_names[what];
}

void relist_rearm(struct relist *r)
{
	bool due = r->phase == RELIST_STARTING;
	uint64_t now = kv_now_ms(r->kv), at;

	if (r->phase == RELIST_STOPPING)
		return;
	for (unsigned i = 0; i < TASK_KINDS; i++)
		due = due || r->failed[i];
	at = due ? now : relist_deadline_ms(&r->core);
	if (at == UINT64_MAX)
		pl_timer_stop(&r->timer);
	else
		pl_timer_set(&r->timer, at);
}

void relist_drop_deferred(struct relist *r)
{
	pl_list_init(&r->deferred);
	pl_arena_done(&r->deferred_arena);
	pl_arena_init(&r->deferred_arena, RELIST_DEFERRED_CHUNK, RELIST_DEFERRED_MAX);
}

void relist_finish(struct relist *r)
{
	static const struct relist_note stopped = {.what = RELIST_STOPPED};
	relist_fn *fn = r->fn;
	void *ctx = r->ctx;

	pl_timer_done(&r->timer);
	pl_buf_done(&r->next);
	relist_drop_deferred(r);
	free(r);
	fn(ctx, &stopped);
}

/* A note may hold both events that the list has shown and newer ones. */
void relist_skip_listed(struct relist *r)
{
	while (r->count > 0 &&
	       r->events[0].record.mod_revision <= r->core.list_revision) {
		r->events++;
		r->count--;
	}
}

/* The error for a reason that the core found by itself. */
static void explain_code(const struct relist *r, enum pl_code code, struct pl_err *err)
{
	if (code == PL_TIMEOUT && r->core.want_revision > 0)
		pl_err_set(err, code,
		           "the watch showed nothing after revision %lld, "
		           "and the store is at %lld",
		           (long long)r->core.watch_revision,
		           (long long)r->core.want_revision);
	else
		pl_err_set(err, code, "list and watch: %s", pl_code_name(code));
}

static void report_note(struct relist *r, enum relist_what what,
                        const struct relist_action *action)
{
	struct relist_note note = {.what = what,
	                           .revision = action->revision,
	                           .cluster_id = r->core.cluster_id};
	struct pl_err own;

	if (what == RELIST_PAGE || what == RELIST_EVENTS) {
		note.records = what == RELIST_PAGE ? r->records : NULL;
		note.events = what == RELIST_EVENTS ? r->events : NULL;
		note.count = r->count;
		note.revision =
			what == RELIST_PAGE ? r->core.list_revision : r->note_revision;
	}
	if (what == RELIST_LOST || what == RELIST_TROUBLE) {
		note.err = r->err;
		if (r->err == NULL || r->err->code != action->code) {
			explain_code(r, action->code, &own);
			note.err = &own;
		}
	}
	r->fn(r->ctx, &note);
}

static void perform_action(struct relist *r, const struct relist_action *action)
{
	switch (action->type) {
	case RELIST_DO_FETCH:
		relist_do_fetch(r, action->revision);
		break;
	case RELIST_DO_WATCH:
		relist_do_watch(r, action->revision);
		break;
	case RELIST_DO_UNWATCH:
		for (unsigned i = 0; i < TASK_KINDS; i++)
			relist_drop(r, (enum relist_task_kind)i);
		relist_drop_deferred(r);
		break;
	case RELIST_DO_CHECK:
		relist_do_check(r);
		break;
	case RELIST_DO_PROGRESS:
		relist_do_progress(r, action->revision);
		break;
	case RELIST_DO_RELEASE:
		r->releasing = true;
		break;
	case RELIST_REPORT_BEGIN:
		report_note(r, RELIST_BEGIN, action);
		break;
	case RELIST_REPORT_PAGE:
		report_note(r, RELIST_PAGE, action);
		break;
	case RELIST_REPORT_END:
		report_note(r, RELIST_END, action);
		break;
	case RELIST_REPORT_EVENTS:
		report_note(r, RELIST_EVENTS, action);
		break;
	case RELIST_REPORT_PROGRESS:
		report_note(r, RELIST_PROGRESS, action);
		break;
	case RELIST_REPORT_LOST:
		report_note(r, RELIST_LOST, action);
		break;
	case RELIST_REPORT_TROUBLE:
		report_note(r, RELIST_TROUBLE, action);
		break;
	}
}

/* A user that stops the relist in a note gets no more of the notes behind it. */
static void step_core(struct relist *r, struct relist_event event)
{
	struct relist_actions actions;

	event.now_ms = kv_now_ms(r->kv);
	relist_step(&r->core, &event, &actions);
	for (unsigned i = 0; i < actions.count && r->phase != RELIST_STOPPING; i++)
		perform_action(r, &actions.item[i]);
}

static void release_deferred(struct relist *r)
{
	r->releasing = false;
	while (!pl_list_empty(&r->deferred) && r->phase != RELIST_STOPPING) {
		struct relist_deferred *deferred =
			PL_LIST_ITEM(r->deferred.next, struct relist_deferred, link);

		pl_list_del(&deferred->link);
		r->events = deferred->note.events;
		r->count = deferred->note.count;
		r->note_revision = deferred->note.revision;
		relist_skip_listed(r);
		step_core(r, (struct relist_event){.type = RELIST_EV_DEFERRED,
		                                   .revision = deferred->note.revision});
	}
	relist_drop_deferred(r);
}

void relist_feed(struct relist *r, struct relist_event event)
{
	step_core(r, event);
	if (r->releasing)
		release_deferred(r);
	r->records = NULL;
	r->events = NULL;
	r->err = NULL;
}

static bool take_failure(struct relist *r, struct relist_event *event,
                         struct pl_err *failure)
{
	static const enum relist_event_type types[] = {
		[TASK_FETCH] = RELIST_EV_PAGE_FAILED,
		[TASK_CHECK] = RELIST_EV_CHECK_FAILED,
		[TASK_WATCH] = RELIST_EV_ENDED,
	};

	for (unsigned i = 0; i < TASK_KINDS; i++) {
		if (!r->failed[i])
			continue;
		r->failed[i] = false;
		*failure = r->failure[i];
		*event = (struct relist_event){.type = types[i], .code = failure->code};
		return true;
	}
	return false;
}

static void on_timer(void *ctx)
{
	struct relist *r = ctx;
	struct relist_event event = {.type = RELIST_EV_TIMEOUT};
	struct pl_err failure;

	if (r->phase == RELIST_STOPPING) {
		relist_finish(r);
		return;
	}
	if (r->phase == RELIST_STARTING)
		event.type = RELIST_EV_START;
	else if (take_failure(r, &event, &failure))
		r->err = &failure;
	r->phase = RELIST_RUNNING;
	relist_feed(r, event);
	relist_rearm(r);
}

static void copy_keys(struct relist *r)
{
	struct kv_keys *keys = &r->opts.keys;
	struct pl_span from = keys->from;
	struct pl_span to = keys->kind == KV_RANGE ? keys->to : pl_span(NULL, 0);
	uint8_t *at = r->bytes;

	if (from.len != 0)
		memcpy(at, from.at, from.len);
	keys->from = pl_span(at, from.len);
	at += from.len;
	if (to.len != 0)
		memcpy(at, to.at, to.len);
	keys->to = pl_span(at, to.len);
	r->end = at + to.len;
	r->end_len = kv_prefix_end(keys->from, r->end).len;
}

enum pl_code relist_open(struct kv *kv, const struct relist_opts *opts, relist_fn *fn,
                         void *ctx, struct relist **out, struct pl_err *err)
{
	size_t to_len = opts->keys.kind == KV_RANGE ? opts->keys.to.len : 0;
	struct relist *r;

	if (opts->keys.from.len > KEY_MAX || to_len > KEY_MAX)
		return pl_err_set(err, PL_LIMIT, "key of more than %d bytes", KEY_MAX);
	r = pl_calloc(1, sizeof *r + 2 * opts->keys.from.len + to_len);
	if (r == NULL)
		return pl_err_set(err, PL_NOMEM, "list and watch");
	pl_buf_init(&r->next, (size_t)KEY_MAX * 2);
	if (pl_timer_init(&r->timer, kv_timers(kv), on_timer, r) != PL_OK ||
	    pl_buf_reserve(&r->next, RELIST_PREFIX_MAX) != PL_OK) {
		pl_timer_done(&r->timer);
		pl_buf_done(&r->next);
		free(r);
		return pl_err_set(err, PL_NOMEM, "list and watch");
	}
	r->opts = *opts;
	if (r->opts.call_timeout_ms == 0)
		r->opts.call_timeout_ms = CALL_TIMEOUT_DEFAULT_MS;
	copy_keys(r);
	relist_core_init(&r->core, opts->check_ms, opts->stall_ms,
	                 opts->seed != 0 ? opts->seed : pl_rng_seed_random());
	pl_list_init(&r->tasks);
	pl_list_init(&r->deferred);
	pl_arena_init(&r->deferred_arena, RELIST_DEFERRED_CHUNK, RELIST_DEFERRED_MAX);
	r->kv = kv;
	r->fn = fn;
	r->ctx = ctx;
	relist_rearm(r);
	*out = r;
	return PL_OK;
}

void relist_stop(struct relist *r)
{
	if (r->phase == RELIST_STOPPING)
		return;
	r->phase = RELIST_STOPPING;
	for (unsigned i = 0; i < TASK_KINDS; i++)
		relist_drop(r, (enum relist_task_kind)i);
	if (pl_list_empty(&r->tasks))
		pl_timer_set(&r->timer, kv_now_ms(r->kv));
	else
		pl_timer_stop(&r->timer);
}
