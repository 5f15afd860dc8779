#include <stdio.h>
#include <string.h>

#include "shardsched/model/parse.h"
#include "shardsched/model/spec_rules.h"
#include "tests/harness/t.h"

#define REQUIRED "\"requiredDuringSchedulingIgnoredDuringExecution\":"
#define PREFERRED "\"preferredDuringSchedulingIgnoredDuringExecution\":"

static char listed[4096]; /* a line for each rule: its path or its sentence, and its
			   * topology key */

static void on_rule(void *ctx, const struct spec_rule *rule)
{
	const struct model *model = ctx;
	char text[SPEC_RULE_TEXT_SIZE];
	size_t len = strlen(listed);

	if (rule->impossible)
		spec_rule_impossible_text(rule, text);
	else
		(void)snprintf(text, sizeof text, "%s", rule->path);
	(void)snprintf(listed + len, sizeof listed - len, "%s|" PL_SPAN_FMT "\n", text,
	               PL_SPAN_ARG(model_text(model, rule->topology_key)));
}

static const char *rules_of(const char *spec)
{
	static char json[4096];
	struct pl_arena arena;
	struct model model;
	struct pl_err err = {0};
	struct parse parse = {.model = &model, .arena = &arena};
	struct pod pod;

	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"web\"},\"spec\":{%s}}",
		spec);
	listed[0] = 0;
	model_init(&model);
	pl_arena_init(&arena, 4096, 0);
	T_OK(pod_parse(&parse, pl_span_str(json), &pod, &err), &err);
	spec_rules_each(&model, pod.spec, on_rule, &model);
	pod_drop(&model, &pod);
	pl_arena_done(&arena);
	model_done(&model);
	return listed;
}

T_CASE(every_rule_is_listed_with_its_path_and_topology_key)
{
#define TERM(key)                                                                       \
	"{\"labelSelector\":{\"matchLabels\":{\"app\":\"web\"}},\"topologyKey\":\"" key \
	"\"}"
	T_STR(rules_of(
		      "\"affinity\":{\"nodeAffinity\":{" REQUIRED
		      "{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"a\","
		      "\"operator\":\"Exists\"}]}]}," PREFERRED
		      "[{\"weight\":1,\"preference\":{\"matchExpressions\":[{\"key\":\"a\","
		      "\"operator\":\"Exists\"}]}}]},\"podAffinity\":{" REQUIRED
		      "[" TERM("k1") "," TERM("k2") "]," PREFERRED "[{\"weight\":1,\"podAffinityTerm\":" TERM(
			      "k3") "}]},\"podAntiAffinity\":{" REQUIRED
				    "[" TERM("k4") "]," PREFERRED "[{\"weight\":1,\"podAffinityTerm\":" TERM(
					    "k5") "}]}},\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":"
						  "\"k6\",\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{}}]"),
	      "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution|\n"
	      "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
	      ".preference|\n"
	      "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]|k1\n"
	      "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[1]|k2\n"
	      "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
	      ".podAffinityTerm|k3\n"
	      "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
	      "|k4\n"
	      "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution"
	      "[0].podAffinityTerm|k5\n"
	      "spec.topologySpreadConstraints[0]|k6\n");
#undef TERM
}

static bool spread_is_impossible(const char *selector)
{
	char spec[1024];

	(void)snprintf(
		spec, sizeof spec,
		"\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"k\","
		"\"whenUnsatisfiable\":\"DoNotSchedule\"%s%s}]",
		selector[0] == 0 ? "" : ",\"labelSelector\":", selector);
	return strstr(rules_of(spec), "it ") != NULL;
}

#define ROWS(rows) "{\"matchExpressions\":[" rows "]}"
#define ROW(op, values) "{\"key\":\"a\",\"operator\":\"" op "\",\"values\":[" values "]}"

T_CASE(selector_that_contradicts_itself_is_impossible)
{
	static const char *const impossible[] = {
		"",
		ROWS(ROW("In", "\"x\"") "," ROW("In", "\"y\"")),
		ROWS(ROW("In", "\"x\",\"y\"") "," ROW("NotIn", "\"y\",\"x\",\"z\"")),
		ROWS(ROW("In", "\"x\"") "," ROW("DoesNotExist", "")),
		ROWS(ROW("Exists", "") "," ROW("DoesNotExist", "")),
		ROWS(ROW("In", "\"x\",\"y\"") "," ROW("In", "\"y\",\"z\"") "," ROW(
			"NotIn", "\"y\"")),
		"{\"matchLabels\":{\"a\":\"x\"},\"matchExpressions\":[" ROW("NotIn",
	                                                                    "\"x\"") "]}",
		ROWS(ROW("in", "\"x\"")), /* no operator */
	};
	static const char *const possible[] = {
		"{}",
		ROWS(ROW("In", "\"x\",\"y\"") "," ROW("In", "\"y\",\"z\"")),
		ROWS(ROW("In", "\"x\",\"y\"") "," ROW("NotIn", "\"y\"")),
		ROWS(ROW("NotIn", "\"x\"") "," ROW("NotIn", "\"y\"")),
		ROWS(ROW("NotIn", "\"x\"") "," ROW("DoesNotExist", "")),
		ROWS(ROW("NotIn", "\"x\"") "," ROW("Exists", "")),
		ROWS(ROW("In", "\"x\"") "," ROW("Exists", "")),
		"{\"matchLabels\":{\"a\":\"x\",\"b\":\"y\"}}",
	};

	for (size_t i = 0; i < sizeof impossible / sizeof impossible[0]; i++)
		if (!spread_is_impossible(impossible[i]))
			t_fail(__FILE__, __LINE__, "possible: '%s'", impossible[i]);
	for (size_t i = 0; i < sizeof possible / sizeof possible[0]; i++)
		if (spread_is_impossible(possible[i]))
			t_fail(__FILE__, __LINE__, "impossible: '%s'", possible[i]);
}

static bool nodes_are_impossible(const char *terms)
{
	char spec[1024];

	(void)snprintf(spec, sizeof spec,
	               "\"affinity\":{\"nodeAffinity\":{" REQUIRED
	               "{\"nodeSelectorTerms\":[%s]}}}",
	               terms);
	return strstr(rules_of(spec), ": it can match no node") != NULL;
}

#define FIELDS(rows) "{\"matchFields\":[" rows "]}"
#define NAME(op, value) \
	"{\"key\":\"metadata.name\",\"operator\":\"" op "\",\"values\":[\"" value "\"]}"

T_CASE(node_affinity_is_impossible_when_no_term_is_possible)
{
	static const char *const impossible[] = {
		"",
		"{}",
		ROWS(ROW("Gt", "\"5\"") "," ROW("Lt", "\"6\"")),
		ROWS(ROW("Gt", "\"9223372036854775807\"")),
		ROWS(ROW("Gt", "\"5\"") "," ROW("In", "\"5\",\"x\"")),
		ROWS(ROW("Gt", "\"5\"") "," ROW("DoesNotExist", "")),
		FIELDS(NAME("In", "n-1") "," NAME("In", "n-2")),
		FIELDS(NAME("In", "n-1") "," NAME("NotIn", "n-1")),
		"{},{}," FIELDS(NAME("In", "n-1") "," NAME("In", "n-2")),
	};
	static const char *const possible[] = {
		ROWS(ROW("Gt", "\"5\"") "," ROW("Lt", "\"7\"")),
		ROWS(ROW("Gt", "\"5\"") "," ROW("NotIn", "\"6\"")),
		ROWS(ROW("Gt", "\"5\"") "," ROW("In", "\"6\"")),
		FIELDS(NAME("In", "n-1") "," NAME("NotIn", "n-2")),
		FIELDS(NAME("NotIn", "n-1")),
		"{}," FIELDS(NAME("In", "n-1")),
	};

	for (size_t i = 0; i < sizeof impossible / sizeof impossible[0]; i++)
		if (!nodes_are_impossible(impossible[i]))
			t_fail(__FILE__, __LINE__, "possible: '%s'", impossible[i]);
	for (size_t i = 0; i < sizeof possible / sizeof possible[0]; i++)
		if (nodes_are_impossible(possible[i]))
			t_fail(__FILE__, __LINE__, "impossible: '%s'", possible[i]);
}

T_CASE(terms_say_what_they_lack)
{
	T_STR(rules_of(
		      "\"affinity\":{\"podAntiAffinity\":{" REQUIRED
		      "[{\"topologyKey\":\"k\"},{\"topologyKey\":\"k\",\"labelSelector\":{},"
		      "\"namespaceSelector\":" ROWS(
			      ROW("In", "\"x\"") "," ROW("In", "\"y\"")) "}]}}"),
	      "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
	      ".labelSelector: it is missing, and so matches no pod|k\n"
	      "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[1]"
	      ": it can match no pod|k\n");
}
