/*
 * PodDisruptionBudgets by their numbers, as scene.h has nodes and pods: which pods each
 * covers follows from its number, how many may be gone is changed while it is there.
 *
 *	budget b: b-<b> of namespace ns<k>
 */
#ifndef TESTS_SIM_SCENE_BUDGET_H
#define TESTS_SIM_SCENE_BUDGET_H

#include "tests/sim/scene.h"

enum { SCENE_BUDGETS = 12 };

/* What may be changed. */
struct scene_budget {
	uint32_t version;
	bool is_max; /* maxUnavailable, else minAvailable */
	bool percent;
	uint32_t amount;
};

/* In that life of it. */
bool scene_budget_covers(uint32_t budget, uint32_t pod, uint32_t life);
/* So many of the expected ones are to be healthy. */
uint32_t scene_budget_desired(const struct scene_budget *what, uint32_t expected);

void scene_budget_space(uint32_t budget, char out[SCENE_NAME_SIZE]);
void scene_budget_name(uint32_t budget, char out[SCENE_NAME_SIZE]);
/* UINT32_MAX: none of ours. */
uint32_t scene_budget_of(struct pl_span namespace, struct pl_span name);

void scene_budget_json(uint32_t budget, const struct scene_budget *what,
                       char out[SCENE_JSON_SIZE]);
/* What the JSON says of itself; false: it is none of ours. */
bool scene_budget_read(struct pl_span json, struct scene_budget *out);

#endif
