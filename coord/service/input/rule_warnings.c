#include "coord/service/input/rule_warnings.h"

#include <stdio.h>

#include "shardsched/model/model.h"
#include "shardsched/model/object.h"
#include "store/base/json_scan.h"

struct rule_source {
	struct rule_warnings *warnings;
	const struct model *model;
	const struct input_object *object;
	const char *prefix; /* of the paths: where the object has its pods' spec */
};

void rule_warnings_clear(struct rule_warnings *warnings)
{
	*warnings = (struct rule_warnings){0};
}

static void warning_init(struct rule_warning *warning, const struct input_object *object)
{
	*warning = (struct rule_warning){
		.file = object->file, .number = object->number, .count = 1};
}

/* -- rules ------------------------------------------------------------------ */

static void add_impossible(const struct rule_source *source, const struct spec_rule *rule)
{
	struct rule_warnings *warnings = source->warnings;
	char text[RULE_WARNING_TEXT_SIZE], rest[SPEC_RULE_TEXT_SIZE];

	spec_rule_impossible_text(rule, rest);
	(void)snprintf(text, sizeof text, "%s%s", source->prefix, rest);
	for (unsigned i = 0; i < warnings->impossibles; i++)
		if (strcmp(warnings->impossible[i].text, text) == 0) {
			warnings->impossible[i].count++;
			return;
		}
	if (warnings->impossibles == RULE_WARNINGS_MAX) {
		warnings->more++;
		return;
	}
	warning_init(&warnings->impossible[warnings->impossibles], source->object);
	memcpy(warnings->impossible[warnings->impossibles++].text, text, sizeof text);
}

static void add_topology(const struct rule_source *source, const struct spec_rule *rule)
{
	struct rule_warnings *warnings = source->warnings;
	struct pl_span key = model_text(source->model, rule->topology_key);
	struct rule_topology_key *topology;
	char rest[SPEC_RULE_TEXT_SIZE];

	for (unsigned i = 0; i < warnings->topologies; i++) {
		topology = &warnings->topology[i];
		if (!pl_span_eq(pl_span_str(topology->key), key))
			continue;
		topology->warning.count++;
		return;
	}
	if (warnings->topologies == RULE_WARNINGS_MAX ||
	    key.len >= RULE_WARNINGS_KEY_SIZE)
		return;
	topology = &warnings->topology[warnings->topologies++];
	warning_init(&topology->warning, source->object);
	spec_rule_topology_text(rule->path, key, rest);
	(void)snprintf(topology->warning.text, sizeof topology->warning.text, "%s%s",
	               source->prefix, rest);
	memcpy(topology->key, key.at, key.len);
	topology->key[key.len] = 0;
	topology->found = false;
}

static void on_rule(void *ctx, const struct spec_rule *rule)
{
	if (rule->impossible)
		add_impossible(ctx, rule);
	if (rule->topology_key != 0)
		add_topology(ctx, rule);
}

void rule_warnings_add(struct rule_warnings *warnings, const struct model *model,
                       const struct spec *spec, const struct input_object *object,
                       bool in_template)
{
	struct rule_source source = {.warnings = warnings,
	                             .model = model,
	                             .object = object,
	                             .prefix = in_template ? "spec.template." : ""};

	spec_rules_each(model, spec, on_rule, &source);
}

/* -- nodes ------------------------------------------------------------------ */

bool rule_warnings_wants_nodes(const struct rule_warnings *warnings)
{
	if (warnings->nodes >= RULE_WARNINGS_NODES_MAX)
		return false;
	for (unsigned i = 0; i < warnings->topologies; i++)
		if (!warnings->topology[i].found)
			return true;
	return false;
}

/* Nothing in the keys of labels is escaped, or it is no valid label. */
static void note_label(struct rule_warnings *warnings, struct pl_span quoted)
{
	struct pl_span key = pl_span(quoted.at + 1, quoted.len - 2);

	for (unsigned i = 0; i < warnings->topologies; i++)
		if (pl_span_eq(pl_span_str(warnings->topology[i].key), key))
			warnings->topology[i].found = true;
}

void rule_warnings_node(struct rule_warnings *warnings, struct pl_span json)
{
	struct pl_span metadata, labels = {0}, key, value;

	warnings->nodes++;
	if (pl_json_scan(json, &pl_json_limits_default, NULL) != PL_OK)
		return;
	metadata = object_member(json, "metadata");
	if (metadata.len > 0 && metadata.at[0] == '{')
		labels = object_member(metadata, "labels");
	if (labels.len == 0 || labels.at[0] != '{')
		return;
	while (object_pair(&labels, &key, &value))
		note_label(warnings, key);
}

void rule_warnings_each(const struct rule_warnings *warnings, bool all,
                        rule_warning_fn *fn, void *ctx)
{
	for (unsigned i = 0; i < warnings->impossibles; i++)
		fn(ctx, &warnings->impossible[i]);
	for (unsigned i = 0; i < warnings->topologies; i++)
		if (all && warnings->nodes > 0 && !warnings->topology[i].found)
			fn(ctx, &warnings->topology[i].warning);
}
