#include "coord/api/patch/strategic_merge.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "coord/api/patch/strategic_int.h"
#include "store/base/json_index.h"

enum pl_code strategic_no_memory(struct strategic_run *run)
{
	return pl_err_set(run->err, PL_NOMEM, "strategic merge patch: no memory");
}

/* -- values where nothing was before --------------------------------------------------- */

/* Where there is nothing to patch, Kubernetes drops an object that deletes, and also one
 * that replaces. */
static bool is_dropped(struct pl_json value, enum strategic_copied as)
{
	enum strategic_directive directive = strategic_directive(value);

	return directive == STRATEGIC_DELETE ||
	       (directive == STRATEGIC_REPLACE && as == STRATEGIC_MEMBER);
}

static bool is_left_out(struct pl_json value, bool in_object, enum strategic_copied as)
{
	if (!in_object)
		return strategic_directive(value) == STRATEGIC_REPLACE ||
		       is_dropped(value, as);
	return strategic_is_directive(pl_json_key(value)) ||
	       pl_json_type(value) == PL_JSON_NULL || is_dropped(value, as);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
struct cJSON *strategic_copy(struct pl_arena *arena, struct pl_json value,
                             enum strategic_copied as)
{
	bool is_object = pl_json_type(value) == PL_JSON_OBJECT;
	struct cJSON *copy;

	if (!is_object && pl_json_type(value) != PL_JSON_ARRAY)
		return json_new_copy(arena, value);
	copy = is_object ? json_new_object(arena) : json_new_array(arena);
	PL_JSON_EACH (item, value) {
		struct cJSON *child;

		if (is_left_out(item, is_object, as))
			continue;
		child = strategic_copy(arena, item, as);
		if (is_object ? !json_add(arena, copy, pl_json_key(item), child)
		              : !json_append(copy, child))
			return NULL;
	}
	return copy;
}

/* -- objects --------------------------------------------------------------------------- */

static void clear_members(struct cJSON *object)
{
	object->child = NULL;
}

static enum pl_code replace_members(struct strategic_run *run, struct cJSON *object,
                                    struct pl_json patch)
{
	struct cJSON *copy = strategic_copy(run->arena, patch, STRATEGIC_ELEMENT);

	if (copy == NULL)
		return strategic_no_memory(run);
	object->child = copy->child;
	return PL_OK;
}

static enum pl_code retain_members(struct strategic_run *run, struct cJSON *object,
                                   struct pl_json keys)
{
	struct strategic_names names;
	struct cJSON *next;

	if (keys.node == NULL)
		return PL_OK;
	if (!strategic_names_init(&names, run->arena, keys))
		return strategic_no_memory(run);
	for (struct cJSON *node = object->child; node != NULL; node = next) {
		next = node->next;
		if (!strategic_names_has(&names, node))
			json_detach(object, node);
	}
	return PL_OK;
}

/* Puts a member into the place of old (NULL: there is none). */
static enum pl_code put_member(struct strategic_run *run, struct cJSON *object,
                               struct cJSON *old, struct pl_json value)
{
	struct cJSON *copy;

	if (is_dropped(value, STRATEGIC_MEMBER)) {
		if (old != NULL)
			json_detach(object, old);
		return PL_OK;
	}
	copy = strategic_copy(run->arena, value, STRATEGIC_MEMBER);
	if (copy == NULL)
		return strategic_no_memory(run);
	if (old != NULL)
		json_replace(object, old, copy);
	else if (!json_add(run->arena, object, pl_json_key(value), copy))
		return strategic_no_memory(run);
	return PL_OK;
}

/* The list f that $setElementOrder/f is for is merged with its order. When the patch does
 * not change f itself, the order alone is applied. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
static enum pl_code merge_ordered(struct strategic_run *run, struct cJSON *object,
                                  struct cJSON *old, struct pl_json order,
                                  struct pl_json patch, struct schema_slot slot)
{
	struct strategic_list how = {slot, patch, order, old == NULL};
	const char *name = pl_json_key(order) + strlen(STRATEGIC_ORDER);

	if (patch.node != NULL && pl_json_type(patch) != PL_JSON_ARRAY)
		return pl_json_type(patch) == PL_JSON_NULL
		               ? PL_OK
		               : pl_json_fail(patch, PL_INVALID, run->err,
		                              "want an array, got %s",
		                              pl_json_type_name(pl_json_type(patch)));
	if (old != NULL && !cJSON_IsArray(old))
		return pl_json_fail(order, PL_INVALID, run->err, "%s is no list", name);
	if (old == NULL && patch.node == NULL)
		return PL_OK;
	if (old == NULL) {
		old = strategic_copy(run->arena, patch, STRATEGIC_MEMBER);
		if (!json_add(run->arena, object, name, old))
			return strategic_no_memory(run);
	}
	return strategic_list(run, old, &how);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
static enum pl_code merge_member(struct strategic_run *run, struct cJSON *object,
                                 struct cJSON *old, struct pl_json value,
                                 struct schema_slot slot)
{
	struct strategic_list how = {slot, value, {0}, false};
	enum pl_json_type type = pl_json_type(value);

	if (type == PL_JSON_NULL) {
		if (old != NULL)
			json_detach(object, old);
		return PL_OK;
	}
	if (old != NULL && cJSON_IsObject(old) && type == PL_JSON_OBJECT &&
	    slot_replaced(slot))
		return replace_members(run, old, value);
	if (old != NULL && cJSON_IsObject(old) && type == PL_JSON_OBJECT)
		return strategic_object(run, old, value, slot);
	if (old != NULL && cJSON_IsArray(old) && type == PL_JSON_ARRAY)
		return strategic_list(run, old, &how);
	return put_member(run, object, old, value);
}

struct strategic_walk {
	struct strategic_run *run;
	struct cJSON *object;
	struct pl_json patch;
	struct schema_slot slot;
	struct json_index old;     /* the members of object */
	struct json_index changes; /* the members of patch */
};

/* $deleteFromPrimitiveList/f */
static enum pl_code apply_removal(struct strategic_walk *walk, struct pl_json item)
{
	const char *name = pl_json_key(item) + strlen(STRATEGIC_DELETE_FROM);
	struct cJSON *old = json_index_find(&walk->old, name);

	if (old == NULL || !cJSON_IsArray(old))
		return PL_OK;
	return strategic_remove(walk->run, old, item);
}

/* $setElementOrder/f */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
static enum pl_code apply_order(struct strategic_walk *walk, struct pl_json item)
{
	const char *name = pl_json_key(item) + strlen(STRATEGIC_ORDER);
	struct pl_json change = {json_index_find(&walk->changes, name), walk->patch.doc};

	return merge_ordered(walk->run, walk->object, json_index_find(&walk->old, name),
	                     item, change, slot_member(walk->slot, name, NULL));
}

static bool is_ordered(const struct strategic_walk *walk, struct pl_json item)
{
	char order[sizeof STRATEGIC_ORDER + 256];
	size_t len = strlen(pl_json_key(item));

	if (pl_json_type(item) != PL_JSON_ARRAY || len >= 256)
		return false;
	memcpy(order, STRATEGIC_ORDER, sizeof STRATEGIC_ORDER - 1);
	memcpy(order + sizeof STRATEGIC_ORDER - 1, pl_json_key(item), len + 1);
	return json_index_find(&walk->changes, order) != NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
static enum pl_code apply_change(struct strategic_walk *walk, struct pl_json item)
{
	const char *name = pl_json_key(item);

	if (strategic_is_directive(name) || is_ordered(walk, item))
		return PL_OK;
	return merge_member(walk->run, walk->object, json_index_find(&walk->old, name),
	                    item, slot_member(walk->slot, name, NULL));
}

static bool has_prefix(struct pl_json item, const char *prefix)
{
	return strncmp(pl_json_key(item), prefix, strlen(prefix)) == 0;
}

/* Scalars are removed from lists before others are added, and lists with an order are
 * merged before all other members. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
static enum pl_code apply_members(struct strategic_walk *walk)
{
	enum pl_code code = PL_OK;

	PL_JSON_EACH (item, walk->patch)
		if (code == PL_OK && has_prefix(item, STRATEGIC_DELETE_FROM))
			code = apply_removal(walk, item);
	PL_JSON_EACH (item, walk->patch)
		if (code == PL_OK && has_prefix(item, STRATEGIC_ORDER))
			code = apply_order(walk, item);
	PL_JSON_EACH (item, walk->patch)
		if (code == PL_OK)
			code = apply_change(walk, item);
	return code;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
enum pl_code strategic_object(struct strategic_run *run, struct cJSON *object,
                              struct pl_json patch, struct schema_slot slot)
{
	struct strategic_walk walk = {run, object, patch, slot, {0}, {0}};
	enum pl_code code;

	switch (strategic_directive(patch)) {
	case STRATEGIC_DELETE:
		clear_members(object);
		return PL_OK;
	case STRATEGIC_REPLACE:
		return replace_members(run, object, patch);
	case STRATEGIC_NONE:
	case STRATEGIC_MERGE:
		break;
	}
	code = retain_members(run, object, pl_json_member(patch, STRATEGIC_RETAIN));
	if (code != PL_OK)
		return code;
	if (!json_index_init(&walk.old, run->arena, object) ||
	    !json_index_init(&walk.changes, run->arena, patch.node))
		return strategic_no_memory(run);
	return apply_members(&walk);
}

enum pl_code strategic_merge_apply(struct json_tree *tree, const struct schema_type *type,
                                   struct pl_json patch, struct pl_err *err)
{
	struct strategic_run run = {tree->arena, err};
	enum pl_code code;

	if (pl_json_type(patch) != PL_JSON_OBJECT)
		return pl_json_fail(patch, PL_INVALID, err,
		                    "a strategic merge patch is an object, got %s",
		                    pl_json_type_name(pl_json_type(patch)));
	code = strategic_check(&run, patch);
	if (code != PL_OK)
		return code;
	if (tree->root == NULL || !cJSON_IsObject(tree->root))
		json_tree_set_root(tree, json_new_object(tree->arena));
	if (tree->root == NULL)
		return strategic_no_memory(&run);
	return strategic_object(&run, tree->root, patch, slot_root(type));
}
