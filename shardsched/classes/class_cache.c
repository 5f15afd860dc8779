#include "shardsched/classes/class_cache.h"

#include <stdlib.h>
#include <string.h>

#include "shardsched/classes/class_results.h"
#include "shardsched/classes/class_signature.h"
#include "store/base/alloc.h"

struct class_cache {
	struct snapshot *snapshot;
	struct cycle_cache cache;
	size_t memory_max;
	struct pl_list order; /* class_results, the one used last first */
	struct pl_map by_signature;
	struct class_cache_figures figures;
	uint32_t capacity; /* number of slots in dirty */
	struct class_results_dirty dirty;
	struct class_results_scratch scratch;
};

/* The link from a class to the results that it shares with classes of the same
 * signature. */
struct result_share {
	struct class_results *results; /* NULL: forgotten */
	struct pl_list of_kept;
};

static const struct stage_results *get_results(void *ctx, struct cycle *cycle,
                                               struct fw_class *class,
                                               const struct stage_plan *plan);
static void pick_best(void *ctx, struct fw_class *class, uint64_t draw,
                      struct stage_winner *out);

enum pl_code class_cache_new(struct snapshot *snapshot, size_t memory_max,
                             struct class_cache **out, struct pl_err *err)
{
	struct class_cache *classes = pl_calloc(1, sizeof(*classes));

	if (classes == NULL)
		return pl_err_set(err, PL_NOMEM, "classes");
	classes->snapshot = snapshot;
	classes->memory_max = memory_max;
	classes->cache = (struct cycle_cache){
		.ctx = classes, .get_results = get_results, .best = pick_best};
	pl_list_init(&classes->order);
	pl_map_init(&classes->by_signature);
	*out = classes;
	return PL_OK;
}

const struct cycle_cache *class_cache_ops(const struct class_cache *classes)
{
	return &classes->cache;
}

static void drop_results(struct class_cache *classes, struct class_results *results)
{
	PL_LIST_EACH (link, &results->shares) {
		pl_list_del(link);
		PL_LIST_ITEM(link, struct result_share, of_kept)->results = NULL;
	}
	pl_map_del(&classes->by_signature, &results->by_signature);
	pl_list_del(&results->order);
	classes->figures.results--;
	classes->figures.bytes -= results->bytes;
	class_results_free(results);
}

void class_cache_free(struct class_cache *classes)
{
	if (classes == NULL)
		return;
	PL_LIST_EACH (link, &classes->order)
		drop_results(classes, PL_LIST_ITEM(link, struct class_results, order));
	pl_map_done(&classes->by_signature);
	free(classes->dirty.word);
	free(classes->dirty.list);
	free(classes);
}

void class_cache_figures(const struct class_cache *classes,
                         struct class_cache_figures *out)
{
	*out = classes->figures;
}

/* The last class that holds what the signature points to leaves. */
static void leave_results(struct class_cache *classes, struct result_share *share)
{
	struct class_results *results = share->results;

	if (results == NULL)
		return;
	pl_list_del(&share->of_kept);
	share->results = NULL;
	if (pl_list_empty(&results->shares))
		drop_results(classes, results);
}

void class_cache_forget(struct class_cache *classes, struct fw_class *class)
{
	if (class->cache == NULL)
		return;
	leave_results(classes, class->cache);
	free(class->cache);
	class->cache = NULL;
}

/* Evicts the results that were not used for longest until the rest is within the bound,
 * except for one that is to stay. */
static void evict_oldest(struct class_cache *classes, size_t bytes,
                         const struct class_results *stays)
{
	while (classes->figures.bytes + bytes > classes->memory_max) {
		struct class_results *last =
			PL_LIST_ITEM(classes->order.prev, struct class_results, order);

		if (pl_list_empty(&classes->order) || last == stays)
			return;
		drop_results(classes, last);
		classes->figures.forgotten++;
	}
}

void class_cache_bound(struct class_cache *classes, size_t memory_max)
{
	classes->memory_max = memory_max;
	evict_oldest(classes, 0, NULL);
}

/* -- which slots
 * -------------------------------------------------------------------------
 */

static bool dirty_grow(struct class_cache *classes)
{
	struct class_results_dirty *dirty = &classes->dirty;
	uint32_t capacity = classes->snapshot->capacity;

	if (classes->capacity == capacity)
		return true;
	free(dirty->word);
	free(dirty->list);
	dirty->word = pl_calloc(capacity / 64, sizeof(*dirty->word));
	dirty->list = pl_calloc(capacity / 64, sizeof(*dirty->list));
	classes->capacity = dirty->word == NULL || dirty->list == NULL ? 0 : capacity;
	return classes->capacity != 0;
}

static void dirty_slot(void *ctx, uint32_t slot)
{
	struct class_results_dirty *dirty = ctx;
	uint64_t *word = &dirty->word[slot / 64];

	if (*word == 0)
		dirty->list[dirty->count++] = slot / 64;
	*word |= UINT64_C(1) << slot % 64;
}

static void dirty_all(struct class_cache *classes)
{
	struct class_results_dirty *dirty = &classes->dirty;

	for (dirty->count = 0; dirty->count < dirty->words; dirty->count++) {
		dirty->list[dirty->count] = dirty->count;
		dirty->word[dirty->count] = UINT64_MAX;
	}
}

static void dirty_clear(struct class_cache *classes)
{
	struct class_results_dirty *dirty = &classes->dirty;

	while (dirty->count > 0)
		dirty->word[dirty->list[--dirty->count]] = 0;
}

static uint32_t dirty_nodes(const struct class_cache *classes)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < classes->dirty.count; i++)
		count += (uint32_t)__builtin_popcountll(
			classes->dirty.word[classes->dirty.list[i]]);
	return count;
}

/* -- what the cycle asks
 * ------------------------------------------------------------------
 */

static bool is_same_plan(const struct stage_plan *a, const struct stage_plan *b)
{
	if (a->filters != b->filters || a->scores != b->scores || a->epoch != b->epoch ||
	    a->by_max_count != b->by_max_count)
		return false;
	for (uint32_t i = 0; i < a->by_max_count; i++) {
		if (a->by_max[i].plugin != b->by_max[i].plugin ||
		    a->by_max[i].down != b->by_max[i].down ||
		    a->by_max[i].weight != b->by_max[i].weight)
			return false;
	}
	return true;
}

static struct class_results *begin_results(struct class_cache *classes,
                                           const struct fw_class *class,
                                           const struct class_signature *signature)
{
	size_t bytes = class_results_bytes(classes->capacity, 0);
	struct class_results *results;

	if (bytes > classes->memory_max)
		return NULL;
	evict_oldest(classes, bytes, NULL);
	results = class_results_new(classes->capacity);
	if (results == NULL)
		return NULL;
	results->signature = *signature;
	results->local = class->local;
	pl_list_init(&results->shares);
	(void)!pl_map_add(&classes->by_signature, &results->by_signature,
	                  pl_span(&results->signature, sizeof results->signature));
	pl_list_add_head(&classes->order, &results->order);
	classes->figures.results++;
	classes->figures.bytes += results->bytes;
	return results;
}

static struct class_results *find_results(const struct class_cache *classes,
                                          const struct class_signature *signature)
{
	struct pl_map_node *at =
		pl_map_get(&classes->by_signature, pl_span(signature, sizeof *signature));

	return at == NULL ? NULL
	                  : PL_CONTAINER_OF(at, struct class_results, by_signature);
}

static struct result_share *share_of(struct fw_class *class)
{
	struct result_share *share = class->cache;

	if (share == NULL) {
		share = pl_calloc(1, sizeof *share);
		class->cache = share;
	}
	return share;
}

/* The one of the class, as old as it may be. fresh: nothing is known of it. */
static struct class_results *take_results(struct class_cache *classes,
                                          struct fw_class *class, bool *fresh)
{
	struct result_share *share = share_of(class);
	struct class_results *results;
	struct class_signature signature;

	if (share == NULL)
		return NULL;
	if (share->results != NULL && share->results->capacity != classes->capacity)
		drop_results(classes, share->results);
	results = share->results;
	*fresh = false;
	if (results == NULL) {
		class_signature_of(class, &signature);
		results = find_results(classes, &signature);
		if (results != NULL && results->capacity != classes->capacity) {
			drop_results(classes, results);
			results = NULL;
		}
		*fresh = results == NULL;
		if (results == NULL)
			results = begin_results(classes, class, &signature);
		if (results == NULL)
			return NULL;
		share->results = results;
		pl_list_add_tail(&results->shares, &share->of_kept);
	}
	pl_list_del(&results->order);
	pl_list_add_head(&classes->order, &results->order);
	return results;
}

static void find_dirty(struct class_cache *classes, struct class_results *results,
                       const struct stage_plan *plan, bool fresh)
{
	const struct snapshot *snapshot = classes->snapshot;

	classes->dirty.words = (uint32_t)pl_bitset_words(snapshot->slots);
	if (!fresh && is_same_plan(&results->plan, plan) &&
	    snapshot_changed_since(snapshot, results->changes, dirty_slot,
	                           &classes->dirty)) {
		classes->figures.hits++;
		classes->figures.updated += dirty_nodes(classes);
		return;
	}
	dirty_clear(classes);
	class_results_reset(results, plan);
	dirty_all(classes);
	classes->figures.made++;
}

static const struct stage_results *get_results(void *ctx, struct cycle *cycle,
                                               struct fw_class *class,
                                               const struct stage_plan *plan)
{
	struct class_cache *classes = ctx;
	struct class_results *results;
	size_t before;
	bool fresh, done;

	if (!dirty_grow(classes))
		return NULL;
	results = take_results(classes, class, &fresh);
	if (results == NULL)
		return NULL;
	find_dirty(classes, results, plan, fresh);
	before = results->bytes;
	done = class_results_update(results, cycle, classes->snapshot, &classes->dirty,
	                            &classes->scratch);
	classes->figures.bytes += results->bytes - before;
	dirty_clear(classes);
	results->changes = classes->snapshot->changes;
	if (!done) {
		drop_results(classes, results);
		return NULL;
	}
	evict_oldest(classes, 0, results);
	return &results->shown;
}

static void pick_best(void *ctx, struct fw_class *class, uint64_t draw,
                      struct stage_winner *out)
{
	const struct result_share *share = class->cache;
	const struct class_results *results = share->results;
	struct best_top top;

	(void)ctx;
	PL_ASSERT(results != NULL);
	top = best_tree_top(&results->tree);
	PL_ASSERT(top.ties > 0);
	*out = (struct stage_winner){
		.slot = best_tree_pick(&results->tree, stage_pick(draw, top.ties)),
		.total = top.best,
		.ties = top.ties,
	};
}
