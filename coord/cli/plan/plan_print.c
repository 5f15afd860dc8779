#include "coord/cli/plan/plan_print.h"

#include <inttypes.h>

#include "coord/cli/output/message.h"

enum {
	JSON_MAX = 1 << 30,
	TEXT_MAX = 1 << 28,
	PART = 256,        /* rows at a time */
	REASONS_SHOWN = 4, /* of a pod; all are in the JSON */
	ARENA_CHUNK = 1 << 16,
};

enum plan_column { NAMESPACE, NAME, VERDICT, NODE, FROM, REASON, COLUMN_COUNT };

static const struct output_column columns[] = {
	[NAMESPACE] = {"NAMESPACE", "namespace", OUTPUT_ALWAYS},
	[NAME] = {"NAME", "name", OUTPUT_ALWAYS},
	[VERDICT] = {"VERDICT", "verdict", OUTPUT_ALWAYS},
	[NODE] = {"NODE", "node", OUTPUT_ALWAYS},
	[FROM] = {"FROM", "from", OUTPUT_IF_USED},
	[REASON] = {"REASON", "reason", OUTPUT_IF_USED},
};

static const struct output_schema schema = {"PlannedPod", columns, COLUMN_COUNT, 2};

/* Rows are printed in parts, and the first part decides which columns there are: the
 * first pod without a node may come later. */
static const struct output_column columns_with_reasons[] = {
	[NAMESPACE] = {"NAMESPACE", "namespace", OUTPUT_ALWAYS},
	[NAME] = {"NAME", "name", OUTPUT_ALWAYS},
	[VERDICT] = {"VERDICT", "verdict", OUTPUT_ALWAYS},
	[NODE] = {"NODE", "node", OUTPUT_ALWAYS},
	[FROM] = {"FROM", "from", OUTPUT_IF_USED},
	[REASON] = {"REASON", "reason", OUTPUT_ALWAYS},
};

static const struct output_schema schema_with_reasons = {
	"PlannedPod", columns_with_reasons, COLUMN_COUNT, 2};

/* -- rows --------------------------------------------------------------------- */

static enum pl_code add_reason(struct pl_buf *text, const struct plan_reason *reason)
{
	struct pl_span what =
		reason->message.len > 0 ? reason->message : pl_span_str(reason->plugin);
	const char *sep = text->len > 0 ? "; " : "";

	if (reason->nodes == 0)
		return pl_buf_printf(text, "%s" PL_SPAN_FMT, sep, PL_SPAN_ARG(what));
	return pl_buf_printf(text, "%s%" PRIu32 " node%s: " PL_SPAN_FMT, sep,
	                     reason->nodes, reason->nodes == 1 ? "" : "s",
	                     PL_SPAN_ARG(what));
}

static enum pl_code add_preemption(struct pl_buf *text, const struct plan_pod *pod)
{
	if (pod->preempts.node.len == 0)
		return PL_OK;
	return pl_buf_printf(
		text,
		"%s%" PRIu32 " pod%s would be evicted on " PL_SPAN_FMT "/" PL_SPAN_FMT,
		text->len > 0 ? "; " : "", pod->preempts.victims,
		pod->preempts.victims == 1 ? "" : "s", PL_SPAN_ARG(pod->preempts.cluster),
		PL_SPAN_ARG(pod->preempts.node));
}

static enum pl_code print_reasons(const struct plan_pod *pod, struct pl_buf *text)
{
	const struct plan_reasons *reasons = pod->reasons;
	enum pl_code code = pl_buf_add(text, pod->message);

	if (reasons != NULL && reasons->nodes == 0 && reasons->count == 0 &&
	    pod->message.len == 0)
		code = pl_buf_add_str(text, "there is no node");
	for (uint32_t i = 0;
	     reasons != NULL && i < reasons->count && i < REASONS_SHOWN && code == PL_OK;
	     i++)
		code = add_reason(text, &reasons->at[i]);
	return code == PL_OK ? add_preemption(text, pod) : code;
}

static enum pl_code make_row(const struct plan_pod *pod, struct pl_arena *arena,
                             struct output_row *row)
{
	struct pl_span reason;
	struct pl_buf text;
	char *node;
	enum pl_code code;

	*row = (struct output_row){0};
	output_text(row, NAMESPACE, pod->namespace);
	output_text(row, NAME, pod->name);
	output_text(row, VERDICT, pl_span_str(plan_verdict_word(pod->verdict)));
	output_text(row, FROM, pod->from);
	if (pod->node.len > 0) {
		node = pl_arena_printf(arena, PL_SPAN_FMT "/" PL_SPAN_FMT,
		                       PL_SPAN_ARG(pod->cluster), PL_SPAN_ARG(pod->node));
		if (node == NULL)
			return PL_NOMEM;
		output_text(row, NODE, pl_span_str(node));
	}
	pl_buf_init(&text, ARENA_CHUNK);
	code = print_reasons(pod, &text);
	reason = pl_arena_dup(arena, pl_buf_span(&text));
	pl_buf_done(&text);
	output_text(row, REASON, reason);
	return code == PL_OK && reason.at == NULL && reason.len > 0 ? PL_NOMEM : code;
}

/* -- what stands above them ----------------------------------------------------- */

static enum pl_code print_nodes(const struct plan *plan, struct pl_buf *out)
{
	enum pl_code code = PL_OK;

	if (plan->added > 0)
		code = pl_buf_printf(out, "  with %" PRIu32 " node%s added\n",
		                     plan->added, plan->added == 1 ? "" : "s");
	if (code == PL_OK && plan->without + plan->displaced > 0)
		code = pl_buf_printf(out,
		                     "  without %" PRIu64 " node%s, whose %" PRIu32
		                     " pod%s planned again\n",
		                     plan->without, plan->without == 1 ? "" : "s",
		                     plan->displaced,
		                     plan->displaced == 1 ? " is" : "s are");
	for (unsigned i = 0; i < STORE_FLAWS && code == PL_OK; i++) {
		const struct excluded_nodes *flaw = &plan->cluster->flaw[i];

		if (flaw->nodes > 0)
			code = pl_buf_printf(
				out, "  left out: %" PRIu64 " node%s, %s (%.*s)\n",
				flaw->nodes, flaw->nodes == 1 ? "" : "s",
				store_flaw_words((enum store_flaw)i),
				PL_SPAN_ARG(keys_span(&flaw->first)));
	}
	return code;
}

static enum pl_code print_summary(const struct plan *plan, struct pl_buf *out)
{
	uint32_t fit = plan->verdicts[PLAN_PLACED] + plan->verdicts[PLAN_PRESENT];
	enum pl_code code = pl_buf_printf(
		out,
		"%" PRIu32 " of %" PRIu32 " pod%s fit%s on %" PRIu32
		" node%s, as of revision %lld%s, by ",
		fit, plan->pods, plan->pods == 1 ? "" : "s", plan->pods == 1 ? "s" : "",
		plan->nodes, plan->nodes == 1 ? "" : "s", (long long)plan->revision,
		plan->cluster->compacted ? " (an earlier one was compacted on the way)"
					 : "");

	if (code == PL_OK && plan->config == 0)
		code = pl_buf_add_str(out, "the default profile");
	else if (code == PL_OK)
		code = pl_buf_printf(out, "version %llu of scheduler",
		                     (unsigned long long)plan->config);
	if (code == PL_OK && plan->config_err.code != PL_OK)
		code = pl_buf_printf(out, " (%s)", plan->config_err.msg);
	if (code == PL_OK)
		code = pl_buf_add_str(out, "\n");
	return code == PL_OK ? print_nodes(plan, out) : code;
}

/* -- all of it ------------------------------------------------------------------- */

static enum pl_code print_rows(const struct plan *plan, struct pl_buf *out,
                               struct pl_err *err)
{
	struct output_row row[PART];
	struct output output;
	struct pl_arena arena;
	enum pl_code code = PL_OK;

	output_init(&output, plan->fits ? &schema : &schema_with_reasons, OUTPUT_TABLE,
	            false);
	pl_arena_init(&arena, ARENA_CHUNK, 0);
	for (uint32_t at = 0; at < plan->pods && code == PL_OK; at += PART) {
		uint32_t left = plan->pods - at,
			 count = left < PART ? left : (uint32_t)PART;

		pl_arena_reset(&arena);
		for (uint32_t i = 0; i < count && code == PL_OK; i++)
			code = make_row(&plan->pod[at + i], &arena, &row[i]);
		if (code == PL_OK)
			code = output_part(&output, row, count, count == left, out, err);
	}
	pl_arena_done(&arena);
	return code;
}

static enum pl_code print_json(const struct plan *plan, struct pl_buf *to)
{
	struct pl_json_out out;
	enum pl_code code;

	pl_json_out_init(&out, to);
	plan_json(plan, &out);
	code = pl_json_out_done(&out);
	return code == PL_OK ? pl_buf_add_str(to, "\n") : code;
}

enum pl_code plan_print(const struct plan *plan, enum output_format format,
                        struct pl_err *err)
{
	struct pl_buf out;
	enum pl_code code;

	pl_buf_init(&out, format == OUTPUT_JSON ? JSON_MAX : TEXT_MAX);
	if (format == OUTPUT_JSON) {
		code = print_json(plan, &out);
	} else {
		code = print_summary(plan, &out);
		if (code == PL_OK)
			code = print_rows(plan, &out, err);
	}
	if (code != PL_OK && err->code == PL_OK)
		(void)pl_err_set(err, code, "print the plan");
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	return code;
}
