/*
 * A configuration that is applied with force to any object: its manager owns what the
 * configuration has, and applying it again changes nothing. An update from any object to
 * any other leaves entries that are well-formed.
 */
#include <cjson/cJSON.h>

#include "coord/api/patch/apply.h"
#include "coord/api/patch/schema_kit.h"
#include "tests/fuzz/patch_kit.h"

static const struct apply_options forced = {
	.by = {.type = &kit_pod,
               .manager = "fuzz",
               .api_version = "v1",
               .subresource = "",
               .time = "2024-01-01T00:00:00Z"},
	.force = true,
};

static struct pl_json entries_of(struct pl_json object)
{
	return pl_json_member(pl_json_member(object, "metadata"), "managedFields");
}

static void run_apply(struct pl_arena *arena, struct pl_json live, struct pl_json config)
{
	struct apply_result first, second;
	struct pl_err err = {0};
	enum pl_code code = apply_config(arena, live, config, &forced, &first, &err);

	patch_check_code(code, &err);
	if (code != PL_OK)
		return;
	patch_check_tree(arena, &first.object);
	code = managed_fields_check(arena, entries_of(json_tree_root(&first.object)),
	                            &err);
	PL_ASSERT(code == PL_OK);
	code = apply_config(arena, json_tree_root(&first.object), config, &forced,
	                    &second, &err);
	PL_ASSERT(code == PL_OK);
	PL_ASSERT(json_equal(json_tree_root(&first.object),
	                     json_tree_root(&second.object)));
}

static void run_update(struct pl_arena *arena, struct pl_json before,
                       struct pl_json after)
{
	struct json_tree tree = {0};
	struct pl_err err = {0};
	enum pl_code code;

	if (pl_json_type(after) != PL_JSON_OBJECT)
		return;
	code = json_tree_copy(arena, after, &tree);
	PL_ASSERT(code == PL_OK);
	code = managed_fields_update(&tree, before, &forced.by, &err);
	PL_ASSERT(code == PL_OK);
	patch_check_tree(arena, &tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct patch_input input = {0};
	struct pl_arena arena;

	pl_arena_init(&arena, 0, 0);
	if (patch_input_read(&arena, data, size, &input)) {
		run_apply(&arena, json_tree_root(&input.object), input.patch);
		run_update(&arena, json_tree_root(&input.object), input.patch);
		run_update(&arena, (struct pl_json){0}, input.patch);
	}
	pl_arena_done(&arena);
	return 0;
}
