#include "shardsched/plugins/volume_index.h"

#include <string.h>

static bool add_key(struct volume_index *index, uint32_t key)
{
	for (uint32_t i = 0; i < index->keys; i++)
		if (index->key[i] == key)
			return true;
	if (index->keys == VOLUME_INDEX_KEYS)
		return false;
	index->key[index->keys++] = key;
	return true;
}

/* The row with the fewest values among the rows that ask for one of some values. */
static const struct selector_row *narrowest(const struct selector *selector)
{
	const struct selector_row *best = NULL;

	if (selector == NULL || selector->flags != 0)
		return NULL;
	for (uint32_t i = 0; i < selector->count; i++) {
		const struct selector_row *row = &selector->row[i];

		if (row->op == SELECTOR_IN && row->count <= VOLUME_INDEX_VALUES &&
		    (best == NULL || row->count < best->count))
			best = row;
	}
	return best;
}

uint32_t volume_index_pins(const struct selector *selector)
{
	const struct selector_row *row = narrowest(selector);

	return row == NULL ? 0 : row->count;
}

bool volume_index_init(struct volume_index *index, struct pl_arena *arena, uint32_t pins)
{
	uint32_t buckets = 1;

	*index = (struct volume_index){0};
	if (pins == 0)
		return true;
	while (buckets < pins)
		buckets *= 2;
	index->pin = pl_arena_alloc(arena, (size_t)pins * sizeof *index->pin);
	index->bucket = pl_arena_zalloc(arena, buckets, sizeof *index->bucket);
	index->mask = buckets - 1;
	return index->pin != NULL && index->bucket != NULL;
}

static uint32_t *bucket_of(const struct volume_index *index, uint32_t key, uint32_t value)
{
	/* Numbers of strings are dense; the multiplication mixes their bits. */
	uint32_t hash = (value ^ key << 16) * 2654435769U;

	return &index->bucket[(hash ^ hash >> 16) & index->mask];
}

static void add_pin(struct volume_index *index, struct volume_pin pin)
{
	uint32_t *first = bucket_of(index, pin.key, pin.value);

	pin.next = *first;
	index->pin[index->pins++] = pin;
	*first = index->pins;
}

bool volume_index_add(struct volume_index *index, uint32_t item,
                      const struct selector *selector)
{
	const struct selector_row *row = narrowest(selector);

	if (row == NULL || !add_key(index, row->key))
		return false;
	for (uint32_t i = 0; i < row->count; i++)
		add_pin(index, (struct volume_pin){
				       .key = row->key,
				       .value = selector_values(selector, row)[i],
				       .item = item,
			       });
	return true;
}

/* Moves to the next key of the index that the node has. */
static bool next_key(struct volume_walk *walk, const struct volume_index *index,
                     const struct labels *labels)
{
	while (walk->key_index < index->keys) {
		uint32_t key = index->key[walk->key_index++];

		walk->value = labels_get(labels, key);
		if (walk->value == 0)
			continue;
		walk->pin = *bucket_of(index, key, walk->value);
		return true;
	}
	return false;
}

uint32_t volume_walk_next(struct volume_walk *walk, const struct volume_index *index,
                          const struct labels *labels)
{
	do {
		while (walk->pin != 0) {
			const struct volume_pin *pin = &index->pin[walk->pin - 1];

			walk->pin = pin->next;
			if (pin->value == walk->value &&
			    pin->key == index->key[walk->key_index - 1])
				return pin->item;
		}
	} while (next_key(walk, index, labels));
	return UINT32_MAX;
}

/* -- heap sort --------------------------------------------------------------------------- */

enum { SORT_SIZE_MAX = 64 };

struct volume_heap {
	char *at;
	size_t size;
	volume_compare_fn *compare;
	const void *ctx;
};

static void heap_swap(const struct volume_heap *heap, size_t a, size_t b)
{
	char spare[SORT_SIZE_MAX];

	memcpy(spare, heap->at + a * heap->size, heap->size);
	memcpy(heap->at + a * heap->size, heap->at + b * heap->size, heap->size);
	memcpy(heap->at + b * heap->size, spare, heap->size);
}

static bool heap_less(const struct volume_heap *heap, size_t a, size_t b)
{
	return heap->compare(heap->at + a * heap->size, heap->at + b * heap->size,
	                     heap->ctx) < 0;
}

static void heap_sink(const struct volume_heap *heap, size_t at, size_t end)
{
	for (size_t child = at * 2 + 1; child < end; child = at * 2 + 1) {
		if (child + 1 < end && heap_less(heap, child, child + 1))
			child++;
		if (!heap_less(heap, at, child))
			return;
		heap_swap(heap, at, child);
		at = child;
	}
}

void volume_sort(void *at, size_t count, size_t size, volume_compare_fn *compare,
                 const void *ctx)
{
	const struct volume_heap heap = {at, size, compare, ctx};

	PL_ASSERT(size <= SORT_SIZE_MAX);
	for (size_t i = count / 2; i > 0; i--)
		heap_sink(&heap, i - 1, count);
	for (size_t end = count; end > 1; end--) {
		heap_swap(&heap, 0, end - 1);
		heap_sink(&heap, 0, end - 1);
	}
}
