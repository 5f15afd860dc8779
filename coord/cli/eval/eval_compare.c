#include "coord/cli/eval/eval_compare.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/json_out.h"

static const struct pl_json_limits limits = {
	.bytes = EVAL_OUT_MAX, .depth = 96, .values = 4 << 20};

/* The members by which a part is split into pieces, first and second. */
enum by { BY_NOTHING, BY_PLUGIN, BY_NODE, BY_MEMBER };

struct eval_part {
	const char *name;
	enum by first, second;
};

static const struct eval_part parts[] = {
	{"preEnqueue", BY_NOTHING, BY_NOTHING},  {"preFilter", BY_MEMBER, BY_NOTHING},
	{"filter", BY_NODE, BY_NOTHING},         {"allFilter", BY_PLUGIN, BY_NODE},
	{"scores", BY_PLUGIN, BY_NODE},          {"weights", BY_PLUGIN, BY_NOTHING},
	{"total", BY_NODE, BY_NOTHING},          {"best", BY_NOTHING, BY_NOTHING},
	{"postFilter", BY_MEMBER, BY_NODE},      {"valid", BY_NOTHING, BY_NOTHING},
	{"errors", BY_NOTHING, BY_NOTHING},      {"error", BY_NOTHING, BY_NOTHING},
	{"decodeError", BY_NOTHING, BY_NOTHING},
};

enum { PART_COUNT = sizeof parts / sizeof *parts };

struct eval_comparison {
	struct pl_arena *arena;
	eval_difference_fn *fn;
	void *ctx;
	size_t count;
	struct eval_difference at; /* the piece that is looked at */
	enum pl_code code;
};

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The text that identifies an element of a list; NULL: the element is no text. */
static const char *text_of(struct eval_comparison *c, struct pl_json value)
{
	const char *type = NULL, *field = NULL, *text = NULL;

	if (pl_json_type(value) == PL_JSON_STRING) {
		(void)!pl_json_as_string(value, &text, NULL);
		return text;
	}
	if (pl_json_type(value) != PL_JSON_OBJECT ||
	    pl_json_string(value, "type", PL_JSON_REQUIRED, &type, NULL) != PL_OK ||
	    pl_json_string(value, "field", PL_JSON_REQUIRED, &field, NULL) != PL_OK)
		return NULL;
	text = pl_arena_printf(c->arena, "%s %s", type, field);
	if (text == NULL)
		c->code = PL_NOMEM;
	return text;
}

static const char **texts_of(struct eval_comparison *c, struct pl_json list, size_t count)
{
	const char **text = pl_arena_zalloc(c->arena, count + 1, sizeof *text);
	size_t at = 0;

	if (text == NULL) {
		c->code = PL_NOMEM;
		return NULL;
	}
	PL_JSON_EACH (item, list) {
		text[at] = text_of(c, item);
		if (text[at++] == NULL)
			return NULL;
	}
	return text;
}

static bool equal_lists(struct eval_comparison *c, struct pl_json a, struct pl_json b)
{
	size_t count = pl_json_count(a);
	bool ordered = strcmp(pl_json_key(b), "victims") == 0;
	const char **x, **y;

	if (pl_json_count(b) != count)
		return false;
	x = texts_of(c, a, count);
	y = texts_of(c, b, count);
	if (x == NULL || y == NULL)
		return false;
	if (!ordered) {
		qsort(x, count, sizeof *x, compare_texts);
		qsort(y, count, sizeof *y, compare_texts);
	}
	for (size_t i = 0; i < count; i++)
		if (strcmp(x[i], y[i]) != 0)
			return false;
	return true;
}

/* Values of other kinds are equal when they are written alike. */
static bool equal_texts(struct eval_comparison *c, struct pl_json a, struct pl_json b)
{
	struct pl_buf buf[2];
	enum pl_code code = PL_OK;
	bool same;

	for (unsigned i = 0; i < 2; i++) {
		struct pl_json_out out;

		pl_buf_init(&buf[i], EVAL_OUT_MAX);
		pl_json_out_init(&out, &buf[i]);
		pl_json_out_value(&out, i == 0 ? a : b);
		code = code == PL_OK ? pl_json_out_done(&out) : code;
	}
	same = code == PL_OK && pl_span_eq(pl_buf_span(&buf[0]), pl_buf_span(&buf[1]));
	c->code = code == PL_NOMEM ? code : c->code;
	pl_buf_done(&buf[0]);
	pl_buf_done(&buf[1]);
	return same;
}

static bool equal_scalars(struct eval_comparison *c, struct pl_json a, struct pl_json b)
{
	double x = 0, y = 0;

	if (pl_json_type(a) != PL_JSON_NUMBER)
		return equal_texts(c, a, b);
	return pl_json_as_double(a, &x, NULL) == PL_OK &&
	       pl_json_as_double(b, &y, NULL) == PL_OK && !(x < y) && !(x > y);
}

/* Compares a list, or a value without members. */
static bool equal_leaves(struct eval_comparison *c, struct pl_json a, struct pl_json b)
{
	if (pl_json_type(a) != pl_json_type(b))
		return false;
	return a.node == NULL                     ? true
	       : pl_json_type(a) == PL_JSON_ARRAY ? equal_lists(c, a, b)
	                                          : equal_scalars(c, a, b);
}

static bool equal_values(struct eval_comparison *c, struct pl_json a, struct pl_json b)
{
	if (pl_json_type(a) != PL_JSON_OBJECT || pl_json_type(b) != PL_JSON_OBJECT)
		return equal_leaves(c, a, b);
	if (pl_json_count(a) != pl_json_count(b))
		return false;
	PL_JSON_EACH (member, a)
		if (!equal_leaves(c, member, pl_json_member(b, pl_json_key(member))))
			return false;
	return true;
}

static void compare_piece(struct eval_comparison *c, struct pl_json ours,
                          struct pl_json expected)
{
	/* Messages about values that can not be read differ in wording, so they are
	 * not compared. */
	bool only_there = strcmp(c->at.part, "decodeError") == 0;
	bool same = only_there ? pl_json_type(ours) == pl_json_type(expected)
	                       : equal_values(c, ours, expected);

	if (same)
		return;
	c->at.ours = ours;
	c->at.expected = expected;
	c->count++;
	c->fn(c->ctx, &c->at);
}

static void name_piece(struct eval_comparison *c, enum by by, const char *name)
{
	switch (by) {
	case BY_NOTHING:
		break;
	case BY_PLUGIN:
		c->at.plugin = name;
		break;
	case BY_NODE:
		c->at.node = name;
		break;
	case BY_MEMBER:
		c->at.member = name;
		break;
	}
}

/* Calls fn for each member of either of them. */
typedef void member_fn(struct eval_comparison *c, const struct eval_part *part,
                       struct pl_json ours, struct pl_json expected);

static void each_member(struct eval_comparison *c, const struct eval_part *part,
                        enum by by, const struct pl_json both[2], member_fn *fn)
{
	PL_JSON_EACH (member, both[1]) {
		name_piece(c, by, pl_json_key(member));
		fn(c, part, pl_json_member(both[0], pl_json_key(member)), member);
	}
	PL_JSON_EACH (member, both[0]) {
		struct pl_json other = pl_json_member(both[1], pl_json_key(member));

		name_piece(c, by, pl_json_key(member));
		if (other.node == NULL)
			fn(c, part, member, other);
	}
	name_piece(c, by, "");
}

static bool is_object(enum by by, struct pl_json ours, struct pl_json expected)
{
	return by != BY_NOTHING && pl_json_type(ours) == PL_JSON_OBJECT &&
	       pl_json_type(expected) == PL_JSON_OBJECT;
}

static void compare_last(struct eval_comparison *c, const struct eval_part *part,
                         struct pl_json ours, struct pl_json expected)
{
	(void)part;
	compare_piece(c, ours, expected);
}

static void compare_second(struct eval_comparison *c, const struct eval_part *part,
                           struct pl_json ours, struct pl_json expected)
{
	const struct pl_json both[2] = {ours, expected};

	if (is_object(part->second, ours, expected))
		each_member(c, part, part->second, both, compare_last);
	else
		compare_piece(c, ours, expected);
}

static void compare_part(struct eval_comparison *c, const struct eval_part *part,
                         struct pl_json ours, struct pl_json expected)
{
	const struct pl_json both[2] = {ours, expected};

	c->at = (struct eval_difference){part->name, "", "", "", {0}, {0}};
	if (is_object(part->first, ours, expected))
		each_member(c, part, part->first, both, compare_second);
	else
		compare_piece(c, ours, expected);
}

/* The plugin of a verdict that names one. */
static void note_plugin(struct eval_difference *difference)
{
	struct pl_json expected = difference->expected, ours = difference->ours;
	const char *plugin = "";

	if (difference->plugin[0] != 0)
		return;
	if (pl_json_type(expected) == PL_JSON_OBJECT)
		(void)!pl_json_string(expected, "plugin", PL_JSON_OPTIONAL, &plugin,
		                      NULL);
	if (plugin[0] == 0 && pl_json_type(ours) == PL_JSON_OBJECT)
		(void)!pl_json_string(ours, "plugin", PL_JSON_OPTIONAL, &plugin, NULL);
	difference->plugin = plugin;
}

struct difference_sink {
	eval_difference_fn *fn;
	void *ctx;
};

static void report_difference(void *ctx, const struct eval_difference *difference)
{
	const struct difference_sink *teller = ctx;
	struct eval_difference it = *difference;

	note_plugin(&it);
	teller->fn(teller->ctx, &it);
}

/* Members that belong to no part are compared, too, so that nothing is passed over. */
static void compare_others(struct eval_comparison *c, struct pl_json ours,
                           struct pl_json expected)
{
	const char *known[PART_COUNT + 1] = {NULL};
	struct pl_json other = {0};

	for (unsigned i = 0; i < PART_COUNT; i++)
		known[i] = parts[i].name;
	while ((other = pl_json_unknown(expected, known, other)).node != NULL) {
		c->at = (struct eval_difference){
			pl_json_key(other), "", "", "", {0}, {0}};
		compare_piece(c, pl_json_member(ours, pl_json_key(other)), other);
	}
}

enum pl_code eval_compare(struct pl_arena *arena, const struct eval_case *it,
                          struct pl_span ours, eval_difference_fn *fn, void *ctx,
                          size_t *count, struct pl_err *err)
{
	struct difference_sink teller = {.fn = fn, .ctx = ctx};
	struct eval_comparison c = {
		.arena = arena, .fn = report_difference, .ctx = &teller};
	struct pl_json root = {0};
	enum pl_code code = pl_json_parse(arena, ours, &limits, &root, err);

	if (code != PL_OK)
		return code;
	if (pl_json_type(it->expect) != PL_JSON_OBJECT)
		return pl_err_set(err, PL_INVALID, "expect: missing");
	for (unsigned i = 0; i < PART_COUNT; i++)
		compare_part(&c, &parts[i], pl_json_member(root, parts[i].name),
		             pl_json_member(it->expect, parts[i].name));
	compare_others(&c, root, it->expect);
	if (c.code != PL_OK)
		return pl_err_set(err, c.code, "compare verdicts");
	*count = c.count;
	return PL_OK;
}
