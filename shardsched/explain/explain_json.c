#include "shardsched/explain/explain.h"
#include "shardsched/explain/reason_text.h"
#include "store/base/json_put.h"

enum { NAME_MAX_BYTES = 1 << 12 };

static void put_text(const struct explain *explain, struct pl_json_out *out,
                     const char *name, uint32_t id)
{
	pl_json_out_name(out, name);
	pl_json_out_string(out, model_text(explain->model, id));
}

static void put_node(const struct explain *explain, struct pl_json_out *out,
                     uint32_t slot)
{
	const struct node_row *row = &explain->snapshot->row[slot];

	if (row->cluster != 0)
		put_text(explain, out, "cluster", row->cluster);
	put_text(explain, out, "node", row->node.name);
}

static void put_plugin(const struct explain *explain, struct pl_json_out *out,
                       unsigned plugin)
{
	pl_json_put_str(out, "plugin", explain->profile->table->row[plugin]->name);
}

/* A piece of text that is printed first. */
static void put_printed(struct pl_json_out *out, const char *name, struct pl_buf *buf,
                        enum pl_code code)
{
	pl_json_out_name(out, name);
	pl_json_out_string(out, code == PL_OK ? pl_buf_span(buf) : PL_SPAN_LIT(""));
	pl_buf_done(buf);
	if (code != PL_OK && out->code == PL_OK)
		out->code = code;
}

static void put_amount(struct pl_json_out *out, const char *name,
                       const struct reason *reason, int64_t amount)
{
	struct pl_buf buf;

	pl_buf_init(&buf, NAME_MAX_BYTES);
	put_printed(out, name, &buf, reason_amount(reason, amount, &buf));
}

static void put_reason(const struct explain *explain, struct pl_json_out *out,
                       const struct reason *reason)
{
	struct pl_buf buf;

	pl_json_put_str(out, "reason", reason_word((enum reason_code)reason->code));
	pl_buf_init(&buf, NAME_MAX_BYTES);
	put_printed(out, "message", &buf,
	            reason_print(&explain->model->strings, reason, &buf));
	pl_buf_init(&buf, NAME_MAX_BYTES);
	if (reason->subject != 0)
		put_printed(out, "subject", &buf,
		            reason_print_subject(&explain->model->strings, reason, &buf));
	if (reason->value != 0 && !reason_is_of_own(reason))
		put_text(explain, out, "value", reason->value);
	if (reason->code == REASON_TAINT)
		pl_json_put_str(out, "effect",
		                taint_effect_word((enum taint_effect)reason->detail));
	if (reason_is_amount(reason))
		put_amount(out, "lacks", reason, reason->lacks);
}

/* -- parts --------------------------------------------------------------------------- */

static void put_filters(const struct explain *explain, struct pl_json_out *out)
{
	pl_json_out_name(out, "filters");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < explain->filters; i++) {
		const struct explain_filter *filter = &explain->filter[i];

		pl_json_out_object(out);
		put_plugin(explain, out, filter->plugin);
		if (filter->skipped) {
			pl_json_out_name(out, "skipped");
			pl_json_out_bool(out, true);
		} else {
			pl_json_put_int(out, "refused", filter->alone);
			pl_json_put_int(out, "refusedFirst", filter->first);
		}
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static void put_reasons(const struct explain *explain, struct pl_json_out *out)
{
	pl_json_out_name(out, "reasons");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < explain->reasons; i++) {
		const struct explain_reason *row = &explain->reason[i];

		pl_json_out_object(out);
		if (row->plugin < explain->profile->table->count)
			put_plugin(explain, out, row->plugin);
		pl_json_put_str(out, "code", verdict_word(row->code));
		put_reason(explain, out, &row->reason);
		if (reason_is_amount(&row->reason))
			put_amount(out, "lacksMost", &row->reason, row->lacks_most);
		pl_json_put_int(out, "nodes", row->nodes);
		pl_json_put_int(out, "only", row->only);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
	if (explain->unlisted > 0)
		pl_json_put_int(out, "unlistedReasons", explain->unlisted);
}

static void put_cluster(const struct explain *explain,
                        const struct explain_cluster *cluster, struct pl_json_out *out)
{
	pl_json_out_object(out);
	if (cluster->cluster != 0)
		put_text(explain, out, "cluster", cluster->cluster);
	if (cluster->others) {
		pl_json_out_name(out, "others");
		pl_json_out_bool(out, true);
	}
	pl_json_put_int(out, "nodes", cluster->nodes);
	pl_json_put_int(out, "feasible", cluster->feasible);
	pl_json_out_name(out, "filters");
	pl_json_out_object(out);
	for (uint32_t i = 0; i < explain->filters; i++)
		if (cluster->alone[i] > 0)
			pl_json_put_int(
				out,
				explain->profile->table->row[explain->filter[i].plugin]
					->name,
				cluster->alone[i]);
	pl_json_out_end(out);
	pl_json_out_name(out, "reasons");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < explain->reasons; i++) {
		const struct explain_reason *row = &explain->reason[i];

		if (cluster->reasons[row->row] == 0)
			continue;
		pl_json_out_object(out);
		put_reason(explain, out, &row->reason);
		pl_json_put_int(out, "nodes", cluster->reasons[row->row]);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
	pl_json_out_end(out);
}

/* Left out where nodes have no clusters. */
static void put_clusters(const struct explain *explain, struct pl_json_out *out)
{
	if (explain->clusters == 0 ||
	    (explain->clusters == 1 && explain->cluster[0].cluster == 0))
		return;
	pl_json_out_name(out, "clusters");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < explain->clusters; i++)
		put_cluster(explain, &explain->cluster[i], out);
	pl_json_out_end(out);
}

static void put_near(const struct explain *explain, struct pl_json_out *out)
{
	pl_json_out_name(out, "nearest");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < explain->nears; i++) {
		const struct explain_near *near = &explain->near[i];

		pl_json_out_object(out);
		put_node(explain, out, near->slot);
		pl_json_out_name(out, "reasons");
		pl_json_out_array(out);
		for (uint32_t j = 0; j < near->count; j++) {
			pl_json_out_object(out);
			put_plugin(explain, out, near->reason[j].plugin);
			put_reason(explain, out, &near->reason[j].reason);
			pl_json_out_end(out);
		}
		pl_json_out_end(out);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static void put_share(const struct explain *explain, struct pl_json_out *out,
                      const struct explain_score *share)
{
	pl_json_out_object(out);
	put_plugin(explain, out, share->plugin);
	pl_json_put_int(out, "score", share->score);
	pl_json_put_int(out, "weight", share->weight);
	pl_json_out_end(out);
}

static void put_scores(const struct explain *explain, struct pl_json_out *out)
{
	pl_json_out_name(out, "scores");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < explain->bests; i++) {
		const struct explain_best *best = &explain->best[i];

		pl_json_out_object(out);
		put_node(explain, out, best->slot);
		pl_json_put_int(out, "total", best->total);
		pl_json_out_name(out, "shares");
		pl_json_out_array(out);
		for (uint32_t j = 0; j < best->count; j++)
			put_share(explain, out, &best->share[j]);
		pl_json_out_end(out);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

/* -- preemption ---------------------------------------------------------------------- */

static bool reader_sees(const struct explain *explain,
                        const struct explain_reader *reader, uint32_t namespace)
{
	return reader == NULL ||
	       reader->sees(reader->ctx, model_text(explain->model, namespace));
}

/* A victim that the reader may not see is counted, and not named. */
static void put_victims(const struct explain *explain,
                        const struct explain_reader *reader, struct pl_json_out *out,
                        const uint32_t *victim, uint32_t count)
{
	pl_json_out_name(out, "victims");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < count; i++) {
		const struct placed_pod *placed = &explain->snapshot->placed[victim[i]];
		uint32_t namespace = placed->view->spec->namespace;

		pl_json_out_object(out);
		if (reader_sees(explain, reader, namespace)) {
			put_text(explain, out, "namespace", namespace);
			put_text(explain, out, "name", placed->name);
			pl_json_put_int(out, "priority", placed->view->spec->priority);
		} else {
			pl_json_out_name(out, "hidden");
			pl_json_out_bool(out, true);
		}
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static void put_preemption(const struct explain *explain,
                           const struct explain_reader *reader, struct pl_json_out *out)
{
	const struct preempt_outcome *preempt = &explain->decision->preempt;

	pl_json_out_name(out, "preemption");
	pl_json_out_object(out);
	pl_json_put_str(out, "code", verdict_word(preempt->code));
	pl_json_put_int(out, "tried", preempt->tried);
	if (preempt->code == VERDICT_SUCCESS) {
		put_node(explain, out, preempt->node);
		pl_json_put_int(out, "budgetViolations", preempt->violations);
		put_victims(explain, reader, out, preempt->victim, preempt->victims);
	}
	pl_json_out_name(out, "candidates");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < preempt->candidates; i++) {
		const struct preempt_candidate *each = &preempt->candidate[i];

		pl_json_out_object(out);
		put_node(explain, out, each->node);
		pl_json_put_int(out, "budgetViolations", each->violations);
		put_victims(explain, reader, out, &preempt->all_victims[each->first],
		            each->count);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
	pl_json_out_end(out);
}

static const char *verdict_of(const struct engine_decision *decision)
{
	if (decision->gated)
		return "gated";
	switch (decision->outcome.result) {
	case CYCLE_NODE:
		return "placed";
	case CYCLE_NONE:
		return "unschedulable";
	case CYCLE_ERROR:
		return "error";
	}
	PL_UNREACHABLE("a result of cycles");
}

static void put_pod(const struct explain *explain, struct pl_json_out *out)
{
	pl_json_out_name(out, "pod");
	pl_json_out_object(out);
	put_text(explain, out, "namespace", explain->pod->spec->namespace);
	put_text(explain, out, "name", explain->pod->name);
	pl_json_put_int(out, "priority", explain->pod->spec->priority);
	pl_json_out_end(out);
}

static void put_gates(const struct explain *explain, struct pl_json_out *out)
{
	const struct verdict *gate = &explain->decision->gate;

	pl_json_out_name(out, "gates");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < gate->count; i++) {
		pl_json_out_object(out);
		put_reason(explain, out, &gate->reason[i]);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static void put_warning(struct pl_json_out *out, const char *rule, const char *message)
{
	pl_json_out_object(out);
	pl_json_put_str(out, "rule", rule);
	pl_json_put_str(out, "message", message);
	pl_json_out_end(out);
}

/* Left out where there is nothing to warn of. */
static void put_warnings(const struct explain *explain, struct pl_json_out *out)
{
	if (explain->warnings == 0)
		return;
	pl_json_out_name(out, "warnings");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < explain->warnings; i++) {
		const struct explain_warning *warning = &explain->warning[i];
		char line[SPEC_RULE_TEXT_SIZE];

		if (warning->rule.impossible) {
			spec_rule_impossible_text(&warning->rule, line);
			put_warning(out, warning->rule.path, line);
		}
		if (warning->no_node) {
			spec_rule_topology_text(
				warning->rule.path,
				model_text(explain->model, warning->rule.topology_key),
				line);
			put_warning(out, warning->rule.path, line);
		}
	}
	pl_json_out_end(out);
}

void explain_json_for(const struct explain *explain, const struct explain_reader *reader,
                      struct pl_json_out *out)
{
	const struct engine_decision *decision = explain->decision;

	pl_json_out_object(out);
	pl_json_put_str(out, "kind", "Explanation");
	pl_json_put_int(out, "v", 1);
	put_pod(explain, out);
	pl_json_put_str(out, "verdict", verdict_of(decision));
	put_warnings(explain, out);
	if (decision->gated) {
		put_gates(explain, out);
		pl_json_out_end(out);
		return;
	}
	if (decision->outcome.result == CYCLE_NODE)
		put_node(explain, out, decision->outcome.node);
	pl_json_put_int(out, "nodes", explain->nodes);
	pl_json_put_int(out, "examined", explain->examined);
	pl_json_put_int(out, "feasible", explain->feasible);
	put_filters(explain, out);
	put_reasons(explain, out);
	put_clusters(explain, out);
	put_near(explain, out);
	put_scores(explain, out);
	if (decision->tried_preemption)
		put_preemption(explain, reader, out);
	pl_json_out_end(out);
}

void explain_json(const struct explain *explain, struct pl_json_out *out)
{
	explain_json_for(explain, NULL, out);
}
