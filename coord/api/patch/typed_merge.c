/*
 * A configuration merged into an object.
 *
 * The order of a merged list is Kubernetes': elements of the object that the configuration
 * does not have keep their place before the next shared element; shared elements come in
 * the configuration's order.
 */
#include <cjson/cJSON.h>
#include <string.h>

#include "coord/api/patch/typed.h"
#include "store/base/json_index.h"

static bool merge_value(struct field_maker *maker, struct schema_slot slot,
                        struct cJSON *live, struct pl_json config);

static struct cJSON *copy_of(struct field_maker *maker, struct pl_json value)
{
	struct cJSON *copy = maker->failed ? NULL : json_new_copy(maker->arena, value);

	if (copy == NULL)
		maker->failed = true;
	return copy;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the configuration */
static void merge_members(struct field_maker *maker, struct schema_slot slot,
                          struct cJSON *live, struct pl_json config)
{
	struct json_index index;

	if (!json_index_init(&index, maker->arena, live)) {
		maker->failed = true;
		return;
	}
	PL_JSON_EACH (item, config) {
		const char *name = pl_json_key(item);
		struct cJSON *old = json_index_find(&index, name), *copy;

		if (old != NULL &&
		    merge_value(maker, slot_member(slot, name, NULL), old, item))
			continue;
		copy = copy_of(maker, item);
		if (copy == NULL)
			return;
		if (old != NULL)
			json_replace(live, old, copy);
		else if (!json_add(maker->arena, live, name, copy))
			maker->failed = true;
	}
}

struct list_merge {
	struct field_maker *maker;
	struct schema_slot slot;
	struct cJSON *out;
	struct pl_json config;
	struct typed_list left;  /* the object's */
	struct typed_list right; /* the configuration's */
	bool *taken;             /* of right: it has been merged */
	size_t next;             /* of right: the next one that left has, too */
};

static void emit(struct list_merge *merge, struct cJSON *node)
{
	if (node == NULL || merge->maker->failed)
		return;
	node->next = node->prev = NULL;
	if (!json_append(merge->out, node))
		merge->maker->failed = true;
}

static void skip_to_shared(struct list_merge *merge)
{
	while (merge->next < merge->right.count &&
	       typed_list_find(&merge->left, merge->right.elements[merge->next].text) ==
	               NULL)
		merge->next++;
}

/* Elements of the object that come twice are not merged: the configuration's replaces
 * them. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the configuration */
static void emit_right(struct list_merge *merge, size_t at)
{
	const struct typed_element *right = &merge->right.elements[at];
	struct typed_element *left = typed_list_find(&merge->left, right->text);
	struct pl_json config = {right->node, merge->config.doc};

	merge->taken[at] = true;
	if (merge->next == at) {
		merge->next++;
		skip_to_shared(merge);
	}
	if (left != NULL && !left->repeated &&
	    merge_value(merge->maker, slot_element(merge->slot), left->node, config))
		emit(merge, left->node);
	else
		emit(merge, copy_of(merge->maker, config));
}

/* One step; *l and *r are the places in both lists. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the configuration */
static void merge_step(struct list_merge *merge, size_t *l, size_t *r)
{
	struct typed_element *left =
		*l < merge->left.count ? &merge->left.elements[*l] : NULL;
	const struct typed_element *shared = NULL;

	if (left != NULL)
		shared = typed_list_find(&merge->right, left->text);
	if (left != NULL && shared != NULL && *r < merge->right.count) {
		if (shared->at == *r) {
			emit_right(merge, (*r)++);
			(*l)++;
			return;
		}
		if (merge->next < merge->right.count && merge->next != shared->at) {
			(*l)++; /* comes in the order of the configuration */
			return;
		}
	}
	if (left != NULL && shared == NULL) {
		emit(merge, left->node);
		(*l)++;
		return;
	}
	if (left != NULL && merge->taken[shared->at])
		(*l)++;
	if (*r < merge->right.count)
		emit_right(merge, (*r)++);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the configuration */
static void merge_elements(struct field_maker *maker, struct schema_slot slot,
                           struct cJSON *live, struct pl_json config)
{
	struct list_merge merge = {
		.maker = maker, .slot = slot, .out = live, .config = config};
	size_t l = 0, r = 0;

	if (!typed_list_init(&merge.left, maker, slot, live) ||
	    !typed_list_init(&merge.right, maker, slot, config.node))
		return;
	merge.taken = pl_arena_zalloc(maker->arena, merge.right.count + 1, sizeof(bool));
	if (merge.taken == NULL) {
		maker->failed = true;
		return;
	}
	skip_to_shared(&merge);
	live->child = NULL;
	while ((l < merge.left.count || r < merge.right.count) && !maker->failed)
		merge_step(&merge, &l, &r);
}

static bool is_empty(const struct cJSON *node)
{
	return node->child == NULL;
}

/* False: the value of the configuration takes the place of the object's. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the configuration */
static bool merge_value(struct field_maker *maker, struct schema_slot slot,
                        struct cJSON *live, struct pl_json config)
{
	enum slot_form form = slot_form(slot, typed_is_null(config.node)
	                                              ? (struct pl_json){.node = live}
	                                              : config);

	if (form == SLOT_LEAF || !typed_fits(form, live) ||
	    !typed_fits(form, config.node) || cJSON_IsNull(live))
		return false;
	if (is_empty(config.node))
		return !is_empty(live);
	if (form == SLOT_STRUCT || form == SLOT_MAP)
		merge_members(maker, slot, live, config);
	else
		merge_elements(maker, slot, live, config);
	return true;
}

void typed_merge(struct field_maker *maker, struct schema_slot slot, struct cJSON *object,
                 struct pl_json config)
{
	merge_members(maker, slot, object, config);
}
