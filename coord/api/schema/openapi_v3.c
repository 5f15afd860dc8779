#include "coord/api/schema/openapi_v3.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "coord/api/schema/openapi_paths.h"
#include "coord/api/schema/schema_types.h"
#include "store/base/hash.h"
#include "store/base/json_put.h"

static bool is_of(const struct openapi_group *group,
                  const struct schema_resource *resource)
{
	return strcmp(group->group, resource->group) == 0 &&
	       strcmp(group->version, resource->version) == 0;
}

size_t openapi_v3_groups(struct openapi_group out[OPENAPI_GROUPS_MAX])
{
	size_t rows, count = 0;
	const struct schema_resource *row = schema_resources(&rows);

	for (size_t i = 0; i < rows; i++) {
		struct openapi_group *group = &out[count];

		if (count > 0 && is_of(&out[count - 1], &row[i]))
			continue;
		PL_ASSERT(count < OPENAPI_GROUPS_MAX);
		*group = (struct openapi_group){row[i].group, row[i].version, "", ""};
		snprintf(group->path, sizeof group->path, "%s%s/%s",
		         *row[i].group == '\0' ? "api" : "apis/", row[i].group,
		         row[i].version);
		count++;
	}
	return count;
}

/* The types of the group's resources, and of what goes with any request. */
static void add_types(struct openapi_types *types, const struct openapi_group *group)
{
	size_t rows;
	const struct schema_resource *row = schema_resources(&rows);

	for (size_t i = 0; i < rows; i++) {
		if (!is_of(group, &row[i]))
			continue;
		openapi_types_add(types, row[i].type);
		if ((row[i].subresources & SCHEMA_SUB_SCALE) != 0)
			openapi_types_add(types, &schema_autoscaling_scale);
		if ((row[i].subresources & SCHEMA_SUB_EVICTION) != 0)
			openapi_types_add(types, &schema_policy_eviction);
	}
	openapi_types_add(types, &schema_meta_status);
	openapi_types_add(types, &schema_meta_delete_options);
	openapi_types_add(types, &schema_meta_list_meta);
}

static void put_paths(struct pl_json_out *out, const struct openapi_group *group)
{
	size_t rows;
	const struct schema_resource *row = schema_resources(&rows);

	pl_json_out_name(out, "paths");
	pl_json_out_object(out);
	for (size_t i = 0; i < rows; i++)
		if (is_of(group, &row[i]))
			openapi_paths(out, OPENAPI_V3, &row[i]);
	pl_json_out_end(out);
}

enum pl_code openapi_v3_json(const struct openapi_group *group, const char *version,
                             struct pl_buf *buf)
{
	struct openapi_types types = {.used = {false}};
	struct pl_json_out out;

	add_types(&types, group);
	pl_json_out_init(&out, buf);
	pl_json_out_object(&out);
	pl_json_put_str(&out, "openapi", "3.0.0");
	pl_json_out_name(&out, "info");
	pl_json_out_object(&out);
	pl_json_put_str(&out, "title", "Placet");
	pl_json_put_str(&out, "version", version);
	pl_json_out_end(&out);
	put_paths(&out, group);
	pl_json_out_name(&out, "components");
	pl_json_out_object(&out);
	pl_json_out_name(&out, "schemas");
	pl_json_out_object(&out);
	openapi_schemas(&out, OPENAPI_V3, &types, group->group, group->version);
	pl_json_out_end(&out);
	pl_json_out_end(&out);
	pl_json_out_end(&out);
	return pl_json_out_done(&out);
}

/* Two hashes of 64 bits: clients keep documents by this alone, for as long as they like. */
void openapi_v3_hash(struct openapi_group *group, struct pl_span document)
{
	static const struct pl_hash_key key = {0x706c61636574, 0x6f70656e617069};

	snprintf(group->hash, sizeof group->hash, "%016" PRIX64 "%016" PRIX64,
	         pl_hash(document), pl_hash_keyed(document, key));
}

enum pl_code openapi_v3_index(const struct openapi_group *groups, size_t count,
                              struct pl_buf *buf)
{
	struct pl_json_out out;

	pl_json_out_init(&out, buf);
	pl_json_out_object(&out);
	pl_json_out_name(&out, "paths");
	pl_json_out_object(&out);
	for (size_t i = 0; i < count; i++) {
		char url[OPENAPI_NAME_MAX + OPENAPI_HASH_SIZE + 32];

		snprintf(url, sizeof url, "/openapi/v3/%s?hash=%s", groups[i].path,
		         groups[i].hash);
		pl_json_out_name(&out, groups[i].path);
		pl_json_out_object(&out);
		pl_json_put_str(&out, "serverRelativeURL", url);
		pl_json_out_end(&out);
	}
	pl_json_out_end(&out);
	pl_json_out_end(&out);
	return pl_json_out_done(&out);
}
