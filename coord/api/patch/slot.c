#include "coord/api/patch/slot.h"

static const struct schema_type *type_of(const struct schema_field *field)
{
	return field->kind == SCHEMA_OBJECT ? field->type : NULL;
}

struct schema_slot slot_root(const struct schema_type *type)
{
	return (struct schema_slot){.type = type, .shape = SCHEMA_ONE};
}

struct schema_slot slot_member(struct schema_slot slot, const char *name, bool *named)
{
	const struct schema_field *field = NULL;
	bool is_map = slot.field != NULL && slot.shape == SCHEMA_MAP;

	if (!is_map && slot.shape == SCHEMA_ONE && slot.type != NULL)
		field = schema_field_find(slot.type, name);
	if (named != NULL)
		*named = field != NULL;
	if (is_map)
		return slot_element(slot);
	if (field == NULL)
		return (struct schema_slot){.shape = SCHEMA_ONE};
	return (struct schema_slot){type_of(field), field, field->shape};
}

struct schema_slot slot_element(struct schema_slot slot)
{
	if (slot.field == NULL)
		return (struct schema_slot){.shape = SCHEMA_ONE};
	return (struct schema_slot){type_of(slot.field), slot.field, SCHEMA_ONE};
}

static enum slot_form form_of_list(const struct schema_field *field)
{
	if (field->list == SCHEMA_BY_KEY && field->keys != NULL)
		return SLOT_KEYED;
	return field->list == SCHEMA_AS_SET ? SLOT_SET : SLOT_LEAF;
}

/* The slot is that of a field itself, not of an element of it. */
static bool is_whole_field(struct schema_slot slot)
{
	return slot.field != NULL && slot.shape == slot.field->shape;
}

enum slot_form slot_form(struct schema_slot slot, struct pl_json value)
{
	if (slot.type == NULL && slot.field == NULL)
		return pl_json_type(value) == PL_JSON_OBJECT ? SLOT_MAP : SLOT_LEAF;
	if (is_whole_field(slot) && schema_field_atomic(slot.field))
		return SLOT_LEAF;
	if (slot.shape == SCHEMA_LIST)
		return form_of_list(slot.field);
	if (slot.shape == SCHEMA_MAP)
		return SLOT_MAP;
	return slot.type == NULL || slot.type->atomic ? SLOT_LEAF : SLOT_STRUCT;
}

bool slot_next_key(const char *keys, size_t *at, char key[SLOT_KEY_SIZE])
{
	size_t len;

	if (keys == NULL || keys[*at] == 0)
		return false;
	len = strcspn(keys + *at, ",");
	PL_ASSERT(len < SLOT_KEY_SIZE);
	memcpy(key, keys + *at, len);
	key[len] = 0;
	*at += len + (keys[*at + len] == ',' ? 1 : 0);
	return true;
}

enum slot_merge slot_merge(struct schema_slot slot, char key[SLOT_KEY_SIZE])
{
	size_t at = 0;

	if (slot.field == NULL || slot.shape != SCHEMA_LIST ||
	    (slot.field->flags & SCHEMA_NO_PATCH_MERGE) != 0)
		return SLOT_REPLACED;
	if (slot.field->list == SCHEMA_AS_SET)
		return SLOT_MERGED_SCALARS;
	if (slot.field->list != SCHEMA_BY_KEY)
		return SLOT_REPLACED;
	return slot_next_key(slot.field->keys, &at, key) ? SLOT_MERGED_BY_KEY
	                                                 : SLOT_REPLACED;
}

bool slot_replaced(struct schema_slot slot)
{
	return is_whole_field(slot) && slot.shape != SCHEMA_LIST &&
	       (slot.field->flags & SCHEMA_NO_PATCH_MERGE) != 0;
}
