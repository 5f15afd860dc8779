#include <cjson/cJSON.h>
#include <stdio.h>

#include "coord/api/patch/apply.h"
#include "coord/api/patch/patch_kit.h"
#include "coord/api/patch/schema_kit.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;
static struct pl_err err;
static struct apply_result result;

static enum pl_code apply_as(const char *manager, struct pl_json live, const char *config,
                             bool force)
{
	struct apply_options options = {
		.by = {.type = &kit_pod,
	               .manager = manager,
	               .api_version = "v1",
	               .subresource = "",
	               .time = "2024-01-01T00:00:09Z"},
		.force = force,
	};

	return apply_config(&arena, live, kit_json(&arena, config), &options, &result,
	                    &err);
}

/* The object after it has been applied to. */
static struct pl_json applied(const char *manager, struct pl_json live,
                              const char *config)
{
	T_OK(apply_as(manager, live, config, false), &err);
	return json_tree_root(&result.object);
}

static struct pl_json forced(const char *manager, struct pl_json live, const char *config)
{
	T_OK(apply_as(manager, live, config, true), &err);
	return json_tree_root(&result.object);
}

static struct pl_json updated(const char *manager, struct pl_json live,
                              const char *object)
{
	struct json_tree tree = kit_tree(&arena, object);
	struct field_writer by = {&kit_pod, manager, "v1", "", "2024-01-01T00:00:01Z",
	                          NULL};

	T_OK(managed_fields_update(&tree, live, &by, &err), &err);
	return json_tree_root(&tree);
}

static const char *spec_of(struct pl_json object)
{
	return kit_text(&arena, pl_json_member(object, "spec"));
}

/* The fields of an entry, without "f:spec". "absent": there is no such entry. */
static const char *owned(struct pl_json object, const char *manager)
{
	struct pl_json entries =
		pl_json_member(pl_json_member(object, "metadata"), "managedFields");
	const char *name = "";

	PL_JSON_EACH (item, entries) {
		T_OK(pl_json_string(item, "manager", PL_JSON_REQUIRED, &name, &err),
		     &err);
		if (strcmp(name, manager) == 0)
			return kit_text(&arena,
			                pl_json_member(pl_json_member(item, "fieldsV1"),
			                               "f:spec"));
	}
	return "none";
}

#define CONFIG(spec)                                                                           \
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},\"spec\":" spec \
	"}"
/* A configuration that has nothing but the object's name. */
#define BARE "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}"
static const struct pl_json none;

T_CASE(an_object_is_created)
{
	struct pl_json object = applied("one", none, CONFIG("{\"priority\":1}"));

	T_STR(kit_text(&arena, object),
	      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\","
	      "\"managedFields\":[{\"manager\":\"one\",\"operation\":\"Apply\","
	      "\"apiVersion\":\"v1\",\"time\":\"2024-01-01T00:00:09Z\",\"fieldsType\":"
	      "\"FieldsV1\",\"fieldsV1\":{\"f:spec\":{\"f:priority\":{}}}}]},"
	      "\"spec\":{\"priority\":1}}");
	pl_arena_done(&arena);
}

T_CASE(what_a_manager_gives_up_is_removed)
{
	struct pl_json object = applied(
		"one", none,
		CONFIG("{\"priority\":1,\"nodeName\":\"x\",\"nodeSelector\":{\"a\":\"1\"},"
	               "\"containers\":[{\"name\":\"c\",\"image\":\"1\"},{\"name\":\"d\"}]}"));

	object =
		applied("one", object,
	                CONFIG("{\"nodeName\":\"x\",\"containers\":[{\"name\":\"c\"}]}"));
	T_STR(spec_of(object), "{\"nodeName\":\"x\",\"containers\":[{\"name\":\"c\"}]}");
	T_STR(owned(object, "one"),
	      "{\"f:containers\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},\"f:name\":{}}},"
	      "\"f:nodeName\":{}}");
	object = applied("one", object, CONFIG("{}"));
	T_STR(spec_of(object), "{}");
	pl_arena_done(&arena);
}

T_CASE(what_another_manager_owns_stays)
{
	struct pl_json object = applied(
		"one", none,
		CONFIG("{\"priority\":1,\"containers\":[{\"name\":\"c\",\"image\":"
	               "\"1\"}]}"));

	object = applied(
		"two", object,
		CONFIG("{\"priority\":1,\"containers\":[{\"name\":\"c\",\"args\":["
	               "\"x\"]}]}"));
	T_STR(owned(object, "two"),
	      "{\"f:containers\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},\"f:args\":{},"
	      "\"f:name\":{}}},\"f:priority\":{}}");
	object = applied("one", object, CONFIG("{\"nodeName\":\"n\"}"));
	T_STR(spec_of(object),
	      "{\"priority\":1,\"containers\":[{\"name\":\"c\",\"args\":["
	      "\"x\"]}],\"nodeName\":\"n\"}");
	T_STR(owned(object, "one"), "{\"f:nodeName\":{}}");
	pl_arena_done(&arena);
}

T_CASE(what_an_updater_added_below_stays)
{
	struct pl_json object =
		applied("one", none,
	                CONFIG("{\"containers\":[{\"name\":\"c\",\"image\":\"1\"}]}"));

	object = updated(
		"two", object,
		CONFIG("{\"containers\":[{\"name\":\"c\",\"image\":\"1\",\"env\":["
	               "{\"name\":\"X\",\"value\":\"1\"}]}]}"));
	object = applied("one", object, CONFIG("{\"containers\":[{\"name\":\"c\"}]}"));
	T_STR(spec_of(object),
	      "{\"containers\":[{\"name\":\"c\",\"env\":[{\"name\":\"X\","
	      "\"value\":\"1\"}]}]}");
	pl_arena_done(&arena);
}

static void refuses(struct pl_json live, const char *config, const char *message)
{
	T_CODE(apply_as("one", live, config, false), PL_INVALID, &err);
	T_STR(err.msg, message);
}

T_CASE(a_conflict_names_manager_and_field)
{
	struct pl_json object = updated("kubectl-client-side-apply", none,
	                                CONFIG("{\"priority\":1,\"nodeName\":\"x\"}"));

	T_CODE(apply_as("one", object, CONFIG("{\"priority\":2,\"nodeName\":\"x\"}"),
	                false),
	       PL_CONFLICT, &err);
	T_STR(result.message, "Apply failed with 1 conflict: conflict with "
	                      "\"kubectl-client-side-apply\" using v1: .spec.priority");
	T_STR(err.msg, result.message);
	T_STR(result.conflicts->message,
	      "conflict with \"kubectl-client-side-apply\" using v1");
	T_STR(result.conflicts->field, ".spec.priority");
	T_TRUE(result.conflicts->next == NULL);
	pl_arena_done(&arena);
}

T_CASE(conflicts_stand_together_by_manager)
{
	struct pl_json object = applied(
		"z", none, CONFIG("{\"containers\":[{\"name\":\"c\",\"image\":\"1\"}]}"));

	object = updated("b", object,
	                 CONFIG("{\"containers\":[{\"name\":\"c\",\"image\":\"1\"}],"
	                        "\"priority\":1,\"nodeName\":\"x\"}"));
	T_CODE(apply_as("one", object,
	                CONFIG("{\"containers\":[{\"name\":\"c\",\"image\":\"2\"}],"
	                       "\"priority\":2,\"nodeName\":\"y\"}"),
	                false),
	       PL_CONFLICT, &err);
	T_STR(result.message,
	      "Apply failed with 3 conflicts: conflicts with \"b\" using v1:\n"
	      "- .spec.nodeName\n"
	      "- .spec.priority\n"
	      "conflicts with \"z\":\n"
	      "- .spec.containers[name=\"c\"].image");
	pl_arena_done(&arena);
}

T_CASE(force_takes_fields_over)
{
	struct pl_json object =
		applied("one", none, CONFIG("{\"priority\":1,\"nodeName\":\"x\"}"));

	object = forced("two", object, CONFIG("{\"priority\":2}"));
	T_STR(spec_of(object), "{\"priority\":2,\"nodeName\":\"x\"}");
	T_STR(owned(object, "one"), "{\"f:nodeName\":{}}");
	T_STR(owned(object, "two"), "{\"f:priority\":{}}");
	/* A field that was taken over is not given up by its old owner. */
	object = applied("one", object, BARE);
	T_STR(spec_of(object), "{\"priority\":2}");
	T_STR(owned(object, "one"), "none");
	pl_arena_done(&arena);
}

T_CASE(equal_values_are_owned_together)
{
	struct pl_json object = applied("one", none, CONFIG("{\"priority\":1}"));

	object = applied("two", object, CONFIG("{\"priority\":1}"));
	object = applied("one", object, BARE);
	T_STR(spec_of(object), "{\"priority\":1}");
	object = applied("two", object, BARE);
	T_STR(spec_of(object), "{}");
	pl_arena_done(&arena);
}

T_CASE(sets_and_atomic_values)
{
	struct pl_json object = applied(
		"one", none,
		"{\"apiVersion\":\"v1\",\"metadata\":{\"finalizers\":[\"a\",\"b\"]},\"spec\":"
		"{\"nodeSelector\":{\"a\":\"1\"},\"tolerations\":[{\"key\":\"a\"}]}}");

	object = applied("two", object,
	                 "{\"apiVersion\":\"v1\",\"metadata\":{\"finalizers\":[\"c\"]}}");
	object = applied("one", object,
	                 "{\"apiVersion\":\"v1\",\"metadata\":{\"finalizers\":[\"b\"]},"
	                 "\"spec\":{\"nodeSelector\":{\"b\":\"1\"},\"tolerations\":[]}}");
	T_STR(kit_text(&arena,
	               pl_json_member(pl_json_member(object, "metadata"), "finalizers")),
	      "[\"b\",\"c\"]");
	T_STR(spec_of(object), "{\"nodeSelector\":{\"b\":\"1\"},\"tolerations\":[]}");
	T_CODE(apply_as("two", object, CONFIG("{\"nodeSelector\":{\"c\":\"1\"}}"), false),
	       PL_CONFLICT, &err);
	T_STR(result.conflicts->field, ".spec.nodeSelector");
	pl_arena_done(&arena);
}

T_CASE(untracked_fields_get_an_owner_before_the_first_apply)
{
	struct pl_json object = kit_json(
		&arena,
		"{\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\"},"
		"\"spec\":{\"priority\":1,\"nodeName\":\"x\"}}");

	T_CODE(apply_as("one", object, CONFIG("{\"priority\":2}"), false), PL_CONFLICT,
	       &err);
	T_STR(result.message, "Apply failed with 1 conflict: conflict with "
	                      "\"before-first-apply\" using v1: .spec.priority");
	object = applied("one", object, CONFIG("{\"priority\":1}"));
	T_STR(owned(object, "before-first-apply"),
	      "{\"f:nodeName\":{},\"f:priority\":{}}");
	T_STR(owned(object, "one"), "{\"f:priority\":{}}");
	pl_arena_done(&arena);
}

T_CASE(applying_the_same_again_changes_nothing)
{
	struct apply_options options = {
		.by = {&kit_pod, "one", "v1", "", "2024-01-01T00:01:00Z", NULL}};
	struct pl_json object = applied("one", none, CONFIG("{\"priority\":1}"));
	struct pl_json config = kit_json(&arena, CONFIG("{\"priority\":1}"));

	T_OK(apply_config(&arena, object, config, &options, &result, &err), &err);
	T_STR(kit_text(&arena, json_tree_root(&result.object)), kit_text(&arena, object));
	pl_arena_done(&arena);
}

#define LAST "kubectl.kubernetes.io/last-applied-configuration"

T_CASE(kubectl_takes_over_what_it_applied_on_the_client)
{
	const char *text =
		"{\"apiVersion\":\"v1\",\"metadata\":{\"annotations\":{\"" LAST
		"\":\"{\\\"apiVersion\\\":\\\"v1\\\",\\\"spec\\\":{"
		"\\\"priority\\\":1}}\"}},\"spec\":{\"priority\":1,\"nodeName\":"
		"\"x\"}}";
	struct pl_json object = updated("kubectl-client-side-apply", none, text);
	const char *annotation = "";

	T_CODE(apply_as("kubectl", object, CONFIG("{\"priority\":2,\"nodeName\":\"y\"}"),
	                false),
	       PL_CONFLICT, &err);
	T_STR(result.message, "Apply failed with 1 conflict: conflict with "
	                      "\"kubectl-client-side-apply\" using v1: .spec.nodeName");
	T_CODE(apply_as("other", object, CONFIG("{\"priority\":2}"), false), PL_CONFLICT,
	       &err);
	object = applied("kubectl", object, CONFIG("{\"priority\":2}"));
	T_STR(spec_of(object), "{\"priority\":2,\"nodeName\":\"x\"}");
	T_STR(owned(object, "kubectl-client-side-apply"), "{\"f:nodeName\":{}}");
	T_OK(pl_json_as_string(
		     pl_json_member(pl_json_member(pl_json_member(object, "metadata"),
	                                           "annotations"),
	                            LAST),
		     &annotation, &err),
	     &err);
	T_STR(annotation, CONFIG("{\"priority\":2}") "\n");
	pl_arena_done(&arena);
}

T_CASE(wrong_configurations_are_refused)
{
	refuses(none, "[]", "document: want an object, got an array");
	refuses(none, "{\"apiVersion\":\"v2\"}",
	        "Incorrect version specified in apply patch. Specified patch version: v2, "
	        "expected: v1");
	refuses(none, "{\"apiVersion\":\"v1\",\"metadata\":{\"managedFields\":[]}}",
	        "metadata.managedFields must be nil");
	refuses(none, CONFIG("{\"volumes\":[{\"name\":\"a\"},{\"name\":\"a\"}]}"),
	        "spec.volumes[0]: duplicate entries for key {\"name\":\"a\"}");
	refuses(kit_json(&arena, "{\"metadata\":{\"managedFields\":[{}]}}"), CONFIG("{}"),
	        "metadata.managedFields[0]: operation must be `Apply` or `Update`");
	pl_arena_done(&arena);
}

static enum pl_code apply_some(void)
{
	static const char live_text[] =
		"{\"apiVersion\":\"v1\",\"metadata\":{\"managedFields\":[{\"manager\":\"one\","
		"\"operation\":\"Apply\",\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\","
		"\"fieldsV1\":{\"f:spec\":{\"f:priority\":{}}}}]},\"spec\":{\"priority\":1}}";
	struct apply_options options = {
		.by = {&kit_pod, "one", "v1", "", "2024-01-01T00:01:00Z", NULL}};
	struct pl_json live = {0}, config = {0};
	enum pl_code code;

	pl_arena_init(&arena, 1, 0);
	code = pl_json_parse(&arena, pl_span_str(live_text), NULL, &live, NULL);
	if (code == PL_OK)
		code = pl_json_parse(
			&arena,
			pl_span_str(CONFIG("{\"containers\":[{\"name\":\"c\"}]}")), NULL,
			&config, NULL);
	if (code == PL_OK)
		code = apply_config(&arena, live, config, &options, &result, NULL);
	pl_arena_done(&arena);
	return code;
}

static enum pl_code conflict_some(void)
{
	static const char live_text[] =
		"{\"apiVersion\":\"v1\",\"metadata\":{\"managedFields\":[{\"manager\":\"one\","
		"\"operation\":\"Update\",\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\","
		"\"fieldsV1\":{\"f:spec\":{\"f:priority\":{},\"f:nodeName\":{}}}}]},"
		"\"spec\":{\"priority\":1}}";
	struct apply_options options = {
		.by = {&kit_pod, "two", "v1", "", "2024-01-01T00:01:00Z", NULL}};
	struct pl_json live = {0}, config = {0};
	enum pl_code code;

	pl_arena_init(&arena, 1, 0);
	code = pl_json_parse(&arena, pl_span_str(live_text), NULL, &live, NULL);
	if (code == PL_OK)
		code = pl_json_parse(
			&arena,
			pl_span_str(CONFIG("{\"priority\":2,\"nodeName\":\"x\"}")), NULL,
			&config, NULL);
	if (code == PL_OK)
		code = apply_config(&arena, live, config, &options, &result, NULL);
	pl_arena_done(&arena);
	return code == PL_CONFLICT ? PL_OK : code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(apply_some, false);
	t_torture(conflict_some, false);
}
