/*
 * PodDisruptionBudgets into the store, and out of it. What was counted of one that is
 * changed stays; its selector can not be changed, because who has read the old one would
 * not know that a pod is covered now.
 */
#ifndef COORD_CLI_BUDGETS_BUDGET_EDIT_H
#define COORD_CLI_BUDGETS_BUDGET_EDIT_H

#include "coord/cli/session/store_session.h"
#include "coord/service/input/budget_object.h"

enum budget_outcome { BUDGET_CREATED, BUDGET_CHANGED, BUDGET_UNCHANGED };

/* PL_EXISTS: there is one with another selector; PL_INVALID: what stands there makes no
 * sense. */
PL_NODISCARD enum pl_code budget_put(struct store_session *session,
                                     const struct budget_object *given,
                                     enum budget_outcome *outcome, struct pl_err *err);
/* PL_NOTFOUND: there is none. */
PL_NODISCARD enum pl_code budget_delete(struct store_session *session,
                                        struct pl_span namespace, struct pl_span name,
                                        struct pl_err *err);

#endif
