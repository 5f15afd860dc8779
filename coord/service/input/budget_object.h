/* A PodDisruptionBudget of a file, as it is to be stored. */
#ifndef COORD_SERVICE_INPUT_BUDGET_OBJECT_H
#define COORD_SERVICE_INPUT_BUDGET_OBJECT_H

#include "shardsched/records/budget_record.h"

/* Spans are in the arena. */
struct budget_object {
	struct pl_span namespace, name;
	struct pl_span object; /* as it is stored: compact, without a status */
};

/* Reads one from a file; namespace is for objects that name none. PL_INVALID with
 * the path and the reason, PL_LIMIT, PL_NOMEM. */
PL_NODISCARD enum pl_code budget_object_read(struct pl_arena *arena, struct pl_span json,
                                             struct pl_span namespace,
                                             struct budget_object *out,
                                             struct pl_err *err);

/* Checks the object as the API server would, and that it limits disruptions. *out
 * has to be dropped in any case. */
PL_NODISCARD enum pl_code budget_object_check(struct model *model, struct pl_arena *arena,
                                              struct pl_span object, struct budget *out,
                                              struct pl_err *err);

#endif
