/*
 * What a PodDisruptionBudget asks for: how many pods are to stay, or may be away; of all
 * that are expected, or a part of them.
 *
 *	minAvailable: 3     maxUnavailable: "25%"
 *
 * Parts are rounded up, as Kubernetes does: both of what is to stay and of what may go.
 */
#ifndef SHARDSCHED_MODEL_BUDGET_RULE_H
#define SHARDSCHED_MODEL_BUDGET_RULE_H

#include "shardsched/model/reader.h"
#include "shardsched/model/validate.h"

enum budget_kind {
	BUDGET_NOTHING, /* it says neither: nobody may go */
	BUDGET_MIN_AVAILABLE,
	BUDGET_MAX_UNAVAILABLE,
};

struct budget_rule {
	enum budget_kind kind;
	bool percent;
	uint32_t amount;
};

/* As it is read; what makes no sense is seen by the check. */
struct draft_budget_rule {
	bool has_min, has_max;
	bool bad_min, bad_max;
	bool percent_min, percent_max;
	uint32_t min, max;
	struct pl_span policy;
};

struct draft_budget_rule reader_budget_rule(struct reader *reader, struct pl_json spec);
/* With the path at the root. */
void validate_budget_rule(struct validate *v, const struct draft_budget_rule *draft);
/* What makes no sense is as if it were not there. */
struct budget_rule budget_rule_of(const struct draft_budget_rule *draft);

static inline bool budget_rule_same(struct budget_rule a, struct budget_rule b)
{
	return a.kind == b.kind && a.percent == b.percent && a.amount == b.amount;
}

/* How many of so many are to be healthy. */
uint32_t budget_rule_desired(struct budget_rule rule, uint32_t expected);
/* How many of the healthy ones may go then. */
uint32_t budget_allowed(uint32_t expected, uint32_t desired, uint32_t healthy);

#endif
