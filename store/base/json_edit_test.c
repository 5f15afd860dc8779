#include <cjson/cJSON.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/buf.h"
#include "store/base/json_edit.h"
#include "store/base/json_out.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;
static struct pl_err err;

static struct json_tree parsed(const char *text)
{
	struct json_tree tree = {0};

	T_OK(json_tree_parse(&arena, pl_span_str(text), NULL, &tree, &err), &err);
	return tree;
}

/* Every list of children is linked as cJSON links them. */
static void check_links(const struct cJSON *node)
{
	const struct cJSON *last = NULL;

	for (const struct cJSON *at = node->child; at != NULL; at = at->next) {
		T_TRUE(at == node->child || at->prev == last);
		T_EQ(at->string != NULL, cJSON_IsObject(node));
		last = at;
	}
	T_TRUE(node->child == NULL || node->child->prev == last);
}

static void reads(const struct json_tree *tree, const char *want)
{
	struct pl_buf buf;
	struct pl_json_out out;

	check_links(tree->root);
	pl_buf_init(&buf, 1 << 20);
	pl_json_out_init(&out, &buf);
	pl_json_out_value(&out, json_tree_root(tree));
	T_OK(pl_json_out_done(&out), NULL);
	T_OK(pl_buf_add(&buf, pl_span("", 1)), NULL);
	T_STR((const char *)buf.at, want);
	pl_buf_done(&buf);
}

static void set(struct json_tree *tree, const char *name, struct cJSON *value)
{
	T_TRUE(json_set(&arena, tree->root, name, value));
}

T_CASE(members_are_replaced_in_place_or_added_at_the_end)
{
	struct json_tree tree = parsed("{\"a\":1,\"b\":2,\"c\":3}");

	set(&tree, "b", json_new_str(&arena, "two"));
	set(&tree, "d", json_new_bool(&arena, true));
	reads(&tree, "{\"a\":1,\"b\":\"two\",\"c\":3,\"d\":true}");
	set(&tree, "a", json_new_null(&arena));
	set(&tree, "d", json_new_array(&arena));
	reads(&tree, "{\"a\":null,\"b\":\"two\",\"c\":3,\"d\":[]}");
	set(&tree, "a", json_get(tree.root, "a"));
	reads(&tree, "{\"a\":null,\"b\":\"two\",\"c\":3,\"d\":[]}");
	pl_arena_done(&arena);
}

T_CASE(children_are_replaced_and_members_added)
{
	struct json_tree tree = parsed("{\"a\":[1,2],\"b\":3}");
	struct cJSON *a = json_get(tree.root, "a");

	json_replace(tree.root, json_get(tree.root, "b"), json_new_null(&arena));
	json_replace(a, json_at(a, 1), json_new_bool(&arena, true));
	T_TRUE(json_add(&arena, tree.root, "c", json_new_array(&arena)));
	T_TRUE(!json_add(&arena, tree.root, "d", NULL));
	reads(&tree, "{\"a\":[1,true],\"b\":null,\"c\":[]}");
	pl_arena_done(&arena);
}

T_CASE(an_only_member_is_replaced_and_removed)
{
	struct json_tree tree = parsed("{\"a\":1}");

	set(&tree, "a", json_new_number(&arena, 2));
	reads(&tree, "{\"a\":2}");
	T_TRUE(json_remove(tree.root, "a"));
	T_TRUE(!json_remove(tree.root, "a"));
	reads(&tree, "{}");
	set(&tree, "b", json_new_number(&arena, 3));
	reads(&tree, "{\"b\":3}");
	pl_arena_done(&arena);
}

T_CASE(members_are_removed_first_middle_and_last)
{
	struct json_tree tree = parsed("{\"a\":1,\"b\":2,\"c\":3,\"d\":4}");

	T_TRUE(json_remove(tree.root, "b"));
	reads(&tree, "{\"a\":1,\"c\":3,\"d\":4}");
	T_TRUE(json_remove(tree.root, "d"));
	reads(&tree, "{\"a\":1,\"c\":3}");
	T_TRUE(json_remove(tree.root, "a"));
	reads(&tree, "{\"c\":3}");
	T_TRUE(!json_remove(tree.root, "d"));
	pl_arena_done(&arena);
}

T_CASE(a_member_that_is_no_object_becomes_one)
{
	struct json_tree tree = parsed("{\"a\":{\"b\":1},\"c\":5}");
	struct cJSON *a = json_get(tree.root, "a");

	T_TRUE(json_get_object(&arena, tree.root, "a") == a);
	T_TRUE(json_get_object(&arena, tree.root, "c") != NULL);
	T_TRUE(json_get_object(&arena, tree.root, "d") != NULL);
	reads(&tree, "{\"a\":{\"b\":1},\"c\":{},\"d\":{}}");
	T_TRUE(json_get_object(&arena, NULL, "x") == NULL);
	pl_arena_done(&arena);
}

T_CASE(elements_are_inserted_anywhere_and_moved)
{
	struct json_tree tree = parsed("[]");
	struct cJSON *two = json_new_number(&arena, 2), *node;

	T_TRUE(json_insert(tree.root, 0, two));
	T_TRUE(json_insert(tree.root, 0, json_new_number(&arena, 0)));
	T_TRUE(json_insert(tree.root, 1, json_new_number(&arena, 1)));
	T_TRUE(json_insert(tree.root, 3, json_new_number(&arena, 3)));
	T_TRUE(json_append(tree.root, json_new_number(&arena, 4)));
	reads(&tree, "[0,1,2,3,4]");
	T_EQ(json_length(tree.root), 5);
	T_TRUE(json_at(tree.root, 2) == two);
	T_TRUE(json_at(tree.root, 5) == NULL);
	json_detach(tree.root, two);
	T_TRUE(json_append(tree.root, two));
	node = json_at(tree.root, 0);
	json_detach(tree.root, node);
	reads(&tree, "[1,3,4,2]");
	json_detach(tree.root, two);
	reads(&tree, "[1,3,4]");
	pl_arena_done(&arena);
}

T_CASE(a_member_that_becomes_an_element_loses_its_name)
{
	struct json_tree tree = parsed("{\"a\":[],\"b\":1}");
	struct cJSON *b = json_get(tree.root, "b"), *a = json_get(tree.root, "a");

	json_detach(tree.root, b);
	T_TRUE(json_insert(a, 0, b));
	T_TRUE(b->string == NULL);
	reads(&tree, "{\"a\":[1]}");
	json_detach(a, b);
	set(&tree, "c", b);
	reads(&tree, "{\"a\":[],\"c\":1}");
	pl_arena_done(&arena);
}

T_CASE(values_of_other_types_have_no_members_or_elements)
{
	struct json_tree tree = parsed("{\"a\":[1],\"s\":\"x\"}");

	T_TRUE(json_get(json_get(tree.root, "a"), "a") == NULL);
	T_TRUE(json_get(NULL, "a") == NULL);
	T_EQ(json_length(tree.root), 0);
	T_EQ(json_length(NULL), 0);
	T_TRUE(json_at(tree.root, 0) == NULL);
	T_TRUE(json_at(NULL, 0) == NULL);
	pl_arena_done(&arena);
}

T_CASE(numbers_are_kept_as_the_reader_keeps_them)
{
	static const double values[] = {0, -1, 3.7, 1e300, -1e300, 2147483648.0};

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		char text[64];
		struct json_tree tree;
		struct cJSON *made = json_new_number(&arena, values[i]);

		(void)snprintf(text, sizeof text, "%.17g", values[i]);
		tree = parsed(text);
		T_EQ(made->valueint, tree.root->valueint);
		T_TRUE(made->valuedouble == tree.root->valuedouble);
	}
	pl_arena_done(&arena);
}

T_CASE(a_copy_shares_nothing_with_its_source)
{
	struct json_tree tree =
		parsed("{\"a\":{\"b\":[1,\"x\",{\"c\":null}]},\"d\":true}");
	struct json_tree copy = {0}, part = {0}, none = {0};

	T_OK(json_tree_copy(&arena, json_tree_root(&tree), &copy), NULL);
	T_OK(json_tree_copy(&arena, pl_json_member(json_tree_root(&tree), "a"), &part),
	     NULL);
	T_OK(json_tree_copy(&arena, (struct pl_json){0}, &none), NULL);
	T_TRUE(json_tree_root(&none).node == NULL);
	T_TRUE(part.root->string == NULL);
	T_TRUE(json_remove(json_get(tree.root, "a"), "b"));
	T_TRUE(json_remove(tree.root, "d"));
	reads(&copy, "{\"a\":{\"b\":[1,\"x\",{\"c\":null}]},\"d\":true}");
	reads(&part, "{\"b\":[1,\"x\",{\"c\":null}]}");
	reads(&tree, "{\"a\":{}}");
	pl_arena_done(&arena);
}

T_CASE(errors_have_paths_in_edited_trees)
{
	struct json_tree tree = parsed("{\"a\":[0]}");
	struct cJSON *object = json_new_object(&arena);
	char path[PL_JSON_PATH_SIZE];

	T_TRUE(json_set(&arena, object, "b", json_new_str(&arena, "x")));
	T_TRUE(json_append(json_get(tree.root, "a"), object));
	pl_json_path(json_tree_value(&tree, json_get(object, "b")), path);
	T_STR(path, "a[1].b");
	T_TRUE(json_tree_node(&tree, json_tree_value(&tree, object)) == object);
	json_detach(json_get(tree.root, "a"), object);
	json_tree_set_root(&tree, object);
	pl_json_path(json_tree_value(&tree, json_get(object, "b")), path);
	T_STR(path, "b");
	pl_arena_done(&arena);
}

static void depth_is(const char *text, uint32_t want)
{
	struct json_tree tree = parsed(text);

	T_EQ(json_measure(json_tree_root(&tree)).depth, want);
	pl_arena_done(&arena);
}

T_CASE(values_are_measured)
{
	struct json_tree tree = parsed("{\"abcde\":[1,\"xyz\"]}");
	struct json_size size = json_measure(json_tree_root(&tree));

	T_EQ(size.values, 4);
	T_EQ(size.bytes, 4 * 4 + 5 + 3);
	pl_arena_done(&arena);
	T_EQ(json_measure((struct pl_json){0}).values, 0);
	depth_is("1", 0);
	depth_is("[]", 1);
	depth_is("[1,{}]", 2);
	depth_is("{\"a\":[[]],\"b\":{}}", 3);
}

static bool equal(const char *a, const char *b)
{
	struct json_tree x = parsed(a), y = parsed(b);
	bool result = json_equal(json_tree_root(&x), json_tree_root(&y));

	T_EQ(json_equal(json_tree_root(&y), json_tree_root(&x)), result);
	pl_arena_done(&arena);
	return result;
}

T_CASE(values_are_compared)
{
	T_TRUE(equal("1", "1.0"));
	T_TRUE(!equal("1", "2"));
	T_TRUE(!equal("1", "\"1\""));
	T_TRUE(!equal("true", "false"));
	T_TRUE(equal("null", "null"));
	T_TRUE(!equal("null", "{}"));
	T_TRUE(!equal("{}", "[]"));
	T_TRUE(equal("[1,[2]]", "[1,[2]]"));
	T_TRUE(!equal("[1,2]", "[2,1]"));
	T_TRUE(!equal("[1]", "[1,1]"));
	T_TRUE(equal("{\"a\":1,\"b\":{\"c\":[]}}", "{\"b\":{\"c\":[]},\"a\":1}"));
	T_TRUE(!equal("{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}"));
	T_TRUE(!equal("{\"a\":1}", "{\"b\":1}"));
	T_TRUE(!equal("{\"a\":1}", "{\"a\":1,\"b\":1}"));
	T_TRUE(json_equal((struct pl_json){0}, (struct pl_json){0}));
}

T_CASE(large_objects_are_compared_whatever_their_order)
{
	struct json_tree a = parsed("{}"), b = parsed("{}");
	char name[16];

	for (int i = 0; i < 500; i++) {
		(void)snprintf(name, sizeof name, "m%d", i);
		set(&a, name, json_new_number(&arena, i));
		(void)snprintf(name, sizeof name, "m%d", 499 - i);
		set(&b, name, json_new_number(&arena, 499 - i));
	}
	T_TRUE(json_equal(json_tree_root(&a), json_tree_root(&b)));
	pl_fault_reset();
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_TRUE(json_equal(json_tree_root(&a), json_tree_root(&b)));
	T_TRUE(pl_fault_fired(PL_FAULT_ALLOC));
	pl_fault_reset();
	set(&b, "m250", json_new_number(&arena, 0));
	T_TRUE(!json_equal(json_tree_root(&a), json_tree_root(&b)));
	T_TRUE(json_remove(b.root, "m250"));
	set(&b, "other", json_new_number(&arena, 250));
	T_TRUE(!json_equal(json_tree_root(&a), json_tree_root(&b)));
	pl_arena_done(&arena);
}

/* A plain array of numbers, changed in the same way as the tree. */
T_CASE(random_changes_of_an_array_equal_those_of_a_model)
{
	enum { MOST = 12 };
	struct json_tree tree = parsed("[]");
	int model[MOST + 1] = {0};
	size_t count = 0;
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	for (int step = 0; step < 5000; step++) {
		size_t at = (size_t)pl_rng_below(&rng, count + 1);

		if (count < MOST && pl_rng_below(&rng, 2) == 0) {
			memmove(model + at + 1, model + at, (count - at) * sizeof *model);
			model[at] = step;
			count++;
			T_TRUE(json_insert(tree.root, at, json_new_number(&arena, step)));
		} else if (at < count) {
			memmove(model + at, model + at + 1,
			        (count - at - 1) * sizeof *model);
			count--;
			json_detach(tree.root, json_at(tree.root, at));
		}
		check_links(tree.root);
		T_EQ(json_length(tree.root), count);
		for (size_t i = 0; i < count; i++)
			T_EQ(json_at(tree.root, i)->valueint, model[i]);
	}
	pl_arena_done(&arena);
}

static enum pl_code build_all(void)
{
	struct json_tree tree = {0}, copy = {0};
	struct cJSON *object, *array;
	enum pl_code code;
	bool done;

	pl_arena_init(&arena, 1, 0); /* a chunk, so a heap allocation, for each node */
	code = json_tree_parse(&arena, pl_span_str("{\"a\":[1,\"x\"]}"), NULL, &tree,
	                       NULL);
	if (code != PL_OK)
		goto done;
	object = json_get_object(&arena, tree.root, "b");
	array = json_new_array(&arena);
	done = json_append(array, json_new_str(&arena, "s"));
	done = json_append(array, json_new_bool(&arena, true)) && done;
	done = json_append(array, json_new_null(&arena)) && done;
	done = json_insert(array, 0, json_new_number(&arena, 1)) && done;
	done = json_set(&arena, object, "list", array) && done;
	if (done)
		code = json_tree_copy(&arena, json_tree_root(&tree), &copy);
	else
		code = PL_NOMEM;
	if (code == PL_OK)
		T_TRUE(json_equal(json_tree_root(&copy), json_tree_root(&tree)));
done:
	pl_arena_done(&arena);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(build_all, false);
}
