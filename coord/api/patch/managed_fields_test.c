#include <cjson/cJSON.h>
#include <stdio.h>

#include "coord/api/patch/managed_fields.h"
#include "coord/api/patch/patch_kit.h"
#include "coord/api/patch/schema_kit.h"
#include "store/base/alloc.h"
#include "tests/harness/torture.h"

static struct pl_arena arena;
static struct pl_err err;

static struct field_writer writer(const char *manager, const char *time)
{
	return (struct field_writer){
		.type = &kit_pod,
		.manager = manager,
		.api_version = "v1",
		.subresource = "",
		.time = time,
	};
}

/* The object after an update, as text in the arena. */
static const char *updated(const char *before, const char *after,
                           const struct field_writer *by)
{
	struct json_tree tree = kit_tree(&arena, after);
	struct pl_json old = {0};

	if (before != NULL)
		old = kit_json(&arena, before);
	T_OK(managed_fields_update(&tree, old, by, &err), &err);
	return kit_text(&arena, json_tree_root(&tree));
}

T_CASE(a_new_object_is_owned_by_its_creator)
{
	struct field_writer by = writer("kubectl-create", "2024-01-01T00:00:00Z");
	static const char *const no_status[] = {"status", NULL};

	by.ignored = no_status;
	T_STR(updated(NULL,
	              "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\","
	              "\"uid\":\"u\",\"labels\":{\"app\":\"x\"}},\"spec\":{\"priority\":1},"
	              "\"status\":{\"phase\":\"Pending\"}}",
	              &by),
	      "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\","
	      "\"uid\":\"u\",\"labels\":{\"app\":\"x\"},\"managedFields\":[{\"manager\":"
	      "\"kubectl-create\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":"
	      "\"2024-01-01T00:00:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{"
	      "\"f:metadata\":{\"f:labels\":{\".\":{},\"f:app\":{}}},\"f:spec\":{"
	      "\"f:priority\":{}}}}]},\"spec\":{\"priority\":1},"
	      "\"status\":{\"phase\":\"Pending\"}}");
	pl_arena_done(&arena);
}

/* An object with the fields a to c in its spec, and entries. */
#define OBJECT(entries, spec) \
	"{\"metadata\":{\"uid\":\"u\",\"managedFields\":[" entries "]},\"spec\":" spec "}"
#define ENTRY(manager, time, fields)                                                   \
	"{\"manager\":\"" manager "\",\"operation\":\"Update\",\"apiVersion\":\"v1\"," \
	"\"time\":\"2024-01-01T00:00:" time "Z\",\"fieldsType\":\"FieldsV1\","         \
	"\"fieldsV1\":" fields "}"
#define SPEC(fields) "{\"f:spec\":{" fields "}}"

T_CASE(a_change_moves_fields_to_its_manager)
{
	struct field_writer by = writer("b", "2024-01-01T00:00:09Z");

	T_STR(updated(OBJECT(ENTRY("a", "01", SPEC("\"f:x\":{},\"f:y\":{},\"f:z\":{}")),
	                     "{\"x\":1,\"y\":1,\"z\":1}"),
	              "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"x\":1,\"y\":2,\"w\":1}}",
	              &by),
	      OBJECT(ENTRY("a", "01", SPEC("\"f:x\":{}")) "," ENTRY(
			     "b", "09", SPEC("\"f:w\":{},\"f:y\":{}")),
	             "{\"x\":1,\"y\":2,\"w\":1}"));
	by.manager = "a";
	T_STR(updated(OBJECT(ENTRY("a", "01", SPEC("\"f:x\":{}")), "{\"x\":1}"),
	              OBJECT("", "{\"x\":1}"), &by),
	      "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"x\":1}}");
	T_STR(updated(OBJECT(ENTRY("a", "01", SPEC("\"f:x\":{}")), "{\"x\":1}"),
	              "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"x\":1,\"y\":1}}", &by),
	      OBJECT(ENTRY("a", "09", SPEC("\"f:x\":{},\"f:y\":{}")),
	             "{\"x\":1,\"y\":1}"));
	T_STR(updated(OBJECT(ENTRY("a", "01", SPEC("\"f:x\":{}")), "{\"x\":1}"),
	              "{\"metadata\":{\"uid\":\"u\"},\"spec\":{}}", &by),
	      "{\"metadata\":{\"uid\":\"u\"},\"spec\":{}}");
	pl_arena_done(&arena);
}

T_CASE(a_change_of_nothing_changes_no_entry)
{
	struct field_writer by = writer("b", "2024-01-01T00:00:09Z");
	const char *object = OBJECT(ENTRY("a", "01", SPEC("\"f:x\":{}")), "{\"x\":1}");

	T_STR(updated(object, object, &by), object);
	T_STR(updated(object, "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"x\":1}}", &by),
	      object);
	pl_arena_done(&arena);
}

T_CASE(a_client_may_remove_or_write_entries)
{
	struct field_writer by = writer("b", "2024-01-01T00:00:09Z");
	const char *object = OBJECT(ENTRY("a", "01", SPEC("\"f:x\":{}")), "{\"x\":1}");

	T_STR(updated(object, OBJECT("", "{\"x\":2}"), &by),
	      "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"x\":2}}");
	T_STR(updated(object, OBJECT("{}", "{\"x\":2}"), &by),
	      "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"x\":2}}");
	T_STR(updated(object,
	              OBJECT(ENTRY("c", "02", SPEC("\"f:x\":{},\"f:y\":{}")),
	                     "{\"x\":2}"),
	              &by),
	      OBJECT(ENTRY("c", "02", SPEC("\"f:y\":{}")) "," ENTRY("b", "09",
	                                                            SPEC("\"f:x\":{}")),
	             "{\"x\":2}"));
	/* Entries that are malformed do not count. */
	T_STR(updated(object, OBJECT("{\"manager\":\"c\"}", "{\"x\":1}"), &by), object);
	T_STR(updated(object, OBJECT(ENTRY("c", "02", "{\"x\":1}"), "{\"x\":1}"), &by),
	      object);
	pl_arena_done(&arena);
}

T_CASE(an_object_without_entries_is_not_tracked)
{
	struct field_writer by = writer("b", "2024-01-01T00:00:09Z");

	T_STR(updated("{\"metadata\":{\"uid\":\"u\"},\"spec\":{}}",
	              "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"x\":2}}", &by),
	      "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"x\":2}}");
	pl_arena_done(&arena);
}

T_CASE(a_subresource_has_its_own_entry_and_keeps_the_others)
{
	static const char *const no_spec[] = {"spec", "metadata.ownerReferences", NULL};
	struct field_writer by = writer("kubelet", "2024-01-01T00:00:09Z");

	by.subresource = "status";
	by.ignored = no_spec;
	T_STR(updated(OBJECT(ENTRY("a", "01", SPEC("\"f:x\":{}")), "{\"x\":1}"),
	              "{\"metadata\":{\"uid\":\"u\",\"managedFields\":[]},"
	              "\"spec\":{\"x\":1},\"status\":{\"phase\":\"Running\"}}",
	              &by),
	      "{\"metadata\":{\"uid\":\"u\",\"managedFields\":[" ENTRY(
		      "a", "01",
		      SPEC("\"f:x\":{}")) ","
	                                  "{\"manager\":\"kubelet\",\"operation\":\"Update\",\"apiVersion\":\"v1\","
	                                  "\"time\":\"2024-01-01T00:00:09Z\",\"fieldsType\":\"FieldsV1\","
	                                  "\"fieldsV1\":{\"f:status\":{\".\":{},\"f:phase\":{}}},"
	                                  "\"subresource\":\"status\"}]},"
	                                  "\"spec\":{\"x\":1},\"status\":{\"phase\":\"Running\"}}");
	pl_arena_done(&arena);
}

/* An entry whose fields cannot be read shows that it is not read. */
T_CASE(entries_that_do_not_change_are_not_read)
{
	struct field_writer by = writer("b", "2024-01-01T00:00:09Z");
	const char *odd = ENTRY("a", "01", "{\"f:spec\":{\"k:{\":{}}}");
	char text[600];

	(void)snprintf(text, sizeof text,
	               "{\"metadata\":{\"uid\":\"u\",\"managedFields\":[%s]},"
	               "\"status\":{\"phase\":\"x\"}}",
	               odd);
	T_TRUE(strstr(updated(text,
	                      "{\"metadata\":{\"uid\":\"u\"},\"status\":{\"phase\":"
	                      "\"y\"}}",
	                      &by),
	              odd) != NULL);
	T_TRUE(strstr(updated(text, "{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"x\":1}}",
	                      &by),
	              odd) == NULL);
	pl_arena_done(&arena);
}

T_CASE(old_updaters_are_merged)
{
	struct json_tree tree = kit_tree(&arena, "{\"metadata\":{},\"spec\":{}}"), old;
	struct pl_json entries = {0}, first;
	char manager[16], time[32];
	const char *text = "";

	for (int i = 0; i < 14; i++) {
		struct field_writer by;

		(void)snprintf(manager, sizeof manager, "m%02d", i);
		(void)snprintf(time, sizeof time, "2024-01-01T00:00:%02dZ", i);
		by = writer(manager, time);
		T_OK(json_tree_copy(&arena, json_tree_root(&tree), &old), NULL);
		T_TRUE(json_set(&arena, json_get(tree.root, "spec"), manager,
		                json_new_number(&arena, i)));
		T_OK(managed_fields_update(
			     &tree, i == 0 ? (struct pl_json){0} : json_tree_root(&old),
			     &by, &err),
		     &err);
	}
	entries = pl_json_member(pl_json_member(json_tree_root(&tree), "metadata"),
	                         "managedFields");
	T_EQ(pl_json_count(entries), MANAGED_UPDATERS_MAX);
	first = pl_json_first(entries);
	T_OK(pl_json_string(first, "manager", PL_JSON_REQUIRED, &text, &err), &err);
	T_STR(text, "ancient-changes");
	T_OK(pl_json_string(first, "time", PL_JSON_REQUIRED, &text, &err), &err);
	T_STR(text, "2024-01-01T00:00:04Z");
	T_STR(kit_text(&arena, pl_json_member(first, "fieldsV1")),
	      "{\"f:spec\":{\"f:m00\":{},\"f:m01\":{},\"f:m02\":{},\"f:m03\":{},"
	      "\"f:m04\":{}}}");
	pl_arena_done(&arena);
}

static void refuses(const char *entries, const char *message)
{
	T_CODE(managed_fields_check(&arena, kit_json(&arena, entries), &err), PL_INVALID,
	       &err);
	T_STR(err.msg, message);
	pl_arena_done(&arena);
}

T_CASE(malformed_entries_are_named)
{
	refuses("{}", "document: want an array, got an object");
	refuses("[1]", "[0]: want an object, got a number");
	refuses("[{\"operation\":\"Mend\"}]",
	        "[0]: operation must be `Apply` or `Update`");
	refuses("[{\"operation\":\"Apply\"}]", "[0]: apiVersion must not be empty");
	refuses("[{\"operation\":\"Apply\",\"apiVersion\":\"v1\",\"fieldsType\":\"x\"}]",
	        "[0]: fieldsType must be FieldsV1");
	refuses("[" ENTRY("a", "01", "{\"x\":1}") "]",
	        "[0].fieldsV1.x: want f:, k:, v: or i: before the element");
	T_OK(managed_fields_check(&arena, kit_json(&arena, "null"), &err), &err);
	T_OK(managed_fields_check(&arena, (struct pl_json){0}, &err), &err);
	pl_arena_done(&arena);
}

static enum pl_code update_some(void)
{
	static const char before[] = OBJECT(
		ENTRY("a", "01", SPEC("\"f:x\":{},\"f:y\":{}")), "{\"x\":1,\"y\":1}");
	static const char after[] =
		"{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"y\":2,"
		"\"containers\":[{\"name\":\"b\"},{\"name\":\"a\"}]}}";
	struct field_writer by = writer("b", "2024-01-01T00:00:09Z");
	struct json_tree tree = {0};
	struct pl_json old = {0};
	enum pl_code code;

	pl_arena_init(&arena, 1, 0);
	code = pl_json_parse(&arena, pl_span_str(before), NULL, &old, NULL);
	if (code == PL_OK)
		code = json_tree_parse(&arena, pl_span_str(after), NULL, &tree, NULL);
	if (code == PL_OK)
		code = managed_fields_update(&tree, old, &by, NULL);
	pl_arena_done(&arena);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(update_some, false);
}
