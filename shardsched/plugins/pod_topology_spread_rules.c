#include <stdlib.h>

#include "shardsched/plugins/pod_topology_spread.h"
#include "store/base/alloc.h"

/* -- a rule ------------------------------------------------------------------------------ */

static void rule_close(struct snapshot *snapshot, struct spread_rule *rule)
{
	if (rule->tally != NULL)
		tally_close(snapshot, rule->tally);
	if (rule->matcher != NULL)
		matcher_close(snapshot, rule->matcher);
	label_column_close(snapshot, rule->column);
	*rule = (struct spread_rule){0};
}

static enum pl_code rule_open(struct snapshot *snapshot, const struct spec *spec,
                              struct spread_rule *rule, struct pl_err *err)
{
	const struct selector *selector = rule->constraint.selector;
	enum pl_code code = label_column_open_domains(
		snapshot, rule->constraint.topology_key, &rule->column, err);

	rule->self = selector_matches(&snapshot->model->strings, selector, spec->labels);
	if (code == PL_OK && !selector_is_everything(selector))
		code = matcher_open_spread(snapshot, spec->namespace, selector,
		                           &rule->matcher, err);
	if (code == PL_OK && rule->matcher != NULL &&
	    (rule->constraint.hard || !rule->hostname))
		code = tally_open(snapshot, rule->matcher, rule->constraint.topology_key,
		                  &rule->tally, err);
	if (code != PL_OK)
		rule_close(snapshot, rule);
	return code;
}

/* -- the rules of a class ---------------------------------------------------------------- */

static void rules_close(struct snapshot *snapshot, struct spread_rules *rules)
{
	for (uint32_t i = 0; i < rules->count; i++)
		rule_close(snapshot, &rules->at[i]);
	free(rules->at);
	*rules = (struct spread_rules){0};
}

/* The hard or the soft rules of a list. */
struct rules_source {
	const struct spec_spread *list;
	uint32_t count;
	const struct selector *selector; /* replaces their own; NULL: it does not */
	uint32_t hostname;
	bool hard;
};

static enum pl_code rules_open(struct snapshot *snapshot, const struct spec *spec,
                               const struct rules_source *source,
                               struct spread_rules *out, struct pl_err *err)
{
	struct spread_rules made = {.at = pl_calloc(source->count + 1U, sizeof *made.at)};

	if (made.at == NULL)
		return pl_err_set(err, PL_NOMEM, "spread constraints: out of memory");
	for (uint32_t i = 0; i < source->count; i++) {
		struct spread_rule *rule = &made.at[made.count];
		enum pl_code code;

		if ((source->list[i].hard != 0) != source->hard)
			continue;
		*rule = (struct spread_rule){.constraint = source->list[i],
		                             .index = i,
		                             .hostname = source->list[i].topology_key ==
		                                         source->hostname};
		if (source->selector != NULL)
			rule->constraint.selector = source->selector;
		code = rule_open(snapshot, spec, rule, err);
		if (code != PL_OK) {
			rules_close(snapshot, &made);
			return code;
		}
		made.count++;
	}
	*out = made;
	return PL_OK;
}

static enum pl_code open_both(struct snapshot *snapshot, const struct plugin_call *call,
                              struct rules_source source, struct pl_err *err)
{
	struct spread_class *class_state = call->class_state;
	enum pl_code code;

	source.hard = true;
	code = rules_open(snapshot, call->spec, &source, &class_state->hard, err);
	if (code != PL_OK)
		return code;
	source.hard = false;
	code = rules_open(snapshot, call->spec, &source, &class_state->soft, err);
	if (code != PL_OK)
		rules_close(snapshot, &class_state->hard);
	return code;
}

static void drop_defaults(const struct plugin_call *call)
{
	struct spread_class *class_state = call->class_state;

	rules_close(class_state->snapshot, &class_state->hard);
	rules_close(class_state->snapshot, &class_state->soft);
	model_unref(class_state->snapshot->model, MODEL_SELECTORS, class_state->selector);
	class_state->selector = NULL;
	class_state->made = false;
}

/* The rules of the configuration, with a selector that follows from the workloads. */
static enum pl_code make_defaults(const struct plugin_call *call, struct pl_err *err)
{
	const struct spread_args *args = call->args;
	struct spread_class *class_state = call->class_state;
	struct rules_source source = {args->rule, args->count, NULL, args->hostname,
	                              false};
	const struct selector *selector = NULL;
	uint64_t epoch = class_state->snapshot->catalog.epoch[CATALOG_WORKLOAD];
	enum pl_code code = spread_default_selector(class_state->snapshot, call->spec,
	                                            &selector, err);

	if (code != PL_OK)
		return code;
	if (class_state->made && selector == class_state->selector) {
		model_unref(class_state->snapshot->model, MODEL_SELECTORS, selector);
		class_state->workloads = epoch;
		return PL_OK;
	}
	drop_defaults(call);
	class_state->selector = selector;
	source.selector = selector;
	if (selector != NULL && !selector_is_everything(selector))
		code = open_both(class_state->snapshot, call, source, err);
	if (code != PL_OK) {
		drop_defaults(call);
		return code;
	}
	class_state->made = true;
	class_state->workloads = epoch;
	class_state->nodes = 0;
	return PL_OK;
}

static void count_labelled(const struct snapshot *snapshot, struct spread_rules *rules)
{
	rules->covered = true;
	for (uint32_t i = 0; i < rules->count; i++) {
		struct spread_rule *rule = &rules->at[i];
		const struct label_column *column = rule->column;

		rule->labelled = 0;
		for (uint32_t j = 1; j < column->domains_end; j++)
			rule->labelled += column->domain[j].nodes;
		rules->covered = rules->covered && rule->labelled == snapshot->nodes;
	}
}

enum pl_code spread_refresh(const struct plugin_call *call, struct pl_err *err)
{
	const struct snapshot *snapshot = call->snapshot;
	struct spread_class *class_state = call->class_state;
	enum pl_code code = PL_OK;

	if (class_state->by_default &&
	    (!class_state->made ||
	     class_state->workloads != snapshot->catalog.epoch[CATALOG_WORKLOAD]))
		code = make_defaults(call, err);
	/* One more, so that 0 means never. */
	if (code == PL_OK && class_state->nodes != snapshot->nodes_epoch + 1) {
		count_labelled(snapshot, &class_state->hard);
		count_labelled(snapshot, &class_state->soft);
		class_state->nodes = snapshot->nodes_epoch + 1;
	}
	return code;
}

enum pl_code spread_open(struct snapshot *snapshot, const struct plugin_call *call,
                         struct pl_err *err)
{
	const struct spread_args *args = call->args;
	const struct spec *spec = call->spec;
	struct spread_class *class_state = call->class_state;
	struct rules_source source = {spec_spreads(spec), spec->template->spreads.count,
	                              NULL, args->hostname, false};
	enum pl_code code =
		node_match_open(snapshot, spec->template->node_selector,
	                        spec->template->required, &class_state->match, err);

	class_state->snapshot = snapshot;
	class_state->by_default = spec->template->spreads.count == 0 && args->count > 0;
	class_state->all_keys = !class_state->by_default || !args->system;
	if (code == PL_OK)
		code = class_state->by_default ? make_defaults(call, err)
		                               : open_both(snapshot, call, source, err);
	if (code != PL_OK)
		node_match_close(snapshot, &class_state->match);
	return code;
}

void spread_close(struct snapshot *snapshot, const struct plugin_call *call)
{
	struct spread_class *class_state = call->class_state;

	drop_defaults(call);
	node_match_close(snapshot, &class_state->match);
}
