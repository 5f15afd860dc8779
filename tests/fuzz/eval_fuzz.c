/*
 * Any case is refused with an error text, or has verdicts, which are JSON and equal
 * themselves; any expectation can be compared with the verdicts.
 */
#include "coord/cli/eval/eval_compare.h"
#include "tests/fuzz/fuzz.h"

static void on_difference(void *ctx, const struct eval_difference *it)
{
	size_t *count = ctx;

	PL_ASSERT(it->part != NULL && it->plugin != NULL && it->node != NULL);
	++*count;
}

static void check_compare(struct pl_arena *arena, const struct eval_case *it,
                          struct pl_span ours)
{
	struct eval_case same = *it;
	struct pl_err err = {0};
	size_t count = 0, told = 0;
	enum pl_code code;

	code = eval_compare(arena, it, ours, on_difference, &told, &count, &err);
	PL_ASSERT(code == PL_OK ? told == count : err.msg[0] != 0);
	code = pl_json_parse(arena, ours, NULL, &same.expect, &err);
	if (code != PL_OK)
		return; /* larger than what is read by default */
	told = 0;
	code = eval_compare(arena, &same, ours, on_difference, &told, &count, &err);
	PL_ASSERT(code == PL_OK && count == 0 && told == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pl_err err = {0};
	struct pl_arena arena;
	struct eval_case it;
	struct pl_buf ours;
	enum pl_code code;

	pl_arena_init(&arena, 0, EVAL_ARENA_MAX);
	pl_buf_init(&ours, EVAL_OUT_MAX);
	code = eval_case_read(&arena, pl_span(data, size), &it, &err);
	if (code == PL_OK)
		code = eval_case_run(&arena, &it, &ours, &err);
	PL_ASSERT(code == PL_OK || (err.code == code && err.msg[0] != 0));
	if (code == PL_OK)
		check_compare(&arena, &it, pl_buf_span(&ours));
	pl_buf_done(&ours);
	pl_arena_done(&arena);
	return 0;
}
