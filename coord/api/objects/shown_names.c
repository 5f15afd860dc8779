#include "coord/api/objects/shown_names.h"

#include <stdio.h>

#include "coord/config/config.h"

static bool is_named(const struct schema_resource *resource, const char *plural)
{
	return strcmp(resource->group, "placet.io") == 0 &&
	       strcmp(resource->plural, plural) == 0;
}

bool shown_names_any(const struct schema_resource *resource)
{
	return is_named(resource, "partitions") || is_named(resource, "configs");
}

bool shown_name_at(const struct sources *sources, const struct schema_resource *resource,
                   uint32_t index, char out[SHOWN_NAME_SIZE])
{
	static const enum config_name configs[CONFIG_NAME_COUNT] = {
		CONFIG_ACCESS, CONFIG_COORD, CONFIG_SCHEDULER, CONFIG_SHARDS,
		CONFIG_WEIGHTS};

	if (is_named(resource, "partitions")) {
		(void)snprintf(out, SHOWN_NAME_SIZE, "%04u", (unsigned)index);
		return index < sources->partitions;
	}
	if (!is_named(resource, "configs") || index >= CONFIG_NAME_COUNT)
		return false;
	(void)snprintf(out, SHOWN_NAME_SIZE, "%s", config_name_text(configs[index]));
	return true;
}

uint32_t shown_name_behind(const struct sources *sources,
                           const struct schema_resource *resource, struct pl_span name)
{
	char text[SHOWN_NAME_SIZE];

	for (uint32_t i = 0; shown_name_at(sources, resource, i, text); i++)
		if (pl_span_eq(name, pl_span_str(text)))
			return i + 1;
	return UINT32_MAX;
}

struct object shown_name_object(const struct schema_resource *resource,
                                struct pl_span name, struct pl_span order)
{
	return (struct object){.resource = resource,
	                       .name = name,
	                       .part = {object_no_entry},
	                       .order = order};
}
