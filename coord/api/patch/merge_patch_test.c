#include <stdio.h>

#include "coord/api/patch/merge_patch.h"
#include "coord/api/patch/patch_kit.h"
#include "store/base/rng.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;
static struct pl_err err;

static void becomes(const char *doc, const char *patch, const char *want)
{
	struct json_tree tree = kit_tree(&arena, doc);

	T_OK(merge_patch_apply(&tree, kit_json(&arena, patch), &err), &err);
	T_STR(kit_text(&arena, json_tree_root(&tree)), want);
	pl_arena_done(&arena);
}

/* The table of RFC 7386, appendix A, as far as patches are objects. */
T_CASE(the_table_of_the_rfc_holds)
{
	becomes("{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}");
	becomes("{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}");
	becomes("{\"a\":\"b\"}", "{\"a\":null}", "{}");
	becomes("{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}");
	becomes("{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}");
	becomes("{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}");
	becomes("{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}",
	        "{\"a\":{\"b\":\"d\"}}");
	becomes("{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}");
	becomes("[\"a\",\"b\"]", "{\"c\":1}", "{\"c\":1}");
	becomes("{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}");
	becomes("[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}");
	becomes("{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}");
	becomes("{\"a\":1}", "{\"a\":{\"x\":null,\"y\":[null]}}",
	        "{\"a\":{\"y\":[null]}}");
}

T_CASE(a_patch_that_is_no_object_is_invalid)
{
	struct json_tree tree = kit_tree(&arena, "{}");

	T_CODE(merge_patch_apply(&tree, kit_json(&arena, "[1]"), &err), PL_INVALID, &err);
	T_STR(err.msg, "document: a merge patch is an object, got an array");
	pl_arena_done(&arena);
}

/* A random object without null, as deep as levels. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as levels */
static struct cJSON *random_object(struct pl_rng *rng, int levels)
{
	struct cJSON *object = json_new_object(&arena);
	uint64_t members = pl_rng_below(rng, 20);
	char name[8];

	for (uint64_t i = 0; i < members; i++) {
		struct cJSON *value =
			levels > 0 && pl_rng_below(rng, 3) == 0
				? random_object(rng, levels - 1)
				: json_new_number(&arena, (double)pl_rng_below(rng, 3));

		(void)snprintf(name, sizeof name, "m%d", (int)pl_rng_below(rng, 20));
		T_TRUE(json_set(&arena, object, name, value));
	}
	return object;
}

/* The merge patch from one object to another, by its definition. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the objects */
static struct cJSON *difference(struct pl_json from, struct pl_json to)
{
	struct cJSON *patch = json_new_object(&arena);

	PL_JSON_EACH (item, from)
		if (pl_json_member(to, pl_json_key(item)).node == NULL)
			T_TRUE(json_set(&arena, patch, pl_json_key(item),
			                json_new_null(&arena)));
	PL_JSON_EACH (item, to) {
		struct pl_json old = pl_json_member(from, pl_json_key(item));
		bool both = pl_json_type(old) == PL_JSON_OBJECT &&
		            pl_json_type(item) == PL_JSON_OBJECT;

		if (!json_equal(old, item))
			T_TRUE(json_set(&arena, patch, pl_json_key(item),
			                both ? difference(old, item)
			                     : json_new_copy(&arena, item)));
	}
	return patch;
}

T_CASE(a_random_difference_leads_to_its_target)
{
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (int round = 0; round < 500; round++) {
		struct json_tree from = kit_tree(&arena, "{}"), to = from, patch = from;

		to.doc = kit_tree(&arena, "{}").doc;
		patch.doc = kit_tree(&arena, "{}").doc;
		json_tree_set_root(&from, random_object(&rng, 3));
		json_tree_set_root(&to, random_object(&rng, 3));
		json_tree_set_root(
			&patch, difference(json_tree_root(&from), json_tree_root(&to)));
		T_OK(merge_patch_apply(&from, json_tree_root(&patch), &err), &err);
		T_TRUE(json_equal(json_tree_root(&from), json_tree_root(&to)));
		pl_arena_done(&arena);
	}
}

static enum pl_code merge_all(void)
{
	struct json_tree tree = {0};
	struct pl_json patch = {0};
	enum pl_code code;

	pl_arena_init(&arena, 1, 0);
	code = json_tree_parse(&arena, pl_span_str("{\"a\":{\"b\":1},\"c\":2}"), NULL,
	                       &tree, NULL);
	if (code == PL_OK)
		code = pl_json_parse(
			&arena,
			pl_span_str("{\"a\":{\"b\":\"x\"},\"c\":null,\"d\":{\"e\":[1]}}"),
			NULL, &patch, NULL);
	if (code == PL_OK)
		code = merge_patch_apply(&tree, patch, NULL);
	pl_arena_done(&arena);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(merge_all, false);
}
