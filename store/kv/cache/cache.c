#include "store/kv/cache/cache.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/cache/cache_int.h"
#include "store/kv/keys.h"

/*
 * Happy path: a relist brings a list, whose difference is applied at its end, and then
 * events, each of which is applied as it comes.
 *
 * What can fail is memory: for a version, for the tree, for the difference. The content
 * then lacks a change for good, so the relist is stopped and another one is opened a
 * little later. Its list repairs the content.
 */

enum { BYTES_DEFAULT = 256 << 20, RETRY_DEFAULT_MS = 1000, BACKOFF_DOUBLINGS = 6 };

static const char *const type_names[] = {
	[CACHE_ADDED] = "added",       [CACHE_UPDATED] = "updated",
	[CACHE_DELETED] = "deleted",   [CACHE_SYNCED] = "synced",
	[CACHE_PROGRESS] = "progress", [CACHE_LOST] = "lost",
	[CACHE_TROUBLE] = "trouble",   [CACHE_STOPPED] = "stopped",
};

const char *cache_note_type_name(enum cache_note_type type)
{
	PL_ASSERT(type <= CACHE_STOPPED);
	return type_names[type];
}

static void set_state(struct cache *cache, enum cache_state state)
{
	static const unsigned from[] = {
		[CACHE_LISTING] =
			1u << CACHE_LISTING | 1u << CACHE_INSYNC | 1u << CACHE_WAITING,
		[CACHE_INSYNC] = 1u << CACHE_LISTING,
		[CACHE_BROKEN] = 1u << CACHE_LISTING | 1u << CACHE_INSYNC,
		[CACHE_WAITING] = 1u << CACHE_BROKEN | 1u << CACHE_WAITING,
		[CACHE_STOPPING] = 1u << CACHE_LISTING | 1u << CACHE_INSYNC |
	                           1u << CACHE_BROKEN | 1u << CACHE_WAITING,
	};

	PL_ASSERT((from[state] & 1u << cache->state) != 0);
	cache->state = state;
}

/* A wait does not sit through trouble, so that its user can do without the cache. */
static void tell_trouble(struct cache *cache, enum cache_note_type type,
                         const struct pl_err *err)
{
	cache_tell_err(cache, type, err);
	cache_waits_fail(cache, err);
}

/* -- a content that has a hole ------------------------------------------------------ */

static void give_up(struct cache *cache, enum pl_code code)
{
	struct pl_err err;

	(void)pl_err_set(&err, code, "cache of %zu keys in %zu bytes", cache->count,
	                 cache->bytes);
	set_state(cache, CACHE_BROKEN);
	cache->is_unrelated = true;
	cache_list_drop(cache);
	cache_window_reset(cache, cache->revision);
	cache_watches_end(cache, PL_COMPACTED);
	relist_stop(cache->relist);
	tell_trouble(cache, CACHE_LOST, &err);
}

static void wait_to_retry(struct cache *cache)
{
	uint32_t doublings =
		cache->failures < BACKOFF_DOUBLINGS ? cache->failures : BACKOFF_DOUBLINGS;

	set_state(cache, CACHE_WAITING);
	cache->failures++;
	pl_timer_set(&cache->timer, kv_now_ms(cache->kv) + ((uint64_t)cache->opts.retry_ms
	                                                    << doublings));
}

/* -- notes of the relist ------------------------------------------------------------ */

static void forget_revisions(struct cache *cache)
{
	cache_list_drop(cache);
	cache_window_reset(cache, 0);
	cache->window.floor = 0;
	cache_watches_end(cache, PL_REWOUND);
	cache->is_unrelated = true;
	cache->revision = cache->gap_revision = cache->list_revision = 0;
}

static void on_lost(struct cache *cache, const struct pl_err *err)
{
	set_state(cache, CACHE_LISTING);
	cache_list_drop(cache);
	if (err->code == PL_REWOUND)
		forget_revisions(cache);
	tell_trouble(cache, CACHE_LOST, err);
}

/* A relist that was opened anew knows nothing of what the one before it has seen. */
static void on_begin(struct cache *cache, const struct relist_note *note)
{
	bool other = cache->cluster_id != 0 && note->cluster_id != cache->cluster_id;
	struct pl_err err;

	if (cache->revision != 0 && (other || note->revision < cache->revision)) {
		(void)pl_err_set(&err, PL_REWOUND,
		                 "the store is at revision %lld and had been at %lld",
		                 (long long)note->revision, (long long)cache->revision);
		on_lost(cache, &err);
	}
	cache_list_drop(cache);
	cache->cluster_id = note->cluster_id;
	cache->list_no++;
}

static void on_page(struct cache *cache, const struct relist_note *note)
{
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < note->count && code == PL_OK; i++)
		code = cache_list_record(cache, &note->records[i]);
	if (code != PL_OK)
		give_up(cache, code);
}

static void on_end(struct cache *cache, int64_t revision)
{
	enum pl_code code = cache_list_apply(cache, revision);

	if (cache->state == CACHE_STOPPING)
		return;
	if (code != PL_OK) {
		give_up(cache, code);
		return;
	}
	set_state(cache, CACHE_INSYNC);
	cache->failures = 0;
	cache_kick(cache);
	cache_tell(cache,
	           &(struct cache_note){.type = CACHE_SYNCED, .revision = revision});
	cache_waits_pursue(cache);
}

/* The version that the event changes, if the cache shows the change: *shown. */
static struct cache_version *event_target(const struct cache *cache,
                                          const struct kv_event *event, bool *shown)
{
	struct pl_span key = event->record.key;
	struct cache_version *version;
	uint8_t buf[CACHE_ORDER_MAX];

	*shown = false;
	if (!cache_wants(cache, key))
		return NULL;
	version = cache_find(cache, cache_order(cache, key, buf));
	if (event->is_delete)
		*shown = version != NULL && !version->deleted;
	else
		*shown = true;
	return version;
}

static bool revision_goes_on(const struct cache *cache, const struct relist_note *note,
                             size_t i)
{
	int64_t revision = note->events[i].record.mod_revision;
	bool shown = false;

	for (i++; i < note->count && !shown; i++) {
		if (note->events[i].record.mod_revision != revision)
			return false;
		(void)event_target(cache, &note->events[i], &shown);
	}
	return shown;
}

static enum pl_code on_event(struct cache *cache, const struct relist_note *note,
                             size_t i)
{
	const struct kv_event *event = &note->events[i];
	struct cache_note change = {.revision = event->record.mod_revision};
	struct cache_version *version;
	enum pl_code code;
	bool shown;

	version = event_target(cache, event, &shown);
	if (!shown)
		return PL_OK;
	change.more = revision_goes_on(cache, note, i);
	if (event->is_delete) {
		cache_remove(cache, version, &change);
		return PL_OK;
	}
	code = cache_version_new(cache, &event->record, &version);
	return code != PL_OK ? code : cache_put(cache, version, &change);
}

static void on_progress(struct cache *cache, int64_t revision)
{
	if (cache->state != CACHE_INSYNC)
		return;
	cache->revision = revision;
	cache_tell(cache,
	           &(struct cache_note){.type = CACHE_PROGRESS, .revision = revision});
	cache_waits_advance(cache);
}

static void on_events(struct cache *cache, const struct relist_note *note)
{
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < note->count && code == PL_OK; i++)
		code = on_event(cache, note, i);
	if (code == PL_OK)
		on_progress(cache, note->revision);
	else if (cache->state != CACHE_STOPPING)
		give_up(cache, code);
}

static void finish(struct cache *cache)
{
	cache_list_drop(cache);
	cache_window_reset(cache, 0);
	/* A listener may let go of the store's timers once it has heard STOPPED. */
	pl_timer_done(&cache->timer);
	pl_timer_done(&cache->kick);
	cache_readers_stop(cache);
	cache_content_free(cache);
	free(cache);
}

void cache_finish_if_idle(struct cache *cache)
{
	PL_ASSERT(cache->state == CACHE_STOPPING);
	if (cache->relist == NULL && !cache->waits.is_asking)
		finish(cache);
}

static void on_stopped(struct cache *cache)
{
	cache->relist = NULL;
	if (cache->state == CACHE_STOPPING)
		cache_finish_if_idle(cache);
	else
		wait_to_retry(cache);
}

static void on_note(void *ctx, const struct relist_note *note)
{
	struct cache *cache = ctx;

	switch (note->what) {
	case RELIST_BEGIN:
		on_begin(cache, note);
		break;
	case RELIST_PAGE:
		on_page(cache, note);
		break;
	case RELIST_END:
		on_end(cache, note->revision);
		break;
	case RELIST_EVENTS:
		on_events(cache, note);
		break;
	case RELIST_PROGRESS:
		on_progress(cache, note->revision);
		break;
	case RELIST_LOST:
		on_lost(cache, note->err);
		break;
	case RELIST_TROUBLE:
		tell_trouble(cache, CACHE_TROUBLE, note->err);
		break;
	case RELIST_STOPPED:
		on_stopped(cache);
		break;
	}
}

/* -- life --------------------------------------------------------------------------- */

static void on_timer(void *ctx)
{
	struct cache *cache = ctx;
	struct pl_err err = {0};

	if (cache->state == CACHE_STOPPING) {
		cache_finish_if_idle(cache);
		return;
	}
	if (relist_open(cache->kv, &cache->opts.list, on_note, cache, &cache->relist,
	                &err) == PL_OK) {
		set_state(cache, CACHE_LISTING);
		return;
	}
	wait_to_retry(cache);
	tell_trouble(cache, CACHE_TROUBLE, &err);
}

static void copy_keys(struct cache *cache)
{
	struct kv_keys *keys = &cache->opts.list.keys;
	size_t to_len = keys->kind == KV_RANGE ? keys->to.len : 0;

	if (keys->from.len != 0)
		memcpy(cache->keys, keys->from.at, keys->from.len);
	if (to_len != 0)
		memcpy(cache->keys + keys->from.len, keys->to.at, to_len);
	keys->from = pl_span(cache->keys, keys->from.len);
	keys->to = pl_span(cache->keys + keys->from.len, to_len);
}

/* Behind the bytes of the keys. */
static void copy_tick(struct cache *cache, size_t keys_len)
{
	struct pl_span *tick = &cache->opts.tick;

	if (tick->len == 0)
		return;
	PL_ASSERT(kv_key_in(cache->opts.list.keys, *tick));
	memcpy(cache->keys + keys_len, tick->at, tick->len);
	*tick = pl_span(cache->keys + keys_len, tick->len);
}

static void set_defaults(struct cache_opts *opts)
{
	PL_ASSERT((opts->parse == NULL) == (opts->free_object == NULL));
	if (opts->bytes_max == 0)
		opts->bytes_max = BYTES_DEFAULT;
	if (opts->retry_ms == 0)
		opts->retry_ms = RETRY_DEFAULT_MS;
}

enum pl_code cache_open(struct kv *kv, const struct cache_opts *opts, struct cache **out,
                        struct pl_err *err)
{
	const struct kv_keys *keys = &opts->list.keys;
	size_t keys_len = keys->from.len + (keys->kind == KV_RANGE ? keys->to.len : 0);
	struct cache *cache = pl_calloc(1, sizeof *cache + keys_len + opts->tick.len);
	enum pl_code code;

	if (cache == NULL)
		return pl_err_set(err, PL_NOMEM, "cache");
	cache->kv = kv;
	cache->opts = *opts;
	set_defaults(&cache->opts);
	copy_keys(cache);
	copy_tick(cache, keys_len);
	cache->is_unrelated = true;
	pl_list_init(&cache->listeners);
	pl_list_init(&cache->idle);
	pl_list_init(&cache->awake);
	pl_list_init(&cache->scanned);
	cache_waits_init(cache);
	code = pl_timer_init(&cache->timer, kv_timers(kv), on_timer, cache);
	if (code == PL_OK)
		code = pl_timer_init(&cache->kick, kv_timers(kv), cache_on_kick, cache);
	if (code != PL_OK)
		(void)pl_err_set(err, code, "cache");
	else
		code = relist_open(kv, &cache->opts.list, on_note, cache, &cache->relist,
		                   err);
	if (code == PL_OK) {
		*out = cache;
		return PL_OK;
	}
	pl_timer_done(&cache->timer);
	pl_timer_done(&cache->kick);
	free(cache);
	return code;
}

void cache_stop(struct cache *cache)
{
	if (cache->state == CACHE_STOPPING)
		return;
	set_state(cache, CACHE_STOPPING);
	cache_watches_end(cache, PL_CANCELED);
	if (cache->relist != NULL)
		relist_stop(cache->relist);
	else
		pl_timer_set(&cache->timer, kv_now_ms(cache->kv));
	cache_waits_cancel_question(cache);
}

bool cache_synced(const struct cache *cache)
{
	return cache->state == CACHE_INSYNC;
}

int64_t cache_revision(const struct cache *cache)
{
	return cache->revision;
}

uint64_t cache_cluster_id(const struct cache *cache)
{
	return cache->cluster_id;
}

size_t cache_count(const struct cache *cache)
{
	return cache->count;
}

size_t cache_bytes(const struct cache *cache)
{
	return cache->bytes;
}
