/* Elements of lists and their keys. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "coord/api/patch/fields_v1.h"
#include "coord/api/patch/typed.h"

bool typed_is_null(const struct cJSON *node)
{
	return node != NULL && cJSON_IsNull(node);
}

bool typed_fits(enum slot_form form, const struct cJSON *node)
{
	if (node == NULL || cJSON_IsNull(node) || form == SLOT_LEAF)
		return true;
	if (form == SLOT_STRUCT || form == SLOT_MAP)
		return cJSON_IsObject(node);
	return cJSON_IsArray(node);
}

static const struct schema_field *key_field(struct schema_slot slot, const char *name)
{
	bool named = false;
	struct schema_slot key = slot_member(slot_element(slot), name, &named);

	return named ? key.field : NULL;
}

/* Adds the key's value, or its default, to an object. False: no memory. */
static bool add_key(struct field_maker *maker, struct schema_slot slot,
                    struct cJSON *keys, const struct cJSON *element, const char *name)
{
	const struct cJSON *value = json_get(element, name);
	const struct schema_field *field;
	struct pl_json normal = {.node = value};

	if (value == NULL || cJSON_IsNull(value)) {
		field = key_field(slot, name);
		if (field == NULL || field->normal == NULL)
			return true;
		if (pl_json_parse(maker->arena, pl_span_str(field->normal), NULL, &normal,
		                  NULL) != PL_OK)
			return false;
	}
	return json_add(maker->arena, keys, name, json_new_copy(maker->arena, normal));
}

static const char *keyed_text(struct field_maker *maker, struct schema_slot slot,
                              const struct cJSON *element)
{
	struct cJSON *keys = json_new_object(maker->arena);
	char name[SLOT_KEY_SIZE];
	size_t at = 0;

	if (keys == NULL)
		return NULL;
	while (slot_next_key(slot.field->keys, &at, name))
		if (!add_key(maker, slot, keys, element, name))
			return NULL;
	return fields_v1_text(maker, keys);
}

static int by_text(const void *a, const void *b)
{
	const struct typed_element *const *x = a, *const *y = b;
	int order = strcmp((*x)->text, (*y)->text);

	if (order != 0)
		return order;
	return (*x)->at < (*y)->at ? -1 : (*x)->at > (*y)->at;
}

static bool fill(struct typed_list *list, struct field_maker *maker,
                 struct schema_slot slot, const struct cJSON *node)
{
	size_t at = 0;

	for (struct cJSON *item = node->child; item != NULL; item = item->next, at++) {
		struct typed_element *element = &list->elements[at];

		element->node = item;
		element->at = at;
		element->text = list->kind == FIELD_KEY ? keyed_text(maker, slot, item)
		                                        : fields_v1_text(maker, item);
		list->sorted[at] = element;
		if (element->text == NULL)
			return false;
	}
	return true;
}

bool typed_list_init(struct typed_list *list, struct field_maker *maker,
                     struct schema_slot slot, const struct cJSON *node)
{
	struct pl_json value = {.node = node};

	*list = (struct typed_list){.kind = FIELD_VALUE};
	if (slot.field->list == SCHEMA_BY_KEY)
		list->kind = FIELD_KEY;
	if (node == NULL || !cJSON_IsArray(node) || node->child == NULL)
		return true;
	list->count = pl_json_count(value);
	list->elements =
		pl_arena_zalloc(maker->arena, list->count, sizeof *list->elements);
	list->sorted = pl_arena_zalloc(maker->arena, list->count,
	                               sizeof(struct typed_element *));
	if (list->elements == NULL || list->sorted == NULL ||
	    !fill(list, maker, slot, node)) {
		maker->failed = true;
		list->count = 0;
		return false;
	}
	qsort(list->sorted, list->count, sizeof(struct typed_element *), by_text);
	for (size_t i = 1; i < list->count; i++)
		if (strcmp(list->sorted[i - 1]->text, list->sorted[i]->text) == 0)
			list->sorted[i - 1]->repeated = list->sorted[i]->repeated = true;
	return true;
}

struct typed_element *typed_list_find(const struct typed_list *list, const char *text)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(list->sorted[middle]->text, text) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == list->count || strcmp(list->sorted[low]->text, text) != 0)
		return NULL;
	return list->sorted[low];
}
