/* What is accepted is printed and read back as the same. */
#include "coord/elect/leader.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct leader leader, again;
	struct pl_err err = {0};
	struct pl_buf buf;
	enum pl_code code = leader_parse(pl_span(data, size), &leader, &err);

	PL_ASSERT(code == err.code && strlen(err.msg) < sizeof err.msg);
	if (code != PL_OK)
		return 0;
	pl_buf_init(&buf, 512);
	PL_ASSERT(leader_print(pl_span_str(leader.shard), &buf, NULL) == PL_OK);
	PL_ASSERT(leader_parse(pl_buf_span(&buf), &again, NULL) == PL_OK);
	PL_ASSERT(strcmp(leader.shard, again.shard) == 0);
	pl_buf_done(&buf);
	return 0;
}
