/* An owner that is accepted is printed and read as the same one. */
#include "coord/claims/owner.h"
#include "store/keys/names.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct owner owner = {.epoch = 7, .lease = 9}, again = {.epoch = 0};
	struct pl_err err = {0};
	struct pl_buf buf;
	enum pl_code code = owner_parse(pl_span(data, size), &owner, &err);

	PL_ASSERT(code == err.code && owner.epoch == 7 && owner.lease == 9);
	if (code != PL_OK) {
		PL_ASSERT(owner.shard[0] == 0);
		return 0;
	}
	PL_ASSERT(names_check(NAMES_SHARD, pl_span_str(owner.shard), NULL) == PL_OK);
	pl_buf_init(&buf, 1024);
	PL_ASSERT(owner_print(pl_span_str(owner.shard), &buf, NULL) == PL_OK);
	PL_ASSERT(owner_parse(pl_buf_span(&buf), &again, NULL) == PL_OK);
	PL_ASSERT(strcmp(owner.shard, again.shard) == 0);
	pl_buf_done(&buf);
	return 0;
}
