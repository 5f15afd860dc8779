/* A duration that is accepted reads back the same from how it prints. */
#include "store/base/duration.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pl_err err = {0};
	char text[PL_DURATION_TEXT_SIZE];
	int64_t ns = 0, again = 0;
	uint64_t ms = 0;
	enum pl_code code = pl_duration_ns(pl_span(data, size), &ns, &err);

	PL_ASSERT(code == err.code);
	if (code != PL_OK)
		return 0;
	code = pl_duration_ns(pl_span_str(pl_duration_print(ns, text)), &again, NULL);
	PL_ASSERT(strlen(text) < sizeof text);
	PL_ASSERT(code == PL_OK && again == ns);
	code = pl_duration_ms(pl_span(data, size), 1, 3600000, &ms, NULL);
	PL_ASSERT(code != PL_OK || (ms >= 1 && ms <= 3600000));
	PL_ASSERT(code != PL_OK || (int64_t)ms * 1000000 == ns);
	return 0;
}
