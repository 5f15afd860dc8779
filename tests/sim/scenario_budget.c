#include "tests/sim/scenario_budget.h"

#include <stdlib.h>
#include <string.h>

enum { SELECTOR_SIZE = 256 };

/* The pods that a budget selects in its namespace. */
enum sort {
	OF_FILL,  /* low priority: preempted for pods of higher priority */
	OF_ONE,   /* pods of one controller */
	OF_HALF,  /* every other pod, so that many are covered twice */
	OF_EVERY, /* an empty selector */
	OF_TIGHT, /* pods that want the few tight nodes */
	OF_MANY,  /* all kinds but some */
};

static enum sort sort_of(uint32_t budget)
{
	static const enum sort last[] = {OF_EVERY, OF_TIGHT, OF_MANY};

	return budget < 9 ? (enum sort)(budget / 3) : last[budget % 3];
}

/* Returns a row of pods in the budget's namespace. */
static uint32_t row_of(uint32_t budget)
{
	static const uint32_t rows[SCENARIO_NAMESPACES] = {0, 1, 5};

	return rows[budget % SCENARIO_NAMESPACES];
}

static bool selects(uint32_t budget, uint32_t pod, uint32_t incarnation)
{
	enum scenario_kind kind = scenario_kind(pod);

	switch (sort_of(budget)) {
	case OF_FILL:
		return kind == SCENARIO_FILL;
	case OF_ONE:
		return scenario_group(pod) == row_of(budget);
	case OF_HALF:
		return scenario_half(pod, incarnation) == budget % 2;
	case OF_EVERY:
		return true;
	case OF_TIGHT:
		return kind == SCENARIO_FILL || kind == SCENARIO_HIGH;
	case OF_MANY:
		return kind != SCENARIO_BASIC && kind != SCENARIO_LARGE;
	}
	return false;
}

bool scenario_budget_covers(uint32_t budget, uint32_t pod, uint32_t incarnation)
{
	char mine[SCENARIO_NAME_SIZE], its[SCENARIO_NAME_SIZE];

	scenario_budget_namespace(budget, mine);
	scenario_pod_namespace(pod, its);
	return strcmp(mine, its) == 0 && selects(budget, pod, incarnation);
}

uint32_t scenario_budget_desired(const struct scenario_budget *what, uint32_t expected)
{
	uint32_t amount = what->amount;

	if (what->percent) /* rounded up */
		amount = (expected * what->amount + 99) / 100;
	if (!what->is_max)
		return amount;
	return amount < expected ? expected - amount : 0;
}

/* -- names ----------------------------------------------------------------- */

void scenario_budget_namespace(uint32_t budget, char out[SCENARIO_NAME_SIZE])
{
	(void)snprintf(out, SCENARIO_NAME_SIZE, "ns%u", budget % SCENARIO_NAMESPACES);
}

void scenario_budget_name(uint32_t budget, char out[SCENARIO_NAME_SIZE])
{
	(void)snprintf(out, SCENARIO_NAME_SIZE, "b-%u", budget);
}

uint32_t scenario_budget_of(struct pl_span namespace, struct pl_span name)
{
	char want[2][SCENARIO_NAME_SIZE];

	for (uint32_t i = 0; i < SCENARIO_BUDGETS; i++) {
		scenario_budget_namespace(i, want[0]);
		scenario_budget_name(i, want[1]);
		if (pl_span_eq(namespace, pl_span_str(want[0])) &&
		    pl_span_eq(name, pl_span_str(want[1])))
			return i;
	}
	return UINT32_MAX;
}

/* -- JSON ------------------------------------------------------------------- */

static void selector_json(uint32_t budget, char out[SELECTOR_SIZE])
{
	switch (sort_of(budget)) {
	case OF_FILL:
		(void)snprintf(out, SELECTOR_SIZE, "\"matchLabels\":{\"kind\":\"k%u\"}",
		               (unsigned)SCENARIO_FILL);
		return;
	case OF_ONE:
		(void)snprintf(out, SELECTOR_SIZE, "\"matchLabels\":{\"app\":\"g%u\"}",
		               row_of(budget));
		return;
	case OF_HALF:
		(void)snprintf(out, SELECTOR_SIZE, "\"matchLabels\":{\"half\":\"h%u\"}",
		               budget % 2);
		return;
	case OF_EVERY:
		out[0] = 0;
		return;
	case OF_TIGHT:
		(void)snprintf(out, SELECTOR_SIZE,
		               "\"matchExpressions\":[{\"key\":\"kind\",\"operator\":"
		               "\"In\",\"values\":[\"k%u\",\"k%u\"]}]",
		               (unsigned)SCENARIO_FILL, (unsigned)SCENARIO_HIGH);
		return;
	case OF_MANY:
		(void)snprintf(out, SELECTOR_SIZE,
		               "\"matchExpressions\":[{\"key\":\"kind\",\"operator\":"
		               "\"NotIn\",\"values\":[\"k%u\",\"k%u\"]}]",
		               (unsigned)SCENARIO_BASIC, (unsigned)SCENARIO_LARGE);
		return;
	}
}

void scenario_budget_json(uint32_t budget, const struct scenario_budget *what,
                          char out[SCENARIO_JSON_SIZE])
{
	const char *quote = what->percent ? "\"" : "";
	char selector[SELECTOR_SIZE];

	selector_json(budget, selector);
	(void)snprintf(out, SCENARIO_JSON_SIZE,
	               "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\","
	               "\"metadata\":{\"name\":\"b-%u\",\"namespace\":\"ns%u\","
	               "\"annotations\":{\"sim\":\"%u %d %d %u\"}},"
	               "\"spec\":{\"%s\":%s%u%s%s,\"selector\":{%s}}}",
	               budget, budget % SCENARIO_NAMESPACES, what->version, what->is_max,
	               what->percent, what->amount,
	               what->is_max ? "maxUnavailable" : "minAvailable", quote,
	               what->amount, what->percent ? "%" : "", quote, selector);
}

bool scenario_budget_read(struct pl_span json, struct scenario_budget *out)
{
	int64_t number[4];

	if (!scenario_numbers(json, number, 4))
		return false;
	*out = (struct scenario_budget){.version = (uint32_t)number[0],
	                                .is_max = number[1] != 0,
	                                .percent = number[2] != 0,
	                                .amount = (uint32_t)number[3]};
	return true;
}
