/* The walk for unknown fields stays inside any object and ends; a path fits its buffer,
 * and the suggested field name differs from the unknown one. */
#include <string.h>

#include "coord/service/input/unknown_fields.h"
#include "store/base/json_scan.h"
#include "tests/fuzz/fuzz.h"

static void on_unknown(void *ctx, const char *path, const char *like)
{
	(void)ctx;
	PL_ASSERT(strlen(path) < UNKNOWN_FIELD_PATH_SIZE);
	PL_ASSERT(like == NULL || strlen(like) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pl_span json = pl_span(data, size);

	if (size == 0 || data[0] != '{' ||
	    pl_json_scan(json, &pl_json_limits_default, NULL) != PL_OK)
		return 0;
	for (unsigned source = 0; source <= EXPAND_NOTHING; source++)
		unknown_fields_find((enum expand_source)source, json, on_unknown, NULL);
	return 0;
}
