/* A queue of fixed capacity over elements of one size: first in, first out. */
#ifndef STORE_BASE_RING_H
#define STORE_BASE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/compiler.h"
#include "store/base/err.h"

/* Owns at; nothing is allocated after the start. */
struct pl_ring {
	uint8_t *at;
	size_t size; /* of an element */
	size_t cap;
	size_t head; /* the oldest */
	size_t count;
};

/* Both greater than 0. PL_NOMEM. */
PL_NODISCARD enum pl_code pl_ring_init(struct pl_ring *ring, size_t size, size_t cap);
void pl_ring_done(struct pl_ring *ring);

/* Copies the element in; false, and nothing happens, when it is full. */
PL_NODISCARD bool pl_ring_push(struct pl_ring *ring, const void *element);

/* Copies the element in; true: it was full and the oldest made room. */
bool pl_ring_push_overwrite(struct pl_ring *ring, const void *element);

/* Copies the oldest out (element may be NULL); false when there is none. */
PL_NODISCARD bool pl_ring_pop(struct pl_ring *ring, void *element);

/* In place, 0 is the oldest. index < count. */
void *pl_ring_at(const struct pl_ring *ring, size_t index);

#endif
