#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/cache/cache_int.h"

/*
 * While a list is read, each record is looked up. If the content has the same version, it
 * is marked with the list's number; otherwise the record waits as a new version. At the
 * list's end the entries without the mark are gone from the store. So a list costs memory
 * only for what has changed.
 */

enum { FOUND_MIN = 64 };

void cache_list_drop(struct cache *cache)
{
	struct cache_difference *difference = &cache->difference;

	for (size_t i = 0; i < difference->count; i++)
		if (!difference->at[i].gone)
			cache_version_discard(difference->at[i].version);
	free(difference->at);
	*difference = (struct cache_difference){0};
}

/* A difference may have as many bytes as content and window together. */
static enum pl_code charge(struct cache *cache, size_t bytes)
{
	if (cache->difference.bytes + bytes > cache->opts.bytes_max)
		return PL_LIMIT;
	cache->difference.bytes += bytes;
	return PL_OK;
}

static enum pl_code grow(struct cache *cache)
{
	struct cache_difference *difference = &cache->difference;
	size_t cap = difference->cap == 0 ? FOUND_MIN : difference->cap * 2;
	size_t size = sizeof difference->at[0];
	struct cache_found *at;

	if (difference->count < difference->cap)
		return PL_OK;
	at = pl_realloc(difference->at, cap * size);
	if (at == NULL)
		return PL_NOMEM;
	difference->at = at;
	difference->bytes += (cap - difference->cap) * size;
	difference->cap = cap;
	return PL_OK;
}

/* The mod_revision tells versions of a key apart, unless the revisions are another
 * store's. */
static bool is_same(const struct cache *cache, const struct cache_entry *entry,
                    const struct kv_record *record)
{
	if (entry->mod_revision != record->mod_revision)
		return false;
	return !cache->is_unrelated ||
	       (!cache->opts.drop_values && entry->version == record->version &&
	        entry->create_revision == record->create_revision &&
	        entry->lease == record->lease && pl_span_eq(entry->value, record->value));
}

/* The revisions in the window must not go back, whatever a store says. */
static int64_t revision_of(const struct cache *cache, const struct kv_record *record)
{
	if (!cache->is_unrelated && record->mod_revision < cache->revision)
		return cache->revision;
	return record->mod_revision;
}

enum pl_code cache_list_record(struct cache *cache, const struct kv_record *record)
{
	struct cache_difference *difference = &cache->difference;
	struct cache_version *current, *version = NULL;
	uint8_t buf[CACHE_ORDER_MAX];
	enum pl_code code;

	if (!cache_wants(cache, record->key))
		return PL_OK;
	current = cache_find(cache, cache_order(cache, record->key, buf));
	if (current != NULL && !current->deleted) {
		current->list_no = cache->list_no;
		if (is_same(cache, &current->entry, record))
			return PL_OK;
	}
	code = grow(cache);
	if (code == PL_OK)
		code = cache_version_new(cache, record, &version);
	if (code == PL_OK)
		code = charge(cache, version->bytes);
	if (code == PL_OK)
		difference->at[difference->count++] = (struct cache_found){
			.revision = revision_of(cache, record), .version = version};
	else
		cache_version_discard(version);
	return code;
}

/* Finds the entries that the list has not shown, which are gone. */
static enum pl_code find_gone(struct cache *cache, int64_t revision)
{
	struct cache_difference *difference = &cache->difference;
	struct pl_btree_cursor cursor =
		pl_btree_seek(&cache->content, (struct pl_span){0});
	struct pl_btree_node *node;

	if (cache->count == 0)
		return PL_OK;
	while ((node = pl_btree_next(&cursor)) != NULL) {
		struct cache_version *version = cache_version_of(node);
		enum pl_code code;

		if (version->deleted || version->list_no == cache->list_no)
			continue;
		code = grow(cache);
		if (code != PL_OK)
			return code;
		difference->at[difference->count++] = (struct cache_found){
			.revision = revision, .version = version, .gone = true};
	}
	return PL_OK;
}

static int by_revision(const void *a, const void *b)
{
	const struct cache_found *x = a, *y = b;

	if (x->revision != y->revision)
		return x->revision < y->revision ? -1 : 1;
	return pl_span_cmp(x->version->node.key, y->version->node.key);
}

static enum pl_code apply_found(struct cache *cache, size_t i)
{
	struct cache_found *found = &cache->difference.at[i];
	struct cache_version *version = PL_STEAL(found->version);
	struct cache_note change = {.revision = found->revision, .listed = true};

	if (!cache->is_unrelated && i + 1 < cache->difference.count)
		change.more = found[1].revision == found->revision;
	if (!found->gone)
		return cache_put(cache, version, &change);
	cache_remove(cache, version, &change);
	return PL_OK;
}

/* By revision. If revisions say nothing, what is gone makes room for what is new. */
static enum pl_code apply_all(struct cache *cache)
{
	const struct cache_difference *difference = &cache->difference;
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < difference->count && code == PL_OK; i++)
		if (!cache->is_unrelated || difference->at[i].gone)
			code = apply_found(cache, i);
	for (size_t i = 0; i < difference->count && code == PL_OK; i++)
		if (difference->at[i].version != NULL)
			code = apply_found(cache, i);
	return code;
}

/* Remembers the gap before this list. The window drops an earlier gap with everything
 * before it. */
static void open_gap(struct cache *cache)
{
	if (cache->gap_revision < cache->list_revision)
		cache_window_trim(cache, cache->list_revision);
	cache->gap_revision = cache->revision;
}

enum pl_code cache_list_apply(struct cache *cache, int64_t revision)
{
	struct cache_difference *difference = &cache->difference;
	enum pl_code code = find_gone(cache, revision);

	if (code == PL_OK && !cache->is_unrelated && difference->count > 1)
		qsort(difference->at, difference->count, sizeof difference->at[0],
		      by_revision);
	if (code == PL_OK && !cache->is_unrelated)
		open_gap(cache);
	if (code == PL_OK)
		code = apply_all(cache);
	cache_list_drop(cache);
	if (code != PL_OK)
		return code;
	if (cache->is_unrelated) {
		cache_window_reset(cache, revision);
		cache->gap_revision = revision;
	}
	cache->is_unrelated = false;
	cache->revision = cache->list_revision = revision;
	return PL_OK;
}
