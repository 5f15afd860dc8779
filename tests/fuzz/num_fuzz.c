/* A number that is accepted prints as the text that it was read from. */
#include "store/base/num.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pl_span text = pl_span(data, size);
	struct pl_err err = {0};
	char back[PL_NUM_TEXT_SIZE];
	uint64_t u = 0;
	int64_t i = 0;
	uint16_t port = 0;
	enum pl_code code = pl_num_u64(text, &u, &err);

	PL_ASSERT(code == err.code);
	if (code == PL_OK)
		PL_ASSERT(pl_span_eq(text, pl_span(back, pl_num_print_u64(back, u))));
	if (pl_num_i64(text, &i, &err) == PL_OK) {
		PL_ASSERT(pl_span_eq(text, pl_span(back, pl_num_print_i64(back, i))));
		PL_ASSERT(i < 0 || (code == PL_OK && u == (uint64_t)i));
	}
	if (pl_num_port(text, &port, &err) == PL_OK)
		PL_ASSERT(code == PL_OK && port == u && port != 0);
	PL_ASSERT(strlen(err.msg) < sizeof err.msg);
	return 0;
}
