/*
 * From number to number, to be forgotten all at once in no time: what was found out
 * during one run.
 */
#ifndef SHARDSCHED_PREEMPT_NUMBER_MAP_H
#define SHARDSCHED_PREEMPT_NUMBER_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/compiler.h"

struct number_entry {
	uint32_t key;
	uint32_t value;
	uint64_t generation; /* of another turn: free */
};

/* Zeroed: empty. */
struct number_map {
	struct number_entry *entry;
	uint32_t cap; /* a power of two */
	uint32_t count;
	uint64_t generation;
};

void number_map_done(struct number_map *map);
void number_map_clear(struct number_map *map);

bool number_map_get(const struct number_map *map, uint32_t key, uint32_t *value);
/* A key that is not there. false: no memory. */
PL_NODISCARD bool number_map_add(struct number_map *map, uint32_t key, uint32_t value);

#endif
