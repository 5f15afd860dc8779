/* A ring: a first-in-first-out queue of fixed capacity over elements of one size. */
#ifndef STORE_BASE_RING_H
#define STORE_BASE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/compiler.h"
#include "store/base/err.h"

/* The ring owns at, and allocates nothing after pl_ring_init. */
struct pl_ring {
	uint8_t *at;
	size_t size; /* bytes of an element */
	size_t cap;
	size_t head; /* index of the oldest element */
	size_t count;
};

/* Both size and cap must be greater than 0. PL_NOMEM. */
PL_NODISCARD enum pl_code pl_ring_init(struct pl_ring *ring, size_t size, size_t cap);
void pl_ring_done(struct pl_ring *ring);

/* Copies the element in. False: the ring is full, and nothing has happened. */
PL_NODISCARD bool pl_ring_push(struct pl_ring *ring, const void *element);

/* Copies the element in. True: the ring was full, and the oldest element has been
 * dropped. */
bool pl_ring_push_overwrite(struct pl_ring *ring, const void *element);

/* Copies the oldest element out (element may be NULL). False: the ring is empty. */
PL_NODISCARD bool pl_ring_pop(struct pl_ring *ring, void *element);

/* Gives an element in place; 0 is the oldest. index must be less than count. */
void *pl_ring_at(const struct pl_ring *ring, size_t index);

#endif
