#include "coord/api/patch/patch_kit.h"
#include "coord/api/patch/schema_kit.h"
#include "coord/api/patch/strategic_merge.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;
static struct pl_err err;

static void becomes(const char *doc, const char *patch, const char *want)
{
	struct json_tree tree = kit_tree(&arena, doc);

	T_OK(strategic_merge_apply(&tree, &kit_pod, kit_json(&arena, patch), &err), &err);
	T_STR(kit_text(&arena, json_tree_root(&tree)), want);
	pl_arena_done(&arena);
}

static void refuses(const char *doc, const char *patch, enum pl_code code,
                    const char *message)
{
	struct json_tree tree = kit_tree(&arena, doc);

	T_CODE(strategic_merge_apply(&tree, &kit_pod, kit_json(&arena, patch), &err),
	       code, &err);
	T_STR(err.msg, message);
	pl_arena_done(&arena);
}

T_CASE(members_are_merged_and_null_removes)
{
	becomes("{\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"2\"}},\"spec\":{}}",
	        "{\"metadata\":{\"labels\":{\"a\":null,\"c\":\"3\"}},"
	        "\"spec\":{\"priority\":5,\"nodeName\":null}}",
	        "{\"metadata\":{\"labels\":{\"b\":\"2\",\"c\":\"3\"}},"
	        "\"spec\":{\"priority\":5}}");
	becomes("{}", "{\"metadata\":{\"labels\":{\"a\":null,\"b\":\"1\"}}}",
	        "{\"metadata\":{\"labels\":{\"b\":\"1\"}}}");
	becomes("{\"spec\":{\"nodeSelector\":{\"a\":\"1\"}}}",
	        "{\"spec\":{\"nodeSelector\":{\"b\":\"2\"}}}",
	        "{\"spec\":{\"nodeSelector\":{\"a\":\"1\",\"b\":\"2\"}}}");
	becomes("{\"spec\":{\"claimRef\":{\"name\":\"a\"}}}",
	        "{\"spec\":{\"claimRef\":{\"kind\":\"k\"}}}",
	        "{\"spec\":{\"claimRef\":{\"name\":\"a\",\"kind\":\"k\"}}}");
	becomes("{\"other\":{\"x\":{\"y\":1}}}", "{\"other\":{\"x\":{\"z\":[{}]}}}",
	        "{\"other\":{\"x\":{\"y\":1,\"z\":[{}]}}}");
}

T_CASE(elements_are_merged_by_their_key)
{
	becomes("{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"1\"},"
	        "{\"name\":\"b\",\"image\":\"1\"}]}}",
	        "{\"spec\":{\"containers\":[{\"name\":\"b\",\"image\":\"2\"}]}}",
	        "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"1\"},"
	        "{\"name\":\"b\",\"image\":\"2\"}]}}");
	becomes("{\"spec\":{\"containers\":[{\"name\":\"a\",\"ports\":["
	        "{\"containerPort\":80,\"name\":\"x\"}]}]}}",
	        "{\"spec\":{\"containers\":[{\"name\":\"a\",\"ports\":["
	        "{\"containerPort\":443},{\"containerPort\":80,\"name\":\"y\"}]}]}}",
	        "{\"spec\":{\"containers\":[{\"name\":\"a\",\"ports\":["
	        "{\"containerPort\":443},{\"containerPort\":80,\"name\":\"y\"}]}]}}");
	becomes("{\"spec\":{\"hostIPs\":[{\"name\":\"a\"}]}}",
	        "{\"spec\":{\"hostIPs\":[{\"name\":\"b\"}]}}",
	        "{\"spec\":{\"hostIPs\":[{\"name\":\"b\"},{\"name\":\"a\"}]}}");
}

T_CASE(lists_that_are_not_merged_are_replaced)
{
	becomes("{\"spec\":{\"tolerations\":[{\"key\":\"a\"},{\"key\":\"b\"}]}}",
	        "{\"spec\":{\"tolerations\":[{\"key\":\"c\"}]}}",
	        "{\"spec\":{\"tolerations\":[{\"key\":\"c\"}]}}");
	becomes("{\"spec\":{\"conditions\":[{\"name\":\"a\"}]}}",
	        "{\"spec\":{\"conditions\":[{\"name\":\"b\"}]}}",
	        "{\"spec\":{\"conditions\":[{\"name\":\"b\"}]}}");
	becomes("{\"spec\":{\"containers\":[{\"name\":\"a\",\"args\":[\"x\",\"x\"]}]}}",
	        "{\"spec\":{\"containers\":[{\"name\":\"a\",\"args\":[\"y\"]}]}}",
	        "{\"spec\":{\"containers\":[{\"name\":\"a\",\"args\":[\"y\"]}]}}");
	becomes("{\"spec\":{\"strategy\":{\"name\":\"a\"}}}",
	        "{\"spec\":{\"strategy\":{\"other\":\"b\"}}}",
	        "{\"spec\":{\"strategy\":{\"other\":\"b\"}}}");
	becomes("{\"other\":[1]}", "{\"other\":[2]}", "{\"other\":[2]}");
}

T_CASE(scalars_are_merged_as_a_set)
{
	becomes("{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}",
	        "{\"metadata\":{\"finalizers\":[\"c\",\"a\"]}}",
	        "{\"metadata\":{\"finalizers\":[\"c\",\"a\",\"b\"]}}");
	becomes("{\"metadata\":{\"finalizers\":[\"a\",\"b\",\"c\"]}}",
	        "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"b\",\"x\"]}}",
	        "{\"metadata\":{\"finalizers\":[\"a\",\"c\"]}}");
	becomes("{\"metadata\":{\"finalizers\":[\"a\",\"b\"]}}",
	        "{\"metadata\":{\"finalizers\":[\"c\"],"
	        "\"$setElementOrder/finalizers\":[\"c\",\"a\"],"
	        "\"$deleteFromPrimitiveList/finalizers\":[\"b\"]}}",
	        "{\"metadata\":{\"finalizers\":[\"c\",\"a\"]}}");
	becomes("{\"metadata\":{}}",
	        "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"b\"]}}",
	        "{\"metadata\":{}}");
}

T_CASE(directives_in_objects)
{
	becomes("{\"spec\":{\"claimRef\":{\"name\":\"a\",\"kind\":\"b\"}}}",
	        "{\"spec\":{\"claimRef\":{\"$patch\":\"replace\",\"name\":\"c\"}}}",
	        "{\"spec\":{\"claimRef\":{\"name\":\"c\"}}}");
	becomes("{\"spec\":{\"claimRef\":{\"name\":\"a\"}}}",
	        "{\"spec\":{\"claimRef\":{\"$patch\":\"delete\"}}}",
	        "{\"spec\":{\"claimRef\":{}}}");
	becomes("{\"spec\":{}}", "{\"spec\":{\"claimRef\":{\"$patch\":\"delete\"}}}",
	        "{\"spec\":{}}");
	becomes("{\"spec\":{\"claimRef\":{\"name\":\"a\"}}}",
	        "{\"spec\":{\"claimRef\":{\"$patch\":\"merge\",\"kind\":\"c\"}}}",
	        "{\"spec\":{\"claimRef\":{\"name\":\"a\",\"kind\":\"c\"}}}");
	becomes("{\"spec\":{\"priority\":1}}",
	        "{\"$patch\":\"replace\",\"kind\":\"Pod\"}", "{\"kind\":\"Pod\"}");
}

T_CASE(directives_in_lists)
{
	becomes("{\"spec\":{\"volumes\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}",
	        "{\"spec\":{\"volumes\":[{\"$patch\":\"delete\",\"name\":\"a\"}]}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"b\"}]}}");
	becomes("{\"spec\":{\"volumes\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}",
	        "{\"spec\":{\"volumes\":[{\"$patch\":\"replace\"},{\"name\":\"c\"},"
	        "{\"name\":\"d\"}]}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"c\"},{\"name\":\"d\"}]}}");
	becomes("{\"spec\":{\"volumes\":[{\"name\":\"a\"}]}}",
	        "{\"spec\":{\"volumes\":[{\"$patch\":\"delete\",\"name\":\"a\"},"
	        "{\"name\":\"a\",\"emptyDir\":{}}]}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"a\",\"emptyDir\":{}}]}}");
	becomes("{\"spec\":{}}",
	        "{\"spec\":{\"volumes\":[{\"$patch\":\"delete\",\"name\":\"a\"},"
	        "{\"name\":\"b\"}]}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"b\"}]}}");
}

T_CASE(keys_are_retained)
{
	becomes("{\"spec\":{\"volumes\":[{\"name\":\"a\",\"emptyDir\":{}}]}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"a\",\"configMap\":{\"name\":\"c\"},"
	        "\"$retainKeys\":[\"name\",\"configMap\"]}]}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"a\",\"configMap\":{\"name\":\"c\"}}]}}");
	becomes("{\"spec\":{}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"a\",\"emptyDir\":null,"
	        "\"$retainKeys\":[\"name\"]}]}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"a\"}]}}");
	refuses("{}", "{\"spec\":{\"$retainKeys\":[\"a\"],\"priority\":1}}", PL_INVALID,
	        "spec.priority: is not in $retainKeys");
}

/* The cases of kubectl's design for the order of merged lists. */
T_CASE(the_order_is_that_of_kubernetes)
{
	becomes("{\"spec\":{\"volumes\":[{\"name\":\"1\"},{\"name\":\"2\"},{\"name\":\"3\"}]}}",
	        "{\"spec\":{\"$setElementOrder/volumes\":[{\"name\":\"3\"},{\"name\":\"1\"},"
	        "{\"name\":\"2\"}]}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"3\"},{\"name\":\"1\"},{\"name\":\"2\"}]}}");
	becomes("{\"spec\":{\"volumes\":[{\"name\":\"1\"},{\"name\":\"2\"},{\"name\":\"s\"},"
	        "{\"name\":\"3\"}]}}",
	        "{\"spec\":{\"$setElementOrder/volumes\":[{\"name\":\"2\"},{\"name\":\"4\"},"
	        "{\"name\":\"1\"},{\"name\":\"3\"}],\"volumes\":[{\"name\":\"4\"}]}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"2\"},{\"name\":\"4\"},{\"name\":\"1\"},"
	        "{\"name\":\"s\"},{\"name\":\"3\"}]}}");
	becomes("{\"spec\":{\"volumes\":[{\"name\":\"s\"},{\"name\":\"1\"}]}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"2\"},{\"name\":\"1\"}]}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"2\"},{\"name\":\"s\"},{\"name\":\"1\"}]}}");
	becomes("{\"spec\":{}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"1\"},{\"name\":\"2\"}],"
	        "\"$setElementOrder/volumes\":[{\"name\":\"1\"},{\"name\":\"2\"}]}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"1\"},{\"name\":\"2\"}]}}");
	becomes("{\"spec\":{\"tolerations\":[{\"key\":\"a\"}]}}",
	        "{\"spec\":{\"$setElementOrder/volumes\":[{\"name\":\"1\"}]}}",
	        "{\"spec\":{\"tolerations\":[{\"key\":\"a\"}]}}");
	/* A new element takes the place of one that is deleted. */
	becomes("{\"spec\":{\"volumes\":[{\"name\":\"1\"},{\"name\":\"s\"}]}}",
	        "{\"spec\":{\"$setElementOrder/volumes\":[{\"name\":\"2\"}],"
	        "\"volumes\":[{\"name\":\"2\"},{\"$patch\":\"delete\",\"name\":\"1\"}]}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"s\"},{\"name\":\"2\"}]}}");
	/* Scalars that the patch repeats do not stand in the way of the order. */
	becomes("{\"metadata\":{\"finalizers\":[\"y\",\"o\",\"y\",\"x\"]}}",
	        "{\"metadata\":{\"$setElementOrder/finalizers\":[\"x\",\"y\"]}}",
	        "{\"metadata\":{\"finalizers\":[\"o\",\"x\",\"y\"]}}");
}

/* The patch that kubectl sends when a container's image changes, one is added and one removed. */
T_CASE(a_patch_of_kubectl_apply)
{
	becomes("{\"metadata\":{\"annotations\":{\"last\":\"1\"}},\"spec\":{\"containers\":["
	        "{\"name\":\"a\",\"image\":\"1\",\"env\":[{\"name\":\"X\",\"value\":\"1\"},"
	        "{\"name\":\"Y\",\"value\":\"2\"}]},{\"name\":\"b\",\"image\":\"1\"},"
	        "{\"name\":\"injected\"}]}}",
	        "{\"metadata\":{\"annotations\":{\"last\":\"2\"}},\"spec\":{"
	        "\"$setElementOrder/containers\":[{\"name\":\"c\"},{\"name\":\"a\"}],"
	        "\"containers\":[{\"name\":\"c\",\"image\":\"3\"},"
	        "{\"$setElementOrder/env\":[{\"name\":\"Z\"},{\"name\":\"X\"}],"
	        "\"env\":[{\"name\":\"Z\",\"value\":\"3\"},"
	        "{\"$patch\":\"delete\",\"name\":\"Y\"}],\"image\":\"2\",\"name\":\"a\"},"
	        "{\"$patch\":\"delete\",\"name\":\"b\"}]}}",
	        "{\"metadata\":{\"annotations\":{\"last\":\"2\"}},\"spec\":{\"containers\":["
	        "{\"name\":\"injected\"},{\"name\":\"c\",\"image\":\"3\"},"
	        "{\"name\":\"a\",\"image\":\"2\",\"env\":["
	        "{\"name\":\"Z\",\"value\":\"3\"},{\"name\":\"X\",\"value\":\"1\"}]}]}}");
}

T_CASE(malformed_patches_are_refused)
{
	refuses("{}", "[]", PL_INVALID,
	        "document: a strategic merge patch is an object, got an array");
	refuses("{}", "{\"spec\":{\"$patch\":\"mend\"}}", PL_INVALID,
	        "spec['$patch']: unknown patch type: want delete, replace or merge");
	refuses("{}", "{\"spec\":{\"$mend\":1}}", PL_INVALID,
	        "spec['$mend']: unknown directive");
	refuses("{}", "{\"spec\":{\"$setElementOrder/\":[]}}", PL_INVALID,
	        "spec['$setElementOrder/']: unknown directive");
	refuses("{}", "{\"spec\":{\"$setElementOrder/volumes\":{}}}", PL_INVALID,
	        "spec['$setElementOrder/volumes']: want an array, got an object");
	refuses("{}", "{\"$deleteFromPrimitiveList/x\":[[]]}", PL_INVALID,
	        "['$deleteFromPrimitiveList/x'][0]: want a scalar, got an array");
	refuses("{\"spec\":{\"volumes\":[]}}",
	        "{\"spec\":{\"volumes\":[{\"emptyDir\":{}}]}}", PL_INVALID,
	        "spec.volumes[0]: does not contain declared merge key: name");
	refuses("{\"spec\":{\"volumes\":[]}}",
	        "{\"spec\":{\"volumes\":[{\"$patch\":\"delete\"}]}}", PL_INVALID,
	        "spec.volumes[0]: does not contain declared merge key: name");
	refuses("{\"spec\":{\"volumes\":[]}}", "{\"spec\":{\"volumes\":[[]]}}",
	        PL_CONFLICT, "spec.volumes[0]: lists of lists are not supported");
	refuses("{\"spec\":{\"volumes\":[]}}", "{\"spec\":{\"volumes\":[1]}}",
	        PL_CONFLICT,
	        "spec.volumes[0]: list element types are not identical: got a number");
	refuses("{\"spec\":{\"volumes\":[{\"name\":\"a\"}]}}",
	        "{\"spec\":{\"volumes\":[{\"name\":\"b\"}],"
	        "\"$setElementOrder/volumes\":[{\"name\":\"a\"}]}}",
	        PL_INVALID,
	        "spec.volumes[0]: the order in the patch list doesn't match "
	        "$setElementOrder");
	refuses("{\"spec\":{\"volumes\":1}}",
	        "{\"spec\":{\"$setElementOrder/volumes\":[{\"name\":\"a\"}]}}",
	        PL_INVALID, "spec['$setElementOrder/volumes']: volumes is no list");
}

static enum pl_code merge_all(void)
{
	struct json_tree tree = {0};
	struct pl_json patch = {0};
	enum pl_code code;

	pl_arena_init(&arena, 1, 0);
	code = json_tree_parse(
		&arena,
		pl_span_str("{\"metadata\":{\"finalizers\":[\"a\",\"b\"]},\"spec\":{"
	                    "\"volumes\":[{\"name\":\"a\",\"emptyDir\":{}}]}}"),
		NULL, &tree, NULL);
	if (code == PL_OK)
		code = pl_json_parse(
			&arena,
			pl_span_str("{\"metadata\":{\"finalizers\":[\"c\"],"
		                    "\"$deleteFromPrimitiveList/finalizers\":[\"b\"]},"
		                    "\"spec\":{\"claimRef\":{\"$patch\":\"delete\"},"
		                    "\"nodeSelector\":{\"x\":\"y\"},"
		                    "\"$setElementOrder/volumes\":[{\"name\":\"b\"},"
		                    "{\"name\":\"a\"}],\"volumes\":[{\"name\":\"b\"},"
		                    "{\"name\":\"a\",\"$retainKeys\":[\"name\"]}]}}"),
			NULL, &patch, NULL);
	if (code == PL_OK)
		code = strategic_merge_apply(&tree, &kit_pod, patch, NULL);
	pl_arena_done(&arena);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(merge_all, false);
}
