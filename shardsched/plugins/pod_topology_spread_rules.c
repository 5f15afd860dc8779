#include <stdlib.h>

#include "shardsched/plugins/pod_topology_spread.h"
#include "store/base/alloc.h"

/* -- one rule ------------------------------------------------------------------------ */

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
	const struct selector *selector = rule->says.selector;
	enum pl_code code = label_column_open_domains(snapshot, rule->says.topology_key,
	                                              &rule->column, err);

	rule->self = selector_matches(&snapshot->model->strings, selector, spec->labels);
	if (code == PL_OK && !selector_is_everything(selector))
		code = matcher_open_spread(snapshot, spec->namespace, selector,
		                           &rule->matcher, err);
	if (code == PL_OK && rule->matcher != NULL &&
	    (rule->says.hard || !rule->hostname))
		code = tally_open(snapshot, rule->matcher, rule->says.topology_key,
		                  &rule->tally, err);
	if (code != PL_OK)
		rule_close(snapshot, rule);
	return code;
}

/* -- all of a class -------------------------------------------------------------------
 */

static void rules_close(struct snapshot *snapshot, struct spread_rules *rules)
{
	for (uint32_t i = 0; i < rules->count; i++)
		rule_close(snapshot, &rules->at[i]);
	free(rules->at);
	*rules = (struct spread_rules){0};
}

/* Those of the list that are hard, or soft. */
struct wanted {
	const struct spec_spread *list;
	uint32_t count;
	const struct selector *selector; /* instead of their own */
	uint32_t hostname;
	bool hard;
};

static enum pl_code rules_open(struct snapshot *snapshot, const struct spec *spec,
                               const struct wanted *wanted, struct spread_rules *out,
                               struct pl_err *err)
{
	struct spread_rules made = {.at = pl_calloc(wanted->count + 1U, sizeof *made.at)};

	if (made.at == NULL)
		return pl_err_set(err, PL_NOMEM, "keep rules of spreading");
	for (uint32_t i = 0; i < wanted->count; i++) {
		struct spread_rule *rule = &made.at[made.count];
		enum pl_code code;

		if ((wanted->list[i].hard != 0) != wanted->hard)
			continue;
		*rule = (struct spread_rule){.says = wanted->list[i],
		                             .index = i,
		                             .hostname = wanted->list[i].topology_key ==
		                                         wanted->hostname};
		if (wanted->selector != NULL)
			rule->says.selector = wanted->selector;
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
                              struct wanted wanted, struct pl_err *err)
{
	struct spread_own *own = call->own;
	enum pl_code code;

	wanted.hard = true;
	code = rules_open(snapshot, call->spec, &wanted, &own->hard, err);
	if (code != PL_OK)
		return code;
	wanted.hard = false;
	code = rules_open(snapshot, call->spec, &wanted, &own->soft, err);
	if (code != PL_OK)
		rules_close(snapshot, &own->hard);
	return code;
}

static void drop_defaults(const struct plugin_call *call)
{
	struct spread_own *own = call->own;

	rules_close(own->snapshot, &own->hard);
	rules_close(own->snapshot, &own->soft);
	model_unref(own->snapshot->model, MODEL_SELECTORS, own->selector);
	own->selector = NULL;
	own->made = false;
}

/* The rules of the configuration, with a selector that follows from the workloads. */
static enum pl_code make_defaults(const struct plugin_call *call, struct pl_err *err)
{
	const struct spread_args *args = call->args;
	struct spread_own *own = call->own;
	struct wanted wanted = {args->rule, args->count, NULL, args->hostname, false};
	const struct selector *selector = NULL;
	uint64_t epoch = own->snapshot->catalog.epoch[CATALOG_WORKLOAD];
	enum pl_code code =
		spread_default_selector(own->snapshot, call->spec, &selector, err);

	if (code != PL_OK)
		return code;
	if (own->made && selector == own->selector) {
		model_unref(own->snapshot->model, MODEL_SELECTORS, selector);
		own->workloads = epoch;
		return PL_OK;
	}
	drop_defaults(call);
	own->selector = selector;
	wanted.selector = selector;
	if (selector != NULL && !selector_is_everything(selector))
		code = open_both(own->snapshot, call, wanted, err);
	if (code != PL_OK) {
		drop_defaults(call);
		return code;
	}
	own->made = true;
	own->workloads = epoch;
	own->nodes = 0;
	return PL_OK;
}

static void look_at_nodes(const struct snapshot *snapshot, struct spread_rules *rules)
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
	struct spread_own *own = call->own;
	enum pl_code code = PL_OK;

	if (own->by_default &&
	    (!own->made || own->workloads != snapshot->catalog.epoch[CATALOG_WORKLOAD]))
		code = make_defaults(call, err);
	/* One more, so that 0 means never. */
	if (code == PL_OK && own->nodes != snapshot->nodes_epoch + 1) {
		look_at_nodes(snapshot, &own->hard);
		look_at_nodes(snapshot, &own->soft);
		own->nodes = snapshot->nodes_epoch + 1;
	}
	return code;
}

enum pl_code spread_open(struct snapshot *snapshot, const struct plugin_call *call,
                         struct pl_err *err)
{
	const struct spread_args *args = call->args;
	const struct spec *spec = call->spec;
	struct spread_own *own = call->own;
	struct wanted wanted = {spec_spreads(spec), spec->form->spreads.count, NULL,
	                        args->hostname, false};
	enum pl_code code = node_match_open(snapshot, spec->form->node_selector,
	                                    spec->form->required, &own->match, err);

	own->snapshot = snapshot;
	own->by_default = spec->form->spreads.count == 0 && args->count > 0;
	own->all_keys = !own->by_default || !args->system;
	if (code == PL_OK)
		code = own->by_default ? make_defaults(call, err)
		                       : open_both(snapshot, call, wanted, err);
	if (code != PL_OK)
		node_match_close(snapshot, &own->match);
	return code;
}

void spread_close(struct snapshot *snapshot, const struct plugin_call *call)
{
	struct spread_own *own = call->own;

	drop_defaults(call);
	node_match_close(snapshot, &own->match);
}
