#include "bench/live/live.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/report.h"
#include "store/base/clock.h"
#include "store/kv/rewrite.h"

enum { FSYNC_BLOCK = 4096, FSYNC_NS = 300000000, PAGE_KEYS = 10000, KEY_MAX = 1024 };

struct kv *live_client(const struct live *live, uv_loop_t *loop)
{
	struct etcd_opts opts = {
		.endpoints = etcd_launch_endpoints(live->launch),
		.tls = {.ca_file = etcd_launch_ca_file(live->launch),
	                .cert_file = etcd_launch_cert_file(live->launch),
	                .key_file = etcd_launch_key_file(live->launch)},
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

void live_client_close(uv_loop_t *loop, struct kv *kv)
{
	bool closed = false;

	kv_close(kv, on_closed, &closed);
	while (!closed)
		(void)uv_run(loop, UV_RUN_ONCE);
}

void live_open(struct live *live, const struct live_opts *opts)
{
	struct etcd_launch_opts launch = {
		.members = 1, .tls = opts->tls, .dir = opts->dir};
	struct kv_req status = {.op = KV_STATUS};
	struct pl_err err = {0};

	*live = (struct live){.kv = NULL};
	(void)uv_loop_init(&live->loop);
	pl_arena_init(&live->arena, 1 << 20, 0);
	bench_check(etcd_launch_start_wait(&live->loop, &launch, &live->launch, &err),
	            &err, "start etcd");
	live->kv = live_client(live, &live->loop);
	live_call(live, &status, NULL);
}

void live_close(struct live *live)
{
	live_client_close(&live->loop, live->kv);
	etcd_launch_stop_wait(live->launch);
	(void)uv_run(&live->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&live->loop);
	pl_arena_done(&live->arena);
}

/* -- calls ------------------------------------------------------------------- */

struct one_call {
	struct live *live;
	struct kv_result *result;
	bool done;
};

static void on_one_call(void *ctx, const struct kv_result *result,
                        const struct pl_err *err)
{
	struct one_call *call = ctx;

	bench_check(err == NULL ? PL_OK : err->code, err, "call");
	if (call->result != NULL)
		bench_check(kv_result_copy(&call->live->arena, result, call->result),
		            NULL, "keep an answer");
	call->done = true;
}

void live_call(struct live *live, const struct kv_req *req, struct kv_result *result)
{
	struct one_call call = {.live = live, .result = result};
	struct pl_err err = {0};

	bench_check(
		kv_start(live->kv, req, LIVE_TIMEOUT_MS, on_one_call, &call, NULL, &err),
		&err, "start a call");
	while (!call.done)
		(void)uv_run(&live->loop, UV_RUN_ONCE);
}

int64_t live_revision(struct live *live)
{
	struct kv_req req = kv_op_get(kv_key(PL_SPAN_LIT("/")));
	struct kv_result result;

	live_call(live, &req, &result);
	return result.header.revision;
}

double live_db_bytes(struct live *live)
{
	struct kv_req status = {.op = KV_STATUS};
	struct kv_result result;

	live_call(live, &status, &result);
	return (double)result.status.db_bytes;
}

struct paging {
	live_each_fn *fn;
	void *ctx;
	uint8_t from[KEY_MAX];
	size_t from_len;
	int64_t revision;
	bool more, done;
};

static void on_page(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct paging *paging = ctx;
	const struct kv_get_result *get;

	bench_check(err == NULL ? PL_OK : err->code, err, "list");
	get = &result->get;
	if (paging->revision == 0)
		paging->revision = result->header.revision;
	for (size_t i = 0; i < get->count; i++)
		paging->fn(paging->ctx, &get->records[i]);
	paging->more = get->more && get->count > 0;
	if (paging->more) {
		struct pl_span last = get->records[get->count - 1].key;

		bench_check(last.len < KEY_MAX ? PL_OK : PL_LIMIT, NULL, "a key");
		memcpy(paging->from, last.at, last.len);
		paging->from[last.len] = 0; /* the next key there may be */
		paging->from_len = last.len + 1;
	}
	paging->done = true;
}

void live_each(struct live *live, const char *prefix, bool keys_only, live_each_fn *fn,
               void *ctx)
{
	struct paging paging = {.fn = fn, .ctx = ctx, .from_len = strlen(prefix)};
	struct pl_err err = {0};
	uint8_t end[KEY_MAX];
	size_t len = paging.from_len;

	PL_ASSERT(len > 0 && len < KEY_MAX);
	memcpy(paging.from, prefix, len);
	memcpy(end, prefix, len);
	end[len - 1]++;
	do {
		struct kv_get get = {
			.keys = {.kind = KV_RANGE,
		                 .from = pl_span(paging.from, paging.from_len),
		                 .to = pl_span(end, len)},
			.limit = PAGE_KEYS,
			.revision = paging.revision,
			.keys_only = keys_only,
		};

		paging.done = false;
		bench_check(kv_get(live->kv, &get, LIVE_TIMEOUT_MS, on_page, &paging,
		                   NULL, &err),
		            &err, "list");
		while (!paging.done)
			(void)uv_run(&live->loop, UV_RUN_ONCE);
	} while (paging.more);
}

/* -- the machine --------------------------------------------------------------- */

/* The time of one fsync of the disk: no commit is faster. */
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
	while (pl_clock_ns() - start < FSYNC_NS && write(fd, block, sizeof block) > 0 &&
	       fdatasync(fd) == 0)
		count++;
	start = pl_clock_ns() - start;
	(void)close(fd);
	(void)unlink(path);
	return count == 0 ? 0 : (double)start / 1e3 / count;
}

void live_environment(struct live *live, const char *more)
{
	struct kv_req status = {.op = KV_STATUS};
	struct bench_fields fields = {.len = 0};
	const char *gogc = getenv("GOGC");
	struct kv_result result;

	live_call(live, &status, &result);
	bench_field(&fields, "\"etcd\":\"%s\",\"libuv\":\"%s\",\"fsync_us\":%.0f",
	            result.status.version, uv_version_string(),
	            fsync_us(etcd_launch_dir(live->launch)));
	if (gogc != NULL && strspn(gogc, "0123456789of") == strlen(gogc))
		bench_field(&fields, "\"gogc\":\"%s\"", gogc);
	else
		bench_field(&fields, "\"gogc\":\"%d\"", ETCD_LAUNCH_GOGC);
	if (more != NULL && more[0] != 0)
		bench_field(&fields, "%s", more);
	bench_environment(fields.at);
}

/* -- resource use -------------------------------------------------------------- */

void meter_start(struct meter *m, const struct live *live)
{
	m->client_ns = pl_clock_cpu_ns();
	m->server_at_s = bench_cpu_s(etcd_launch_pid(live->launch, 0));
	m->start_ns = pl_clock_ns();
}

void meter_end(struct meter *m, const struct live *live)
{
	m->wall_s = (double)(pl_clock_ns() - m->start_ns) / 1e9;
	m->client_s = (double)(pl_clock_cpu_ns() - m->client_ns) / 1e9;
	m->server_s = bench_cpu_s(etcd_launch_pid(live->launch, 0)) - m->server_at_s;
}

void meter_emit(const struct meter *m, const char *fields)
{
	bench_emit(fields, "client_cpu_s", m->client_s, "s");
	bench_emit(fields, "server_cpu_s", m->server_s, "s");
	bench_emit(fields, "wall_s", m->wall_s, "s");
}
