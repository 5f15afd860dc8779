#include <stdlib.h>

#include "coord/work/work_int.h"
#include "store/base/alloc.h"
#include "store/keys/keys.h"

/*
 * The frame of the work. Notes of the shard are recorded at once, as LOST demands;
 * everything that follows is done from the timer of turns.
 */

void work_kick(struct work *work)
{
	pl_timer_set(&work->turn, kv_now_ms(work->kv));
}

void work_report(struct work *work, const struct work_note *note)
{
	if (!work->closing)
		work->fn(work->ctx, note);
}

void work_free(struct work *work)
{
	sched_free(work->sched);
	pl_timer_done(&work->turn);
	pl_timer_done(&work->load);
	progress_reads_close(work->progress_reads);
	free(work->part);
	free(work);
}

static void on_load(void *ctx)
{
	struct work *work = ctx;

	pl_timer_set(&work->load, kv_now_ms(work->kv) + work->opts.load_ms);
	for (uint32_t p = 0; work->shard != NULL && p < work->parts; p++)
		if (work->part[p].state > WORK_PART_OWNED)
			shard_load(work->shard, p, sched_load(work->sched, p));
	rates_report(work);
}

enum pl_code work_open(struct kv *kv, struct shard *shard, const struct work_opts *opts,
                       work_fn *fn, void *ctx, struct work **out, struct pl_err *err)
{
	struct work *work = pl_calloc(1, sizeof *work);

	if (work == NULL)
		return pl_err_set(err, PL_NOMEM, "work");
	work->kv = kv;
	work->shard = shard;
	work->opts = *opts;
	work->fn = fn;
	work->ctx = ctx;
	work->opts.turn_pods = opts->turn_pods == 0 ? WORK_TURN_PODS : opts->turn_pods;
	work->turn_pods = work->opts.turn_pods;
	work->opts.load_ms = opts->load_ms == 0 ? WORK_LOAD_MS : opts->load_ms;
	pl_list_init(&work->feeds);
	pl_list_init(&work->calls);
	pl_list_init(&work->views);
	pl_list_init(&work->remote_lists);
	work->waiter = (struct kv_waiter){.fn = turn_on_room, .ctx = work};
	pl_list_init(&work->waiter.link);
	work->config_due = true;
	work->rates.reported_ms = kv_now_ms(kv);
	/* One for each possible partition, so that owning one later takes no memory. */
	work->part = pl_calloc(KEYS_PARTITIONS_MAX, sizeof *work->part);
	if (work->part == NULL ||
	    progress_reads_open(kv, WORK_HEAD_MS, &work->progress_reads, err) != PL_OK ||
	    pl_timer_init(&work->turn, kv_timers(kv), turn_run, work) != PL_OK ||
	    pl_timer_init(&work->load, kv_timers(kv), on_load, work) != PL_OK) {
		work_free(work);
		return pl_err_set(err, PL_NOMEM, "work");
	}
	pl_timer_set(&work->load, kv_now_ms(kv) + work->opts.load_ms);
	*out = work;
	return PL_OK;
}

void work_rewound(struct work *work, const struct work_feed *feed,
                  const struct work_view *view)
{
	rates_rewound(work);
	if (work->sched != NULL)
		sched_rewound(work->sched);
	views_stop(work, view);
	remote_lists_cancel(work);
	parts_rewound(work, feed);
}

static void leave_all(struct work *work)
{
	parts_lose_all(work);
	views_stop(work, NULL);
	remote_lists_cancel(work);
}

static void on_closed(struct work *work)
{
	work_deferred_drop(work);
	leave_all(work);
	work->shard = NULL;
	pl_timer_stop(&work->load);
}

/* A configuration that is refused changes nothing. */
static void on_config(struct work *work, const struct shard_note *note)
{
	if (note->config != CONFIG_SCHEDULER || note->err != NULL)
		return;
	work->config_due = true;
	work->config_retry_ms = 0;
	work_kick(work);
}

void work_on_note(struct work *work, const struct shard_note *note)
{
	if (work->closing)
		return;
	switch (note->what) {
	case SHARD_META:
		work->parts = shard_partitions(work->shard);
		return;
	case SHARD_OWN:
		parts_own(work, note->partition, note->epoch);
		return;
	case SHARD_QUIESCE:
		parts_quiesce(work, note->partition);
		return;
	case SHARD_LOST:
		parts_lost(work, note->partition);
		return;
	case SHARD_REWOUND:
		work_rewound(work, NULL, NULL);
		return;
	case SHARD_CLOSED:
		on_closed(work);
		return;
	case SHARD_CONFIG:
		on_config(work, note);
		return;
	case SHARD_UP:
	case SHARD_ACTIVE:
	case SHARD_DRAINING:
	case SHARD_DRAINED:
	case SHARD_DOUBT:
	case SHARD_DOWN:
	case SHARD_FENCED:
	case SHARD_MALFORMED:
	case SHARD_LEAD:
	case SHARD_FOLLOW:
	case SHARD_BALANCED:
	case SHARD_SWEPT:
	case SHARD_TROUBLE:
	case SHARD_REFUSED:
		return;
	}
}

void work_close(struct work *work, work_closed_fn *closed, void *ctx)
{
	PL_ASSERT(!work->closing);
	leave_all(work);
	work->closing = true;
	work->closed = closed;
	work->closed_ctx = ctx;
	work_calls_cancel(work);
	pl_timer_stop(&work->load);
	work_kick(work);
}

const struct sched *work_sched(const struct work *work)
{
	return work->sched;
}

uint32_t work_opened(const struct work *work)
{
	return work->opened;
}
