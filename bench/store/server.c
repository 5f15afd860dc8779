/* Figures from the server's own metrics. */
#include <stdio.h>

#include "bench/store/bench.h"
#include "store/etcd/admin.h"

struct server_reading {
	struct etcd_metrics metrics;
	bool done;
};

static void on_metrics(void *ctx, const struct etcd_metrics *metrics,
                       const struct pl_err *err)
{
	struct server_reading *reading = ctx;

	bench_check(err == NULL ? PL_OK : err->code, err, "read /metrics");
	reading->metrics = *metrics;
	reading->done = true;
}

static void on_closed(void *ctx)
{
	*(bool *)ctx = true;
}

void bench_emit_server(struct store_bench *bench, const char *part)
{
	struct http_opts opts = {
		.tls = {.ca_file = etcd_launch_ca_file(bench->live.launch),
	                .cert_file = etcd_launch_cert_file(bench->live.launch),
	                .key_file = etcd_launch_key_file(bench->live.launch)}};
	const struct etcd_metrics *m;
	struct server_reading reading = {.done = false};
	struct pl_err err = {0};
	struct http *http = NULL;
	bool closed = false;
	char fields[96];

	bench_check(http_open(&bench->live.loop, &opts, &http, &err), &err, "open HTTP");
	bench_check(etcd_metrics_start(http, etcd_launch_endpoint(bench->live.launch, 0),
	                               LIVE_TIMEOUT_MS, on_metrics, &reading, &err),
	            &err, "read /metrics");
	while (!reading.done)
		(void)uv_run(&bench->live.loop, UV_RUN_ONCE);
	http_close(http, on_closed, &closed);
	while (!closed)
		(void)uv_run(&bench->live.loop, UV_RUN_ONCE);
	m = &reading.metrics;
	(void)snprintf(fields, sizeof fields, "\"op\":\"server\",\"after\":\"%s\"", part);
	bench_emit(fields, "wal_fsync_p50_ms",
	           etcd_histogram_quantile(&m->wal_fsync_s, 0.5) * 1e3, "ms");
	bench_emit(fields, "wal_fsync_p99_ms",
	           etcd_histogram_quantile(&m->wal_fsync_s, 0.99) * 1e3, "ms");
	bench_emit(fields, "db_bytes", (double)m->db_bytes, "B");
	bench_emit(fields, "server_rss_bytes", (double)m->resident_bytes, "B");
}
