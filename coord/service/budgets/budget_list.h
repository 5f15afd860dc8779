/*
 * A budget list: the PodDisruptionBudgets of a namespace, or all of them, at one revision,
 * with what was counted for each.
 */
#ifndef COORD_SERVICE_BUDGETS_BUDGET_LIST_H
#define COORD_SERVICE_BUDGETS_BUDGET_LIST_H

#include "coord/service/base/service.h"
#include "shardsched/records/budget_record.h"

enum { BUDGET_LIST_MAX = 1000000 };

struct budget_info {
	struct pl_span namespace, name;
	struct pl_span note; /* why it is malformed; empty: it is not */
	struct budget_rule rule;
	bool counted; /* status counts */
	struct budget_status status;
	uint32_t disrupted; /* pods that were asked to go and are not counted yet */
};

struct budget_list;

struct budget_list_opts {
	struct pl_span namespace; /* empty: any */
	/* err NULL: the list can be read until budget_list_free. */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code budget_list_start(const struct service *service,
                                            const struct budget_list_opts *opts,
                                            struct budget_list **out, struct pl_err *err);
void budget_list_cancel(struct budget_list *list);
/* Frees the list, in done or later. Takes NULL. */
void budget_list_free(struct budget_list *list);

/* Sorted by namespace and name. */
const struct budget_info *budget_list_budgets(const struct budget_list *list,
                                              size_t *count);

#endif
