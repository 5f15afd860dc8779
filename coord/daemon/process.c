#include "coord/daemon/process.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "coord/connect/version.h"
#include "coord/daemon/api_thread.h"
#include "coord/daemon/tell.h"
#include "coord/daemon/worker.h"
#include "coord/metrics/scrape_server.h"
#include "store/base/alloc.h"

enum { SIGNALS = 3 };

static const int signals[SIGNALS] = {SIGTERM, SIGINT, SIGHUP};

struct process {
	const struct daemon_opts *opts;
	struct host host;
	uv_loop_t loop;
	uv_signal_t signal[SIGNALS];
	uv_async_t report;
	uv_timer_t patience;
	struct worker *worker;
	unsigned count; /* workers that run or have run */
	struct metrics_hub hub;
	struct scrape_server *scrapes; /* NULL: the process listens for none */
	struct loop_lag lag;
	struct metrics_source source;
	uv_async_t asked;
	struct api_thread api;
	struct tell tell;
	bool serves; /* api runs or has run */
	bool stopping;
	bool failed;
	bool closing;
};

static const char *signal_name(int number)
{
	return number == SIGTERM ? "SIGTERM" : number == SIGINT ? "SIGINT" : "SIGHUP";
}

static void order_all(struct process *process, enum worker_order order)
{
	for (unsigned i = 0; i < process->count; i++)
		if (atomic_load(&process->worker[i].state) != WORKER_ENDED)
			worker_order(&process->worker[i], order);
	if (process->serves && order != WORKER_RUN)
		api_thread_stop(&process->api);
}

static void on_patience(uv_timer_t *timer)
{
	struct process *process = timer->data;

	PL_LOG(PL_LOG_ERROR, "process.drain_timeout",
	       pl_log_uint("drain_timeout_ms", process->opts->drain_timeout_ms));
	process->failed = true;
	order_all(process, WORKER_ABANDON);
}

static void stop_process(struct process *process, const char *why)
{
	if (process->stopping)
		return;
	process->stopping = true;
	PL_LOG(PL_LOG_INFO, "process.stopping", pl_log_str("why", why));
	(void)uv_timer_start(&process->patience, on_patience,
	                     process->opts->drain_timeout_ms, 0);
	order_all(process, WORKER_LEAVE);
}

/* A second signal ends the process without any clean-up: the leases run out in etcd
 * and other shards take over. */
static _Noreturn void stop_at_once(int number)
{
	PL_LOG(PL_LOG_WARN, "process.killed", pl_log_str("signal", signal_name(number)));
	_exit(PROCESS_AT_ONCE);
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct process *process = handle->data;

	PL_LOG(PL_LOG_INFO, "process.signal", pl_log_str("signal", signal_name(number)));
	if (number == SIGHUP)
		return;
	if (process->stopping)
		stop_at_once(number);
	stop_process(process, signal_name(number));
}

/* -- metrics ----------------------------------------------------------------------------- */

static void on_asked(uv_async_t *asked)
{
	struct process *process = asked->data;
	struct metric_set *set = NULL;
	uint64_t question;

	if (!metrics_source_is_asked(&process->source, &question))
		return;
	if (metrics_set_new(&set, NULL) == PL_OK)
		loop_lag_collect(&process->lag, PL_SPAN_LIT("process"), set);
	metrics_source_answer(&process->source, question, set);
}

/* From any thread. */
static void ask(void *ctx)
{
	struct process *process = ctx;

	(void)uv_async_send(&process->asked);
}

static struct health_checks checks(void *ctx)
{
	struct process *process = ctx;

	return tell_process(&process->tell).checks;
}

static enum pl_code scrapes_open(struct process *process, struct pl_err *err)
{
	const struct daemon_listen *listen = &process->opts->metrics;
	const struct scrape_server_opts opts = {.host = listen->host,
	                                        .port = listen->port,
	                                        .hub = &process->hub,
	                                        .version = PLACET_VERSION,
	                                        .checks = checks,
	                                        .ctx = process};

	if (listen->host[0] == 0)
		return PL_OK;
	if (scrape_server_open(&process->loop, &opts, &process->scrapes, err) != PL_OK)
		return pl_err_wrap(err, "metrics");
	PL_LOG(PL_LOG_INFO, "metrics.listening", pl_log_str("host", listen->host),
	       pl_log_uint("port", scrape_server_port(process->scrapes)));
	return PL_OK;
}

static enum pl_code process_metrics_open(struct process *process, struct pl_err *err)
{
	int rc = uv_async_init(&process->loop, &process->asked, on_asked);

	if (rc != 0)
		return pl_err_set(err, PL_IO, "async: %s", uv_strerror(rc));
	process->asked.data = process;
	loop_lag_open(&process->lag, &process->loop);
	process->source.wake = ask;
	process->source.ctx = process;
	metrics_source_join(&process->hub, &process->source);
	return PL_OK;
}

static void process_metrics_close(struct process *process)
{
	metrics_source_leave(&process->source);
	if (process->scrapes != NULL)
		scrape_server_close(PL_STEAL(process->scrapes));
	uv_close((uv_handle_t *)&process->asked, NULL);
	loop_lag_close(&process->lag);
}

/* -- life -------------------------------------------------------------------------------- */

static void handles_close(struct process *process)
{
	if (process->closing)
		return;
	process->closing = true;
	for (unsigned i = 0; i < SIGNALS; i++)
		uv_close((uv_handle_t *)&process->signal[i], NULL);
	uv_close((uv_handle_t *)&process->report, NULL);
	uv_close((uv_handle_t *)&process->patience, NULL);
	process_metrics_close(process);
}

static bool api_ended(struct process *process)
{
	return atomic_load(&process->api.state) == API_THREAD_ENDED;
}

static void on_report(uv_async_t *report)
{
	struct process *process = report->data;
	unsigned ended = 0;

	for (unsigned i = 0; i < process->count; i++) {
		ended += atomic_load(&process->worker[i].state) == WORKER_ENDED;
		process->failed =
			process->failed || atomic_load(&process->worker[i].failed);
	}
	if (process->failed)
		stop_process(process, "a shard failed");
	if (ended == process->count && (!process->serves || api_ended(process)))
		handles_close(process);
}

static enum pl_code handles_open(struct process *process, struct pl_err *err)
{
	int rc = uv_loop_init(&process->loop);

	if (rc != 0)
		return pl_err_set(err, PL_IO, "loop: %s", uv_strerror(rc));
	(void)uv_loop_configure(&process->loop, UV_METRICS_IDLE_TIME);
	rc = uv_async_init(&process->loop, &process->report, on_report);
	(void)uv_timer_init(&process->loop, &process->patience);
	process->report.data = process;
	process->patience.data = process;
	for (unsigned i = 0; i < SIGNALS; i++) {
		int started;

		(void)uv_signal_init(&process->loop, &process->signal[i]);
		process->signal[i].data = process;
		started = uv_signal_start(&process->signal[i], on_signal, signals[i]);
		rc = rc != 0 ? rc : started;
	}
	if (process_metrics_open(process, err) != PL_OK)
		return err->code;
	/* signals need descriptors only; without descriptors nothing else would work
	 * either */
	return rc == 0 ? PL_OK : pl_err_set(err, PL_IO, "signals: %s", uv_strerror(rc));
}

static enum pl_code api_start(struct process *process, struct pl_err *err)
{
	enum pl_code code;

	process->api.opts = process->opts;
	process->api.report = &process->report;
	process->api.process = tell_process(&process->tell);
	process->api.hub = &process->hub;
	code = api_thread_start(&process->api, err);
	process->serves = code == PL_OK;
	return code;
}

/* Starts the workers with all signals blocked, so that only this thread receives them; but
 * for the profiler's, which every thread has to receive. */
static enum pl_code workers_start(struct process *process, struct pl_err *err)
{
	enum pl_code code = PL_OK;
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)sigdelset(&all, SIGPROF);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	for (unsigned i = 0; i < process->opts->shards && code == PL_OK; i++) {
		struct worker *worker = &process->worker[i];

		worker->opts = process->opts;
		worker->host = &process->host;
		worker->report = &process->report;
		worker->hub = &process->hub;
		worker->number = i;
		code = worker_start(worker, err);
		process->count += code == PL_OK;
	}
	if (code == PL_OK)
		code = tell_init(&process->tell, process->opts, process->worker,
		                 process->count, err);
	if (code == PL_OK && process->opts->serve.host[0] != 0)
		code = api_start(process, err);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

static void log_start(const struct process *process)
{
	PL_LOG(PL_LOG_INFO, "process.start", pl_log_str("version", PLACET_VERSION),
	       pl_log_str("name", process->opts->name),
	       pl_log_uint("shards", process->opts->shards),
	       pl_log_str("etcd", process->opts->store.endpoints),
	       pl_log_str("prefix", process->opts->prefix),
	       pl_log_int("ttl_s", process->opts->ttl_s),
	       pl_log_int("pid", process->host.pid));
}

static void process_loop(struct process *process)
{
	struct pl_err err = {0};

	log_start(process);
	if (scrapes_open(process, &err) != PL_OK ||
	    workers_start(process, &err) != PL_OK) {
		PL_LOG(PL_LOG_ERROR, "process.failed", pl_log_err("err", &err));
		process->failed = true;
		if (process->count == 0)
			handles_close(process);
		else
			stop_process(process, "a shard failed");
	}
	(void)uv_run(&process->loop, UV_RUN_DEFAULT);
	for (unsigned i = 0; i < process->count; i++)
		worker_join(&process->worker[i]);
	if (process->serves)
		api_thread_join(&process->api);
	tell_done(&process->tell);
}

enum process_status process_run(const struct daemon_opts *opts)
{
	struct process process = {.opts = opts};
	struct pl_err err = {0};
	enum process_status status;

	host_read(&process.host);
	process.worker = pl_calloc(opts->shards + 1, sizeof *process.worker);
	if (process.worker == NULL || metrics_hub_init(&process.hub, &err) != PL_OK ||
	    handles_open(&process, &err) != PL_OK) {
		PL_LOG(PL_LOG_ERROR, "process.failed", pl_log_err("err", &err));
		free(process.worker);
		return PROCESS_FAILED;
	}
	process_loop(&process);
	(void)uv_loop_close(&process.loop);
	metrics_hub_done(&process.hub);
	free(process.worker);
	status = process.failed ? PROCESS_FAILED : PROCESS_OK;
	PL_LOG(PL_LOG_INFO, "process.stopped", pl_log_int("status", status));
	return status;
}
