/*
 * The notes of a write for the watches. A note is complete before the write is committed,
 * so that delivering it needs no memory.
 */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/memkv/impl.h"

enum { EVENTS_MIN = 8 };

struct mem_note *note_new(struct mem_watch *watch, int64_t revision)
{
	struct mem_note *note = pl_malloc(sizeof *note);

	if (note == NULL)
		return NULL;
	*note = (struct mem_note){.delivery = {.kind = DELIVERY_NOTE},
	                          .watch = watch,
	                          .revision = revision};
	pl_list_init(&note->delivery.link);
	note->events = &note->one_event;
	note->holds = &note->one_hold;
	watch->refs++;
	return note;
}

void note_free(struct mem_note *note)
{
	for (size_t i = 0; i < note->count; i++) {
		mem_version_unref(note->holds[i].version);
		mem_version_unref(note->holds[i].prev);
	}
	if (note->cap != 0) {
		free(note->events);
		free(note->holds);
	}
	watch_unref(note->watch);
	free(note);
}

static enum pl_code note_grow(struct mem_note *note)
{
	size_t cap = note->cap == 0 ? EVENTS_MIN : note->cap * 2;
	struct kv_event *events = pl_malloc(cap * sizeof *events);
	struct mem_note_hold *holds = pl_malloc(cap * sizeof *holds);

	if (events == NULL || holds == NULL) {
		free(events);
		free(holds);
		return PL_NOMEM;
	}
	memcpy(events, note->events, note->count * sizeof *events);
	memcpy(holds, note->holds, note->count * sizeof *holds);
	if (note->cap != 0) {
		free(note->events);
		free(note->holds);
	}
	note->events = events;
	note->holds = holds;
	note->cap = cap;
	return PL_OK;
}

/* The key's version before the revision; not known if that is compacted. */
static struct mem_version *prev_of(const struct mvcc *mvcc,
                                   const struct mem_version *version)
{
	int64_t before = version->mod_revision - 1;

	if (before < mvcc->compacted)
		return NULL;
	if (!mem_is_delete(version) && version->create_revision == version->mod_revision)
		return NULL;
	return mem_at(version->key, before);
}

enum pl_code note_add(struct mvcc *mvcc, struct mem_note *note,
                      struct mem_version *version)
{
	struct kv_event *event;
	struct mem_note_hold *hold;

	if (note->count >= (note->cap == 0 ? 1 : note->cap) && note_grow(note) != PL_OK)
		return PL_NOMEM;
	event = &note->events[note->count];
	hold = &note->holds[note->count++];
	*event = (struct kv_event){.is_delete = mem_is_delete(version)};
	*hold = (struct mem_note_hold){.version = mem_version_ref(version)};
	mem_record(version, false, &event->record);
	if (note->watch->want_prev)
		hold->prev = prev_of(mvcc, version);
	if (hold->prev != NULL) {
		mem_version_ref(hold->prev);
		mem_record(hold->prev, false, &hold->prev_record);
	}
	return PL_OK;
}

void note_deliver(struct mem_note *note)
{
	struct mem_watch *watch = note->watch;
	struct kv_watch_note out = {
		.what = note->count == 0 ? KV_WATCH_PROGRESS : KV_WATCH_EVENTS,
		.header = mem_header(watch->session->mem),
		.revision = note->revision,
		.events = note->events,
		.count = note->count,
	};

	out.header.revision = note->revision;
	for (size_t i = 0; i < note->count; i++)
		if (note->holds[i].prev != NULL)
			note->events[i].prev = &note->holds[i].prev_record;
	if (watch->state != MEM_WATCH_ENDED) {
		if (watch->seen_rev < note->revision)
			watch->seen_rev = note->revision;
		watch->fn(watch->ctx, &out);
	}
	note_free(note);
}

struct note_match {
	struct memkv *mem;
	struct mem_version *version;
	struct mem_note **last;
};

static enum pl_code on_match(void *ctx, struct interval_tree_node *node)
{
	struct note_match *match = ctx;
	struct mem_watch *watch = PL_CONTAINER_OF(node, struct mem_watch, node);
	struct mem_version *version = match->version;

	if (version->mod_revision < watch->min_rev ||
	    (mem_is_delete(version) ? watch->no_deletes : watch->no_puts))
		return PL_OK;
	if (watch->open == NULL) {
		watch->open = note_new(watch, version->mod_revision);
		if (watch->open == NULL)
			return PL_NOMEM;
		*match->last = watch->open;
		match->last = &watch->open->next;
	}
	return note_add(match->mem->mvcc, watch->open, version);
}

enum pl_code notes_prepare(struct memkv *mem, struct mem_note **notes)
{
	struct note_match match = {.mem = mem, .last = notes};
	enum pl_code code = PL_OK;

	*notes = NULL;
	for (uint32_t i = 0; i < mem->mvcc->change_count && code == PL_OK; i++) {
		match.version = mem->mvcc->changes[i];
		code = interval_tree_each(&mem->watches, match.version->key->node.key,
		                          on_match, &match);
	}
	if (code != PL_OK)
		notes_forget(*notes);
	return code;
}

void notes_forget(struct mem_note *notes)
{
	while (notes != NULL) {
		struct mem_note *note = notes;

		notes = note->next;
		note->watch->open = NULL;
		note_free(note);
	}
}

void notes_queue(struct memkv *mem, struct mem_note *notes)
{
	while (notes != NULL) {
		struct mem_note *note = notes;

		notes = note->next;
		note->watch->open = NULL;
		note->watch->min_rev = note->revision + 1;
		mem_queue_add(mem, &note->delivery);
	}
}
