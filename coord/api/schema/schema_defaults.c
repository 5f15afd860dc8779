#include "coord/api/schema/schema_defaults.h"

#include <stdlib.h>
#include <string.h>

#include "coord/api/schema/schema_defaults_int.h"

/* The table's defaults are words without escapes, whole numbers, truth values, empty
 * objects, and lists of one word. */
static struct cJSON *make_default(struct pl_arena *arena, const char *json)
{
	size_t len = strlen(json);
	struct cJSON *list;

	switch (*json) {
	case '"':
		return json_new_string(arena, pl_span(json + 1, len - 2));
	case '{':
		return json_new_object(arena);
	case '[':
		list = json_new_array(arena);
		if (list == NULL ||
		    !json_append(list,
		                 json_new_string(arena, pl_span(json + 2, len - 4))))
			return NULL;
		return list;
	case 't':
	case 'f':
		return json_new_bool(arena, *json == 't');
	default:
		return json_new_number(arena, strtod(json, NULL));
	}
}

static bool is_absent(const struct filler *filler, const struct cJSON *node,
                      const struct schema_field *field)
{
	struct pl_json value;
	const char *text;
	double number;

	if (node == NULL)
		return true;
	value = json_tree_value(filler->tree, node);
	if (field->shape == SCHEMA_ONE && pl_json_as_string(value, &text, NULL) == PL_OK)
		return *text == '\0' && field->kind == SCHEMA_STRING;
	return (field->flags & SCHEMA_ZERO_ABSENT) != 0 &&
	       pl_json_as_double(value, &number, NULL) == PL_OK && number == 0;
}

static void fill_object(struct filler *filler, struct cJSON *object,
                        const struct schema_type *type);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void fill_values(struct filler *filler, struct cJSON *node,
                        const struct schema_field *field)
{
	if (field->shape == SCHEMA_ONE) {
		fill_object(filler, node, field->type);
		return;
	}
	PL_JSON_EACH (item, json_tree_value(filler->tree, node))
		fill_object(filler, json_tree_node(filler->tree, item), field->type);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void fill_field(struct filler *filler, struct cJSON *object, struct cJSON *node,
                       const struct schema_field *field)
{
	struct cJSON *value;

	if (field->normal != NULL && is_absent(filler, node, field)) {
		value = make_default(filler->tree->arena, field->normal);
		if (node == NULL
		            ? !json_add(filler->tree->arena, object, field->name, value)
		            : !json_set(filler->tree->arena, object, field->name, value))
			filler->failed = true;
		node = value;
	}
	if (node != NULL && field->kind == SCHEMA_OBJECT)
		fill_values(filler, node, field);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object, which is bounded */
static void fill_object(struct filler *filler, struct cJSON *object,
                        const struct schema_type *type)
{
	struct pl_json member[SCHEMA_FIELDS_MAX];

	schema_defaults_before(filler, object, type);
	schema_members(type, json_tree_value(filler->tree, object), member);
	for (const struct schema_field *field = type->fields; field->name != NULL;
	     field++) {
		struct pl_json value = member[field - type->fields];

		if (field->normal != NULL || value.node != NULL)
			fill_field(filler, object,
			           value.node == NULL
			                   ? NULL
			                   : json_tree_node(filler->tree, value),
			           field);
	}
	schema_defaults_after(filler, object, type);
}

enum pl_code schema_defaults(struct json_tree *tree, const struct schema_type *type)
{
	struct filler filler = {.tree = tree};

	fill_object(&filler, tree->root, type);
	return filler.failed ? PL_NOMEM : PL_OK;
}
