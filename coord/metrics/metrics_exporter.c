#include "coord/metrics/metrics_exporter.h"

#include <stdlib.h>

#include "coord/metrics/collect.h"
#include "store/base/alloc.h"
#include "store/metrics/exposition.h"

enum { WAITING_MAX = 64, TEXT_MAX = 32 << 20 };

struct metrics_exporter {
	struct metrics_hub *hub;
	struct metrics_listener listener;
	const char *version;
	uv_async_t ready;
	uv_timer_t patience;
	struct http_exchange *waiting[WAITING_MAX];
	unsigned count;
	uint64_t question; /* under way while count > 0 */
	unsigned open;     /* handles */
	void (*closed)(void *ctx);
	void *closed_ctx;
};

/* -- answers ----------------------------------------------------------------------------- */

static void answer_fault(struct http_exchange *exchange, const char *text)
{
	const struct http_field fields[] = {
		{PL_SPAN_LIT("content-type"), PL_SPAN_LIT("text/plain; charset=utf-8")},
		{PL_SPAN_LIT("retry-after"), PL_SPAN_LIT("1")}};

	http_respond(exchange, 503, fields, 2, pl_span_str(text));
}

/* PL_OK: out has the text. */
static enum pl_code write_text(const struct metric_set *set,
                               const struct http_exchange *exchange, struct pl_buf *out,
                               enum exposition *format)
{
	*format = exposition_negotiate(
		http_request_field(http_exchange_request(exchange), "accept"));
	return exposition_write(set, *format, out);
}

static void answer_one(struct http_exchange *exchange, const struct metric_set *set)
{
	enum exposition format;
	struct pl_buf text;

	pl_buf_init(&text, TEXT_MAX);
	if (write_text(set, exchange, &text, &format) == PL_OK) {
		const struct http_field fields[] = {
			{PL_SPAN_LIT("content-type"),
		         pl_span_str(exposition_content_type(format))},
			{PL_SPAN_LIT("cache-control"), PL_SPAN_LIT("no-store")},
			{PL_SPAN_LIT("vary"), PL_SPAN_LIT("Accept")}};

		http_respond(exchange, 200, fields, 3, pl_buf_span(&text));
	} else {
		answer_fault(exchange, "there is no memory for the metrics\n");
	}
	pl_buf_done(&text);
}

static void fill(const struct metrics_exporter *exporter, struct metric_set *set)
{
	struct metrics_hub_count count =
		metrics_hub_merge(exporter->hub, exporter->question, set);

	collect_process(set, exporter->version);
	metric_put(set, M_THREADS, NULL, count.answered);
	metric_put(set, M_THREADS_MISSING, NULL, count.missing);
	metric_add(set, M_DROPPED, NULL, (double)metric_set_dropped(set));
}

static void answer_all(struct metrics_exporter *exporter)
{
	struct metric_set *set = NULL;

	(void)uv_timer_stop(&exporter->patience);
	if (metrics_set_new(&set, NULL) == PL_OK)
		fill(exporter, set);
	for (unsigned i = 0; i < exporter->count; i++)
		if (set != NULL)
			answer_one(exporter->waiting[i], set);
		else
			answer_fault(exporter->waiting[i],
			             "there is no memory for the metrics\n");
	exporter->count = 0;
	metric_set_free(set);
}

static void on_ready(uv_async_t *ready)
{
	struct metrics_exporter *exporter = ready->data;

	if (exporter->count > 0 &&
	    metrics_hub_is_answered(exporter->hub, exporter->question))
		answer_all(exporter);
}

static void on_patience(uv_timer_t *timer)
{
	struct metrics_exporter *exporter = timer->data;

	if (exporter->count > 0)
		answer_all(exporter);
}

/* From any thread. */
static void wake(void *ctx)
{
	struct metrics_exporter *exporter = ctx;

	(void)uv_async_send(&exporter->ready);
}

/* -- scrapes ----------------------------------------------------------------------------- */

void metrics_exporter_serve(struct metrics_exporter *exporter,
                            struct http_exchange *exchange)
{
	const struct http_request *request = http_exchange_request(exchange);

	if (!pl_span_eq(request->method, PL_SPAN_LIT("GET")) &&
	    !pl_span_eq(request->method, PL_SPAN_LIT("HEAD"))) {
		const struct http_field allow = {PL_SPAN_LIT("allow"),
		                                 PL_SPAN_LIT("GET, HEAD")};

		http_respond(exchange, 405, &allow, 1, (struct pl_span){0});
		return;
	}
	if (exporter->count == WAITING_MAX) {
		answer_fault(exchange, "too many scrapes wait\n");
		return;
	}
	exporter->waiting[exporter->count++] = exchange;
	if (exporter->count > 1)
		return;
	exporter->question = metrics_hub_ask(exporter->hub);
	(void)uv_timer_start(&exporter->patience, on_patience, METRICS_PATIENCE_MS, 0);
	wake(exporter); /* there may be no source */
}

void metrics_exporter_gone(struct metrics_exporter *exporter,
                           const struct http_exchange *exchange)
{
	for (unsigned i = 0; i < exporter->count; i++)
		if (exporter->waiting[i] == exchange) {
			exporter->waiting[i] = exporter->waiting[--exporter->count];
			return;
		}
}

/* -- life -------------------------------------------------------------------------------- */

enum pl_code metrics_exporter_open(uv_loop_t *loop, struct metrics_hub *hub,
                                   const char *version, struct metrics_exporter **out,
                                   struct pl_err *err)
{
	struct metrics_exporter *exporter = pl_calloc(1, sizeof *exporter);
	int rc;

	if (exporter == NULL)
		return pl_err_set(err, PL_NOMEM, "an exporter of metrics");
	exporter->hub = hub;
	exporter->version = version;
	rc = uv_async_init(loop, &exporter->ready, on_ready);
	if (rc != 0) {
		free(exporter);
		return pl_err_set(err, PL_IO, "async: %s", uv_strerror(rc));
	}
	(void)uv_timer_init(loop, &exporter->patience);
	exporter->ready.data = exporter;
	exporter->patience.data = exporter;
	exporter->open = 2;
	exporter->listener.ready = wake;
	exporter->listener.ctx = exporter;
	metrics_hub_listen(hub, &exporter->listener);
	*out = exporter;
	return PL_OK;
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct metrics_exporter *exporter = handle->data;
	void (*closed)(void *) = exporter->closed;
	void *ctx = exporter->closed_ctx;

	if (--exporter->open > 0)
		return;
	free(exporter);
	if (closed != NULL)
		closed(ctx);
}

void metrics_exporter_close(struct metrics_exporter *exporter, void (*closed)(void *ctx),
                            void *ctx)
{
	PL_ASSERT(exporter->count == 0);
	exporter->closed = closed;
	exporter->closed_ctx = ctx;
	metrics_hub_unlisten(exporter->hub, &exporter->listener);
	uv_close((uv_handle_t *)&exporter->ready, on_handle_closed);
	uv_close((uv_handle_t *)&exporter->patience, on_handle_closed);
}
