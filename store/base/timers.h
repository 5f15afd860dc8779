/*
 * Timers in a heap. The owner of the clock runs them: a libuv loop, or a test with
 * virtual time.
 *
 * Setting a timer cannot fail, because pl_timer_init reserves its place. Timers that are
 * due at the same time run in the order in which they were set.
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
	size_t room;         /* timers that are initialised */
	uint64_t running_ms; /* the time of the run in progress; 0: none */
	/* called when the earliest deadline moves; may be NULL */
	void (*on_change)(void *ctx);
	void *ctx;
};

/* Embedded in its owner. A timer can be set and stopped any number of times. */
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

/* The time at which the earliest timer is due. UINT64_MAX: no timer is set. */
uint64_t pl_timers_next_ms(const struct pl_timers *timers);

/* Runs the timers that are due at now_ms. A timer that is set meanwhile for now or
 * earlier waits for the next call, so that this call ends. */
void pl_timers_run(struct pl_timers *timers, uint64_t now_ms);

PL_NODISCARD enum pl_code pl_timer_init(struct pl_timer *timer, struct pl_timers *timers,
                                        pl_timer_fn *fn, void *ctx);
/* Must be called before the timer's memory goes. A zeroed timer is allowed. */
void pl_timer_done(struct pl_timer *timer);

void pl_timer_set(struct pl_timer *timer, uint64_t at_ms);
void pl_timer_stop(struct pl_timer *timer);

static inline bool pl_timer_is_set(const struct pl_timer *timer)
{
	return pl_heap_has(&timer->node);
}

#endif
