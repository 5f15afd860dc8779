#include "coord/api/patch/merge_patch.h"

#include <cjson/cJSON.h>

#include "store/base/json_index.h"

static struct cJSON *merged_object(struct pl_arena *arena, struct pl_json patch);

/* A value of the patch as it is where nothing was before. NULL: no memory. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
static struct cJSON *merged_value(struct pl_arena *arena, struct pl_json patch)
{
	return pl_json_type(patch) == PL_JSON_OBJECT ? merged_object(arena, patch)
	                                             : json_new_copy(arena, patch);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
static struct cJSON *merged_object(struct pl_arena *arena, struct pl_json patch)
{
	struct cJSON *object = json_new_object(arena);

	PL_JSON_EACH (item, patch) {
		if (pl_json_type(item) == PL_JSON_NULL)
			continue;
		if (!json_add(arena, object, pl_json_key(item),
		              merged_value(arena, item)))
			return NULL;
	}
	return object;
}

static bool merge_object(struct pl_arena *arena, struct cJSON *object,
                         struct pl_json patch);

/* old NULL: the object has no such member. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
static bool merge_member(struct pl_arena *arena, struct cJSON *object, struct cJSON *old,
                         struct pl_json patch)
{
	struct cJSON *value;

	if (pl_json_type(patch) == PL_JSON_NULL) {
		if (old != NULL)
			json_detach(object, old);
		return true;
	}
	if (old != NULL && cJSON_IsObject(old) && pl_json_type(patch) == PL_JSON_OBJECT)
		return merge_object(arena, old, patch);
	value = merged_value(arena, patch);
	if (old == NULL)
		return json_add(arena, object, pl_json_key(patch), value);
	if (value != NULL)
		json_replace(object, old, value);
	return value != NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
static bool merge_object(struct pl_arena *arena, struct cJSON *object,
                         struct pl_json patch)
{
	struct json_index index;

	if (!json_index_init(&index, arena, object))
		return false;
	PL_JSON_EACH (item, patch) {
		struct cJSON *old = json_index_find(&index, pl_json_key(item));

		if (!merge_member(arena, object, old, item))
			return false;
	}
	return true;
}

enum pl_code merge_patch_apply(struct json_tree *tree, struct pl_json patch,
                               struct pl_err *err)
{
	if (pl_json_type(patch) != PL_JSON_OBJECT)
		return pl_json_fail(patch, PL_INVALID, err,
		                    "a merge patch is an object, got %s",
		                    pl_json_type_name(pl_json_type(patch)));
	if (tree->root == NULL || !cJSON_IsObject(tree->root))
		json_tree_set_root(tree, json_new_object(tree->arena));
	if (tree->root == NULL || !merge_object(tree->arena, tree->root, patch))
		return pl_err_set(err, PL_NOMEM, "merge patch: no memory");
	return PL_OK;
}
