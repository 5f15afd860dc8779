/*
 * A volume index finds things that only some nodes can reach (volumes, storage capacity)
 * by a label that they ask of nodes, so that a node is compared with its own few and not
 * with all of them.
 *
 * The index lives in the arena of a cycle. Things are numbers of the caller, which
 * compares each candidate exactly.
 */
#ifndef SHARDSCHED_PLUGINS_VOLUME_INDEX_H
#define SHARDSCHED_PLUGINS_VOLUME_INDEX_H

#include "shardsched/model/node_selector.h"
#include "store/base/arena.h"

enum {
	VOLUME_INDEX_KEYS = 4,   /* a thing that asks for yet another key is loose */
	VOLUME_INDEX_VALUES = 8, /* of one row; a thing with more is loose */
};

struct volume_pin {
	uint32_t key, value;
	uint32_t item;
	uint32_t next; /* index + 1 of the next pin in the bucket; 0: none */
};

struct volume_index {
	struct volume_pin *pin;
	uint32_t pins;
	uint32_t *bucket; /* a power of two; index + 1 of the first pin */
	uint32_t mask;
	uint32_t key[VOLUME_INDEX_KEYS];
	uint32_t keys;
};

/* How many pins a thing takes; 0: it is loose. NULL: it asks nothing of nodes. */
uint32_t volume_index_pins(const struct selector *selector);
/* Makes room for so many pins; false: the arena is full. */
bool volume_index_init(struct volume_index *index, struct pl_arena *arena, uint32_t pins);
/* false: the thing is loose, so every node is a candidate. */
bool volume_index_add(struct volume_index *index, uint32_t item,
                      const struct selector *selector);

/* Iterates over the candidates of a node, in no order. Zeroed: at the beginning. */
struct volume_walk {
	uint32_t key_index; /* index of the next key */
	uint32_t pin;       /* index + 1 of the next pin in the bucket */
	uint32_t value;
};

/* UINT32_MAX: there are no more. */
uint32_t volume_walk_next(struct volume_walk *walk, const struct volume_index *index,
                          const struct labels *labels);

/* As qsort, with a context and without allocating. Elements have at most 64 bytes. */
typedef int volume_compare_fn(const void *a, const void *b, const void *ctx);
void volume_sort(void *at, size_t count, size_t size, volume_compare_fn *compare,
                 const void *ctx);

#endif
