#include <stdlib.h>

#include "coord/work/pace.h"
#include "coord/work/work_int.h"
#include "store/base/alloc.h"

/*
 * A turn: takes up what has come, decides some pods, starts what follows from it, and
 * leaves the loop to others.
 *
 * A call for which the client has no room is kept, and nothing is decided meanwhile:
 * what piles up could only grow old. One that can not be started for another reason has
 * ended as far as sched is concerned; a moment passes before it may try again, as the
 * reason (our lease is in doubt, say) does not go away by trying.
 */

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct call *call = ctx;
	struct work *work = call->work;

	pl_list_del(&call->link);
	if (result != NULL)
		rates_answered(work, result);
	sched_answer(work->sched, call->number, result, err);
	free(call);
	work_kick(work);
}

static enum pl_code call_start(struct work *work, const struct sched_action *action,
                               struct pl_err *err)
{
	struct kv *kv = work->shard == NULL ? NULL : shard_kv(work->shard);
	struct call *call;
	enum pl_code code;

	if (kv == NULL)
		return pl_err_set(err, PL_CANCELED, "the shard closes");
	call = pl_calloc(1, sizeof *call);
	if (call == NULL)
		return pl_err_set(err, PL_NOMEM, "call %u", action->call);
	call->work = work;
	call->number = action->call;
	code = kv_start(kv, &action->req, action->timeout_ms, on_done, call,
	                &call->kv_call, err);
	if (code != PL_OK)
		free(call);
	else
		pl_list_add_tail(&work->calls, &call->link);
	return code;
}

static void start(struct work *work, const struct sched_action *action)
{
	struct pl_err err = {0};
	enum pl_code code = call_start(work, action, &err);

	if (code == PL_BUSY) {
		work->held = *action;
		work->is_held = true;
		kv_when_room(work->kv, &work->waiter);
	} else if (code != PL_OK) {
		work->pause_ms = kv_now_ms(work->kv) + WORK_PAUSE_MS;
		sched_answer(work->sched, action->call, NULL, &err);
	}
}

void turn_on_room(void *ctx)
{
	struct work *work = ctx;
	struct sched_action held = work->held;

	work->is_held = false;
	start(work, &held);
	work_kick(work);
}

void work_held_drop(struct work *work)
{
	struct pl_err err = {0};

	if (!work->is_held)
		return;
	work->is_held = false;
	pl_list_del(&work->waiter.link);
	pl_err_set(&err, PL_CANCELED, "the shard closes");
	sched_answer(work->sched, work->held.call, NULL, &err);
}

void work_calls_cancel(struct work *work)
{
	struct kv *kv = work->shard == NULL ? NULL : shard_kv(work->shard);

	work_held_drop(work);
	if (kv == NULL)
		return; /* they were canceled with it */
	PL_LIST_EACH (link, &work->calls)
		kv_cancel(kv, PL_LIST_ITEM(link, struct call, link)->kv_call);
}

static void tell(struct work *work, const struct sched_action *action)
{
	work_tell(work, &(struct work_told){.what = action->what == SCHED_GARBLED
	                                                    ? WORK_GARBLED
	                                                    : WORK_TROUBLE,
	                                    .part = "sched",
	                                    .key = action->key,
	                                    .err = action->err});
}

static void do_one(struct work *work, const struct sched_action *action)
{
	switch (action->what) {
	case SCHED_CALL:
		start(work, action);
		return;
	case SCHED_RELIST:
		parts_relist(work, action->partition, action->part);
		return;
	case SCHED_ANEW:
		views_anew(work, action->view);
		return;
	case SCHED_VISIT:
		visits_begin(work, action->partition);
		return;
	case SCHED_GARBLED:
	case SCHED_TROUBLE:
		tell(work, action);
		return;
	}
}

/* False: there may be more. */
static bool act(struct work *work)
{
	struct sched_action action;

	for (unsigned i = 0; i < WORK_ACTIONS; i++) {
		if (work->closing || work->is_held || !sched_next(work->sched, &action))
			return true;
		do_one(work, &action);
	}
	return false;
}

static void adopt(struct work *work)
{
	uint64_t now = kv_now_ms(work->kv);
	struct pl_err err = {0};

	if (work->unadopted == 0 || now < work->retry_ms || now < work->adopt_ms ||
	    parts_adopt(work, &err) == PL_OK)
		return;
	work->retry_ms = now + WORK_RETRY_MS;
	work_tell(work, &(struct work_told){
				.what = WORK_TROUBLE, .part = "sched", .err = &err});
}

static void tell_opened(struct work *work)
{
	uint64_t now = kv_now_ms(work->kv);
	uint32_t p;

	while (!work->closing && parts_opened(work, &p))
		work_tell(work,
		          &(struct work_told){.what = WORK_OPENED,
		                              .partition = p,
		                              .took_ms = now - work->part[p].owned_ms});
}

/* When sched wants to go on, or has to be configured first. */
static uint64_t sched_next_ms(const struct work *work)
{
	uint64_t at = UINT64_MAX;

	if (work->sched == NULL || work->is_held)
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

static void rearm(struct work *work, bool more)
{
	uint64_t now = kv_now_ms(work->kv), at = more ? now : next_ms(work);

	/* Somebody may have kicked, from a note. */
	if (at != UINT64_MAX && (!pl_timer_is_set(&work->turn) || at < work->turn.at_ms))
		pl_timer_set(&work->turn, at < now ? now : at);
}

/* Known once the store has been asked, and then less what fences need. */
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

static void run(struct work *work, uint64_t now)
{
	int64_t wall_ms = work->opts.wall_ms == NULL ? 0 : work->opts.wall_ms(work->ctx);
	uint64_t begun_ns = clock_ns(work);
	unsigned tried = sched_run(work->sched, now, wall_ms, work->turn_pods);

	work->turn_pods = pace_next(work->turn_pods, work->opts.turn_pods, tried,
	                            clock_ns(work) - begun_ns);
}

static void turn(struct work *work)
{
	uint64_t now = kv_now_ms(work->kv);
	bool more = false;

	adopt(work);
	if (work->sched != NULL && !work->closing && !work->is_held &&
	    now >= work->pause_ms && config_apply(work) && !work->closing) {
		set_limits(work);
		run(work, now);
		more = !act(work);
	}
	if (work->sched != NULL && !work->closing && work->shard != NULL)
		views_follow(work);
	tell_opened(work);
	parts_quiet(work);
	if (!work->closing)
		rearm(work, more);
}

static void finish(struct work *work)
{
	work_closed_fn *closed = work->closed;
	void *ctx = work->closed_ctx;

	if (!pl_list_empty(&work->feeds) || !pl_list_empty(&work->calls) ||
	    !pl_list_empty(&work->views) || !pl_list_empty(&work->visits))
		return;
	work_free(work);
	closed(ctx);
}

void turn_run(void *ctx)
{
	struct work *work = ctx;

	if (work->closing)
		finish(work);
	else
		turn(work);
}
