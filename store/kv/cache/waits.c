#include <inttypes.h>

#include "store/kv/cache/cache_int.h"
#include "store/kv/calls.h"

/*
 * Waits until the cache has reached a revision.
 *
 *	           kick                 answer                  the cache gets there
 *	NEW ----------------> ASKED -----------------> WAITING -----------------> fn, PL_OK
 *
 * Only the store tells whether it has reached the revision, and which one "now" is. One
 * question at a time answers all waits from before it was sent:
 *
 *	read   a linearizable one. Its revision is at least as new as these waits. From
 *	       then on the relist asks the watch for progress, so that keys without
 *	       changes do not hold up the waits.
 *	tick   a put of a key that the cache watches, where the store does not answer
 *	       requests for progress. Its revision is as good as a read's, and the watch
 *	       (or a list that is under way) brings its event without being asked.
 *
 * If it is unknown whether a tick was put, so is its revision: its waits stay, and a
 * little later there is another tick for them.
 */

enum { ASK_TIMEOUT_MS = 10000, TICK_AGAIN_MS = 100 };

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

/* -- the question -------------------------------------------------------------------- */

/* The store has gone back since the question was sent. The relist finds out by itself. */
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

/* False: the cache stops, or is gone. */
static bool take_answer(struct cache *cache, const struct kv_result *result,
                        const struct pl_err *err)
{
	struct pl_err rewound;

	cache->waits.is_asking = false;
	cache->waits.question = NULL;
	if (cache->state == CACHE_STOPPING) {
		cache_finish_if_idle(cache);
		return false;
	}
	if (result != NULL && is_rewound(cache, &result->header, &rewound))
		err = &rewound;
	if (err != NULL)
		end_all(cache, &cache->waits.asked, err);
	else
		learn_revision(cache, result->header.revision);
	return cache->state != CACHE_STOPPING;
}

static void on_read(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct cache *cache = ctx;

	if (!take_answer(cache, result, err))
		return;
	cache_waits_pursue(cache);
	if (cache->state != CACHE_STOPPING)
		cache_waits_ask(cache);
}

static void on_tick(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct cache *cache = ctx;
	bool is_unknown = err != NULL && err->code == PL_UNKNOWN;

	if (is_unknown)
		pl_list_move(&cache->waits.fresh, &cache->waits.asked);
	if (!take_answer(cache, result, err))
		return;
	cache_waits_advance(cache);
	if (cache->state == CACHE_STOPPING)
		return;
	if (!is_unknown)
		cache_waits_ask(cache);
	else if (!pl_timer_is_set(&cache->kick))
		pl_timer_set(&cache->kick, kv_now_ms(cache->kv) + TICK_AGAIN_MS);
}

/* Reads one key of those that may be read, without its value: only the header counts. */
static enum pl_code start_read(struct cache *cache, uint32_t timeout_ms,
                               struct pl_err *err)
{
	struct pl_span from = cache->opts.list.keys.from;
	struct kv_get get = {.keys = kv_key(from.len == 0 ? pl_span("", 1) : from),
	                     .keys_only = true};

	return kv_get(cache->kv, &get, timeout_ms, on_read, cache, &cache->waits.question,
	              err);
}

/* Without a compare: it does not matter which put of the key is the last one. */
static enum pl_code start_tick(struct cache *cache, uint32_t timeout_ms,
                               struct pl_err *err)
{
	struct kv_put put = {.key = cache->opts.tick, .value = PL_SPAN_LIT("{\"v\":1}")};

	return kv_put(cache->kv, &put, timeout_ms, on_tick, cache, &cache->waits.question,
	              err);
}

static bool needs_tick(const struct cache *cache)
{
	return cache->opts.tick.len != 0 && !kv_limits(cache->kv).progress;
}

/* The cache has got to the revision of a wait before the store was asked for it. */
static void settle_fresh(struct cache *cache)
{
	PL_LIST_EACH (link, &cache->waits.fresh) {
		struct cache_wait *wait = PL_LIST_ITEM(link, struct cache_wait, link);

		if (wait->revision == 0 || wait->revision > cache->revision)
			continue;
		pl_list_del(&wait->link);
		add_waiting(cache, wait);
	}
	cache_waits_advance(cache);
}

void cache_waits_ask(struct cache *cache)
{
	struct cache_waits *waits = &cache->waits;
	uint32_t timeout_ms = cache->opts.list.call_timeout_ms;
	struct pl_err err;
	enum pl_code code;

	if (waits->is_asking)
		return;
	settle_fresh(cache);
	if (cache->state == CACHE_STOPPING || pl_list_empty(&waits->fresh))
		return;
	if (timeout_ms == 0)
		timeout_ms = ASK_TIMEOUT_MS;
	waits->known_revision = cache->revision;
	if (needs_tick(cache))
		code = start_tick(cache, timeout_ms, &err);
	else
		code = start_read(cache, timeout_ms, &err);
	if (code != PL_OK) {
		end_all(cache, &waits->fresh, &err);
		return;
	}
	waits->is_asking = true;
	pl_list_move(&waits->asked, &waits->fresh);
}

void cache_waits_cancel_question(struct cache *cache)
{
	if (cache->waits.is_asking)
		kv_cancel(cache->kv, cache->waits.question);
}

/* -- waits --------------------------------------------------------------------------- */

/* known: the store has a change at the revision, which the watch brings. */
static enum pl_code wait_begin(struct cache *cache, struct cache_wait *wait,
                               int64_t revision, bool known, uint64_t timeout_ms,
                               struct pl_err *err)
{
	PL_ASSERT(cache->state != CACHE_STOPPING && revision >= 0);
	if (pl_timer_init(&wait->timer, kv_timers(cache->kv), on_timeout, wait) !=
	    PL_OK) {
		wait->cache = NULL;
		return pl_err_set(err, PL_NOMEM, "wait for revision %" PRId64, revision);
	}
	pl_timer_set(&wait->timer, kv_now_ms(cache->kv) + timeout_ms);
	if (known || (revision != 0 && revision <= cache->revision))
		add_waiting(cache, wait);
	else
		pl_list_add_tail(&cache->waits.fresh, &wait->link);
	cache_kick(cache);
	return PL_OK;
}

enum pl_code cache_wait(struct cache *cache, struct cache_wait *wait, int64_t revision,
                        uint64_t timeout_ms, cache_wait_fn *fn, void *ctx,
                        struct pl_err *err)
{
	*wait = (struct cache_wait){
		.cache = cache, .revision = revision, .fn = fn, .ctx = ctx};
	return wait_begin(cache, wait, revision, false, timeout_ms, err);
}

enum pl_code cache_wait_change(struct cache *cache, struct cache_wait *wait,
                               int64_t revision, uint64_t timeout_ms, cache_wait_fn *fn,
                               void *ctx, struct pl_err *err)
{
	PL_ASSERT(revision > 0);
	*wait = (struct cache_wait){
		.cache = cache, .revision = revision, .fn = fn, .ctx = ctx};
	return wait_begin(cache, wait, revision, true, timeout_ms, err);
}
