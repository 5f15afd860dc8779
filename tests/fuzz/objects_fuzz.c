/* Every object that the reader reports, of any file, is one JSON object. */
#include "coord/cli/input/objects.h"
#include "store/base/json_scan.h"
#include "tests/fuzz/fuzz.h"

static enum pl_code on_object(void *ctx, struct pl_span kind, struct pl_span json,
                              struct pl_err *err)
{
	static const struct pl_json_limits limits = {
		.bytes = 1 << 30, .depth = PL_JSON_DEPTH_MAX, .values = 100 << 20};

	(void)ctx;
	(void)kind;
	PL_ASSERT(json.len >= 2 && json.at[0] == '{');
	PL_ASSERT(pl_json_scan(json, &limits, err) == PL_OK);
	return PL_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pl_err err = {0};
	enum pl_code code = objects_parse(pl_span(data, size), on_object, NULL, &err);

	PL_ASSERT(code == err.code);
	return 0;
}
