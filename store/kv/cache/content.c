#include "store/kv/cache/cache_int.h"
#include "store/kv/keys.h"

struct cache_version *cache_find(const struct cache *cache, struct pl_span order)
{
	struct pl_btree_cursor cursor = pl_btree_seek(&cache->content, order);
	struct pl_btree_node *node = pl_btree_next(&cursor);

	return node != NULL && pl_span_eq(node->key, order) ? cache_version_of(node)
	                                                    : NULL;
}

/* Changes of an unrelated list have no order, and no watch can begin before them. */
static bool goes_into_window(const struct cache *cache)
{
	return cache_window_is_on(cache) && !cache->is_unrelated;
}

/* Puts the change into the window, after version has taken the place of before in the
 * tree. False: the window does not keep it, the two are not linked, and nothing before
 * the change can be read any more. */
static bool enter_window(struct cache *cache, struct cache_version *version,
                         struct cache_version *before, const struct cache_note *note)
{
	const struct cache_change change = {
		.revision = note->revision, .version = version, .listed = note->listed};

	version->older = before;
	if (goes_into_window(cache) && cache_window_add(cache, &change))
		return true;
	version->older = NULL;
	cache_window_raise_floor(cache, note->revision);
	return false;
}

/* Tells the listeners. The cache's revision moves on at the last change of a revision,
 * and after a list only when all of the list has been applied. */
static void tell_change(struct cache *cache, const struct cache_note *note)
{
	cache->changes++;
	if (!note->listed && !note->more)
		cache->revision = note->revision;
	cache_kick(cache);
	cache_tell(cache, note);
}

enum pl_code cache_put(struct cache *cache, struct cache_version *version,
                       const struct cache_note *change)
{
	struct cache_note note = *change;
	struct cache_version *before;
	enum pl_code code;
	bool kept;

	code = pl_btree_reserve(&cache->content);
	if (code == PL_OK)
		code = cache_charge(cache, version->bytes);
	if (code != PL_OK) {
		cache_version_discard(version);
		return code;
	}
	before = cache_find(cache, version->node.key);
	if (before == NULL)
		pl_btree_add(&cache->content, &version->node);
	else
		pl_btree_replace(&cache->content, &before->node, &version->node);
	note.before = cache_version_entry(before);
	note.after = &version->entry;
	note.type = note.before == NULL ? CACHE_ADDED : CACHE_UPDATED;
	cache->count += note.before == NULL;
	kept = enter_window(cache, version, before, &note);
	tell_change(cache, &note);
	if (!kept)
		cache_version_release(cache, before);
	return PL_OK;
}

void cache_remove(struct cache *cache, struct cache_version *version,
                  const struct cache_note *change)
{
	struct cache_version *deleted = NULL;
	struct cache_note note = *change;

	note.type = CACHE_DELETED;
	note.before = &version->entry;
	cache->count--;
	if (goes_into_window(cache)) {
		deleted = cache_version_deleted(cache, version, note.revision);
		if (deleted == NULL)
			cache_window_reset(cache, note.revision);
	}
	if (deleted != NULL) {
		pl_btree_replace(&cache->content, &version->node, &deleted->node);
		if (enter_window(cache, deleted, version, &note)) {
			tell_change(cache, &note);
			return;
		}
		pl_btree_del(&cache->content, &deleted->node);
		cache_version_release(cache, deleted);
	} else {
		pl_btree_del(&cache->content, &version->node);
		cache_window_raise_floor(cache, note.revision);
	}
	tell_change(cache, &note);
	cache_version_release(cache, version);
}

void cache_forget_deleted(struct cache *cache, struct cache_version *version)
{
	/* If the key was created again, a newer version holds this one. */
	if (cache_find(cache, version->node.key) != version)
		return;
	pl_btree_del(&cache->content, &version->node);
	cache_version_release(cache, version);
	cache->changes++;
}

void cache_content_free(struct cache *cache)
{
	struct pl_btree_cursor cursor =
		pl_btree_seek(&cache->content, (struct pl_span){0});
	struct pl_btree_node *node;

	/* The tree is freed last. The walk reads its pages, but not the versions that are
	 * gone. */
	while ((node = pl_btree_next(&cursor)) != NULL)
		cache_version_release(cache, cache_version_of(node));
	pl_btree_done(&cache->content);
	cache->count = 0;
}

/* -- ranges ---------------------------------------------------------------------- */

enum pl_code cache_range_begin(const struct cache *cache, struct kv_keys orders,
                               int64_t revision, struct cache_range *out)
{
	if (revision > cache->revision)
		return PL_FUTURE;
	if (revision != 0 &&
	    (revision < cache->window.floor || cache_is_in_gap(cache, revision)))
		return PL_COMPACTED;
	*out = (struct cache_range){.cache = cache,
	                            .orders = orders,
	                            .revision = revision,
	                            .cursor = pl_btree_seek(&cache->content, orders.from),
	                            .changes = cache->changes};
	return PL_OK;
}

const struct cache_entry *cache_range_next(struct cache_range *range)
{
	const struct cache_entry *entry;
	struct pl_btree_node *node;

	PL_ASSERT(range->changes == range->cache->changes);
	while ((node = pl_btree_next(&range->cursor)) != NULL) {
		const struct cache_version *version = cache_version_of(node);

		if (!kv_key_in(range->orders, node->key))
			break;
		while (range->revision != 0 && version != NULL &&
		       version->entry.mod_revision > range->revision)
			version = version->older;
		entry = cache_version_entry(version);
		if (entry != NULL)
			return entry;
	}
	range->cursor = (struct pl_btree_cursor){0};
	return NULL;
}

const struct cache_entry *cache_get(const struct cache *cache, struct pl_span order)
{
	return cache_version_entry(cache_find(cache, order));
}
