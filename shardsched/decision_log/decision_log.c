#include "shardsched/decision_log/decision_log.h"

#include <stdio.h>

#include "store/base/json_out.h"

static const char *const kind_names[] = {
#define KIND_NAME(kind, name, list) name,
	ENGINE_KIND_MAP(KIND_NAME)};

/* -- a line -------------------------------------------------------------------------- */

struct log_line {
	struct pl_json_out json;
	struct pl_buf *out;
	size_t from;
};

static void line_begin(struct log_line *line, struct pl_buf *out, const char *kind)
{
	line->out = out;
	line->from = out->len;
	pl_json_out_init(&line->json, out);
	pl_json_out_object(&line->json);
	pl_json_out_name(&line->json, "kind");
	pl_json_out_str(&line->json, kind);
}

static enum pl_code line_end(struct log_line *line)
{
	enum pl_code code;

	pl_json_out_end(&line->json);
	code = pl_json_out_done(&line->json);
	if (code == PL_OK)
		code = pl_buf_add_str(line->out, "\n");
	if (code != PL_OK)
		line->out->len = line->from;
	return code;
}

static void put_span(struct log_line *line, const char *name, struct pl_span text)
{
	pl_json_out_name(&line->json, name);
	pl_json_out_string(&line->json, text);
}

static void put_number(struct log_line *line, const char *name, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	put_span(line, name, pl_span_str(text));
}

static void put_int(struct log_line *line, const char *name, int64_t value)
{
	pl_json_out_name(&line->json, name);
	pl_json_out_int(&line->json, value);
}

enum pl_code decision_log_begin(struct pl_buf *out, uint64_t seed, struct pl_span config)
{
	struct log_line line;

	line_begin(&line, out, "Record");
	put_int(&line, "v", 1);
	put_number(&line, "seed", seed);
	if (config.len > 0) {
		pl_json_out_name(&line.json, "config");
		pl_json_out_raw(&line.json, config);
	}
	return line_end(&line);
}

enum pl_code decision_log_put(struct pl_buf *out, uint64_t revision,
                              enum engine_kind kind, struct pl_span cluster,
                              struct pl_span json)
{
	struct log_line line;

	line_begin(&line, out, "Put");
	put_number(&line, "revision", revision);
	put_span(&line, "object", pl_span_str(kind_names[kind]));
	put_span(&line, "cluster", cluster);
	pl_json_out_name(&line.json, "value");
	pl_json_out_raw(&line.json, json);
	return line_end(&line);
}

enum pl_code decision_log_drop(struct pl_buf *out, uint64_t revision,
                               enum engine_kind kind, struct pl_span namespace,
                               struct pl_span name)
{
	struct log_line line;

	line_begin(&line, out, "Drop");
	put_number(&line, "revision", revision);
	put_span(&line, "object", pl_span_str(kind_names[kind]));
	put_span(&line, "space", namespace);
	put_span(&line, "name", name);
	return line_end(&line);
}

/* -- decisions ----------------------------------------------------------------------- */

static void put_node(struct log_line *line, struct engine *engine, uint32_t slot)
{
	const struct node_row *row = &engine_snapshot(engine)->row[slot];

	if (row->cluster != 0)
		put_span(line, "cluster", model_text(engine_model(engine), row->cluster));
	put_span(line, "node", model_text(engine_model(engine), row->node.name));
}

static void put_runners(struct log_line *line, struct engine *engine,
                        const struct cycle_outcome *outcome)
{
	struct cycle *cycle = engine_cycle(engine);
	const int64_t *totals = cycle_totals(cycle);
	struct pl_bitset feasible = cycle_feasible(cycle);
	uint32_t best[DECISION_LOG_RUNNERS];
	uint32_t count = 0;

	if (totals == NULL) {
		line->json.code = line->json.code == PL_OK ? PL_NOMEM : line->json.code;
		return;
	}
	PL_BITSET_EACH (slot, feasible) {
		uint32_t at = count;

		if (slot == outcome->node)
			continue;
		while (at > 0 && totals[best[at - 1]] < totals[slot])
			at--;
		if (at == DECISION_LOG_RUNNERS)
			continue;
		count += count < DECISION_LOG_RUNNERS;
		for (uint32_t i = count - 1; i > at; i--)
			best[i] = best[i - 1];
		best[at] = (uint32_t)slot;
	}
	pl_json_out_name(&line->json, "runnersUp");
	pl_json_out_array(&line->json);
	for (uint32_t i = 0; i < count; i++) {
		pl_json_out_object(&line->json);
		put_node(line, engine, best[i]);
		put_int(line, "total", totals[best[i]]);
		pl_json_out_end(&line->json);
	}
	pl_json_out_end(&line->json);
}

static void put_refused(struct log_line *line, const struct engine_decision *decision)
{
	const struct plugin_table *table = decision->profile->table;
	const struct cycle_outcome *outcome = &decision->outcome;

	pl_json_out_name(&line->json, "refused");
	pl_json_out_object(&line->json);
	for (unsigned i = 0; i < table->count; i++)
		if (outcome->refused[i] > 0)
			put_int(line, table->row[i]->name, outcome->refused[i]);
	pl_json_out_end(&line->json);
}

static void put_reasons(struct log_line *line, struct engine *engine, const char *name,
                        const struct verdict *verdict)
{
	pl_json_out_name(&line->json, name);
	pl_json_out_array(&line->json);
	for (uint32_t i = 0; i < verdict->count; i++) {
		struct pl_buf text;
		enum pl_code code;

		pl_buf_init(&text, 1 << 16);
		code = reason_print(&engine_model(engine)->strings, &verdict->reason[i],
		                    &text);
		pl_json_out_string(&line->json, pl_buf_span(&text));
		pl_buf_done(&text);
		if (code != PL_OK && line->json.code == PL_OK)
			line->json.code = code;
	}
	pl_json_out_end(&line->json);
}

static void put_preemption(struct log_line *line, struct engine *engine,
                           const struct preempt_outcome *preempt)
{
	const struct snapshot *snapshot = engine_snapshot(engine);
	const struct model *model = engine_model(engine);

	pl_json_out_name(&line->json, "preemption");
	pl_json_out_object(&line->json);
	put_span(line, "code", pl_span_str(verdict_word(preempt->code)));
	if (preempt->code == VERDICT_SUCCESS) {
		put_node(line, engine, preempt->node);
		pl_json_out_name(&line->json, "victims");
		pl_json_out_array(&line->json);
		for (uint32_t i = 0; i < preempt->victims; i++) {
			const struct placed_pod *pod =
				&snapshot->placed[preempt->victim[i]];

			pl_json_out_object(&line->json);
			put_span(line, "namespace",
			         model_text(model, pod->view->spec->namespace));
			put_span(line, "name", model_text(model, pod->name));
			pl_json_out_end(&line->json);
		}
		pl_json_out_end(&line->json);
	}
	pl_json_out_end(&line->json);
}

static void put_outcome(struct log_line *line, struct engine *engine,
                        const struct engine_decision *decision)
{
	const struct cycle_outcome *outcome = &decision->outcome;

	switch (outcome->result) {
	case CYCLE_NODE:
		put_span(line, "verdict", PL_SPAN_LIT("placed"));
		put_node(line, engine, outcome->node);
		/* A node alone needs no score, and may have none. */
		if (outcome->feasible > 1)
			put_int(line, "total", outcome->total);
		break;
	case CYCLE_NONE:
		put_span(line, "verdict", PL_SPAN_LIT("unschedulable"));
		break;
	case CYCLE_ERROR:
		put_span(line, "verdict", PL_SPAN_LIT("error"));
		break;
	}
	put_int(line, "feasible", outcome->feasible);
	put_int(line, "best", outcome->best);
	if (outcome->result == CYCLE_NODE && outcome->feasible > 1)
		put_runners(line, engine, outcome);
	put_refused(line, decision);
	if (outcome->pre.count > 0)
		put_reasons(line, engine, "reasons", &outcome->pre);
	if (decision->tried_preemption)
		put_preemption(line, engine, &decision->preempt);
}

enum pl_code decision_log_decided(struct pl_buf *out, struct engine *engine,
                                  const struct logged_decision *decided)
{
	const struct engine_decision *decision = decided->decision;
	struct log_line line;

	line_begin(&line, out, "Decision");
	put_number(&line, "revision", decided->revision);
	pl_json_out_name(&line.json, "pod");
	pl_json_out_raw(&line.json, decided->json);
	put_number(&line, "draw", decision->draw);
	pl_json_out_name(&line.json, "assumed");
	pl_json_out_bool(&line.json, decided->assumed);
	if (decision->gated) {
		put_span(&line, "verdict", PL_SPAN_LIT("gated"));
		put_reasons(&line, engine, "reasons", &decision->gate);
	} else {
		put_outcome(&line, engine, decision);
	}
	return line_end(&line);
}
