#include "store/net/loop_timers.h"

#include "store/base/clock.h"

static void on_uv_timer(uv_timer_t *uv);
static void on_at_once(uv_idle_t *idle);

/* libuv counts from its cached time, which lags, so it is updated. A timer that is due
 * now uses the idle handle: a uv_timer of 0 ms that is started in a timer's callback runs
 * in the same pass again and again, and starves everything else. */
static void arm_timer(struct loop_timers *lt)
{
	uint64_t next = pl_timers_next_ms(&lt->timers), now;
	int rc;

	if (uv_is_closing((uv_handle_t *)&lt->uv))
		return;
	(void)uv_timer_stop(&lt->uv);
	(void)uv_idle_stop(&lt->at_once);
	if (next == UINT64_MAX)
		return;
	now = pl_clock_ms();
	if (next <= now) {
		rc = uv_idle_start(&lt->at_once, on_at_once);
	} else {
		uv_update_time(lt->uv.loop);
		rc = uv_timer_start(&lt->uv, on_uv_timer, next - now, 0);
	}
	PL_ASSERT(rc == 0);
}

static void on_change(void *ctx)
{
	arm_timer(ctx);
}

/* lt is still valid after the timers ran, even when one of them closed it: on_closed()
 * comes later. */
static void run_timers(struct loop_timers *lt)
{
	pl_timers_run(&lt->timers, pl_clock_ms());
	arm_timer(lt);
}

static void on_uv_timer(uv_timer_t *uv)
{
	run_timers(PL_CONTAINER_OF(uv, struct loop_timers, uv));
}

static void on_at_once(uv_idle_t *idle)
{
	run_timers(PL_CONTAINER_OF(idle, struct loop_timers, at_once));
}

void loop_timers_open(struct loop_timers *lt, uv_loop_t *loop)
{
	int rc = uv_timer_init(loop, &lt->uv);

	PL_ASSERT(rc == 0);
	rc = uv_idle_init(loop, &lt->at_once);
	PL_ASSERT(rc == 0);
	pl_timers_init(&lt->timers, on_change, lt);
}

/* The order of the close callbacks is not defined; the last one finishes. */
static void on_closed(uv_handle_t *handle)
{
	struct loop_timers *lt = handle->data;

	if (--lt->open > 0)
		return;
	pl_timers_done(&lt->timers);
	lt->closed(lt->ctx);
}

void loop_timers_close(struct loop_timers *lt, void (*closed)(void *ctx), void *ctx)
{
	uv_handle_t *handles[] = {(uv_handle_t *)&lt->uv, (uv_handle_t *)&lt->at_once};

	lt->closed = closed;
	lt->ctx = ctx;
	lt->open = 2;
	for (unsigned i = 0; i < 2; i++) {
		handles[i]->data = lt;
		uv_close(handles[i], on_closed);
	}
}
