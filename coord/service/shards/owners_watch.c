#include "coord/service/shards/owners_watch.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/kv/keys.h"

/*
 * The entries are the objects of an informer over /partitions/. A list is reported as a
 * whole (SYNCED), a change of the watch by itself (CHANGED).
 */

struct owners_watch {
	struct cache *cache;
	struct cache_listener listener;
	owners_watch_fn *fn;
	void *ctx;
};

/* -- entries -------------------------------------------------------------------- */

static enum pl_code parse_owner(void *ctx, const struct kv_record *record, void **object,
                                size_t *bytes)
{
	struct owners_watch_entry *entry = pl_calloc(1, sizeof *entry);
	struct keys_id id = {0};

	(void)ctx;
	if (entry == NULL)
		return PL_NOMEM;
	entry->key = record->key;
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
	*bytes += sizeof *entry;
	*object = entry;
	return PL_OK;
}

static const struct owners_watch_entry *entry_of(const struct cache_entry *entry)
{
	return entry == NULL ? NULL : entry->object;
}

/* -- notes ---------------------------------------------------------------------- */

static void report_change(struct owners_watch *owners, const struct cache_note *note)
{
	const struct cache_entry *named =
		note->after == NULL ? note->before : note->after;

	if (!note->listed)
		owners->fn(owners->ctx,
		           &(struct owners_watch_note){.what = OWNERS_WATCH_CHANGED,
		                                       .key = entry_of(named)->key,
		                                       .entry = entry_of(note->after)});
}

static void emit_note(struct owners_watch *owners, enum owners_watch_what what,
                      const struct pl_err *err)
{
	owners->fn(owners->ctx, &(struct owners_watch_note){.what = what, .err = err});
}

static void finish_stop(struct owners_watch *owners)
{
	static const struct owners_watch_note stopped = {.what = OWNERS_WATCH_STOPPED};
	owners_watch_fn *fn = owners->fn;
	void *ctx = owners->ctx;

	free(owners);
	fn(ctx, &stopped);
}

static void on_note(void *ctx, const struct cache_note *note)
{
	struct owners_watch *owners = ctx;

	switch (note->type) {
	case CACHE_ADDED:
	case CACHE_UPDATED:
	case CACHE_DELETED:
		report_change(owners, note);
		break;
	case CACHE_SYNCED:
		emit_note(owners, OWNERS_WATCH_SYNCED, NULL);
		break;
	case CACHE_PROGRESS:
		break;
	case CACHE_LOST:
		emit_note(owners, OWNERS_WATCH_LOST, note->err);
		break;
	case CACHE_TROUBLE:
		emit_note(owners, OWNERS_WATCH_TROUBLE, note->err);
		break;
	case CACHE_STOPPED:
		finish_stop(owners);
		break;
	}
}

/* -- life ----------------------------------------------------------------------- */

enum pl_code owners_watch_open(struct kv *kv, owners_watch_fn *fn, void *ctx,
                               struct owners_watch **out, struct pl_err *err)
{
	const struct keys_id id = {.kind = KEYS_OWNER};
	struct owners_watch *owners = pl_calloc(1, sizeof *owners);
	struct cache_opts opts = {.parse = parse_owner, .free_object = free};
	struct keys_text prefix;
	enum pl_code code;

	if (owners == NULL)
		return pl_err_set(err, PL_NOMEM, "owners of partitions");
	owners->fn = fn;
	owners->ctx = ctx;
	code = keys_prefix(&id, 1, &prefix, err);
	if (code == PL_OK) {
		opts.list.keys = kv_prefix(keys_span(&prefix));
		code = cache_open(kv, &opts, &owners->cache, err);
	}
	if (code != PL_OK) {
		free(owners);
		return code;
	}
	cache_listen(owners->cache, &owners->listener, on_note, owners);
	*out = owners;
	return PL_OK;
}

void owners_watch_stop(struct owners_watch *owners)
{
	cache_stop(owners->cache);
}

/* -- reading -------------------------------------------------------------------- */

size_t owners_watch_count(const struct owners_watch *owners)
{
	return cache_count(owners->cache);
}

const struct owners_watch_entry *owners_watch_get(const struct owners_watch *owners,
                                                  struct pl_span key)
{
	return entry_of(cache_get(owners->cache, key));
}

const struct owners_watch_entry *owners_watch_of(const struct owners_watch *owners,
                                                 uint32_t partition)
{
	const struct keys_id id = {.kind = KEYS_OWNER, .partition = partition};
	struct keys_text key;

	if (keys_build(&id, &key, NULL) != PL_OK)
		return NULL;
	return owners_watch_get(owners, keys_span(&key));
}

void owners_walk_begin(const struct owners_watch *owners, struct owners_walk *walk)
{
	if (cache_range_begin(owners->cache, kv_all_keys(), 0, &walk->range) != PL_OK)
		PL_UNREACHABLE("a range of the present");
}

const struct owners_watch_entry *owners_walk_next(struct owners_walk *walk)
{
	return entry_of(cache_range_next(&walk->range));
}

uint32_t owners_watch_owned(const struct owners_watch *owners, struct pl_span shard)
{
	const struct owners_watch_entry *entry;
	struct owners_walk walk;
	uint32_t owned = 0;

	owners_walk_begin(owners, &walk);
	while ((entry = owners_walk_next(&walk)) != NULL)
		owned += pl_span_eq(pl_span_str(entry->owner.shard), shard);
	return owned;
}
