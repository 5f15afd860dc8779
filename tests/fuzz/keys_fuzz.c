/* A key that is accepted builds the same bytes again. */
#include "store/keys/keys.h"
#include "store/keys/names.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct keys_id id = {0};
	struct pl_err err = {0};
	struct keys_text text;
	enum pl_code code = keys_parse(pl_span(data, size), &id, &err);

	PL_ASSERT(code == err.code && strlen(err.msg) < sizeof err.msg);
	if (code == PL_OK) {
		PL_ASSERT(keys_build(&id, &text, NULL) == PL_OK);
		PL_ASSERT(pl_span_eq(keys_span(&text), pl_span(data, size)));
	}
	for (int kind = 0; kind < NAMES_KIND_COUNT; kind++)
		if (names_check((enum names_kind)kind, pl_span(data, size), NULL) ==
		    PL_OK)
			PL_ASSERT(memchr(data, '/', size) == NULL && size <= 253);
	return 0;
}
