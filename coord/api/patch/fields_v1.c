#include "coord/api/patch/fields_v1.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/json_out.h"

static const char kinds[] = {'f', 'k', 'v', 'i'};

/* -- texts of keys and values ---------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	const struct cJSON *const *x = a, *const *y = b;

	return strcmp((*x)->string, (*y)->string);
}

static bool is_scalar(const struct cJSON *node)
{
	return !cJSON_IsObject(node) && !cJSON_IsArray(node);
}

static bool write_object(struct field_maker *maker, struct pl_json_out *out,
                         const struct cJSON *object)
{
	size_t count = 0, at = 0;
	const struct cJSON **members;

	for (struct cJSON *node = object->child; node != NULL; node = node->next)
		count++;
	members = pl_arena_zalloc(maker->arena, count + 1, sizeof(const struct cJSON *));
	if (members == NULL)
		return false;
	for (struct cJSON *node = object->child; node != NULL; node = node->next)
		members[at++] = node;
	qsort(members, count, sizeof(const struct cJSON *), by_name);
	pl_json_out_object(out);
	for (size_t i = 0; i < count; i++) {
		pl_json_out_name(out, members[i]->string);
		pl_json_out_value(out, (struct pl_json){.node = members[i]});
	}
	pl_json_out_end(out);
	return true;
}

const char *fields_v1_text(struct field_maker *maker, const struct cJSON *value)
{
	struct pl_span text = {0};
	struct pl_json_out out;
	bool done = true;

	pl_buf_clear(&maker->text, 4096);
	pl_json_out_init(&out, &maker->text);
	if (cJSON_IsObject(value))
		done = write_object(maker, &out, value);
	else
		pl_json_out_value(&out, (struct pl_json){.node = value});
	if (done && pl_json_out_done(&out) == PL_OK)
		text = pl_arena_dup(maker->arena, pl_buf_span(&maker->text));
	if (text.at == NULL)
		maker->failed = true;
	return (const char *)text.at;
}

/* -- reading --------------------------------------------------------------------------- */

static enum pl_code no_memory(struct pl_err *err)
{
	return pl_err_set(err, PL_NOMEM, "managed fields: no memory");
}

/* A key or value comes from a client, who may have written it in any way. */
static enum pl_code read_json(struct field_maker *maker, struct pl_json item,
                              enum field_kind kind, const char **out, struct pl_err *err)
{
	static const struct pl_json_limits limits = {1 << 20, 4, 100};
	struct pl_json value = {0};
	struct pl_err why = {0};
	enum pl_code code;
	bool good;

	code = pl_json_parse(maker->arena, pl_span_str(pl_json_key(item) + 2), &limits,
	                     &value, &why);
	if (code == PL_NOMEM)
		return no_memory(err);
	if (code != PL_OK)
		return pl_json_fail(item, PL_INVALID, err, "%s", why.msg);
	good = (pl_json_type(value) == PL_JSON_OBJECT) == (kind == FIELD_KEY) &&
	       pl_json_type(value) != PL_JSON_ARRAY;
	PL_JSON_EACH (part, value)
		good = good && is_scalar(part.node);
	if (!good)
		return pl_json_fail(item, PL_INVALID, err,
		                    "want scalars as keys and values");
	*out = fields_v1_text(maker, value.node);
	return *out == NULL ? no_memory(err) : PL_OK;
}

static bool find_kind(const char *name, enum field_kind *out)
{
	for (size_t i = 0; i < sizeof kinds; i++)
		if (name[0] == kinds[i]) {
			*out = (enum field_kind)i;
			return true;
		}
	return false;
}

static enum pl_code read_element(struct field_maker *maker, struct pl_json item,
                                 enum field_kind kind, const char **out,
                                 struct pl_err *err)
{
	const char *text = pl_json_key(item) + 2;

	if (kind == FIELD_KEY || kind == FIELD_VALUE)
		return read_json(maker, item, kind, out, err);
	if (kind == FIELD_INDEX &&
	    (*text == 0 || text[strspn(text, "0123456789")] != 0 || strlen(text) > 9))
		return pl_json_fail(item, PL_INVALID, err, "want an index");
	*out = text;
	return PL_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the document */
static enum pl_code read_item(struct field_maker *maker, struct pl_json item,
                              struct field_level *level, struct pl_err *err)
{
	const char *name = pl_json_key(item), *text = NULL;
	struct owned_fields children = {0};
	enum field_kind kind;
	enum pl_code code;
	bool member;

	if (name[0] == 0 || name[1] != ':')
		return pl_json_fail(item, PL_INVALID, err,
		                    "want f:, k:, v: or i: before the element");
	if (!find_kind(name, &kind))
		return PL_OK;
	code = read_element(maker, item, kind, &text, err);
	if (code == PL_OK)
		code = fields_v1_read(maker, item, &children, err);
	if (code != PL_OK)
		return code;
	member = field_set_empty(children) || pl_json_member(item, ".").node != NULL;
	field_level_add(maker, level, kind, text, member, children);
	return PL_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the document */
enum pl_code fields_v1_read(struct field_maker *maker, struct pl_json fields,
                            struct owned_fields *out, struct pl_err *err)
{
	struct field_level level = {0};
	struct owned_fields set;
	enum pl_code code = PL_OK;

	if (pl_json_type(fields) != PL_JSON_OBJECT)
		return pl_json_fail(fields, PL_INVALID, err, "want an object, got %s",
		                    pl_json_type_name(pl_json_type(fields)));
	PL_JSON_EACH (item, fields)
		if (code == PL_OK && strcmp(pl_json_key(item), ".") != 0)
			code = read_item(maker, item, &level, err);
	if (code != PL_OK)
		return code;
	set = field_level_end(maker, &level);
	if (maker->failed)
		return no_memory(err);
	*out = set;
	return PL_OK;
}

/* -- writing --------------------------------------------------------------------------- */

static bool write_set(struct field_maker *maker, struct cJSON *into,
                      struct owned_fields set);

/* "f:image", of the maker's arena. */
static char *element_name(struct field_maker *maker, const struct field_node *node)
{
	size_t len = strlen(node->text);
	char *name = pl_arena_alloc(maker->arena, len + 3);

	if (name == NULL)
		return NULL;
	name[0] = kinds[node->kind];
	name[1] = ':';
	memcpy(name + 2, node->text, len + 1);
	return name;
}

/* A member that has children says so with "." before them. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the set */
static bool write_node(struct field_maker *maker, struct cJSON *into,
                       const struct field_node *node)
{
	struct pl_arena *arena = maker->arena;
	struct cJSON *object = json_new_object(arena);
	char *name = element_name(maker, node);

	if (name == NULL || object == NULL)
		return false;
	if (node->member && node->child != NULL &&
	    !json_add(arena, object, ".", json_new_object(arena)))
		return false;
	object->string = name;
	return json_add(arena, into, name, object) &&
	       write_set(maker, object, (struct owned_fields){node->child});
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the set */
static bool write_set(struct field_maker *maker, struct cJSON *into,
                      struct owned_fields set)
{
	for (const struct field_node *node = set.first; node != NULL; node = node->next)
		if (!write_node(maker, into, node))
			return false;
	return true;
}

struct cJSON *fields_v1_write(struct field_maker *maker, struct owned_fields set)
{
	struct cJSON *object = json_new_object(maker->arena);

	if (object == NULL || !write_set(maker, object, set)) {
		maker->failed = true;
		return NULL;
	}
	return object;
}
