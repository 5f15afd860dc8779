#include "coord/service/input/label_query.h"

#include <string.h>

#include "shardsched/model/text.h"
#include "store/base/json.h"

/* -- read ----------------------------------------------------------------- */

struct label_cursor {
	struct pl_span text;
	size_t at;
	struct label_query *out;
	struct pl_err *err;
};

static enum pl_code refuse_at(struct label_cursor *c, size_t at, const char *what)
{
	return pl_err_set(c->err, PL_INVALID, "at '" PL_SPAN_FMT "': %s",
	                  PL_SPAN_ARG(pl_span(c->text.at + at, c->text.len - at)), what);
}

static void skip_spaces(struct label_cursor *c)
{
	while (c->at < c->text.len && c->text.at[c->at] == ' ')
		c->at++;
}

static bool skip_text(struct label_cursor *c, const char *what)
{
	size_t len = strlen(what);

	if (c->text.len - c->at < len || memcmp(c->text.at + c->at, what, len) != 0)
		return false;
	c->at += len;
	return true;
}

/* Up to what can stand in neither a key nor a value. */
static struct pl_span read_word(struct label_cursor *c)
{
	size_t from = c->at;

	while (c->at < c->text.len && c->text.at[c->at] != 0 &&
	       strchr(" ,=!()", c->text.at[c->at]) == NULL)
		c->at++;
	return pl_span(c->text.at + from, c->at - from);
}

/* Each bit stands for a message; the first one is reported. */
static enum pl_code check_label(struct label_cursor *c, size_t at, uint32_t faults)
{
	for (unsigned i = 0; i < TEXT_FAULT_COUNT; i++)
		if ((faults & 1U << i) != 0)
			return refuse_at(c, at, text_fault_sentence((enum text_fault)i));
	return PL_OK;
}

static enum pl_code read_value(struct label_cursor *c, struct label_requirement *want)
{
	size_t from = c->at;
	struct pl_span value = read_word(c);
	enum pl_code code = check_label(c, from, text_value(value));

	if (code != PL_OK)
		return code;
	if (c->out->values == LABEL_QUERY_VALUES_MAX)
		return pl_err_set(c->err, PL_LIMIT, "more than %d values",
		                  LABEL_QUERY_VALUES_MAX);
	c->out->value[c->out->values++] = value;
	want->count++;
	return PL_OK;
}

/* "(a, b)" */
static enum pl_code read_set(struct label_cursor *c, struct label_requirement *want)
{
	enum pl_code code;

	skip_spaces(c);
	if (!skip_text(c, "("))
		return refuse_at(c, c->at, "want values in brackets: (a,b)");
	do {
		skip_spaces(c);
		code = read_value(c, want);
		skip_spaces(c);
	} while (code == PL_OK && skip_text(c, ","));
	if (code == PL_OK && !skip_text(c, ")"))
		return refuse_at(c, c->at, "want , or ) behind a value");
	return code;
}

static enum pl_code read_one_value(struct label_cursor *c, struct label_requirement *want)
{
	skip_spaces(c);
	return read_value(c, want);
}

/* Behind the key. */
static enum pl_code read_op(struct label_cursor *c, struct label_requirement *want)
{
	size_t from;
	struct pl_span op;

	skip_spaces(c);
	from = c->at;
	want->op = LABEL_IN;
	if (skip_text(c, "==") || skip_text(c, "="))
		return read_one_value(c, want);
	want->op = LABEL_NOT_IN;
	if (skip_text(c, "!="))
		return read_one_value(c, want);
	want->op = LABEL_EXISTS;
	op = read_word(c);
	if (op.len == 0)
		return PL_OK;
	want->op = pl_span_eq(op, PL_SPAN_LIT("in")) ? LABEL_IN : LABEL_NOT_IN;
	if (want->op == LABEL_NOT_IN && !pl_span_eq(op, PL_SPAN_LIT("notin")))
		return refuse_at(c, from, "want =, ==, !=, in or notin");
	return read_set(c, want);
}

static enum pl_code read_requirement(struct label_cursor *c)
{
	struct label_query *out = c->out;
	struct label_requirement want = {.first = out->values};
	enum pl_code code;
	bool absent;
	size_t from;

	if (out->requirements == LABEL_QUERY_REQUIREMENTS_MAX)
		return pl_err_set(c->err, PL_LIMIT, "more than %d requirements",
		                  LABEL_QUERY_REQUIREMENTS_MAX);
	skip_spaces(c);
	absent = skip_text(c, "!");
	skip_spaces(c);
	from = c->at;
	want.key = read_word(c);
	code = check_label(c, from, text_key(want.key));
	if (absent)
		want.op = LABEL_NOT_EXISTS;
	else if (code == PL_OK)
		code = read_op(c, &want);
	if (code == PL_OK)
		out->want[out->requirements++] = want;
	skip_spaces(c);
	return code;
}

enum pl_code label_query_parse(struct pl_span text, struct label_query *out,
                               struct pl_err *err)
{
	struct label_cursor c = {.text = text, .out = out, .err = err};
	enum pl_code code;

	do
		code = read_requirement(&c);
	while (code == PL_OK && skip_text(&c, ","));
	if (code == PL_OK && c.at < text.len)
		return refuse_at(&c, c.at, "want , between requirements");
	return code;
}

/* -- asked ---------------------------------------------------------------- */

static bool is_among(const struct label_query *query,
                     const struct label_requirement *want, struct pl_span value)
{
	for (unsigned i = 0; i < want->count; i++)
		if (pl_span_eq(query->value[want->first + i], value))
			return true;
	return false;
}

static bool requirement_matches(const struct label_query *query,
                                const struct label_requirement *want,
                                struct pl_json labels)
{
	const char *value = NULL;

	PL_JSON_EACH (label, labels) {
		if (pl_span_eq(pl_span_str(pl_json_key(label)), want->key) &&
		    pl_json_as_string(label, &value, NULL) == PL_OK)
			break;
	}
	switch (want->op) {
	case LABEL_IN:
		return value != NULL && is_among(query, want, pl_span_str(value));
	case LABEL_NOT_IN:
		return value == NULL || !is_among(query, want, pl_span_str(value));
	case LABEL_EXISTS:
		return value != NULL;
	case LABEL_NOT_EXISTS:
		return value == NULL;
	}
	PL_UNREACHABLE("what a label is to be");
}

/* Most objects need not be read: a key that must be there is not in their text. */
static bool may_match(const struct label_query *query, struct pl_span object)
{
	for (unsigned i = 0; i < query->requirements; i++) {
		const struct label_requirement *want = &query->want[i];

		if ((want->op == LABEL_IN || want->op == LABEL_EXISTS) &&
		    (object.len == 0 || (memmem(object.at, object.len, want->key.at,
		                                want->key.len) == NULL &&
		                         memchr(object.at, '\\', object.len) == NULL)))
			return false;
	}
	return true;
}

bool label_query_matches(const struct label_query *query, struct pl_span object)
{
	struct pl_json root = {0}, labels = {0};
	struct pl_arena arena;
	bool holds = true;

	if (query->requirements == 0)
		return true;
	if (!may_match(query, object))
		return false;
	pl_arena_init(&arena, 0, 0);
	if (pl_json_parse(&arena, object, NULL, &root, NULL) == PL_OK)
		labels = pl_json_member(pl_json_member(root, "metadata"), "labels");
	for (unsigned i = 0; i < query->requirements && holds; i++)
		holds = requirement_matches(query, &query->want[i], labels);
	pl_arena_done(&arena);
	return holds;
}

static enum pl_code print_requirement(const struct label_query *query,
                                      const struct label_requirement *want,
                                      struct pl_buf *out)
{
	enum pl_code code = pl_buf_printf(out, "%s" PL_SPAN_FMT,
	                                  want->op == LABEL_NOT_EXISTS ? "!" : "",
	                                  PL_SPAN_ARG(want->key));

	if (code != PL_OK || want->op == LABEL_EXISTS || want->op == LABEL_NOT_EXISTS)
		return code;
	code = pl_buf_add_str(out, want->op == LABEL_IN ? " in (" : " notin (");
	for (unsigned i = 0; i < want->count && code == PL_OK; i++)
		code = pl_buf_printf(out, "%s" PL_SPAN_FMT, i == 0 ? "" : ",",
		                     PL_SPAN_ARG(query->value[want->first + i]));
	return code == PL_OK ? pl_buf_add_str(out, ")") : code;
}

enum pl_code label_query_print(const struct label_query *query, struct pl_buf *out)
{
	enum pl_code code = PL_OK;

	for (unsigned i = 0; i < query->requirements && code == PL_OK; i++) {
		if (i > 0)
			code = pl_buf_add_str(out, ",");
		if (code == PL_OK)
			code = print_requirement(query, &query->want[i], out);
	}
	return code;
}
