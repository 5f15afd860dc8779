#include "coord/budgets/budgets.h"

#include <stdlib.h>

#include "coord/budgets/budgets_int.h"
#include "store/base/alloc.h"

/* Notes of feeds and answers of calls only record what they bring. Everything that
 * follows from it is done from the timer, which this sets to now. */

void budgets_kick(struct budgets *budgets)
{
	pl_timer_set(&budgets->timer, kv_now_ms(budgets->kv));
}

void budgets_report(struct budgets *budgets, const struct budgets_note *note)
{
	if (!budgets->stopping)
		budgets->fn(budgets->ctx, note);
}

static void budgets_free(struct budgets *budgets)
{
	for (unsigned i = 0; i < BUDGETS_CALLS; i++)
		pl_arena_done(&budgets->put[i].arena);
	counter_free(budgets->counter);
	pl_timer_done(&budgets->timer);
	free(budgets);
}

static void budgets_finish(struct budgets *budgets)
{
	static const struct budgets_note stopped = {.what = BUDGETS_STOPPED};
	budgets_fn *fn = budgets->fn;
	void *ctx = budgets->ctx;

	if (!pl_list_empty(&budgets->feeds) || budgets->out > 0)
		return; /* the last feed or call to end kicks the timer again */
	budgets_free(budgets);
	fn(ctx, &stopped);
}

static void rearm_timer(struct budgets *budgets)
{
	uint64_t now = kv_now_ms(budgets->kv), at = feeds_deadline_ms(budgets);

	if (budgets->leading && budgets->out < BUDGETS_CALLS &&
	    counter_deadline_ms(budgets->counter) < at)
		at = counter_deadline_ms(budgets->counter);
	if (at != UINT64_MAX)
		pl_timer_set(&budgets->timer, at < now ? now : at);
}

static void on_timer(void *ctx)
{
	struct budgets *budgets = ctx;
	struct pl_err err = {0};
	enum pl_code code;

	if (budgets->stopping) {
		budgets_finish(budgets);
		return;
	}
	code = feeds_follow(budgets, &err);
	if (code == PL_OK && budgets->leading)
		code = puts_run(budgets, &err);
	rearm_timer(budgets);
	if (code != PL_OK)
		budgets_report(budgets, &(struct budgets_note){.what = BUDGETS_TROUBLE,
		                                               .err = &err});
}

enum pl_code budgets_open(struct kv *kv, const struct budgets_opts *opts, budgets_fn *fn,
                          void *ctx, struct budgets **out, struct pl_err *err)
{
	struct budgets *budgets = pl_calloc(1, sizeof *budgets);

	if (budgets == NULL)
		return pl_err_set(err, PL_NOMEM, "count for budgets");
	budgets->kv = kv;
	budgets->elect = opts->elect;
	budgets->partitions = opts->partitions;
	budgets->seed = opts->seed;
	budgets->fn = fn;
	budgets->ctx = ctx;
	pl_list_init(&budgets->feeds);
	for (unsigned i = 0; i < BUDGETS_CALLS; i++) {
		budgets->put[i].owner = budgets;
		pl_arena_init(&budgets->put[i].arena, 0, 0);
	}
	if (counter_new(0, &budgets->counter, err) != PL_OK ||
	    pl_timer_init(&budgets->timer, kv_timers(kv), on_timer, budgets) != PL_OK) {
		budgets_free(budgets);
		return pl_err_set(err, PL_NOMEM, "count for budgets");
	}
	*out = budgets;
	return PL_OK;
}

void budgets_lead(struct budgets *budgets, bool leading)
{
	if (budgets->stopping || budgets->leading == leading)
		return;
	budgets->leading = leading;
	if (!leading) {
		feeds_stop(budgets);
		counter_forget(budgets->counter);
	}
	budgets_kick(budgets);
}

void budgets_stop(struct budgets *budgets)
{
	budgets->stopping = true;
	feeds_stop(budgets);
	budgets_kick(budgets);
}
