/*
 * A budget rule: what a PodDisruptionBudget asks for. Either a number of pods stays, or a
 * number of pods may be away; the number is absolute, or a percentage of the expected
 * pods.
 *
 *	minAvailable: 3     maxUnavailable: "25%"
 *
 * Percentages are rounded up, as Kubernetes rounds them: both of pods that stay and of
 * pods that may go.
 */
#ifndef SHARDSCHED_MODEL_BUDGET_RULE_H
#define SHARDSCHED_MODEL_BUDGET_RULE_H

#include "shardsched/model/reader.h"
#include "shardsched/model/validate.h"

enum budget_kind {
	BUDGET_NOTHING, /* the budget has neither: no pod may go */
	BUDGET_MIN_AVAILABLE,
	BUDGET_MAX_UNAVAILABLE,
};

struct budget_rule {
	enum budget_kind kind;
	bool percent;
	uint32_t amount;
};

/* A member as it is read. A value without a meaning is BAD, for the validation. */
struct draft_budget_amount {
	enum {
		BUDGET_AMOUNT_ABSENT,
		BUDGET_AMOUNT_BAD,
		BUDGET_AMOUNT_NUMBER,
		BUDGET_AMOUNT_PERCENT,
	} kind;
	uint32_t amount; /* of NUMBER and PERCENT */
};

struct draft_budget_rule {
	struct draft_budget_amount min, max;
	struct pl_span policy;
};

struct draft_budget_rule reader_budget_rule(struct reader *reader, struct pl_json spec);
/* The path of v is the object's root. */
void validate_budget_rule(struct validate *v, const struct draft_budget_rule *draft);
/* A bad value counts as absent. */
struct budget_rule budget_rule_of(const struct draft_budget_rule *draft);

static inline bool budget_rule_same(struct budget_rule a, struct budget_rule b)
{
	return a.kind == b.kind && a.percent == b.percent && a.amount == b.amount;
}

/* How many of the expected pods are to be healthy. */
uint32_t budget_rule_desired(struct budget_rule rule, uint32_t expected);
/* How many of the healthy pods may go then. */
uint32_t budget_allowed(uint32_t expected, uint32_t desired, uint32_t healthy);

#endif
