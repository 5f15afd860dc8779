/* The answers of Kubernetes' own code to random patches and writes. */
#include <stdio.h>
#include <stdlib.h>

#include "coord/api/patch/apply.h"
#include "coord/api/patch/patch_kit.h"
#include "coord/api/patch/schema_kit.h"
#include "coord/api/patch/strategic_merge.h"

static struct pl_arena arena;
static struct pl_err err;

/* Calls check with each line of a file. */
static size_t each_line(const char *name, void (*check)(struct pl_json line))
{
	const char *root = getenv("T_ROOT");
	char path[512];
	char *text = NULL;
	size_t size = 0, count = 0;
	ssize_t len;
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/coord/api/patch/vectors/%s",
	               root == NULL ? "." : root, name);
	file = fopen(path, "r");
	T_TRUE(file != NULL);
	while ((len = getline(&text, &size, file)) > 0) {
		struct pl_json line = {0};

		T_OK(pl_json_parse(&arena, pl_span(text, (size_t)len), NULL, &line, &err),
		     &err);
		check(line);
		pl_arena_done(&arena);
		count++;
	}
	free(text);
	(void)fclose(file);
	return count;
}

static void check_equal(struct pl_json got, struct pl_json want, struct pl_json input)
{
	if (!json_equal(got, want))
		t_fail(__FILE__, __LINE__, "%s\ngives %s\nwant  %s",
		       kit_text(&arena, input), kit_text(&arena, got),
		       kit_text(&arena, want));
}

static void check_patch(struct pl_json line)
{
	struct json_tree tree = {0};

	T_OK(json_tree_copy(&arena, pl_json_member(line, "object"), &tree), NULL);
	T_OK(strategic_merge_apply(&tree, &kit_pod, pl_json_member(line, "patch"), &err),
	     &err);
	check_equal(json_tree_root(&tree), pl_json_member(line, "want"), line);
}

T_CASE(strategic_merges_equal_those_of_kubernetes)
{
	T_EQ(each_line("strategic_merge.jsonl", check_patch), 150);
}

/* -- writes ------------------------------------------------------------------------------ */

static const char *text_of(struct pl_json object, const char *name)
{
	const char *text = "";

	T_OK(pl_json_string(object, name, PL_JSON_REQUIRED, &text, &err), &err);
	return text;
}

/* The fields of "apply:a" in the entries, or absent. */
static struct pl_json fields_of(struct pl_json entries, const char *manager)
{
	PL_JSON_EACH (item, entries) {
		bool applied = strcmp(text_of(item, "operation"), "Apply") == 0;
		char name[32];

		(void)snprintf(name, sizeof name, "%s:%s", applied ? "apply" : "update",
		               text_of(item, "manager"));
		if (strcmp(name, manager) == 0)
			return pl_json_member(item, "fieldsV1");
	}
	return (struct pl_json){0};
}

static void check_object(struct pl_json object, struct pl_json want, struct pl_json op)
{
	struct pl_json managers = pl_json_member(want, "managers");
	struct pl_json entries =
		pl_json_member(pl_json_member(object, "metadata"), "managedFields");
	struct json_tree bare = {0};

	T_EQ(pl_json_count(entries), pl_json_count(managers));
	PL_JSON_EACH (item, managers)
		check_equal(fields_of(entries, pl_json_key(item)), item, op);
	T_OK(json_tree_copy(&arena, object, &bare), NULL);
	(void)json_remove(json_get(bare.root, "metadata"), "managedFields");
	check_equal(json_tree_root(&bare), pl_json_member(want, "object"), op);
}

/* Kubernetes' names are "update:a .spec.x". */
static void check_conflicts(const struct apply_conflict *conflicts, struct pl_json want)
{
	size_t count = 0;

	for (const struct apply_conflict *at = conflicts; at != NULL; at = at->next) {
		bool found = false;

		PL_JSON_EACH (item, pl_json_member(want, "conflicts")) {
			const char *text = "", *path;

			T_OK(pl_json_as_string(item, &text, &err), &err);
			path = strchr(text, ' ') + 1;
			found = found || strcmp(path, at->field) == 0;
		}
		if (!found)
			t_fail(__FILE__, __LINE__, "%s is no conflict", at->field);
		count++;
	}
	T_EQ(count, pl_json_count(pl_json_member(want, "conflicts")));
}

static enum pl_code write_object(struct pl_json live, struct pl_json op,
                                 struct apply_result *out)
{
	struct apply_options options = {.by = {.type = &kit_pod,
	                                       .manager = text_of(op, "manager"),
	                                       .api_version = "v1",
	                                       .subresource = "",
	                                       .time = "2024-01-01T00:00:00Z"}};
	struct pl_json object = pl_json_member(op, "object");

	*out = (struct apply_result){0};
	if (strcmp(text_of(op, "op"), "update") == 0) {
		T_OK(json_tree_copy(&arena, object, &out->object), NULL);
		return managed_fields_update(&out->object, live, &options.by, &err);
	}
	T_OK(pl_json_bool(op, "force", PL_JSON_REQUIRED, &options.force, &err), &err);
	return apply_config(&arena, live, object, &options, out, &err);
}

static void check_writes(struct pl_json line)
{
	struct pl_json live = {0};

	PL_JSON_EACH (op, pl_json_member(line, "ops")) {
		struct pl_json want = pl_json_member(op, "want");
		struct apply_result result;
		enum pl_code code = write_object(live, op, &result);

		if (pl_json_member(want, "conflicts").node != NULL) {
			T_CODE(code, PL_CONFLICT, &err);
			check_conflicts(result.conflicts, want);
			continue;
		}
		T_OK(code, &err);
		live = json_tree_root(&result.object);
		check_object(live, want, op);
	}
}

T_CASE(writes_equal_those_of_kubernetes)
{
	T_EQ(each_line("apply.jsonl", check_writes), 15);
}
