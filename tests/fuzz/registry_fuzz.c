/* A registry that is accepted is printed in one way only, and read again as the same. */
#include "shardsched/ledger/registry.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct registry registry = {.terms = 99};
	struct pl_arena arena;
	struct pl_buf one, two;
	struct pl_err err = {0};
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&one, 2 * (size_t)REGISTRY_BYTES_MAX);
	pl_buf_init(&two, 2 * (size_t)REGISTRY_BYTES_MAX);
	code = registry_parse(pl_span(data, size), &arena, &registry, &err);
	PL_ASSERT(code == err.code && code != PL_NOMEM);
	if (code == PL_OK) {
		code = registry_print(&registry, &one, &err);
		PL_ASSERT(code == PL_OK || code == PL_LIMIT);
	} else {
		PL_ASSERT(registry.terms == 99);
	}
	if (code == PL_OK) {
		code = registry_parse(pl_buf_span(&one), &arena, &registry, &err);
		PL_ASSERT(code == PL_OK);
		code = registry_print(&registry, &two, &err);
		PL_ASSERT(code == PL_OK);
		PL_ASSERT(pl_span_eq(pl_buf_span(&one), pl_buf_span(&two)));
	}
	pl_buf_done(&two);
	pl_buf_done(&one);
	pl_arena_done(&arena);
	return 0;
}
