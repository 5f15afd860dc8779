#include "coord/daemon/worker.h"

#include <stdio.h>

#include "coord/connect/version.h"
#include "store/base/clock.h"
#include "store/etcd/etcd.h"
#include "store/kv/metrics.h"
#include "store/kv/prefixed.h"

/*
 * The life of a worker. Opened in this order: client, root prefix, shard. Closed in
 * the other direction: the shard reports CLOSED, then the client is closed, then the
 * handles, and the loop runs dry. If something can not be opened that is reported, and
 * the thread ends at once.
 */

enum { PACE_MS = 5000 };

static void on_handle_closed(uv_handle_t *handle)
{
	(void)handle;
}

static void report_state(struct worker *worker, enum worker_state state)
{
	atomic_store(&worker->state, state);
	(void)uv_async_send(worker->report);
}

static void worker_fail(struct worker *worker)
{
	atomic_store(&worker->failed, true);
	report_state(worker, WORKER_FAILED);
}

static void handles_close(struct worker *worker)
{
	uv_mutex_lock(&worker->lock);
	worker->wakeable = false;
	uv_mutex_unlock(&worker->lock);
	uv_close((uv_handle_t *)&worker->wake, on_handle_closed);
	uv_close((uv_handle_t *)&worker->pace, on_handle_closed);
	uv_close((uv_handle_t *)&worker->quiet, on_handle_closed);
	uv_close((uv_handle_t *)&worker->turn, on_handle_closed);
	loop_lag_close(&worker->lag);
	worker_metrics_close(worker);
}

static void on_kv_closed(void *ctx)
{
	struct worker *worker = ctx;

	worker->kv = worker->measured = NULL;
	handles_close(worker);
}

static void obey_order(struct worker *worker)
{
	enum worker_order order = atomic_load(&worker->order);

	if (worker->shard == NULL || order == worker->obeyed)
		return;
	worker->obeyed = order;
	if (order == WORKER_ABANDON)
		shard_abandon(worker->shard);
	else if (order == WORKER_LEAVE)
		shard_leave(worker->shard);
}

static void on_wake(uv_async_t *wake)
{
	obey_order(wake->data);
	worker_metrics_answer(wake->data);
}

/* Shows the other threads how the shard is. */
static void on_turn(uv_prepare_t *turn)
{
	struct worker *worker = turn->data;
	uint64_t safe_ms = worker->shard == NULL ? 0 : shard_safe_until_ms(worker->shard);

	atomic_store_explicit(&worker->safe_until_ms, safe_ms, memory_order_relaxed);
	atomic_store_explicit(&worker->turned_ms, pl_clock_ms(), memory_order_relaxed);
}

/* Measures how busy the loop was and how much the shard wrote since the last call. */
static void on_pace(uv_timer_t *pace)
{
	struct worker *worker = pace->data;
	uint64_t now = uv_hrtime(), idle = uv_metrics_idle_time(&worker->loop);
	struct kv *kv = worker->shard != NULL ? shard_kv(worker->shard) : NULL;
	uint64_t writes;
	double took, busy;

	if (kv == NULL || now == worker->pace_ns)
		return;
	writes = guarded_metrics(kv)->writes;
	took = (double)(now - worker->pace_ns);
	busy = 1 - (double)(idle - worker->idle_ns) / took;
	shard_busy(worker->shard,
	           busy < 0   ? 0
	           : busy > 1 ? 1
	                      : busy,
	           (double)(writes - worker->writes) * 1e9 / took);
	worker->pace_ns = now;
	worker->idle_ns = idle;
	worker->writes = writes;
	worker_work_figures(worker, false);
}

static void on_quiet(uv_timer_t *quiet);

void worker_quiet_rearm(struct worker *worker)
{
	uint64_t now_ms = pl_clock_ms(), at = event_log_deadline_ms(&worker->event_log);

	if (at == UINT64_MAX)
		(void)uv_timer_stop(&worker->quiet);
	else
		(void)uv_timer_start(&worker->quiet, on_quiet,
		                     at > now_ms ? at - now_ms : 0, 0);
}

static void on_quiet(uv_timer_t *quiet)
{
	struct worker *worker = quiet->data;

	event_log_due(&worker->event_log, pl_clock_ms());
	worker_quiet_rearm(worker);
}

static void on_work_closed(void *ctx)
{
	struct worker *worker = ctx;

	worker->work = NULL;
	kv_close(worker->kv, on_kv_closed, worker);
}

static void on_closed(struct worker *worker)
{
	worker->shard = NULL;
	if (worker->work == NULL) {
		kv_close(worker->kv, on_kv_closed, worker);
		return;
	}
	worker_work_figures(worker, true);
	work_close(worker->work, on_work_closed, worker);
}

static void on_shard(void *ctx, const struct shard_note *note)
{
	struct worker *worker = ctx;

	event_log_note(&worker->event_log, note, pl_clock_ms());
	worker_quiet_rearm(worker);
	atomic_store(&worker->owned, worker->event_log.owned);
	worker_metrics_note(worker, note);
	if (worker->work != NULL)
		work_on_note(worker->work, note);
	switch (note->what) {
	case SHARD_QUIESCE:
		if (worker->work == NULL) /* without work nothing is in flight */
			shard_quiet(worker->shard, note->partition, note->epoch);
		return;
	case SHARD_REFUSED:
		worker_fail(worker);
		return;
	case SHARD_CLOSED:
		on_closed(worker);
		return;
	case SHARD_ACTIVE:
		atomic_store(&worker->active, true);
		return;
	case SHARD_META:
	case SHARD_UP:
	case SHARD_DRAINING:
	case SHARD_DRAINED:
	case SHARD_DOUBT:
	case SHARD_DOWN:
	case SHARD_OWN:
	case SHARD_LOST:
	case SHARD_FENCED:
	case SHARD_MALFORMED:
	case SHARD_CONFIG:
	case SHARD_LEAD:
	case SHARD_FOLLOW:
	case SHARD_BALANCED:
	case SHARD_SWEPT:
	case SHARD_REWOUND:
	case SHARD_TROUBLE:
		return;
	}
}

static bool pid_lives(void *ctx, int64_t pid)
{
	(void)ctx;
	return host_pid_lives(pid);
}

static int64_t wall_ms(void *ctx)
{
	(void)ctx;
	return pl_clock_wall_ms();
}

/* Reports the first failure of the connection at once; the parts of the shard notice
 * only when their calls time out. */
static void on_store_down(void *ctx, const struct pl_err *err)
{
	struct worker *worker = ctx;
	const struct shard_note note = {
		.what = SHARD_TROUBLE, .part = "connection", .err = err};

	event_log_note(&worker->event_log, &note, pl_clock_ms());
}

static uint64_t clock_us(void *ctx)
{
	(void)ctx;
	return uv_hrtime() / 1000;
}

static enum pl_code open_kv(struct worker *worker, struct pl_err *err)
{
	static const struct kv_metrics_opts measure = {.now_us = clock_us};
	struct etcd_opts opts = store_opts_etcd(&worker->opts->store);
	struct kv *kv = NULL;

	opts.on_down = on_store_down;
	opts.ctx = worker;
	if (etcd_open(&worker->loop, &opts, &kv, err) != PL_OK)
		return err->code;
	worker->kv = worker->etcd = kv;
	if (kv_metrics_open(kv, &measure, &worker->kv, err) != PL_OK)
		return err->code;
	kv = worker->measured = worker->kv;
	if (worker->opts->prefix[0] == 0)
		return PL_OK;
	return prefixed_open(kv, pl_span_str(worker->opts->prefix), &worker->kv, err);
}

static enum pl_code open_shard(struct worker *worker, struct pl_err *err)
{
	const struct daemon_opts *from = worker->opts;
	struct shard_opts opts = {
		.id = worker->id,
		.host = worker->host->name,
		.boot = worker->host->boot,
		.version = PLACET_VERSION,
		.api = from->api,
		.zone = from->zone,
		.pid = worker->host->pid,
		.weight = from->weight,
		.partitions = from->partitions,
		.together = from->shards,
		.ttl_s = from->ttl_s,
		.pid_lives = pid_lives,
		.wall_ms = wall_ms,
		.ctx = worker,
	};

	return shard_open(worker->kv, &opts, on_shard, &worker->shard, err);
}

static void start_work(struct worker *worker)
{
	struct pl_err err = {0};

	if (open_kv(worker, &err) == PL_OK && open_shard(worker, &err) == PL_OK &&
	    worker_work_open(worker, &err) == PL_OK) {
		obey_order(worker);
		return;
	}
	PL_LOG(PL_LOG_ERROR, "shard.failed", pl_log_str("shard", worker->id),
	       pl_log_err("err", &err));
	worker_fail(worker);
	if (worker->shard != NULL)
		shard_abandon(worker->shard); /* the worker ends when the shard has
		                               * closed */
	else if (worker->kv != NULL)
		kv_close(worker->kv, on_kv_closed, worker);
	else
		handles_close(worker);
}

static void *worker_main(void *ctx)
{
	struct worker *worker = ctx;
	int rc;

	worker->pace_ns = uv_hrtime();
	atomic_store(&worker->turned_ms, pl_clock_ms());
	worker_metrics_open(worker);
	(void)uv_timer_start(&worker->pace, on_pace, PACE_MS, PACE_MS);
	(void)uv_prepare_start(&worker->turn, on_turn);
	start_work(worker);
	(void)uv_run(&worker->loop, UV_RUN_DEFAULT);
	rc = uv_loop_close(&worker->loop);
	PL_ASSERT(rc == 0);
	report_state(worker, WORKER_ENDED);
	return NULL;
}

static enum pl_code loop_open(struct worker *worker, struct pl_err *err)
{
	int rc = uv_loop_init(&worker->loop);

	if (rc != 0)
		return pl_err_set(err, PL_IO, "loop: %s", uv_strerror(rc));
	(void)uv_loop_configure(&worker->loop, UV_METRICS_IDLE_TIME);
	rc = uv_mutex_init(&worker->lock);
	if (rc != 0) {
		(void)uv_loop_close(&worker->loop);
		return pl_err_set(err, PL_IO, "mutex: %s", uv_strerror(rc));
	}
	rc = uv_async_init(&worker->loop, &worker->wake, on_wake);
	if (rc != 0) {
		uv_mutex_destroy(&worker->lock);
		(void)uv_loop_close(&worker->loop);
		return pl_err_set(err, PL_IO, "async: %s", uv_strerror(rc));
	}
	(void)uv_timer_init(&worker->loop, &worker->pace);
	(void)uv_timer_init(&worker->loop, &worker->quiet);
	(void)uv_prepare_init(&worker->loop, &worker->turn);
	loop_lag_open(&worker->lag, &worker->loop);
	worker->wakeable = true;
	worker->wake.data = worker;
	worker->pace.data = worker;
	worker->quiet.data = worker;
	worker->turn.data = worker;
	return PL_OK;
}

enum pl_code worker_start(struct worker *worker, struct pl_err *err)
{
	int rc;

	(void)snprintf(worker->id, sizeof worker->id, "%s-%u", worker->opts->name,
	               worker->number);
	event_log_init(&worker->event_log, worker->id);
	if (loop_open(worker, err) != PL_OK)
		return pl_err_wrap(err, "shard %s", worker->id);
	rc = pthread_create(&worker->thread, NULL, worker_main, worker);
	if (rc == 0)
		return PL_OK;
	handles_close(worker);
	(void)uv_run(&worker->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&worker->loop);
	uv_mutex_destroy(&worker->lock);
	return pl_err_set(err, PL_IO, "shard %s: thread: %s", worker->id, strerror(rc));
}

void worker_wake(struct worker *worker)
{
	uv_mutex_lock(&worker->lock);
	if (worker->wakeable)
		(void)uv_async_send(&worker->wake);
	uv_mutex_unlock(&worker->lock);
}

void worker_order(struct worker *worker, enum worker_order order)
{
	PL_ASSERT(order >= atomic_load(&worker->order));
	atomic_store(&worker->order, order);
	worker_wake(worker);
}

void worker_join(struct worker *worker)
{
	int rc = pthread_join(worker->thread, NULL);

	PL_ASSERT(rc == 0);
	uv_mutex_destroy(&worker->lock);
}
