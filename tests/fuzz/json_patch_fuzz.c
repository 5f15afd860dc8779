/* A JSON patch of any object ends, stays within its bounds, and gives a document. */
#include "coord/api/patch/json_patch.h"
#include "coord/api/patch/merge_patch.h"
#include "tests/fuzz/patch_kit.h"

static void run_json_patch(struct pl_arena *arena, struct patch_input *input)
{
	struct pl_err err = {0};
	struct json_tree tree = {0};
	enum pl_code code = json_tree_copy(arena, json_tree_root(&input->object), &tree);

	PL_ASSERT(code == PL_OK);
	code = json_patch_apply(&tree, input->patch, &err);
	patch_check_code(code, &err);
	PL_ASSERT(json_measure(json_tree_root(&tree)).depth <= JSON_PATCH_DEPTH_MAX);
	patch_check_tree(arena, &tree);
}

/* A merge patch that is applied twice changes nothing the second time. */
static void run_merge_patch(struct pl_arena *arena, struct patch_input *input)
{
	struct pl_err err = {0};
	struct json_tree again = {0};
	enum pl_code code = merge_patch_apply(&input->object, input->patch, &err);

	patch_check_code(code, &err);
	if (code != PL_OK)
		return;
	patch_check_tree(arena, &input->object);
	code = json_tree_copy(arena, json_tree_root(&input->object), &again);
	PL_ASSERT(code == PL_OK);
	code = merge_patch_apply(&again, input->patch, &err);
	PL_ASSERT(code == PL_OK);
	PL_ASSERT(json_equal(json_tree_root(&again), json_tree_root(&input->object)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct patch_input input = {0};
	struct pl_arena arena;

	pl_arena_init(&arena, 0, 0);
	if (patch_input_read(&arena, data, size, &input)) {
		run_json_patch(&arena, &input);
		run_merge_patch(&arena, &input);
	}
	pl_arena_done(&arena);
	return 0;
}
