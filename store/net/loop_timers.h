/*
 * Any number of timers on two libuv handles, in pl_clock_ms() time.
 *
 * Invariant: a timer that is due at once runs in the next turn of the loop, after the
 * loop has polled its descriptors; so timers never starve I/O.
 */
#ifndef STORE_NET_LOOP_TIMERS_H
#define STORE_NET_LOOP_TIMERS_H

#include <uv.h>

#include "store/base/timers.h"

/* Embedded in its owner. */
struct loop_timers {
	struct pl_timers timers;
	uv_timer_t uv;
	uv_idle_t at_once; /* active when a timer is due now */
	unsigned open;     /* handles that are not closed yet */
	void (*closed)(void *ctx);
	void *ctx;
};

void loop_timers_open(struct loop_timers *lt, uv_loop_t *loop);

/* Every timer must be done before. closed is called later, once; lt may be freed in it.
 */
void loop_timers_close(struct loop_timers *lt, void (*closed)(void *ctx), void *ctx);

#endif
