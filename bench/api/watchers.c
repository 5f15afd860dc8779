#include "bench/api/watchers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/api/objects.h"
#include "bench/common/report.h"
#include "bench/common/samples.h"
#include "store/base/clock.h"
#include "store/net/unconst.h"

enum { PREFIX_BYTES = 512, SAMPLES = 8 << 20, TICK_MS = 20, READY_MS = 60000 };

struct watch_conn {
	struct conn conn;
	struct watch_run *run;
	bool stands;
	uint32_t seen;
	uint8_t *bits; /* of the pods that were seen */
	size_t len;    /* of the line that comes */
	uint8_t prefix[PREFIX_BYTES];
};

struct watch_run {
	const struct watchers_opts *opts;
	struct watchers_result *result;
	uv_loop_t loop;
	uv_timer_t timer;
	struct watch_conn *at;
	struct samples delay;
	uint64_t last_ns; /* of the last event */
	bool over;
};

/* -- events ------------------------------------------------------------------------- */

static void line_done(struct watch_conn *at, uint64_t now_ns)
{
	static const char added[] = "{\"type\":\"ADDED\"";
	struct watch_run *run = at->run;
	size_t len = at->len < PREFIX_BYTES ? at->len : PREFIX_BYTES;
	struct pl_span line = pl_span(at->prefix, len);
	uint64_t due_ns;
	uint32_t number;

	at->len = 0;
	if (len < sizeof added || memcmp(line.at, added, sizeof added - 1) != 0 ||
	    !stamped_find(line, &due_ns, &number))
		return;
	number -= run->opts->first;
	if (number >= run->opts->count)
		return;
	run->result->deliveries++;
	run->last_ns = now_ns;
	samples_add(&run->delay, now_ns - due_ns);
	if ((at->bits[number / 8] >> number % 8 & 1) != 0) {
		run->result->twice++;
		return;
	}
	at->bits[number / 8] |= (uint8_t)(1U << number % 8);
	at->seen++;
}

static void on_body(struct conn *conn, struct pl_span piece)
{
	struct watch_conn *at = conn->ctx;
	uint64_t now_ns = pl_clock_ns();

	while (piece.len > 0) {
		const uint8_t *end = memchr(piece.at, '\n', piece.len);
		size_t take = end == NULL ? piece.len : (size_t)(end - piece.at) + 1;

		if (at->len < PREFIX_BYTES)
			memcpy(at->prefix + at->len, piece.at,
			       take < PREFIX_BYTES - at->len ? take
			                                     : PREFIX_BYTES - at->len);
		at->len += take;
		piece = pl_span(piece.at + take, piece.len - take);
		if (end != NULL)
			line_done(at, now_ns);
	}
}

static void on_done(struct conn *conn, int status)
{
	struct watch_conn *at = conn->ctx;

	if (status != 200)
		bench_fail("a watch was refused with %d", status);
	at->run->result->ended++;
}

static void on_lost(struct conn *conn, const char *why)
{
	struct watch_conn *at = conn->ctx;

	(void)why;
	at->run->result->ended++;
}

/* -- the process -------------------------------------------------------------------- */

static bool all_have_seen(const struct watch_run *run, uint32_t pods)
{
	for (uint32_t i = 0; i < run->opts->watchers; i++)
		if (run->at[i].seen < pods && !run->at[i].conn.over)
			return false;
	return true;
}

/* A watch stands when the head of its answer has come. */
static void count_ready(struct watch_run *run)
{
	uint32_t ready = 0;

	for (uint32_t i = 0; i < run->opts->watchers; i++)
		ready += run->at[i].conn.reads != CONN_HEAD || run->at[i].conn.over;
	__atomic_store_n(&run->result->ready, ready, __ATOMIC_RELEASE);
}

static void on_tick(uv_timer_t *timer)
{
	struct watch_run *run = timer->data;
	uint32_t expected = __atomic_load_n(&run->result->expected, __ATOMIC_ACQUIRE);

	if (run->result->ready < run->opts->watchers)
		count_ready(run);
	if (expected == 0) {
		run->last_ns = pl_clock_ns();
		return;
	}
	if (!all_have_seen(run, expected - 1) &&
	    pl_clock_ns() - run->last_ns < WATCHERS_IDLE_MS * (uint64_t)1000000)
		return;
	for (uint32_t i = 0; i < run->opts->watchers; i++)
		if (run->at[i].seen < expected - 1)
			run->result->lost += expected - 1 - run->at[i].seen;
	run->over = true;
	uv_stop(&run->loop);
}

static void open_watches(struct watch_run *run)
{
	static const struct conn_fns fns = {
		.body = on_body, .done = on_done, .lost = on_lost};
	const struct watchers_opts *opts = run->opts;
	SSL_CTX *tls = conn_tls(opts->ca_file);
	char path[256];

	(void)snprintf(path, sizeof path, "/api/v1/pods?watch=true&resourceVersion=%s",
	               opts->revision);
	run->at = bench_alloc(opts->watchers, sizeof *run->at);
	for (uint32_t i = 0; i < opts->watchers; i++) {
		struct watch_conn *at = &run->at[i];

		at->run = run;
		at->bits = bench_alloc(opts->count / 8 + 1, 1);
		conn_open(&at->conn, &run->loop, tls, opts->port, &fns, at);
		request_write(&at->conn.out, opts->token, "GET", path,
		              (struct pl_span){0});
		conn_send(&at->conn);
	}
	SSL_CTX_free(tls);
}

static void run_watchers(void *ctx, void *out)
{
	struct watch_run *run = bench_alloc(1, sizeof *run);
	double cpu_at_s;

	run->opts = ctx;
	run->result = out;
	(void)uv_loop_init(&run->loop);
	samples_init(&run->delay, SAMPLES);
	open_watches(run);
	(void)uv_timer_init(&run->loop, &run->timer);
	run->timer.data = run;
	(void)uv_timer_start(&run->timer, on_tick, TICK_MS, TICK_MS);
	cpu_at_s = bench_cpu_s(0);
	while (!run->over)
		(void)uv_run(&run->loop, UV_RUN_ONCE);
	run->result->cpu_s = bench_cpu_s(0) - cpu_at_s;
	run->result->p50_ms = samples_ms(&run->delay, 0.5);
	run->result->p99_ms = samples_ms(&run->delay, 0.99);
	run->result->p999_ms = samples_ms(&run->delay, 0.999);
	run->result->max_ms = samples_ms(&run->delay, 1);
}

static void on_look(uv_timer_t *timer)
{
	(void)timer; /* the loop is to turn */
}

static void on_timer_closed(uv_handle_t *handle)
{
	*(bool *)handle->data = true;
}

void watchers_start(struct child *child, uv_loop_t *loop,
                    const struct watchers_opts *opts)
{
	uint64_t until_ns = pl_clock_ns() + READY_MS * (uint64_t)1000000;
	bool closed = false;
	uv_timer_t timer;

	PL_ASSERT(opts->watchers > 0 && opts->watchers <= WATCHERS_MAX);
	_Static_assert(sizeof(struct watchers_result) <= CHILD_RESULT_MAX, "too large");
	child_start(child, loop, run_watchers, unconst(opts));
	(void)uv_timer_init(loop, &timer);
	timer.data = &closed;
	(void)uv_timer_start(&timer, on_look, TICK_MS, TICK_MS);
	while (!child_over(child)) {
		const struct watchers_result *result = child->page;

		if (__atomic_load_n(&result->ready, __ATOMIC_ACQUIRE) == opts->watchers)
			break;
		if (pl_clock_ns() > until_ns)
			bench_fail("the watches do not stand");
		(void)uv_run(loop, UV_RUN_ONCE);
	}
	uv_close((uv_handle_t *)&timer, on_timer_closed);
	while (!closed)
		(void)uv_run(loop, UV_RUN_ONCE);
}

void watchers_wait(struct child *child, uint64_t pods, struct watchers_result *out)
{
	struct watchers_result *result = child->page;

	__atomic_store_n(&result->expected, (uint32_t)pods + 1, __ATOMIC_RELEASE);
	child_wait(child);
	memcpy(out, child_result(child), sizeof *out);
	child_done(child);
}
