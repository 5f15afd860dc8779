#include "coord/cli/explain/explain_api.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "coord/cli/output/age.h"
#include "coord/cli/output/message.h"
#include "coord/cli/output/output.h"
#include "coord/cli/output/printable.h"
#include "coord/cli/session/api_object.h"
#include "store/base/clock.h"
#include "store/base/json_out.h"

enum { OUT_MAX = 64 << 20, SHOWN_MAX = 20 /* reasons, clusters, nodes */ };

/* -- the text ----------------------------------------------------------------------------- */

/* The first failure stays. */
struct explanation_print {
	struct pl_json status;
	struct pl_buf *out;
	enum pl_code code;
};

PL_PRINTF(2, 3)
static void add_line(struct explanation_print *print, const char *fmt, ...)
{
	char line[4096];
	va_list args;

	if (print->code != PL_OK)
		return;
	va_start(args, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it was begun above */
	(void)vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	print->code = printable_add(print->out, pl_span_str(line), NULL);
	if (print->code == PL_OK)
		print->code = pl_buf_add_str(print->out, "\n");
}

static const char *text_of(const struct explanation_print *print, const char *name)
{
	return field_text_or(print->status, name, "");
}

static int64_t number_of(const struct explanation_print *print, const char *name)
{
	return field_int(print->status, name, 0);
}

static void add_state(struct explanation_print *print, struct pl_json explanation,
                      int64_t now_ms)
{
	const char *node = text_of(print, "node"), *cluster = text_of(print, "cluster");
	const char *phase = text_of(print, "phase");
	char since[64 + AGE_SIZE] = "", age[AGE_SIZE];
	int64_t since_ms;

	if (api_time(print->status, "since", &since_ms))
		(void)snprintf(since, sizeof since, " since %.30s (%s)",
		               text_of(print, "since"), age_text(now_ms - since_ms, age));
	add_line(print, "%s/%s is %s%s%s%s%s%s",
	         field_text_or(explanation, "metadata.namespace", ""),
	         field_text_or(explanation, "metadata.name", ""),
	         *phase == 0 ? "Pending" : phase, *node == 0 ? "" : " on ", cluster,
	         *node == 0 ? "" : "/", node, since);
	if (*text_of(print, "reason") != 0)
		add_line(print, "  %s: %s", text_of(print, "reason"),
		         text_of(print, "message"));
	if (number_of(print, "attempts") > 0)
		add_line(print, "  %" PRId64 " attempt%s", number_of(print, "attempts"),
		         number_of(print, "attempts") == 1 ? "" : "s");
}

static void add_place(struct explanation_print *print)
{
	const char *shard = text_of(print, "shard");

	add_line(print, "  partition %" PRId64 "%s%s, as of revision %s",
	         number_of(print, "partition"), *shard == 0 ? "" : ", of shard ", shard,
	         text_of(print, "revision"));
	if (*text_of(print, "gang") != 0)
		add_line(print,
		         "  it is of the gang %s, which is placed as a whole: here it is "
		         "decided alone",
		         text_of(print, "gang"));
}

static void add_queue(struct explanation_print *print)
{
	struct pl_json queue = pl_json_member(print->status, "queue");
	struct pl_json estimate = pl_json_member(print->status, "estimate");

	if (field_is_set(queue, "sort"))
		add_line(print,
		         "  of the pods that wait %" PRId64
		         " go before it by %s, %" PRId64 " are as important, %" PRId64
		         " of these older",
		         field_int(queue, "before", 0),
		         field_text_or(queue, "sort", "priority"),
		         field_int(queue, "alike", 0), field_int(queue, "older", 0));
	if (field_is_set(estimate, "time"))
		add_line(print, "  it may be placed at %s: %s",
		         field_text_or(estimate, "time", ""),
		         field_text_or(estimate, "message", ""));
}

static void add_reasons(struct explanation_print *print, struct pl_json reasons,
                        const char *indent)
{
	unsigned shown = 0;

	PL_JSON_EACH (reason, reasons) {
		int64_t nodes = field_int(reason, "nodes", 0);
		int64_t only = field_int(reason, "only", 0);

		if (++shown > SHOWN_MAX)
			return;
		add_line(print, "%s%" PRId64 " node%s: %s (%s, %s)%s", indent, nodes,
		         nodes == 1 ? "" : "s", field_text_or(reason, "message", ""),
		         field_text_or(reason, "plugin", ""),
		         field_text_or(reason, "code", ""),
		         only == nodes && nodes > 0 ? ", for no other reason" : "");
	}
}

static void add_nodes(struct explanation_print *print)
{
	unsigned shown = 0;

	add_line(print, "%s", "");
	add_line(print, "%" PRId64 " of %" PRId64 " nodes would do",
	         number_of(print, "feasible"), number_of(print, "nodes"));
	add_reasons(print, pl_json_member(print->status, "reasons"), "  ");
	PL_JSON_EACH (cluster, pl_json_member(print->status, "clusters")) {
		if (++shown > SHOWN_MAX)
			break;
		add_line(print, "  cluster %s: %" PRId64 " of %" PRId64 " nodes",
		         field_text_or(cluster, "cluster", "(others)"),
		         field_int(cluster, "feasible", 0),
		         field_int(cluster, "nodes", 0));
		add_reasons(print, pl_json_member(cluster, "reasons"), "    ");
	}
}

static void add_nearest(struct explanation_print *print)
{
	unsigned shown = 0;

	PL_JSON_EACH (near, pl_json_member(print->status, "nearest")) {
		if (++shown > SHOWN_MAX)
			break;
		add_line(print, "  nearest: %s/%s", field_text_or(near, "cluster", ""),
		         field_text_or(near, "node", ""));
		PL_JSON_EACH (reason, pl_json_member(near, "reasons")) {
			const char *text = "";

			if (pl_json_as_string(reason, &text, NULL) == PL_OK)
				add_line(print, "    %s", text);
		}
	}
	PL_JSON_EACH (help, pl_json_member(print->status, "help")) {
		const char *text = "";

		if (pl_json_as_string(help, &text, NULL) == PL_OK)
			add_line(print, "  would help: %s", text);
	}
}

enum pl_code explanation_text(struct pl_json explanation, int64_t now_ms,
                              struct pl_buf *out)
{
	struct explanation_print print = {.status = pl_json_member(explanation, "status"),
	                                  .out = out};

	add_state(&print, explanation, now_ms);
	add_place(&print);
	add_queue(&print);
	if (field_is_set(print.status, "nodes")) {
		add_nodes(&print);
		add_nearest(&print);
	}
	return print.code;
}

/* -- the command -------------------------------------------------------------------------- */

static enum pl_code print_json(struct pl_json value, struct pl_buf *out,
                               struct pl_err *err)
{
	struct pl_json_out json;
	struct pl_buf text;
	enum pl_code code;

	pl_buf_init(&text, OUT_MAX);
	pl_json_out_init(&json, &text);
	pl_json_out_value(&json, value);
	code = pl_json_out_done(&json);
	if (code == PL_OK)
		code = output_document(OUTPUT_JSON, pl_buf_span(&text), out, err);
	pl_buf_done(&text);
	return code;
}

static enum pl_code print_explanation(struct pl_json explanation, bool json,
                                      struct pl_err *err)
{
	struct pl_buf out;
	enum pl_code code;

	pl_buf_init(&out, OUT_MAX);
	code = json ? print_json(explanation, &out, err)
	            : explanation_text(explanation, pl_clock_wall_ms(), &out);
	if (code != PL_OK && err->code == PL_OK)
		(void)pl_err_set(err, code, "print the explanation");
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	return code;
}

enum pl_code explain_api(struct api_session *api, struct pl_span namespace,
                         struct pl_span name, bool json, struct explanation_verdict *out,
                         struct pl_err *err)
{
	char path[API_PATH_MAX];
	struct pl_json explanation;
	struct pl_arena arena;
	enum pl_code code = api_path(path, "/apis/placet.io/v1", namespace,
	                             "explanations", name, err);

	if (code != PL_OK)
		return code;
	pl_arena_init(&arena, 1 << 16, 0);
	code = api_session_get(api, path, &arena, &explanation, err);
	if (code == PL_OK) {
		out->has_place = api_text(explanation, "status.node").len > 0;
		out->nowhere = field_is_set(explanation, "status.nodes") &&
		               field_int(explanation, "status.feasible", 0) == 0;
		code = print_explanation(explanation, json, err);
	}
	pl_arena_done(&arena);
	return code;
}
