#include <cjson/cJSON.h>
#include <stdio.h>

#include "coord/api/patch/fields_v1.h"
#include "coord/api/patch/patch_kit.h"
#include "coord/api/patch/schema_kit.h"
#include "coord/api/patch/typed.h"
#include "store/base/rng.h"

static struct pl_arena arena;
static struct pl_err err;
static struct field_maker maker;
static struct pl_rng rng;

static void start(void)
{
	field_maker_init(&maker, &arena);
}

static void end(void)
{
	T_TRUE(!maker.failed);
	field_maker_done(&maker);
	pl_arena_done(&arena);
}

static const char *set_text(struct owned_fields set)
{
	return kit_text(&arena, (struct pl_json){.node = fields_v1_write(&maker, set)});
}

static void differ(const char *before, const char *after, const char *removed,
                   const char *modified, const char *added)
{
	struct pl_json one = {0};
	struct typed_changes changes;

	start();
	if (before != NULL)
		one = kit_json(&arena, before);
	changes =
		typed_compare(&maker, slot_root(&kit_pod), one, kit_json(&arena, after));
	T_STR(set_text(changes.removed), removed);
	T_STR(set_text(changes.modified), modified);
	T_STR(set_text(changes.added), added);
	end();
}

T_CASE(scalars_and_maps_are_compared)
{
	differ("{\"spec\":{\"priority\":1,\"nodeName\":\"a\"}}",
	       "{\"spec\":{\"priority\":2}}", "{\"f:spec\":{\"f:nodeName\":{}}}",
	       "{\"f:spec\":{\"f:priority\":{}}}", "{}");
	differ("{\"metadata\":{\"labels\":{\"a\":\"1\"}}}",
	       "{\"metadata\":{\"labels\":{\"b\":\"1\"}}}",
	       "{\"f:metadata\":{\"f:labels\":{\"f:a\":{}}}}", "{}",
	       "{\"f:metadata\":{\"f:labels\":{\"f:b\":{}}}}");
	differ("{\"metadata\":{}}", "{\"metadata\":{\"labels\":{\"b\":\"1\"}}}", "{}",
	       "{}", "{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:b\":{}}}}");
	differ("{\"x\":1}", "{\"x\":1}", "{}", "{}", "{}");
	differ("{\"x\":{\"y\":1,\"z\":[1]}}", "{\"x\":{\"y\":2,\"z\":[2]}}", "{}",
	       "{\"f:x\":{\"f:y\":{},\"f:z\":{}}}", "{}");
	differ("{\"spec\":{\"claimRef\":{}}}", "{\"spec\":{\"claimRef\":null}}", "{}",
	       "{\"f:spec\":{\"f:claimRef\":{}}}", "{}");
}

T_CASE(atomic_values_are_compared_whole)
{
	differ("{\"spec\":{\"nodeSelector\":{\"a\":\"1\"},\"tolerations\":[{\"key\":\"a\"}],"
	       "\"claimRef\":{\"name\":\"a\"}}}",
	       "{\"spec\":{\"nodeSelector\":{\"b\":\"1\"},\"tolerations\":[],"
	       "\"claimRef\":{\"name\":\"b\"}}}",
	       "{}",
	       "{\"f:spec\":{\"f:claimRef\":{},\"f:nodeSelector\":{},\"f:tolerations\":{}}}",
	       "{}");
}

T_CASE(lists_are_compared_by_keys_whatever_their_order)
{
	differ("{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"1\"},"
	       "{\"name\":\"b\"}]}}",
	       "{\"spec\":{\"containers\":[{\"name\":\"c\"},{\"name\":\"a\",\"image\":"
	       "\"2\"}]}}",
	       "{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"b\\\"}\":{\".\":{},"
	       "\"f:name\":{}}}}}",
	       "{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{"
	       "\"f:image\":{}}}}}",
	       "{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},"
	       "\"f:name\":{}}}}}");
	differ("{\"spec\":{\"containers\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":80,"
	       "\"protocol\":\"TCP\"}]}]}}",
	       "{\"spec\":{\"containers\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":80,"
	       "\"name\":\"x\"}]}]}}",
	       "{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{\"f:ports\":{"
	       "\"k:{\\\"containerPort\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\":{"
	       "\"f:protocol\":{}}}}}}}",
	       "{}",
	       "{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{\"f:ports\":{"
	       "\"k:{\\\"containerPort\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\":{"
	       "\"f:name\":{}}}}}}}");
	differ("{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}",
	       "{\"metadata\":{\"finalizers\":[\"c\",\"b\"]}}",
	       "{\"f:metadata\":{\"f:finalizers\":{\"v:\\\"a\\\"\":{}}}}", "{}",
	       "{\"f:metadata\":{\"f:finalizers\":{\"v:\\\"c\\\"\":{}}}}");
}

T_CASE(elements_that_come_twice_are_owned_together)
{
	differ("{\"metadata\":{\"finalizers\":[\"a\",\"a\"]}}",
	       "{\"metadata\":{\"finalizers\":[\"a\"]}}",
	       "{\"f:metadata\":{\"f:finalizers\":{\"v:\\\"a\\\"\":{}}}}", "{}",
	       "{\"f:metadata\":{\"f:finalizers\":{\"v:\\\"a\\\"\":{}}}}");
	differ("{\"spec\":{\"volumes\":[{\"name\":\"a\"},{\"name\":\"a\"}]}}",
	       "{\"spec\":{\"volumes\":[{\"name\":\"a\"},{\"name\":\"a\",\"emptyDir\":{}}]}}",
	       "{}", "{\"f:spec\":{\"f:volumes\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{}}}}",
	       "{}");
	differ("{\"spec\":{\"volumes\":[]}}",
	       "{\"spec\":{\"volumes\":[{\"name\":\"a\"},{\"name\":\"a\"}]}}", "{}", "{}",
	       "{\"f:spec\":{\"f:volumes\":{\"k:{\\\"name\\\":\\\"a\\\"}\":{}}}}");
}

T_CASE(all_is_added_to_an_object_that_is_new)
{
	differ(NULL,
	       "{\"kind\":\"Pod\",\"metadata\":{\"labels\":{\"a\":\"1\"}},\"spec\":{"
	       "\"claimRef\":{\"name\":\"x\"},\"containers\":[{\"name\":\"a\","
	       "\"resources\":{}}]}}",
	       "{}", "{}",
	       "{\"f:kind\":{},\"f:metadata\":{\"f:labels\":{\".\":{},\"f:a\":{}}},"
	       "\"f:spec\":{\"f:claimRef\":{},\"f:containers\":{\".\":{},"
	       "\"k:{\\\"name\\\":\\\"a\\\"}\":{\".\":{},\"f:name\":{},"
	       "\"f:resources\":{}}}}}");
}

static void has_fields(const char *object, const char *want)
{
	start();
	T_STR(set_text(typed_fields(&maker, slot_root(&kit_pod),
	                            kit_json(&arena, object))),
	      want);
	end();
}

T_CASE(fields_of_an_object)
{
	has_fields(
		"{\"metadata\":{\"labels\":{\"a\":\"1\"},\"finalizers\":[\"x\"]},"
		"\"spec\":{\"tolerations\":[],\"volumes\":[],\"containers\":[{\"name\":"
		"\"a\",\"resources\":{\"limits\":{\"cpu\":1}}}],\"priority\":null}}",
		"{\"f:metadata\":{\"f:finalizers\":{\"v:\\\"x\\\"\":{}},\"f:labels\":{"
		"\"f:a\":{}}},\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"a\\\"}\":"
		"{\".\":{},\"f:name\":{},\"f:resources\":{\"f:limits\":{\"f:cpu\":{}}}}},"
		"\"f:priority\":{},\"f:tolerations\":{}}}");
	has_fields(
		"{\"metadata\":{\"labels\":{}},\"x\":{\"y\":{\"z\":1}}}",
		"{\"f:metadata\":{\"f:labels\":{}},\"f:x\":{\".\":{},\"f:y\":{\".\":{},"
		"\"f:z\":{}}}}");
}

T_CASE(named_fields_of_a_set)
{
	struct owned_fields set = {0};

	start();
	T_OK(fields_v1_read(
		     &maker,
		     kit_json(&arena,
	                      "{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":"
	                      "\\\"a\\\"}\":{\"f:resources\":{\"f:limits\":{\"f:cpu\":"
	                      "{}}}}}}}"),
		     &set, &err),
	     &err);
	T_STR(set_text(typed_named(&maker, slot_root(&kit_pod), set)),
	      "{\"f:spec\":{\".\":{},\"f:containers\":{\".\":{},\"k:{\\\"name\\\":"
	      "\\\"a\\\"}\":{\"f:resources\":{\".\":{},\"f:limits\":{\".\":{},\"f:cpu\":"
	      "{}}}}}}}");
	end();
}

static void without(const char *object, const char *fields, const char *want)
{
	struct json_tree tree;
	struct owned_fields set = {0};

	start();
	tree = kit_tree(&arena, object);
	T_OK(fields_v1_read(&maker, kit_json(&arena, fields), &set, &err), &err);
	typed_remove(&maker, slot_root(&kit_pod), tree.root, set);
	T_STR(kit_text(&arena, json_tree_root(&tree)), want);
	end();
}

T_CASE(fields_are_taken_out)
{
	without("{\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"2\"},\"finalizers\":[\"x\","
	        "\"y\"]},\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"1\"},"
	        "{\"name\":\"b\"}]}}",
	        "{\"f:metadata\":{\"f:labels\":{\"f:a\":{}},\"f:finalizers\":{"
	        "\"v:\\\"x\\\"\":{}}},\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":"
	        "\\\"a\\\"}\":{\"f:image\":{}},\"k:{\\\"name\\\":\\\"b\\\"}\":{}}}}",
	        "{\"metadata\":{\"labels\":{\"b\":\"2\"},\"finalizers\":[\"y\"]},"
	        "\"spec\":{\"containers\":[{\"name\":\"a\"}]}}");
	without("{\"metadata\":{\"labels\":{\"a\":\"1\"},\"name\":\"x\"}}",
	        "{\"f:metadata\":{\"f:labels\":{\"f:a\":{}}}}",
	        "{\"metadata\":{\"labels\":null,\"name\":\"x\"}}");
	without("{\"spec\":{\"nodeSelector\":{\"a\":\"1\"}}}",
	        "{\"f:spec\":{\"f:nodeSelector\":{\"f:a\":{}}}}",
	        "{\"spec\":{\"nodeSelector\":{\"a\":\"1\"}}}");
}

static void merges(const char *object, const char *config, const char *want)
{
	struct json_tree tree;

	start();
	tree = kit_tree(&arena, object);
	typed_merge(&maker, slot_root(&kit_pod), tree.root, kit_json(&arena, config));
	typed_drop_nulls(slot_root(&kit_pod), tree.root);
	T_STR(kit_text(&arena, json_tree_root(&tree)), want);
	end();
}

T_CASE(configurations_are_merged)
{
	merges("{\"metadata\":{\"labels\":{\"a\":\"1\"}},\"spec\":{\"priority\":1,"
	       "\"nodeName\":\"x\",\"nodeSelector\":{\"a\":\"1\"},\"tolerations\":[{}]}}",
	       "{\"metadata\":{\"labels\":{\"b\":\"2\"}},\"spec\":{\"priority\":2,"
	       "\"nodeName\":null,\"nodeSelector\":{\"b\":\"1\"},\"tolerations\":[]}}",
	       "{\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"2\"}},\"spec\":{\"priority\":2,"
	       "\"nodeSelector\":{\"b\":\"1\"},\"tolerations\":[]}}");
	merges("{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"1\"}]}}",
	       "{\"spec\":{\"containers\":[{\"name\":\"a\",\"args\":[\"x\"]}]}}",
	       "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"1\",\"args\":[\"x\"]}]}}");
	merges("{\"metadata\":{\"labels\":{\"a\":\"1\"}}}",
	       "{\"metadata\":{\"labels\":{},\"annotations\":null}}",
	       "{\"metadata\":{\"labels\":{\"a\":\"1\"}}}");
	merges("{\"metadata\":{\"labels\":{\"a\":\"1\"}}}",
	       "{\"metadata\":{\"labels\":null}}",
	       "{\"metadata\":{\"labels\":{\"a\":\"1\"}}}");
	merges("{}", "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":null}]}}",
	       "{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}");
}

static void ordered(const char *object, const char *config, const char *want)
{
	char texts[3][200];

	(void)snprintf(texts[0], 200, "{\"metadata\":{\"finalizers\":[%s]}}", object);
	(void)snprintf(texts[1], 200, "{\"metadata\":{\"finalizers\":[%s]}}", config);
	(void)snprintf(texts[2], 200, "{\"metadata\":{\"finalizers\":[%s]}}", want);
	merges(texts[0], texts[1], texts[2]);
}

T_CASE(merged_lists_have_the_order_of_kubernetes)
{
	ordered("1,2,3", "2", "1,2,3");
	ordered("1,2,3,4", "3,1", "2,3,4,1");
	ordered("1,2", "3,4", "1,2,3,4");
	ordered("1,2,3", "4,2", "1,4,2,3");
	ordered("1,3", "1,2,3", "1,2,3");
	ordered("1,2,3", "3,2,1", "3,2,1");
	ordered("1,1,2", "1", "1,2");
	ordered("", "2,1", "2,1");
}

static void refuses(const char *config, const char *message)
{
	start();
	T_CODE(typed_check(&maker, slot_root(&kit_pod), kit_json(&arena, config), &err),
	       PL_INVALID, &err);
	T_STR(err.msg, message);
	end();
}

T_CASE(lists_of_a_configuration_are_checked)
{
	refuses("{\"spec\":{\"volumes\":[{\"emptyDir\":{}}]}}",
	        "spec.volumes[0]: element: associative list with keys has an element that "
	        "omits key field \"name\" (and doesn't have default value)");
	refuses("{\"spec\":{\"volumes\":[1]}}",
	        "spec.volumes[0]: associative list with keys may not have non-map elements");
	refuses("{\"spec\":{\"volumes\":[{\"name\":[]}]}}",
	        "spec.volumes[0]: key field \"name\" is no scalar");
	refuses("{\"spec\":{\"volumes\":[{\"name\":\"a\"},{\"name\":\"a\"}]}}",
	        "spec.volumes[0]: duplicate entries for key {\"name\":\"a\"}");
	refuses("{\"metadata\":{\"finalizers\":[null]}}",
	        "metadata.finalizers[0]: want a scalar, got null");
	refuses("{\"metadata\":{\"finalizers\":[\"a\",\"b\",\"a\"]}}",
	        "metadata.finalizers[0]: duplicate entries for key \"a\"");
	refuses("{\"spec\":{\"volumes\":{}}}",
	        "spec.volumes: expected list, got an object");
	refuses("{\"spec\":1}", "spec: expected map, got a number");
	start();
	T_OK(typed_check(&maker, slot_root(&kit_pod),
	                 kit_json(&arena,
	                          "{\"spec\":{\"containers\":[{\"name\":\"a\",\"ports\":["
	                          "{\"containerPort\":1}]}],\"volumes\":null}}"),
	                 &err),
	     &err);
	end();
}

/* -- random objects ---------------------------------------------------------------------- */

static struct cJSON *random_elements(int most)
{
	struct cJSON *list = json_new_array(&arena);

	for (int i = 0; i < most; i++) {
		struct cJSON *element = json_new_object(&arena);
		char name[8];

		if (pl_rng_below(&rng, 2) == 0)
			continue;
		(void)snprintf(name, sizeof name, "n%d", i);
		T_TRUE(json_set(&arena, element, "name", json_new_str(&arena, name)));
		if (pl_rng_below(&rng, 2) == 0)
			T_TRUE(json_set(
				&arena, element, "value",
				json_new_number(&arena, (double)pl_rng_below(&rng, 3))));
		T_TRUE(json_insert(list, pl_rng_below(&rng, json_length(list) + 1),
		                   element));
	}
	return list;
}

static struct json_tree random_object(void)
{
	struct json_tree tree =
		kit_tree(&arena, "{\"metadata\":{\"labels\":{\"z\":1}},\"spec\":{}}");
	struct cJSON *labels = json_get(json_get(tree.root, "metadata"), "labels");
	struct cJSON *spec = json_get(tree.root, "spec"), *container;
	struct cJSON *containers = json_new_array(&arena);

	for (char name[] = "a"; name[0] < 'f'; name[0]++)
		if (pl_rng_below(&rng, 2) == 0)
			T_TRUE(json_set(
				&arena, labels, name,
				json_new_number(&arena, (double)pl_rng_below(&rng, 2))));
	for (int i = 0; i < 2; i++) {
		container = json_new_object(&arena);
		T_TRUE(json_set(&arena, container, "name",
		                json_new_str(&arena, i == 0 ? "x" : "y")));
		T_TRUE(json_set(&arena, container, "env", random_elements(4)));
		T_TRUE(json_append(containers, container));
	}
	T_TRUE(json_set(&arena, spec, "containers", containers));
	return tree;
}

/* Takes what is removed out of the first object, merges the second, and has it, but for
 * the order of lists. The comparison finds the same as two sets of fields do. */
T_CASE(changes_lead_from_one_object_to_the_other)
{
	struct schema_slot root = slot_root(&kit_pod);

	pl_rng_init(&rng, t_seed());
	for (int round = 0; round < 1000; round++) {
		struct json_tree before, after;
		struct typed_changes changes, rest;
		struct owned_fields one, two;

		start();
		before = random_object();
		after = random_object();
		changes = typed_compare(&maker, root, json_tree_root(&before),
		                        json_tree_root(&after));
		one = typed_fields(&maker, root, json_tree_root(&before));
		two = typed_fields(&maker, root, json_tree_root(&after));
		T_STR(set_text(field_set_minus(
			      &maker, field_set_minus(&maker, two, one),
			      field_set_union(&maker, changes.added, changes.modified))),
		      "{}");
		T_TRUE(field_set_empty(field_set_both(&maker, changes.removed, two)));
		T_TRUE(field_set_empty(
			field_set_both(&maker, changes.modified, changes.added)));
		typed_remove(&maker, root, before.root, changes.removed);
		typed_merge(&maker, root, before.root, json_tree_root(&after));
		rest = typed_compare(&maker, root, json_tree_root(&before),
		                     json_tree_root(&after));
		T_STR(set_text(rest.modified), "{}");
		T_STR(set_text(rest.removed), "{}");
		T_STR(set_text(rest.added), "{}");
		end();
	}
}
