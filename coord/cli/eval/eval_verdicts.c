/*
 * Members are written in the order of the cases, so that both can be compared as text,
 * too: nodes, plugins and reasons are sorted.
 */
#include <string.h>

#include "coord/cli/eval/eval_writer.h"

enum { GATES_MAX = 4096 };

static void put_verdict(struct verdict_writer *t, const struct verdict *verdict,
                        bool with_plugin)
{
	writer_put_text(t, "code", verdict_word(verdict->code));
	if (verdict->code == VERDICT_SUCCESS)
		return;
	if (with_plugin && verdict->plugin >= 0)
		writer_put_text(t, "plugin", writer_plugin(t, (unsigned)verdict->plugin));
	writer_put_reasons(t, verdict);
}

/* -- filters ----------------------------------------------------------------------- */

static void put_filter(struct verdict_writer *t)
{
	struct pl_bitset examined = cycle_examined(t->cycle);

	writer_begin(t, "filter");
	for (uint32_t i = 0; i < t->nodes; i++) {
		uint32_t slot = t->slot[i];
		struct verdict verdict;

		verdict_clear(&verdict);
		cycle_why(t->cycle, slot, &verdict);
		pl_json_out_name_span(&t->out, writer_node(t, slot));
		pl_json_out_object(&t->out);
		writer_put_text(t, "code", verdict_word(verdict.code));
		if (!pl_bitset_has(examined, slot)) {
			pl_json_out_name(&t->out, "examined");
			pl_json_out_bool(&t->out, false);
		}
		if (verdict.code != VERDICT_SUCCESS) {
			if (verdict.plugin >= 0)
				writer_put_text(
					t, "plugin",
					writer_plugin(t, (unsigned)verdict.plugin));
			writer_put_reasons(t, &verdict);
		}
		writer_end(t);
	}
	writer_end(t);
}

static bool runs_at_point(const struct verdict_writer *t, unsigned plugin,
                          enum point point)
{
	const struct profile_point *at = &t->profile->at[point];

	for (unsigned i = 0; i < at->count; i++)
		if (at->plugin[i] == plugin)
			return true;
	return false;
}

static void put_refusals(struct verdict_writer *t, unsigned plugin)
{
	bool some = false;

	for (uint32_t i = 0; i < t->nodes; i++) {
		struct verdict verdict;

		verdict_clear(&verdict);
		cycle_why_plugin(t->cycle, plugin, t->slot[i], &verdict);
		if (verdict.code == VERDICT_SUCCESS)
			continue;
		if (!some)
			writer_begin(t, writer_plugin(t, plugin));
		some = true;
		pl_json_out_name_span(&t->out, writer_node(t, t->slot[i]));
		pl_json_out_object(&t->out);
		put_verdict(t, &verdict, false);
		writer_end(t);
	}
	if (some)
		writer_end(t);
}

static void put_all_filters(struct verdict_writer *t)
{
	writer_begin(t, "allFilter");
	for (unsigned i = 0; i < t->plugins; i++)
		if (runs_at_point(t, t->plugin[i], POINT_FILTER) &&
		    !cycle_skipped(t->cycle, t->plugin[i], POINT_FILTER))
			put_refusals(t, t->plugin[i]);
	writer_end(t);
}

static void put_pre_filter(struct verdict_writer *t)
{
	const struct cycle_outcome *outcome = &t->decision->outcome;

	writer_begin(t, "preFilter");
	put_verdict(t, &outcome->pre, true);
	if (outcome->pre.code == VERDICT_SUCCESS) {
		struct pl_bitset examined = cycle_examined(t->cycle);

		if (outcome->narrowed) {
			pl_json_out_name(&t->out, "nodeNames");
			pl_json_out_array(&t->out);
			for (uint32_t i = 0; i < t->nodes; i++)
				if (pl_bitset_has(examined, t->slot[i]))
					pl_json_out_string(&t->out,
					                   writer_node(t, t->slot[i]));
			writer_end(t);
		}
		pl_json_out_name(&t->out, "skipped");
		pl_json_out_array(&t->out);
		for (unsigned i = 0; i < t->plugins; i++)
			if (runs_at_point(t, t->plugin[i], POINT_PRE_FILTER) &&
			    cycle_skipped(t->cycle, t->plugin[i], POINT_FILTER))
				pl_json_out_str(&t->out, writer_plugin(t, t->plugin[i]));
		writer_end(t);
	}
	writer_end(t);
}

/* -- scores ------------------------------------------------------------------------ */

static bool is_feasible(const struct verdict_writer *t, uint32_t slot)
{
	return pl_bitset_has(cycle_feasible(t->cycle), slot);
}

static void put_column(struct verdict_writer *t, const char *name, const int64_t *score)
{
	writer_begin(t, name);
	for (uint32_t i = 0; i < t->nodes; i++)
		if (is_feasible(t, t->slot[i])) {
			pl_json_out_name_span(&t->out, writer_node(t, t->slot[i]));
			pl_json_out_int(&t->out, score[t->slot[i]]);
		}
	writer_end(t);
}

/* Kubernetes' scheduler asks these also when they have nothing to add. */
static bool is_always_asked(const struct verdict_writer *t, unsigned plugin)
{
	static const char *const always[] = {"ImageLocality", "NodeAffinity",
	                                     "VolumeBinding"};

	if ((t->profile->enabled >> plugin & 1) == 0)
		return false;
	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		if (strcmp(writer_plugin(t, plugin), always[i]) == 0)
			return true;
	return false;
}

/* NULL: it is not asked. */
static const int64_t *column_of(const struct verdict_writer *t, unsigned plugin)
{
	const int64_t *score = cycle_scores(t->cycle, plugin);

	return score == NULL && is_always_asked(t, plugin) ? t->zeros : score;
}

static void put_weight(struct verdict_writer *t, unsigned plugin)
{
	int32_t weight = t->profile->weight[plugin];

	pl_json_out_name(&t->out, writer_plugin(t, plugin));
	pl_json_out_int(&t->out, weight == 0 ? 1 : weight);
}

static void put_scores(struct verdict_writer *t)
{
	writer_begin(t, "scores");
	for (unsigned i = 0; i < t->plugins; i++)
		if (column_of(t, t->plugin[i]) != NULL)
			put_column(t, writer_plugin(t, t->plugin[i]),
			           column_of(t, t->plugin[i]));
	writer_end(t);
	put_column(t, "total", t->total);
	writer_begin(t, "weights");
	for (unsigned i = 0; i < t->plugins; i++)
		if (column_of(t, t->plugin[i]) != NULL)
			put_weight(t, t->plugin[i]);
	writer_end(t);
}

static void put_best(struct verdict_writer *t)
{
	const struct cycle_outcome *outcome = &t->decision->outcome;

	pl_json_out_name(&t->out, "best");
	pl_json_out_array(&t->out);
	for (uint32_t i = 0; t->total != NULL && i < t->nodes; i++)
		if (is_feasible(t, t->slot[i]) && t->total[t->slot[i]] == outcome->total)
			pl_json_out_string(&t->out, writer_node(t, t->slot[i]));
	writer_end(t);
}

/* -- all of it --------------------------------------------------------------------- */

/* Kubernetes names all gates in one sentence. */
static void put_gates(struct verdict_writer *t, const struct verdict *gate)
{
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, GATES_MAX);
	code = pl_buf_add_str(&buf, "waiting for scheduling gates: [");
	for (uint32_t i = 0; i < gate->count && code == PL_OK; i++) {
		struct pl_span name = writer_text(t, gate->reason[i].subject);

		code = pl_buf_printf(&buf, "%s%.*s", i > 0 ? " " : "", PL_SPAN_ARG(name));
	}
	if (code == PL_OK)
		code = pl_buf_add_str(&buf, "]");
	pl_json_out_name(&t->out, "reasons");
	pl_json_out_array(&t->out);
	pl_json_out_string(&t->out, pl_buf_span(&buf));
	writer_end(t);
	pl_buf_done(&buf);
	t->code = t->code == PL_OK ? code : t->code;
}

static void put_pre_enqueue(struct verdict_writer *t)
{
	const struct verdict *gate = &t->decision->gate;

	writer_begin(t, "preEnqueue");
	writer_put_text(t, "code", verdict_word(gate->code));
	writer_put_text(t, "plugin", writer_plugin(t, (unsigned)gate->plugin));
	if (gate->count > 0 && gate->reason[0].code == REASON_GATED)
		put_gates(t, gate);
	else
		writer_put_reasons(t, gate);
	writer_end(t);
}

static void put_cycle(struct verdict_writer *t)
{
	const struct cycle_outcome *outcome = &t->decision->outcome;
	bool filtered = outcome->pre.code == VERDICT_SUCCESS;

	if (outcome->result == CYCLE_NODE) {
		t->total = cycle_totals(t->cycle);
		t->code = t->total == NULL ? PL_NOMEM : t->code;
	}
	if (filtered)
		put_all_filters(t);
	put_best(t);
	if (outcome->result == CYCLE_ERROR) {
		pl_json_out_name(&t->out, "error");
		pl_json_out_bool(&t->out, true);
	}
	if (filtered)
		put_filter(t);
	if (t->decision->tried_preemption)
		writer_put_post_filter(t);
	put_pre_filter(t);
	if (t->total != NULL)
		put_scores(t);
}

enum pl_code eval_verdicts(struct engine *engine, struct pl_arena *arena,
                           const struct engine_decision *decision, struct pl_buf *out,
                           struct pl_err *err)
{
	struct verdict_writer t = {.engine = engine,
	                           .snapshot = engine_snapshot(engine),
	                           .cycle = engine_cycle(engine),
	                           .profile = decision->profile,
	                           .decision = decision,
	                           .arena = arena};

	if (writer_list_nodes(&t) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "print verdicts");
	writer_list_plugins(&t);
	pl_json_out_init(&t.out, out);
	pl_json_out_object(&t.out);
	if (decision->gated)
		put_pre_enqueue(&t);
	else
		put_cycle(&t);
	writer_end(&t);
	return writer_finish(&t, err);
}
