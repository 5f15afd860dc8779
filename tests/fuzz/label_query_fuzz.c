/* Reading and matching any selector stays in bounds; the spans that it borrows lie in
 * its text. */
#include "coord/service/input/label_query.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pl_span object =
		PL_SPAN_LIT("{\"metadata\":{\"labels\":{\"app\":\"web\",\"b\":\"\"}}}");
	struct pl_span text = pl_span(data, size);
	struct label_query query = {.requirements = 0};
	struct pl_err err = {0};

	if (label_query_parse(text, &query, &err) != PL_OK) {
		PL_ASSERT(err.msg[0] != 0);
		return 0;
	}
	PL_ASSERT(query.requirements > 0);
	for (unsigned i = 0; i < query.values; i++)
		PL_ASSERT(query.value[i].len == 0 ||
		          (query.value[i].at >= data &&
		           query.value[i].at + query.value[i].len <= data + size));
	(void)label_query_matches(&query, object);
	(void)label_query_matches(&query, text);
	return 0;
}
