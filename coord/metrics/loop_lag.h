/* Measures a loop: how late its timers come, and how busy it is. Of the loop's thread. */
#ifndef COORD_METRICS_LOOP_LAG_H
#define COORD_METRICS_LOOP_LAG_H

#include <uv.h>

#include "coord/metrics/metrics_table.h"

struct loop_lag {
	uv_timer_t timer; /* does not keep the loop alive */
	uint64_t due_ns;
	struct histogram late_us;
	uint64_t asked_ns, idle_ns; /* at the last collect */
};

/* The loop must have UV_METRICS_IDLE_TIME for its business to be known. */
void loop_lag_open(struct loop_lag *lag, uv_loop_t *loop);
void loop_lag_close(struct loop_lag *lag); /* the handle closes with the loop's turn */
void loop_lag_collect(struct loop_lag *lag, struct pl_span thread,
                      struct metric_set *set);

#endif
