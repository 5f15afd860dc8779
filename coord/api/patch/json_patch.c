#include "coord/api/patch/json_patch.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>

/* The place that a pointer names: a member of an object, an element of an array, or the
 * root of the tree. */
struct json_place {
	struct cJSON *parent; /* NULL: the root */
	char *token;          /* the last one, unescaped */
	struct cJSON *node;   /* NULL: nothing is there */
	size_t index;         /* in an array */
	uint32_t depth;       /* of the place: 0 for the root */
};

struct json_patch_run {
	struct json_tree *tree;
	struct pl_json patch;
	struct pl_json op;
	const char *name; /* of the operation */
	size_t copied;
	size_t steps;
	struct pl_err *err;
};

/* -- pointers -------------------------------------------------------------------------- */

PL_PRINTF(3, 4)
static enum pl_code op_fail(struct json_patch_run *run, enum pl_code code,
                            const char *fmt, ...)
{
	char what[PL_ERR_MSG_SIZE];
	va_list args;

	va_start(args, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it was begun above */
	(void)vsnprintf(what, sizeof what, fmt, args);
	va_end(args);
	return pl_json_fail(run->op, code, run->err, "%s", what);
}

static enum pl_code no_memory(struct json_patch_run *run)
{
	return pl_err_set(run->err, PL_NOMEM, "JSON patch: no memory");
}

static enum pl_code add_steps(struct json_patch_run *run, size_t steps)
{
	run->steps += steps;
	if (run->steps <= JSON_PATCH_STEPS_MAX)
		return PL_OK;
	return op_fail(run, PL_LIMIT, "the patch takes too much work");
}

/* Takes "~1" and "~0" out of a token, in its place. False: another "~". */
static bool unescape(char *token)
{
	char *to = token;

	for (const char *at = token; *at != 0; at++) {
		char byte = *at;

		if (byte == '~') {
			at++;
			if (*at != '0' && *at != '1')
				return false;
			byte = *at == '0' ? '~' : '/';
		}
		*to++ = byte;
	}
	*to = 0;
	return true;
}

/* Reads an index without a sign and without leading zeros. False: it is none. */
static bool read_index(const char *token, size_t *out)
{
	size_t index = 0;

	if (token[0] == 0 || (token[0] == '0' && token[1] != 0))
		return false;
	for (; *token != 0; token++) {
		if (*token < '0' || *token > '9' || index > SIZE_MAX / 100)
			return false;
		index = index * 10 + (size_t)(*token - '0');
	}
	*out = index;
	return true;
}

/* Finds an element. An index just behind the last one, and "-", name the place where an
 * element can be added: node is NULL then. */
static enum pl_code find_element(struct json_patch_run *run, struct json_place *place)
{
	size_t index = SIZE_MAX, at = 0;
	struct cJSON *node = place->parent->child;

	if (strcmp(place->token, "-") != 0 && !read_index(place->token, &index))
		return op_fail(run, PL_CONFLICT, "'%.60s' is no index of an array",
		               place->token);
	for (; node != NULL && at < index; node = node->next)
		at++;
	if (node == NULL && index != SIZE_MAX && at != index)
		return op_fail(run, PL_CONFLICT,
		               "index %zu is beyond an array of %zu elements", index, at);
	place->node = node;
	place->index = at;
	return add_steps(run, at + 1);
}

static enum pl_code find_member(struct json_patch_run *run, struct json_place *place)
{
	size_t steps = 1;

	place->node = place->parent->child;
	for (; place->node != NULL; place->node = place->node->next, steps++)
		if (strcmp(place->node->string, place->token) == 0)
			break;
	return add_steps(run, steps);
}

static enum pl_code step_into(struct json_patch_run *run, struct json_place *place,
                              char *token, const char *pointer)
{
	struct cJSON *parent = place->node;

	if (parent == NULL || (!cJSON_IsObject(parent) && !cJSON_IsArray(parent)))
		return op_fail(run, PL_CONFLICT,
		               "%s operation does not apply: doc is missing path: "
		               "\"%.80s\": missing value",
		               run->name, pointer);
	if (!unescape(token))
		return op_fail(run, PL_INVALID, "'~' in '%.60s' is not ~0 or ~1",
		               pointer);
	place->parent = parent;
	place->token = token;
	place->depth++;
	return cJSON_IsArray(parent) ? find_element(run, place) : find_member(run, place);
}

static enum pl_code find_place(struct json_patch_run *run, const char *pointer,
                               struct json_place *place)
{
	char *copy = pl_arena_printf(run->tree->arena, "%s", pointer), *next;
	enum pl_code code = PL_OK;

	*place = (struct json_place){.node = run->tree->root};
	if (copy == NULL)
		return no_memory(run);
	if (*pointer == 0)
		return PL_OK;
	if (*pointer != '/')
		return op_fail(run, PL_INVALID, "pointer '%.60s' does not begin with '/'",
		               pointer);
	for (char *token = copy + 1; token != NULL && code == PL_OK; token = next) {
		next = strchr(token, '/');
		if (next != NULL)
			*next++ = 0;
		code = step_into(run, place, token, pointer);
	}
	return code;
}

/* -- operations ------------------------------------------------------------------------ */

static enum pl_code op_string(struct json_patch_run *run, const char *name,
                              const char **out)
{
	struct pl_json value = pl_json_member(run->op, name);

	if (pl_json_type(value) != PL_JSON_STRING)
		return op_fail(run, PL_CONFLICT,
		               "%s operation failed to decode %s: missing value",
		               run->name, name);
	return pl_json_as_string(value, out, run->err);
}

static enum pl_code place_of(struct json_patch_run *run, const char *name,
                             struct json_place *place)
{
	const char *pointer = "";
	enum pl_code code = op_string(run, name, &pointer);

	return code == PL_OK ? find_place(run, pointer, place) : code;
}

static enum pl_code op_value(struct json_patch_run *run, struct pl_json *out)
{
	*out = pl_json_member(run->op, "value");
	if (out->node == NULL)
		return op_fail(run, PL_CONFLICT,
		               "%s operation has no value: missing value", run->name);
	return PL_OK;
}

static enum pl_code check_depth(struct json_patch_run *run,
                                const struct json_place *place, struct json_size size)
{
	if (place->depth + size.depth > JSON_PATCH_DEPTH_MAX)
		return op_fail(run, PL_CONFLICT, "values would be nested deeper than %d",
		               JSON_PATCH_DEPTH_MAX);
	return add_steps(run, size.values);
}

static enum pl_code missing(struct json_patch_run *run)
{
	return op_fail(run, PL_CONFLICT,
	               "%s operation does not apply: nothing is there: missing value",
	               run->name);
}

/* Puts a node that is in no tree at a place: before an element, or as a member. */
static enum pl_code put_node(struct json_patch_run *run, const struct json_place *place,
                             struct cJSON *node)
{
	bool done = true;

	if (node == NULL)
		return no_memory(run);
	if (place->parent == NULL) {
		node->string = NULL;
		json_tree_set_root(run->tree, node);
	} else if (cJSON_IsArray(place->parent)) {
		done = json_insert(place->parent, place->index, node);
	} else if (place->node != NULL) {
		json_replace(place->parent, place->node, node);
	} else {
		done = json_add(run->tree->arena, place->parent, place->token, node);
	}
	return done ? PL_OK : no_memory(run);
}

static enum pl_code apply_add(struct json_patch_run *run)
{
	struct json_place place;
	struct pl_json value;
	enum pl_code code = op_value(run, &value);

	if (code == PL_OK)
		code = place_of(run, "path", &place);
	if (code == PL_OK)
		code = check_depth(run, &place, json_measure(value));
	return code == PL_OK
	               ? put_node(run, &place, json_new_copy(run->tree->arena, value))
	               : code;
}

static enum pl_code apply_remove(struct json_patch_run *run)
{
	struct json_place place;
	enum pl_code code = place_of(run, "path", &place);

	if (code != PL_OK)
		return code;
	if (place.node == NULL)
		return missing(run);
	if (place.parent == NULL)
		return op_fail(run, PL_CONFLICT, "the whole document cannot be removed");
	json_detach(place.parent, place.node);
	return PL_OK;
}

static enum pl_code apply_replace(struct json_patch_run *run)
{
	struct json_place place;
	struct pl_json value;
	struct cJSON *node;
	enum pl_code code = op_value(run, &value);

	if (code == PL_OK)
		code = place_of(run, "path", &place);
	if (code == PL_OK)
		code = check_depth(run, &place, json_measure(value));
	if (code != PL_OK)
		return code;
	if (place.node == NULL && cJSON_IsArray(place.parent))
		return missing(run);
	node = json_new_copy(run->tree->arena, value);
	if (node != NULL && place.parent != NULL && place.node != NULL) {
		json_replace(place.parent, place.node, node);
		return PL_OK;
	}
	return put_node(run, &place, node);
}

static enum pl_code apply_move(struct json_patch_run *run)
{
	struct json_place from, to;
	enum pl_code code = place_of(run, "from", &from);

	if (code != PL_OK)
		return code;
	if (from.node == NULL)
		return missing(run);
	if (from.parent == NULL)
		return op_fail(run, PL_CONFLICT, "the whole document cannot be moved");
	/* The node is gone when the destination is looked up, so a value cannot be moved
	 * into itself. */
	json_detach(from.parent, from.node);
	code = place_of(run, "path", &to);
	if (code == PL_OK)
		code = check_depth(run, &to,
		                   json_measure(json_tree_value(run->tree, from.node)));
	return code == PL_OK ? put_node(run, &to, from.node) : code;
}

static enum pl_code apply_copy(struct json_patch_run *run)
{
	struct json_place from, to;
	struct json_size size;
	struct pl_json value;
	enum pl_code code = place_of(run, "from", &from);

	if (code == PL_OK && from.node == NULL)
		code = missing(run);
	if (code == PL_OK)
		code = place_of(run, "path", &to);
	if (code != PL_OK)
		return code;
	value = json_tree_value(run->tree, from.node);
	size = json_measure(value);
	run->copied += size.bytes;
	if (run->copied > JSON_PATCH_COPIED_MAX)
		return op_fail(run, PL_CONFLICT,
		               "copies would take more than %d bytes together",
		               JSON_PATCH_COPIED_MAX);
	code = check_depth(run, &to, size);
	return code == PL_OK ? put_node(run, &to, json_new_copy(run->tree->arena, value))
	                     : code;
}

static enum pl_code apply_test(struct json_patch_run *run)
{
	struct json_place place;
	struct pl_json value;
	bool same;
	enum pl_code code = op_value(run, &value);

	if (code == PL_OK)
		code = place_of(run, "path", &place);
	if (code == PL_OK)
		code = add_steps(run, json_measure(value).values);
	if (code != PL_OK)
		return code;
	if (place.node == NULL && place.parent != NULL && cJSON_IsArray(place.parent))
		return missing(run);
	same = place.node == NULL
	               ? pl_json_type(value) == PL_JSON_NULL
	               : json_equal(json_tree_value(run->tree, place.node), value);
	if (same)
		return PL_OK;
	return op_fail(run, PL_CONFLICT, "testing value failed: test failed");
}

/* -- the patch ------------------------------------------------------------------------- */

static const struct json_patch_kind {
	const char *name;
	enum pl_code (*apply)(struct json_patch_run *run);
} kinds[] = {
	{"add", apply_add},   {"remove", apply_remove}, {"replace", apply_replace},
	{"move", apply_move}, {"copy", apply_copy},     {"test", apply_test},
};

static enum pl_code apply_op(struct json_patch_run *run)
{
	const char *name = "";
	enum pl_code code;

	if (pl_json_type(run->op) != PL_JSON_OBJECT)
		return op_fail(run, PL_INVALID, "want an object, got %s",
		               pl_json_type_name(pl_json_type(run->op)));
	run->name = "patch";
	code = op_string(run, "op", &name);
	if (code != PL_OK)
		return code;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		run->name = kinds[i].name;
		if (strcmp(name, run->name) == 0)
			return kinds[i].apply(run);
	}
	return op_fail(run, PL_CONFLICT, "unknown operation '%.40s'", name);
}

enum pl_code json_patch_apply(struct json_tree *tree, struct pl_json patch,
                              struct pl_err *err)
{
	struct json_patch_run run = {.tree = tree, .patch = patch, .err = err};
	size_t count = pl_json_count(patch);
	enum pl_code code = PL_OK;

	if (pl_json_type(patch) != PL_JSON_ARRAY)
		return pl_json_fail(patch, PL_INVALID, err,
		                    "a JSON patch is an array of operations, got %s",
		                    pl_json_type_name(pl_json_type(patch)));
	if (count > JSON_PATCH_OPS_MAX)
		return pl_err_set(err, PL_LIMIT,
		                  "The allowed maximum operations in a JSON patch is %d, "
		                  "got %zu",
		                  JSON_PATCH_OPS_MAX, count);
	run.op = pl_json_first(patch);
	for (; run.op.node != NULL && code == PL_OK; run.op = pl_json_next(run.op))
		code = apply_op(&run);
	return code;
}
