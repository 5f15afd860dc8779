#include "shardsched/classes/classes.h"

#include <stdlib.h>
#include <string.h>

#include "shardsched/classes/alike.h"
#include "shardsched/classes/kept.h"
#include "store/base/alloc.h"

struct classes {
	struct snapshot *snapshot;
	struct cycle_cache cache;
	size_t memory_max;
	struct pl_list order; /* of struct kept; the one used last is first */
	struct pl_map by_alike;
	struct classes_figures figures;
	uint32_t capacity; /* of slots in dirty */
	struct kept_dirty dirty;
	struct kept_scratch scratch;
};

/* Of a class: what it shares with those that are alike. */
struct share {
	struct kept *kept; /* NULL: forgotten */
	struct pl_list of_kept;
};

static const struct stage_kept *bring(void *ctx, struct cycle *cycle,
                                      struct fw_class *class,
                                      const struct stage_plan *plan);
static void best(void *ctx, struct fw_class *class, uint64_t draw,
                 struct stage_best *out);

enum pl_code classes_new(struct snapshot *snapshot, size_t memory_max,
                         struct classes **out, struct pl_err *err)
{
	struct classes *classes = pl_calloc(1, sizeof(*classes));

	if (classes == NULL)
		return pl_err_set(err, PL_NOMEM, "classes");
	classes->snapshot = snapshot;
	classes->memory_max = memory_max;
	classes->cache =
		(struct cycle_cache){.ctx = classes, .bring = bring, .best = best};
	pl_list_init(&classes->order);
	pl_map_init(&classes->by_alike);
	*out = classes;
	return PL_OK;
}

const struct cycle_cache *classes_cache(const struct classes *classes)
{
	return &classes->cache;
}

static void drop(struct classes *classes, struct kept *kept)
{
	PL_LIST_EACH (link, &kept->shares) {
		pl_list_del(link);
		PL_LIST_ITEM(link, struct share, of_kept)->kept = NULL;
	}
	pl_map_del(&classes->by_alike, &kept->by_alike);
	pl_list_del(&kept->order);
	classes->figures.kept--;
	classes->figures.bytes -= kept->bytes;
	kept_free(kept);
}

void classes_free(struct classes *classes)
{
	if (classes == NULL)
		return;
	PL_LIST_EACH (link, &classes->order)
		drop(classes, PL_LIST_ITEM(link, struct kept, order));
	pl_map_done(&classes->by_alike);
	free(classes->dirty.word);
	free(classes->dirty.list);
	free(classes);
}

void classes_figures(const struct classes *classes, struct classes_figures *out)
{
	*out = classes->figures;
}

/* Nobody is left who holds what its signature points to. */
static void leave(struct classes *classes, struct share *share)
{
	struct kept *kept = share->kept;

	if (kept == NULL)
		return;
	pl_list_del(&share->of_kept);
	share->kept = NULL;
	if (pl_list_empty(&kept->shares))
		drop(classes, kept);
}

void classes_forget(struct classes *classes, struct fw_class *class)
{
	if (class->cache == NULL)
		return;
	leave(classes, class->cache);
	free(class->cache);
	class->cache = NULL;
}

/* Those used last stay, within the bound; but for one that is to stay anyhow. */
static void make_room(struct classes *classes, size_t bytes, const struct kept *stays)
{
	while (classes->figures.bytes + bytes > classes->memory_max) {
		struct kept *last = PL_LIST_ITEM(classes->order.prev, struct kept, order);

		if (pl_list_empty(&classes->order) || last == stays)
			return;
		drop(classes, last);
		classes->figures.forgotten++;
	}
}

void classes_bound(struct classes *classes, size_t memory_max)
{
	classes->memory_max = memory_max;
	make_room(classes, 0, NULL);
}

/* -- which slots
 * -------------------------------------------------------------------------
 */

static bool dirty_grow(struct classes *classes)
{
	struct kept_dirty *dirty = &classes->dirty;
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
	struct kept_dirty *dirty = ctx;
	uint64_t *word = &dirty->word[slot / 64];

	if (*word == 0)
		dirty->list[dirty->count++] = slot / 64;
	*word |= UINT64_C(1) << slot % 64;
}

static void dirty_all(struct classes *classes)
{
	struct kept_dirty *dirty = &classes->dirty;

	for (dirty->count = 0; dirty->count < dirty->words; dirty->count++) {
		dirty->list[dirty->count] = dirty->count;
		dirty->word[dirty->count] = UINT64_MAX;
	}
}

static void dirty_clear(struct classes *classes)
{
	struct kept_dirty *dirty = &classes->dirty;

	while (dirty->count > 0)
		dirty->word[dirty->list[--dirty->count]] = 0;
}

static uint32_t dirty_nodes(const struct classes *classes)
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
	    a->maxed_count != b->maxed_count)
		return false;
	for (uint32_t i = 0; i < a->maxed_count; i++) {
		if (a->maxed[i].plugin != b->maxed[i].plugin ||
		    a->maxed[i].down != b->maxed[i].down ||
		    a->maxed[i].weight != b->maxed[i].weight)
			return false;
	}
	return true;
}

static struct kept *begin(struct classes *classes, const struct fw_class *class,
                          const struct alike *alike)
{
	size_t bytes = kept_bytes(classes->capacity, 0);
	struct kept *kept;

	if (bytes > classes->memory_max)
		return NULL;
	make_room(classes, bytes, NULL);
	kept = kept_new(classes->capacity);
	if (kept == NULL)
		return NULL;
	kept->alike = *alike;
	kept->home = class->home;
	pl_list_init(&kept->shares);
	(void)!pl_map_add(&classes->by_alike, &kept->by_alike,
	                  pl_span(&kept->alike, sizeof kept->alike));
	pl_list_add_head(&classes->order, &kept->order);
	classes->figures.kept++;
	classes->figures.bytes += kept->bytes;
	return kept;
}

static struct kept *find(const struct classes *classes, const struct alike *alike)
{
	struct pl_map_node *at =
		pl_map_get(&classes->by_alike, pl_span(alike, sizeof *alike));

	return at == NULL ? NULL : PL_CONTAINER_OF(at, struct kept, by_alike);
}

static struct share *share_of(struct fw_class *class)
{
	struct share *share = class->cache;

	if (share == NULL) {
		share = pl_calloc(1, sizeof *share);
		class->cache = share;
	}
	return share;
}

/* The one of the class, as old as it may be. fresh: nothing is known of it. */
static struct kept *take(struct classes *classes, struct fw_class *class, bool *fresh)
{
	struct share *share = share_of(class);
	struct kept *kept;
	struct alike alike;

	if (share == NULL)
		return NULL;
	if (share->kept != NULL && share->kept->capacity != classes->capacity)
		drop(classes, share->kept);
	kept = share->kept;
	*fresh = false;
	if (kept == NULL) {
		alike_of(class, &alike);
		kept = find(classes, &alike);
		if (kept != NULL && kept->capacity != classes->capacity) {
			drop(classes, kept);
			kept = NULL;
		}
		*fresh = kept == NULL;
		if (kept == NULL)
			kept = begin(classes, class, &alike);
		if (kept == NULL)
			return NULL;
		share->kept = kept;
		pl_list_add_tail(&kept->shares, &share->of_kept);
	}
	pl_list_del(&kept->order);
	pl_list_add_head(&classes->order, &kept->order);
	return kept;
}

static void find_dirty(struct classes *classes, struct kept *kept,
                       const struct stage_plan *plan, bool fresh)
{
	const struct snapshot *snapshot = classes->snapshot;

	classes->dirty.words = (uint32_t)pl_bitset_words(snapshot->slots);
	if (!fresh && is_same_plan(&kept->plan, plan) &&
	    snapshot_changed_since(snapshot, kept->changes, dirty_slot,
	                           &classes->dirty)) {
		classes->figures.hits++;
		classes->figures.mended += dirty_nodes(classes);
		return;
	}
	dirty_clear(classes);
	kept_reset(kept, plan);
	dirty_all(classes);
	classes->figures.made++;
}

static const struct stage_kept *bring(void *ctx, struct cycle *cycle,
                                      struct fw_class *class,
                                      const struct stage_plan *plan)
{
	struct classes *classes = ctx;
	struct kept *kept;
	size_t before;
	bool fresh, done;

	if (!dirty_grow(classes))
		return NULL;
	kept = take(classes, class, &fresh);
	if (kept == NULL)
		return NULL;
	find_dirty(classes, kept, plan, fresh);
	before = kept->bytes;
	done = kept_mend(kept, cycle, classes->snapshot, &classes->dirty,
	                 &classes->scratch);
	classes->figures.bytes += kept->bytes - before;
	dirty_clear(classes);
	kept->changes = classes->snapshot->changes;
	if (!done) {
		drop(classes, kept);
		return NULL;
	}
	make_room(classes, 0, kept);
	return &kept->shown;
}

static void best(void *ctx, struct fw_class *class, uint64_t draw, struct stage_best *out)
{
	const struct share *share = class->cache;
	const struct kept *kept = share->kept;
	struct best_top top;

	(void)ctx;
	PL_ASSERT(kept != NULL);
	top = best_tree_top(&kept->tree);
	PL_ASSERT(top.ties > 0);
	*out = (struct stage_best){
		.slot = best_tree_pick(&kept->tree, stage_pick(draw, top.ties)),
		.total = top.best,
		.ties = top.ties,
	};
}
