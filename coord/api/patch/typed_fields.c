/* The fields of one object, fields taken out of it, and its check. */
#include <cjson/cJSON.h>
#include <string.h>

#include "coord/api/patch/typed.h"
#include "store/base/json_index.h"

static struct pl_json value_of(const struct cJSON *node)
{
	return (struct pl_json){.node = node};
}

/* -- the fields that an object has ----------------------------------------------------- */

static struct owned_fields fields_below(struct field_maker *maker,
                                        struct schema_slot slot, struct pl_json value,
                                        bool *leaf);

static bool is_empty_object(struct pl_json value)
{
	return pl_json_type(value) == PL_JSON_OBJECT && value.node->child == NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object */
static struct owned_fields fields_of_members(struct field_maker *maker,
                                             struct schema_slot slot,
                                             struct pl_json object)
{
	struct field_level level = {0};

	PL_JSON_EACH (item, object) {
		bool named = false, leaf = false;
		struct schema_slot member = slot_member(slot, pl_json_key(item), &named);
		struct owned_fields below = fields_below(maker, member, item, &leaf);

		field_level_add(maker, &level, FIELD_NAME, pl_json_key(item),
		                leaf || !named || typed_is_null(item.node) ||
		                        is_empty_object(item),
		                below);
	}
	return field_level_end(maker, &level);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object */
static struct owned_fields fields_of_elements(struct field_maker *maker,
                                              struct schema_slot slot,
                                              struct pl_json array)
{
	struct field_level level = {0};
	struct typed_list list;

	if (!typed_list_init(&list, maker, slot, array.node))
		return (struct owned_fields){0};
	for (size_t i = 0; i < list.count; i++) {
		struct owned_fields below = {0};
		bool leaf;

		if (!list.sorted[i]->repeated)
			below = fields_below(maker, slot_element(slot),
			                     value_of(list.sorted[i]->node), &leaf);
		field_level_add(maker, &level, list.kind, list.sorted[i]->text, true,
		                below);
	}
	return field_level_end(maker, &level);
}

/* *leaf: the value is owned whole. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object */
static struct owned_fields fields_below(struct field_maker *maker,
                                        struct schema_slot slot, struct pl_json value,
                                        bool *leaf)
{
	enum slot_form form = slot_form(slot, value);

	*leaf = form == SLOT_LEAF || !typed_fits(form, value.node);
	if (*leaf || maker->failed)
		return (struct owned_fields){0};
	return form == SLOT_STRUCT || form == SLOT_MAP
	               ? fields_of_members(maker, slot, value)
	               : fields_of_elements(maker, slot, value);
}

struct owned_fields typed_fields(struct field_maker *maker, struct schema_slot slot,
                                 struct pl_json object)
{
	return fields_of_members(maker, slot, object);
}

/* -- named fields ---------------------------------------------------------------------- */

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the set */
struct owned_fields typed_named(struct field_maker *maker, struct schema_slot slot,
                                struct owned_fields set)
{
	struct field_level level = {0};

	for (const struct field_node *node = set.first; node != NULL; node = node->next) {
		bool named = false;
		struct schema_slot below = node->kind == FIELD_NAME
		                                   ? slot_member(slot, node->text, &named)
		                                   : slot_element(slot);
		struct owned_fields child = {node->child};

		field_level_add(maker, &level, (enum field_kind)node->kind, node->text,
		                node->member || named, typed_named(maker, below, child));
	}
	return field_level_end(maker, &level);
}

/* -- removal --------------------------------------------------------------------------- */

static bool remove_below(struct field_maker *maker, struct schema_slot slot,
                         struct cJSON *node, struct owned_fields set);

/* Removes a child, or what the set has below it. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object */
static void remove_child(struct field_maker *maker, struct schema_slot slot,
                         struct cJSON *parent, struct cJSON *child,
                         const struct field_node *found)
{
	struct owned_fields below;

	if (found == NULL)
		return;
	below.first = found->child;
	if (found->member)
		json_detach(parent, child);
	else if (remove_below(maker, slot, child, below))
		child->type = cJSON_NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object */
static void remove_members(struct field_maker *maker, struct schema_slot slot,
                           struct cJSON *object, struct owned_fields set)
{
	struct field_index index;
	struct cJSON *next;

	if (!field_index_init(&index, maker, set))
		return;
	for (struct cJSON *node = object->child; node != NULL; node = next) {
		next = node->next;
		remove_child(maker, slot_member(slot, node->string, NULL), object, node,
		             field_index_find(&index, FIELD_NAME, node->string));
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object */
static void remove_elements(struct field_maker *maker, struct schema_slot slot,
                            struct cJSON *array, struct owned_fields set)
{
	struct field_index index;
	struct typed_list list;

	if (!field_index_init(&index, maker, set) ||
	    !typed_list_init(&list, maker, slot, array))
		return;
	for (size_t i = 0; i < list.count; i++)
		remove_child(maker, slot_element(slot), array, list.elements[i].node,
		             field_index_find(&index, list.kind, list.elements[i].text));
}

/* Whether the value has got empty. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object */
static bool remove_below(struct field_maker *maker, struct schema_slot slot,
                         struct cJSON *node, struct owned_fields set)
{
	enum slot_form form = slot_form(slot, value_of(node));

	if (field_set_empty(set) || node->child == NULL || form == SLOT_LEAF ||
	    !typed_fits(form, node))
		return false;
	if (form == SLOT_STRUCT || form == SLOT_MAP)
		remove_members(maker, slot, node, set);
	else
		remove_elements(maker, slot, node, set);
	return node->child == NULL;
}

void typed_remove(struct field_maker *maker, struct schema_slot slot,
                  struct cJSON *object, struct owned_fields set)
{
	(void)remove_below(maker, slot, object, set);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object */
void typed_drop_nulls(struct schema_slot slot, struct cJSON *object)
{
	enum slot_form form = slot_form(slot, value_of(object));
	bool members = form == SLOT_STRUCT || form == SLOT_MAP;
	struct cJSON *next;

	if (form == SLOT_LEAF || !typed_fits(form, object))
		return;
	for (struct cJSON *node = object->child; node != NULL; node = next) {
		next = node->next;
		if (members && cJSON_IsNull(node))
			json_detach(object, node);
		else
			typed_drop_nulls(members ? slot_member(slot, node->string, NULL)
			                         : slot_element(slot),
			                 node);
	}
}

/* -- the check of a configuration ------------------------------------------------------ */

static enum pl_code no_memory(struct pl_err *err)
{
	return pl_err_set(err, PL_NOMEM, "server-side apply: no memory");
}

static enum pl_code check_keys(struct schema_slot slot, struct pl_json element,
                               struct pl_err *err)
{
	char name[SLOT_KEY_SIZE];
	size_t at = 0;

	if (pl_json_type(element) != PL_JSON_OBJECT)
		return pl_json_fail(element, PL_INVALID, err,
		                    "associative list with keys may not have non-map "
		                    "elements");
	while (slot_next_key(slot.field->keys, &at, name)) {
		struct schema_slot key = slot_member(slot_element(slot), name, NULL);
		enum pl_json_type type = pl_json_type(pl_json_member(element, name));

		if (type == PL_JSON_OBJECT || type == PL_JSON_ARRAY)
			return pl_json_fail(element, PL_INVALID, err,
			                    "key field \"%s\" is no scalar", name);
		if ((type == PL_JSON_ABSENT || type == PL_JSON_NULL) &&
		    (key.field == NULL || key.field->normal == NULL))
			return pl_json_fail(element, PL_INVALID, err,
			                    "element: associative list with keys has an "
			                    "element that omits key field \"%s\" (and "
			                    "doesn't have default value)",
			                    name);
	}
	return PL_OK;
}

static enum pl_code check_value(struct pl_json element, struct pl_err *err)
{
	enum pl_json_type type = pl_json_type(element);

	if (type == PL_JSON_OBJECT || type == PL_JSON_ARRAY || type == PL_JSON_NULL)
		return pl_json_fail(element, PL_INVALID, err, "want a scalar, got %s",
		                    pl_json_type_name(type));
	return PL_OK;
}

static enum pl_code check_repeated(struct field_maker *maker, struct schema_slot slot,
                                   struct pl_json array, struct pl_err *err)
{
	struct typed_list list;

	if (!typed_list_init(&list, maker, slot, array.node))
		return no_memory(err);
	for (size_t i = 0; i < list.count; i++) {
		struct pl_json element = {list.elements[i].node, array.doc};

		if (list.elements[i].repeated)
			return pl_json_fail(element, PL_INVALID, err,
			                    "duplicate entries for key %.100s",
			                    list.elements[i].text);
	}
	return PL_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the configuration */
static enum pl_code check_elements(struct field_maker *maker, struct schema_slot slot,
                                   enum slot_form form, struct pl_json array,
                                   struct pl_err *err)
{
	enum pl_code code = PL_OK;

	PL_JSON_EACH (item, array) {
		if (code == PL_OK)
			code = form == SLOT_KEYED ? check_keys(slot, item, err)
			                          : check_value(item, err);
		if (code == PL_OK)
			code = typed_check(maker, slot_element(slot), item, err);
	}
	return code == PL_OK ? check_repeated(maker, slot, array, err) : code;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the configuration */
enum pl_code typed_check(struct field_maker *maker, struct schema_slot slot,
                         struct pl_json config, struct pl_err *err)
{
	enum slot_form form = slot_form(slot, config);
	enum pl_code code = PL_OK;

	if (!typed_fits(form, config.node))
		return pl_json_fail(config, PL_INVALID, err, "expected %s, got %s",
		                    form == SLOT_KEYED || form == SLOT_SET ? "list"
		                                                           : "map",
		                    pl_json_type_name(pl_json_type(config)));
	if (form == SLOT_KEYED || form == SLOT_SET)
		return check_elements(maker, slot, form, config, err);
	if (form == SLOT_LEAF)
		return PL_OK;
	PL_JSON_EACH (item, config)
		if (code == PL_OK)
			code = typed_check(maker,
			                   slot_member(slot, pl_json_key(item), NULL),
			                   item, err);
	return code;
}
