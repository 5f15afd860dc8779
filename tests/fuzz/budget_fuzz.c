/* A disruption budget, with what was counted. */
#include "shardsched/records/budget_record.h"
#include "tests/fuzz/value.h"

FUZZ_VALUE(struct budget_record, budget_record, 2 * (size_t)BUDGET_BYTES_MAX, true)
