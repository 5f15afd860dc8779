/*
 * Any body is refused with a reason, or becomes a tree that the decoder of JSON takes
 * for what it is: of known fields and right types.
 */
#include "coord/api/schema/schema_check.h"
#include "coord/api/schema/schema_protobuf.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct schema_protobuf out;
	struct schema_report report;
	struct pl_arena arena;
	struct pl_err err = {0};
	enum pl_code code;

	pl_arena_init(&arena, 0, 64 << 20);
	schema_report_init(&report, &arena);
	code = schema_protobuf_decode(&arena, pl_span(data, size), NULL, NULL, &out,
	                              &err);
	if (code == PL_OK) {
		code = schema_decode(&out.tree, out.type, &report);
		PL_ASSERT(code == PL_OK || code == PL_NOMEM || report.wrong.len > 0);
		PL_ASSERT(report.unknown_count == 0);
	} else {
		PL_ASSERT(err.code == code && err.msg[0] != 0);
	}
	pl_arena_done(&arena);
	return 0;
}
