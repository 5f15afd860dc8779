/* Random applies and updates of a map against a model that keeps the owners of each key
 * in a plain table. */
#include <cjson/cJSON.h>
#include <stdio.h>

#include "coord/api/patch/apply.h"
#include "coord/api/patch/patch_kit.h"
#include "coord/api/patch/schema_kit.h"
#include "store/base/rng.h"

enum { KEYS = 5, MANAGERS = 3, ABSENT = -1 };

static struct pl_arena arena;
static struct pl_err err;
static struct pl_rng rng;

/* Owner 2 * m is manager m by Apply, 2 * m + 1 by Update. */
struct ownership_model {
	int value[KEYS];
	bool owner[KEYS][2 * MANAGERS];
};

struct ownership_run {
	struct ownership_model model;
	struct pl_json object;
	size_t conflicts, removals, takeovers;
};

static void random_values(int values[KEYS])
{
	for (int k = 0; k < KEYS; k++) {
		uint64_t value = pl_rng_below(&rng, 4);

		values[k] = value == 3 ? ABSENT : (int)value;
	}
}

/* -- the model --------------------------------------------------------------------------- */

static bool model_conflicts(const struct ownership_model *model, const int values[KEYS],
                            int self)
{
	for (int k = 0; k < KEYS; k++)
		for (int o = 0; o < 2 * MANAGERS; o++)
			if (values[k] != ABSENT && values[k] != model->value[k] &&
			    o != self && model->owner[k][o])
				return true;
	return false;
}

static bool has_owner(const struct ownership_model *model, int key)
{
	for (int o = 0; o < 2 * MANAGERS; o++)
		if (model->owner[key][o])
			return true;
	return false;
}

static void set_value(struct ownership_model *model, int key, int value)
{
	if (model->value[key] == value)
		return;
	for (int o = 0; o < 2 * MANAGERS; o++)
		model->owner[key][o] = false;
	model->value[key] = value;
}

static void model_apply(struct ownership_run *run, const int values[KEYS], int self)
{
	struct ownership_model *model = &run->model;

	for (int k = 0; k < KEYS; k++) {
		bool owned = model->owner[k][self];

		if (values[k] != ABSENT) {
			set_value(model, k, values[k]);
			model->owner[k][self] = true;
		} else if (owned) {
			model->owner[k][self] = false;
			if (!has_owner(model, k)) {
				model->value[k] = ABSENT;
				run->removals++;
			}
		}
	}
}

static void model_update(struct ownership_model *model, const int values[KEYS], int self)
{
	for (int k = 0; k < KEYS; k++) {
		if (model->value[k] == values[k])
			continue;
		set_value(model, k, values[k]);
		model->owner[k][self] = values[k] != ABSENT;
	}
}

/* -- the real thing ---------------------------------------------------------------------- */

static struct json_tree object_with(const int values[KEYS], bool whole)
{
	struct json_tree tree =
		kit_tree(&arena, "{\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
	                         "\"a\",\"labels\":{}}}");
	struct cJSON *labels = json_get(json_get(tree.root, "metadata"), "labels");
	char name[8];

	if (whole)
		T_TRUE(json_set(&arena, labels, "boot", json_new_number(&arena, 9)));
	for (int k = 0; k < KEYS; k++) {
		(void)snprintf(name, sizeof name, "k%d", k);
		if (values[k] != ABSENT)
			T_TRUE(json_set(&arena, labels, name,
			                json_new_number(&arena, values[k])));
	}
	return tree;
}

static struct field_writer writer(int manager, char name[8])
{
	(void)snprintf(name, 8, "m%d", manager);
	return (struct field_writer){.type = &kit_pod,
	                             .manager = name,
	                             .api_version = "v1",
	                             .subresource = "",
	                             .time = "2024-01-01T00:00:00Z"};
}

static void run_update(struct ownership_run *run, int manager)
{
	struct json_tree tree;
	struct field_writer by;
	int values[KEYS];
	char name[8];

	random_values(values);
	by = writer(manager, name);
	tree = object_with(values, true);
	T_OK(managed_fields_update(&tree, run->object, &by, &err), &err);
	model_update(&run->model, values, 2 * manager + 1);
	run->object = json_tree_root(&tree);
}

static void run_apply(struct ownership_run *run, int manager, bool force)
{
	struct apply_options options = {.force = force};
	struct apply_result result;
	struct json_tree config;
	int values[KEYS];
	char name[8];
	bool conflict;
	enum pl_code code;

	random_values(values);
	options.by = writer(manager, name);
	config = object_with(values, false);
	conflict = model_conflicts(&run->model, values, 2 * manager);
	code = apply_config(&arena, run->object, json_tree_root(&config), &options,
	                    &result, &err);
	T_CODE(code, conflict && !force ? PL_CONFLICT : PL_OK, &err);
	run->conflicts += code == PL_CONFLICT;
	run->takeovers += conflict && force;
	if (code != PL_OK)
		return;
	model_apply(run, values, 2 * manager);
	run->object = json_tree_root(&result.object);
}

/* -- the comparison ---------------------------------------------------------------------- */

static bool owns(struct pl_json object, int key, int owner)
{
	struct pl_json meta = pl_json_member(object, "metadata"), fields;
	char manager[8], field[8];
	const char *name = "", *operation = "";

	(void)snprintf(manager, sizeof manager, "m%d", owner / 2);
	(void)snprintf(field, sizeof field, "f:k%d", key);
	PL_JSON_EACH (item, pl_json_member(meta, "managedFields")) {
		T_OK(pl_json_string(item, "manager", PL_JSON_REQUIRED, &name, &err),
		     &err);
		T_OK(pl_json_string(item, "operation", PL_JSON_REQUIRED, &operation,
		                    &err),
		     &err);
		if (strcmp(name, manager) != 0 ||
		    strcmp(operation, owner % 2 == 0 ? "Apply" : "Update") != 0)
			continue;
		fields = pl_json_member(pl_json_member(item, "fieldsV1"), "f:metadata");
		return pl_json_member(pl_json_member(fields, "f:labels"), field).node !=
		       NULL;
	}
	return false;
}

static void compare(const struct ownership_run *run)
{
	struct pl_json labels =
		pl_json_member(pl_json_member(run->object, "metadata"), "labels");
	char name[8];

	for (int k = 0; k < KEYS; k++) {
		double value = ABSENT;

		(void)snprintf(name, sizeof name, "k%d", k);
		T_OK(pl_json_double(labels, name, PL_JSON_OPTIONAL, &value, &err), &err);
		T_EQ((int)value, run->model.value[k]);
		for (int o = 0; o < 2 * MANAGERS; o++)
			T_EQ(owns(run->object, k, o), run->model.owner[k][o]);
	}
}

static void start(struct ownership_run *run)
{
	static const int nothing[KEYS] = {ABSENT, ABSENT, ABSENT, ABSENT, ABSENT};
	struct json_tree tree = object_with(nothing, true);
	struct field_writer by;
	char name[8];

	by = writer(MANAGERS, name);
	run->model = (struct ownership_model){0};
	for (int k = 0; k < KEYS; k++)
		run->model.value[k] = ABSENT;
	T_OK(managed_fields_update(&tree, (struct pl_json){0}, &by, &err), &err);
	run->object = json_tree_root(&tree);
}

T_CASE(owners_equal_those_of_a_model)
{
	struct ownership_run run = {0};

	pl_rng_init(&rng, t_seed());
	for (int round = 0; round < 60; round++) {
		start(&run);
		for (int step = 0; step < 25; step++) {
			int manager = (int)pl_rng_below(&rng, MANAGERS);

			if (pl_rng_below(&rng, 4) == 0)
				run_update(&run, manager);
			else
				run_apply(&run, manager, pl_rng_below(&rng, 2) == 0);
			compare(&run);
		}
		pl_arena_done(&arena);
	}
	T_REACHED(run.conflicts > 100 && run.removals > 100 && run.takeovers > 100);
}
