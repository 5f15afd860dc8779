#include "coord/metrics/loop_lag.h"

enum { EVERY_MS = 500, NS_PER_MS = 1000000 };

static void rearm(struct loop_lag *lag);

static void on_timer(uv_timer_t *timer)
{
	struct loop_lag *lag = timer->data;
	uint64_t now = uv_hrtime();

	histogram_add(&lag->late_us, now > lag->due_ns ? (now - lag->due_ns) / 1000 : 0);
	rearm(lag);
}

/* libuv counts from the time at which the loop's turn began, so that one is brought up to
 * date first. */
static void rearm(struct loop_lag *lag)
{
	uv_update_time(lag->timer.loop);
	lag->due_ns = uv_hrtime() + (uint64_t)EVERY_MS * NS_PER_MS;
	(void)uv_timer_start(&lag->timer, on_timer, EVERY_MS, 0);
}

void loop_lag_open(struct loop_lag *lag, uv_loop_t *loop)
{
	*lag = (struct loop_lag){.asked_ns = uv_hrtime()};
	(void)uv_timer_init(loop, &lag->timer);
	lag->timer.data = lag;
	uv_unref((uv_handle_t *)&lag->timer);
	rearm(lag);
}

void loop_lag_close(struct loop_lag *lag)
{
	uv_close((uv_handle_t *)&lag->timer, NULL);
}

void loop_lag_collect(struct loop_lag *lag, struct pl_span thread, struct metric_set *set)
{
	uint64_t now = uv_hrtime(), idle = uv_metrics_idle_time(lag->timer.loop);
	double took = (double)(now - lag->asked_ns), busy;

	metric_fold(set, M_LOOP_LAG, METRIC_VALUES(thread), &lag->late_us, 1e-6);
	if (took <= 0)
		return;
	busy = 1 - (double)(idle - lag->idle_ns) / took;
	metric_put(set, M_LOOP_BUSY, METRIC_VALUES(thread),
	           busy < 0   ? 0
	           : busy > 1 ? 1
	                      : busy);
	lag->asked_ns = now;
	lag->idle_ns = idle;
}
