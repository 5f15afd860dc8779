/*
 * PodDisruptionBudgets by their numbers, as scenario.h has nodes and pods: which pods a
 * budget covers follows from its number; how many may be disrupted changes during the
 * run.
 *
 *	budget b: b-<b> of namespace ns<k>
 */
#ifndef TESTS_SIM_SCENARIO_BUDGET_H
#define TESTS_SIM_SCENARIO_BUDGET_H

#include "tests/sim/scenario.h"

enum { SCENARIO_BUDGETS = 12 };

/* The fields that may be changed. */
struct scenario_budget {
	uint32_t version;
	bool is_max; /* maxUnavailable, else minAvailable */
	bool percent;
	uint32_t amount;
};

/* The budget covers that incarnation of the pod. */
bool scenario_budget_covers(uint32_t budget, uint32_t pod, uint32_t incarnation);
/* Returns how many of the expected pods have to be healthy. */
uint32_t scenario_budget_desired(const struct scenario_budget *what, uint32_t expected);

void scenario_budget_namespace(uint32_t budget, char out[SCENARIO_NAME_SIZE]);
void scenario_budget_name(uint32_t budget, char out[SCENARIO_NAME_SIZE]);
/* UINT32_MAX: not of this scenario. */
uint32_t scenario_budget_of(struct pl_span namespace, struct pl_span name);

void scenario_budget_json(uint32_t budget, const struct scenario_budget *what,
                          char out[SCENARIO_JSON_SIZE]);
/* Reads the numbers in the annotation; false: the JSON is not of this scenario. */
bool scenario_budget_read(struct pl_span json, struct scenario_budget *out);

#endif
