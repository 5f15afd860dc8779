#include "shardsched/plugins/volume_index.h"

#include <string.h>

bool volume_index_init(struct volume_index *index, struct pl_arena *arena, uint32_t items,
                       uint32_t pins)
{
	*index = (struct volume_index){0};
	if (pins > 0)
		index->pin = pl_arena_alloc(arena, (size_t)pins * sizeof *index->pin);
	if (items > 0)
		index->rest = pl_arena_alloc(arena, (size_t)items * sizeof *index->rest);
	return (pins == 0 || index->pin != NULL) && (items == 0 || index->rest != NULL);
}

static bool take_key(struct volume_index *index, uint32_t key)
{
	for (uint32_t i = 0; i < index->keys; i++)
		if (index->key[i] == key)
			return true;
	if (index->keys == VOLUME_INDEX_KEYS)
		return false;
	index->key[index->keys++] = key;
	return true;
}

/* The row with the fewest values, of those that want one of some. */
static const struct selector_row *narrowest(const struct selector *asks)
{
	const struct selector_row *best = NULL;

	if (asks == NULL || asks->flags != 0)
		return NULL;
	for (uint32_t i = 0; i < asks->count; i++) {
		const struct selector_row *row = &asks->row[i];

		if (row->op == SELECTOR_IN && row->count <= VOLUME_INDEX_VALUES &&
		    (best == NULL || row->count < best->count))
			best = row;
	}
	return best;
}

uint32_t volume_index_pins(const struct selector *asks)
{
	const struct selector_row *row = narrowest(asks);

	return row == NULL ? 0 : row->count;
}

void volume_index_add(struct volume_index *index, uint32_t item,
                      const struct selector *asks)
{
	const struct selector_row *row = narrowest(asks);

	if (row == NULL || !take_key(index, row->key)) {
		index->rest[index->rests++] = item;
		return;
	}
	for (uint32_t i = 0; i < row->count; i++)
		index->pin[index->pins++] = (struct volume_pin){
			.key = row->key,
			.value = selector_values(asks, row)[i],
			.item = item,
		};
}

static int compare_words(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_pins(const void *left, const void *right, const void *ctx)
{
	const struct volume_pin *a = left, *b = right;

	(void)ctx;
	if (a->key != b->key)
		return compare_words(a->key, b->key);
	if (a->value != b->value)
		return compare_words(a->value, b->value);
	return compare_words(a->item, b->item);
}

void volume_index_sort(struct volume_index *index)
{
	volume_sort(index->pin, index->pins, sizeof *index->pin, compare_pins, NULL);
}

/* The first pin that is not before that one. */
static uint32_t lower_bound(const struct volume_index *index,
                            const struct volume_pin *want)
{
	uint32_t low = 0, high = index->pins;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare_pins(&index->pin[middle], want, NULL) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void volume_walk_init(struct volume_walk *walk, const struct volume_index *index,
                      const struct labels *labels)
{
	*walk = (struct volume_walk){0};
	for (uint32_t i = 0; i < index->keys; i++) {
		struct volume_pin want = {.key = index->key[i]};

		want.value = labels_get(labels, want.key);
		if (want.value == 0)
			continue;
		walk->at[i] = lower_bound(index, &want);
		want.item = UINT32_MAX;
		walk->end[i] = lower_bound(index, &want);
	}
	walk->end[VOLUME_INDEX_KEYS] = index->rests;
}

static uint32_t item_at(const struct volume_walk *walk, const struct volume_index *index,
                        unsigned lane)
{
	if (walk->at[lane] == walk->end[lane])
		return UINT32_MAX;
	return lane == VOLUME_INDEX_KEYS ? index->rest[walk->at[lane]]
	                                 : index->pin[walk->at[lane]].item;
}

uint32_t volume_walk_next(struct volume_walk *walk, const struct volume_index *index)
{
	uint32_t best = UINT32_MAX;

	for (unsigned lane = 0; lane <= VOLUME_INDEX_KEYS; lane++) {
		uint32_t item = item_at(walk, index, lane);

		best = item < best ? item : best;
	}
	for (unsigned lane = 0; lane <= VOLUME_INDEX_KEYS && best != UINT32_MAX; lane++)
		walk->at[lane] += item_at(walk, index, lane) == best;
	return best;
}

/* -- a heap sort -------------------------------------------------------------------- */

enum { SORT_SIZE_MAX = 64 };

struct heap {
	char *at;
	size_t size;
	volume_compare_fn *compare;
	const void *ctx;
};

static void swap(const struct heap *heap, size_t a, size_t b)
{
	char spare[SORT_SIZE_MAX];

	memcpy(spare, heap->at + a * heap->size, heap->size);
	memcpy(heap->at + a * heap->size, heap->at + b * heap->size, heap->size);
	memcpy(heap->at + b * heap->size, spare, heap->size);
}

static bool is_less(const struct heap *heap, size_t a, size_t b)
{
	return heap->compare(heap->at + a * heap->size, heap->at + b * heap->size,
	                     heap->ctx) < 0;
}

static void sink(const struct heap *heap, size_t at, size_t end)
{
	for (size_t child = at * 2 + 1; child < end; child = at * 2 + 1) {
		if (child + 1 < end && is_less(heap, child, child + 1))
			child++;
		if (!is_less(heap, at, child))
			return;
		swap(heap, at, child);
		at = child;
	}
}

void volume_sort(void *at, size_t count, size_t size, volume_compare_fn *compare,
                 const void *ctx)
{
	const struct heap heap = {at, size, compare, ctx};

	PL_ASSERT(size <= SORT_SIZE_MAX);
	for (size_t i = count / 2; i > 0; i--)
		sink(&heap, i - 1, count);
	for (size_t end = count; end > 1; end--) {
		swap(&heap, 0, end - 1);
		sink(&heap, 0, end - 1);
	}
}
