/* Patches of the types that are really served. */
#include "coord/api/patch/apply.h"
#include "coord/api/patch/patch_kit.h"
#include "coord/api/patch/slot.h"
#include "coord/api/patch/strategic_merge.h"

static struct pl_arena arena;
static struct pl_err err;

static const struct schema_type *served(const char *group, const char *version,
                                        const char *plural)
{
	const struct schema_resource *resource = schema_resource_find(
		pl_span_str(group), pl_span_str(version), pl_span_str(plural));

	T_TRUE(resource != NULL);
	return resource->type;
}

static const char pod[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"labels\":{"
	"\"app\":\"x\"}},\"spec\":{\"nodeSelector\":{\"disk\":\"ssd\"},\"tolerations\":[{"
	"\"key\":\"k\",\"operator\":\"Exists\"}],\"containers\":[{\"name\":\"c\",\"image\":"
	"\"i\",\"ports\":[{\"containerPort\":53,\"protocol\":\"UDP\"},{\"containerPort\":53}],"
	"\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],\"topologySpreadConstraints\":[{"
	"\"topologyKey\":\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\",\"maxSkew\":1,"
	"\"labelSelector\":{\"matchLabels\":{\"app\":\"x\"}}}]}}";

/* As kube-apiserver keeps it, but for structs that Go cannot tell from absent ones. */
T_CASE(the_fields_of_a_pod_are_those_of_kubernetes)
{
	struct apply_options options = {.by = {.type = served("", "v1", "pods"),
	                                       .manager = "kubectl",
	                                       .api_version = "v1",
	                                       .subresource = "",
	                                       .time = "2024-01-01T00:00:00Z"}};
	struct apply_result result;
	struct pl_json entries, none = {0};

	T_OK(apply_config(&arena, none, kit_json(&arena, pod), &options, &result, &err),
	     &err);
	entries =
		pl_json_member(pl_json_member(json_tree_root(&result.object), "metadata"),
	                       "managedFields");
	T_STR(kit_text(&arena, pl_json_member(pl_json_first(entries), "fieldsV1")),
	      "{\"f:metadata\":{\"f:labels\":{\"f:app\":{}}},\"f:spec\":{\"f:containers\":{"
	      "\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},\"f:image\":{},\"f:name\":{},"
	      "\"f:ports\":{\"k:{\\\"containerPort\\\":53,\\\"protocol\\\":\\\"TCP\\\"}\":{"
	      "\".\":{},\"f:containerPort\":{}},\"k:{\\\"containerPort\\\":53,"
	      "\\\"protocol\\\":\\\"UDP\\\"}\":{\".\":{},\"f:containerPort\":{},"
	      "\"f:protocol\":{}}},\"f:resources\":{\"f:requests\":{\"f:cpu\":{}}}}},"
	      "\"f:nodeSelector\":{},\"f:tolerations\":{},\"f:topologySpreadConstraints\":{"
	      "\"k:{\\\"topologyKey\\\":\\\"zone\\\",\\\"whenUnsatisfiable\\\":"
	      "\\\"DoNotSchedule\\\"}\":{\".\":{},\"f:labelSelector\":{},\"f:maxSkew\":{},"
	      "\"f:topologyKey\":{},\"f:whenUnsatisfiable\":{}}}}}");
	pl_arena_done(&arena);
}

T_CASE(a_pod_is_patched)
{
	struct json_tree tree = kit_tree(&arena, pod);

	T_OK(strategic_merge_apply(
		     &tree, served("", "v1", "pods"),
		     kit_json(&arena,
	                      "{\"spec\":{\"nodeSelector\":{\"cpu\":\"x\"},"
	                      "\"tolerations\":[],\"containers\":[{\"name\":\"c\","
	                      "\"ports\":null,\"resources\":{\"requests\":{\"cpu\":"
	                      "\"2\"}}}],\"topologySpreadConstraints\":null}}"),
		     &err),
	     &err);
	T_STR(kit_text(&arena, pl_json_member(json_tree_root(&tree), "spec")),
	      "{\"nodeSelector\":{\"disk\":\"ssd\",\"cpu\":\"x\"},\"tolerations\":[],"
	      "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{"
	      "\"cpu\":\"2\"}}}]}");
	pl_arena_done(&arena);
}

T_CASE(taints_of_a_node_are_replaced_and_addresses_merged)
{
	struct json_tree tree = kit_tree(
		&arena,
		"{\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":\"NoSchedule\"}]},"
		"\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");

	T_OK(strategic_merge_apply(
		     &tree, served("", "v1", "nodes"),
		     kit_json(&arena, "{\"spec\":{\"taints\":[{\"key\":\"b\",\"effect\":"
	                              "\"NoSchedule\"}]},\"status\":{\"conditions\":[{"
	                              "\"type\":\"DiskPressure\",\"status\":\"False\"},"
	                              "{\"type\":\"Ready\",\"status\":\"False\"}]}}"),
		     &err),
	     &err);
	T_STR(kit_text(&arena, json_tree_root(&tree)),
	      "{\"spec\":{\"taints\":[{\"key\":\"b\",\"effect\":\"NoSchedule\"}]},\"status\":{"
	      "\"conditions\":[{\"type\":\"DiskPressure\",\"status\":\"False\"},{\"type\":"
	      "\"Ready\",\"status\":\"False\"}]}}");
	pl_arena_done(&arena);
}

/* -- all types --------------------------------------------------------------------------- */

enum { TYPES_MAX = 2000 };
static const struct schema_type *seen[TYPES_MAX];
static size_t seen_count, keyed_count;

/* Each key of a list is a scalar of its elements. */
static void check_keys(const struct schema_type *type, const struct schema_field *field)
{
	struct schema_slot element = {field->type, field, SCHEMA_ONE};
	char name[SLOT_KEY_SIZE];
	size_t at = 0, keys = 0;

	while (slot_next_key(field->keys, &at, name)) {
		bool named = false;
		struct schema_slot key = slot_member(element, name, &named);

		if (!named || key.type != NULL || key.shape != SCHEMA_ONE)
			t_fail(__FILE__, __LINE__, "%s.%s has no scalar %s", type->name,
			       field->name, name);
		keys++;
	}
	T_TRUE(keys > 0);
	keyed_count++;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the table */
static void check_type(const struct schema_type *type)
{
	for (size_t i = 0; i < seen_count; i++)
		if (seen[i] == type)
			return;
	T_TRUE(seen_count < TYPES_MAX);
	seen[seen_count++] = type;
	for (const struct schema_field *field = type->fields;
	     field != NULL && field->name != NULL; field++) {
		if (field->shape == SCHEMA_LIST && field->list == SCHEMA_BY_KEY)
			check_keys(type, field);
		if (field->kind == SCHEMA_OBJECT && field->type != NULL)
			check_type(field->type);
	}
}

T_CASE(all_lists_with_keys_have_them_in_their_elements)
{
	size_t count = 0;
	const struct schema_resource *resources = schema_resources(&count);

	for (size_t i = 0; i < count; i++)
		check_type(resources[i].type);
	T_TRUE(seen_count > 100);
	T_TRUE(keyed_count > 20);
}
