#include "store/kv/cache/cache_int.h"
#include "store/kv/keys.h"

/*
 * A callback may add and remove readers, and stop the cache. So a walk over listeners
 * keeps its place where a removal finds it, and a walk over watches takes each watch out
 * of a list before it calls out.
 */

/* -- listeners -------------------------------------------------------------------- */

void cache_tell(struct cache *cache, const struct cache_note *note)
{
	struct pl_list *at = cache->listeners.next;

	while (at != &cache->listeners && cache->state != CACHE_STOPPING) {
		struct cache_listener *listener =
			PL_LIST_ITEM(at, struct cache_listener, link);

		cache->next_listener = at->next;
		if (!listener->behind)
			listener->fn(listener->ctx, note);
		at = cache->next_listener;
	}
	cache->next_listener = NULL;
}

void cache_tell_err(struct cache *cache, enum cache_note_type type,
                    const struct pl_err *err)
{
	cache_tell(cache, &(struct cache_note){
				  .type = type, .revision = cache->revision, .err = err});
}

void cache_listen(struct cache *cache, struct cache_listener *listener, cache_fn *fn,
                  void *ctx)
{
	PL_ASSERT(cache->state != CACHE_STOPPING);
	*listener = (struct cache_listener){
		.cache = cache, .fn = fn, .ctx = ctx, .behind = true};
	pl_list_add_tail(&cache->listeners, &listener->link);
	cache_kick(cache);
}

void cache_unlisten(struct cache_listener *listener)
{
	struct cache *cache = listener->cache;

	if (cache == NULL)
		return;
	if (cache->next_listener == &listener->link)
		cache->next_listener = listener->link.next;
	if (cache->catching_up == listener)
		cache->catching_up = NULL;
	pl_list_del(&listener->link);
	listener->cache = NULL;
}

/* The content does not change during the walk, because only notes of the relist change
 * it. */
static void catch_up(struct cache *cache, struct cache_listener *listener)
{
	struct pl_btree_cursor cursor =
		pl_btree_seek(&cache->content, (struct pl_span){0});
	struct cache_note note = {.type = CACHE_ADDED, .listed = true};
	struct pl_btree_node *node;

	listener->behind = false;
	cache->catching_up = listener;
	while (cache->catching_up != NULL && cache->state != CACHE_STOPPING &&
	       (node = pl_btree_next(&cursor)) != NULL) {
		note.after = cache_version_entry(cache_version_of(node));
		if (note.after == NULL)
			continue;
		note.revision = note.after->mod_revision;
		listener->fn(listener->ctx, &note);
	}
	note = (struct cache_note){.type = CACHE_SYNCED, .revision = cache->revision};
	if (cache->catching_up != NULL && cache->state == CACHE_INSYNC)
		listener->fn(listener->ctx, &note);
	cache->catching_up = NULL;
}

static struct cache_listener *first_behind(const struct cache *cache)
{
	PL_LIST_EACH (link, &cache->listeners) {
		struct cache_listener *listener =
			PL_LIST_ITEM(link, struct cache_listener, link);

		if (listener->behind)
			return listener;
	}
	return NULL;
}

/* -- watches ---------------------------------------------------------------------- */

enum pl_code cache_watch_begin(struct cache *cache, struct cache_watch *watch,
                               struct kv_keys orders, int64_t revision,
                               void (*fn)(void *ctx), void *ctx)
{
	PL_ASSERT(cache->state != CACHE_STOPPING);
	if (!cache_window_is_on(cache))
		return PL_UNSUPPORTED;
	if (revision > cache->revision)
		return PL_FUTURE;
	if (revision < cache->window.floor || cache_is_in_gap(cache, revision))
		return PL_COMPACTED;
	*watch = (struct cache_watch){.cache = cache,
	                              .orders = orders,
	                              .next = cache_window_after(cache, revision),
	                              .fn = fn,
	                              .ctx = ctx};
	pl_list_add_tail(&cache->idle, &watch->link);
	cache_kick(cache);
	return PL_OK;
}

void cache_watch_end(struct cache_watch *watch)
{
	if (watch->fn == NULL)
		return;
	pl_list_del(&watch->link);
	watch->fn = NULL;
}

/* The number of the first change, from number on, whose key the watch is about. The end
 * of the window: there is none. */
static uint64_t next_of(const struct cache_watch *watch, uint64_t number)
{
	const struct cache *cache = watch->cache;

	while (number < cache->window.end &&
	       !kv_key_in(watch->orders,
	                  cache_window_at(cache, number)->version->node.key))
		number++;
	return number;
}

/* True: there is something to read, which may be the end of the watch. */
static bool find_next(struct cache_watch *watch)
{
	if (watch->ended == PL_OK && watch->next < watch->cache->window.first)
		watch->ended = PL_COMPACTED;
	if (watch->ended != PL_OK)
		return true;
	watch->next = next_of(watch, watch->next);
	return watch->next < watch->cache->window.end;
}

enum pl_code cache_watch_next(struct cache_watch *watch, struct cache_note *out)
{
	const struct cache *cache = watch->cache;
	const struct cache_change *change;

	PL_ASSERT(watch->fn != NULL);
	if (watch->ended != PL_OK)
		return watch->ended;
	if (!find_next(watch)) {
		pl_list_del(&watch->link);
		pl_list_add_tail(&watch->cache->idle, &watch->link);
		return PL_NOTFOUND;
	}
	if (watch->ended != PL_OK)
		return watch->ended;
	change = cache_window_at(cache, watch->next);
	watch->next = next_of(watch, watch->next + 1);
	*out = (struct cache_note){.revision = change->revision,
	                           .before = cache_version_entry(change->version->older),
	                           .after = cache_version_entry(change->version),
	                           .listed = change->listed};
	if (watch->next < cache->window.end)
		out->more =
			cache_window_at(cache, watch->next)->revision == change->revision;
	if (out->after == NULL)
		out->type = CACHE_DELETED;
	else
		out->type = out->before == NULL ? CACHE_ADDED : CACHE_UPDATED;
	return PL_OK;
}

int64_t cache_watch_revision(const struct cache_watch *watch)
{
	const struct cache *cache = watch->cache;
	uint64_t next;

	if (watch->ended != PL_OK || watch->next < cache->window.first)
		return 0;
	next = next_of(watch, watch->next);
	return next == cache->window.end ? cache->revision
	                                 : cache_window_at(cache, next)->revision - 1;
}

/* Takes the first watch out of the list. */
static struct cache_watch *take_watch(struct pl_list *list)
{
	struct cache_watch *watch;

	if (pl_list_empty(list))
		return NULL;
	watch = PL_LIST_ITEM(list->next, struct cache_watch, link);
	pl_list_del(&watch->link);
	return watch;
}

static void wake_watches(struct cache *cache)
{
	struct cache_watch *watch;

	pl_list_move(&cache->scanned, &cache->idle);
	while ((watch = take_watch(&cache->scanned)) != NULL) {
		if (find_next(watch)) {
			pl_list_add_tail(&cache->awake, &watch->link);
			watch->fn(watch->ctx);
		} else {
			pl_list_add_tail(&cache->idle, &watch->link);
		}
	}
}

static void end_watches(struct pl_list *list, enum pl_code code)
{
	PL_LIST_EACH (link, list) {
		struct cache_watch *watch = PL_LIST_ITEM(link, struct cache_watch, link);

		if (watch->ended == PL_OK)
			watch->ended = code;
	}
}

void cache_watches_end(struct cache *cache, enum pl_code code)
{
	end_watches(&cache->idle, code);
	end_watches(&cache->scanned, code);
	end_watches(&cache->awake, code);
	cache_kick(cache);
}

/* -- all readers ------------------------------------------------------------------ */

void cache_kick(struct cache *cache)
{
	pl_timer_set(&cache->kick, kv_now_ms(cache->kv));
}

void cache_on_kick(void *ctx)
{
	struct cache *cache = ctx;
	struct cache_listener *behind;

	while (cache->state != CACHE_STOPPING && (behind = first_behind(cache)) != NULL)
		catch_up(cache, behind);
	wake_watches(cache);
	cache_waits_advance(cache);
	if (cache->state != CACHE_STOPPING)
		cache_waits_ask(cache);
}

void cache_readers_stop(struct cache *cache)
{
	static const struct cache_note stopped = {.type = CACHE_STOPPED};
	struct cache_watch *watch;

	wake_watches(cache);
	while ((watch = take_watch(&cache->awake)) != NULL)
		watch->cache = NULL;
	cache_waits_stop(cache);
	while (!pl_list_empty(&cache->listeners)) {
		struct cache_listener *listener =
			PL_LIST_ITEM(cache->listeners.next, struct cache_listener, link);

		cache_unlisten(listener);
		listener->fn(listener->ctx, &stopped);
	}
}
