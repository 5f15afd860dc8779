#include <stdlib.h>

#include "coord/work/turn_size.h"
#include "coord/work/work_int.h"
#include "store/base/alloc.h"

/*
 * A turn: takes up what has come, decides some pods, starts the transactions that
 * follow, and leaves the loop to others.
 *
 * A transaction for which the client has no room is kept, and nothing is decided
 * meanwhile, because decisions that pile up would only grow old. A transaction that
 * can not be started for another reason has failed for sched. The next try waits for a
 * moment, since the reason (such as a lease in doubt) does not go away by trying.
 */

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct work_call *call = ctx;
	struct work *work = call->work;

	pl_list_del(&call->link);
	if (result != NULL)
		rates_answered(work, result);
	sched_measure_at(work->sched, kv_now_ms(work->kv));
	sched_answer(work->sched, call->number, result, err);
	free(call);
	work_kick(work);
}

static enum pl_code call_start(struct work *work, const struct sched_action *action,
                               struct pl_err *err)
{
	struct kv *kv = work->shard == NULL ? NULL : shard_kv(work->shard);
	struct work_call *call;
	enum pl_code code;

	if (kv == NULL)
		return pl_err_set(err, PL_CANCELED, "the shard closes");
	call = pl_calloc(1, sizeof *call);
	if (call == NULL)
		return pl_err_set(err, PL_NOMEM, "call %u", action->txn);
	call->work = work;
	call->number = action->txn;
	code = kv_start(kv, &action->req, action->timeout_ms, on_done, call,
	                &call->kv_call, err);
	if (code != PL_OK)
		free(call);
	else
		pl_list_add_tail(&work->calls, &call->link);
	return code;
}

static void start_txn(struct work *work, const struct sched_action *action)
{
	struct pl_err err = {0};
	enum pl_code code = call_start(work, action, &err);

	if (code == PL_BUSY) {
		work->deferred = *action;
		work->is_deferred = true;
		kv_when_room(work->kv, &work->waiter);
	} else if (code != PL_OK) {
		work->pause_ms = kv_now_ms(work->kv) + WORK_PAUSE_MS;
		sched_answer(work->sched, action->txn, NULL, &err);
	}
}

void turn_on_room(void *ctx)
{
	struct work *work = ctx;
	struct sched_action deferred = work->deferred;

	work->is_deferred = false;
	start_txn(work, &deferred);
	work_kick(work);
}

void work_deferred_drop(struct work *work)
{
	struct pl_err err = {0};

	if (!work->is_deferred)
		return;
	work->is_deferred = false;
	pl_list_del(&work->waiter.link);
	pl_err_set(&err, PL_CANCELED, "the shard closes");
	sched_answer(work->sched, work->deferred.txn, NULL, &err);
}

void work_calls_cancel(struct work *work)
{
	struct kv *kv = work->shard == NULL ? NULL : shard_kv(work->shard);

	work_deferred_drop(work);
	if (kv == NULL)
		return; /* canceled with it */
	PL_LIST_EACH (link, &work->calls)
		kv_cancel(kv, PL_LIST_ITEM(link, struct work_call, link)->kv_call);
}

static void report_action(struct work *work, const struct sched_action *action)
{
	work_report(work, &(struct work_note){.what = action->what == SCHED_MALFORMED
	                                                      ? WORK_MALFORMED
	                                                      : WORK_TROUBLE,
	                                      .part = "sched",
	                                      .key = action->key,
	                                      .err = action->err});
}

static void perform_action(struct work *work, const struct sched_action *action)
{
	switch (action->what) {
	case SCHED_TXN:
		start_txn(work, action);
		return;
	case SCHED_RELIST:
		parts_relist(work, action->partition, action->part);
		return;
	case SCHED_RELIST_VIEW:
		views_reopen(work, action->view);
		return;
	case SCHED_REMOTE_LIST:
		remote_lists_begin(work, action->partition);
		return;
	case SCHED_MALFORMED:
	case SCHED_TROUBLE:
		report_action(work, action);
		return;
	}
}

/* False: there may be more actions. */
static bool perform_actions(struct work *work)
{
	struct sched_action action;

	for (unsigned i = 0; i < WORK_ACTIONS; i++) {
		if (work->closing || work->is_deferred ||
		    !sched_next(work->sched, &action))
			return true;
		perform_action(work, &action);
	}
	return false;
}

static void adopt_parts(struct work *work)
{
	uint64_t now = kv_now_ms(work->kv);
	struct pl_err err = {0};

	if (work->unadopted == 0 || now < work->retry_ms || now < work->adopt_ms ||
	    parts_adopt(work, &err) == PL_OK)
		return;
	work->retry_ms = now + WORK_RETRY_MS;
	work_report(work, &(struct work_note){
				  .what = WORK_TROUBLE, .part = "sched", .err = &err});
}

static void report_opened(struct work *work)
{
	uint64_t now = kv_now_ms(work->kv);
	uint32_t p;

	while (!work->closing && parts_opened(work, &p)) {
		work->rates.metrics.took_over++;
		histogram_add(&work->rates.metrics.opening_ms,
		              now - work->part[p].owned_ms);
		work_report(work,
		            &(struct work_note){.what = WORK_OPENED,
		                                .partition = p,
		                                .took_ms = now - work->part[p].owned_ms});
	}
}

/* When sched wants its next turn, or has to be configured. */
static uint64_t sched_next_ms(const struct work *work)
{
	uint64_t at = UINT64_MAX;

	if (work->sched == NULL || work->is_deferred)
		return UINT64_MAX;
	if (work->configured)
		at = sched_deadline_ms(work->sched);
	if (work->config_due && work->config_retry_ms < at)
		at = work->config_retry_ms;
	return at;
}

static uint64_t adopt_ms(const struct work *work)
{
	if (work->unadopted == 0)
		return UINT64_MAX;
	return work->retry_ms > work->adopt_ms ? work->retry_ms : work->adopt_ms;
}

static uint64_t next_ms(const struct work *work)
{
	uint64_t at = sched_next_ms(work);

	if (at < work->pause_ms)
		at = work->pause_ms;
	if (adopt_ms(work) < at)
		at = adopt_ms(work);
	if (work->sched != NULL && views_missing(work) && work->view_ms < at)
		at = work->view_ms;
	return at;
}

static void rearm_timer(struct work *work, bool more)
{
	uint64_t now = kv_now_ms(work->kv), at = more ? now : next_ms(work);

	/* A note may have kicked the timer already. */
	if (at != UINT64_MAX && (!pl_timer_is_set(&work->turn) || at < work->turn.at_ms))
		pl_timer_set(&work->turn, at < now ? now : at);
}

/* The limits are known once the store was asked; the guard's compares are already
 * subtracted. */
static void set_limits(struct work *work)
{
	struct kv *kv = work->shard == NULL ? NULL : shard_kv(work->shard);

	if (kv != NULL)
		sched_set_limits(work->sched, kv_limits(kv));
	if (work->shard != NULL && shard_roster(work->shard) != NULL)
		sched_set_shards(work->sched,
		                 (uint32_t)roster_count(shard_roster(work->shard)));
}

static uint64_t clock_ns(const struct work *work)
{
	return work->opts.clock_ns == NULL ? 0 : work->opts.clock_ns(work->ctx);
}

static void run_sched(struct work *work, uint64_t now)
{
	int64_t wall_ms = work->opts.wall_ms == NULL ? 0 : work->opts.wall_ms(work->ctx);
	uint64_t begun_ns = clock_ns(work);
	unsigned tried = sched_run(work->sched, now, wall_ms, work->turn_pods);
	uint64_t took_ns = clock_ns(work) - begun_ns;

	if (tried > 0)
		histogram_add(&work->rates.metrics.turn_ns, took_ns);
	work->turn_pods =
		turn_size_next(work->turn_pods, work->opts.turn_pods, tried, took_ns);
}

static void take_turn(struct work *work)
{
	uint64_t now = kv_now_ms(work->kv);
	bool more = false;

	adopt_parts(work);
	if (work->sched != NULL && !work->closing && !work->is_deferred &&
	    now >= work->pause_ms && config_apply(work) && !work->closing) {
		set_limits(work);
		run_sched(work, now);
		more = !perform_actions(work);
	}
	if (work->sched != NULL && !work->closing && work->shard != NULL)
		views_follow(work);
	report_opened(work);
	parts_quiet(work);
	if (!work->closing)
		rearm_timer(work, more);
}

static void work_finish(struct work *work)
{
	work_closed_fn *closed = work->closed;
	void *ctx = work->closed_ctx;

	if (!pl_list_empty(&work->feeds) || !pl_list_empty(&work->calls) ||
	    !pl_list_empty(&work->views) || !pl_list_empty(&work->remote_lists))
		return;
	work_free(work);
	closed(ctx);
}

void turn_run(void *ctx)
{
	struct work *work = ctx;

	if (work->closing)
		work_finish(work);
	else
		take_turn(work);
}
