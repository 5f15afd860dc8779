#include "bench/store/bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/etcd/admin.h"
#include "store/kv/map.h"

enum { CALL_TIMEOUT_MS = 60000, FSYNC_BLOCK = 4096 };

const char *bench_name = "store";

void bench_check(enum pl_code code, const struct pl_err *err, const char *what)
{
	if (code == PL_OK)
		return;
	(void)fprintf(stderr, "bench: %s: %s\n", what,
	              err == NULL ? pl_code_name(code) : err->msg);
	exit(1);
}

void *bench_alloc(size_t count, size_t size)
{
	void *at = calloc(count, size);

	if (at == NULL) {
		(void)fprintf(stderr, "bench: out of memory\n");
		exit(1);
	}
	return at;
}

struct kv *bench_client(const struct bench *bench, uv_loop_t *loop)
{
	struct etcd_opts opts = {
		.endpoints = etcd_launch_endpoints(bench->launch),
		.tls = {.ca_file = etcd_launch_ca_file(bench->launch),
	                .cert_file = etcd_launch_cert_file(bench->launch),
	                .key_file = etcd_launch_key_file(bench->launch)},
		.inflight_bytes_max = 256 << 20,
	};
	struct pl_err err = {0};
	struct kv *kv = NULL;

	bench_check(etcd_open(loop, &opts, &kv, &err), &err, "open the client");
	return kv;
}

static void on_closed(void *ctx)
{
	*(bool *)ctx = true;
}

void bench_client_close(uv_loop_t *loop, struct kv *kv)
{
	bool closed = false;

	kv_close(kv, on_closed, &closed);
	while (!closed)
		(void)uv_run(loop, UV_RUN_ONCE);
}

void bench_open(struct bench *bench, const struct bench_opts *opts, bool tls)
{
	struct etcd_launch_opts launch = {.members = 1, .tls = tls, .dir = opts->dir};
	struct kv_req status = {.op = KV_STATUS};
	struct pl_err err = {0};

	*bench = (struct bench){.opts = opts};
	(void)uv_loop_init(&bench->loop);
	pl_arena_init(&bench->arena, 1 << 20, 0);
	bench_check(etcd_launch_start_wait(&bench->loop, &launch, &bench->launch, &err),
	            &err, "start etcd");
	bench->kv = bench_client(bench, &bench->loop);
	bench_call(bench, &status, NULL);
}

void bench_close(struct bench *bench)
{
	bench_client_close(&bench->loop, bench->kv);
	etcd_launch_stop_wait(bench->launch);
	(void)uv_run(&bench->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&bench->loop);
	pl_arena_done(&bench->arena);
}

struct one_call {
	struct bench *bench;
	struct kv_result *result;
	bool done;
};

static void on_one_call(void *ctx, const struct kv_result *result,
                        const struct pl_err *err)
{
	struct one_call *call = ctx;

	bench_check(err == NULL ? PL_OK : err->code, err, "call");
	if (call->result != NULL)
		bench_check(kv_result_copy(&call->bench->arena, result, call->result),
		            NULL, "keep an answer");
	call->done = true;
}

void bench_call(struct bench *bench, const struct kv_req *req, struct kv_result *result)
{
	struct one_call call = {.bench = bench, .result = result};
	struct pl_err err = {0};

	bench_check(
		kv_start(bench->kv, req, CALL_TIMEOUT_MS, on_one_call, &call, NULL, &err),
		&err, "start a call");
	while (!call.done)
		(void)uv_run(&bench->loop, UV_RUN_ONCE);
}

/* -- figures --------------------------------------------------------------- */

static uint64_t process_cpu_ns(pid_t pid)
{
	struct timespec at;
	clockid_t id;

	if (clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &at) != 0)
		return 0;
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

void measure_start(struct measure *m, const struct bench *bench)
{
	m->client_ns = pl_clock_cpu_ns();
	m->server_ns = process_cpu_ns(etcd_launch_pid(bench->launch, 0));
	m->start_ns = pl_clock_ns();
}

void measure_end(struct measure *m, const struct bench *bench)
{
	pid_t server = etcd_launch_pid(bench->launch, 0);

	m->wall_s = (double)(pl_clock_ns() - m->start_ns) / 1e9;
	m->client_s = (double)(pl_clock_cpu_ns() - m->client_ns) / 1e9;
	m->server_s = (double)(process_cpu_ns(server) - m->server_ns) / 1e9;
}

void bench_emit(const char *fields, const char *metric, double value, const char *unit)
{
	(void)printf("{\"bench\":\"%s\",\"case\":{%s},\"metric\":\"%s\",\"value\":%.6g,"
	             "\"unit\":\"%s\"}\n",
	             bench_name, fields, metric, value, unit);
	(void)fflush(stdout);
}

void bench_emit_cpu(const char *fields, const struct measure *m)
{
	bench_emit(fields, "client_cpu_s", m->client_s, "s");
	bench_emit(fields, "server_cpu_s", m->server_s, "s");
	bench_emit(fields, "wall_s", m->wall_s, "s");
}

/* What the disk does at best: the floor under every commit. */
static double fsync_us(const char *dir)
{
	char path[4096], block[FSYNC_BLOCK] = {0};
	uint64_t start;
	unsigned count = 0;
	int fd;

	(void)snprintf(path, sizeof path, "%s/fsync.probe", dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return 0;
	start = pl_clock_ns();
	while (pl_clock_ns() - start < 500000000u && write(fd, block, sizeof block) > 0 &&
	       fdatasync(fd) == 0)
		count++;
	start = pl_clock_ns() - start;
	(void)close(fd);
	(void)unlink(path);
	return count == 0 ? 0 : (double)start / 1e3 / count;
}

void bench_environment(struct bench *bench)
{
	struct kv_req status = {.op = KV_STATUS};
	struct kv_result result;
	struct utsname host;
	char fields[512];

	(void)uname(&host);
	bench_call(bench, &status, &result);
	(void)snprintf(fields, sizeof fields,
	               "\"cores\":%ld,\"kernel\":\"%s\",\"etcd\":\"%s\",\"libuv\":\"%s\","
	               "\"fsync_us\":%.0f,\"build\":\"%s\"",
	               sysconf(_SC_NPROCESSORS_ONLN), host.release, result.status.version,
	               uv_version_string(), fsync_us(etcd_launch_dir(bench->launch)),
#ifdef __OPTIMIZE__
	               "optimized"
#else
	               "debug"
#endif
	);
	bench_emit(fields, "environment", 1, "");
}

void samples_init(struct samples *s, size_t cap)
{
	*s = (struct samples){.at = bench_alloc(cap, sizeof(uint32_t)), .cap = cap};
}

void samples_add(struct samples *s, uint64_t ns)
{
	if (s->count < s->cap)
		s->at[s->count++] = (uint32_t)(ns / 1000);
	else
		s->at[s->seen % s->cap] = (uint32_t)(ns / 1000);
	s->seen++;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

void samples_emit(struct samples *s, const char *fields, const char *prefix)
{
	static const struct {
		const char *name;
		double share;
	} marks[] = {{"p50_ms", 0.50}, {"p99_ms", 0.99}, {"p999_ms", 0.999}};
	char metric[64];

	if (s->count == 0)
		return;
	qsort(s->at, s->count, sizeof s->at[0], by_value);
	for (unsigned i = 0; i < 3; i++) {
		size_t at = (size_t)((double)(s->count - 1) * marks[i].share);

		(void)snprintf(metric, sizeof metric, "%s%s", prefix, marks[i].name);
		bench_emit(fields, metric, s->at[at] / 1e3, "ms");
	}
}

void samples_done(struct samples *s)
{
	free(s->at);
}

/* -- what the server says of itself ------------------------------------------- */

struct reading {
	struct etcd_metrics metrics;
	bool done;
};

static void on_metrics(void *ctx, const struct etcd_metrics *metrics,
                       const struct pl_err *err)
{
	struct reading *reading = ctx;

	bench_check(err == NULL ? PL_OK : err->code, err, "read /metrics");
	reading->metrics = *metrics;
	reading->done = true;
}

void bench_emit_server(struct bench *bench, const char *part)
{
	struct http_opts opts = {
		.tls = {.ca_file = etcd_launch_ca_file(bench->launch),
	                .cert_file = etcd_launch_cert_file(bench->launch),
	                .key_file = etcd_launch_key_file(bench->launch)}};
	const struct etcd_metrics *m;
	struct reading reading = {.done = false};
	struct pl_err err = {0};
	struct http *http = NULL;
	bool closed = false;
	char fields[96];

	bench_check(http_open(&bench->loop, &opts, &http, &err), &err, "open HTTP");
	bench_check(etcd_metrics_start(http, etcd_launch_endpoint(bench->launch, 0),
	                               CALL_TIMEOUT_MS, on_metrics, &reading, &err),
	            &err, "read /metrics");
	while (!reading.done)
		(void)uv_run(&bench->loop, UV_RUN_ONCE);
	http_close(http, on_closed, &closed);
	while (!closed)
		(void)uv_run(&bench->loop, UV_RUN_ONCE);
	m = &reading.metrics;
	(void)snprintf(fields, sizeof fields, "\"op\":\"server\",\"after\":\"%s\"", part);
	bench_emit(fields, "wal_fsync_p50_ms",
	           etcd_histogram_quantile(&m->wal_fsync_s, 0.5) * 1e3, "ms");
	bench_emit(fields, "wal_fsync_p99_ms",
	           etcd_histogram_quantile(&m->wal_fsync_s, 0.99) * 1e3, "ms");
	bench_emit(fields, "db_bytes", (double)m->db_bytes, "B");
	bench_emit(fields, "server_rss_bytes", (double)m->resident_bytes, "B");
}

/* -- keeping calls in flight ------------------------------------------------ */

struct slot {
	struct pump *pump;
	unsigned number;
	uint64_t sent_ns;
	bool busy;
};

static void slot_send(struct slot *slot);

static void on_answer(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct slot *slot = ctx;
	struct pump *pump = slot->pump;

	bench_check(err == NULL ? PL_OK : err->code, err, "a call of the bench");
	slot->busy = false;
	pump->calls++;
	if (pump->latency != NULL)
		samples_add(pump->latency, pl_clock_ns() - slot->sent_ns);
	if (pump->answered != NULL)
		pump->answered(pump->ctx, slot->number, result);
	slot_send(slot);
}

static void slot_send(struct slot *slot)
{
	struct pump *pump = slot->pump;
	struct kv_req req;
	struct pl_err err = {0};

	slot->sent_ns = pl_clock_ns();
	if (pump->seconds > 0 &&
	    (double)(slot->sent_ns - pump->measure.start_ns) / 1e9 >= pump->seconds)
		return;
	pl_arena_reset(&pump->bench->arena);
	if (!pump->next(pump->ctx, slot->number, &req))
		return;
	bench_check(kv_start(pump->bench->kv, &req, CALL_TIMEOUT_MS, on_answer, slot,
	                     NULL, &err),
	            &err, "start a call");
	slot->busy = true;
}

static bool any_busy(const struct slot *slots, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (slots[i].busy)
			return true;
	return false;
}

void pump_run(struct pump *pump)
{
	struct slot *slots = bench_alloc(pump->inflight, sizeof *slots);

	pump->calls = 0;
	measure_start(&pump->measure, pump->bench);
	for (unsigned i = 0; i < pump->inflight; i++) {
		slots[i] = (struct slot){.pump = pump, .number = i};
		slot_send(&slots[i]);
	}
	while (any_busy(slots, pump->inflight))
		(void)uv_run(&pump->bench->loop, UV_RUN_ONCE);
	measure_end(&pump->measure, pump->bench);
	free(slots);
}
