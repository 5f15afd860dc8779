/*
 * Budget edit: puts one PodDisruptionBudget into the store, or deletes it.
 *
 *	read --> decide --> commit --> done
 *	  ^                   | changed meanwhile, or the outcome is unknown
 *	  `-------------------'
 *
 * An edit may name the revision that it was made from: then it is refused if the budget
 * has another one, as it is when only what was counted of the budget is newer.
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

enum { BUDGET_ANY_REVISION = -1 };

struct budget_edit;

/* outcome and revision count only without err; the revision is that of the budget as it
 * stands, or of its deletion (0: not known). PL_EXISTS: the budget is there with another
 * selector. PL_INVALID: the stored budget is malformed. PL_NOTFOUND: there is none
 * to delete. PL_CONFLICT: it has another revision than seen, or changed again and
 * again. */
typedef void budget_edit_fn(void *ctx, enum budget_outcome outcome, int64_t revision,
                            const struct pl_err *err);

/* seen: the revision that the edit was made from; 0: there must be no budget (not of a
 * deletion); or BUDGET_ANY_REVISION. */

PL_NODISCARD enum pl_code budget_put_start(const struct service *service,
                                           const struct budget_object *budget,
                                           int64_t seen, budget_edit_fn *done, void *ctx,
                                           struct budget_edit **out, struct pl_err *err);
PL_NODISCARD enum pl_code budget_delete_start(const struct service *service,
                                              struct pl_span namespace,
                                              struct pl_span name, int64_t seen,
                                              budget_edit_fn *done, void *ctx,
                                              struct budget_edit **out,
                                              struct pl_err *err);
void budget_edit_cancel(struct budget_edit *edit);

#endif
