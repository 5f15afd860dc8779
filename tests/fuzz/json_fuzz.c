/* Accepted JSON, written out again, is accepted again and the same; its tree is the one that
 * cJSON makes. */
#include <cjson/cJSON.h>

#include "store/base/json.h"
#include "store/base/json_out.h"
#include "tests/fuzz/fuzz.h"

static const struct pl_json_limits limits = {
	.bytes = 1 << 16, .depth = 40, .values = 5000};

static void write_scalar(struct pl_json_out *out, struct pl_json value)
{
	struct pl_json_range any = {INT64_MIN, INT64_MAX};
	const char *text = NULL;
	double number = 0;
	int64_t whole = 0;
	bool truth = false;

	if (pl_json_as_string(value, &text, NULL) == PL_OK) {
		pl_json_out_str(out, text);
		if (pl_json_as_int(value, any, &whole, NULL) == PL_OK)
			PL_ASSERT(*text == '-' || (*text >= '0' && *text <= '9'));
	} else if (pl_json_as_double(value, &number, NULL) == PL_OK) {
		pl_json_out_double(out, number);
		if (pl_json_as_int(value, any, &whole, NULL) == PL_OK)
			PL_ASSERT((double)whole == number);
	} else if (pl_json_as_bool(value, &truth, NULL) == PL_OK) {
		pl_json_out_bool(out, truth);
	} else {
		PL_ASSERT(pl_json_type(value) == PL_JSON_NULL);
		pl_json_out_null(out);
	}
}

/* The value, or the opening of it. */
static void write_value(struct pl_json_out *out, struct pl_json value, bool in_object)
{
	if (in_object)
		pl_json_out_name(out, pl_json_key(value));
	if (pl_json_type(value) == PL_JSON_OBJECT)
		pl_json_out_object(out);
	else if (pl_json_type(value) == PL_JSON_ARRAY)
		pl_json_out_array(out);
	else
		write_scalar(out, value);
}

static void write_tree(struct pl_json_out *out, struct pl_json root)
{
	struct pl_json up[64] = {0}, at = root;
	size_t depth = 0;

	write_value(out, at, false);
	for (;;) {
		struct pl_json next = pl_json_first(at);
		bool container = pl_json_type(at) == PL_JSON_OBJECT ||
		                 pl_json_type(at) == PL_JSON_ARRAY;

		if (container)
			up[depth++] = at;
		else if (depth > 0)
			next = pl_json_next(at);
		while (next.node == NULL && depth > 0) {
			pl_json_out_end(out);
			depth--;
			if (depth > 0)
				next = pl_json_next(up[depth]);
		}
		if (next.node == NULL)
			return;
		at = next;
		write_value(out, at, pl_json_type(up[depth - 1]) == PL_JSON_OBJECT);
	}
}

static bool same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the limits */
static void expect_same(const struct cJSON *one, const struct cJSON *two)
{
	for (; one != NULL && two != NULL; one = one->next, two = two->next) {
		PL_ASSERT(one->type == two->type);
		PL_ASSERT(same_text(one->string, two->string));
		PL_ASSERT(same_text(one->valuestring, two->valuestring));
		PL_ASSERT(one->valueint == two->valueint);
		PL_ASSERT(one->valuedouble == two->valuedouble);
		PL_ASSERT(one->next == NULL || one->next->prev == one);
		PL_ASSERT(one->child == NULL || one->child->prev->next == NULL);
		expect_same(one->child, two->child);
	}
	PL_ASSERT(one == NULL && two == NULL);
}

static void compare_with_cjson(const uint8_t *data, size_t size, struct pl_json root)
{
	struct cJSON *tree = cJSON_ParseWithLength((const char *)data, size);

	PL_ASSERT(tree != NULL);
	expect_same(root.node, tree);
	cJSON_Delete(tree);
}

static void check_errors(struct pl_json root)
{
	struct pl_err err = {0};
	const char *const known[] = {"a", "spec", NULL};
	const char *text = NULL;
	char path[PL_JSON_PATH_SIZE];

	PL_JSON_EACH (item, root) {
		pl_json_path(item, path);
		PL_ASSERT(strlen(path) < sizeof path);
		if (pl_json_string(item, "name", PL_JSON_REQUIRED, &text, &err) != PL_OK)
			PL_ASSERT(err.code == PL_INVALID && strlen(err.msg) > 0);
	}
	if (pl_json_only(root, known, &err) != PL_OK)
		PL_ASSERT(err.code == PL_INVALID);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pl_arena arena;
	struct pl_json root = {0}, again = {0};
	struct pl_err err = {0};
	struct pl_json_out out;
	struct pl_buf one, two;
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&one, 1 << 22);
	pl_buf_init(&two, 1 << 22);
	code = pl_json_parse(&arena, pl_span(data, size), &limits, &root, &err);
	PL_ASSERT(code == PL_OK || err.code == code);
	PL_ASSERT(code != PL_NOMEM);
	if (code == PL_OK) {
		check_errors(root);
		compare_with_cjson(data, size, root);
		pl_json_out_init(&out, &one);
		write_tree(&out, root);
		PL_ASSERT(pl_json_out_done(&out) == PL_OK);
		code = pl_json_parse(&arena, pl_buf_span(&one), NULL, &again, &err);
		PL_ASSERT(code == PL_OK);
		pl_json_out_init(&out, &two);
		write_tree(&out, again);
		PL_ASSERT(pl_json_out_done(&out) == PL_OK);
		PL_ASSERT(pl_span_eq(pl_buf_span(&one), pl_buf_span(&two)));
	}
	pl_buf_done(&two);
	pl_buf_done(&one);
	pl_arena_done(&arena);
	return 0;
}
