#include "bench/api/api_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/report.h"
#include "bench/common/samples.h"
#include "store/base/clock.h"
#include "store/net/unconst.h"

enum { SAMPLES = 4 << 20, BODY_MAX = 512 << 20 };

struct api_load_conn {
	struct conn conn;
	struct loader *loader;
	uint64_t due_ns;
	uint32_t objects; /* of the request under way */
	struct pl_buf body;
	uint64_t items;
};

struct loader {
	const struct api_load_opts *opts;
	struct api_load_result *result;
	uv_loop_t loop;
	uv_timer_t timer;
	struct api_load_conn *conn;
	uint32_t next, under_way;
	uint64_t start_ns;
	double cpu_at_s;
	struct samples latency, late;
	struct pl_buf object;
	bool over;
};

/* -- requests ----------------------------------------------------------------------- */

static bool is_stopped(const struct loader *loader)
{
	return __atomic_load_n(&loader->result->stop, __ATOMIC_RELAXED) != 0;
}

static bool has_more(const struct loader *loader)
{
	return loader->opts->count == 0 ? !is_stopped(loader)
	                                : loader->next < loader->opts->count;
}

static uint64_t due_of(const struct loader *loader, uint32_t number)
{
	return loader->start_ns + (uint64_t)(1e9 * number / loader->opts->rate);
}

static void write_bulk(struct loader *loader, uint32_t count, uint64_t due_ns)
{
	char name[OBJECTS_NAME_SIZE];
	struct pl_buf *out = &loader->object;

	bench_check(pl_buf_add_str(
			    out, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":["),
	            NULL, "a list");
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0)
			bench_check(pl_buf_add_str(out, ","), NULL, "a list");
		stamped_name(name, due_ns, loader->opts->first + loader->next + i);
		object_pod(out, name);
	}
	bench_check(pl_buf_add_str(out, "]}"), NULL, "a list");
}

static void write_object(struct loader *loader, struct api_load_conn *at)
{
	const struct api_load_opts *opts = loader->opts;
	uint32_t number = opts->first + loader->next, left = opts->count - loader->next;
	char name[OBJECTS_NAME_SIZE];

	pl_buf_clear(&loader->object, loader->object.cap);
	at->objects = 1;
	switch (opts->what) {
	case API_LOAD_CREATE_PODS:
		stamped_name(name, opts->timeless ? 0 : at->due_ns, number);
		object_pod(&loader->object, name);
		return;
	case API_LOAD_BIND:
		stamped_name(name, 0, number);
		object_binding(&loader->object, name, number % opts->of);
		return;
	case API_LOAD_CREATE_NODES:
		(void)snprintf(name, sizeof name, "node-%05u", number);
		object_node(&loader->object, name);
		return;
	case API_LOAD_CREATE_NAMESPACE:
		object_namespace(&loader->object, opts->name);
		return;
	case API_LOAD_BULK_PODS:
		at->objects = left < opts->each ? left : opts->each;
		write_bulk(loader, at->objects, at->due_ns);
		return;
	case API_LOAD_FETCH:
	case API_LOAD_PAGES:
	case API_LOAD_DELETE:
		return;
	}
}

static void write_bind_path(const struct api_load_opts *opts, uint32_t number, char *out,
                            size_t size)
{
	char name[OBJECTS_NAME_SIZE];

	stamped_name(name, 0, opts->first + number);
	(void)snprintf(out, size, "%s/%s/binding", opts->path, name);
}

static void send_next(struct api_load_conn *at, uint64_t due_ns)
{
	struct loader *loader = at->loader;
	const struct api_load_opts *opts = loader->opts;
	bool creates = opts->what <= API_LOAD_BULK_PODS;
	const char *slot = strstr(opts->path, "%u");
	char path[API_LOAD_PATH_SIZE + OBJECTS_NAME_SIZE + 16];

	at->due_ns = due_ns;
	write_object(loader, at);
	if (opts->what == API_LOAD_BIND)
		write_bind_path(opts, loader->next, path, sizeof path);
	else if (slot != NULL)
		(void)snprintf(path, sizeof path, "%.*s%05u%s", (int)(slot - opts->path),
		               opts->path, loader->next * 7919 % opts->of, slot + 2);
	else
		(void)snprintf(path, sizeof path, "%s", opts->path);
	loader->next += at->objects;
	loader->under_way++;
	request_write(&at->conn.out, opts->token,
	              creates                         ? "POST"
	              : opts->what == API_LOAD_DELETE ? "DELETE"
	                                              : "GET",
	              path, pl_buf_span(&loader->object));
	if (opts->rate > 0)
		samples_add(&loader->late, pl_clock_ns() - due_ns);
	conn_send(&at->conn);
}

/* -- answers ------------------------------------------------------------------------ */

static void end_if_over(struct loader *loader)
{
	if (loader->under_way == 0 && !has_more(loader)) {
		loader->over = true;
		uv_stop(&loader->loop);
	}
}

static void on_body(struct conn *conn, struct pl_span piece)
{
	struct api_load_conn *at = conn->ctx;

	at->loader->result->bytes += piece.len;
	if (at->loader->opts->keeps || conn->status >= 300)
		bench_check(pl_buf_add(&at->body, piece), NULL, "a body");
}

static void note_failure(struct api_load_conn *at, int status)
{
	struct api_load_result *result = at->loader->result;

	if (result->failed++ == 0)
		(void)snprintf(result->text, sizeof result->text, "%d %.*s", status,
		               (int)(at->body.len < 200 ? at->body.len : 200),
		               at->body.len == 0 ? "" : (const char *)at->body.at);
}

static uint64_t count_of(struct pl_span text, const char *word)
{
	size_t len = strlen(word);
	uint64_t count = 0;
	const uint8_t *at = text.at, *end = text.at + text.len;

	while (at != NULL && (at = memmem(at, (size_t)(end - at), word, len)) != NULL) {
		count++;
		at += len;
	}
	return count;
}

/* The string behind a name, without its end: len 0: there is none. */
static struct pl_span string_of(struct pl_span text, const char *name)
{
	const uint8_t *at = memmem(text.at, text.len, name, strlen(name)), *end;

	if (at == NULL)
		return (struct pl_span){0};
	at += strlen(name);
	end = memchr(at, '"', (size_t)(text.at + text.len - at));
	return end == NULL ? (struct pl_span){0} : pl_span(at, (size_t)(end - at));
}

/* Asks for the next page. False: that was the last one. */
static bool send_page(struct api_load_conn *at)
{
	struct pl_span token = string_of(pl_buf_span(&at->body), "\"continue\":\"");
	char path[4096];

	at->items += count_of(pl_buf_span(&at->body), "\"metadata\":{\"name\":\"");
	if (token.len == 0 || at->loader->opts->what != API_LOAD_PAGES)
		return false;
	(void)snprintf(path, sizeof path, "%s&continue=" PL_SPAN_FMT,
	               at->loader->opts->path, PL_SPAN_ARG(token));
	pl_buf_clear(&at->body, at->body.cap);
	request_write(&at->conn.out, at->loader->opts->token, "GET", path,
	              (struct pl_span){0});
	conn_send(&at->conn);
	return true;
}

static void check_list(struct api_load_conn *at)
{
	struct loader *loader = at->loader;
	struct pl_span version =
		string_of(pl_buf_span(&at->body), "\"metadata\":{\"resourceVersion\":\"");

	if (loader->opts->items > 0 && at->items != loader->opts->items)
		bench_fail("%s: %llu items instead of %u", loader->opts->path,
		           (unsigned long long)at->items, loader->opts->items);
	(void)snprintf(loader->result->text, sizeof loader->result->text, PL_SPAN_FMT,
	               PL_SPAN_ARG(version));
}

static void on_done(struct conn *conn, int status)
{
	struct api_load_conn *at = conn->ctx;
	struct loader *loader = at->loader;
	uint64_t took_ns = pl_clock_ns() - at->due_ns;
	bool good = status == 200 || status == 201;

	if (loader->opts->what == API_LOAD_BULK_PODS)
		good = status == 201;
	if (!good)
		note_failure(at, status);
	else if (at->loader->opts->keeps && send_page(at))
		return;
	else
		loader->result->done += at->objects;
	samples_add(&loader->latency, took_ns);
	if (good && at->loader->opts->keeps)
		check_list(at);
	at->items = 0;
	pl_buf_clear(&at->body, at->body.cap);
	loader->under_way--;
	if (loader->opts->rate == 0 && has_more(loader))
		send_next(at, pl_clock_ns());
	else
		end_if_over(loader);
}

static void on_lost(struct conn *conn, const char *why)
{
	struct api_load_conn *at = conn->ctx;

	bench_fail("a connection of the load: %s (%s)", why, at->loader->opts->path);
}

/* -- the process -------------------------------------------------------------------- */

/* Sends what is due on the connections that are free. */
static void on_tick(uv_timer_t *timer)
{
	struct loader *loader = timer->data;
	uint64_t now_ns = pl_clock_ns();

	for (uint32_t i = 0; i < loader->opts->conns && has_more(loader); i++) {
		uint64_t due_ns = due_of(loader, loader->next);

		if (due_ns > now_ns)
			return;
		if (!loader->conn[i].conn.busy)
			send_next(&loader->conn[i], due_ns);
	}
	end_if_over(loader);
}

static void open_conns(struct loader *loader)
{
	static const struct conn_fns fns = {
		.body = on_body, .done = on_done, .lost = on_lost};
	const struct api_load_opts *opts = loader->opts;
	SSL_CTX *tls = conn_tls(opts->ca_file);

	loader->conn = bench_alloc(opts->conns, sizeof *loader->conn);
	for (uint32_t i = 0; i < opts->conns; i++) {
		struct api_load_conn *at = &loader->conn[i];

		at->loader = loader;
		pl_buf_init(&at->body, BODY_MAX);
		conn_open(&at->conn, &loader->loop, tls, opts->port, &fns, at);
	}
	SSL_CTX_free(tls);
}

static void begin(struct loader *loader)
{
	loader->cpu_at_s = bench_cpu_s(0);
	loader->start_ns = pl_clock_ns();
	if (loader->opts->rate > 0) {
		(void)uv_timer_init(&loader->loop, &loader->timer);
		loader->timer.data = loader;
		(void)uv_timer_start(&loader->timer, on_tick, 0, 1);
		return;
	}
	for (uint32_t i = 0; i < loader->opts->conns && has_more(loader); i++)
		send_next(&loader->conn[i], pl_clock_ns());
}

static void run_load(void *ctx, void *out)
{
	struct loader *loader = bench_alloc(1, sizeof *loader);

	loader->opts = ctx;
	loader->result = out;
	(void)uv_loop_init(&loader->loop);
	samples_init(&loader->latency, SAMPLES);
	samples_init(&loader->late, SAMPLES);
	pl_buf_init(&loader->object, BODY_MAX);
	open_conns(loader);
	begin(loader);
	while (!loader->over)
		(void)uv_run(&loader->loop, UV_RUN_ONCE);
	loader->result->wall_s = (double)(pl_clock_ns() - loader->start_ns) / 1e9;
	loader->result->cpu_s = bench_cpu_s(0) - loader->cpu_at_s;
	loader->result->p50_ms = samples_ms(&loader->latency, 0.5);
	loader->result->p99_ms = samples_ms(&loader->latency, 0.99);
	loader->result->p999_ms = samples_ms(&loader->latency, 0.999);
	loader->result->max_ms = samples_ms(&loader->latency, 1);
	loader->result->late_p99_ms = samples_ms(&loader->late, 0.99);
}

void api_load_start(struct child *child, uv_loop_t *loop,
                    const struct api_load_opts *opts)
{
	PL_ASSERT(opts->conns > 0 && opts->conns <= API_LOAD_CONNS_MAX);
	_Static_assert(sizeof(struct api_load_result) <= CHILD_RESULT_MAX, "too large");
	child_start(child, loop, run_load, unconst(opts));
}

void api_load_stop(struct child *child)
{
	struct api_load_result *result = child->page;

	__atomic_store_n(&result->stop, 1, __ATOMIC_RELAXED);
}

void api_load_wait(struct child *child, bool none_fails, struct api_load_result *out)
{
	child_wait(child);
	memcpy(out, child_result(child), sizeof *out);
	child_done(child);
	if (none_fails && out->failed > 0)
		bench_fail("%llu requests failed, the first with %s",
		           (unsigned long long)out->failed, out->text);
}

void api_load_run(uv_loop_t *loop, const struct api_load_opts *opts,
                  struct api_load_result *out)
{
	struct child child;

	api_load_start(&child, loop, opts);
	api_load_wait(&child, true, out);
}
