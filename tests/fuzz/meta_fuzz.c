/* A record that is accepted is written and read again as the same record. */
#include "coord/meta/meta.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct meta meta, again;
	struct pl_err err = {0};
	struct pl_buf buf;
	enum pl_code code = meta_parse(pl_span(data, size), &meta, &err);

	PL_ASSERT(code == err.code && code != PL_NOMEM);
	if (code != PL_OK)
		return 0;
	pl_buf_init(&buf, 4096);
	code = meta_print(&meta, &buf, &err);
	PL_ASSERT(code == PL_OK);
	code = meta_parse(pl_buf_span(&buf), &again, &err);
	PL_ASSERT(code == PL_OK);
	PL_ASSERT(again.partitions == meta.partitions &&
	          again.created_ms == meta.created_ms &&
	          strcmp(again.version, meta.version) == 0 &&
	          strcmp(again.incarnation, meta.incarnation) == 0);
	pl_buf_done(&buf);
	return 0;
}
