/* A budget that is accepted is printed in one way only, and read again as the same. */
#include "shardsched/ledger/budget.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct budget_record record = {.disrupted_count = 99};
	struct pl_arena arena;
	struct pl_buf one, two;
	struct pl_err err = {0};
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&one, 2 * (size_t)BUDGET_BYTES_MAX);
	pl_buf_init(&two, 2 * (size_t)BUDGET_BYTES_MAX);
	code = budget_record_parse(pl_span(data, size), &arena, &record, &err);
	PL_ASSERT(code == err.code && code != PL_NOMEM);
	if (code == PL_OK) {
		code = budget_record_print(&record, &one, &err);
		PL_ASSERT(code == PL_OK || code == PL_LIMIT);
	} else {
		PL_ASSERT(record.disrupted_count == 99);
	}
	if (code == PL_OK) {
		code = budget_record_parse(pl_buf_span(&one), &arena, &record, &err);
		PL_ASSERT(code == PL_OK);
		code = budget_record_print(&record, &two, &err);
		PL_ASSERT(code == PL_OK);
		PL_ASSERT(pl_span_eq(pl_buf_span(&one), pl_buf_span(&two)));
	}
	pl_buf_done(&two);
	pl_buf_done(&one);
	pl_arena_done(&arena);
	return 0;
}
