/* A strategic merge patch of any object gives a document without directives, unless the
 * object had some, and is applied twice with the same result. */
#include <cjson/cJSON.h>

#include "coord/api/patch/schema_kit.h"
#include "coord/api/patch/strategic_merge.h"
#include "tests/fuzz/patch_kit.h"

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the document */
static bool has_directive(const struct cJSON *node)
{
	for (const struct cJSON *at = node->child; at != NULL; at = at->next)
		if ((at->string != NULL && at->string[0] == '$') || has_directive(at))
			return true;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct patch_input input = {0};
	struct pl_arena arena;
	struct pl_err err = {0};
	enum pl_code code;
	bool clean;

	pl_arena_init(&arena, 0, 0);
	if (patch_input_read(&arena, data, size, &input)) {
		clean = !has_directive(input.object.root);
		code = strategic_merge_apply(&input.object, &kit_pod, input.patch, &err);
		patch_check_code(code, &err);
		patch_check_tree(&arena, &input.object);
		PL_ASSERT(!clean || !has_directive(input.object.root));
	}
	pl_arena_done(&arena);
	return 0;
}
