#include "tests/sim/scene_budget.h"

#include <stdlib.h>
#include <string.h>

enum { SELECTOR_SIZE = 256 };

/* What a budget looks at, in its namespace. */
enum sort {
	OF_FILL,  /* who has to go for more important ones */
	OF_ONE,   /* of one controller */
	OF_HALF,  /* every other pod: so many are covered twice */
	OF_EVERY, /* an empty selector */
	OF_TIGHT, /* who wants the few places */
	OF_MANY,  /* all but some */
};

static enum sort sort_of(uint32_t budget)
{
	static const enum sort last[] = {OF_EVERY, OF_TIGHT, OF_MANY};

	return budget < 9 ? (enum sort)(budget / 3) : last[budget % 3];
}

/* A row of the budget's namespace. */
static uint32_t row_of(uint32_t budget)
{
	static const uint32_t rows[SCENE_SPACES] = {0, 1, 5};

	return rows[budget % SCENE_SPACES];
}

static bool selects(uint32_t budget, uint32_t pod, uint32_t life)
{
	enum scene_kind kind = scene_kind(pod);

	switch (sort_of(budget)) {
	case OF_FILL:
		return kind == SCENE_FILL;
	case OF_ONE:
		return scene_group(pod) == row_of(budget);
	case OF_HALF:
		return scene_half(pod, life) == budget % 2;
	case OF_EVERY:
		return true;
	case OF_TIGHT:
		return kind == SCENE_FILL || kind == SCENE_HIGH;
	case OF_MANY:
		return kind != SCENE_BASIC && kind != SCENE_LARGE;
	}
	return false;
}

bool scene_budget_covers(uint32_t budget, uint32_t pod, uint32_t life)
{
	char mine[SCENE_NAME_SIZE], its[SCENE_NAME_SIZE];

	scene_budget_space(budget, mine);
	scene_pod_space(pod, its);
	return strcmp(mine, its) == 0 && selects(budget, pod, life);
}

uint32_t scene_budget_desired(const struct scene_budget *what, uint32_t expected)
{
	uint32_t amount = what->amount;

	if (what->percent) /* rounded up */
		amount = (expected * what->amount + 99) / 100;
	if (!what->is_max)
		return amount;
	return amount < expected ? expected - amount : 0;
}

/* -- names ----------------------------------------------------------------- */

void scene_budget_space(uint32_t budget, char out[SCENE_NAME_SIZE])
{
	(void)snprintf(out, SCENE_NAME_SIZE, "ns%u", budget % SCENE_SPACES);
}

void scene_budget_name(uint32_t budget, char out[SCENE_NAME_SIZE])
{
	(void)snprintf(out, SCENE_NAME_SIZE, "b-%u", budget);
}

uint32_t scene_budget_of(struct pl_span namespace, struct pl_span name)
{
	char want[2][SCENE_NAME_SIZE];

	for (uint32_t i = 0; i < SCENE_BUDGETS; i++) {
		scene_budget_space(i, want[0]);
		scene_budget_name(i, want[1]);
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
		               (unsigned)SCENE_FILL);
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
		               (unsigned)SCENE_FILL, (unsigned)SCENE_HIGH);
		return;
	case OF_MANY:
		(void)snprintf(out, SELECTOR_SIZE,
		               "\"matchExpressions\":[{\"key\":\"kind\",\"operator\":"
		               "\"NotIn\",\"values\":[\"k%u\",\"k%u\"]}]",
		               (unsigned)SCENE_BASIC, (unsigned)SCENE_LARGE);
		return;
	}
}

void scene_budget_json(uint32_t budget, const struct scene_budget *what,
                       char out[SCENE_JSON_SIZE])
{
	const char *quote = what->percent ? "\"" : "";
	char selector[SELECTOR_SIZE];

	selector_json(budget, selector);
	(void)snprintf(out, SCENE_JSON_SIZE,
	               "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\","
	               "\"metadata\":{\"name\":\"b-%u\",\"namespace\":\"ns%u\","
	               "\"annotations\":{\"sim\":\"%u %d %d %u\"}},"
	               "\"spec\":{\"%s\":%s%u%s%s,\"selector\":{%s}}}",
	               budget, budget % SCENE_SPACES, what->version, what->is_max,
	               what->percent, what->amount,
	               what->is_max ? "maxUnavailable" : "minAvailable", quote,
	               what->amount, what->percent ? "%" : "", quote, selector);
}

bool scene_budget_read(struct pl_span json, struct scene_budget *out)
{
	int64_t number[4];

	if (!scene_numbers(json, number, 4))
		return false;
	*out = (struct scene_budget){.version = (uint32_t)number[0],
	                             .is_max = number[1] != 0,
	                             .percent = number[2] != 0,
	                             .amount = (uint32_t)number[3]};
	return true;
}
