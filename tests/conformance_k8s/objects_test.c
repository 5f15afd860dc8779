/* Every object of every case is read, kept, given back and printed again. */
#include <stdio.h>

#include "shardsched/model/cluster_objects.h"
#include "shardsched/model/object.h"
#include "shardsched/model/parse.h"
#include "shardsched/model/storage.h"
#include "shardsched/model/volume.h"
#include "store/base/json.h"
#include "store/base/json_out.h"
#include "tests/conformance_k8s/cases.h"
#include "tests/harness/t.h"

static struct model model;
static struct pl_arena arena;
static struct pl_arena line_arena;
static struct pl_buf text;
static struct pl_err err;
static size_t count;

static void write_value(struct pl_buf *buf, struct pl_json value)
{
	struct pl_json_out out;

	pl_buf_clear(buf, SIZE_MAX);
	pl_json_out_init(&out, buf);
	pl_json_out_value(&out, value);
	T_OK(pl_json_out_done(&out), NULL);
}

/* Without changes: the same bytes. With one: read again, it is there. */
static void check_print(struct pl_span json)
{
	static const struct object_change change[] = {
		{{"metadata", "resourceVersion"}, "\"17\""},
		{{"status", "placet", "seen"}, "true"},
	};
	struct pl_buf out;
	struct pl_json root = {0}, seen;
	const char *version = "";

	pl_buf_init(&out, 1 << 20);
	T_OK(object_print(json, NULL, 0, &out, &err), &err);
	T_SPAN(pl_buf_span(&out), json);
	pl_buf_clear(&out, SIZE_MAX);
	T_OK(object_print(json, change, 2, &out, &err), &err);
	T_OK(pl_json_parse(&arena, pl_buf_span(&out), NULL, &root, &err), &err);
	T_OK(pl_json_string(pl_json_member(root, "metadata"), "resourceVersion",
	                    PL_JSON_REQUIRED, &version, &err),
	     &err);
	T_STR(version, "17");
	seen = pl_json_member(pl_json_member(pl_json_member(root, "status"), "placet"),
	                      "seen");
	T_EQ(pl_json_type(seen), PL_JSON_BOOL);
	pl_buf_done(&out);
}

static void check_object(const char *list, struct pl_span json)
{
	struct parse parse = {.model = &model, .arena = &arena};
	enum pl_code code = PL_UNSUPPORTED;

#define KIND(of, noun)                                        \
	if (strcmp(list, of) == 0) {                          \
		struct noun it;                               \
		code = noun##_parse(&parse, json, &it, &err); \
		if (code == PL_OK)                            \
			noun##_drop(&model, &it);             \
	}
	KIND("nodes", node)
	KIND("pods", pod)
	KIND("pod", pod)
	KIND("namespaces", namespace)
	KIND("pvs", volume)
	KIND("pvcs", claim)
	KIND("storageClasses", storage_class)
	KIND("csiNodes", csi_node)
	KIND("csiDrivers", csi_driver)
	KIND("csiStorageCapacities", csi_capacity)
	KIND("priorityClasses", priority_class)
	KIND("pdbs", budget)
#define WORKLOAD(of, kind)                                            \
	if (strcmp(list, of) == 0) {                                  \
		struct workload it;                                   \
		code = workload_parse(&parse, kind, json, &it, &err); \
		if (code == PL_OK)                                    \
			workload_drop(&model, &it);                   \
	}
	WORKLOAD("services", WORKLOAD_SERVICE)
	WORKLOAD("replicaSets", WORKLOAD_REPLICA_SET)
	WORKLOAD("statefulSets", WORKLOAD_STATEFUL_SET)
	if (code != PL_OK)
		t_fail(__FILE__, __LINE__, "%s %.200s: %s", list, (const char *)json.at,
		       err.msg);
	check_print(json);
	pl_arena_reset(&arena);
	count++;
}

static void check_list(struct pl_json list)
{
	const char *name = pl_json_key(list);

	if (strcmp(name, "tags") == 0)
		return;
	PL_JSON_EACH (item, list) {
		write_value(&text, item);
		check_object(name, pl_buf_span(&text));
	}
}

static void check_category(const char *category)
{
	struct cases *cases = cases_open(category);
	struct pl_span line;

	while (cases_next(cases, &line)) {
		struct pl_json root = {0};

		pl_arena_reset(&line_arena);
		T_OK(pl_json_parse(&line_arena, line, NULL, &root, &err), &err);
		PL_JSON_EACH (member, root) {
			if (pl_json_type(member) == PL_JSON_ARRAY)
				check_list(member);
			if (strcmp(pl_json_key(member), "pod") != 0)
				continue;
			write_value(&text, member);
			check_object("pod", pl_buf_span(&text));
		}
	}
	cases_close(cases);
}

T_CASE_SECONDS(every_object_of_every_case_is_printed_unchanged, 120)
{
	model_init(&model);
	pl_arena_init(&arena, 1 << 18, 0);
	pl_arena_init(&line_arena, 1 << 18, 0);
	pl_buf_init(&text, 1 << 20);
	for (size_t i = 0; cases_categories[i] != NULL; i++)
		if (strcmp(cases_categories[i], "invalid") != 0)
			check_category(cases_categories[i]);
	T_TRUE(count > 80000);
	pl_buf_done(&text);
	pl_arena_done(&line_arena);
	pl_arena_done(&arena);
	model_done(&model); /* nothing is left in it */
}
