/* An accepted holder is printed and read back as the same. */
#include "coord/membership/holder.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct holder leader, again;
	struct pl_err err = {0};
	struct pl_buf buf;
	enum pl_code code = holder_parse(pl_span(data, size), &leader, &err);

	PL_ASSERT(code == err.code && strlen(err.msg) < sizeof err.msg);
	if (code != PL_OK)
		return 0;
	pl_buf_init(&buf, 512);
	PL_ASSERT(holder_print(pl_span_str(leader.shard), &buf, NULL) == PL_OK);
	PL_ASSERT(holder_parse(pl_buf_span(&buf), &again, NULL) == PL_OK);
	PL_ASSERT(strcmp(leader.shard, again.shard) == 0);
	pl_buf_done(&buf);
	return 0;
}
