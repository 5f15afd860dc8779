/* Any object that expands becomes pods: JSON that parses as a pod, each with a name
 * that a key can have. */
#include "shardsched/expand/expand.h"
#include "store/base/json_scan.h"
#include "store/keys/partition.h"
#include "tests/fuzz/fuzz.h"

enum { PODS = 3 };

static void check_expanded(struct expand *expand)
{
	struct pl_err err = {0};
	struct expand_pod pod;

	for (unsigned i = 0; i < PODS; i++) {
		uint32_t partition;
		enum pl_code code = expand_next(expand, &pod, &err);

		PL_ASSERT(code == err.code || code == PL_NOTFOUND);
		if (code != PL_OK)
			return;
		PL_ASSERT(pl_json_scan(pod.json, &pl_json_limits_default, NULL) == PL_OK);
		PL_ASSERT(expand_source_of(pod.json) == EXPAND_POD);
		PL_ASSERT(partition_of_pod(pod.namespace, pod.name, 8, &partition,
		                           &err) == PL_OK);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pl_span json = pl_span(data, size);
	enum expand_source source;
	struct pl_err err = {0};
	struct expand expand;

	if (size == 0 || data[0] != '{' ||
	    pl_json_scan(json, &pl_json_limits_default, NULL) != PL_OK)
		return 0;
	expand_init(&expand, PL_SPAN_LIT("default"));
	source = expand_source_of(json);
	if (source == EXPAND_CLASS)
		PL_ASSERT(expand_class(&expand, json, &err) == err.code);
	else if (source < EXPAND_CLASS &&
	         expand_begin(&expand, source, json, &err) == PL_OK)
		check_expanded(&expand);
	expand_done(&expand);
	return 0;
}
