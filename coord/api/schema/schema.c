#include "coord/api/schema/schema.h"

#include <stdio.h>

#include "coord/api/schema/schema_types.h"

static const struct schema_type *const types[] = {
#define TYPE_ROW(word) &schema_##word,
	SCHEMA_TYPES_MAP(TYPE_ROW)
#undef TYPE_ROW
};

/* Objects that are sent and are no resource. */
static const struct {
	const char *api_version, *kind;
	const struct schema_type *type;
} other_kinds[] = {
	{"autoscaling/v1", "Scale", &schema_autoscaling_scale},
	{"policy/v1", "Eviction", &schema_policy_eviction},
	{"policy/v1beta1", "Eviction", &schema_policy_eviction}, /* of older kubectls */
	{NULL, "DeleteOptions", &schema_meta_delete_options},    /* of every group */
	{"v1", "Status", &schema_meta_status},
};

const struct schema_type *const *schema_types(size_t *count)
{
	*count = sizeof types / sizeof types[0];
	return types;
}

const struct schema_type *schema_type_named(const char *name)
{
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (strcmp(types[i]->name, name) == 0)
			return types[i];
	return NULL;
}

bool schema_field_atomic(const struct schema_field *field)
{
	if ((field->flags & SCHEMA_APPLY_WHOLE) != 0)
		return true;
	if (field->kind == SCHEMA_OBJECT && field->shape == SCHEMA_ONE)
		return field->list == SCHEMA_ATOMIC || field->type->atomic;
	return field->list == SCHEMA_ATOMIC;
}

/* Comparing the first byte spares most calls of strcmp: objects are read by this. */
const struct schema_field *schema_field_find(const struct schema_type *type,
                                             const char *name)
{
	for (const struct schema_field *field = type->fields; field->name != NULL;
	     field++)
		if (field->name[0] == name[0] && strcmp(field->name, name) == 0)
			return field;
	return NULL;
}

void schema_members(const struct schema_type *type, struct pl_json object,
                    struct pl_json out[SCHEMA_FIELDS_MAX])
{
	const struct schema_field *field = type->fields;

	for (; field->name != NULL; field++)
		out[field - type->fields] = (struct pl_json){NULL, NULL};
	PL_ASSERT(field - type->fields <= SCHEMA_FIELDS_MAX);
	PL_JSON_EACH (item, object) {
		field = schema_field_find(type, pl_json_key(item));
		if (field != NULL)
			out[field - type->fields] = item;
	}
}

static bool is_text(struct pl_span span, const char *text)
{
	return pl_span_eq(span, pl_span_str(text));
}

const struct schema_field *schema_field_find_span(const struct schema_type *type,
                                                  struct pl_span name)
{
	for (const struct schema_field *field = type->fields; field->name != NULL;
	     field++)
		if (name.len > 0 && is_text(name, field->name))
			return field;
	return NULL;
}

const struct schema_resource *schema_resource_find(struct pl_span group,
                                                   struct pl_span version,
                                                   struct pl_span plural)
{
	size_t count;
	const struct schema_resource *row = schema_resources(&count);

	for (size_t i = 0; i < count; i++)
		if (plural.len > 0 && plural.at[0] == (uint8_t)row[i].plural[0] &&
		    is_text(plural, row[i].plural) && is_text(group, row[i].group) &&
		    is_text(version, row[i].version))
			return &row[i];
	return NULL;
}

const char *schema_api_version(const struct schema_resource *resource, char out[128])
{
	snprintf(out, 128, "%s%s%s", resource->group, *resource->group == '\0' ? "" : "/",
	         resource->version);
	return out;
}

const struct schema_resource *schema_kind_find(struct pl_span api_version,
                                               struct pl_span kind)
{
	char text[128];
	size_t count;
	const struct schema_resource *row = schema_resources(&count);

	for (size_t i = 0; i < count; i++)
		if (pl_span_eq(kind, pl_span_str(row[i].kind)) &&
		    pl_span_eq(api_version,
		               pl_span_str(schema_api_version(&row[i], text))))
			return &row[i];
	return NULL;
}

const struct schema_type *schema_type_of_kind(struct pl_span api_version,
                                              struct pl_span kind)
{
	const struct schema_resource *resource = schema_kind_find(api_version, kind);

	if (resource != NULL)
		return resource->type;
	for (size_t i = 0; i < sizeof other_kinds / sizeof *other_kinds; i++)
		if (pl_span_eq(kind, pl_span_str(other_kinds[i].kind)) &&
		    (other_kinds[i].api_version == NULL ||
		     pl_span_eq(api_version, pl_span_str(other_kinds[i].api_version))))
			return other_kinds[i].type;
	return NULL;
}
