/* A memory store on a libuv loop: one timer, which fires at once when answers wait. */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/memkv/impl.h"

/* Deliveries in one turn; then other parts of the loop have theirs. */
enum { DELIVERIES_A_TURN = 256 };

struct memkv_loop {
	struct memkv *mem;
	uv_timer_t timer;
	bool in_turn;
	bool detached;
	void (*done)(void *ctx);
	void *ctx;
};

static void on_timer(uv_timer_t *timer);

static void arm_timer(struct memkv_loop *loop)
{
	uint64_t next = memkv_next_ms(loop->mem);
	uint64_t now = pl_clock_ms();

	if (next == UINT64_MAX) {
		(void)uv_timer_stop(&loop->timer);
		return;
	}
	uv_update_time(loop->timer.loop); /* the delay counts from there */
	(void)uv_timer_start(&loop->timer, on_timer, next > now ? next - now : 0, 0);
}

static void on_wake(void *ctx)
{
	struct memkv_loop *loop = ctx;

	if (!loop->in_turn)
		arm_timer(loop);
}

static void on_timer(uv_timer_t *timer)
{
	struct memkv_loop *loop = PL_CONTAINER_OF(timer, struct memkv_loop, timer);

	loop->in_turn = true;
	(void)memkv_step(loop->mem, pl_clock_ms(), DELIVERIES_A_TURN);
	loop->in_turn = false;
	if (!loop->detached)
		arm_timer(loop);
}

enum pl_code memkv_attach(struct memkv *mem, uv_loop_t *uv, struct memkv_loop **out,
                          struct pl_err *err)
{
	struct memkv_loop *loop = pl_calloc(1, sizeof *loop);
	int status;

	PL_ASSERT(mem->wake == NULL);
	if (loop == NULL)
		return pl_err_set(err, PL_NOMEM, "memory store on a loop");
	status = uv_timer_init(uv, &loop->timer);
	PL_ASSERT(status == 0); /* libuv never fails here */
	loop->mem = mem;
	mem->live = true;
	mem->wake = on_wake;
	mem->wake_ctx = loop;
	(void)mem_now(mem);
	arm_timer(loop);
	*out = loop;
	return PL_OK;
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct memkv_loop *loop = PL_CONTAINER_OF(handle, struct memkv_loop, timer);
	void (*done)(void *ctx) = loop->done;
	void *ctx = loop->ctx;

	free(loop);
	if (done != NULL)
		done(ctx);
}

void memkv_detach(struct memkv_loop *loop, void (*done)(void *ctx), void *ctx)
{
	loop->detached = true;
	loop->done = done;
	loop->ctx = ctx;
	loop->mem->live = false;
	loop->mem->wake = NULL;
	uv_close((uv_handle_t *)&loop->timer, on_timer_closed);
}
