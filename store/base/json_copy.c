#include "store/base/json_out.h"

static void copy_scalar(struct pl_json_out *out, struct pl_json value)
{
	struct pl_json_range any = {INT64_MIN, INT64_MAX};
	const char *text = NULL;
	double number = 0;
	int64_t whole = 0;
	bool truth = false;

	if (pl_json_as_string(value, &text, NULL) == PL_OK)
		pl_json_out_str(out, text);
	else if (pl_json_as_bool(value, &truth, NULL) == PL_OK)
		pl_json_out_bool(out, truth);
	else if (pl_json_as_int(value, any, &whole, NULL) == PL_OK)
		pl_json_out_int(out, whole);
	else if (pl_json_as_double(value, &number, NULL) == PL_OK)
		pl_json_out_double(out, number);
	else
		pl_json_out_null(out);
}

static bool is_container(struct pl_json value)
{
	enum pl_json_type type = pl_json_type(value);

	return type == PL_JSON_OBJECT || type == PL_JSON_ARRAY;
}

/* Writes a scalar, or the opening of an object or array. */
static void begin_copy(struct pl_json_out *out, struct pl_json value, bool named)
{
	if (named)
		pl_json_out_name(out, pl_json_key(value));
	if (pl_json_type(value) == PL_JSON_OBJECT)
		pl_json_out_object(out);
	else if (is_container(value))
		pl_json_out_array(out);
	else
		copy_scalar(out, value);
}

void pl_json_out_value(struct pl_json_out *out, struct pl_json value)
{
	struct pl_json up[PL_JSON_OUT_DEPTH_MAX];
	uint32_t start = out->depth;
	struct pl_json at = value;

	begin_copy(out, at, false);
	if (!is_container(at))
		return;
	up[out->depth - 1] = at;
	at = pl_json_first(at);
	for (;;) {
		while (at.node == NULL) {
			at = up[out->depth - 1];
			pl_json_out_end(out);
			if (out->depth == start)
				return;
			at = pl_json_next(at);
		}
		if (is_container(at) && out->depth == PL_JSON_OUT_DEPTH_MAX) {
			out->code = out->code == PL_OK ? PL_LIMIT : out->code;
			at = pl_json_next(at);
			continue;
		}
		begin_copy(out, at, pl_json_type(up[out->depth - 1]) == PL_JSON_OBJECT);
		if (is_container(at))
			up[out->depth - 1] = at;
		at = is_container(at) ? pl_json_first(at) : pl_json_next(at);
	}
}
