/* A PodDisruptionBudget of a file, as it is to be stored. */
#ifndef COORD_CLI_BUDGET_GIVEN_H
#define COORD_CLI_BUDGET_GIVEN_H

#include "shardsched/ledger/budget.h"

/* Spans are in the arena. */
struct budget_given {
	struct pl_span space, name;
	struct pl_span object; /* as it is stored: compact, without a status */
};

/* One of a file; space is that of objects which name none. PL_INVALID with the path and
 * the reason, PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code budget_given(struct pl_arena *arena, struct pl_span json,
                                       struct pl_span space, struct budget_given *out,
                                       struct pl_err *err);

/* As the API server would, and that it says how many may go. To be dropped whatever comes
 * of it. */
PL_NODISCARD enum pl_code budget_check(struct model *model, struct pl_arena *arena,
                                       struct pl_span object, struct budget *out,
                                       struct pl_err *err);

#endif
