#include <stdlib.h>

#include "shardsched/model/text.h"
#include "shardsched/plugins/pod_topology_spread.h"
#include "store/base/alloc.h"

enum { RULES_MAX = 64 };

static const struct {
	const char *key;
	int32_t max_skew;
} system_rules[] = {{"kubernetes.io/hostname", 3}, {"topology.kubernetes.io/zone", 5}};

enum { SYSTEM_RULES = sizeof system_rules / sizeof system_rules[0] };

static enum pl_code alloc_rules(struct spread_args *args, size_t count,
                                struct pl_err *err)
{
	args->rule = pl_calloc(count + 1, sizeof *args->rule);
	return args->rule == NULL
	               ? pl_err_set(err, PL_NOMEM,
	                            "default spread constraints: out of memory")
	               : PL_OK;
}

static enum pl_code add_rule(struct model *model, struct spread_args *args,
                             struct spec_spread rule, const char *key, struct pl_err *err)
{
	enum pl_code code =
		strings_add(&model->strings, pl_span_str(key), &rule.topology_key);

	if (code != PL_OK)
		return pl_err_set(err, code, "topology key");
	args->rule[args->count++] = rule;
	return PL_OK;
}

static enum pl_code use_system_rules(struct model *model, struct spread_args *args,
                                     struct pl_err *err)
{
	enum pl_code code = alloc_rules(args, SYSTEM_RULES, err);

	args->system = true;
	for (unsigned i = 0; i < SYSTEM_RULES && code == PL_OK; i++)
		code = add_rule(model, args,
		                (struct spec_spread){.max_skew = system_rules[i].max_skew,
		                                     .affinity = 1},
		                system_rules[i].key, err);
	return code;
}

/* Reads one of two words into *out: 1 for the first. Absent: *out stays. */
static enum pl_code read_word(struct pl_json object, const char *name,
                              const char *const words[2], uint8_t *out,
                              struct pl_err *err)
{
	const char *word = NULL;
	enum pl_code code = pl_json_string(object, name, PL_JSON_OPTIONAL, &word, err);

	if (code != PL_OK || word == NULL)
		return code;
	for (uint8_t i = 0; i < 2; i++)
		if (strcmp(word, words[i]) == 0) {
			*out = i == 0;
			return PL_OK;
		}
	return pl_json_fail(pl_json_member(object, name), PL_INVALID, err,
	                    "want %s or %s", words[0], words[1]);
}

static enum pl_code read_words(struct pl_json json, struct spec_spread *rule,
                               struct pl_err *err)
{
	static const char *const when[2] = {"DoNotSchedule", "ScheduleAnyway"};
	static const char *const policy[2] = {"Honor", "Ignore"};
	enum pl_code code;

	if (pl_json_member(json, "whenUnsatisfiable").node == NULL)
		return pl_json_fail(json, PL_INVALID, err, "requires whenUnsatisfiable");
	code = read_word(json, "whenUnsatisfiable", when, &rule->hard, err);
	if (code == PL_OK)
		code = read_word(json, "nodeAffinityPolicy", policy, &rule->affinity,
		                 err);
	return code == PL_OK
	               ? read_word(json, "nodeTaintsPolicy", policy, &rule->taints, err)
	               : code;
}

static enum pl_code read_numbers(struct pl_json json, struct spec_spread *rule,
                                 struct pl_err *err)
{
	struct pl_json_range range = {1, INT32_MAX};
	int64_t skew = 0, least = 0;
	enum pl_code code =
		pl_json_int_in(json, "maxSkew", PL_JSON_REQUIRED, range, &skew, err);

	if (code == PL_OK)
		code = pl_json_int_in(json, "minDomains", PL_JSON_OPTIONAL, range, &least,
		                      err);
	if (code != PL_OK)
		return code;
	rule->max_skew = (int32_t)skew;
	rule->min_domains = (int32_t)least;
	if (least != 0 && rule->hard == 0)
		return pl_json_fail(json, PL_INVALID, err,
		                    "has minDomains, which requires DoNotSchedule");
	return PL_OK;
}

static enum pl_code refuse_duplicates(const struct spread_args *args, struct pl_json json,
                                      struct pl_err *err)
{
	const struct spec_spread *last = &args->rule[args->count - 1];

	for (const struct spec_spread *one = args->rule; one < last; one++)
		if (one->topology_key == last->topology_key && one->hard == last->hard)
			return pl_json_fail(json, PL_INVALID, err,
			                    "repeats topologyKey and whenUnsatisfiable "
			                    "of an earlier entry");
	return PL_OK;
}

static enum pl_code read_rule(struct model *model, struct pl_json json,
                              struct spread_args *args, struct pl_err *err)
{
	/* A default constraint has no selector: it follows from what owns the pod. */
	static const char *const known[] = {
		"maxSkew",    "topologyKey",        "whenUnsatisfiable",
		"minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy",
		NULL};
	struct spec_spread rule = {.affinity = 1};
	const char *key = NULL;
	enum pl_code code = pl_json_only(json, known, err);

	if (code == PL_OK)
		code = read_words(json, &rule, err);
	if (code == PL_OK)
		code = read_numbers(json, &rule, err);
	if (code == PL_OK)
		code = pl_json_string(json, "topologyKey", PL_JSON_REQUIRED, &key, err);
	if (code != PL_OK)
		return code;
	if (text_key(pl_span_str(key)) != 0)
		return pl_json_fail(pl_json_member(json, "topologyKey"), PL_INVALID, err,
		                    "is not a label key");
	code = add_rule(model, args, rule, key, err);
	return code == PL_OK ? refuse_duplicates(args, json, err) : code;
}

static enum pl_code parse_list(struct model *model, struct pl_json list,
                               struct spread_args *args, struct pl_err *err)
{
	size_t count = pl_json_count(list);
	enum pl_code code;

	if (count > RULES_MAX)
		return pl_json_fail(list, PL_LIMIT, err, "has more than %d entries",
		                    RULES_MAX);
	code = alloc_rules(args, count, err);
	PL_JSON_EACH (item, list)
		if (code == PL_OK)
			code = read_rule(model, item, args, err);
	return code;
}

static enum pl_code parse_args(struct model *model, struct pl_json json,
                               struct spread_args *args, struct pl_err *err)
{
	static const char *const known[] = {"apiVersion", "kind", "defaultConstraints",
	                                    "defaultingType", NULL};
	static const char *const types[2] = {"System", "List"};
	struct pl_json list = {0};
	uint8_t system = 1;
	enum pl_code code;

	if (json.node == NULL)
		return use_system_rules(model, args, err);
	code = pl_json_only(json, known, err);
	if (code == PL_OK)
		code = read_word(json, "defaultingType", types, &system, err);
	if (code == PL_OK)
		code = pl_json_array(json, "defaultConstraints", PL_JSON_OPTIONAL, &list,
		                     err);
	if (code != PL_OK)
		return code;
	if (!system)
		return parse_list(model, list, args, err);
	if (pl_json_count(list) > 0)
		return pl_json_fail(list, PL_INVALID, err,
		                    "requires defaultingType List");
	return use_system_rules(model, args, err);
}

enum pl_code spread_args_parse(struct model *model, struct pl_json json, void *args,
                               struct pl_err *err)
{
	struct spread_args *out = args;
	enum pl_code code;

	*out = (struct spread_args){0};
	code = strings_add(&model->strings, PL_SPAN_LIT("kubernetes.io/hostname"),
	                   &out->hostname);
	if (code != PL_OK)
		return pl_err_set(err, code, "topology key");
	code = parse_args(model, json, out, err);
	if (code != PL_OK)
		spread_args_drop(model, out);
	return code;
}

void spread_args_drop(struct model *model, void *args)
{
	struct spread_args *drop = args;

	for (uint32_t i = 0; i < drop->count; i++)
		strings_unref(&model->strings, drop->rule[i].topology_key);
	free(drop->rule);
	strings_unref(&model->strings, drop->hostname);
	*drop = (struct spread_args){0};
}
