#include <stdio.h>

#include "coord/service/input/rule_warnings.h"
#include "shardsched/model/parse.h"
#include "tests/harness/t.h"

static struct rule_warnings warnings;
static char told[8192];

static void add_spread(const char *key, const char *selector, unsigned long number,
                       bool in_template)
{
	const struct input_object object = {.file = "a.yaml", .number = number};
	struct pl_arena arena;
	struct model model;
	struct pl_err err = {0};
	struct parse parse = {.model = &model, .arena = &arena};
	struct pod pod;
	char json[1024];

	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"web\"},\"spec\":{"
		"\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"%s\","
		"\"whenUnsatisfiable\":\"ScheduleAnyway\",\"labelSelector\":%s}]}}",
		key, selector);
	model_init(&model);
	pl_arena_init(&arena, 4096, 0);
	T_OK(pod_parse(&parse, pl_span_str(json), &pod, &err), &err);
	rule_warnings_add(&warnings, &model, pod.spec, &object, in_template);
	pod_drop(&model, &pod);
	pl_arena_done(&arena);
	model_done(&model);
}

static void on_warning(void *ctx, const struct rule_warning *warning)
{
	size_t len = strlen(told);

	(void)ctx;
	(void)snprintf(told + len, sizeof told - len, "%lu: %s (%u)\n", warning->number,
	               warning->text, (unsigned)warning->count);
}

static const char *all_told(bool all)
{
	told[0] = 0;
	rule_warnings_each(&warnings, all, on_warning, NULL);
	return told;
}

static void see_node(const char *json)
{
	rule_warnings_node(&warnings, pl_span_str(json));
}

#define NONE "null"
#define SOME "{\"matchLabels\":{\"app\":\"web\"}}"

T_CASE(topology_key_is_warned_of_once_no_node_carries_it)
{
	rule_warnings_clear(&warnings);
	T_TRUE(!rule_warnings_wants_nodes(&warnings));
	add_spread("zone", SOME, 1, false);
	add_spread("rack", SOME, 2, true);
	add_spread("rack", SOME, 3, false);
	T_TRUE(rule_warnings_wants_nodes(&warnings));
	T_STR(all_told(true), ""); /* there is no node at all */
	see_node("{\"metadata\":{\"name\":\"zone\",\"annotations\":{\"rack\":\"1\"}}}");
	see_node(
		"{\"metadata\":{\"labels\":{\"zon\":\"a\",\"zones\":\"b\",\"zone\":\"\"}}}");
	T_TRUE(rule_warnings_wants_nodes(&warnings));
	T_STR(all_told(false), ""); /* another node may */
	T_STR(all_told(true), "2: spec.template.spec.topologySpreadConstraints[0]"
	                      ".topologyKey: no node has the label rack (2)\n");
	see_node("{\"metadata\":{\"labels\":{\"rack\":\"1\"}}}");
	T_TRUE(!rule_warnings_wants_nodes(&warnings));
	T_STR(all_told(true), "");
}

T_CASE(node_that_is_no_json_carries_no_label)
{
	static const char *const bad[] = {"",
	                                  "{",
	                                  "[]",
	                                  "{\"metadata\":{\"labels\":{\"zone\":",
	                                  "{\"metadata\":7}",
	                                  "{\"metadata\":{\"labels\":[\"zone\"]}}"};

	rule_warnings_clear(&warnings);
	add_spread("zone", SOME, 1, false);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		see_node(bad[i]);
	T_TRUE(strstr(all_told(true), "no node has the label zone") != NULL);
}

T_CASE(impossible_rule_is_warned_of_with_the_objects_that_have_it)
{
	rule_warnings_clear(&warnings);
	add_spread("zone", NONE, 4, false);
	add_spread("zone", NONE, 5, false);
	add_spread("zone", NONE, 6, true);
	T_STR(all_told(false),
	      "4: spec.topologySpreadConstraints[0].labelSelector: it is missing, and so "
	      "matches no pod (2)\n"
	      "6: spec.template.spec.topologySpreadConstraints[0].labelSelector: it is "
	      "missing, and so matches no pod (1)\n");
}

T_CASE(the_search_for_keys_is_bounded)
{
	rule_warnings_clear(&warnings);
	for (unsigned i = 0; i < RULE_WARNINGS_MAX + 5; i++) {
		char key[16];

		(void)snprintf(key, sizeof key, "k-%u", i);
		add_spread(key, SOME, i, false);
	}
	T_EQ(warnings.topologies, RULE_WARNINGS_MAX);
	warnings.nodes = RULE_WARNINGS_NODES_MAX;
	T_TRUE(!rule_warnings_wants_nodes(&warnings));
}
