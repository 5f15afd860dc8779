/*
 * Timers in a heap, run by whoever owns the clock: a libuv loop, or a test that
 * moves virtual time.
 *
 * Setting a timer can not fail: room for it is taken when it is initialised.
 * Timers that are due at the same time run in the order in which they were set.
 */
#ifndef STORE_BASE_TIMERS_H
#define STORE_BASE_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/heap.h"

typedef void pl_timer_fn(void *ctx);

struct pl_timers {
	struct pl_heap heap;
	uint64_t seq;
	size_t room;                  /* timers initialised */
	uint64_t running_ms;          /* the time of the run that is going on, or 0 */
	void (*on_change)(void *ctx); /* the earliest deadline moved; may be NULL */
	void *ctx;
};

/* Embedded in its owner; set and stop any number of times. */
struct pl_timer {
	struct pl_heap_node node;
	struct pl_timers *timers;
	uint64_t at_ms;
	uint64_t seq;
	pl_timer_fn *fn;
	void *ctx;
};

void pl_timers_init(struct pl_timers *timers, void (*on_change)(void *ctx), void *ctx);
void pl_timers_done(struct pl_timers *timers);

/* When the earliest is due. UINT64_MAX: none is set. */
uint64_t pl_timers_next_ms(const struct pl_timers *timers);

/* Runs what is due at now_ms, except what is set again meanwhile for now or
 * earlier: that waits for the next call, so that this one ends. */
void pl_timers_run(struct pl_timers *timers, uint64_t now_ms);

PL_NODISCARD enum pl_code pl_timer_init(struct pl_timer *timer, struct pl_timers *timers,
                                        pl_timer_fn *fn, void *ctx);
/* Must come before the memory goes. Takes a zeroed timer too. */
void pl_timer_done(struct pl_timer *timer);

void pl_timer_set(struct pl_timer *timer, uint64_t at_ms);
void pl_timer_stop(struct pl_timer *timer);

static inline bool pl_timer_is_set(const struct pl_timer *timer)
{
	return pl_heap_has(&timer->node);
}

#endif
