/* A digest that is accepted is printed in one way only, and read again as the same. */
#include "shardsched/ledger/digest.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct digest digest = {.parts = 99};
	struct pl_arena arena;
	struct pl_buf one, two;
	struct pl_err err = {0};
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&one, DIGEST_BYTES_MAX);
	pl_buf_init(&two, DIGEST_BYTES_MAX);
	code = digest_parse(pl_span(data, size), &arena, &digest, &err);
	PL_ASSERT(code == err.code && code != PL_NOMEM);
	if (code == PL_OK) {
		code = digest_print(&digest, &one, &err);
		PL_ASSERT(code == PL_OK || code == PL_LIMIT);
	}
	if (code == PL_OK) {
		code = digest_parse(pl_buf_span(&one), &arena, &digest, &err);
		PL_ASSERT(code == PL_OK);
		code = digest_print(&digest, &two, &err);
		PL_ASSERT(code == PL_OK);
		PL_ASSERT(pl_span_eq(pl_buf_span(&one), pl_buf_span(&two)));
	} else if (one.len == 0 && digest.parts != 99) {
		PL_ASSERT(code == PL_LIMIT); /* written out it is longer */
	}
	pl_buf_done(&two);
	pl_buf_done(&one);
	pl_arena_done(&arena);
	return 0;
}
