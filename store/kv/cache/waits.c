#include <inttypes.h>

#include "store/kv/cache/cache_int.h"
#include "store/kv/calls.h"

/*
 * Waits until the cache has reached a revision.
 *
 *	           kick                 answer                  the cache gets there
 *	NEW ----------------> ASKED -----------------> WAITING -----------------> fn, PL_OK
 *
 * Only a linearizable read tells whether the store has reached the revision, and which
 * one "now" is. One read at a time answers all waits from before it was sent. From then
 * on the relist asks the watch for progress, so that keys without changes do not hold up
 * the wait.
 */

enum { READ_TIMEOUT_MS = 10000 };

void cache_waits_init(struct cache *cache)
{
	pl_list_init(&cache->waits.fresh);
	pl_list_init(&cache->waits.asked);
	pl_list_init(&cache->waits.waiting);
}

static struct cache_wait *first_wait(const struct pl_list *list)
{
	return pl_list_empty(list) ? NULL
	                           : PL_LIST_ITEM(list->next, struct cache_wait, link);
}

/* -- ends ------------------------------------------------------------------------- */

void cache_wait_end(struct cache_wait *wait)
{
	if (wait->cache == NULL)
		return;
	pl_list_del(&wait->link);
	pl_timer_done(&wait->timer);
	wait->cache = NULL;
}

/* The memory of the wait is the user's again before fn is called. */
static void tell_end(struct cache_wait *wait, const struct pl_err *err)
{
	int64_t revision = wait->cache->revision;
	cache_wait_fn *fn = wait->fn;
	void *ctx = wait->ctx;

	cache_wait_end(wait);
	fn(ctx, revision, err);
}

static void on_timeout(void *ctx)
{
	struct cache_wait *wait = ctx;
	struct pl_err err;

	if (wait->cache->state == CACHE_STOPPING)
		return; /* the end of the cache ends the wait */
	if (wait->revision == 0)
		(void)pl_err_set(&err, PL_TIMEOUT, "the store did not tell its revision");
	else
		(void)pl_err_set(&err, PL_TIMEOUT,
		                 "the cache is at revision %" PRId64
		                 " and not at %" PRId64,
		                 wait->cache->revision, wait->revision);
	tell_end(wait, &err);
}

/* A callback may add and end waits, and stop the cache, which ends the others. */
static void end_all(struct cache *cache, struct pl_list *list, const struct pl_err *err)
{
	struct pl_list ending;
	struct cache_wait *wait;

	pl_list_init(&ending);
	pl_list_move(&ending, list);
	while (cache->state != CACHE_STOPPING && (wait = first_wait(&ending)) != NULL)
		tell_end(wait, err);
	pl_list_move(list, &ending);
}

void cache_waits_fail(struct cache *cache, const struct pl_err *err)
{
	end_all(cache, &cache->waits.fresh, err);
	end_all(cache, &cache->waits.asked, err);
	end_all(cache, &cache->waits.waiting, err);
}

void cache_waits_stop(struct cache *cache)
{
	struct cache_waits *waits = &cache->waits;
	struct cache_wait *wait;
	struct pl_err err;

	(void)pl_err_set(&err, PL_CANCELED, "the cache has stopped");
	pl_list_move(&waits->waiting, &waits->fresh);
	pl_list_move(&waits->waiting, &waits->asked);
	while ((wait = first_wait(&waits->waiting)) != NULL)
		tell_end(wait, &err);
}

/* -- revisions --------------------------------------------------------------------- */

/* The list is in the order of the revisions, and most waits belong to its end. */
static void add_waiting(struct cache *cache, struct cache_wait *wait)
{
	struct pl_list *at = cache->waits.waiting.prev;

	while (at != &cache->waits.waiting &&
	       PL_LIST_ITEM(at, struct cache_wait, link)->revision > wait->revision)
		at = at->prev;
	pl_list_add_tail(at->next, &wait->link);
}

void cache_waits_advance(struct cache *cache)
{
	struct cache_wait *wait;

	while (cache->state != CACHE_STOPPING &&
	       (wait = first_wait(&cache->waits.waiting)) != NULL &&
	       wait->revision <= cache->revision)
		tell_end(wait, NULL);
}

void cache_waits_pursue(struct cache *cache)
{
	const struct pl_list *waiting = &cache->waits.waiting;

	cache_waits_advance(cache);
	if (cache->state == CACHE_INSYNC && !pl_list_empty(waiting))
		relist_ask_progress(
			cache->relist,
			PL_LIST_ITEM(waiting->prev, struct cache_wait, link)->revision);
}

/* -- the read ------------------------------------------------------------------------ */

/* The store has gone back since the read was sent. The relist finds out by itself. */
static bool is_rewound(const struct cache *cache, const struct kv_header *header,
                       struct pl_err *err)
{
	int64_t known = cache->waits.known_revision;

	if (header->revision >= known &&
	    (cache->cluster_id == 0 || header->cluster_id == cache->cluster_id))
		return false;
	(void)pl_err_set(err, PL_REWOUND,
	                 "the store is at revision %" PRId64 " and had been at %" PRId64,
	                 header->revision, known);
	return true;
}

/* Lets those waits go on that asked for no more than the store has. */
static void learn_revision(struct cache *cache, int64_t revision)
{
	struct pl_list future;
	struct cache_wait *wait;
	struct pl_err err;

	pl_list_init(&future);
	while ((wait = first_wait(&cache->waits.asked)) != NULL) {
		pl_list_del(&wait->link);
		if (wait->revision == 0)
			wait->revision = revision;
		if (wait->revision > revision)
			pl_list_add_tail(&future, &wait->link);
		else
			add_waiting(cache, wait);
	}
	(void)pl_err_set(&err, PL_FUTURE, "the store is at revision %" PRId64, revision);
	pl_list_move(&cache->waits.asked, &future);
	end_all(cache, &cache->waits.asked, &err);
}

static void on_read(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct cache *cache = ctx;
	struct pl_err rewound;

	cache->waits.is_reading = false;
	cache->waits.read = NULL;
	if (cache->state == CACHE_STOPPING) {
		cache_finish_if_idle(cache);
		return;
	}
	if (result != NULL && is_rewound(cache, &result->header, &rewound))
		err = &rewound;
	if (err != NULL)
		end_all(cache, &cache->waits.asked, err);
	else
		learn_revision(cache, result->header.revision);
	if (cache->state == CACHE_STOPPING)
		return;
	cache_waits_pursue(cache);
	if (cache->state != CACHE_STOPPING)
		cache_waits_ask(cache);
}

/* Reads one key of those that may be read, without its value: only the header counts. */
void cache_waits_ask(struct cache *cache)
{
	struct cache_waits *waits = &cache->waits;
	struct pl_span from = cache->opts.list.keys.from;
	struct kv_get get = {.keys_only = true};
	uint32_t timeout_ms = cache->opts.list.call_timeout_ms;
	struct pl_err err;

	if (waits->is_reading || pl_list_empty(&waits->fresh))
		return;
	get.keys = kv_key(from.len == 0 ? pl_span("", 1) : from);
	waits->known_revision = cache->revision;
	if (kv_get(cache->kv, &get, timeout_ms == 0 ? READ_TIMEOUT_MS : timeout_ms,
	           on_read, cache, &waits->read, &err) != PL_OK) {
		end_all(cache, &waits->fresh, &err);
		return;
	}
	waits->is_reading = true;
	pl_list_move(&waits->asked, &waits->fresh);
}

void cache_waits_cancel_read(struct cache *cache)
{
	if (cache->waits.is_reading)
		kv_cancel(cache->kv, cache->waits.read);
}

/* -- waits --------------------------------------------------------------------------- */

enum pl_code cache_wait(struct cache *cache, struct cache_wait *wait, int64_t revision,
                        uint64_t timeout_ms, cache_wait_fn *fn, void *ctx,
                        struct pl_err *err)
{
	PL_ASSERT(cache->state != CACHE_STOPPING && revision >= 0);
	*wait = (struct cache_wait){
		.cache = cache, .revision = revision, .fn = fn, .ctx = ctx};
	if (pl_timer_init(&wait->timer, kv_timers(cache->kv), on_timeout, wait) !=
	    PL_OK) {
		wait->cache = NULL;
		return pl_err_set(err, PL_NOMEM, "wait for revision %" PRId64, revision);
	}
	pl_timer_set(&wait->timer, kv_now_ms(cache->kv) + timeout_ms);
	if (revision != 0 && revision <= cache->revision)
		add_waiting(cache, wait);
	else
		pl_list_add_tail(&cache->waits.fresh, &wait->link);
	cache_kick(cache);
	return PL_OK;
}
