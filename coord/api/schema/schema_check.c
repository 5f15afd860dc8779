/* Checks: what the table says about values that are there, and about those that lack. */
#include "coord/api/schema/schema_check.h"

#include <stdio.h>
#include <string.h>

#include "coord/api/schema/schema_check_int.h"

enum { DETAIL_MAX = 512 };

static const char *string_of(struct pl_json value)
{
	const char *text = "";

	return pl_json_as_string(value, &text, NULL) == PL_OK ? text : "";
}

/* Go's zero value, which to Kubernetes' checks is as good as absent. */
static bool is_empty(struct pl_json value)
{
	switch (pl_json_type(value)) {
	case PL_JSON_ABSENT:
	case PL_JSON_NULL:
		return true;
	case PL_JSON_STRING:
		return *string_of(value) == '\0';
	case PL_JSON_ARRAY:
		return pl_json_first(value).node == NULL;
	case PL_JSON_BOOL:
	case PL_JSON_NUMBER:
	case PL_JSON_OBJECT:
		break;
	}
	return false;
}

static bool must_be_there(const struct schema_field *field)
{
	return (field->flags & SCHEMA_NEEDED) != 0 ||
	       ((field->flags & SCHEMA_REQUIRED) != 0 &&
	        (field->flags & SCHEMA_MAY_LACK) == 0);
}

/* An object that Kubernetes has no absence of: an absent one is an empty one, whose own
 * required fields are missed. */
static bool is_always_there(const struct schema_field *field)
{
	static const char *const names[] = {"spec", "template", "jobTemplate", NULL};

	if (field->kind != SCHEMA_OBJECT || field->shape != SCHEMA_ONE)
		return false;
	for (const char *const *name = names; *name != NULL; name++)
		if (strcmp(field->name, *name) == 0)
			return true;
	return false;
}

static void check_choice(const struct schema_field *field, struct pl_json value,
                         const struct schema_place *place, struct schema_report *report)
{
	const char *text = string_of(value);
	char detail[DETAIL_MAX];
	size_t len = 0;

	if (field->choices == NULL || *text == '\0')
		return;
	for (const char *const *choice = field->choices; *choice != NULL; choice++)
		if (strcmp(*choice, text) == 0)
			return;
	for (const char *const *choice = field->choices; *choice != NULL; choice++)
		len += (size_t)snprintf(detail + len, sizeof detail - len, "%s\"%s\"",
		                        len == 0 ? "supported values: " : ", ", *choice);
	schema_report_add(report, place, SCHEMA_NOT_SUPPORTED_FAULT, value, detail);
}

static void check_object(struct pl_json object, const struct schema_type *type,
                         const struct schema_place *place, struct schema_report *report);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void check_value(const struct schema_field *field, struct pl_json value,
                        const struct schema_place *place, struct schema_report *report)
{
	if (field->kind == SCHEMA_OBJECT)
		check_object(value, field->type, place, report);
	else
		check_choice(field, value, place, report);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void check_present(const struct schema_field *field, struct pl_json value,
                          const struct schema_place *up, struct schema_report *report)
{
	struct schema_place place = {.up = up, .name = field->name};
	struct schema_place element = {.up = &place,
	                               .in_map = field->shape == SCHEMA_MAP};

	if (field->kind != SCHEMA_OBJECT && field->choices == NULL)
		return;
	if (field->shape == SCHEMA_ONE) {
		check_value(field, value, &place, report);
		return;
	}
	PL_JSON_EACH (item, value) {
		if (element.in_map)
			element.name = pl_json_key(item);
		check_value(field, item, &element, report);
		element.index++;
	}
}

/* Status is written by controllers, field by field: nothing in it is required. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void check_object(struct pl_json object, const struct schema_type *type,
                         const struct schema_place *place, struct schema_report *report)
{
	struct pl_json member[SCHEMA_FIELDS_MAX];

	schema_members(type, object, member);
	for (const struct schema_field *field = type->fields; field->name != NULL;
	     field++) {
		struct schema_place at = {.up = place, .name = field->name};
		struct pl_json value = member[field - type->fields];

		if ((field->flags & SCHEMA_STATUS) != 0)
			continue;
		if (must_be_there(field) && is_empty(value) && !is_always_there(field))
			schema_report_add(report, &at, SCHEMA_REQUIRED_FAULT, value,
			                  NULL);
		else if (value.node != NULL || is_always_there(field))
			check_present(field, value, place, report);
	}
}

void schema_check_type(struct pl_json value, const struct schema_type *type,
                       struct schema_report *report)
{
	struct schema_place place = {.up = NULL};

	check_object(value, type, &place, report);
}

void schema_check(const struct schema_object *object, struct schema_report *report)
{
	schema_check_meta(object, report);
	schema_check_type(object->value, object->resource->type, report);
	schema_check_values(object, report);
}
