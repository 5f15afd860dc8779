/*
 * Each call and each watch of a relist is a task. The core hears only of the tasks that
 * still count: a task that the core has given up is dropped, and ends without being
 * reported. A failure inside a start is fed to the core from the timer, on a fresh stack.
 */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/calls.h"
#include "store/kv/relist_int.h"
#include "store/kv/rewrite.h"

enum { PAGE_KEYS_DEFAULT = 10000 };

static struct relist_task *task_new(struct relist *r, enum relist_task_kind kind)
{
	struct relist_task *task = pl_calloc(1, sizeof *task);

	PL_ASSERT(r->live[kind] == NULL);
	if (task == NULL)
		return NULL;
	task->owner = r;
	task->kind = kind;
	pl_list_add_tail(&r->tasks, &task->link);
	r->live[kind] = task;
	return task;
}

/* True: the core must hear of the end. False: r may be gone. */
static bool task_end(struct relist_task *task)
{
	struct relist *r = task->owner;
	bool heard = !task->dropped;

	if (r->live[task->kind] == task)
		r->live[task->kind] = NULL;
	pl_list_del(&task->link);
	free(task);
	if (r->phase == RELIST_STOPPING && pl_list_empty(&r->tasks)) {
		relist_finish(r);
		return false;
	}
	return heard;
}

static void task_failed(struct relist *r, enum relist_task_kind kind,
                        struct relist_task *task, const struct pl_err *err)
{
	if (task != NULL) {
		pl_list_del(&task->link);
		free(task);
	}
	r->live[kind] = NULL;
	r->failed[kind] = true;
	r->failure[kind] = *err;
}

void relist_drop(struct relist *r, enum relist_task_kind kind)
{
	struct relist_task *task = PL_STEAL(r->live[kind]);

	r->failed[kind] = false;
	if (task == NULL)
		return;
	task->dropped = true;
	if (task->watch != NULL) {
		kv_unwatch(r->kv, task->watch);
	} else if (task->call != NULL) {
		kv_cancel(r->kv, task->call);
	} else { /* a progress read that has not been sent ends here */
		progress_read_cancel(&task->ask);
		pl_list_del(&task->link);
		free(task);
	}
}

static struct relist_event event_from(enum relist_event_type type,
                                      const struct kv_header *header)
{
	return (struct relist_event){.type = type,
	                             .cluster_id = header->cluster_id,
	                             .revision = header->revision};
}

/* The error with which the core will say that the store is another one. NULL: it is the
 * same store. */
static const struct pl_err *rewound(const struct relist *r,
                                    const struct kv_header *header, bool linear,
                                    struct pl_err *err)
{
	const struct relist_core *core = &r->core;

	if (header->cluster_id != 0 && core->cluster_id != 0 &&
	    header->cluster_id != core->cluster_id)
		pl_err_set(err, PL_REWOUND, "cluster %llx answers instead of %llx",
		           (unsigned long long)header->cluster_id,
		           (unsigned long long)core->cluster_id);
	else if (linear && header->revision < core->asked_revision)
		pl_err_set(err, PL_REWOUND,
		           "the store is at revision %lld and had been at %lld",
		           (long long)header->revision, (long long)core->asked_revision);
	else
		return NULL;
	return err;
}

/* Takes the next prefix. The buffer has had room for it since the start. */
static bool take_prefix(struct relist *r, bool first)
{
	struct pl_span prefix;

	if (!r->opts.next_prefix(r->opts.prefix_ctx, first, &prefix))
		return false;
	PL_ASSERT(prefix.len > 0 && prefix.len <= RELIST_PREFIX_MAX);
	pl_buf_clear(&r->next, SIZE_MAX);
	if (pl_buf_add(&r->next, prefix) != PL_OK)
		PL_UNREACHABLE("room that was there");
	r->until_len = kv_prefix_end(prefix, r->until).len;
	return true;
}

/* Notes where the next page begins. False: the page makes no sense. */
static bool next_after(struct relist *r, struct pl_span key)
{
	if (pl_buf_reserve(&r->next, key.len + 1) != PL_OK)
		return false; /* the page is read once more */
	pl_buf_clear(&r->next, SIZE_MAX);
	return pl_buf_add(&r->next, key) == PL_OK &&
	       pl_buf_add(&r->next, pl_span("", 1)) == PL_OK;
}

static bool take_page(struct relist *r, const struct kv_result *result)
{
	const struct kv_get_result *get = &result->get;

	r->records = get->records;
	r->count = r->nothing ? 0 : get->count;
	r->more = get->more && !r->nothing;
	if (result->header.revision <= 0 || (get->more && get->count == 0))
		return false;
	if (r->more)
		return next_after(r, get->records[get->count - 1].key);
	r->more = r->opts.next_prefix != NULL && !r->nothing && take_prefix(r, false);
	return true;
}

static void on_page(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct relist_task *task = ctx;
	struct relist *r = task->owner;
	struct relist_event event = {.type = RELIST_EV_PAGE_FAILED};
	struct pl_err wrong;

	if (!task_end(task))
		return;
	if (result != NULL && take_page(r, result)) {
		if (r->opts.pages != NULL)
			relist_page_size_observe(r->opts.pages, r->records, r->count);
		event = event_from(RELIST_EV_PAGE, &result->header);
		event.more = r->more;
		err = rewound(r, &result->header, true, &wrong);
	} else if (result != NULL) {
		pl_err_set(&wrong, PL_PROTO, "page of %zu keys at revision %lld",
		           result->get.count, (long long)result->header.revision);
		err = &wrong;
	}
	if (event.type == RELIST_EV_PAGE_FAILED)
		event.code = err->code;
	if ((event.code == PL_TIMEOUT || event.code == PL_LIMIT) && r->opts.pages != NULL)
		relist_page_size_halve(r->opts.pages);
	r->err = err;
	relist_feed(r, event);
	relist_rearm(r);
}

static void on_header(void *ctx, const struct kv_header *header, const struct pl_err *err)
{
	struct relist_task *task = ctx;
	struct relist *r = task->owner;
	struct relist_event event = {.type = RELIST_EV_CHECK_FAILED};
	struct pl_err wrong;

	if (!task_end(task))
		return;
	if (header != NULL) {
		event = event_from(RELIST_EV_CHECKED, header);
		err = rewound(r, header, true, &wrong);
	} else {
		event.code = err->code;
	}
	r->err = err;
	relist_feed(r, event);
	relist_rearm(r);
}

static void on_check(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	on_header(ctx, result == NULL ? NULL : &result->header, err);
}

/* False: there is no more room. */
static bool defer_note(struct relist *r, const struct kv_watch_note *note)
{
	struct relist_deferred *deferred =
		pl_arena_alloc(&r->deferred_arena, sizeof *deferred);
	struct kv_watch_note rest = *note;

	rest.events = r->events;
	rest.count = r->count;
	if (deferred == NULL ||
	    kv_note_copy(&r->deferred_arena, &rest, &deferred->note) != PL_OK)
		return false;
	pl_list_add_tail(&r->deferred, &deferred->link);
	return true;
}

/* A watch that brings more than can be deferred is given up. */
static void defer_events(struct relist *r, const struct kv_watch_note *note,
                         struct relist_event *event)
{
	relist_skip_listed(r);
	if (r->core.state == RELIST_WATCHING || r->count == 0 || defer_note(r, note))
		return;
	relist_drop(r, TASK_WATCH);
	relist_drop_deferred(r);
	event->type = RELIST_EV_ENDED;
	event->code = PL_LIMIT;
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	static const enum relist_event_type types[] = {
		[KV_WATCH_READY] = RELIST_EV_READY,
		[KV_WATCH_EVENTS] = RELIST_EV_EVENTS,
		[KV_WATCH_PROGRESS] = RELIST_EV_PROGRESS,
		[KV_WATCH_END] = RELIST_EV_ENDED,
	};
	struct relist_task *task = ctx;
	struct relist *r = task->owner;
	struct relist_event event = event_from(types[note->what], &note->header);
	struct pl_err wrong;

	if (note->what == KV_WATCH_END ? !task_end(task) : task->dropped)
		return;
	event.revision = note->revision;
	event.code = note->err == NULL ? PL_OK : note->err->code;
	r->err = note->err != NULL ? note->err : rewound(r, &note->header, false, &wrong);
	r->events = note->events;
	r->count = note->count;
	r->note_revision = note->revision;
	if (note->what == KV_WATCH_EVENTS)
		defer_events(r, note, &event);
	if (note->what == KV_WATCH_END)
		relist_drop_deferred(r);
	relist_feed(r, event);
	relist_rearm(r);
}

static struct kv_keys keys_from(const struct relist *r, struct pl_span from)
{
	struct kv_keys keys = r->opts.keys;

	if (r->until_len > 0)
		return kv_range(from, pl_span(r->until, r->until_len));
	if (keys.kind == KV_PREFIX && r->end_len == 0)
		keys.kind = KV_FROM;
	if (keys.kind == KV_PREFIX)
		keys = kv_range(from, pl_span(r->end, r->end_len));
	keys.from = from;
	return keys;
}

static uint32_t page_keys(const struct relist *r)
{
	uint32_t most = r->opts.page_keys == 0 ? PAGE_KEYS_DEFAULT : r->opts.page_keys;
	uint32_t keys =
		r->opts.pages == NULL ? most : relist_page_size_keys(r->opts.pages);

	return keys < most ? keys : most;
}

/* The first page of all keys, or of the first prefix. */
static struct kv_get first_page(struct relist *r)
{
	struct kv_get get = {.keys = r->opts.keys, .limit = page_keys(r)};

	if (r->opts.next_prefix == NULL)
		return get;
	r->nothing = !take_prefix(r, true);
	get.keys_only = r->nothing;
	get.limit = r->nothing ? 1 : get.limit;
	if (!r->nothing)
		get.keys = keys_from(r, pl_buf_span(&r->next));
	return get;
}

void relist_do_fetch(struct relist *r, int64_t revision)
{
	struct kv_get get = {.limit = page_keys(r), .revision = revision};
	struct relist_task *task = task_new(r, TASK_FETCH);
	struct pl_err err = {.code = PL_NOMEM, .msg = "page"};

	if (revision != 0)
		get.keys = keys_from(r, pl_buf_span(&r->next));
	else
		get = first_page(r);
	if (task == NULL || kv_get(r->kv, &get, r->opts.call_timeout_ms, on_page, task,
	                           &task->call, &err) != PL_OK)
		task_failed(r, TASK_FETCH, task, &err);
}

/* Reads one key of those that may be read, without its value: only the header counts. */
static enum pl_code check_start(struct relist *r, struct relist_task *task,
                                struct pl_err *err)
{
	struct pl_span from = r->opts.keys.from;
	struct pl_span key = from.len == 0 ? pl_span("", 1) : from;
	struct kv_get get = {.keys = kv_key(key), .keys_only = true};

	if (r->opts.progress_reads == NULL)
		return kv_get(r->kv, &get, r->opts.call_timeout_ms, on_check, task,
		              &task->call, err);
	task->ask = (struct progress_read){.key = key, .fn = on_header, .ctx = task};
	progress_reads_start(r->opts.progress_reads, &task->ask);
	return PL_OK;
}

void relist_do_check(struct relist *r)
{
	struct relist_task *task = task_new(r, TASK_CHECK);
	struct pl_err err = {.code = PL_NOMEM, .msg = "check"};

	if (task == NULL || check_start(r, task, &err) != PL_OK)
		task_failed(r, TASK_CHECK, task, &err);
}

void relist_do_watch(struct relist *r, int64_t from_revision)
{
	struct kv_watch_req req = {.keys = r->opts.keys,
	                           .from_revision = from_revision,
	                           .want_prev = r->opts.want_prev};
	struct relist_task *task = task_new(r, TASK_WATCH);
	struct pl_err err = {.code = PL_NOMEM, .msg = "watch"};

	if (task == NULL ||
	    kv_watch(r->kv, &req, on_note, task, &task->watch, &err) != PL_OK)
		task_failed(r, TASK_WATCH, task, &err);
}

void relist_ask_progress(struct relist *r, int64_t revision)
{
	if (r->phase == RELIST_RUNNING && r->core.state == RELIST_WATCHING &&
	    revision > r->core.watch_revision)
		relist_do_progress(r, revision);
}

void relist_do_progress(struct relist *r, int64_t revision)
{
	struct relist_task *task = r->live[TASK_WATCH];

	if (task != NULL && kv_progress(r->kv, task->watch, revision, NULL) != PL_OK)
		return; /* the stall deadline still holds */
}
