#include "shardsched/model/number_map.h"

#include <stdlib.h>

#include "store/base/alloc.h"

enum { NUMBER_MAP_FIRST = 64 };

void number_map_done(struct number_map *map)
{
	free(map->entry);
	*map = (struct number_map){0};
}

/* Zeroed entries are of generation 0, which is over by then. */
void number_map_clear(struct number_map *map)
{
	map->generation++;
	map->count = 0;
}

static uint32_t hash_slot(const struct number_map *map, uint32_t key)
{
	return (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (map->cap - 1);
}

/* The entry of the key, or the free one where the key would be. */
static uint32_t find_slot(const struct number_map *map, uint32_t key)
{
	uint32_t at = hash_slot(map, key);

	while (number_map_has(map, at) && map->entry[at].key != key)
		at = (at + 1) & (map->cap - 1);
	return at;
}

uint32_t *number_map_find(const struct number_map *map, uint32_t key)
{
	uint32_t at;

	if (map->cap == 0)
		return NULL;
	at = find_slot(map, key);
	return number_map_has(map, at) ? &map->entry[at].value : NULL;
}

bool number_map_get(const struct number_map *map, uint32_t key, uint32_t *value)
{
	const uint32_t *found = number_map_find(map, key);

	if (found == NULL)
		return false;
	*value = *found;
	return true;
}

bool number_map_reserve(struct number_map *map, uint64_t more)
{
	struct number_map larger = {.generation = map->generation, .count = map->count};
	uint64_t cap = map->cap == 0 ? NUMBER_MAP_FIRST : map->cap;

	if (map->count + more <= map->cap / 2)
		return true;
	while (map->count + more > cap / 2 && cap <= UINT32_MAX)
		cap *= 2;
	if (cap > UINT32_MAX)
		return false;
	/* A generation that zeroed entries do not have. */
	if (larger.generation == 0)
		larger.generation = 1;
	larger.cap = (uint32_t)cap;
	larger.entry = pl_calloc(larger.cap, sizeof *larger.entry);
	if (larger.entry == NULL)
		return false;
	for (uint32_t i = 0; i < map->cap; i++)
		if (number_map_has(map, i))
			larger.entry[find_slot(&larger, map->entry[i].key)] =
				map->entry[i];
	free(map->entry);
	*map = larger;
	return true;
}

bool number_map_add(struct number_map *map, uint32_t key, uint32_t value)
{
	uint32_t at;

	if (!number_map_reserve(map, 1))
		return false;
	at = find_slot(map, key);
	PL_ASSERT(!number_map_has(map, at));
	map->entry[at] = (struct number_entry){key, value, map->generation};
	map->count++;
	return true;
}

/* Closes the gap: each entry behind it that a search would no longer reach moves up. */
void number_map_del(struct number_map *map, uint32_t key)
{
	uint32_t mask = map->cap - 1, gap;

	PL_ASSERT(map->count > 0);
	gap = find_slot(map, key);
	PL_ASSERT(number_map_has(map, gap));
	for (uint32_t at = (gap + 1) & mask; number_map_has(map, at);
	     at = (at + 1) & mask) {
		uint32_t first = hash_slot(map, map->entry[at].key);

		if (((at - first) & mask) < ((at - gap) & mask))
			continue;
		map->entry[gap] = map->entry[at];
		gap = at;
	}
	map->entry[gap].generation = map->generation - 1;
	map->count--;
}
