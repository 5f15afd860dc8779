#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/kv/rewrite.h"
#include "tests/support/store/kv/faulty_impl.h"

/*
 * A note is passed on at once unless the watch is being delayed; then it and all notes
 * behind it are queued, so that their order stays. An end of this kv's own making
 * (injected, canceled, closed) drops the queue and is reported from the timer. The watch
 * lives on, unheard, until the wrapped watch has ended, too.
 */

enum { NOTES_MAX = 100000 };

struct faulty_deferred {
	struct pl_list link;
	struct pl_arena arena;
	uint64_t due_ms;
	struct kv_watch_note note;
};

struct faulty_watcher {
	struct pl_list link;
	struct faulty *owner;
	struct pl_timer timer;
	struct pl_list deferred;
	size_t deferred_count;
	uint64_t defer_until_ms;
	uint64_t rules; /* one bit for each rule that may hit the watch */
	struct kv_watch *inner;
	bool live;     /* the wrapped watch has not ended */
	bool ending;   /* an end of this kv's own making is set */
	bool reported; /* the user has been told the end */
	struct kv_watch_note end;
	struct pl_err err;
	kv_watch_fn *fn;
	void *ctx;
};

static void deferred_free(struct faulty_deferred *deferred)
{
	pl_list_del(&deferred->link);
	pl_arena_done(&deferred->arena);
	free(deferred);
}

static void deferred_drop_all(struct faulty_watcher *watch)
{
	PL_LIST_EACH (link, &watch->deferred)
		deferred_free(PL_LIST_ITEM(link, struct faulty_deferred, link));
	watch->deferred_count = 0;
}

static void watch_free(struct faulty_watcher *watch)
{
	deferred_drop_all(watch);
	pl_list_del(&watch->link);
	pl_timer_done(&watch->timer);
	free(watch);
}

static void watch_finish(struct faulty_watcher *watch, enum pl_code code, const char *why,
                         const struct kv_watch_note *note)
{
	struct faulty *f = watch->owner;

	watch->ending = true;
	deferred_drop_all(watch);
	pl_err_set(&watch->err, code, "watch: %s", why);
	watch->end = (struct kv_watch_note){.what = KV_WATCH_END};
	if (note != NULL) {
		watch->end.header = note->header;
		watch->end.revision = note->revision;
		if (code == PL_COMPACTED)
			watch->end.compact_revision = note->header.revision;
	}
	if (watch->live && !f->closing)
		kv_unwatch(f->wrapper.inner, watch->inner);
	pl_timer_set(&watch->timer, kv_now_ms(f->wrapper.inner));
}

static void watch_report_end(struct faulty_watcher *watch)
{
	struct pl_err err = watch->err;
	struct kv_watch_note end = watch->end;
	kv_watch_fn *fn = watch->fn;
	void *ctx = watch->ctx;
	struct faulty *f = watch->owner;

	end.err = &err;
	watch->reported = true;
	if (!watch->live)
		watch_free(watch);
	faulty_reported(f);
	fn(ctx, &end);
}

static void watch_arm(struct faulty_watcher *watch)
{
	const struct faulty_deferred *first;

	if (pl_list_empty(&watch->deferred)) {
		pl_timer_stop(&watch->timer);
		return;
	}
	first = PL_LIST_ITEM(watch->deferred.next, struct faulty_deferred, link);
	if (first->due_ms == FAULTY_NEVER)
		pl_timer_stop(&watch->timer);
	else
		pl_timer_set(&watch->timer, first->due_ms);
}

static struct faulty_deferred *deferred_take(struct faulty_watcher *watch)
{
	struct faulty_deferred *deferred =
		PL_LIST_ITEM(watch->deferred.next, struct faulty_deferred, link);

	pl_list_del(&deferred->link);
	watch->deferred_count--;
	return deferred;
}

/* False: they stay two notes for want of memory. */
static bool deferred_merge(struct faulty_deferred *first,
                           const struct faulty_deferred *next)
{
	size_t count = first->note.count + next->note.count;
	struct kv_event *events = pl_arena_alloc(&first->arena, count * sizeof *events);

	if (events == NULL)
		return false;
	memcpy(events, first->note.events, first->note.count * sizeof *events);
	memcpy(events + first->note.count, next->note.events,
	       next->note.count * sizeof *events);
	first->note.header = next->note.header;
	first->note.revision = next->note.revision;
	first->note.events = events;
	first->note.count = count;
	return true;
}

static bool roll_merge(const struct faulty_watcher *watch)
{
	struct faulty *f = watch->owner;
	bool merge = false;

	for (size_t i = 0; i < f->rule_count; i++)
		if (f->rules[i].what == FAULTY_MERGE_NOTES &&
		    (watch->rules & UINT64_C(1) << i) != 0 && faulty_fires(f, i))
			merge = true;
	return merge;
}

/* Merges the notes that are due into the first; merged keeps what it points to. */
static void deferred_merge_due(struct faulty_watcher *watch,
                               struct faulty_deferred *first, struct pl_list *merged)
{
	uint64_t now = kv_now_ms(watch->owner->wrapper.inner);

	if (first->note.what != KV_WATCH_EVENTS || !roll_merge(watch))
		return;
	while (!pl_list_empty(&watch->deferred)) {
		struct faulty_deferred *next =
			PL_LIST_ITEM(watch->deferred.next, struct faulty_deferred, link);

		if (next->note.what != KV_WATCH_EVENTS || next->due_ms > now ||
		    !deferred_merge(first, next))
			return;
		pl_list_add_tail(merged, &deferred_take(watch)->link);
	}
}

static void on_timer(void *ctx)
{
	struct faulty_watcher *watch = ctx;
	struct faulty *f = watch->owner;
	kv_watch_fn *fn = watch->fn;
	void *fn_ctx = watch->ctx;
	struct pl_list merged;
	struct faulty_deferred *deferred;

	if (watch->ending) {
		watch_report_end(watch);
		return;
	}
	pl_list_init(&merged);
	deferred = deferred_take(watch);
	deferred_merge_due(watch, deferred, &merged);
	if (deferred->note.what == KV_WATCH_END) {
		watch_free(watch);
		faulty_reported(f);
	} else {
		watch_arm(watch);
		faulty_calls_on_note(f);
	}
	fn(fn_ctx, &deferred->note);
	deferred_free(deferred);
	PL_LIST_EACH (link, &merged)
		deferred_free(PL_LIST_ITEM(link, struct faulty_deferred, link));
}

static void watch_defer(struct faulty_watcher *watch, const struct kv_watch_note *note)
{
	struct faulty_deferred *deferred = pl_calloc(1, sizeof *deferred);

	if (deferred == NULL) {
		watch_finish(watch, PL_NOMEM, "injected delay", note);
		return;
	}
	pl_arena_init(&deferred->arena, 1024, 0);
	pl_list_init(&deferred->link);
	deferred->due_ms = watch->defer_until_ms;
	if (kv_note_copy(&deferred->arena, note, &deferred->note) != PL_OK) {
		deferred_free(deferred);
		watch_finish(watch, PL_NOMEM, "injected delay", note);
		return;
	}
	pl_list_add_tail(&watch->deferred, &deferred->link);
	if (++watch->deferred_count > NOTES_MAX)
		watch_finish(watch, PL_COMPACTED, "injected: too far behind", note);
	else
		watch_arm(watch);
}

/* The code to end with, or PL_OK. */
static enum pl_code watch_roll(struct faulty_watcher *watch, uint64_t now)
{
	struct faulty *f = watch->owner;
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < f->rule_count; i++) {
		const struct faulty_rule *rule = &f->rules[i];
		uint64_t until;

		if ((watch->rules & UINT64_C(1) << i) == 0 ||
		    rule->what == FAULTY_MERGE_NOTES || !faulty_fires(f, i))
			continue;
		if (rule->what == FAULTY_END_WATCH) {
			code = rule->code;
			continue;
		}
		until = now + faulty_delay(f, rule);
		if (rule->what == FAULTY_STALL_WATCH && until == now)
			until = FAULTY_NEVER;
		if (until > watch->defer_until_ms)
			watch->defer_until_ms = until;
	}
	return code;
}

static void watch_pass(struct faulty_watcher *watch, const struct kv_watch_note *note)
{
	struct faulty *f = watch->owner;
	kv_watch_fn *fn = watch->fn;
	void *ctx = watch->ctx;

	if (note->what == KV_WATCH_END) {
		watch_free(watch);
		faulty_reported(f);
	} else {
		faulty_calls_on_note(f);
	}
	fn(ctx, note);
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct faulty_watcher *watch = ctx;
	uint64_t now = kv_now_ms(watch->owner->wrapper.inner);
	enum pl_code code;

	if (note->what == KV_WATCH_END)
		watch->live = false;
	if (watch->ending) {
		if (watch->reported && !watch->live)
			watch_free(watch);
		return;
	}
	code = note->what == KV_WATCH_END ? PL_OK : watch_roll(watch, now);
	if (code != PL_OK)
		watch_finish(watch, code, "injected", note);
	else if (!pl_list_empty(&watch->deferred) || watch->defer_until_ms > now)
		watch_defer(watch, note);
	else
		watch_pass(watch, note);
}

static uint64_t rules_for(const struct faulty *f, struct kv_keys keys)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < f->rule_count; i++)
		if (f->rules[i].what >= FAULTY_SLOW_NOTE &&
		    pl_span_starts(keys.from, f->rules[i].prefix))
			bits |= UINT64_C(1) << i;
	return bits;
}

enum pl_code faulty_watch(struct kv *kv, const struct kv_watch_req *req, kv_watch_fn *fn,
                          void *ctx, struct kv_watch **out, struct pl_err *err)
{
	struct faulty *f = PL_CONTAINER_OF(kv, struct faulty, wrapper.kv);
	struct faulty_watcher *watch;
	enum pl_code code;

	if (f->closing)
		return pl_err_set(err, PL_CANCELED, "closed");
	watch = pl_calloc(1, sizeof *watch);
	if (watch == NULL)
		return pl_err_set(err, PL_NOMEM, "watch");
	code = pl_timer_init(&watch->timer, kv_timers(f->wrapper.inner), on_timer, watch);
	if (code != PL_OK) {
		free(watch);
		return pl_err_set(err, code, "watch");
	}
	pl_list_init(&watch->deferred);
	watch->owner = f;
	watch->rules = rules_for(f, req->keys);
	watch->live = true;
	watch->fn = fn;
	watch->ctx = ctx;
	code = kv_watch(f->wrapper.inner, req, on_note, watch, &watch->inner, err);
	if (code != PL_OK) {
		pl_timer_done(&watch->timer);
		free(watch);
		return code;
	}
	pl_list_add_tail(&f->watches, &watch->link);
	f->unreported++;
	if (out != NULL)
		*out = (struct kv_watch *)(void *)watch;
	return PL_OK;
}

void faulty_unwatch(struct kv *kv, struct kv_watch *handle)
{
	struct faulty_watcher *watch = (struct faulty_watcher *)(void *)handle;

	(void)kv;
	PL_ASSERT(!watch->reported);
	if (watch->ending) /* the end is on its way for another reason */
		pl_err_set(&watch->err, PL_CANCELED, "watch: canceled");
	else
		watch_finish(watch, PL_CANCELED, "canceled", NULL);
}

enum pl_code faulty_progress(struct kv *kv, struct kv_watch *handle, int64_t revision,
                             struct pl_err *err)
{
	struct faulty_watcher *watch = (struct faulty_watcher *)(void *)handle;

	if (watch->ending || !watch->live)
		return pl_err_set(err, PL_CANCELED, "watch: the end is on its way");
	return kv_progress(PL_CONTAINER_OF(kv, struct faulty, wrapper.kv)->wrapper.inner,
	                   watch->inner, revision, err);
}

void faulty_watches_pause(struct faulty *f)
{
	uint64_t now = kv_now_ms(f->wrapper.inner);

	PL_LIST_EACH (link, &f->watches) {
		struct faulty_watcher *watch =
			PL_LIST_ITEM(link, struct faulty_watcher, link);

		watch->defer_until_ms = 0;
		PL_LIST_EACH (at, &watch->deferred)
			PL_LIST_ITEM(at, struct faulty_deferred, link)->due_ms = now;
		if (!watch->ending)
			watch_arm(watch);
	}
}

void faulty_watches_close(struct faulty *f)
{
	PL_LIST_EACH (link, &f->watches) {
		struct faulty_watcher *watch =
			PL_LIST_ITEM(link, struct faulty_watcher, link);

		if (!watch->ending)
			watch_finish(watch, PL_CANCELED, "closed", NULL);
	}
}
