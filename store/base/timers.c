#include "store/base/timers.h"

#include <stdlib.h>

static const struct pl_timer *timer_of(const struct pl_heap_node *node)
{
	return PL_CONTAINER_OF_CONST(node, struct pl_timer, node);
}

static bool timer_before(const struct pl_heap_node *a, const struct pl_heap_node *b)
{
	const struct pl_timer *x = timer_of(a), *y = timer_of(b);

	return x->at_ms != y->at_ms ? x->at_ms < y->at_ms : x->seq < y->seq;
}

void pl_timers_init(struct pl_timers *timers, void (*on_change)(void *ctx), void *ctx)
{
	*timers = (struct pl_timers){.on_change = on_change, .ctx = ctx};
	pl_heap_init(&timers->heap, timer_before);
}

void pl_timers_done(struct pl_timers *timers)
{
	PL_ASSERT(timers->room == 0);
	pl_heap_done(&timers->heap);
}

uint64_t pl_timers_next_ms(const struct pl_timers *timers)
{
	const struct pl_heap_node *top = pl_heap_top(&timers->heap);

	return top == NULL ? UINT64_MAX : timer_of(top)->at_ms;
}

/* Skips timers that were set after the run began. */
static struct pl_timer *next_due(const struct pl_timers *timers, uint64_t until)
{
	struct pl_heap_node *top = pl_heap_top(&timers->heap);
	struct pl_timer *timer;

	if (top == NULL)
		return NULL;
	timer = PL_CONTAINER_OF(top, struct pl_timer, node);
	return timer->at_ms > timers->running_ms || timer->seq >= until ? NULL : timer;
}

void pl_timers_run(struct pl_timers *timers, uint64_t now_ms)
{
	uint64_t until = timers->seq;
	struct pl_timer *timer;

	timers->running_ms = now_ms;
	while ((timer = next_due(timers, until)) != NULL) {
		pl_heap_del(&timers->heap, &timer->node);
		timer->fn(timer->ctx);
	}
	timers->running_ms = 0;
}

enum pl_code pl_timer_init(struct pl_timer *timer, struct pl_timers *timers,
                           pl_timer_fn *fn, void *ctx)
{
	enum pl_code code = pl_heap_reserve(&timers->heap, timers->room + 1);

	if (code != PL_OK)
		return code;
	timers->room++;
	*timer = (struct pl_timer){.timers = timers, .fn = fn, .ctx = ctx};
	return PL_OK;
}

void pl_timer_done(struct pl_timer *timer)
{
	if (timer->timers == NULL)
		return;
	pl_timer_stop(timer);
	PL_ASSERT(timer->timers->room > 0);
	timer->timers->room--;
	timer->timers = NULL;
}

void pl_timer_set(struct pl_timer *timer, uint64_t at_ms)
{
	struct pl_timers *timers = timer->timers;
	enum pl_code code;

	PL_ASSERT(timers != NULL);
	if (pl_heap_has(&timer->node))
		pl_heap_del(&timers->heap, &timer->node);
	/* A timer that is set during a run must not sort before those that are due in the
	 * run: the run would stop there and leave them. */
	timer->at_ms = at_ms < timers->running_ms ? timers->running_ms : at_ms;
	timer->seq = timers->seq++;
	code = pl_heap_add(&timers->heap, &timer->node);
	PL_ASSERT(code == PL_OK); /* pl_timer_init reserved the slot */
	if (timers->on_change != NULL && pl_heap_top(&timers->heap) == &timer->node)
		timers->on_change(timers->ctx);
}

void pl_timer_stop(struct pl_timer *timer)
{
	if (pl_heap_has(&timer->node))
		pl_heap_del(&timer->timers->heap, &timer->node);
}
