/* The differences of two objects. A walk goes down both at once; each level collects what is
 * removed, modified and added below it. */
#include <cjson/cJSON.h>
#include <string.h>

#include "coord/api/patch/typed.h"
#include "store/base/json_index.h"

struct compare_level {
	struct field_maker *maker;
	struct field_level removed, modified, added;
};

/* One place in both objects: absent (NULL) in at most one of them. */
struct compare_place {
	struct schema_slot slot;
	enum field_kind kind;
	const char *text;
	const struct cJSON *before, *after;
};

static void compare_child(struct compare_level *level, const struct compare_place *place);

static struct typed_changes level_end(struct compare_level *level)
{
	struct typed_changes changes;

	changes.removed = field_level_end(level->maker, &level->removed);
	changes.modified = field_level_end(level->maker, &level->modified);
	changes.added = field_level_end(level->maker, &level->added);
	return changes;
}

static bool is_empty(const struct cJSON *node)
{
	return node == NULL || node->child == NULL;
}

static struct pl_json value_of(const struct cJSON *node)
{
	return (struct pl_json){.node = node};
}

static enum slot_form form_of(const struct compare_place *place)
{
	const struct cJSON *one = place->before, *two = place->after;
	enum slot_form form;

	if (two == NULL || typed_is_null(two))
		form = slot_form(place->slot, value_of(one == NULL ? two : one));
	else
		form = slot_form(place->slot, value_of(two));
	if (!typed_fits(form, one) || !typed_fits(form, two))
		return SLOT_LEAF;
	return is_empty(one) && is_empty(two) ? SLOT_LEAF : form;
}

/* -- what only the newer object has ---------------------------------------------------- */

static struct owned_fields fields_added(struct field_maker *maker,
                                        struct schema_slot slot,
                                        const struct cJSON *after);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object */
static struct owned_fields members_added(struct field_maker *maker,
                                         struct schema_slot slot,
                                         const struct cJSON *after)
{
	struct field_level level = {0};

	for (const struct cJSON *node = after->child; node != NULL; node = node->next)
		field_level_add(
			maker, &level, FIELD_NAME, node->string, true,
			fields_added(maker, slot_member(slot, node->string, NULL), node));
	return field_level_end(maker, &level);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object */
static struct owned_fields elements_added(struct field_maker *maker,
                                          struct schema_slot slot,
                                          const struct cJSON *after)
{
	struct field_level level = {0};
	struct typed_list list;

	if (!typed_list_init(&list, maker, slot, after))
		return (struct owned_fields){0};
	for (size_t i = 0; i < list.count; i++) {
		const struct typed_element *element = list.sorted[i];
		struct owned_fields below = {0};

		if (element->repeated && i > 0 &&
		    strcmp(list.sorted[i - 1]->text, element->text) == 0)
			continue;
		if (!element->repeated)
			below = fields_added(maker, slot_element(slot), element->node);
		field_level_add(maker, &level, list.kind, element->text, true, below);
	}
	return field_level_end(maker, &level);
}

/* Like a comparison with nothing, in one walk: a new object is all additions. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the object */
static struct owned_fields fields_added(struct field_maker *maker,
                                        struct schema_slot slot,
                                        const struct cJSON *after)
{
	enum slot_form form;

	PL_ASSERT(after != NULL);
	form = slot_form(slot, value_of(after));
	if (maker->failed || form == SLOT_LEAF || after->child == NULL ||
	    !typed_fits(form, after))
		return (struct owned_fields){0};
	return form == SLOT_STRUCT || form == SLOT_MAP
	               ? members_added(maker, slot, after)
	               : elements_added(maker, slot, after);
}

/* -- comparison ------------------------------------------------------------------------ */

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the objects */
static void compare_members(struct compare_level *level,
                            const struct compare_place *place)
{
	struct json_index before, after;
	struct compare_place child = {.kind = FIELD_NAME};

	if (!json_index_init(&before, level->maker->arena, place->before) ||
	    !json_index_init(&after, level->maker->arena, place->after)) {
		level->maker->failed = true;
		return;
	}
	PL_JSON_EACH (item, value_of(place->before)) {
		child.text = pl_json_key(item);
		child.slot = slot_member(place->slot, child.text, NULL);
		child.before = item.node;
		child.after = json_index_find(&after, child.text);
		compare_child(level, &child);
	}
	child.before = NULL;
	PL_JSON_EACH (item, value_of(place->after)) {
		child.text = pl_json_key(item);
		if (json_index_find(&before, child.text) != NULL)
			continue;
		child.slot = slot_member(place->slot, child.text, NULL);
		child.after = item.node;
		compare_child(level, &child);
	}
}

static bool same_repeated(const struct typed_list *before, const struct typed_list *after,
                          size_t i, size_t j, const size_t counts[2])
{
	if (counts[0] != counts[1])
		return false;
	for (size_t k = 0; k < counts[0]; k++)
		if (!json_equal(value_of(before->sorted[i + k]->node),
		                value_of(after->sorted[j + k]->node)))
			return false;
	return true;
}

static size_t count_same(const struct typed_list *list, size_t at, const char *text)
{
	size_t count = 0;

	for (; at + count < list->count; count++) {
		const char *other = list->sorted[at + count]->text;

		PL_ASSERT(other != NULL);
		if (strcmp(other, text) != 0)
			break;
	}
	return count;
}

/* Elements that come twice are owned together, by the path that they share. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the objects */
static void compare_repeated(struct compare_level *level, struct compare_place *child,
                             const size_t counts[2], bool same)
{
	struct owned_fields none = {0};
	const struct cJSON *after = child->after;

	if (counts[0] >= 2 && counts[1] >= 2) {
		if (!same)
			field_level_add(level->maker, &level->modified, child->kind,
			                child->text, true, none);
		return;
	}
	if (counts[0] >= 2) {
		child->before = NULL;
		if (after != NULL)
			compare_child(level, child);
		field_level_add(level->maker, &level->removed, child->kind, child->text,
		                true, none);
		return;
	}
	child->after = NULL;
	if (child->before != NULL)
		compare_child(level, child);
	field_level_add(level->maker, &level->added, child->kind, child->text, true,
	                none);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the objects */
static void compare_elements(struct compare_level *level,
                             const struct compare_place *place)
{
	struct compare_place child = {.slot = slot_element(place->slot)};
	struct typed_list before, after;
	size_t i = 0, j = 0;

	if (!typed_list_init(&before, level->maker, place->slot, place->before) ||
	    !typed_list_init(&after, level->maker, place->slot, place->after))
		return;
	child.kind = before.kind;
	while (i < before.count || j < after.count) {
		const char *a = i < before.count ? before.sorted[i]->text : NULL;
		const char *b = j < after.count ? after.sorted[j]->text : NULL;
		size_t counts[2];

		child.text = a == NULL || (b != NULL && strcmp(b, a) < 0) ? b : a;
		PL_ASSERT(child.text != NULL);
		counts[0] = count_same(&before, i, child.text);
		counts[1] = count_same(&after, j, child.text);
		child.before = counts[0] > 0 ? before.sorted[i]->node : NULL;
		child.after = counts[1] > 0 ? after.sorted[j]->node : NULL;
		if (counts[0] < 2 && counts[1] < 2)
			compare_child(level, &child);
		else
			compare_repeated(level, &child, counts,
			                 same_repeated(&before, &after, i, j, counts));
		i += counts[0];
		j += counts[1];
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the objects */
static struct typed_changes compare_below(struct field_maker *maker, enum slot_form form,
                                          const struct compare_place *place)
{
	struct compare_level level = {.maker = maker};

	if (form == SLOT_STRUCT || form == SLOT_MAP)
		compare_members(&level, place);
	else
		compare_elements(&level, place);
	return level_end(&level);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the objects */
static void compare_child(struct compare_level *level, const struct compare_place *place)
{
	struct field_maker *maker = level->maker;
	struct typed_changes below = {0};
	enum slot_form form;
	bool modified = false;

	if (maker->failed)
		return;
	if (place->before == NULL) {
		field_level_add(maker, &level->added, place->kind, place->text, true,
		                fields_added(maker, place->slot, place->after));
		return;
	}
	form = form_of(place);
	if (form != SLOT_LEAF)
		below = compare_below(maker, form, place);
	else if (place->after != NULL)
		modified = !json_equal(value_of(place->before), value_of(place->after));
	field_level_add(maker, &level->removed, place->kind, place->text,
	                place->after == NULL, below.removed);
	field_level_add(maker, &level->modified, place->kind, place->text, modified,
	                below.modified);
	field_level_add(maker, &level->added, place->kind, place->text, false,
	                below.added);
}

/* A root in which the struct fields of another are present and empty. */
static struct cJSON *empty_root(struct field_maker *maker, struct schema_slot slot,
                                struct pl_json like)
{
	struct cJSON *root = json_new_object(maker->arena);

	PL_JSON_EACH (item, like) {
		struct schema_slot member = slot_member(slot, pl_json_key(item), NULL);

		if (slot_form(member, item) != SLOT_STRUCT)
			continue;
		if (!json_add(maker->arena, root, pl_json_key(item),
		              json_new_object(maker->arena)))
			return NULL;
	}
	return root;
}

struct typed_changes typed_compare(struct field_maker *maker, struct schema_slot slot,
                                   struct pl_json before, struct pl_json after)
{
	struct compare_place place = {
		.slot = slot, .before = before.node, .after = after.node};

	if (place.before == NULL)
		place.before = empty_root(maker, slot, after);
	if (place.before == NULL) {
		maker->failed = true;
		return (struct typed_changes){0};
	}
	return compare_below(maker, SLOT_STRUCT, &place);
}
