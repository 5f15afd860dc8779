#include "coord/service/shards/owners_watch.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "store/kv/relist.h"

/*
 * Happy path: a list is read into a list of its own, which replaces what was known
 * when it is complete; then each event replaces one entry. A list that can not be
 * kept (memory, or far more keys than there may be) ends everything with LOST: a
 * command has nothing better to do than to say so.
 */

enum { ENTRIES_MAX = 2 * KEYS_PARTITIONS_MAX };

struct owners_node {
	struct owners_watch_entry entry;
	uint8_t key[];
};

struct owners_list {
	struct owners_node **at;
	size_t count, cap;
};

struct owners_watch {
	struct relist *relist;
	struct owners_list current, next;
	struct keys_text prefix;
	bool synced, broken;
	owners_watch_fn *fn;
	void *ctx;
};

static struct owners_node *node_new(const struct kv_record *record)
{
	struct owners_node *node = pl_calloc(1, sizeof *node + record->key.len);
	struct keys_id id = {0};
	struct owners_watch_entry *entry;

	if (node == NULL)
		return NULL;
	memcpy(node->key, record->key.at, record->key.len);
	entry = &node->entry;
	entry->key = pl_span(node->key, record->key.len);
	entry->mod_revision = record->mod_revision;
	entry->is_partition = keys_parse(record->key, &id, &entry->why) == PL_OK;
	entry->partition = id.partition;
	entry->malformed =
		!entry->is_partition ||
		owner_parse(record->value, &entry->owner, &entry->why) != PL_OK;
	if (entry->malformed)
		entry->owner = (struct owner){0};
	entry->owner.epoch = record->create_revision;
	entry->owner.lease = record->lease;
	return node;
}

/* The place of the first entry that is not before key. */
static size_t list_index(const struct owners_list *list, struct pl_span key)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (pl_span_cmp(list->at[mid]->entry.key, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool stands_at(const struct owners_list *list, size_t place, struct pl_span key)
{
	return place < list->count && pl_span_eq(list->at[place]->entry.key, key);
}

static enum pl_code list_grow(struct owners_list *list)
{
	size_t cap = list->cap == 0 ? 64 : list->cap * 2;
	struct owners_node **at;

	if (list->count < list->cap)
		return PL_OK;
	if (list->count >= ENTRIES_MAX)
		return PL_LIMIT;
	at = pl_realloc(list->at, cap * sizeof(struct owners_node *));
	if (at == NULL)
		return PL_NOMEM;
	list->at = at;
	list->cap = cap;
	return PL_OK;
}

static enum pl_code list_put(struct owners_list *list, const struct kv_record *record)
{
	size_t place = list_index(list, record->key);
	struct owners_node *node = node_new(record);
	enum pl_code code;

	if (node == NULL)
		return PL_NOMEM;
	if (stands_at(list, place, record->key)) {
		free(list->at[place]);
		list->at[place] = node;
		return PL_OK;
	}
	code = list_grow(list);
	if (code != PL_OK) {
		free(node);
		return code;
	}
	memmove(&list->at[place + 1], &list->at[place],
	        (list->count - place) * sizeof(struct owners_node *));
	list->at[place] = node;
	list->count++;
	return PL_OK;
}

static bool list_remove(struct owners_list *list, struct pl_span key)
{
	size_t place = list_index(list, key);

	if (!stands_at(list, place, key))
		return false;
	free(list->at[place]);
	list->count--;
	memmove(&list->at[place], &list->at[place + 1],
	        (list->count - place) * sizeof(struct owners_node *));
	return true;
}

static void list_done(struct owners_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->at[i]);
	free(list->at);
	*list = (struct owners_list){0};
}

/* -- notes ---------------------------------------------------------------------- */

static void emit_note(struct owners_watch *o, enum owners_watch_what what,
                      const struct pl_err *err)
{
	o->fn(o->ctx, &(struct owners_watch_note){.what = what, .err = err});
}

static void stop_with_error(struct owners_watch *o, enum pl_code code)
{
	struct pl_err err;

	pl_err_set(&err, code, "keep the owners of %zu partitions", o->current.count);
	o->broken = true;
	o->synced = false;
	emit_note(o, OWNERS_WATCH_LOST, &err);
}

static void on_page(struct owners_watch *o, const struct relist_note *note)
{
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < note->count && code == PL_OK; i++)
		code = list_put(&o->next, &note->records[i]);
	if (code != PL_OK)
		stop_with_error(o, code);
}

static void on_end(struct owners_watch *o)
{
	list_done(&o->current);
	o->current = o->next;
	o->next = (struct owners_list){0};
	o->synced = true;
	emit_note(o, OWNERS_WATCH_SYNCED, NULL);
}

static void on_event(struct owners_watch *o, const struct kv_event *event)
{
	struct owners_watch_note note = {.what = OWNERS_WATCH_CHANGED,
	                                 .key = event->record.key};
	enum pl_code code;

	if (event->is_delete) {
		if (list_remove(&o->current, note.key))
			o->fn(o->ctx, &note);
		return;
	}
	code = list_put(&o->current, &event->record);
	if (code != PL_OK) {
		stop_with_error(o, code);
		return;
	}
	note.entry = &o->current.at[list_index(&o->current, note.key)]->entry;
	o->fn(o->ctx, &note);
}

static void finish_stop(struct owners_watch *o)
{
	static const struct owners_watch_note stopped = {.what = OWNERS_WATCH_STOPPED};
	owners_watch_fn *fn = o->fn;
	void *ctx = o->ctx;

	list_done(&o->current);
	list_done(&o->next);
	free(o);
	fn(ctx, &stopped);
}

static void on_note(void *ctx, const struct relist_note *note)
{
	struct owners_watch *o = ctx;

	if (note->what == RELIST_STOPPED) {
		finish_stop(o);
		return;
	}
	if (o->broken)
		return;
	switch (note->what) {
	case RELIST_BEGIN:
		list_done(&o->next);
		break;
	case RELIST_PAGE:
		on_page(o, note);
		break;
	case RELIST_END:
		on_end(o);
		break;
	case RELIST_EVENTS:
		for (size_t i = 0; i < note->count && o->synced; i++)
			on_event(o, &note->events[i]);
		break;
	case RELIST_LOST:
		o->synced = false;
		emit_note(o, OWNERS_WATCH_LOST, note->err);
		break;
	case RELIST_TROUBLE:
		emit_note(o, OWNERS_WATCH_TROUBLE, note->err);
		break;
	case RELIST_PROGRESS:
	case RELIST_STOPPED:
		break;
	}
}

/* -- life ----------------------------------------------------------------------- */

enum pl_code owners_watch_open(struct kv *kv, owners_watch_fn *fn, void *ctx,
                               struct owners_watch **out, struct pl_err *err)
{
	struct keys_id id = {.kind = KEYS_OWNER};
	struct owners_watch *o = pl_calloc(1, sizeof *o);
	struct relist_opts opts = {0};
	enum pl_code code;

	if (o == NULL)
		return pl_err_set(err, PL_NOMEM, "owners of partitions");
	o->fn = fn;
	o->ctx = ctx;
	code = keys_prefix(&id, 1, &o->prefix, err);
	if (code == PL_OK) {
		opts.keys = kv_prefix(keys_span(&o->prefix));
		code = relist_open(kv, &opts, on_note, o, &o->relist, err);
	}
	if (code != PL_OK) {
		free(o);
		return code;
	}
	*out = o;
	return PL_OK;
}

void owners_watch_stop(struct owners_watch *owners)
{
	relist_stop(owners->relist);
}

size_t owners_watch_count(const struct owners_watch *owners)
{
	return owners->current.count;
}

const struct owners_watch_entry *owners_watch_at(const struct owners_watch *owners,
                                                 size_t i)
{
	PL_ASSERT(i < owners->current.count);
	return &owners->current.at[i]->entry;
}

const struct owners_watch_entry *owners_watch_get(const struct owners_watch *owners,
                                                  struct pl_span key)
{
	size_t place = list_index(&owners->current, key);

	return stands_at(&owners->current, place, key) ? &owners->current.at[place]->entry
	                                               : NULL;
}

const struct owners_watch_entry *owners_watch_of(const struct owners_watch *owners,
                                                 uint32_t partition)
{
	struct keys_id id = {.kind = KEYS_OWNER, .partition = partition};
	struct keys_text key;

	if (keys_build(&id, &key, NULL) != PL_OK)
		return NULL;
	return owners_watch_get(owners, keys_span(&key));
}

uint32_t owners_watch_owned(const struct owners_watch *owners, struct pl_span shard)
{
	uint32_t owned = 0;

	for (size_t i = 0; i < owners->current.count; i++)
		owned += pl_span_eq(pl_span_str(owners->current.at[i]->entry.owner.shard),
		                    shard);
	return owned;
}
