/*
 * The agenda is what happens when, in true time: the one clock of a simulation.
 *
 * Items are embedded in their owners. Items of the same millisecond run in an order drawn
 * from the seed, so that nothing relies on the order of starting; the same seed always
 * gives the same order. The digest tells two runs apart.
 */
#ifndef TESTS_SIM_AGENDA_H
#define TESTS_SIM_AGENDA_H

#include <stdint.h>

#include "store/base/heap.h"
#include "store/base/list.h"
#include "store/base/rng.h"

struct agenda_item;
typedef void agenda_fn(void *ctx);

struct agenda {
	struct pl_heap heap;
	struct pl_rng rng;
	uint64_t now_ms;
	uint64_t seq;
	uint64_t done; /* items that have run */
	uint64_t digest;
};

struct agenda_item {
	struct pl_heap_node node;
	struct pl_list parked; /* link in a list of its owner, while the item waits for
			        * something else */
	uint64_t at_ms;
	uint64_t tie;
	uint64_t seq;
	agenda_fn *fn;
	void *ctx;
};

void agenda_init(struct agenda *agenda, uint64_t seed);
void agenda_done(struct agenda *agenda);

void agenda_item_init(struct agenda_item *item, agenda_fn *fn, void *ctx);

/* Sets the item's time, or moves it; times before now mean now. Takes the item out of a
 * list in which it is parked. */
void agenda_set(struct agenda *agenda, struct agenda_item *item, uint64_t at_ms);
void agenda_stop(struct agenda *agenda, struct agenda_item *item);
static inline bool agenda_is_set(const struct agenda_item *item)
{
	return pl_heap_has(&item->node);
}

/* UINT64_MAX: the agenda is empty. */
uint64_t agenda_next_ms(const struct agenda *agenda);
/* Runs the first item if it is due at until_ms or before, and moves the clock to it. */
bool agenda_step(struct agenda *agenda, uint64_t until_ms);

/* Moves the clock forward to now_ms; no item may be due before. */
void agenda_advance(struct agenda *agenda, uint64_t now_ms);

void agenda_mix(struct agenda *agenda, uint64_t value);

#endif
