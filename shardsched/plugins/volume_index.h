/*
 * Things that some nodes can reach and others can not (volumes, storage with room), found
 * by a label that they ask nodes for: so that a node is held against its own few, and not
 * against all that there are.
 *
 * Made in the arena of a cycle. Things are numbers of the caller's, who asks each
 * candidate exactly.
 */
#ifndef SHARDSCHED_PLUGINS_VOLUME_INDEX_H
#define SHARDSCHED_PLUGINS_VOLUME_INDEX_H

#include "shardsched/model/node_selector.h"
#include "store/base/arena.h"

enum {
	VOLUME_INDEX_KEYS = 4,   /* what asks for yet another key is loose */
	VOLUME_INDEX_VALUES = 8, /* of one row; what has more is loose */
};

struct volume_pin {
	uint32_t key, value;
	uint32_t item;
	uint32_t next; /* in its bucket: index + 1 */
};

struct volume_index {
	struct volume_pin *pin;
	uint32_t pins;
	uint32_t *bucket; /* a power of two: of the first pin, index + 1 */
	uint32_t mask;
	uint32_t key[VOLUME_INDEX_KEYS];
	uint32_t keys;
};

/* How many pins such a thing takes; 0: it is loose. What it asks nodes for may be NULL:
 * nothing. */
uint32_t volume_index_pins(const struct selector *asks);
/* Room for so many pins; false: the arena is full. */
bool volume_index_init(struct volume_index *index, struct pl_arena *arena, uint32_t pins);
/* false: it is loose: each node is a candidate. */
bool volume_index_add(struct volume_index *index, uint32_t item,
                      const struct selector *asks);

/* Goes over the candidates of a node, in no order. Zeroed: at the begin. */
struct volume_walk {
	uint32_t key_index; /* the key, and one more once it has begun */
	uint32_t pin;       /* the next in the bucket, index + 1 */
	uint32_t value;
};

/* UINT32_MAX: no more. */
uint32_t volume_walk_next(struct volume_walk *walk, const struct volume_index *index,
                          const struct labels *labels);

/* qsort without memory of its own. Elements of at most 64 bytes. */
typedef int volume_compare_fn(const void *a, const void *b, const void *ctx);
void volume_sort(void *at, size_t count, size_t size, volume_compare_fn *compare,
                 const void *ctx);

#endif
