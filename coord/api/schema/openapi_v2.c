#include "coord/api/schema/openapi_v2.h"

#include "coord/api/schema/openapi_paths.h"
#include "coord/api/schema/schema_types.h"
#include "store/base/json_put.h"

enum pl_code openapi_v2_json(const char *version, struct pl_buf *buf)
{
	struct openapi_types types = {.used = {false}};
	struct pl_json_out out;
	size_t count, rows;
	const struct schema_type *const *all = schema_types(&count);
	const struct schema_resource *row = schema_resources(&rows);

	for (size_t i = 0; i < count; i++)
		openapi_types_add(&types, all[i]);
	pl_json_out_init(&out, buf);
	pl_json_out_object(&out);
	pl_json_put_str(&out, "swagger", "2.0");
	pl_json_out_name(&out, "info");
	pl_json_out_object(&out);
	pl_json_put_str(&out, "title", "Placet");
	pl_json_put_str(&out, "version", version);
	pl_json_out_end(&out);
	pl_json_out_name(&out, "paths");
	pl_json_out_object(&out);
	for (size_t i = 0; i < rows; i++)
		openapi_paths(&out, OPENAPI_V2, &row[i]);
	pl_json_out_end(&out);
	pl_json_out_name(&out, "definitions");
	pl_json_out_object(&out);
	openapi_schemas(&out, OPENAPI_V2, &types, NULL, NULL);
	pl_json_out_end(&out);
	pl_json_out_end(&out);
	return pl_json_out_done(&out);
}
