#include "shardsched/model/cluster_objects.h"

#include <stdlib.h>

#include "store/base/alloc.h"

/* The highest value that a user may give. */
enum { PRIORITY_MOST = 1000000000 };

enum pl_code namespace_parse(struct parse *parse, struct pl_span json,
                             struct namespace *out, struct pl_err *err)
{
	struct namespace made = {0};
	enum pl_code code;

	parse_begin(parse, json, err);
	(void)parse_checks(parse, VALIDATE_LABEL, false);
	if (parse_makes(parse)) {
		made.name = maker_text(&parse->maker, parse->meta.name);
		made.labels = labels_make(&parse->maker, parse->meta.labels);
		made.deleted = parse->meta.deleted_ms != 0;
	}
	code = parse_end(parse);
	if (code != PL_OK)
		namespace_drop(parse->model, &made);
	else
		*out = made;
	return code;
}

void namespace_drop(struct model *model, struct namespace *namespace)
{
	strings_unref(&model->strings, namespace->name);
	model_unref(model, MODEL_LABELS, namespace->labels);
	*namespace = (struct namespace){0};
}

static void check_priority(struct validate *v, const struct draft_meta *meta,
                           struct pl_span policy, int32_t value)
{
	static const char *const words[] = {"PreemptLowerPriority", "Never", NULL};
	bool system = pl_span_starts(meta->name, PL_SPAN_LIT("system-"));

	if (!system && value > PRIORITY_MOST)
		validate_add(v, "value", FIELD_FORBIDDEN, "want at most 1000000000");
	if (policy.len > 0)
		validate_word(v, "preemptionPolicy", policy, words);
}

enum pl_code priority_class_parse(struct parse *parse, struct pl_span json,
                                  struct priority_class *out, struct pl_err *err)
{
	struct priority_class made = {0};
	struct pl_span policy;
	enum pl_code code;

	parse_begin(parse, json, err);
	made.value = reader_int32(&parse->reader, parse->root, "value");
	made.is_default = reader_bool(&parse->reader, parse->root, "globalDefault");
	policy = reader_text(&parse->reader, parse->root, "preemptionPolicy");
	made.never = pl_span_eq(policy, PL_SPAN_LIT("Never"));
	if (parse_checks(parse, VALIDATE_SUBDOMAIN, false))
		check_priority(&parse->check, &parse->meta, policy, made.value);
	if (parse_makes(parse))
		made.name = maker_text(&parse->maker, parse->meta.name);
	code = parse_end(parse);
	if (code == PL_OK)
		*out = made;
	return code;
}

void priority_class_drop(struct model *model, struct priority_class *priority)
{
	strings_unref(&model->strings, priority->name);
	*priority = (struct priority_class){0};
}

static void read_disrupted(struct parse *parse, struct pl_json names, uint32_t count,
                           struct budget *out)
{
	if (count == 0 || parse->maker.code != PL_OK)
		return;
	out->disrupted = pl_calloc(count, sizeof *out->disrupted);
	if (out->disrupted == NULL) {
		parse->maker.code = PL_NOMEM;
		return;
	}
	PL_JSON_EACH (item, names)
		out->disrupted[out->disrupted_count++] =
			maker_text(&parse->maker, pl_span_str(pl_json_key(item)));
}

/* status.disruptedPods: names with times. */
static struct pl_json disrupted_of(struct parse *parse, struct pl_json status,
                                   uint32_t *count)
{
	struct pl_json names = reader_object(&parse->reader, status, "disruptedPods");
	size_t entries = names.node == NULL ? 0 : pl_json_count(names);

	if (entries > READER_ENTRIES_MAX)
		(void)reader_fail(&parse->reader, names, PL_LIMIT,
		                  "has too many entries");
	*count = (uint32_t)entries;
	return names;
}

enum pl_code budget_parse(struct parse *parse, struct pl_span json, struct budget *out,
                          struct pl_err *err)
{
	struct budget made = {0};
	struct draft_selector selector;
	struct draft_budget_rule rule;
	struct pl_json spec, status, names;
	uint32_t count = 0;
	enum pl_code code;

	parse_begin(parse, json, err);
	spec = reader_object(&parse->reader, parse->root, "spec");
	selector = reader_selector(&parse->reader, spec, "selector");
	rule = reader_budget_rule(&parse->reader, spec);
	made.rule = budget_rule_of(&rule);
	status = reader_object(&parse->reader, parse->root, "status");
	made.allowed = reader_int32(&parse->reader, status, "disruptionsAllowed");
	made.healthy = reader_int32(&parse->reader, status, "currentHealthy");
	made.desired = reader_int32(&parse->reader, status, "desiredHealthy");
	made.expected = reader_int32(&parse->reader, status, "expectedPods");
	names = disrupted_of(parse, status, &count);
	if (parse_checks(parse, VALIDATE_SUBDOMAIN, true)) {
		validate_selector(&parse->check, "spec.selector", &selector);
		validate_budget_rule(&parse->check, &rule);
	}
	if (parse_makes(parse)) {
		made.namespace = maker_text(&parse->maker, parse->meta.namespace);
		made.name = maker_text(&parse->maker, parse->meta.name);
		made.selector = selector_make(&parse->maker, selector);
		read_disrupted(parse, names, count, &made);
	}
	code = parse_end(parse);
	if (code != PL_OK)
		budget_drop(parse->model, &made);
	else
		*out = made;
	return code;
}

void budget_drop(struct model *model, struct budget *budget)
{
	for (uint32_t i = 0; i < budget->disrupted_count; i++)
		strings_unref(&model->strings, budget->disrupted[i]);
	strings_unref(&model->strings, budget->namespace);
	strings_unref(&model->strings, budget->name);
	model_unref(model, MODEL_SELECTORS, budget->selector);
	free(budget->disrupted);
	*budget = (struct budget){0};
}

bool budget_protects(const struct strings *strings, const struct budget *budget,
                     uint32_t pod, const struct labels *labels)
{
	if (selector_is_everything(budget->selector) ||
	    !selector_matches(strings, budget->selector, labels))
		return false;
	for (uint32_t i = 0; i < budget->disrupted_count; i++)
		if (budget->disrupted[i] == pod)
			return false;
	return true;
}

bool budget_covers(const struct strings *strings, const struct budget *budget,
                   const struct labels *labels)
{
	return selector_matches(strings, budget->selector, labels);
}

/* Services and replication controllers select by a plain map, and an empty one
 * selects nothing. */
static struct draft_selector read_selector(struct parse *parse, enum workload_kind kind)
{
	struct pl_json spec = reader_object(&parse->reader, parse->root, "spec");
	struct draft_selector selector = {0};

	if (kind == WORKLOAD_REPLICA_SET || kind == WORKLOAD_STATEFUL_SET)
		return reader_selector(&parse->reader, spec, "selector");
	selector.labels = reader_pairs(&parse->reader, spec, "selector");
	selector.set = selector.labels.count > 0;
	return selector;
}

enum pl_code workload_parse(struct parse *parse, enum workload_kind kind,
                            struct pl_span json, struct workload *out, struct pl_err *err)
{
	struct workload made = {.kind = kind};
	struct draft_selector selector;
	enum pl_code code;

	parse_begin(parse, json, err);
	selector = read_selector(parse, kind);
	if (parse_checks(parse,
	                 kind == WORKLOAD_SERVICE ? VALIDATE_LABEL : VALIDATE_SUBDOMAIN,
	                 true))
		validate_selector(&parse->check, "spec.selector", &selector);
	if (parse_makes(parse)) {
		made.namespace = maker_text(&parse->maker, parse->meta.namespace);
		made.name = maker_text(&parse->maker, parse->meta.name);
		made.uid = maker_name(&parse->maker, parse->meta.uid);
		made.selector = selector_make(&parse->maker, selector);
	}
	code = parse_end(parse);
	if (code != PL_OK)
		workload_drop(parse->model, &made);
	else
		*out = made;
	return code;
}

void workload_drop(struct model *model, struct workload *workload)
{
	strings_unref(&model->strings, workload->namespace);
	strings_unref(&model->strings, workload->name);
	strings_unref(&model->strings, workload->uid);
	model_unref(model, MODEL_SELECTORS, workload->selector);
	*workload = (struct workload){0};
}
