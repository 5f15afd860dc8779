/* The counters as text: Prometheus' format and JSON. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "store/kv/metrics.h"

/* A writer that keeps the first failure, so that a page of output needs one check. */
struct metrics_text {
	struct pl_buf *out;
	const char *labels;
	enum pl_code code;
};

#define ADD(text, ...)                                                          \
	do {                                                                    \
		if ((text)->code == PL_OK)                                      \
			(text)->code = pl_buf_printf((text)->out, __VA_ARGS__); \
	} while (0)

#define U64(x) (unsigned long long)(x)

/* Labels and JSON keys have no blanks: "lease grant" is lease_grant. */
static const char *word(const char *name, char *at, size_t size)
{
	size_t i = 0;

	for (; name[i] != 0 && i + 1 < size; i++)
		at[i] = (char)(name[i] == ' ' ? '_' : name[i]);
	at[i] = 0;
	return at;
}

enum { WORD_SIZE = 48 };

static bool op_used(const struct kv_op_metrics *op)
{
	return op->started + op->refused != 0;
}

static void add_sample(struct metrics_text *text, const char *name, const char *labels,
                       uint64_t value)
{
	const char *comma = text->labels[0] != 0 && labels[0] != 0 ? "," : "";

	if (text->labels[0] == 0 && labels[0] == 0)
		ADD(text, "placet_kv_%s %llu\n", name, U64(value));
	else
		ADD(text, "placet_kv_%s{%s%s%s} %llu\n", name, text->labels, comma,
		    labels, U64(value));
}

static void add_head(struct metrics_text *text, const char *name, const char *type,
                     const char *help)
{
	ADD(text, "# HELP placet_kv_%s %s\n# TYPE placet_kv_%s %s\n", name, help, name,
	    type);
}

struct metrics_column {
	const char *name;
	const char *type;
	const char *help;
	size_t at;
};

static uint64_t value_at(const void *base, size_t at)
{
	uint64_t value;

	memcpy(&value, (const char *)base + at, sizeof value);
	return value;
}

#define OP_COLUMN(field, text_name, type, help)                              \
	{                                                                    \
		text_name, type, help, offsetof(struct kv_op_metrics, field) \
	}
static const struct metrics_column op_columns[] = {
	OP_COLUMN(started, "calls_started_total", "counter", "Calls started."),
	OP_COLUMN(refused, "calls_refused_total", "counter",
                  "Calls that could not be started."),
	OP_COLUMN(in_flight, "calls_in_flight", "gauge", "Calls not yet answered."),
	OP_COLUMN(bytes_out, "sent_bytes_total", "counter",
                  "Keys and values of requests."),
	OP_COLUMN(bytes_in, "received_bytes_total", "counter",
                  "Keys and values of answers."),
};

#define WATCH_COLUMN(field, text_name, type, help)                              \
	{                                                                       \
		text_name, type, help, offsetof(struct kv_watch_metrics, field) \
	}
static const struct metrics_column watch_columns[] = {
	WATCH_COLUMN(started, "watches_started_total", "counter", "Watches started."),
	WATCH_COLUMN(open, "watches_open", "gauge", "Watches not yet ended."),
	WATCH_COLUMN(notes, "watch_notes_total", "counter", "Notes of watches."),
	WATCH_COLUMN(events, "watch_events_total", "counter", "Events of watches."),
	WATCH_COLUMN(resumes, "watch_resumes_total", "counter",
                     "Watches resumed after a lost connection."),
	WATCH_COLUMN(progress, "watch_progress_total", "counter",
                     "Notes of progress without events."),
	WATCH_COLUMN(bytes_in, "watch_received_bytes_total", "counter",
                     "Keys and values of events."),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void op_column_text(struct metrics_text *text, const struct kv_metrics *metrics,
                           const struct metrics_column *column)
{
	char name[WORD_SIZE], labels[2 * WORD_SIZE];

	add_head(text, column->name, column->type, column->help);
	for (unsigned i = 0; i < KV_OP_COUNT; i++) {
		if (!op_used(&metrics->op[i]))
			continue;
		(void)snprintf(labels, sizeof labels, "op=\"%s\"",
		               word(kv_op_name((enum kv_op)i), name, sizeof name));
		add_sample(text, column->name, labels,
		           value_at(&metrics->op[i], column->at));
	}
}

static void outcomes_text(struct metrics_text *text, const struct kv_metrics *metrics)
{
	char name[WORD_SIZE], code[WORD_SIZE], labels[3 * WORD_SIZE];

	add_head(text, "calls_total", "counter", "Calls ended, by outcome.");
	for (unsigned i = 0; i < KV_OP_COUNT; i++)
		for (unsigned k = 0; k < PL_CODE_COUNT; k++) {
			if (metrics->op[i].ended[k] == 0)
				continue;
			(void)snprintf(
				labels, sizeof labels, "op=\"%s\",code=\"%s\"",
				word(kv_op_name((enum kv_op)i), name, sizeof name),
				word(pl_code_name((enum pl_code)k), code, sizeof code));
			add_sample(text, "calls_total", labels, metrics->op[i].ended[k]);
		}
}

/* 2^k - 1 microseconds are bounds of the histogram's buckets, so these counts are
 * exact. */
static void latency_of_op(struct metrics_text *text, const char *op,
                          const struct histogram *took)
{
	static const uint8_t powers[] = {7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 24};
	char labels[3 * WORD_SIZE];
	const char *comma = text->labels[0] != 0 ? "," : "";

	for (size_t i = 0; i < COUNT(powers); i++) {
		uint64_t le = (UINT64_C(1) << powers[i]) - 1;

		(void)snprintf(labels, sizeof labels, "op=\"%s\",le=\"%llu.%06llu\"", op,
		               U64(le / 1000000), U64(le % 1000000));
		add_sample(text, "call_seconds_bucket", labels,
		           histogram_at_most(took, le));
	}
	(void)snprintf(labels, sizeof labels, "op=\"%s\",le=\"+Inf\"", op);
	add_sample(text, "call_seconds_bucket", labels, took->count);
	ADD(text, "placet_kv_call_seconds_sum{%s%sop=\"%s\"} %llu.%06llu\n", text->labels,
	    comma, op, U64(took->sum_us / 1000000), U64(took->sum_us % 1000000));
	(void)snprintf(labels, sizeof labels, "op=\"%s\"", op);
	add_sample(text, "call_seconds_count", labels, took->count);
}

static void latency_text(struct metrics_text *text, const struct kv_metrics *metrics)
{
	char name[WORD_SIZE];

	add_head(text, "call_seconds", "histogram", "Time from start to answer.");
	for (unsigned i = 0; i < KV_OP_COUNT; i++)
		if (op_used(&metrics->op[i]))
			latency_of_op(text,
			              word(kv_op_name((enum kv_op)i), name, sizeof name),
			              &metrics->op[i].took);
}

static void watch_text(struct metrics_text *text, const struct kv_watch_metrics *watch)
{
	char code[WORD_SIZE], labels[2 * WORD_SIZE];

	for (size_t i = 0; i < COUNT(watch_columns); i++) {
		const struct metrics_column *column = &watch_columns[i];

		add_head(text, column->name, column->type, column->help);
		add_sample(text, column->name, "", value_at(watch, column->at));
	}
	add_head(text, "watches_ended_total", "counter", "Watches ended, by reason.");
	for (unsigned k = 0; k < PL_CODE_COUNT; k++) {
		if (watch->ended[k] == 0)
			continue;
		(void)snprintf(labels, sizeof labels, "code=\"%s\"",
		               word(pl_code_name((enum pl_code)k), code, sizeof code));
		add_sample(text, "watches_ended_total", labels, watch->ended[k]);
	}
}

enum pl_code kv_metrics_prometheus(const struct kv_metrics *metrics, const char *labels,
                                   struct pl_buf *out)
{
	struct metrics_text text = {.out = out, .labels = labels == NULL ? "" : labels};

	for (size_t i = 0; i < COUNT(op_columns); i++)
		op_column_text(&text, metrics, &op_columns[i]);
	outcomes_text(&text, metrics);
	latency_text(&text, metrics);
	add_head(&text, "compares_failed_total", "counter",
	         "Transactions whose compares did not hold.");
	add_sample(&text, "compares_failed_total", "", metrics->compares_failed);
	watch_text(&text, &metrics->watch);
	return text.code;
}

static void codes_json(struct metrics_text *text, const char *key, const uint64_t *counts)
{
	char code[WORD_SIZE];
	const char *comma = "";

	ADD(text, "\"%s\":{", key);
	for (unsigned k = 0; k < PL_CODE_COUNT; k++) {
		if (counts[k] == 0)
			continue;
		ADD(text, "%s\"%s\":%llu", comma,
		    word(pl_code_name((enum pl_code)k), code, sizeof code),
		    U64(counts[k]));
		comma = ",";
	}
	ADD(text, "}");
}

static void op_json(struct metrics_text *text, const struct kv_op_metrics *op)
{
	ADD(text,
	    "\"started\":%llu,\"refused\":%llu,\"in_flight\":%llu,"
	    "\"bytes_out\":%llu,\"bytes_in\":%llu,",
	    U64(op->started), U64(op->refused), U64(op->in_flight), U64(op->bytes_out),
	    U64(op->bytes_in));
	ADD(text,
	    "\"p50_us\":%llu,\"p99_us\":%llu,\"p999_us\":%llu,\"max_us\":%llu,"
	    "\"sum_us\":%llu,",
	    U64(histogram_quantile_us(&op->took, 500)),
	    U64(histogram_quantile_us(&op->took, 990)),
	    U64(histogram_quantile_us(&op->took, 999)), U64(op->took.max_us),
	    U64(op->took.sum_us));
	codes_json(text, "ended", op->ended);
}

enum pl_code kv_metrics_json(const struct kv_metrics *metrics, struct pl_buf *out)
{
	struct metrics_text text = {.out = out};
	const struct kv_watch_metrics *watch = &metrics->watch;
	char name[WORD_SIZE];
	const char *comma = "";

	ADD(&text, "{\"ops\":{");
	for (unsigned i = 0; i < KV_OP_COUNT; i++) {
		if (!op_used(&metrics->op[i]))
			continue;
		ADD(&text, "%s\"%s\":{", comma,
		    word(kv_op_name((enum kv_op)i), name, sizeof name));
		op_json(&text, &metrics->op[i]);
		ADD(&text, "}");
		comma = ",";
	}
	ADD(&text, "},\"compares_failed\":%llu,\"watch\":{",
	    U64(metrics->compares_failed));
	ADD(&text,
	    "\"started\":%llu,\"open\":%llu,\"notes\":%llu,\"events\":%llu,"
	    "\"resumes\":%llu,\"progress\":%llu,\"bytes_in\":%llu,",
	    U64(watch->started), U64(watch->open), U64(watch->notes), U64(watch->events),
	    U64(watch->resumes), U64(watch->progress), U64(watch->bytes_in));
	codes_json(&text, "ended", watch->ended);
	ADD(&text, "}}");
	return text.code;
}
