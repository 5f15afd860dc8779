#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/cache/cache_int.h"

enum { CHANGES_MIN = 64 };

bool cache_window_is_on(const struct cache *cache)
{
	return cache->opts.window_changes > 0;
}

struct cache_change *cache_window_at(const struct cache *cache, uint64_t number)
{
	const struct cache_window *window = &cache->window;

	PL_ASSERT(number >= window->first && number < window->end);
	return &window->at[number & (window->cap - 1)];
}

bool cache_window_drop(struct cache *cache)
{
	struct cache_window *window = &cache->window;
	struct cache_version *version;

	if (window->first == window->end)
		return false;
	version = cache_window_at(cache, window->first)->version;
	window->floor = cache_window_at(cache, window->first)->revision;
	window->first++;
	cache_version_release(cache, PL_STEAL(version->older));
	if (version->deleted)
		cache_forget_deleted(cache, version);
	return true;
}

void cache_window_raise_floor(struct cache *cache, int64_t revision)
{
	if (cache->window.floor < revision)
		cache->window.floor = revision;
}

void cache_window_trim(struct cache *cache, int64_t revision)
{
	struct cache_window *window = &cache->window;

	while (window->first < window->end &&
	       cache_window_at(cache, window->first)->revision <= revision)
		(void)cache_window_drop(cache);
	cache_window_raise_floor(cache, revision);
}

void cache_window_reset(struct cache *cache, int64_t revision)
{
	struct cache_window *window = &cache->window;

	while (cache_window_drop(cache))
		;
	cache_window_raise_floor(cache, revision);
	cache->bytes -= window->cap * sizeof window->at[0];
	free(PL_STEAL(window->at));
	window->cap = 0;
	/* A watch that had read everything has missed something, too. */
	window->first = ++window->end;
}

/* False: there is no memory, or no room below the maximum. */
static bool grow(struct cache *cache)
{
	struct cache_window *window = &cache->window;
	size_t cap = window->cap == 0 ? CHANGES_MIN : window->cap * 2;
	size_t more = (cap - window->cap) * sizeof window->at[0];
	struct cache_change *at;

	if (cache->bytes + more > cache->opts.bytes_max)
		return false;
	at = pl_malloc(cap * sizeof *at);
	if (at == NULL)
		return false;
	for (uint64_t n = window->first; n < window->end; n++)
		at[n & (cap - 1)] = window->at[n & (window->cap - 1)];
	free(window->at);
	window->at = at;
	window->cap = cap;
	cache->bytes += more;
	return true;
}

bool cache_window_add(struct cache *cache, const struct cache_change *change)
{
	struct cache_window *window = &cache->window;

	if (window->end - window->first == cache->opts.window_changes)
		(void)cache_window_drop(cache);
	if (window->end - window->first == window->cap && !grow(cache) &&
	    !cache_window_drop(cache)) {
		cache_window_reset(cache, change->revision);
		return false;
	}
	window->at[window->end & (window->cap - 1)] = *change;
	window->end++;
	return true;
}

uint64_t cache_window_after(const struct cache *cache, int64_t revision)
{
	uint64_t low = cache->window.first, high = cache->window.end;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (cache_window_at(cache, mid)->revision <= revision)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
