/*
 * Things that some nodes can reach and others can not (volumes, storage with room), found
 * by a label that they ask nodes for: so that a node is held against its own few, and not
 * against all that there are.
 *
 * Made in the arena of a cycle. Things are numbers in an order of the caller's; the index
 * tells candidates in that order, and the caller asks them exactly.
 */
#ifndef SHARDSCHED_PLUGINS_VOLUME_INDEX_H
#define SHARDSCHED_PLUGINS_VOLUME_INDEX_H

#include "shardsched/model/node_selector.h"
#include "store/base/arena.h"

enum {
	VOLUME_INDEX_KEYS = 4,   /* what asks for yet another key is asked by each node */
	VOLUME_INDEX_VALUES = 8, /* of one row; the same for one with more */
};

struct volume_pin {
	uint32_t key, value;
	uint32_t item;
	uint32_t zero;
};

struct volume_index {
	struct volume_pin *pin; /* by key, value, item */
	uint32_t pins;
	uint32_t *rest; /* things without a pin, in order */
	uint32_t rests;
	uint32_t key[VOLUME_INDEX_KEYS];
	uint32_t keys;
};

/* How many pins such a thing takes; 0: it is among the rest. What it asks nodes for may
 * be NULL: nothing. */
uint32_t volume_index_pins(const struct selector *asks);
/* Room for so many things, and pins of theirs; false: the arena is full. */
bool volume_index_init(struct volume_index *index, struct pl_arena *arena, uint32_t items,
                       uint32_t pins);
/* In the order of things. */
void volume_index_add(struct volume_index *index, uint32_t item,
                      const struct selector *asks);
/* After the last. */
void volume_index_sort(struct volume_index *index);

/* Goes over the candidates of a node. */
struct volume_walk {
	uint32_t at[VOLUME_INDEX_KEYS + 1]; /* next of each key, then of the rest */
	uint32_t end[VOLUME_INDEX_KEYS + 1];
};

void volume_walk_init(struct volume_walk *walk, const struct volume_index *index,
                      const struct labels *labels);
/* The next thing in order; UINT32_MAX: no more. */
uint32_t volume_walk_next(struct volume_walk *walk, const struct volume_index *index);

/* qsort without memory of its own. Elements of at most 64 bytes. */
typedef int volume_compare_fn(const void *a, const void *b, const void *ctx);
void volume_sort(void *at, size_t count, size_t size, volume_compare_fn *compare,
                 const void *ctx);

#endif
