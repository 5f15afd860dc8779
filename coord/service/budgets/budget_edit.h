/*
 * Budget edit: puts one PodDisruptionBudget into the store, or deletes it.
 *
 *	read --> decide --> commit --> done
 *	  ^                   | changed meanwhile, or the outcome is unknown
 *	  `-------------------'
 *
 * Invariants
 *  - What was counted of a budget that is changed stays (budget_record.h).
 *  - A budget's selector is never changed: a shard that has read the old one would not
 *    know that a pod is covered now.
 *  - Whatever changes which budgets there are bumps /budgets/lock, which evictions
 *    compare.
 */
#ifndef COORD_SERVICE_BUDGETS_BUDGET_EDIT_H
#define COORD_SERVICE_BUDGETS_BUDGET_EDIT_H

#include "coord/service/base/service.h"
#include "coord/service/input/budget_object.h"

enum budget_outcome { BUDGET_CREATED, BUDGET_CHANGED, BUDGET_UNCHANGED, BUDGET_DELETED };

struct budget_edit;

/* outcome counts only without err. PL_EXISTS: the budget is there with another
 * selector. PL_INVALID: the stored budget is malformed. PL_NOTFOUND: there is none
 * to delete. PL_CONFLICT: it changed again and again. */
typedef void budget_edit_fn(void *ctx, enum budget_outcome outcome,
                            const struct pl_err *err);

PL_NODISCARD enum pl_code budget_put_start(const struct service *service,
                                           const struct budget_object *budget,
                                           budget_edit_fn *done, void *ctx,
                                           struct budget_edit **out, struct pl_err *err);
PL_NODISCARD enum pl_code budget_delete_start(const struct service *service,
                                              struct pl_span namespace,
                                              struct pl_span name, budget_edit_fn *done,
                                              void *ctx, struct budget_edit **out,
                                              struct pl_err *err);
void budget_edit_cancel(struct budget_edit *edit);

#endif
