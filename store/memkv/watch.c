/*
 * Watches. New events are found through an index of the watched ranges. Past events are
 * read from the log of revisions after READY has been delivered, one revision at a time,
 * so that a long past needs no memory.
 *
 * A watch is alive while it is open, and while the queue still refers to it.
 */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/keys.h"
#include "store/memkv/impl.h"

void watch_unref(struct mem_watch *watch)
{
	PL_ASSERT(watch->refs > 0);
	if (--watch->refs == 0)
		free(watch);
}

/* The range's begin and end are written behind the watch, which has room for both. */
static void set_range(struct mem_watch *watch, const struct kv_keys *keys)
{
	struct interval_tree_node *node = &watch->node;
	uint8_t *at = watch->bytes;
	struct pl_span end = pl_span(NULL, 0);

	if (keys->from.len != 0)
		memcpy(at, keys->from.at, keys->from.len);
	node->begin = pl_span(at, keys->from.len);
	at += keys->from.len;
	switch (keys->kind) {
	case KV_ONE:
		if (keys->from.len != 0)
			memcpy(at, keys->from.at, keys->from.len);
		at[keys->from.len] = 0;
		end = pl_span(at, keys->from.len + 1);
		break;
	case KV_RANGE:
		memcpy(at, keys->to.at, keys->to.len);
		end = pl_span(at, keys->to.len);
		break;
	case KV_PREFIX:
		end = kv_prefix_end(keys->from, at);
		break;
	case KV_FROM:
		break;
	}
	node->end = end;
	node->endless = end.len == 0;
}

static void queue_ready(struct mem_watch *watch)
{
	int64_t next = watch->past <= watch->past_end ? watch->past : watch->min_rev;

	PL_ASSERT(watch->state != MEM_WATCH_ENDED);
	watch->state = MEM_WATCH_QUEUED;
	watch->ready_rev = next - 1;
	watch->ready_now = watch->session->mem->mvcc->revision;
	pl_list_del(&watch->ready.link);
	mem_queue_add(watch->session->mem, &watch->ready);
}

enum pl_code watch_start(struct mem_session *session, const struct kv_watch_req *req,
                         kv_watch_fn *fn, void *ctx, struct mem_watch **out,
                         struct pl_err *err)
{
	struct memkv *mem = session->mem;
	int64_t now = mem->mvcc->revision;
	int64_t from = req->from_revision == 0 ? now + 1 : req->from_revision;
	struct mem_watch *watch =
		pl_malloc(sizeof *watch + 2 * req->keys.from.len + 1 + req->keys.to.len);

	if (watch == NULL)
		return pl_err_set(err, PL_NOMEM, "watch");
	*watch = (struct mem_watch){
		.session = session,
		.fn = fn,
		.ctx = ctx,
		.want_prev = req->want_prev,
		.no_puts = req->no_puts,
		.no_deletes = req->no_deletes,
		.refs = 1,
		.min_rev = from > now ? from : now + 1,
		.past = from,
		.past_end = now,
		.ready = {.kind = DELIVERY_READY},
		.end = {.kind = DELIVERY_END},
	};
	pl_list_init(&watch->ready.link);
	pl_list_init(&watch->end.link);
	set_range(watch, &req->keys);
	watch->node.seq = mem->watch_seq++;
	interval_tree_add(&mem->watches, &watch->node);
	pl_list_add_tail(&session->watches, &watch->link);
	queue_ready(watch);
	*out = watch;
	return PL_OK;
}

/* The delivery of the end gives the watch's own reference back. */
void watch_end(struct mem_watch *watch, enum pl_code code, const char *why)
{
	(void)pl_err_set(&watch->end_err, code, "watch: %s", why);
	if (watch->state == MEM_WATCH_ENDED)
		return;
	watch->state = MEM_WATCH_ENDED;
	interval_tree_del(&watch->session->mem->watches, &watch->node);
	pl_list_del(&watch->ready.link);
	mem_queue_add(watch->session->mem, &watch->end);
}

void watch_deliver_end(struct mem_watch *watch)
{
	struct kv_watch_note note = {
		.what = KV_WATCH_END,
		.header = mem_header(watch->session->mem),
		.err = &watch->end_err,
	};

	if (watch->end_err.code == PL_COMPACTED)
		note.compact_revision = watch->compact_revision;
	note.revision = note.header.revision;
	pl_list_del(&watch->link);
	watch->fn(watch->ctx, &note);
	watch_unref(watch);
}

enum pl_code watch_progress(struct mem_watch *watch, struct pl_err *err)
{
	struct memkv *mem = watch->session->mem;
	struct mem_note *note;

	if (watch->state == MEM_WATCH_ENDED)
		return pl_err_set(err, PL_CANCELED, "watch has ended");
	if (mem->opts.no_progress)
		return PL_OK;
	note = note_new(watch, mem->mvcc->revision);
	if (note == NULL)
		return pl_err_set(err, PL_NOMEM, "watch progress");
	mem_queue_add(mem, &note->delivery);
	return PL_OK;
}

/* The store does not have a revision any more that the watch was told of. */
void watch_reconnect(struct mem_watch *watch)
{
	struct memkv *mem = watch->session->mem;

	if (watch->state == MEM_WATCH_ENDED)
		return;
	if (watch->seen_rev > mem->mvcc->revision) {
		watch_end(watch, PL_REWOUND, "the store's revision went back");
		return;
	}
	queue_ready(watch);
}

/* The next past revision with an event for the watch. NULL with PL_OK: there is none
 * left. */
static enum pl_code past_next(struct mem_watch *watch, struct mem_note **out)
{
	struct memkv *mem = watch->session->mem;
	struct pl_span begin = watch->node.begin, end = watch->node.end;
	bool endless = watch->node.endless;

	*out = NULL;
	for (; watch->past <= watch->past_end && *out == NULL; watch->past++) {
		uint32_t count;
		struct mem_version **changes =
			revlog_at(&mem->mvcc->log, watch->past, &count);

		for (uint32_t i = 0; i < count; i++) {
			struct mem_version *version = changes[i];
			struct pl_span key = version->key->node.key;

			if (pl_span_cmp(key, begin) < 0 ||
			    (!endless && pl_span_cmp(key, end) >= 0) ||
			    (mem_is_delete(version) ? watch->no_deletes : watch->no_puts))
				continue;
			if (*out == NULL)
				*out = note_new(watch, watch->past);
			if (*out == NULL || note_add(mem->mvcc, *out, version) != PL_OK)
				return PL_NOMEM;
		}
	}
	return PL_OK;
}

static void deliver_announcement(struct mem_watch *watch)
{
	struct kv_watch_note note = {
		.what = KV_WATCH_READY,
		.header = mem_header(watch->session->mem),
		.revision = watch->ready_rev,
	};

	note.header.revision = watch->ready_now;
	PL_ASSERT(watch->state == MEM_WATCH_QUEUED);
	watch->state = MEM_WATCH_ANNOUNCED;
	if (watch->seen_rev < watch->ready_now)
		watch->seen_rev = watch->ready_now;
	watch->fn(watch->ctx, &note);
}

/* READY comes before past events. The next delivery goes to the front of the queue before
 * the callback, which may end the watch. */
void watch_deliver_ready(struct mem_watch *watch)
{
	struct memkv *mem = watch->session->mem;
	struct mem_note *note = NULL;
	enum pl_code code;

	if (watch->past_end > mem->mvcc->revision)
		/* the store was restored meanwhile */
		watch->past_end = mem->mvcc->revision;
	if (watch->state == MEM_WATCH_QUEUED) {
		if (watch->past <= watch->past_end)
			mem_queue_add_first(mem, &watch->ready);
		deliver_announcement(watch);
		return;
	}
	if (watch->past < mem->mvcc->compacted && watch->past <= watch->past_end) {
		watch->compact_revision = mem->mvcc->compacted;
		watch_end(watch, PL_COMPACTED, "its revision has been compacted");
		return;
	}
	code = past_next(watch, &note);
	if (code != PL_OK) {
		if (note != NULL)
			note_free(note);
		watch_end(watch, PL_NOMEM, "no memory for its past events");
		return;
	}
	if (note == NULL)
		return;
	if (watch->past <= watch->past_end)
		mem_queue_add_first(mem, &watch->ready);
	note_deliver(note);
}
