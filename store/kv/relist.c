#include "store/kv/relist.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/buf.h"
#include "store/kv/calls.h"
#include "store/kv/map.h"
#include "store/kv/relist_core.h"

/*
 * Each call and each watch is a task. The core only hears of the tasks that still
 * count: one that it has given up is dropped, and ends unheard. What fails inside
 * a start is fed to the core from the timer, on a fresh stack.
 */

enum {
	PAGE_KEYS_DEFAULT = 10000,
	CALL_TIMEOUT_DEFAULT_MS = 10000,
	KEY_MAX = 1 << 20,
	/* Of what the watch brings while the list is read. */
	HELD_CHUNK = 16 << 10,
	HELD_MAX = 4 << 20,
};

enum task_kind { TASK_FETCH, TASK_CHECK, TASK_WATCH, TASK_KINDS };

struct task {
	struct pl_list link;
	struct relist *owner; /* of the memory; not heard once dropped */
	enum task_kind kind;
	bool dropped;
	struct kv_call *call;
	struct kv_watch *watch;
	struct heads_ask ask; /* with opts.heads */
};

/* Events that came before the end of the list. */
struct held {
	struct pl_list link;
	struct kv_watch_note note;
};

struct relist {
	struct relist_core core;
	struct relist_opts opts;
	struct kv *kv;
	struct pl_timer timer;
	struct pl_list tasks;
	struct task *live[TASK_KINDS];
	bool failed[TASK_KINDS]; /* could not even be started */
	struct pl_err failure[TASK_KINDS];
	bool wants_start;
	bool stopping;
	relist_fn *fn;
	void *ctx;
	struct pl_buf next; /* the key at which the next page begins */
	/* Where what is listed now ends; empty: with the keys. */
	uint8_t until[RELIST_PIECE_MAX];
	size_t until_len;
	bool more;      /* there is a next page */
	bool nothing;   /* nothing is of interest; all that counts is the revision */
	bool releasing; /* what is held is to be told */
	struct pl_list held;
	struct pl_arena held_arena; /* what they are in, and what they point to */
	/* What the core's event brought, for the notes that it leads to. */
	const struct kv_record *records;
	const struct kv_event *events;
	size_t count;
	int64_t note_revision;
	const struct pl_err *err;
	size_t end_len;
	uint8_t *end; /* of a prefix */
	uint8_t bytes[];
};

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

static void rearm(struct relist *r)
{
	bool due = r->wants_start;
	uint64_t now = kv_now_ms(r->kv), at;

	if (r->stopping)
		return;
	for (unsigned i = 0; i < TASK_KINDS; i++)
		due = due || r->failed[i];
	at = due ? now : relist_deadline_ms(&r->core);
	if (at == UINT64_MAX)
		pl_timer_stop(&r->timer);
	else
		pl_timer_set(&r->timer, at);
}

static void held_drop(struct relist *r)
{
	pl_list_init(&r->held);
	pl_arena_done(&r->held_arena);
	pl_arena_init(&r->held_arena, HELD_CHUNK, HELD_MAX);
}

static void finish(struct relist *r)
{
	static const struct relist_note stopped = {.what = RELIST_STOPPED};
	relist_fn *fn = r->fn;
	void *ctx = r->ctx;

	pl_timer_done(&r->timer);
	pl_buf_done(&r->next);
	held_drop(r);
	free(r);
	fn(ctx, &stopped);
}

static struct task *task_new(struct relist *r, enum task_kind kind)
{
	struct task *task = pl_calloc(1, sizeof *task);

	PL_ASSERT(r->live[kind] == NULL);
	if (task == NULL)
		return NULL;
	task->owner = r;
	task->kind = kind;
	pl_list_add_tail(&r->tasks, &task->link);
	r->live[kind] = task;
	return task;
}

/* True: the core should hear of it. Otherwise r may be gone afterwards. */
static bool task_end(struct task *task)
{
	struct relist *r = task->owner;
	bool heard = !task->dropped;

	if (r->live[task->kind] == task)
		r->live[task->kind] = NULL;
	pl_list_del(&task->link);
	free(task);
	if (r->stopping && pl_list_empty(&r->tasks)) {
		finish(r);
		return false;
	}
	return heard;
}

static void task_failed(struct relist *r, enum task_kind kind, struct task *task,
                        const struct pl_err *err)
{
	if (task != NULL) {
		pl_list_del(&task->link);
		free(task);
	}
	r->live[kind] = NULL;
	r->failed[kind] = true;
	r->failure[kind] = *err;
}

static void task_drop(struct relist *r, enum task_kind kind)
{
	struct task *task = PL_STEAL(r->live[kind]);

	r->failed[kind] = false;
	if (task == NULL)
		return;
	task->dropped = true;
	if (task->watch != NULL) {
		kv_unwatch(r->kv, task->watch);
	} else if (task->call != NULL) {
		kv_cancel(r->kv, task->call);
	} else { /* ends here */
		heads_forget(&task->ask);
		pl_list_del(&task->link);
		free(task);
	}
}

static void feed(struct relist *r, struct relist_event event);

static struct relist_event event_from(enum relist_event_type type,
                                      const struct kv_header *header)
{
	return (struct relist_event){.type = type,
	                             .cluster_id = header->cluster_id,
	                             .revision = header->revision};
}

/* Why the core will say that the store is another, if it will. */
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

/* What is to be listed next. There is room for it since the beginning. */
static bool piece_take(struct relist *r, bool first)
{
	struct pl_span prefix;

	if (!r->opts.piece(r->opts.piece_ctx, first, &prefix))
		return false;
	PL_ASSERT(prefix.len > 0 && prefix.len <= RELIST_PIECE_MAX);
	pl_buf_clear(&r->next, SIZE_MAX);
	if (pl_buf_add(&r->next, prefix) != PL_OK)
		PL_UNREACHABLE("room that was there");
	r->until_len = kv_prefix_end(prefix, r->until).len;
	return true;
}

/* A page says where the next one begins; false: it makes no sense. */
static bool next_after(struct relist *r, struct pl_span key)
{
	if (pl_buf_reserve(&r->next, key.len + 1) != PL_OK)
		return false; /* and the page is read once more */
	pl_buf_clear(&r->next, SIZE_MAX);
	return pl_buf_add(&r->next, key) == PL_OK &&
	       pl_buf_add(&r->next, pl_span("", 1)) == PL_OK;
}

static bool page_take(struct relist *r, const struct kv_result *result)
{
	const struct kv_get_result *get = &result->get;

	r->records = get->records;
	r->count = r->nothing ? 0 : get->count;
	r->more = get->more && !r->nothing;
	if (result->header.revision <= 0 || (get->more && get->count == 0))
		return false;
	if (r->more)
		return next_after(r, get->records[get->count - 1].key);
	r->more = r->opts.piece != NULL && !r->nothing && piece_take(r, false);
	return true;
}

static void on_page(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct task *task = ctx;
	struct relist *r = task->owner;
	struct relist_event event = {.type = RELIST_EV_PAGE_FAILED};
	struct pl_err wrong;

	if (!task_end(task))
		return;
	if (result != NULL && page_take(r, result)) {
		if (r->opts.pages != NULL)
			relist_pages_seen(r->opts.pages, r->records, r->count);
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
		relist_pages_late(r->opts.pages);
	r->err = err;
	feed(r, event);
	rearm(r);
}

static void on_head(void *ctx, const struct kv_header *header, const struct pl_err *err)
{
	struct task *task = ctx;
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
	feed(r, event);
	rearm(r);
}

static void on_check(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	on_head(ctx, result == NULL ? NULL : &result->header, err);
}

/* What the list has shown may stand in one note with what is new. */
static void skip_listed(struct relist *r)
{
	while (r->count > 0 &&
	       r->events[0].record.mod_revision <= r->core.list_revision) {
		r->events++;
		r->count--;
	}
}

/* False: there is no more room. */
static bool hold(struct relist *r, const struct kv_watch_note *note)
{
	struct held *held = pl_arena_alloc(&r->held_arena, sizeof *held);
	struct kv_watch_note rest = *note;

	rest.events = r->events;
	rest.count = r->count;
	if (held == NULL || kv_note_copy(&r->held_arena, &rest, &held->note) != PL_OK)
		return false;
	pl_list_add_tail(&r->held, &held->link);
	return true;
}

/* The watch is given up if it brings more than can be held. */
static void hold_events(struct relist *r, const struct kv_watch_note *note,
                        struct relist_event *event)
{
	skip_listed(r);
	if (r->core.state == RELIST_WATCHING || r->count == 0 || hold(r, note))
		return;
	task_drop(r, TASK_WATCH);
	held_drop(r);
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
	struct task *task = ctx;
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
		hold_events(r, note, &event);
	if (note->what == KV_WATCH_END)
		held_drop(r);
	feed(r, event);
	rearm(r);
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
	uint32_t keys = r->opts.pages == NULL ? most : relist_pages_keys(r->opts.pages);

	return keys < most ? keys : most;
}

/* Of all keys, or the first of those that are of interest. */
static struct kv_get first_page(struct relist *r)
{
	struct kv_get get = {.keys = r->opts.keys, .limit = page_keys(r)};

	if (r->opts.piece == NULL)
		return get;
	r->nothing = !piece_take(r, true);
	get.keys_only = r->nothing;
	get.limit = r->nothing ? 1 : get.limit;
	if (!r->nothing)
		get.keys = keys_from(r, pl_buf_span(&r->next));
	return get;
}

static void do_fetch(struct relist *r, int64_t revision)
{
	struct kv_get get = {.limit = page_keys(r), .revision = revision};
	struct task *task = task_new(r, TASK_FETCH);
	struct pl_err err = {.code = PL_NOMEM, .msg = "page"};

	if (revision != 0)
		get.keys = keys_from(r, pl_buf_span(&r->next));
	else
		get = first_page(r);
	if (task == NULL || kv_get(r->kv, &get, r->opts.call_timeout_ms, on_page, task,
	                           &task->call, &err) != PL_OK)
		task_failed(r, TASK_FETCH, task, &err);
}

/* One key of those we may read, without its value: all that counts is the header. */
static enum pl_code check_start(struct relist *r, struct task *task, struct pl_err *err)
{
	struct pl_span from = r->opts.keys.from;
	struct pl_span key = from.len == 0 ? pl_span("", 1) : from;
	struct kv_get get = {.keys = kv_key(key), .keys_only = true};

	if (r->opts.heads == NULL)
		return kv_get(r->kv, &get, r->opts.call_timeout_ms, on_check, task,
		              &task->call, err);
	task->ask = (struct heads_ask){.key = key, .fn = on_head, .ctx = task};
	heads_ask(r->opts.heads, &task->ask);
	return PL_OK;
}

static void do_check(struct relist *r)
{
	struct task *task = task_new(r, TASK_CHECK);
	struct pl_err err = {.code = PL_NOMEM, .msg = "check"};

	if (task == NULL || check_start(r, task, &err) != PL_OK)
		task_failed(r, TASK_CHECK, task, &err);
}

static void do_watch(struct relist *r, int64_t from_revision)
{
	struct kv_watch_req req = {.keys = r->opts.keys,
	                           .from_revision = from_revision,
	                           .want_prev = r->opts.want_prev};
	struct task *task = task_new(r, TASK_WATCH);
	struct pl_err err = {.code = PL_NOMEM, .msg = "watch"};

	if (task == NULL ||
	    kv_watch(r->kv, &req, on_note, task, &task->watch, &err) != PL_OK)
		task_failed(r, TASK_WATCH, task, &err);
}

static void do_progress(struct relist *r, int64_t revision)
{
	struct task *task = r->live[TASK_WATCH];

	if (task != NULL && kv_progress(r->kv, task->watch, revision, NULL) != PL_OK)
		return; /* the stall deadline stands all the same */
}

/* What the core found out by itself. */
static void why(const struct relist *r, enum pl_code code, struct pl_err *err)
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

static void tell(struct relist *r, enum relist_what what,
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
			why(r, action->code, &own);
			note.err = &own;
		}
	}
	r->fn(r->ctx, &note);
}

static void perform(struct relist *r, const struct relist_action *action)
{
	switch (action->type) {
	case RELIST_DO_FETCH:
		do_fetch(r, action->revision);
		break;
	case RELIST_DO_WATCH:
		do_watch(r, action->revision);
		break;
	case RELIST_DO_UNWATCH:
		for (unsigned i = 0; i < TASK_KINDS; i++)
			task_drop(r, (enum task_kind)i);
		held_drop(r);
		break;
	case RELIST_DO_CHECK:
		do_check(r);
		break;
	case RELIST_DO_PROGRESS:
		do_progress(r, action->revision);
		break;
	case RELIST_DO_RELEASE:
		r->releasing = true;
		break;
	case RELIST_TELL_BEGIN:
		tell(r, RELIST_BEGIN, action);
		break;
	case RELIST_TELL_PAGE:
		tell(r, RELIST_PAGE, action);
		break;
	case RELIST_TELL_END:
		tell(r, RELIST_END, action);
		break;
	case RELIST_TELL_EVENTS:
		tell(r, RELIST_EVENTS, action);
		break;
	case RELIST_TELL_PROGRESS:
		tell(r, RELIST_PROGRESS, action);
		break;
	case RELIST_TELL_LOST:
		tell(r, RELIST_LOST, action);
		break;
	case RELIST_TELL_TROUBLE:
		tell(r, RELIST_TROUBLE, action);
		break;
	}
}

/* A user that stops in the middle of its notes hears no more of them. */
static void act(struct relist *r, struct relist_event event)
{
	struct relist_actions actions;

	event.now_ms = kv_now_ms(r->kv);
	relist_step(&r->core, &event, &actions);
	for (unsigned i = 0; i < actions.count && !r->stopping; i++)
		perform(r, &actions.item[i]);
}

static void release(struct relist *r)
{
	r->releasing = false;
	while (!pl_list_empty(&r->held) && !r->stopping) {
		struct held *held = PL_LIST_ITEM(r->held.next, struct held, link);

		pl_list_del(&held->link);
		r->events = held->note.events;
		r->count = held->note.count;
		r->note_revision = held->note.revision;
		skip_listed(r);
		act(r, (struct relist_event){.type = RELIST_EV_HELD,
		                             .revision = held->note.revision});
	}
	held_drop(r);
}

static void feed(struct relist *r, struct relist_event event)
{
	act(r, event);
	if (r->releasing)
		release(r);
	r->records = NULL;
	r->events = NULL;
	r->err = NULL;
}

static bool failure_take(struct relist *r, struct relist_event *event,
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

	if (r->stopping) {
		finish(r);
		return;
	}
	if (r->wants_start)
		event.type = RELIST_EV_START;
	else if (failure_take(r, &event, &failure))
		r->err = &failure;
	r->wants_start = false;
	feed(r, event);
	rearm(r);
}

static void keys_own(struct relist *r)
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
	    pl_buf_reserve(&r->next, RELIST_PIECE_MAX) != PL_OK) {
		pl_timer_done(&r->timer);
		pl_buf_done(&r->next);
		free(r);
		return pl_err_set(err, PL_NOMEM, "list and watch");
	}
	r->opts = *opts;
	if (r->opts.call_timeout_ms == 0)
		r->opts.call_timeout_ms = CALL_TIMEOUT_DEFAULT_MS;
	keys_own(r);
	relist_core_init(&r->core, opts->check_ms, opts->stall_ms,
	                 opts->seed != 0 ? opts->seed : pl_rng_seed_random());
	pl_list_init(&r->tasks);
	pl_list_init(&r->held);
	pl_arena_init(&r->held_arena, HELD_CHUNK, HELD_MAX);
	r->kv = kv;
	r->fn = fn;
	r->ctx = ctx;
	r->wants_start = true;
	rearm(r);
	*out = r;
	return PL_OK;
}

void relist_stop(struct relist *r)
{
	if (r->stopping)
		return;
	r->stopping = true;
	for (unsigned i = 0; i < TASK_KINDS; i++)
		task_drop(r, (enum task_kind)i);
	if (pl_list_empty(&r->tasks))
		pl_timer_set(&r->timer, kv_now_ms(r->kv));
	else
		pl_timer_stop(&r->timer);
}
