#include "coord/daemon/worker.h"
#include "store/base/clock.h"
#include "store/base/rng.h"

/*
 * The scheduling work of a worker, and its events. Troubles of the work are reported
 * as troubles of the shard, with part naming the place, so they are limited like
 * those.
 */

enum { FIGURES_MS = 30000 };

static int64_t wall_ms(void *ctx)
{
	(void)ctx;
	return pl_clock_wall_ms();
}

static uint64_t clock_ns(void *ctx)
{
	(void)ctx;
	return pl_clock_ns();
}

static void log_note(struct worker *worker, const struct shard_note *note)
{
	event_log_note(&worker->event_log, note, pl_clock_ms());
	worker_quiet_rearm(worker);
}

static void on_work(void *ctx, const struct work_note *note)
{
	struct worker *worker = ctx;

	switch (note->what) {
	case WORK_OPENED:
		PL_LOG(PL_LOG_DEBUG, "partition.open", pl_log_str("shard", worker->id),
		       pl_log_uint("partition", note->partition),
		       pl_log_uint("took_ms", note->took_ms));
		return;
	case WORK_MALFORMED:
		log_note(worker, &(struct shard_note){.what = SHARD_MALFORMED,
		                                      .key = note->key,
		                                      .err = note->err});
		return;
	case WORK_TROUBLE:
		worker_metrics_note(worker, &(struct shard_note){.what = SHARD_TROUBLE,
		                                                 .part = note->part,
		                                                 .err = note->err});
		log_note(worker, &(struct shard_note){.what = SHARD_TROUBLE,
		                                      .part = note->part,
		                                      .err = note->err});
		return;
	}
}

enum pl_code worker_work_open(struct worker *worker, struct pl_err *err)
{
	struct work_opts opts = {
		.sched = {.shard = worker->id, .seed = pl_rng_seed_random()},
		.wall_ms = wall_ms,
		.clock_ns = clock_ns};

	if (!worker->opts->scheduling)
		return PL_OK;
	worker->logged_ms = pl_clock_ms();
	return work_open(worker->kv, worker->shard, &opts, on_work, worker, &worker->work,
	                 err);
}

static void log_figures(const struct worker *worker, const struct sched_figures *now)
{
	PL_LOG(PL_LOG_INFO, "work.figures", pl_log_str("shard", worker->id),
	       pl_log_uint("nodes", now->nodes), pl_log_uint("pods", now->pods),
	       pl_log_uint("decided", now->decided), pl_log_uint("placed", now->placed),
	       pl_log_uint("txns", now->txns),
	       pl_log_uint("txns_failed", now->txns_failed),
	       pl_log_uint("txns_unknown", now->txns_unknown),
	       pl_log_uint("txns_fenced", now->txns_fenced),
	       pl_log_uint("conflicts", now->conflicts),
	       pl_log_uint("taken_back", now->taken_back),
	       pl_log_uint("malformed", now->malformed),
	       pl_log_uint("plugin_overruns", now->plugin_overruns),
	       pl_log_uint("batch", now->batch_size));
}

void worker_work_figures(struct worker *worker, bool last)
{
	const struct sched *sched =
		worker->work == NULL ? NULL : work_sched(worker->work);
	uint64_t now_ms = pl_clock_ms();
	struct sched_figures now;

	if (sched == NULL || (!last && now_ms - worker->logged_ms < FIGURES_MS))
		return;
	sched_figures(sched, &now);
	if (!last && now.decided == worker->logged.decided &&
	    now.txns == worker->logged.txns &&
	    now.txns_failed == worker->logged.txns_failed)
		return;
	worker->logged = now;
	worker->logged_ms = now_ms;
	log_figures(worker, &now);
}
