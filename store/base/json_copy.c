#include <cjson/cJSON.h>

#include "store/base/json_out.h"

static void copy_number(struct pl_json_out *out, struct pl_json value)
{
	struct pl_json_range any = {INT64_MIN, INT64_MAX};
	double number = 0;
	int64_t whole = 0;

	if (pl_json_as_int(value, any, &whole, NULL) == PL_OK)
		pl_json_out_int(out, whole);
	else if (pl_json_as_double(value, &number, NULL) == PL_OK)
		pl_json_out_double(out, number);
}

static bool is_container(enum pl_json_type type)
{
	return type == PL_JSON_OBJECT || type == PL_JSON_ARRAY;
}

/* Writes a scalar, or the opening of an object or array. */
static void begin_copy(struct pl_json_out *out, struct pl_json value,
                       enum pl_json_type type)
{
	switch (type) {
	case PL_JSON_OBJECT:
		pl_json_out_object(out);
		return;
	case PL_JSON_ARRAY:
		pl_json_out_array(out);
		return;
	case PL_JSON_STRING:
		pl_json_out_str(out, value.node->valuestring);
		return;
	case PL_JSON_BOOL:
		pl_json_out_bool(out, cJSON_IsTrue(value.node));
		return;
	case PL_JSON_NUMBER:
		copy_number(out, value);
		return;
	case PL_JSON_ABSENT:
	case PL_JSON_NULL:
		pl_json_out_null(out);
		return;
	}
}

void pl_json_out_value(struct pl_json_out *out, struct pl_json value)
{
	struct pl_json up[PL_JSON_OUT_DEPTH_MAX];
	uint32_t start = out->depth;
	struct pl_json at = value;
	enum pl_json_type type = pl_json_type(at);
	bool named = type == PL_JSON_OBJECT; /* members of the container have names */

	begin_copy(out, at, type);
	if (!is_container(type))
		return;
	up[out->depth - 1] = at;
	at = pl_json_first(at);
	for (;;) {
		while (at.node == NULL) {
			at = up[out->depth - 1];
			pl_json_out_end(out);
			if (out->depth == start)
				return;
			named = pl_json_type(up[out->depth - 1]) == PL_JSON_OBJECT;
			at = pl_json_next(at);
		}
		type = pl_json_type(at);
		if (is_container(type) && out->depth == PL_JSON_OUT_DEPTH_MAX) {
			out->code = out->code == PL_OK ? PL_LIMIT : out->code;
			at = pl_json_next(at);
			continue;
		}
		if (named)
			pl_json_out_name(out, pl_json_key(at));
		begin_copy(out, at, type);
		if (is_container(type)) {
			up[out->depth - 1] = at;
			named = type == PL_JSON_OBJECT;
			at = pl_json_first(at);
		} else {
			at = pl_json_next(at);
		}
	}
}
