#include "coord/api/patch/slot.h"

static const struct schema_field *find_field(const struct schema_type *type,
                                             const char *name)
{
	if (type == NULL || type->fields == NULL)
		return NULL;
	for (const struct schema_field *field = type->fields; field->name != NULL;
	     field++)
		if (strcmp(field->name, name) == 0)
			return field;
	return NULL;
}

static const struct schema_type *type_of(const struct schema_field *field)
{
	return field->kind == SCHEMA_OBJECT ? field->type : NULL;
}

struct slot slot_root(const struct schema_type *type)
{
	return (struct slot){.type = type, .shape = SCHEMA_ONE};
}

struct slot slot_member(struct slot slot, const char *name, bool *named)
{
	const struct schema_field *field = NULL;
	bool is_map = slot.field != NULL && slot.shape == SCHEMA_MAP;

	if (!is_map && slot.shape == SCHEMA_ONE)
		field = find_field(slot.type, name);
	if (named != NULL)
		*named = field != NULL;
	if (is_map)
		return slot_element(slot);
	if (field == NULL)
		return (struct slot){.shape = SCHEMA_ONE};
	return (struct slot){type_of(field), field, field->shape};
}

struct slot slot_element(struct slot slot)
{
	if (slot.field == NULL)
		return (struct slot){.shape = SCHEMA_ONE};
	return (struct slot){type_of(slot.field), slot.field, SCHEMA_ONE};
}

static enum slot_form form_of_list(const struct schema_field *field)
{
	if (field->list == SCHEMA_BY_KEY && field->keys != NULL)
		return SLOT_KEYED;
	return field->list == SCHEMA_AS_SET ? SLOT_SET : SLOT_LEAF;
}

enum slot_form slot_form(struct slot slot, struct pl_json value)
{
	bool atomic = slot.type != NULL && slot.type->atomic;

	if (slot.type == NULL && slot.field == NULL)
		return pl_json_type(value) == PL_JSON_OBJECT ? SLOT_MAP : SLOT_LEAF;
	if (slot.shape == SCHEMA_LIST)
		return form_of_list(slot.field);
	if (slot.shape == SCHEMA_MAP)
		return (slot.field->flags & SCHEMA_ATOMIC_MAP) != 0 ? SLOT_LEAF
		                                                    : SLOT_MAP;
	if (slot.type == NULL || atomic)
		return SLOT_LEAF;
	if (slot.field != NULL && slot.field->shape == SCHEMA_ONE &&
	    (slot.field->flags & SCHEMA_ATOMIC_MAP) != 0)
		return SLOT_LEAF;
	return SLOT_STRUCT;
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

enum slot_merge slot_merge(struct slot slot, char key[SLOT_KEY_SIZE])
{
	size_t at = 0;

	if (slot.field == NULL || slot.shape != SCHEMA_LIST ||
	    (slot.field->flags & SCHEMA_NO_PATCH_MERGE) != 0)
		return SLOT_REPLACED;
	if (slot.field->list == SCHEMA_AS_SET)
		return SLOT_MERGED_SCALARS;
	return slot_next_key(slot.field->keys, &at, key) ? SLOT_MERGED_BY_KEY
	                                                 : SLOT_REPLACED;
}
