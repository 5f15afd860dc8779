/* A record that is accepted is written and read again as the same record. */
#include "coord/membership/membership.h"
#include "tests/fuzz/fuzz.h"

static const char name[] = "east-0";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pl_span id = pl_span_str(name);
	struct pl_arena arena;
	struct pl_buf one, two;
	struct pl_err err = {0};
	struct membership member;
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&one, MEMBERSHIP_BYTES_MAX);
	pl_buf_init(&two, MEMBERSHIP_BYTES_MAX);
	code = membership_parse(id, pl_span(data, size), &arena, &member, &err);
	PL_ASSERT(code == err.code && code != PL_NOMEM);
	if (code == PL_OK) {
		PL_ASSERT(pl_span_eq(member.id, id) && member.loads != NULL);
		code = membership_print(&member, &one, &err);
		PL_ASSERT(code == PL_OK);
		code = membership_parse(id, pl_buf_span(&one), &arena, &member, &err);
		PL_ASSERT(code == PL_OK);
		code = membership_print(&member, &two, &err);
		PL_ASSERT(code == PL_OK);
		PL_ASSERT(pl_span_eq(pl_buf_span(&one), pl_buf_span(&two)));
	}
	pl_buf_done(&two);
	pl_buf_done(&one);
	pl_arena_done(&arena);
	return 0;
}
