#include "coord/api/patch/scalar.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

int scalar_compare(const struct cJSON *a, const struct cJSON *b)
{
	int x = a->type & 0xff, y = b->type & 0xff;

	if (x != y)
		return x < y ? -1 : 1;
	if (cJSON_IsString(a))
		return strcmp(a->valuestring, b->valuestring);
	if (cJSON_IsNumber(a) && a->valuedouble != b->valuedouble)
		return a->valuedouble < b->valuedouble ? -1 : 1;
	return 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct scalar_place *x = a, *y = b;
	int order = scalar_compare(x->key, y->key);

	if (order != 0)
		return order;
	return x->at < y->at ? -1 : x->at > y->at;
}

bool scalar_table_init(struct scalar_table *table, struct pl_arena *arena,
                       const struct cJSON *const *keys, size_t count)
{
	*table = (struct scalar_table){0};
	table->places = pl_arena_zalloc(arena, count + 1, sizeof *table->places);
	if (table->places == NULL)
		return false;
	for (size_t i = 0; i < count; i++)
		if (keys[i] != NULL)
			table->places[table->count++] = (struct scalar_place){keys[i], i};
	qsort(table->places, table->count, sizeof *table->places, compare_places);
	return true;
}

size_t scalar_table_find(const struct scalar_table *table, const struct cJSON *key)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (scalar_compare(table->places[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == table->count || scalar_compare(table->places[low].key, key) != 0)
		return SIZE_MAX;
	return table->places[low].at;
}
