#include <stdio.h>
#include <stdlib.h>

#include "coord/api/patch/json_patch.h"
#include "coord/api/patch/patch_kit.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;
static struct pl_err err;

static void becomes(const char *doc, const char *patch, const char *want)
{
	struct json_tree tree = kit_tree(&arena, doc);

	T_OK(json_patch_apply(&tree, kit_json(&arena, patch), &err), &err);
	T_STR(kit_text(&arena, json_tree_root(&tree)), want);
	pl_arena_done(&arena);
}

static void refuses(const char *doc, const char *patch, enum pl_code code,
                    const char *message)
{
	struct json_tree tree = kit_tree(&arena, doc);

	T_CODE(json_patch_apply(&tree, kit_json(&arena, patch), &err), code, &err);
	T_STR(err.msg, message);
	pl_arena_done(&arena);
}

T_CASE(operations_change_objects)
{
	becomes("{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\",\"value\":{\"c\":2}}]",
	        "{\"a\":1,\"b\":{\"c\":2}}");
	becomes("{\"a\":1,\"b\":2}", "[{\"op\":\"remove\",\"path\":\"/a\"}]",
	        "{\"b\":2}");
	becomes("{\"a\":1,\"b\":2}",
	        "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":[]}]",
	        "{\"a\":[],\"b\":2}");
	becomes("{\"a\":{\"x\":1},\"b\":{}}",
	        "[{\"op\":\"move\",\"from\":\"/a/x\",\"path\":\"/b/y\"}]",
	        "{\"a\":{},\"b\":{\"y\":1}}");
	becomes("{\"a\":{\"x\":1}}",
	        "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"}]",
	        "{\"a\":{\"x\":1},\"b\":{\"x\":1}}");
	becomes("{\"a\":{\"x\":1,\"y\":2}}",
	        "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"y\":2,\"x\":1}}]",
	        "{\"a\":{\"x\":1,\"y\":2}}");
}

T_CASE(operations_change_arrays)
{
	becomes("[1,3]", "[{\"op\":\"add\",\"path\":\"/1\",\"value\":2}]", "[1,2,3]");
	becomes("[1]", "[{\"op\":\"add\",\"path\":\"/1\",\"value\":2}]", "[1,2]");
	becomes("[1]", "[{\"op\":\"add\",\"path\":\"/-\",\"value\":2}]", "[1,2]");
	becomes("[1,2]", "[{\"op\":\"replace\",\"path\":\"/1\",\"value\":5}]", "[1,5]");
	becomes("[1,2]", "[{\"op\":\"remove\",\"path\":\"/0\"}]", "[2]");
	becomes("[1,2,3]", "[{\"op\":\"move\",\"from\":\"/0\",\"path\":\"/2\"}]",
	        "[2,3,1]");
}

T_CASE(pointers_are_unescaped)
{
	becomes("{\"a/b\":{\"~\":1}}",
	        "[{\"op\":\"replace\",\"path\":\"/a~1b/~0\",\"value\":2}]",
	        "{\"a/b\":{\"~\":2}}");
	becomes("{\"~1\":1}", "[{\"op\":\"remove\",\"path\":\"/~01\"}]", "{}");
	becomes("{\"\":{\"\":1}}", "[{\"op\":\"remove\",\"path\":\"//\"}]", "{\"\":{}}");
	refuses("{}", "[{\"op\":\"add\",\"path\":\"/~2\",\"value\":1}]", PL_INVALID,
	        "[0]: '~' in '/~2' is not ~0 or ~1");
	refuses("{}", "[{\"op\":\"add\",\"path\":\"a\",\"value\":1}]", PL_INVALID,
	        "[0]: pointer 'a' does not begin with '/'");
}

T_CASE(replace_and_test_take_a_missing_member_as_kubernetes_does)
{
	becomes("{\"spec\":{}}",
	        "[{\"op\":\"replace\",\"path\":\"/spec/unschedulable\",\"value\":true}]",
	        "{\"spec\":{\"unschedulable\":true}}");
	becomes("{}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]", "{}");
	refuses("[1]", "[{\"op\":\"replace\",\"path\":\"/1\",\"value\":1}]", PL_CONFLICT,
	        "[0]: replace operation does not apply: nothing is there: missing value");
}

T_CASE(what_does_not_apply_is_a_conflict)
{
	refuses("{\"a\":1}",
	        "[{\"op\":\"remove\",\"path\":\"/a\"},"
	        "{\"op\":\"test\",\"path\":\"/a\",\"value\":1}]",
	        PL_CONFLICT, "[1]: testing value failed: test failed");
	refuses("{}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]", PL_CONFLICT,
	        "[0]: add operation does not apply: doc is missing path: \"/a/b\": "
	        "missing value");
	refuses("{}", "[{\"op\":\"remove\",\"path\":\"/a\"}]", PL_CONFLICT,
	        "[0]: remove operation does not apply: nothing is there: missing value");
	refuses("[1]", "[{\"op\":\"remove\",\"path\":\"/-\"}]", PL_CONFLICT,
	        "[0]: remove operation does not apply: nothing is there: missing value");
	refuses("{\"a\":[]}", "[{\"op\":\"add\",\"path\":\"/a/1\",\"value\":1}]",
	        PL_CONFLICT, "[0]: index 1 is beyond an array of 0 elements");
	refuses("[1,2]", "[{\"op\":\"test\",\"path\":\"/01\",\"value\":2}]", PL_CONFLICT,
	        "[0]: '01' is no index of an array");
	refuses("[1]", "[{\"op\":\"remove\",\"path\":\"/-1\"}]", PL_CONFLICT,
	        "[0]: '-1' is no index of an array");
	refuses("{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b\"}]",
	        PL_CONFLICT,
	        "[0]: move operation does not apply: doc is missing path: \"/a/b\": "
	        "missing value");
	refuses("{}", "[{\"op\":\"remove\",\"path\":\"\"}]", PL_CONFLICT,
	        "[0]: the whole document cannot be removed");
	refuses("{}", "[{\"op\":\"mend\",\"path\":\"/a\"}]", PL_CONFLICT,
	        "[0]: unknown operation 'mend'");
	refuses("{}", "[{\"path\":\"/a\"}]", PL_CONFLICT,
	        "[0]: patch operation failed to decode op: missing value");
	refuses("{}", "[{\"op\":\"add\",\"value\":1}]", PL_CONFLICT,
	        "[0]: add operation failed to decode path: missing value");
	refuses("{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", PL_CONFLICT,
	        "[0]: add operation has no value: missing value");
}

T_CASE(a_malformed_patch_is_invalid)
{
	refuses("{}", "{}", PL_INVALID,
	        "document: a JSON patch is an array of operations, got an object");
	refuses("{}", "[1]", PL_INVALID, "[0]: want an object, got a number");
}

/* A patch of the same operation many times. */
static struct pl_json repeated(const char *op, size_t count)
{
	struct pl_json_limits limits = {1 << 20, 64, 1000000};
	struct pl_json patch = {0};
	struct pl_buf buf;

	pl_buf_init(&buf, 1 << 20);
	for (size_t i = 0; i < count; i++)
		T_OK(pl_buf_printf(&buf, "%s%s", i == 0 ? "[" : ",", op), NULL);
	T_OK(pl_buf_add_str(&buf, "]"), NULL);
	T_OK(pl_json_parse(&arena, pl_buf_span(&buf), &limits, &patch, &err), &err);
	pl_buf_done(&buf);
	return patch;
}

T_CASE(growth_is_bounded)
{
	struct json_tree tree = kit_tree(&arena, "{\"a\":[[]],\"n\":1}");
	const char *copy = "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/-\"}";
	const char *nest = "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/0\"}";
	const char *same = "{\"op\":\"replace\",\"path\":\"/n\",\"value\":2}";

	T_CODE(json_patch_apply(&tree, repeated(copy, 40), &err), PL_CONFLICT, &err);
	T_STR(err.msg, "[18]: copies would take more than 3145728 bytes together");
	tree = kit_tree(&arena, "{\"a\":{\"b\":1}}");
	nest = "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/b\"}";
	T_CODE(json_patch_apply(&tree, repeated(nest, 100), &err), PL_CONFLICT, &err);
	T_STR(err.msg, "[58]: values would be nested deeper than 60");
	T_TRUE(json_measure(json_tree_root(&tree)).depth <= JSON_PATCH_DEPTH_MAX);
	T_OK(json_patch_apply(&tree, repeated(same, JSON_PATCH_OPS_MAX), &err), &err);
	T_CODE(json_patch_apply(&tree, repeated(same, JSON_PATCH_OPS_MAX + 1), &err),
	       PL_LIMIT, &err);
	T_STR(err.msg,
	      "The allowed maximum operations in a JSON patch is 10000, got 10001");
	pl_arena_done(&arena);
}

T_CASE(searches_are_bounded)
{
	struct json_tree tree;
	const char *test = "{\"op\":\"test\",\"path\":\"/19999\",\"value\":0}";

	pl_arena_init(&arena, 1 << 16, 0);
	tree = kit_tree(&arena, "[]");
	for (int i = 0; i < 20000; i++)
		T_TRUE(json_append(tree.root, json_new_number(&arena, 0)));
	T_OK(json_patch_apply(&tree, repeated(test, 2000), &err), &err);
	T_CODE(json_patch_apply(&tree, repeated(test, JSON_PATCH_OPS_MAX), &err),
	       PL_LIMIT, &err);
	pl_arena_done(&arena);
}

/* -- vectors --------------------------------------------------------------------------- */

static struct pl_json read_vectors(void)
{
	const char *root = getenv("T_ROOT");
	char path[512];
	static char text[64 << 10];
	struct pl_json cases = {0};
	size_t len;
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/coord/api/patch/vectors/json_patch.json",
	               root == NULL ? "." : root);
	file = fopen(path, "r");
	T_TRUE(file != NULL);
	len = fread(text, 1, sizeof text, file);
	(void)fclose(file);
	T_OK(pl_json_parse(&arena, pl_span(text, len), NULL, &cases, &err), &err);
	return cases;
}

static void check_vector(struct pl_json item)
{
	struct pl_json expected = pl_json_member(item, "expected");
	bool fails = pl_json_member(item, "error").node != NULL;
	struct json_tree tree = {0};
	enum pl_code code;

	T_OK(json_tree_copy(&arena, pl_json_member(item, "doc"), &tree), NULL);
	code = json_patch_apply(&tree, pl_json_member(item, "patch"), &err);
	if (fails ? code == PL_OK : code != PL_OK)
		t_fail(__FILE__, __LINE__, "%s: %s", kit_text(&arena, item),
		       code == PL_OK ? "is accepted" : err.msg);
	if (expected.node != NULL && !json_equal(json_tree_root(&tree), expected))
		t_fail(__FILE__, __LINE__, "%s: gives %s", kit_text(&arena, item),
		       kit_text(&arena, json_tree_root(&tree)));
}

T_CASE(the_public_vectors_hold)
{
	size_t checked = 0;

	PL_JSON_EACH (item, read_vectors()) {
		check_vector(item);
		checked++;
	}
	T_EQ(checked, 93);
	pl_arena_done(&arena);
}

static enum pl_code patch_all(void)
{
	static const char patch[] =
		"[{\"op\":\"add\",\"path\":\"/b\",\"value\":{\"c\":[1]}},"
		"{\"op\":\"copy\",\"from\":\"/b\",\"path\":\"/d\"},"
		"{\"op\":\"move\",\"from\":\"/b/c\",\"path\":\"/e\"},"
		"{\"op\":\"replace\",\"path\":\"/a\",\"value\":\"x\"},"
		"{\"op\":\"replace\",\"path\":\"\",\"value\":{\"y\":1}}]";
	struct json_tree tree = {0};
	struct pl_json value = {0};
	enum pl_code code;

	pl_arena_init(&arena, 1, 0);
	code = json_tree_parse(&arena, pl_span_str("{\"a\":1}"), NULL, &tree, NULL);
	if (code == PL_OK)
		code = pl_json_parse(&arena, pl_span_str(patch), NULL, &value, NULL);
	if (code == PL_OK)
		code = json_patch_apply(&tree, value, NULL);
	pl_arena_done(&arena);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(patch_all, false);
}
