#include "coord/api/schema/openapi_schema.h"

#include <stdio.h>
#include <string.h>

#include "coord/api/schema/schema_types.h"
#include "store/base/json_put.h"

#define QUANTITY "io.k8s.apimachinery.pkg.api.resource.Quantity"
#define INT_OR_STRING "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
#define TIME OPENAPI_META "Time"
#define MICRO_TIME OPENAPI_META "MicroTime"
#define FIELDS OPENAPI_META "FieldsV1"
#define PATCH OPENAPI_META "Patch"

/* Types that are a scalar, or anything, in JSON. */
static const struct {
	const char *name, *doc, *type, *format, *other; /* other: a second type */
} plain_types[] = {
	{QUANTITY, "An amount: digits with a suffix, such as 500m, 2 or 1.5Gi.", "string",
         NULL, "number"},
	{INT_OR_STRING, "A whole number, or a text such as 25% or the name of a port.",
         "string", "int-or-string", "integer"},
	{TIME, "A time in RFC 3339, in whole seconds.", "string", "date-time", NULL},
	{MICRO_TIME, "A time in RFC 3339 with microseconds.", "string", "date-time",
         NULL},
	{FIELDS, "A set of fields, as a tree of their names.", "object", NULL, NULL},
	{PATCH, "A change of an object, in the form that the content type says.",
         "object", NULL, NULL},
};

/* NOLINTNEXTLINE(misc-no-recursion): each type of the table is added once */
void openapi_types_add(struct openapi_types *types, const struct schema_type *type)
{
	size_t count, at = 0;
	const struct schema_type *const *all = schema_types(&count);

	PL_ASSERT(count <= OPENAPI_TYPES_MAX);
	while (at < count && all[at] != type)
		at++;
	PL_ASSERT(at < count);
	if (types->used[at])
		return;
	types->used[at] = true;
	for (const struct schema_field *field = type->fields; field->name != NULL;
	     field++)
		if (field->kind == SCHEMA_OBJECT)
			openapi_types_add(types, field->type);
}

void openapi_ref(struct pl_json_out *out, enum openapi_version version, const char *name)
{
	char text[OPENAPI_NAME_MAX + 32];

	snprintf(text, sizeof text, "#/%s/%s",
	         version == OPENAPI_V2 ? "definitions" : "components/schemas", name);
	pl_json_put_str(out, "$ref", text);
}

static void put_ref(struct pl_json_out *out, enum openapi_version version,
                    const char *name)
{
	pl_json_out_object(out);
	openapi_ref(out, version, name);
	pl_json_out_end(out);
}

const char *openapi_list_name(const struct schema_resource *resource,
                              char out[OPENAPI_NAME_MAX])
{
	snprintf(out, OPENAPI_NAME_MAX, "%sList", resource->type->name);
	return out;
}

void openapi_kind(struct pl_json_out *out, const char *group, const char *version,
                  const char *kind)
{
	pl_json_out_object(out);
	pl_json_put_str(out, "group", group);
	pl_json_put_str(out, "kind", kind);
	pl_json_put_str(out, "version", version);
	pl_json_out_end(out);
}

/* -- fields ------------------------------------------------------------------------------ */

/* The name of the schema that a value of the field refers to; NULL: it is a scalar. */
static const char *ref_of(const struct schema_field *field)
{
	switch ((enum schema_kind)field->kind) {
	case SCHEMA_OBJECT:
		return field->type->name;
	case SCHEMA_QUANTITY:
		return QUANTITY;
	case SCHEMA_INT_OR_STRING:
		return INT_OR_STRING;
	case SCHEMA_TIME:
		return TIME;
	case SCHEMA_MICRO_TIME:
		return MICRO_TIME;
	case SCHEMA_ANY:
		return strcmp(field->name, "fieldsV1") == 0 ? FIELDS : NULL;
	case SCHEMA_STRING:
	case SCHEMA_INT32:
	case SCHEMA_INT64:
	case SCHEMA_BOOL:
	case SCHEMA_DOUBLE:
	case SCHEMA_BYTES:
		break;
	}
	return NULL;
}

static void put_scalar(struct pl_json_out *out, const struct schema_field *field)
{
	static const struct {
		const char *type, *format;
	} words[] = {
		[SCHEMA_STRING] = {"string", NULL},
		[SCHEMA_INT32] = {"integer", "int32"},
		[SCHEMA_INT64] = {"integer", "int64"},
		[SCHEMA_BOOL] = {"boolean", NULL},
		[SCHEMA_DOUBLE] = {"number", "double"},
		[SCHEMA_BYTES] = {"string", "byte"},
		[SCHEMA_ANY] = {"object", NULL},
	};

	pl_json_put_str(out, "type", words[field->kind].type);
	if (words[field->kind].format != NULL)
		pl_json_put_str(out, "format", words[field->kind].format);
	if (field->kind == SCHEMA_ANY) {
		pl_json_out_name(out, "x-kubernetes-preserve-unknown-fields");
		pl_json_out_bool(out, true);
	}
}

static void put_choices(struct pl_json_out *out, const struct schema_field *field)
{
	pl_json_out_name(out, "enum");
	pl_json_out_array(out);
	for (const char *const *choice = field->choices; *choice != NULL; choice++)
		pl_json_out_str(out, *choice);
	pl_json_out_end(out);
}

/* The members of the schema of one value. */
static void put_value(struct pl_json_out *out, enum openapi_version version,
                      const struct schema_field *field)
{
	const char *ref = ref_of(field);

	if (ref != NULL)
		openapi_ref(out, version, ref);
	else
		put_scalar(out, field);
	if (version == OPENAPI_V3 && field->choices != NULL)
		put_choices(out, field);
}

/* In version 3 nothing may stand beside a reference. */
static void put_one(struct pl_json_out *out, enum openapi_version version,
                    const struct schema_field *field)
{
	if (version == OPENAPI_V2 || ref_of(field) == NULL) {
		put_value(out, version, field);
		return;
	}
	pl_json_out_name(out, "allOf");
	pl_json_out_array(out);
	put_ref(out, version, ref_of(field));
	pl_json_out_end(out);
}

static void put_many(struct pl_json_out *out, enum openapi_version version,
                     const struct schema_field *field)
{
	bool list = field->shape == SCHEMA_LIST;

	pl_json_put_str(out, "type", list ? "array" : "object");
	pl_json_out_name(out, list ? "items" : "additionalProperties");
	pl_json_out_object(out);
	put_value(out, version, field);
	pl_json_out_end(out);
}

static void put_keys(struct pl_json_out *out, const char *keys)
{
	pl_json_out_name(out, "x-kubernetes-list-map-keys");
	pl_json_out_array(out);
	for (;;) {
		size_t len = strcspn(keys, ",");

		pl_json_out_string(out, pl_span(keys, len));
		if (keys[len] == '\0')
			break;
		keys += len + 1;
	}
	pl_json_out_end(out);
}

static void put_list_type(struct pl_json_out *out, const struct schema_field *field)
{
	bool atomic = schema_field_atomic(field);

	if (field->shape == SCHEMA_LIST)
		pl_json_put_str(out, "x-kubernetes-list-type",
		                atomic                         ? "atomic"
		                : field->list == SCHEMA_AS_SET ? "set"
		                                               : "map");
	if (field->shape == SCHEMA_LIST && !atomic && field->list == SCHEMA_BY_KEY)
		put_keys(out, field->keys);
	if (field->shape == SCHEMA_MAP && atomic)
		pl_json_put_str(out, "x-kubernetes-map-type", "atomic");
}

static void put_patch(struct pl_json_out *out, const struct schema_field *field)
{
	bool list = field->shape == SCHEMA_LIST && field->list != SCHEMA_ATOMIC;
	bool merge = list && (field->flags & SCHEMA_NO_PATCH_MERGE) == 0;
	bool replace = !list && (field->flags & SCHEMA_NO_PATCH_MERGE) != 0;
	bool retain = (field->flags & SCHEMA_RETAIN_KEYS) != 0;

	if (merge && field->list == SCHEMA_BY_KEY) {
		pl_json_out_name(out, "x-kubernetes-patch-merge-key");
		pl_json_out_string(out, pl_span(field->keys, strcspn(field->keys, ",")));
	}
	if (merge || retain || replace)
		pl_json_put_str(out, "x-kubernetes-patch-strategy",
		                merge && retain ? "merge,retainKeys"
		                : merge         ? "merge"
		                : retain        ? "retainKeys"
		                                : "replace");
}

static void put_field(struct pl_json_out *out, enum openapi_version version,
                      const struct schema_field *field)
{
	pl_json_out_name(out, field->name);
	pl_json_out_object(out);
	if (field->doc != NULL)
		pl_json_put_str(out, "description", field->doc);
	if (field->shape == SCHEMA_ONE)
		put_one(out, version, field);
	else
		put_many(out, version, field);
	if (version == OPENAPI_V3 && field->normal != NULL) {
		pl_json_out_name(out, "default");
		pl_json_out_raw(out, pl_span_str(field->normal));
	}
	put_list_type(out, field);
	put_patch(out, field);
	pl_json_out_end(out);
}

/* -- types --------------------------------------------------------------------------------- */

/* A type is of as many kinds as resources have it; some are of none. */
static void put_kinds(struct pl_json_out *out, const struct schema_type *type)
{
	static const struct {
		const struct schema_type *type;
		const char *group, *kind;
	} others[] = {{&schema_autoscaling_scale, "autoscaling", "Scale"},
	              {&schema_policy_eviction, "policy", "Eviction"},
	              {&schema_meta_status, "", "Status"},
	              {&schema_meta_delete_options, "", "DeleteOptions"}};
	size_t count;
	const struct schema_resource *row = schema_resources(&count);
	bool some = false;

	for (size_t i = 0; i < count; i++)
		some = some || row[i].type == type;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		some = some || others[i].type == type;
	if (!some)
		return;
	pl_json_out_name(out, "x-kubernetes-group-version-kind");
	pl_json_out_array(out);
	for (size_t i = 0; i < count; i++)
		if (row[i].type == type)
			openapi_kind(out, row[i].group, row[i].version, row[i].kind);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (others[i].type == type)
			openapi_kind(out, others[i].group, "v1", others[i].kind);
	pl_json_out_end(out);
}

static void put_required(struct pl_json_out *out, const struct schema_type *type)
{
	bool some = false;

	for (const struct schema_field *field = type->fields; field->name != NULL;
	     field++)
		some = some || (field->flags & SCHEMA_REQUIRED) != 0;
	if (!some)
		return;
	pl_json_out_name(out, "required");
	pl_json_out_array(out);
	for (const struct schema_field *field = type->fields; field->name != NULL;
	     field++)
		if ((field->flags & SCHEMA_REQUIRED) != 0)
			pl_json_out_str(out, field->name);
	pl_json_out_end(out);
}

static void put_type(struct pl_json_out *out, enum openapi_version version,
                     const struct schema_type *type)
{
	pl_json_out_name(out, type->name);
	pl_json_out_object(out);
	pl_json_put_str(out, "description", type->doc);
	pl_json_put_str(out, "type", "object");
	pl_json_out_name(out, "properties");
	pl_json_out_object(out);
	for (const struct schema_field *field = type->fields; field->name != NULL;
	     field++)
		put_field(out, version, field);
	pl_json_out_end(out);
	put_required(out, type);
	put_kinds(out, type);
	if (type->atomic)
		pl_json_put_str(out, "x-kubernetes-map-type", "atomic");
	pl_json_out_end(out);
}

static void put_list(struct pl_json_out *out, enum openapi_version version,
                     const struct schema_resource *resource)
{
	static const struct schema_field meta[] = {
		{.name = "apiVersion",
	         .kind = SCHEMA_STRING,
	         .doc = "Group and version of the list's type."},
		{.name = "kind",
	         .kind = SCHEMA_STRING,
	         .doc = "Name of the list's type."},
		{.name = "metadata",
	         .kind = SCHEMA_OBJECT,
	         .type = &schema_meta_list_meta,
	         .list = SCHEMA_GRANULAR}};
	const struct schema_field items = {.name = "items",
	                                   .kind = SCHEMA_OBJECT,
	                                   .shape = SCHEMA_LIST,
	                                   .type = resource->type};
	char name[OPENAPI_NAME_MAX], kind[OPENAPI_NAME_MAX];

	pl_json_out_name(out, openapi_list_name(resource, name));
	pl_json_out_object(out);
	pl_json_put_str(out, "description", "Objects of one type, at one revision.");
	pl_json_put_str(out, "type", "object");
	pl_json_out_name(out, "properties");
	pl_json_out_object(out);
	for (size_t i = 0; i < sizeof meta / sizeof *meta; i++)
		put_field(out, version, &meta[i]);
	put_field(out, version, &items);
	pl_json_out_end(out);
	pl_json_out_name(out, "required");
	pl_json_out_array(out);
	pl_json_out_str(out, "items");
	pl_json_out_end(out);
	pl_json_out_name(out, "x-kubernetes-group-version-kind");
	pl_json_out_array(out);
	snprintf(kind, sizeof kind, "%sList", resource->kind);
	openapi_kind(out, resource->group, resource->version, kind);
	pl_json_out_end(out);
	pl_json_out_end(out);
}

static void put_plain(struct pl_json_out *out, enum openapi_version version, size_t at)
{
	const char *other = plain_types[at].other;

	pl_json_out_name(out, plain_types[at].name);
	pl_json_out_object(out);
	pl_json_put_str(out, "description", plain_types[at].doc);
	if (version == OPENAPI_V3 && other != NULL) {
		pl_json_out_name(out, "oneOf");
		pl_json_out_array(out);
		pl_json_out_object(out);
		pl_json_put_str(out, "type", plain_types[at].type);
		pl_json_out_end(out);
		pl_json_out_object(out);
		pl_json_put_str(out, "type", other);
		pl_json_out_end(out);
		pl_json_out_end(out);
	} else {
		pl_json_put_str(out, "type", plain_types[at].type);
	}
	if (plain_types[at].format != NULL)
		pl_json_put_str(out, "format", plain_types[at].format);
	pl_json_out_end(out);
}

void openapi_schemas(struct pl_json_out *out, enum openapi_version version,
                     const struct openapi_types *types, const char *group,
                     const char *group_version)
{
	size_t count, rows;
	const struct schema_type *const *all = schema_types(&count);
	const struct schema_resource *row = schema_resources(&rows);

	for (size_t i = 0; i < count; i++)
		if (types->used[i])
			put_type(out, version, all[i]);
	for (size_t i = 0; i < rows; i++)
		if ((row[i].verbs & SCHEMA_LIST_VERB) != 0 &&
		    (group == NULL || (strcmp(row[i].group, group) == 0 &&
		                       strcmp(row[i].version, group_version) == 0)))
			put_list(out, version, &row[i]);
	for (size_t i = 0; i < sizeof plain_types / sizeof *plain_types; i++)
		put_plain(out, version, i);
}
