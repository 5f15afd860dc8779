#include "store/net/loop_timers.h"

#include "store/base/clock.h"

static void on_uv_timer(uv_timer_t *uv);

/* libuv counts from its cached time, which lags behind: bring it up to date. */
static void arm(struct loop_timers *lt)
{
	uint64_t next = pl_timers_next_ms(&lt->timers), now;
	int rc;

	if (uv_is_closing((uv_handle_t *)&lt->uv))
		return;
	if (next == UINT64_MAX) {
		(void)uv_timer_stop(&lt->uv);
		return;
	}
	now = pl_clock_ms();
	uv_update_time(lt->uv.loop);
	rc = uv_timer_start(&lt->uv, on_uv_timer, next > now ? next - now : 0, 0);
	PL_ASSERT(rc == 0);
}

static void on_change(void *ctx)
{
	arm(ctx);
}

static void on_uv_timer(uv_timer_t *uv)
{
	struct loop_timers *lt = PL_CONTAINER_OF(uv, struct loop_timers, uv);

	pl_timers_run(&lt->timers, pl_clock_ms());
	arm(lt); /* lt outlives this: closing it ends in on_closed, later */
}

void loop_timers_open(struct loop_timers *lt, uv_loop_t *loop)
{
	int rc = uv_timer_init(loop, &lt->uv);

	PL_ASSERT(rc == 0);
	pl_timers_init(&lt->timers, on_change, lt);
}

static void on_closed(uv_handle_t *handle)
{
	struct loop_timers *lt =
		PL_CONTAINER_OF((uv_timer_t *)handle, struct loop_timers, uv);

	pl_timers_done(&lt->timers);
	lt->closed(lt->ctx);
}

void loop_timers_close(struct loop_timers *lt, void (*closed)(void *ctx), void *ctx)
{
	lt->closed = closed;
	lt->ctx = ctx;
	uv_close((uv_handle_t *)&lt->uv, on_closed);
}
