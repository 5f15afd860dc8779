/*
 * A map from number to number, by open addressing: what is counted by the number of a
 * string, and what was found out during one run and is forgotten all at once.
 *
 * Invariants: at most half of the entries are in use, so a search ends at a free one; an
 * entry is in use if its generation is the map's, so clearing costs nothing; between an
 * entry in use and the slot of its hash no entry is free.
 *
 * 16 bytes an entry. Of the project's other maps pl_map (store/base/map.h) is keyed by
 * bytes and holds elements in the order of adding, and buckets (buckets.h) find elements
 * that hold the link themselves.
 */
#ifndef SHARDSCHED_MODEL_NUMBER_MAP_H
#define SHARDSCHED_MODEL_NUMBER_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/compiler.h"

struct number_entry {
	uint32_t key;
	uint32_t value;
	uint64_t generation; /* another than the map's: the entry is free */
};

/* Zeroed: empty. */
struct number_map {
	struct number_entry *entry;
	uint32_t cap; /* a power of two, or 0 */
	uint32_t count;
	uint64_t generation;
};

void number_map_done(struct number_map *map);
/* Keeps its memory. */
void number_map_clear(struct number_map *map);

/* Room for so many keys more: that many additions can not fail. false: no memory, or more
 * keys than a map can have; nothing changed. */
PL_NODISCARD bool number_map_reserve(struct number_map *map, uint64_t more);
/* A key that is not there. false: no memory. */
PL_NODISCARD bool number_map_add(struct number_map *map, uint32_t key, uint32_t value);
/* A key that is there. */
void number_map_del(struct number_map *map, uint32_t key);

bool number_map_get(const struct number_map *map, uint32_t key, uint32_t *value);
/* The value of a key, to be changed in place until the next addition or deletion. NULL:
 * the key is not there. */
uint32_t *number_map_find(const struct number_map *map, uint32_t key);

/* Whether the entry at that index, below cap, is in use: for walks over all entries. */
static inline bool number_map_has(const struct number_map *map, uint32_t index)
{
	return map->entry[index].generation == map->generation;
}

#endif
