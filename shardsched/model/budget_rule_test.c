#include <string.h>

#include "shardsched/model/budget_rule.h"
#include "tests/harness/t.h"

static struct pl_arena arena;

static struct draft_budget_rule read(const char *spec, enum pl_code *code,
                                     struct pl_err *err)
{
	struct reader reader;
	struct pl_json root = reader_init(&reader, &arena, pl_span_str(spec), err);
	struct draft_budget_rule draft = reader_budget_rule(&reader, root);
	struct field_errors errors;
	struct validate check;

	T_EQ(reader.code, PL_OK);
	field_errors_init(&errors, &arena);
	validate_init(&check, VALIDATE_SUBMITTED, &errors);
	validate_budget_rule(&check, &draft);
	*code = field_errors_verdict(&errors, err);
	return draft;
}

static const struct {
	const char *spec;
	struct budget_rule rule;
	uint32_t expected, desired;
} rules[] = {
	{"{\"minAvailable\":3}", {BUDGET_MIN_AVAILABLE, false, 3}, 10, 3},
	{"{\"minAvailable\":30}", {BUDGET_MIN_AVAILABLE, false, 30}, 10, 30},
	{"{\"minAvailable\":\"50%\"}", {BUDGET_MIN_AVAILABLE, true, 50}, 7, 4},
	{"{\"minAvailable\":\"0%\"}", {BUDGET_MIN_AVAILABLE, true, 0}, 7, 0},
	{"{\"maxUnavailable\":0}", {BUDGET_MAX_UNAVAILABLE, false, 0}, 7, 7},
	{"{\"maxUnavailable\":1}", {BUDGET_MAX_UNAVAILABLE, false, 1}, 7, 6},
	{"{\"maxUnavailable\":9}", {BUDGET_MAX_UNAVAILABLE, false, 9}, 7, 0},
	/* Rounded up, too: of 7 pods two may go. */
	{"{\"maxUnavailable\":\"25%\"}", {BUDGET_MAX_UNAVAILABLE, true, 25}, 7, 5},
	{"{\"maxUnavailable\":\"100%\"}", {BUDGET_MAX_UNAVAILABLE, true, 100}, 7, 0},
	{"{\"minAvailable\":2147483647}",
         {BUDGET_MIN_AVAILABLE, false, INT32_MAX},
         1,
         INT32_MAX},
	{"{\"minAvailable\":\"100%\"}",
         {BUDGET_MIN_AVAILABLE, true, 100},
         INT32_MAX,
         INT32_MAX},
	{"{\"unhealthyPodEvictionPolicy\":\"AlwaysAllow\"}",
         {BUDGET_NOTHING, false, 0},
         7,
         7},
	{"{\"minAvailable\":null}", {BUDGET_NOTHING, false, 0}, 7, 7},
};

T_CASE(budget_rule_gives_the_number_of_healthy_pods)
{
	pl_arena_init(&arena, 0, 0);
	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
		struct pl_err err = {0};
		enum pl_code code;
		struct draft_budget_rule draft = read(rules[i].spec, &code, &err);
		struct budget_rule rule = budget_rule_of(&draft);

		T_CODE(code, PL_OK, &err);
		T_EQ(rule.kind, rules[i].rule.kind);
		T_EQ(rule.percent, rules[i].rule.percent);
		T_EQ(rule.amount, rules[i].rule.amount);
		T_TRUE(budget_rule_same(rule, rules[i].rule));
		T_EQ(budget_rule_desired(rule, rules[i].expected), rules[i].desired);
	}
	pl_arena_done(&arena);
}

static const struct {
	const char *spec, *says;
} refused[] = {
	{"{\"minAvailable\":-1}", "spec.minAvailable"},
	{"{\"minAvailable\":\"3\"}", "spec.minAvailable"},
	{"{\"minAvailable\":\"%\"}", "spec.minAvailable"},
	{"{\"minAvailable\":\"\"}", "spec.minAvailable"},
	{"{\"minAvailable\":1.5}", "spec.minAvailable"},
	{"{\"minAvailable\":true}", "spec.minAvailable"},
	{"{\"minAvailable\":2147483648}", "spec.minAvailable"},
	{"{\"maxUnavailable\":\"101%\"}", "spec.maxUnavailable"},
	{"{\"maxUnavailable\":\"-1%\"}", "spec.maxUnavailable"},
	{"{\"maxUnavailable\":{}}", "spec.maxUnavailable"},
	{"{\"minAvailable\":1,\"maxUnavailable\":1}", "both"},
	{"{\"minAvailable\":1,\"unhealthyPodEvictionPolicy\":\"Sometimes\"}",
         "spec.unhealthyPodEvictionPolicy"},
};

T_CASE(what_makes_no_sense_is_refused_with_its_path)
{
	pl_arena_init(&arena, 0, 0);
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		struct pl_err err = {0};
		enum pl_code code;

		(void)read(refused[i].spec, &code, &err);
		T_CODE(code, PL_INVALID, &err);
		T_TRUE(strstr(err.msg, refused[i].says) != NULL);
	}
	pl_arena_done(&arena);
}

T_CASE(healthy_pods_beyond_the_desired_may_go)
{
	T_EQ(budget_allowed(10, 8, 10), 2);
	T_EQ(budget_allowed(10, 8, 8), 0);
	T_EQ(budget_allowed(10, 8, 3), 0);
	T_EQ(budget_allowed(0, 0, 0), 0);
	T_EQ(budget_allowed(0, 0, 3), 0);
}
