#include "coord/membership/roster.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/compiler.h"
#include "store/keys/keys.h"
#include "store/kv/cache/cache.h"
#include "store/kv/keys.h"

/*
 * The records are kept by an informer over /shards/, with a roster_entry as the object of
 * each of its entries. A list is applied at its end and reported as a whole (SYNCED), a
 * change of the watch by itself (CHANGED). The informer reads everything again when there
 * is no memory for an entry.
 */

enum { ARENA_CHUNK = 2048 };

struct roster_node {
	struct roster_entry entry;
	struct pl_arena arena; /* of key and member */
	struct pl_span key;
};

struct roster {
	struct cache *cache;
	struct cache_listener listener;
	struct keys_text prefix;
	roster_fn *fn;
	void *ctx;
};

/* -- entries ----------------------------------------------------------------------- */

static struct pl_span id_in(const struct roster *r, struct pl_span key)
{
	PL_ASSERT(pl_span_starts(key, keys_span(&r->prefix)));
	return pl_span(key.at + r->prefix.len, key.len - r->prefix.len);
}

static void node_free(void *object)
{
	struct roster_node *node = object;

	pl_arena_done(&node->arena);
	free(node);
}

/* A record that does not parse makes an entry too. */
static enum pl_code node_fill(const struct roster *r, struct roster_node *node,
                              const struct kv_record *record)
{
	struct roster_entry *entry = &node->entry;
	struct keys_id key = {0};
	struct pl_span id;
	enum pl_code code;

	entry->create_revision = record->create_revision;
	entry->mod_revision = record->mod_revision;
	entry->lease = record->lease;
	node->key = pl_arena_dup(&node->arena, record->key);
	if (node->key.at == NULL)
		return PL_NOMEM;
	id = id_in(r, node->key);
	code = keys_parse(record->key, &key, &entry->why);
	if (code == PL_OK)
		code = membership_parse(id, record->value, &node->arena, &entry->member,
		                        &entry->why);
	if (code == PL_NOMEM)
		return code;
	entry->malformed = code != PL_OK;
	if (entry->malformed)
		entry->member = (struct membership){.id = id};
	return PL_OK;
}

static enum pl_code node_parse(void *ctx, const struct kv_record *record, void **object,
                               size_t *bytes)
{
	struct roster_node *node = pl_calloc(1, sizeof *node);

	if (node == NULL)
		return PL_NOMEM;
	pl_arena_init(&node->arena, ARENA_CHUNK, 0);
	if (node_fill(ctx, node, record) != PL_OK) {
		node_free(node);
		return PL_NOMEM;
	}
	*bytes += sizeof *node + node->arena.used;
	*object = node;
	return PL_OK;
}

static const struct roster_entry *entry_of(const struct cache_entry *entry)
{
	return entry == NULL ? NULL : &((const struct roster_node *)entry->object)->entry;
}

/* -- notes ------------------------------------------------------------------------- */

static void report_change(struct roster *r, const struct cache_note *note)
{
	const struct roster_entry *entry = entry_of(note->after);
	const struct roster_entry *named = entry == NULL ? entry_of(note->before) : entry;

	if (!note->listed)
		r->fn(r->ctx, &(struct roster_note){.what = ROSTER_CHANGED,
		                                    .revision = note->revision,
		                                    .id = named->member.id,
		                                    .entry = entry});
}

static void roster_finish(struct roster *r)
{
	static const struct roster_note stopped = {.what = ROSTER_STOPPED};
	roster_fn *fn = r->fn;
	void *ctx = r->ctx;

	free(r);
	fn(ctx, &stopped);
}

static void on_note(void *ctx, const struct cache_note *note)
{
	struct roster *r = ctx;

	switch (note->type) {
	case CACHE_ADDED:
	case CACHE_UPDATED:
	case CACHE_DELETED:
		report_change(r, note);
		break;
	case CACHE_SYNCED:
		r->fn(r->ctx, &(struct roster_note){.what = ROSTER_SYNCED,
		                                    .revision = note->revision});
		break;
	case CACHE_PROGRESS:
		break;
	case CACHE_LOST:
		r->fn(r->ctx,
		      &(struct roster_note){.what = ROSTER_LOST, .err = note->err});
		break;
	case CACHE_TROUBLE:
		r->fn(r->ctx,
		      &(struct roster_note){.what = ROSTER_TROUBLE, .err = note->err});
		break;
	case CACHE_STOPPED:
		roster_finish(r);
		break;
	}
}

/* -- life -------------------------------------------------------------------------- */

enum pl_code roster_open(struct kv *kv, uint64_t seed, roster_fn *fn, void *ctx,
                         struct roster **out, struct pl_err *err)
{
	struct keys_id shards = {.kind = KEYS_SHARD};
	struct roster *r = pl_calloc(1, sizeof *r);
	struct cache_opts opts = {.list = {.seed = seed},
	                          .parse = node_parse,
	                          .free_object = node_free,
	                          .ctx = r,
	                          .drop_values = true};
	enum pl_code code;

	if (r == NULL)
		return pl_err_set(err, PL_NOMEM, "roster");
	r->fn = fn;
	r->ctx = ctx;
	code = keys_prefix(&shards, 1, &r->prefix, err);
	opts.list.keys = kv_prefix(keys_span(&r->prefix));
	if (code == PL_OK)
		code = cache_open(kv, &opts, &r->cache, err);
	if (code != PL_OK) {
		free(r);
		return code;
	}
	cache_listen(r->cache, &r->listener, on_note, r);
	*out = r;
	return PL_OK;
}

void roster_stop(struct roster *r)
{
	cache_stop(r->cache);
}

bool roster_synced(const struct roster *r)
{
	return cache_synced(r->cache);
}

size_t roster_count(const struct roster *r)
{
	return cache_count(r->cache);
}

/* The first entry from this key on, or the second one. */
static const struct roster_entry *entry_from(const struct roster *r, struct pl_span key,
                                             bool second)
{
	struct cache_range range;

	if (cache_range_begin(r->cache, kv_from(key), 0, &range) != PL_OK)
		return NULL;
	if (second)
		(void)cache_range_next(&range);
	return entry_of(cache_range_next(&range));
}

const struct roster_entry *roster_get(const struct roster *r, struct pl_span id)
{
	struct keys_text key = r->prefix;

	if (id.len >= sizeof key.at - key.len)
		return NULL; /* longer than any id of a shard */
	memcpy(key.at + key.len, id.at, id.len);
	key.len += id.len;
	return entry_of(cache_get(r->cache, keys_span(&key)));
}

const struct roster_entry *roster_first(const struct roster *r)
{
	return entry_from(r, keys_span(&r->prefix), false);
}

const struct roster_entry *roster_next(const struct roster *r,
                                       const struct roster_entry *entry)
{
	return entry_from(r, PL_CONTAINER_OF_CONST(entry, struct roster_node, entry)->key,
	                  true);
}
