#include <stdio.h>
#include <stdlib.h>

#include "store/etcd/admin.h"
#include "store/etcd/launch.h"
#include "tests/harness/t.h"
#include "tests/support/store/net/fake_http.h"

static struct etcd_histogram sample_histogram(void)
{
	static const char text[] =
		"etcd_server_has_leader 1\n"
		"etcd_disk_wal_fsync_duration_seconds_bucket{le=\"1\"} 50\n"
		"etcd_disk_wal_fsync_duration_seconds_bucket{le=\"2\"} 90\n"
		"etcd_disk_wal_fsync_duration_seconds_bucket{le=\"4\"} 98\n"
		"etcd_disk_wal_fsync_duration_seconds_bucket{le=\"+Inf\"} 100\n"
		"etcd_disk_wal_fsync_duration_seconds_sum 123.5\n"
		"etcd_disk_wal_fsync_duration_seconds_count 100\n";
	struct etcd_metrics metrics;

	T_EQ(etcd_metrics_parse(pl_span_str(text), &metrics, NULL), PL_OK);
	return metrics.wal_fsync_s;
}

T_CASE(quantiles_are_estimated_within_their_bucket)
{
	struct etcd_histogram h = sample_histogram();
	struct etcd_histogram none = {0};

	T_EQ(h.count, 100);
	T_EQ(h.sum * 10, 1235);
	T_EQ(etcd_histogram_quantile(&h, 0.5) * 1000, 1000);
	T_EQ(etcd_histogram_quantile(&h, 0.25) * 1000, 500);
	T_EQ(etcd_histogram_quantile(&h, 0.94) * 1000, 3000);
	T_EQ(etcd_histogram_quantile(&h, 0.99) * 1000, 4000);
	T_EQ(etcd_histogram_quantile(&none, 0.99), 0);
}

T_CASE(the_difference_of_two_readings)
{
	struct etcd_histogram before = sample_histogram(), now = before, between;

	for (size_t i = 1; i < now.bucket_count; i++)
		now.buckets[i].count += 10;
	now.count += 10;
	between = etcd_histogram_since(&now, &before);
	T_EQ(between.count, 10);
	T_EQ(etcd_histogram_quantile(&between, 0.5) * 1000, 1500);
	between = etcd_histogram_since(&before, &now); /* a restarted member */
	T_EQ(between.count, 100);
}

T_CASE(answers_of_other_servers_are_refused)
{
	static const char *const health[] = {
		"", "{}", "[]", "{\"health\":true}", "{\"health\":\"yes\"}", "<html>"};
	static const char *const metrics[] = {
		"",
		"up 1\n",
		"<html>",
		"etcd_server_has_leader 1\nx",
		("etcd_server_has_leader 1\n"
	         "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"2\"} 9\n"
	         "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"1\"} 9\n"),
		("etcd_server_has_leader 1\n"
	         "etcd_disk_wal_fsync_duration_seconds_bucket{x=\"2\"} 9\n")};
	struct etcd_health h;
	struct etcd_version v;
	struct etcd_metrics m;
	struct pl_err err = {0};

	for (size_t i = 0; i < sizeof health / sizeof health[0]; i++) {
		T_EQ(etcd_health_parse(pl_span_str(health[i]), &h, &err), PL_PROTO);
		T_EQ(etcd_version_parse(pl_span_str(health[i]), &v, NULL), PL_PROTO);
	}
	T_TRUE(strstr(err.msg, "not etcd's answer: ") != NULL);
	for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
		T_EQ(etcd_metrics_parse(pl_span_str(metrics[i]), &m, &err), PL_PROTO);
	T_EQ(etcd_health_parse(PL_SPAN_LIT("{\"health\":\"false\",\"reason\":\"ALARM\"}"),
	                       &h, NULL),
	     PL_OK);
	T_TRUE(!h.healthy);
	T_STR(h.reason, "ALARM");
}

struct admin_results {
	uv_loop_t loop;
	unsigned calls;
	enum pl_code code;
	char msg[PL_ERR_MSG_SIZE];
	struct etcd_health health;
	struct etcd_version version;
	struct etcd_metrics metrics;
	bool closed;
};

static void note_error(struct admin_results *results, const struct pl_err *err)
{
	uv_stop(&results->loop);
	results->calls++;
	results->code = err == NULL ? PL_OK : err->code;
	if (err != NULL)
		(void)snprintf(results->msg, sizeof results->msg, "%s", err->msg);
}

static void on_health(void *ctx, const struct etcd_health *health,
                      const struct pl_err *err)
{
	struct admin_results *results = ctx;

	T_TRUE((health == NULL) == (err != NULL));
	if (health != NULL)
		results->health = *health;
	note_error(results, err);
}

static void on_version(void *ctx, const struct etcd_version *version,
                       const struct pl_err *err)
{
	struct admin_results *results = ctx;

	T_TRUE((version == NULL) == (err != NULL));
	if (version != NULL)
		results->version = *version;
	note_error(results, err);
}

static void on_metrics(void *ctx, const struct etcd_metrics *metrics,
                       const struct pl_err *err)
{
	struct admin_results *results = ctx;

	T_TRUE((metrics == NULL) == (err != NULL));
	if (metrics != NULL)
		results->metrics = *metrics;
	note_error(results, err);
}

static void on_closed(void *ctx)
{
	struct admin_results *results = ctx;

	results->closed = true;
}

static void ask_all(struct admin_results *results, struct http *http, const char *url)
{
	results->calls = 0;
	T_EQ(etcd_health_start(http, url, 5000, on_health, results, NULL), PL_OK);
	T_EQ(etcd_version_start(http, url, 5000, on_version, results, NULL), PL_OK);
	T_EQ(etcd_metrics_start(http, url, 5000, on_metrics, results, NULL), PL_OK);
	T_EQ(results->calls, 0);
	while (results->calls < 3)
		(void)uv_run(&results->loop, UV_RUN_ONCE);
}

static void on_all_done(struct admin_results *results, struct http *http)
{
	http_close(http, on_closed, results);
	while (uv_run(&results->loop, UV_RUN_DEFAULT) != 0) {
	}
	T_TRUE(results->closed);
	T_EQ(uv_loop_close(&results->loop), 0);
}

T_CASE(a_real_member_reports_health_version_and_metrics)
{
	struct etcd_launch_opts opts = {.members = 1, .no_fsync = true, .tls = true};
	struct etcd_launch *launch;
	struct http_opts http_opts = {0};
	struct http *http;
	struct admin_results results = {0};
	char url[128];

	T_EQ(uv_loop_init(&results.loop), 0);
	T_EQ(etcd_launch_start_wait(&results.loop, &opts, &launch, NULL), PL_OK);
	http_opts.tls.ca_file = etcd_launch_ca_file(launch);
	http_opts.tls.cert_file = etcd_launch_cert_file(launch);
	http_opts.tls.key_file = etcd_launch_key_file(launch);
	T_EQ(http_open(&results.loop, &http_opts, &http, NULL), PL_OK);
	(void)snprintf(url, sizeof url, "%s/", etcd_launch_endpoint(launch, 0));
	ask_all(&results, http, url);
	T_STR(results.msg, "");
	T_TRUE(results.health.healthy);
	T_TRUE(strncmp(results.version.server, "3.", 2) == 0);
	T_TRUE(results.metrics.has_leader);
	T_TRUE(results.metrics.cpu_s > 0);
	T_TRUE(results.metrics.resident_bytes > 1 << 20);
	T_TRUE(results.metrics.db_bytes > 0);
	T_TRUE(results.metrics.db_bytes_in_use > 0);
	T_EQ(results.metrics.current_revision, 1);
	T_TRUE(results.metrics.wal_fsync_s.bucket_count > 5);
	T_TRUE(results.metrics.backend_commit_s.count > 0);
	etcd_launch_stop_wait(launch);
	on_all_done(&results, http);
}

static void on_request(void *ctx, struct fake_conn *conn, const char *head,
                       struct pl_span body)
{
	(void)ctx;
	(void)head;
	(void)body;
	fake_conn_text(conn, "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}");
}

T_CASE(a_server_that_is_not_etcd)
{
	struct http_opts http_opts = {0};
	struct fake_http *fake;
	struct http *http;
	struct admin_results results = {0};

	T_EQ(uv_loop_init(&results.loop), 0);
	T_EQ(http_open(&results.loop, &http_opts, &http, NULL), PL_OK);
	fake = fake_http_open(&results.loop, NULL, false, on_request, NULL);
	ask_all(&results, http, fake_http_url(fake));
	T_EQ(results.code, PL_PROTO);
	T_STR(results.msg, "not etcd's answer: HTTP status 404");
	fake_http_close(fake);
	on_all_done(&results, http);
}
