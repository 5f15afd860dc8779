/* A plan as text or JSON. */
#ifndef COORD_CLI_PLAN_PLAN_PRINT_H
#define COORD_CLI_PLAN_PLAN_PRINT_H

#include "coord/cli/output/output.h"
#include "coord/service/plan/plan.h"

/* Prints it to stdout. OUTPUT_TABLE or OUTPUT_JSON. */
PL_NODISCARD enum pl_code plan_print(const struct plan *plan, enum output_format format,
                                     struct pl_err *err);

#endif
