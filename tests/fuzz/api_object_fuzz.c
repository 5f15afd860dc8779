/*
 * Any text is refused, or becomes an object; decoded once it is decoded, given defaults
 * once it has them, and equal to itself it is a change that is allowed.
 */
#include "coord/api/schema/schema_check.h"
#include "coord/api/schema/schema_defaults.h"
#include "tests/fuzz/fuzz.h"

static void check_object(struct json_tree *tree, const struct schema_resource *resource,
                         struct schema_report *report)
{
	struct schema_object object = {resource, {NULL, NULL}};
	struct json_tree before, again;

	PL_ASSERT(schema_defaults(tree, resource->type) == PL_OK);
	PL_ASSERT(json_tree_copy(tree->arena, json_tree_root(tree), &before) == PL_OK);
	PL_ASSERT(json_tree_copy(tree->arena, json_tree_root(tree), &again) == PL_OK);
	PL_ASSERT(schema_decode(&again, resource->type, report) == PL_OK);
	PL_ASSERT(schema_defaults(&again, resource->type) == PL_OK);
	PL_ASSERT(json_equal(json_tree_root(&again), json_tree_root(&before)));
	object.value = json_tree_root(tree);
	schema_check(&object, report);
	PL_ASSERT(report->code == PL_OK);
	report->cause_count = 0;
	schema_check_update(&object, json_tree_root(&before), report);
	PL_ASSERT(report->cause_count == 0 || report->cause_count == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct schema_report report;
	struct pl_arena arena;
	struct json_tree tree;
	struct pl_span text;
	struct pl_err err;
	size_t count;
	const struct schema_resource *resource = schema_resources(&count);

	if (size < 1)
		return 0;
	resource += data[0] % count;
	pl_arena_init(&arena, 0, 0);
	schema_report_init(&report, &arena);
	PL_ASSERT(schema_drop_duplicates(pl_span(data + 1, size - 1), &report, &text) ==
	          PL_OK);
	if (json_tree_parse(&arena, text, NULL, &tree, &err) == PL_OK &&
	    schema_decode(&tree, resource->type, &report) == PL_OK)
		check_object(&tree, resource, &report);
	pl_arena_done(&arena);
	return 0;
}
