/* An alloc that is accepted is printed in one way only, and read again as the same. */
#include "shardsched/ledger/alloc.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct alloc alloc = {.generation = 99};
	struct pl_arena arena;
	struct pl_buf one, two;
	struct pl_err err = {0};
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&one, ALLOC_BYTES_MAX + 1);
	pl_buf_init(&two, ALLOC_BYTES_MAX + 1);
	code = alloc_parse(pl_span(data, size), &arena, &alloc, &err);
	PL_ASSERT(code == err.code && code != PL_NOMEM);
	if (code == PL_OK) {
		code = alloc_print(&alloc, &one, &err);
		PL_ASSERT(code == PL_OK);
		code = alloc_parse(pl_buf_span(&one), &arena, &alloc, &err);
		PL_ASSERT(code == PL_OK);
		code = alloc_print(&alloc, &two, &err);
		PL_ASSERT(code == PL_OK);
		PL_ASSERT(pl_span_eq(pl_buf_span(&one), pl_buf_span(&two)));
	} else {
		PL_ASSERT(alloc.generation == 99);
	}
	pl_buf_done(&two);
	pl_buf_done(&one);
	pl_arena_done(&arena);
	return 0;
}
