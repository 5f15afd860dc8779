#include "coord/daemon/api_thread.h"

#include "coord/connect/version.h"
#include "coord/metrics/collect.h"
#include "store/base/log.h"
#include "store/etcd/etcd.h"
#include "store/kv/metrics.h"
#include "store/kv/prefixed.h"

/*
 * Opened in this order: client, root prefix, authentication, server; all before the thread
 * runs, so that a port that is taken is told at once. Closed in the other direction.
 */

static void report_state(struct api_thread *api, enum api_thread_state state)
{
	atomic_store(&api->state, state);
	(void)uv_async_send(api->report);
}

static void on_kv_closed(void *ctx)
{
	struct api_thread *api = ctx;

	api->kv = api->measured = NULL;
	metrics_source_leave(&api->source);
	if (api->exporter != NULL)
		metrics_exporter_close(PL_STEAL(api->exporter), NULL, NULL);
	loop_lag_close(&api->lag);
	uv_mutex_lock(&api->lock);
	api->wakeable = false;
	uv_mutex_unlock(&api->lock);
	uv_close((uv_handle_t *)&api->wake, NULL);
}

static void on_authn_closed(void *ctx)
{
	struct api_thread *api = ctx;

	kv_close(api->kv, on_kv_closed, api);
}

static void on_server_closed(void *ctx)
{
	struct api_thread *api = ctx;

	api->server = NULL;
	api_authn_close(&api->authn, on_authn_closed, api);
}

/* -- metrics ----------------------------------------------------------------------------- */

static void fill(struct api_thread *api, struct metric_set *set)
{
	struct pl_span client = PL_SPAN_LIT("api");

	loop_lag_collect(&api->lag, client, set);
	if (api->measured != NULL) {
		struct etcd_stats stats = etcd_stats(api->etcd);

		collect_kv(set, client, kv_metrics_of(api->measured));
		collect_etcd(set, client, &stats);
	}
	if (api->server != NULL)
		api_server_collect(api->server, set);
}

static void answer_metrics(struct api_thread *api)
{
	struct metric_set *set = NULL;
	uint64_t question;

	if (!metrics_source_is_asked(&api->source, &question))
		return;
	if (metrics_set_new(&set, NULL) == PL_OK)
		fill(api, set);
	metrics_source_answer(&api->source, question, set);
}

/* From any thread. */
static void on_asked(void *ctx)
{
	struct api_thread *api = ctx;

	uv_mutex_lock(&api->lock);
	if (api->wakeable)
		(void)uv_async_send(&api->wake);
	uv_mutex_unlock(&api->lock);
}

static enum pl_code open_metrics(struct api_thread *api, struct pl_err *err)
{
	enum pl_code code = metrics_exporter_open(&api->loop, api->hub, PLACET_VERSION,
	                                          &api->exporter, err);

	if (code != PL_OK)
		return code;
	api->source.wake = on_asked;
	api->source.ctx = api;
	metrics_source_join(api->hub, &api->source);
	return PL_OK;
}

static void serve_metrics(void *ctx, struct http_exchange *exchange)
{
	struct api_thread *api = ctx;

	metrics_exporter_serve(api->exporter, exchange);
}

static void metrics_gone(void *ctx, const struct http_exchange *exchange)
{
	struct api_thread *api = ctx;

	metrics_exporter_gone(api->exporter, exchange);
}

/* -- life -------------------------------------------------------------------------------- */

static void on_wake(uv_async_t *wake)
{
	struct api_thread *api = wake->data;

	answer_metrics(api);
	if (!atomic_load(&api->stop) || api->stopping)
		return;
	api->stopping = true;
	if (api->server != NULL)
		api_server_stop(api->server, on_server_closed, api);
	else
		on_server_closed(api);
}

static uint64_t clock_us(void *ctx)
{
	(void)ctx;
	return uv_hrtime() / 1000;
}

static enum pl_code open_kv(struct api_thread *api, struct pl_err *err)
{
	static const struct kv_metrics_opts measure = {.now_us = clock_us};
	struct etcd_opts opts = store_opts_etcd(&api->opts->store);
	struct kv *kv = NULL;

	if (etcd_open(&api->loop, &opts, &kv, err) != PL_OK)
		return err->code;
	api->kv = api->etcd = kv;
	if (kv_metrics_open(kv, &measure, &api->kv, err) != PL_OK)
		return err->code;
	kv = api->measured = api->kv;
	if (api->opts->prefix[0] == 0)
		return PL_OK;
	return prefixed_open(kv, pl_span_str(api->opts->prefix), &api->kv, err);
}

static enum pl_code open_audit(struct api_thread *api, struct pl_err *err)
{
	const struct daemon_api_opts *from = &api->opts->serve;
	const struct audit_log_opts opts = {.path = from->audit_log,
	                                    .file_bytes = (uint64_t)from->audit_log_mib
	                                                  << 20,
	                                    .keep = from->audit_log_keep};

	if (from->audit_log == NULL)
		return PL_OK;
	if (audit_log_open(&opts, &api->audit, err) != PL_OK)
		return pl_err_wrap(err, "audit log");
	return PL_OK;
}

static enum pl_code open_server(struct api_thread *api, struct pl_err *err)
{
	const struct daemon_api_opts *from = &api->opts->serve;
	const struct tls_server_files files = {.cert_file = from->cert,
	                                       .key_file = from->key,
	                                       .client_ca_file = from->client_ca,
	                                       .client_crl_file = from->client_crl};
	struct api_server_opts opts = {
		.kv = api->kv,
		.host = from->host,
		.port = from->port,
		.version = PLACET_VERSION,
		.process = api->process,
		.metrics = {.serve = serve_metrics, .gone = metrics_gone, .ctx = api}};

	if (from->cert != NULL && tls_server_new(&files, &api->tls, err) != PL_OK)
		return err->code;
	opts.tls = api->tls;
	opts.identifier = api_authn_identifier(&api->authn);
	opts.audit_reads = from->audit_reads;
	if (open_audit(api, err) != PL_OK)
		return err->code;
	opts.audit = api->audit;
	if (api_authn_open(&api->authn, from, api->kv, err) != PL_OK)
		return err->code;
	if (api_server_open(&api->loop, &opts, &api->server, err) != PL_OK)
		return err->code;
	PL_LOG(PL_LOG_INFO, "api.listening", pl_log_str("host", from->host),
	       pl_log_uint("port", api_server_port(api->server)),
	       pl_log_bool("tls", api->tls != NULL),
	       pl_log_bool("open", api_authn_is_open(from)));
	return PL_OK;
}

static void *thread_main(void *ctx)
{
	struct api_thread *api = ctx;
	int rc;

	(void)uv_run(&api->loop, UV_RUN_DEFAULT);
	rc = uv_loop_close(&api->loop);
	PL_ASSERT(rc == 0);
	audit_log_close(api->audit);
	tls_server_free(api->tls);
	report_state(api, API_THREAD_ENDED);
	return NULL;
}

static enum pl_code loop_open(struct api_thread *api, struct pl_err *err)
{
	int rc = uv_loop_init(&api->loop);

	if (rc != 0)
		return pl_err_set(err, PL_IO, "loop: %s", uv_strerror(rc));
	(void)uv_loop_configure(&api->loop, UV_METRICS_IDLE_TIME);
	rc = uv_mutex_init(&api->lock);
	if (rc != 0) {
		(void)uv_loop_close(&api->loop);
		return pl_err_set(err, PL_IO, "mutex: %s", uv_strerror(rc));
	}
	rc = uv_async_init(&api->loop, &api->wake, on_wake);
	if (rc != 0) {
		uv_mutex_destroy(&api->lock);
		(void)uv_loop_close(&api->loop);
		return pl_err_set(err, PL_IO, "async: %s", uv_strerror(rc));
	}
	loop_lag_open(&api->lag, &api->loop);
	api->wakeable = true;
	api->wake.data = api;
	return PL_OK;
}

/* Ends what was opened, on this thread. */
static void give_up(struct api_thread *api)
{
	atomic_store(&api->stop, true);
	if (api->kv != NULL)
		on_wake(&api->wake);
	else
		on_kv_closed(api);
	(void)uv_run(&api->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&api->loop);
	audit_log_close(api->audit);
	tls_server_free(api->tls);
	uv_mutex_destroy(&api->lock);
}

enum pl_code api_thread_start(struct api_thread *api, struct pl_err *err)
{
	int rc;

	if (loop_open(api, err) != PL_OK)
		return pl_err_wrap(err, "API");
	if (open_metrics(api, err) != PL_OK || open_kv(api, err) != PL_OK ||
	    open_server(api, err) != PL_OK) {
		give_up(api);
		return pl_err_wrap(err, "API");
	}
	rc = pthread_create(&api->thread, NULL, thread_main, api);
	if (rc == 0)
		return PL_OK;
	give_up(api);
	return pl_err_set(err, PL_IO, "API: thread: %s", strerror(rc));
}

void api_thread_stop(struct api_thread *api)
{
	atomic_store(&api->stop, true);
	uv_mutex_lock(&api->lock);
	if (api->wakeable)
		(void)uv_async_send(&api->wake);
	uv_mutex_unlock(&api->lock);
}

void api_thread_join(struct api_thread *api)
{
	int rc = pthread_join(api->thread, NULL);

	PL_ASSERT(rc == 0);
	uv_mutex_destroy(&api->lock);
}
