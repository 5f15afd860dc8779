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
	map->turn++;
	map->count = 0;
}

/* Where the key is, or would be. There is always a free entry. */
static struct number_entry *place_of(const struct number_map *map, uint32_t key)
{
	uint32_t at = (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32);

	for (;; at++) {
		struct number_entry *entry = &map->entry[at & (map->cap - 1)];

		if (entry->turn != map->turn || entry->key == key)
			return entry;
	}
}

bool number_map_get(const struct number_map *map, uint32_t key, uint32_t *value)
{
	const struct number_entry *entry;

	if (map->cap == 0)
		return false;
	entry = place_of(map, key);
	if (entry->turn != map->turn)
		return false;
	*value = entry->value;
	return true;
}

static bool grow(struct number_map *map)
{
	struct number_map larger = {.turn = map->turn, .count = map->count};

	larger.cap = map->cap == 0 ? NUMBER_MAP_FIRST : map->cap * 2;
	if (larger.cap == 0)
		return false;
	larger.entry = pl_calloc(larger.cap, sizeof *larger.entry);
	if (larger.entry == NULL)
		return false;
	for (uint32_t i = 0; i < map->cap; i++)
		if (map->entry[i].turn == map->turn)
			*place_of(&larger, map->entry[i].key) = map->entry[i];
	free(map->entry);
	*map = larger;
	return true;
}

bool number_map_add(struct number_map *map, uint32_t key, uint32_t value)
{
	struct number_entry *entry;

	if (map->turn == 0)
		map->turn = 1;
	if (map->count >= map->cap / 2 && !grow(map))
		return false;
	entry = place_of(map, key);
	PL_ASSERT(entry->turn != map->turn);
	*entry = (struct number_entry){key, value, map->turn};
	map->count++;
	return true;
}
