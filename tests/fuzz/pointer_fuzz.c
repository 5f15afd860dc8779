/* A pointer leads to a partition that there can be, and is printed as one. */
#include "shardsched/records/pod_location.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t partition = UINT32_MAX, again = 0;
	bool is_pointer = false, still = false;
	struct pl_err err = {0};
	char text[POINTER_TEXT_SIZE];
	enum pl_code code =
		pointer_parse(pl_span(data, size), &is_pointer, &partition, &err);

	PL_ASSERT(code == err.code && (code == PL_OK || code == PL_INVALID));
	if (code != PL_OK || !is_pointer) {
		PL_ASSERT(!is_pointer && partition == UINT32_MAX);
		return 0;
	}
	PL_ASSERT(partition < KEYS_PARTITIONS_MAX);
	code = pointer_parse(pointer_text(partition, text), &still, &again, NULL);
	PL_ASSERT(code == PL_OK && still && again == partition);
	return 0;
}
