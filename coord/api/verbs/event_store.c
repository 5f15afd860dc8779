#include "coord/api/verbs/event_store.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/log.h"
#include "store/base/map.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"

enum { TRIM_BATCH = 256, NAMESPACE_SIZE = 64 };

/* The events of one namespace. */
struct event_count {
	struct pl_map_node node;
	uint32_t count;
	bool crowded; /* more than there may be */
	size_t len;
	char namespace[NAMESPACE_SIZE];
};

struct event_trim {
	struct write write;
	struct event_store *store;
	struct keys_text key;
	int64_t revision;
};

struct event_store {
	struct api *api;
	struct event_store_opts opts;
	const struct schema_resource *events;
	int64_t lease; /* of the present slot; 0: none */
	uint64_t slot_until_ms;
	struct kv_call *call;
	struct pl_list waiting; /* of struct event_lease_wait */
	struct pl_map counts;
	uint32_t all;
	struct pl_timer kick; /* a namespace is crowded */
	unsigned flying;      /* deletions */
	void (*closed)(void *ctx);
	void *closed_ctx;
	struct event_trim trim[TRIM_BATCH];
};

/* -- the end ------------------------------------------------------------------------------ */

static void free_counts(struct event_store *store)
{
	struct pl_map_node *node;

	while ((node = pl_map_first(&store->counts)) != NULL) {
		pl_map_del(&store->counts, node);
		free(PL_CONTAINER_OF(node, struct event_count, node));
	}
	store->all = 0;
}

static void end_if_over(struct event_store *store)
{
	void (*closed)(void *) = store->closed;
	void *ctx = store->closed_ctx;

	if (closed == NULL || store->flying > 0 || store->call != NULL)
		return;
	free_counts(store);
	pl_map_done(&store->counts);
	pl_timer_done(&store->kick);
	free(store);
	closed(ctx);
}

/* -- leases -------------------------------------------------------------------------------- */

static void answer_waiting(struct event_store *store, const struct pl_err *err)
{
	while (!pl_list_empty(&store->waiting)) {
		struct event_lease_wait *wait =
			PL_LIST_ITEM(store->waiting.next, struct event_lease_wait, link);

		pl_list_del(&wait->link);
		wait->fn(wait->ctx, err == NULL ? store->lease : 0, err);
	}
}

static void on_granted(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct event_store *store = ctx;

	store->call = NULL;
	if (err == NULL) {
		store->lease = result->lease.id;
		store->slot_until_ms = store->api->now_ms(store->api->clock_ctx) +
		                       EVENT_SLOT_S * UINT64_C(1000);
	}
	answer_waiting(store, err);
	end_if_over(store);
}

void event_store_lease(struct event_store *store, struct event_lease_wait *wait)
{
	const struct kv_lease_req req = {.ttl_s = EVENT_KEEP_S + EVENT_SLOT_S};
	struct api *api = store->api;
	struct pl_err err = {0};

	if (store->lease != 0 && api->now_ms(api->clock_ctx) < store->slot_until_ms) {
		wait->fn(wait->ctx, store->lease, NULL);
		return;
	}
	if (store->call == NULL &&
	    kv_lease_grant(api->kv, &req, api->service.timeout_ms, on_granted, store,
	                   &store->call, &err) != PL_OK) {
		wait->fn(wait->ctx, 0, &err);
		return;
	}
	pl_list_init(&wait->link);
	pl_list_add_tail(&store->waiting, &wait->link);
}

void event_store_lease_lost(struct event_store *store, int64_t lease)
{
	if (store->lease == lease)
		store->lease = 0;
}

/* -- counts -------------------------------------------------------------------------------- */

static struct event_count *count_of(struct event_store *store, struct pl_span namespace)
{
	struct pl_map_node *node = pl_map_get(&store->counts, namespace);
	struct event_count *count;

	if (node != NULL)
		return PL_CONTAINER_OF(node, struct event_count, node);
	count = namespace.len < NAMESPACE_SIZE ? pl_calloc(1, sizeof *count) : NULL;
	if (count == NULL)
		return NULL;
	memcpy(count->namespace, namespace.at, namespace.len);
	count->len = namespace.len;
	node = pl_map_add(&store->counts, &count->node,
	                  pl_span(count->namespace, count->len));
	PL_ASSERT(node == NULL);
	return count;
}

static bool is_crowded(const struct event_store *store, const struct event_count *count)
{
	return count->count > store->opts.namespace_max;
}

void event_store_counted(struct event_store *store, struct pl_span namespace, int by)
{
	struct event_count *count = count_of(store, namespace);

	if (count == NULL)
		return; /* without memory a namespace is not bounded */
	if (by < 0 && (count->count == 0 || store->all == 0))
		return;
	count->count = by > 0 ? count->count + 1 : count->count - 1;
	store->all = by > 0 ? store->all + 1 : store->all - 1;
	count->crowded = is_crowded(store, count);
	if (count->count == 0) {
		pl_map_del(&store->counts, &count->node);
		free(count);
	} else if (count->crowded || store->all > store->opts.all_max) {
		pl_timer_set(&store->kick, store->api->now_ms(store->api->clock_ctx));
	}
}

void event_store_recount(struct event_store *store)
{
	char prefix[SOURCE_ORDER_MAX];
	size_t len = source_prefix(store->events, (struct pl_span){0},
	                           (struct pl_span){0}, prefix);
	struct source_walk walk;
	struct object object;

	free_counts(store);
	if (source_walk_begin(store->api->sources, store->events, pl_span(prefix, len),
	                      (struct pl_span){0}, 0, &walk) != PL_OK)
		return;
	while (source_walk_next(&walk, &object))
		event_store_counted(store, object.namespace, 1);
}

/* -- bounds -------------------------------------------------------------------------------- */

struct aged_event {
	int64_t revision;
	const struct cache_entry *entry;
};

static int aged_cmp(const void *left, const void *right)
{
	const struct aged_event *a = left, *b = right;

	return (a->revision > b->revision) - (a->revision < b->revision);
}

static bool add_trim(struct write *write, struct txn_builder *builder)
{
	struct event_trim *trim = write->ctx;

	return builder_delete(builder, keys_span(&trim->key), trim->revision);
}

/* One that was written again meanwhile stays. */
static void on_trim(struct write *write, const struct write_outcome *outcome)
{
	struct event_trim *trim = write->ctx;
	struct event_store *store = trim->store;

	(void)outcome;
	if (--store->flying == 0 && store->closed == NULL)
		pl_timer_set(&store->kick, store->api->now_ms(store->api->clock_ctx));
	end_if_over(store);
}

static void delete_aged(struct event_store *store, const struct aged_event *aged,
                        uint32_t count)
{
	struct pl_err err = {0};

	for (uint32_t i = 0; i < count && store->flying < TRIM_BATCH; i++) {
		struct event_trim *trim = &store->trim[i];
		struct pl_span key = aged[i].entry->key;

		PL_ASSERT(key.len < sizeof trim->key.at);
		*trim = (struct event_trim){.store = store, .revision = aged[i].revision};
		memcpy(trim->key.at, key.at, key.len);
		trim->key.len = key.len;
		trim->write =
			(struct write){.add = add_trim, .done = on_trim, .ctx = trim};
		write_adds_key(&trim->write, key);
		if (write_queue_add(store->api->writes, &trim->write, &err) != PL_OK)
			return;
		store->flying++;
	}
}

/* Deletes the oldest events of a namespace (empty: of all), so that an eighth of the room is
 * free. */
static void trim_events(struct event_store *store, struct pl_span namespace,
                        uint32_t count, uint32_t max)
{
	char prefix[SOURCE_ORDER_MAX];
	size_t len = source_prefix(store->events, namespace, (struct pl_span){0}, prefix);
	struct aged_event *aged = pl_calloc(count, sizeof *aged);
	uint32_t found = 0, gone;
	struct source_walk walk;
	struct object object;

	if (aged == NULL ||
	    source_walk_begin(store->api->sources, store->events, pl_span(prefix, len),
	                      (struct pl_span){0}, 0, &walk) != PL_OK) {
		free(aged);
		return;
	}
	while (found < count && source_walk_next(&walk, &object))
		aged[found++] = (struct aged_event){
			object.part[OBJECT_MAIN]->mod_revision, object.part[OBJECT_MAIN]};
	qsort(aged, found, sizeof *aged, aged_cmp);
	gone = found > max - max / 8 ? found - (max - max / 8) : 0;
	delete_aged(store, aged, gone < TRIM_BATCH ? gone : TRIM_BATCH);
	free(aged);
}

/* While deletions fly the counts are not what they will be. */
static void on_kick(void *ctx)
{
	struct event_store *store = ctx;

	if (store->closed != NULL) {
		end_if_over(store);
		return;
	}
	if (store->flying > 0)
		return;
	if (store->all > store->opts.all_max) {
		trim_events(store, (struct pl_span){0}, store->all, store->opts.all_max);
		return;
	}
	PL_MAP_EACH (at, &store->counts) {
		struct event_count *count = PL_CONTAINER_OF(at, struct event_count, node);

		if (!count->crowded)
			continue;
		trim_events(store, pl_span(count->namespace, count->len), count->count,
		            store->opts.namespace_max);
		return;
	}
}

/* -- life ---------------------------------------------------------------------------------- */

enum pl_code event_store_open(struct api *api, const struct event_store_opts *opts,
                              struct event_store **out, struct pl_err *err)
{
	struct event_store *store = pl_calloc(1, sizeof *store);

	if (store == NULL)
		return pl_err_set(err, PL_NOMEM, "the store of events");
	store->api = api;
	store->opts = *opts;
	if (store->opts.all_max == 0)
		store->opts.all_max = EVENTS_MAX;
	if (store->opts.namespace_max == 0)
		store->opts.namespace_max = EVENTS_IN_NAMESPACE_MAX;
	store->events = schema_resource_find((struct pl_span){0}, PL_SPAN_LIT("v1"),
	                                     PL_SPAN_LIT("events"));
	pl_list_init(&store->waiting);
	pl_map_init(&store->counts);
	if (pl_timer_init(&store->kick, kv_timers(api->kv), on_kick, store) != PL_OK) {
		free(store);
		return pl_err_set(err, PL_NOMEM, "the store of events");
	}
	*out = store;
	return PL_OK;
}

void event_store_close(struct event_store *store, void (*closed)(void *ctx), void *ctx)
{
	store->closed = closed;
	store->closed_ctx = ctx;
	if (store->call != NULL)
		kv_cancel(store->api->kv, store->call);
	else if (store->flying == 0)
		/* closed may not be called at once. */
		pl_timer_set(&store->kick, store->api->now_ms(store->api->clock_ctx));
}
