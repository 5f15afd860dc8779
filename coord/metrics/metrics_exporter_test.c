/* Scrapes over HTTP. */
#include <stdio.h>
#include <stdlib.h>

#include "coord/metrics/scrape_server.h"
#include "store/base/fault.h"
#include "store/net/http.h"
#include "tests/harness/t.h"

/* A server, a source and a client on one loop. */
struct scrape_rig {
	uv_loop_t loop;
	struct metrics_hub hub;
	struct scrape_server *server;
	struct metrics_source source;
	uv_async_t wake;
	bool stuck, ready;
	bool forgiving; /* memory may lack */
	unsigned woken;
	struct http *http;
	unsigned ended, status;
	char type[128], text[1 << 17];
};

static struct scrape_rig rig;

static void on_wake(void *ctx)
{
	(void)ctx;
	(void)uv_async_send(&rig.wake);
}

static void on_async(uv_async_t *wake)
{
	struct metric_set *set = NULL;
	uint64_t question;

	(void)wake;
	rig.woken++;
	if (rig.stuck || !metrics_source_is_asked(&rig.source, &question))
		return;
	if (metrics_set_new(&set, NULL) == PL_OK)
		metric_add(set, M_PODS_BOUND, NULL, 42);
	else
		T_TRUE(rig.forgiving);
	metrics_source_answer(&rig.source, question, set);
}

static bool is_ready(void *ctx, char why[HEALTH_WHY_SIZE])
{
	(void)snprintf(why, HEALTH_WHY_SIZE, "not yet");
	return ((struct scrape_rig *)ctx)->ready;
}

static struct health_checks checks(void *ctx)
{
	static struct health_check check = {
		.name = "shard/a-0", .paths = HEALTH_READYZ, .good = is_ready};

	check.ctx = ctx;
	return (struct health_checks){&check, 1};
}

static void rig_open(void)
{
	const struct scrape_server_opts opts = {.host = "127.0.0.1",
	                                        .hub = &rig.hub,
	                                        .version = "1.2.3",
	                                        .checks = checks,
	                                        .ctx = &rig};
	struct pl_err err = {0};

	T_EQ(uv_loop_init(&rig.loop), 0);
	T_OK(metrics_hub_init(&rig.hub, &err), &err);
	T_EQ(uv_async_init(&rig.loop, &rig.wake, on_async), 0);
	rig.source.wake = on_wake;
	metrics_source_join(&rig.hub, &rig.source);
	T_OK(scrape_server_open(&rig.loop, &opts, &rig.server, &err), &err);
	T_OK(http_open(&rig.loop, &(struct http_opts){0}, &rig.http, &err), &err);
}

static void on_closed(void *ctx)
{
	(void)ctx;
}

static void rig_close(void)
{
	metrics_source_leave(&rig.source);
	scrape_server_close(rig.server);
	http_close(rig.http, on_closed, NULL);
	uv_close((uv_handle_t *)&rig.wake, NULL);
	T_EQ(uv_run(&rig.loop, UV_RUN_DEFAULT), 0);
	T_EQ(uv_loop_close(&rig.loop), 0);
	metrics_hub_done(&rig.hub);
}

static void on_end(void *ctx, const struct http_end *end)
{
	const char *type = http_answer_header(&end->answer, "content-type");

	(void)ctx;
	rig.ended++;
	rig.status = (unsigned)end->answer.status;
	(void)snprintf(rig.type, sizeof rig.type, "%s", type == NULL ? "" : type);
	(void)snprintf(rig.text, sizeof rig.text, "%.*s", PL_SPAN_ARG(end->answer.body));
}

static struct http_call *ask(const char *method, const char *path, const char *accept)
{
	const struct http_header header = {"accept", accept};
	struct http_call_opts opts = {
		.method = method,
		.headers = &header,
		.header_count = 1,
		/* A client without memory may only notice by that. */
		.timeout_ms = rig.forgiving ? 500 : 15000,
		.on_end = on_end};
	struct http_call *call;
	struct pl_err err = {0};
	char url[128];

	(void)snprintf(url, sizeof url, "http://127.0.0.1:%u%s",
	               (unsigned)scrape_server_port(rig.server), path);
	opts.url = url;
	if (http_call_start(rig.http, &opts, &call, &err) == PL_OK)
		return call;
	if (!rig.forgiving)
		T_STR(err.msg, "the call is started");
	rig.ended++;
	return NULL;
}

static unsigned get(const char *path, const char *accept)
{
	unsigned ended = rig.ended;

	(void)ask("GET", path, accept);
	while (rig.ended == ended)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	return rig.status;
}

T_CASE(metrics_are_shown_in_both_formats)
{
	rig_open();
	T_EQ(get("/metrics", "*/*"), 200);
	T_STR(rig.type, "text/plain; version=0.0.4; charset=utf-8");
	T_TRUE(strstr(rig.text, "\nplacet_pods_bound_total 42\n") != NULL);
	T_TRUE(strstr(rig.text, "placet_build_info{version=\"1.2.3\",") != NULL);
	T_TRUE(strstr(rig.text, "\nplacet_scrape_threads_missing 0\n") != NULL);
	T_TRUE(strstr(rig.text, "\nprocess_open_fds ") != NULL);
	T_EQ(get("/metrics", "application/openmetrics-text"), 200);
	T_TRUE(strstr(rig.type, "application/openmetrics-text; version=1.0.0") != NULL);
	T_TRUE(strstr(rig.text, "# TYPE placet_pods_bound counter\n") != NULL);
	T_STR(rig.text + strlen(rig.text) - 6, "# EOF\n");
	rig_close();
}

T_CASE(scrapes_at_one_time_ask_once)
{
	rig_open();
	for (unsigned i = 0; i < 5; i++)
		(void)ask("GET", "/metrics", "*/*");
	while (rig.ended < 5)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	T_EQ(rig.status, 200);
	T_TRUE(rig.woken < 5);
	rig_close();
}

T_CASE_SECONDS(a_thread_that_does_not_answer_is_left_out, 40)
{
	rig_open();
	rig.stuck = true;
	T_EQ(get("/metrics", "*/*"), 200);
	T_TRUE(strstr(rig.text, "placet_pods_bound_total") == NULL);
	T_TRUE(strstr(rig.text, "\nplacet_scrape_threads_missing 1\n") != NULL);
	rig_close();
}

/* The client has gone when the sources answer. */
T_CASE(a_client_that_leaves_is_forgotten)
{
	struct http_call *call;

	rig_open();
	rig.stuck = true;
	call = ask("GET", "/metrics", "*/*");
	while (rig.woken == 0)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	http_call_cancel(call);
	while (rig.ended == 0)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	rig.stuck = false;
	T_EQ(get("/metrics", "*/*"), 200);
	rig_close();
}

/* The server closes while a scrape waits. */
T_CASE(a_scrape_may_wait_when_the_server_closes)
{
	rig_open();
	rig.stuck = true;
	(void)ask("GET", "/metrics", "*/*");
	while (rig.woken == 0)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	rig_close();
	T_EQ(rig.ended, 1);
}

/* Each allocation of a scrape fails once: the scrape may fail, and the next one works. */
T_CASE_SECONDS(scrapes_survive_a_lack_of_memory, 120)
{
	bool fired = true;

	rig_open();
	rig.forgiving = true;
	for (uint64_t nth = 1; fired && nth < 400; nth++) {
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		(void)get("/metrics", "*/*");
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		T_EQ(get("/metrics", "*/*"), 200);
		T_TRUE(strstr(rig.text, "\nplacet_pods_bound_total 42\n") != NULL);
	}
	T_TRUE(!fired);
	rig_close();
}

T_CASE(health_and_other_paths)
{
	rig_open();
	T_EQ(get("/livez", "*/*"), 200);
	T_EQ(get("/readyz", "*/*"), 500);
	T_STR(rig.text, "[-]shard/a-0 failed: not yet\nreadyz check failed\n");
	rig.ready = true;
	T_EQ(get("/readyz", "*/*"), 200);
	T_EQ(get("/api/v1/pods", "*/*"), 404);
	(void)ask("POST", "/metrics", "*/*");
	while (rig.ended < 5)
		(void)uv_run(&rig.loop, UV_RUN_ONCE);
	T_EQ(rig.status, 405);
	rig_close();
}
