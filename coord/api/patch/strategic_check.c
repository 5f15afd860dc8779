#include <cjson/cJSON.h>
#include <string.h>

#include "coord/api/patch/strategic_int.h"

static bool starts(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) == 0 && name[len] != 0;
}

enum strategic_directive strategic_directive(struct pl_json object)
{
	struct pl_json value = pl_json_member(object, STRATEGIC_PATCH);
	const char *text = "";

	if (pl_json_as_string(value, &text, NULL) != PL_OK)
		return STRATEGIC_NONE;
	if (strcmp(text, "replace") == 0)
		return STRATEGIC_REPLACE;
	if (strcmp(text, "delete") == 0)
		return STRATEGIC_DELETE;
	return strcmp(text, "merge") == 0 ? STRATEGIC_MERGE : STRATEGIC_NONE;
}

static enum pl_code check_patch(struct pl_json object, struct pl_json value,
                                struct pl_err *err)
{
	if (strategic_directive(object) != STRATEGIC_NONE)
		return PL_OK;
	return pl_json_fail(value, PL_INVALID, err,
	                    "unknown patch type: want delete, replace or merge");
}

static enum pl_code check_array(struct pl_json value, struct pl_err *err)
{
	if (pl_json_type(value) == PL_JSON_ARRAY)
		return PL_OK;
	return pl_json_fail(value, PL_INVALID, err, "want an array, got %s",
	                    pl_json_type_name(pl_json_type(value)));
}

static enum pl_code check_scalars(struct pl_json value, struct pl_err *err)
{
	enum pl_code code = check_array(value, err);

	PL_JSON_EACH (item, value) {
		enum pl_json_type type = pl_json_type(item);

		if (code == PL_OK && (type == PL_JSON_OBJECT || type == PL_JSON_ARRAY))
			code = pl_json_fail(item, PL_INVALID, err,
			                    "want a scalar, got %s",
			                    pl_json_type_name(type));
	}
	return code;
}

/* The members that are null are removed whether they are retained or not. */
static enum pl_code check_retain(struct strategic_run *run, struct pl_json object,
                                 struct pl_json keys)
{
	enum pl_code code = check_scalars(keys, run->err);
	struct strategic_names names;

	if (code != PL_OK)
		return code;
	if (!strategic_names_init(&names, run->arena, keys))
		return strategic_no_memory(run);
	PL_JSON_EACH (item, object)
		if (code == PL_OK && !strategic_is_directive(pl_json_key(item)) &&
		    pl_json_type(item) != PL_JSON_NULL &&
		    !strategic_names_has(&names, item.node))
			code = pl_json_fail(item, PL_INVALID, run->err,
			                    "is not in $retainKeys");
	return code;
}

bool strategic_names_init(struct strategic_names *names, struct pl_arena *arena,
                          struct pl_json array)
{
	size_t count = pl_json_count(array), at = 0;
	const struct cJSON **keys =
		pl_arena_zalloc(arena, count + 1, sizeof(const struct cJSON *));

	if (keys == NULL)
		return false;
	PL_JSON_EACH (item, array)
		keys[at++] = item.node;
	return scalar_table_init(&names->table, arena, keys, count);
}

bool strategic_names_has(const struct strategic_names *names, const struct cJSON *member)
{
	struct cJSON name = {.type = cJSON_String, .valuestring = member->string};

	return scalar_table_find(&names->table, &name) != SIZE_MAX;
}

static enum pl_code check_directive(struct strategic_run *run, struct pl_json object,
                                    struct pl_json value)
{
	struct pl_err *err = run->err;
	const char *name = pl_json_key(value);

	if (strcmp(name, STRATEGIC_PATCH) == 0)
		return check_patch(object, value, err);
	if (strcmp(name, STRATEGIC_RETAIN) == 0)
		return check_retain(run, object, value);
	if (starts(name, STRATEGIC_ORDER))
		return check_array(value, err);
	if (starts(name, STRATEGIC_DELETE_FROM))
		return check_scalars(value, err);
	return pl_json_fail(value, PL_INVALID, err, "unknown directive");
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
enum pl_code strategic_check(struct strategic_run *run, struct pl_json patch)
{
	bool is_object = pl_json_type(patch) == PL_JSON_OBJECT;
	enum pl_code code = PL_OK;

	PL_JSON_EACH (item, patch) {
		if (code != PL_OK)
			break;
		if (is_object && strategic_is_directive(pl_json_key(item)))
			code = check_directive(run, patch, item);
		else
			code = strategic_check(run, item);
	}
	return code;
}
