#include "shardsched/preempt/number_map.h"

#include <stdlib.h>

#include "store/base/alloc.h"

enum { NUMBER_MAP_FIRST = 64 };

void number_map_done(struct number_map *map)
{
	free(map->entry);
	*map = (struct number_map){0};
}

/* Zeroed entries are of turn 0, which is over. */
void number_map_clear(struct number_map *map)
{
	map->generation++;
	map->count = 0;
}

/* Where the key is, or would be. There is always a free entry. */
static struct number_entry *find_entry(const struct number_map *map, uint32_t key)
{
	uint32_t at = (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32);

	for (;; at++) {
		struct number_entry *entry = &map->entry[at & (map->cap - 1)];

		if (entry->generation != map->generation || entry->key == key)
			return entry;
	}
}

bool number_map_get(const struct number_map *map, uint32_t key, uint32_t *value)
{
	const struct number_entry *entry;

	if (map->cap == 0)
		return false;
	entry = find_entry(map, key);
	if (entry->generation != map->generation)
		return false;
	*value = entry->value;
	return true;
}

static bool grow_map(struct number_map *map)
{
	struct number_map larger = {.generation = map->generation, .count = map->count};

	larger.cap = map->cap == 0 ? NUMBER_MAP_FIRST : map->cap * 2;
	if (larger.cap == 0)
		return false;
	larger.entry = pl_calloc(larger.cap, sizeof *larger.entry);
	if (larger.entry == NULL)
		return false;
	for (uint32_t i = 0; i < map->cap; i++)
		if (map->entry[i].generation == map->generation)
			*find_entry(&larger, map->entry[i].key) = map->entry[i];
	free(map->entry);
	*map = larger;
	return true;
}

bool number_map_add(struct number_map *map, uint32_t key, uint32_t value)
{
	struct number_entry *entry;

	if (map->generation == 0)
		map->generation = 1;
	if (map->count >= map->cap / 2 && !grow_map(map))
		return false;
	entry = find_entry(map, key);
	PL_ASSERT(entry->generation != map->generation);
	*entry = (struct number_entry){key, value, map->generation};
	map->count++;
	return true;
}
