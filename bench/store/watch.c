/*
 * Watchers: how many events a second, how late, for how much CPU; replay of
 * history; a client at rest; and memory over millions of events.
 *
 * Each watcher is a process of its own, as a shard would be, and reports through
 * shared memory. Lag is measured from before the write is sent to after the
 * event is decoded, so it includes the commit.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/store/bench.h"
#include "store/base/clock.h"

enum {
	WATCHERS_MAX = 4,
	VALUE_SIZE = 256,
	KEY_SIZE = 32,
	FLOOD_INFLIGHT = 4,
	FLOOD_PAIRS_MAX = 128,
	LAG_MS_MAX = 4096,
	LAG_PER_MS = 8,
	LAG_SLOTS = LAG_MS_MAX * LAG_PER_MS,
	WAIT_MAX_MS = 60000,
};

/* Written by a watcher, read by the parent. */
struct watcher_page {
	_Atomic uint64_t events;
	_Atomic uint64_t cpu_ns;
	_Atomic int64_t revision;
	_Atomic int64_t rss_kb;
	_Atomic bool ready;
	_Atomic bool out_of_order;
	_Atomic bool measuring;
	uint64_t lag[LAG_SLOTS]; /* events by lag, in eighths of a ms */
};

struct watcher {
	uv_loop_t loop;
	struct watcher_page *page;
};

static int64_t own_rss_kb(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long pages = 0;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%*d %ld", &pages) != 1) // NOLINT(cert-err34-c)
		pages = 0;
	(void)fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void count_events(struct watcher_page *page, const struct kv_watch_note *note)
{
	uint64_t now = pl_clock_ns();

	for (size_t i = 0; i < note->count; i++) {
		uint64_t sent_ns, slot;

		if (note->events[i].record.value.len < sizeof sent_ns)
			continue;
		memcpy(&sent_ns, note->events[i].record.value.at, sizeof sent_ns);
		slot = (now - sent_ns) * LAG_PER_MS / 1000000;
		page->lag[slot < LAG_SLOTS ? slot : LAG_SLOTS - 1]++;
	}
}

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	struct watcher_page *page = ((struct watcher *)ctx)->page;

	if (note->what == KV_WATCH_READY)
		page->ready = true;
	if (note->what == KV_WATCH_END)
		exit(3);
	if (note->what != KV_WATCH_EVENTS)
		return;
	if (note->revision <= page->revision)
		page->out_of_order = true;
	if (page->measuring)
		count_events(page, note);
	page->events += note->count;
	page->revision = note->revision;
	page->cpu_ns = pl_clock_cpu_ns();
	if (page->events % 4096 < note->count)
		page->rss_kb = own_rss_kb();
}

static _Noreturn void watcher_main(const struct store_bench *bench,
                                   struct watcher_page *page, int64_t from_revision)
{
	struct watcher watcher = {.page = page};
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("/bench/")),
	                           .from_revision = from_revision};
	struct pl_err err = {0};
	struct kv *kv;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)uv_loop_init(&watcher.loop);
	kv = live_client(&bench->live, &watcher.loop);
	bench_check(kv_watch(kv, &req, on_note, &watcher, NULL, &err), &err, "watch");
	page->cpu_ns = pl_clock_cpu_ns();
	(void)uv_run(&watcher.loop, UV_RUN_DEFAULT);
	exit(0);
}

struct watchers {
	unsigned count;
	pid_t pid[WATCHERS_MAX];
	struct watcher_page *page[WATCHERS_MAX];
	uint64_t cpu_start_ns[WATCHERS_MAX];
};

static void run_ms(struct store_bench *bench, uint64_t ms);

static void watchers_start(struct watchers *w, struct store_bench *bench, unsigned count,
                           int64_t from_revision)
{
	w->count = count;
	for (unsigned i = 0; i < count; i++) {
		w->page[i] = mmap(NULL, sizeof *w->page[i], PROT_READ | PROT_WRITE,
		                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		bench_check(w->page[i] == MAP_FAILED ? PL_NOMEM : PL_OK, NULL,
		            "share memory");
		w->pid[i] = fork();
		bench_check(w->pid[i] < 0 ? PL_IO : PL_OK, NULL, "fork");
		if (w->pid[i] == 0)
			watcher_main(bench, w->page[i], from_revision);
	}
	for (unsigned i = 0; i < count; i++) {
		while (!w->page[i]->ready)
			run_ms(bench, 5);
		w->cpu_start_ns[i] = w->page[i]->cpu_ns;
	}
}

static void watchers_stop(struct watchers *w)
{
	for (unsigned i = 0; i < w->count; i++) {
		(void)kill(w->pid[i], SIGKILL);
		(void)waitpid(w->pid[i], NULL, 0);
		(void)munmap(w->page[i], sizeof *w->page[i]);
	}
}

static void watchers_wait(struct store_bench *bench, const struct watchers *w,
                          int64_t revision)
{
	uint64_t give_up_ms = pl_clock_ms() + WAIT_MAX_MS;

	for (unsigned i = 0; i < w->count; i++)
		while (w->page[i]->revision < revision) {
			if (pl_clock_ms() > give_up_ms)
				bench_check(PL_TIMEOUT, NULL, "a watcher stands still");
			run_ms(bench, 1);
		}
}

static void on_time(void *ctx)
{
	*(bool *)ctx = true;
}

/* Waits without burning: the loop goes on, for pings and the like. */
static void run_ms(struct store_bench *bench, uint64_t ms)
{
	struct pl_timer timer;
	bool over = false;

	bench_check(pl_timer_init(&timer, kv_timers(bench->live.kv), on_time, &over),
	            NULL, "timer");
	pl_timer_set(&timer, pl_clock_ms() + ms);
	while (!over)
		(void)uv_run(&bench->live.loop, UV_RUN_ONCE);
	pl_timer_done(&timer);
}

/* -- the flood --------------------------------------------------------------- */

struct flood {
	struct store_bench *bench;
	unsigned pairs;
	uint64_t left; /* events still to be written; UINT64_MAX: by time */
	int64_t revision;
	char value[FLOOD_INFLIGHT][VALUE_SIZE];
	char key[FLOOD_INFLIGHT][FLOOD_PAIRS_MAX][KEY_SIZE];
};

static bool next_flood(void *ctx, unsigned slot, struct kv_req *req)
{
	struct flood *flood = ctx;
	struct kv_req *puts =
		pl_arena_alloc(&flood->bench->live.arena, flood->pairs * sizeof *puts);
	uint64_t now = pl_clock_ns();

	if (flood->left < flood->pairs)
		return false;
	if (flood->left != UINT64_MAX)
		flood->left -= flood->pairs;
	memcpy(flood->value[slot], &now, sizeof now);
	for (unsigned i = 0; i < flood->pairs; i++)
		puts[i] = kv_op_put(pl_span_str(flood->key[slot][i]),
		                    pl_span(flood->value[slot], VALUE_SIZE));
	*req = (struct kv_req){.op = KV_TXN,
	                       .txn = {.then = puts, .then_count = flood->pairs}};
	return true;
}

static void on_flood_done(void *ctx, unsigned slot, const struct kv_result *result)
{
	struct flood *flood = ctx;

	(void)slot;
	if (result->header.revision > flood->revision)
		flood->revision = result->header.revision;
}

static struct flood *flood_new(struct store_bench *bench, unsigned pairs)
{
	struct flood *flood = bench_alloc(1, sizeof *flood);

	flood->bench = bench;
	flood->pairs = pairs;
	flood->left = UINT64_MAX;
	for (unsigned slot = 0; slot < FLOOD_INFLIGHT; slot++)
		for (unsigned i = 0; i < FLOOD_PAIRS_MAX; i++)
			(void)snprintf(flood->key[slot][i], KEY_SIZE, "/bench/w/%u/%03u",
			               slot, i);
	return flood;
}

static uint64_t flood_run(struct flood *flood, double seconds, struct meter *measure)
{
	struct pump pump = {.live = &flood->bench->live,
	                    .inflight = FLOOD_INFLIGHT,
	                    .seconds = seconds,
	                    .next = next_flood,
	                    .answered = on_flood_done,
	                    .ctx = flood};

	pump_run(&pump);
	*measure = pump.measure;
	return pump.calls * flood->pairs;
}

static double lag_at(const struct watchers *w, double share)
{
	uint64_t total = 0, below = 0;

	for (unsigned i = 0; i < w->count; i++)
		for (unsigned at = 0; at < LAG_SLOTS; at++)
			total += w->page[i]->lag[at];
	for (unsigned at = 0; at < LAG_SLOTS; at++) {
		for (unsigned i = 0; i < w->count; i++)
			below += w->page[i]->lag[at];
		if ((double)below >= share * (double)total)
			return (double)(at + 1) / LAG_PER_MS;
	}
	return LAG_MS_MAX;
}

static void emit_watchers(const struct watchers *w, const struct meter *m,
                          uint64_t written, const char *fields)
{
	uint64_t events = 0, cpu_ns = 0, lost = 0;

	for (unsigned i = 0; i < w->count; i++) {
		events += w->page[i]->events;
		lost += written - w->page[i]->events;
		lost += w->page[i]->out_of_order;
		cpu_ns += w->page[i]->cpu_ns - w->cpu_start_ns[i];
	}
	bench_emit(fields, "writes_per_s", (double)written / m->wall_s, "1/s");
	bench_emit(fields, "watch_events_per_s", (double)events / m->wall_s, "1/s");
	bench_emit(fields, "watch_lost", (double)lost, "events");
	bench_emit(fields, "watcher_cpu_cores",
	           (double)cpu_ns / 1e9 / m->wall_s / w->count, "cores");
	bench_emit(fields, "watch_lag_ms_p50", lag_at(w, 0.5), "ms");
	bench_emit(fields, "watch_lag_ms", lag_at(w, 0.99), "ms");
}

static void watch_case(struct store_bench *bench, unsigned pairs, unsigned watchers)
{
	struct flood *flood = flood_new(bench, pairs);
	struct watchers w;
	struct meter m;
	char fields[128];
	uint64_t written;

	watchers_start(&w, bench, watchers, 0);
	for (unsigned i = 0; i < watchers; i++)
		w.page[i]->measuring = true;
	written = flood_run(flood, bench->opts->seconds, &m);
	watchers_wait(bench, &w, flood->revision);
	(void)snprintf(fields, sizeof fields,
	               "\"op\":\"watch\",\"watchers\":%u,\"pairs\":%u,\"inflight\":%d",
	               watchers, pairs, FLOOD_INFLIGHT);
	emit_watchers(&w, &m, written, fields);
	meter_emit(&m, fields);
	watchers_stop(&w);
	free(flood);
}

void bench_watch(struct store_bench *bench)
{
	watch_case(bench, 64, 1);
	watch_case(bench, 64, 4);
	watch_case(bench, 128, 1);
}

/* -- replay ------------------------------------------------------------------ */

void bench_replay(struct store_bench *bench)
{
	enum { EVENTS = 250000 };
	struct flood *flood = flood_new(bench, 100);
	struct kv_req status = kv_op_get(kv_key(PL_SPAN_LIT("/bench/w/0/000")));
	struct kv_result result;
	struct watchers w;
	struct meter m;
	uint64_t start;
	double wall_s;
	const char *fields = "\"op\":\"replay\",\"events\":250000";

	live_call(&bench->live, &status, &result);
	flood->left = EVENTS;
	(void)flood_run(flood, 0, &m);
	start = pl_clock_ns();
	meter_start(&m, &bench->live);
	watchers_start(&w, bench, 1, result.header.revision + 1);
	watchers_wait(bench, &w, flood->revision);
	meter_end(&m, &bench->live);
	wall_s = (double)(pl_clock_ns() - start) / 1e9;
	bench_emit(fields, "total_s", wall_s, "s");
	bench_emit(fields, "watch_events_per_s", (double)w.page[0]->events / wall_s,
	           "1/s");
	bench_emit(fields, "watch_lost", (double)(EVENTS - w.page[0]->events), "events");
	bench_emit(fields, "client_cpu_s", (double)(w.page[0]->cpu_ns) / 1e9, "s");
	bench_emit(fields, "server_cpu_s", m.server_s, "s");
	watchers_stop(&w);
	free(flood);
}

/* -- rest and soak ------------------------------------------------------------ */

void bench_rest(struct store_bench *bench)
{
	struct watchers w;
	struct meter m;

	watchers_start(&w, bench, 1, 0);
	meter_start(&m, &bench->live);
	run_ms(bench, 10000);
	meter_end(&m, &bench->live);
	bench_emit("\"op\":\"rest\",\"seconds\":10", "client_cpu_s", m.client_s, "s");
	watchers_stop(&w);
}

static void compact_at(struct store_bench *bench, int64_t revision)
{
	struct kv_req req = {.op = KV_COMPACT, .compact = {.revision = revision}};

	live_call(&bench->live, &req, NULL);
}

void bench_soak(struct store_bench *bench)
{
	enum { STEPS = 10 };
	struct flood *flood = flood_new(bench, 128);
	struct watchers w;
	struct meter m;
	char fields[128];

	watchers_start(&w, bench, 1, 0);
	for (unsigned i = 1; i <= STEPS; i++) {
		flood->left = bench->opts->events / STEPS;
		(void)flood_run(flood, 0, &m);
		watchers_wait(bench, &w, flood->revision);
		compact_at(bench, flood->revision);
		(void)snprintf(fields, sizeof fields,
		               "\"op\":\"soak\",\"events\":%" PRIu64,
		               (uint64_t)w.page[0]->events);
		bench_emit(fields, "watcher_rss_kb", (double)w.page[0]->rss_kb, "kB");
		bench_emit(fields, "writer_rss_kb", (double)own_rss_kb(), "kB");
	}
	watchers_stop(&w);
	free(flood);
}
