/*
 * A walk over text that was scanned as JSON before, so syntax is not checked again: a
 * value ends where its brackets do. The walk goes only as deep as changes lead.
 */
#include "shardsched/model/object.h"

#include <stdint.h>

#include "store/base/json_plain.h"

struct object_printer {
	const struct object_change *changes;
	struct pl_buf *out;
	struct pl_err *err;
	enum pl_code code;
	struct pl_span text; /* the text that is still to be read */
};

static void put_text(struct object_printer *p, struct pl_span text)
{
	if (p->code != PL_OK)
		return;
	p->code = pl_buf_add(p->out, text);
	if (p->code != PL_OK)
		(void)pl_err_set(p->err, p->code, "print an object");
}

static void skip_bytes(struct pl_span *text, size_t count)
{
	PL_ASSERT(count <= text->len);
	*text = pl_span(text->at + count, text->len - count);
}

static bool is_space(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static void skip_space(struct pl_span *text)
{
	while (text->len > 0 && is_space(text->at[0]))
		skip_bytes(text, 1);
}

/* The length of the string that text begins with, quotes included. */
static size_t string_len(struct pl_span text)
{
	size_t at = 1;

	while (at < text.len && text.at[at] != '"')
		at += text.at[at] == '\\' ? 2
		                          : 1 + pl_json_plain_run(text.at + at + 1,
		                                                  text.len - at - 1);
	return at + 1 < text.len ? at + 1 : text.len;
}

static size_t scalar_len(struct pl_span text)
{
	size_t at = 0;

	while (at < text.len && !is_space(text.at[at]) && text.at[at] != ',' &&
	       text.at[at] != '}' && text.at[at] != ']')
		at++;
	return at;
}

enum value_mark { MARK_NONE, MARK_QUOTE, MARK_OPEN, MARK_CLOSE };

static size_t value_len(struct pl_span text)
{
	static const uint8_t marks[256] = {['"'] = MARK_QUOTE,
	                                   ['{'] = MARK_OPEN,
	                                   ['['] = MARK_OPEN,
	                                   ['}'] = MARK_CLOSE,
	                                   [']'] = MARK_CLOSE};
	size_t depth = 0, at = 0;

	if (text.len == 0 || (text.at[0] != '{' && text.at[0] != '['))
		return text.len > 0 && text.at[0] == '"' ? string_len(text)
		                                         : scalar_len(text);
	while (at < text.len) {
		uint8_t mark = marks[text.at[at]];

		if (mark == MARK_QUOTE) {
			at += string_len(pl_span(text.at + at, text.len - at));
			continue;
		}
		at++;
		if (mark == MARK_NONE)
			continue;
		depth += mark == MARK_OPEN;
		if (mark == MARK_CLOSE && --depth == 0)
			break;
	}
	return at;
}

static unsigned hex_value(uint8_t byte)
{
	return byte <= '9' ? (unsigned)(byte - '0')
	                   : (unsigned)((byte | 0x20) - 'a') + 10;
}

/* The next byte of a name, unescaped. Names that are looked for are ASCII: any other byte
 * becomes 0x80, which equals none. */
static uint8_t next_byte(struct pl_span *name)
{
	uint8_t byte = name->at[0];
	unsigned point;

	if (byte != '\\') {
		skip_bytes(name, 1);
		return byte < 0x80 ? byte : 0x80;
	}
	byte = name->at[1];
	if (byte != 'u') {
		skip_bytes(name, 2);
		/* \b, \f, \n, \r and \t are in no name that is looked for. */
		return byte == '"' || byte == '\\' || byte == '/' ? byte : 0x80;
	}
	point = hex_value(name->at[2]) << 12 | hex_value(name->at[3]) << 8 |
	        hex_value(name->at[4]) << 4 | hex_value(name->at[5]);
	skip_bytes(name, 6);
	return point < 0x80 ? (uint8_t)point : 0x80;
}

bool object_name_is(struct pl_span quoted, const char *name)
{
	struct pl_span rest = pl_span(quoted.at + 1, quoted.len - 2);

	/* Most names differ in the first byte from the one that is looked for. */
	if (rest.len > 0 && rest.at[0] != '\\' && rest.at[0] != (uint8_t)*name)
		return false;
	for (; *name != 0; name++)
		if (rest.len == 0 || next_byte(&rest) != (uint8_t)*name)
			return false;
	return rest.len == 0;
}

/* A set of changes has a bit for each change that applies at the level being printed. */
static const char *step_name(const struct object_printer *p, unsigned change,
                             unsigned depth)
{
	return p->changes[change].path[depth];
}

/* NOLINTBEGIN(bugprone-macro-parentheses): i is a name */
#define EACH_BIT(i, set)                                                      \
	for (unsigned i = 0; (i) < OBJECT_CHANGES_MAX && (set) >> (i); (i)++) \
		if (((set) >> (i)&1) != 0)
/* NOLINTEND(bugprone-macro-parentheses) */

/* The changes in set that lead to this member or into it. */
static uint32_t match_member(const struct object_printer *p, uint32_t set, unsigned depth,
                             struct pl_span quoted)
{
	uint32_t out = 0;

	EACH_BIT(i, set)
	if (object_name_is(quoted, step_name(p, i, depth)))
		out |= UINT32_C(1) << i;
	return out;
}

/* The change that ends at this member; -1: all lead deeper. */
static int final_change(const struct object_printer *p, uint32_t set, unsigned depth)
{
	EACH_BIT(i, set)
	if (step_name(p, i, depth + 1) == NULL)
		return (int)i;
	return -1;
}

static uint32_t same_step(const struct object_printer *p, uint32_t set, unsigned depth,
                          const char *name)
{
	uint32_t out = 0;

	EACH_BIT(i, set)
	if (strcmp(step_name(p, i, depth), name) == 0)
		out |= UINT32_C(1) << i;
	return out;
}

static void put_comma(struct object_printer *p, bool *some)
{
	if (*some)
		put_text(p, PL_SPAN_LIT(","));
	*some = true;
}

/* Whether any change in the set is not a removal. */
static bool has_additions(const struct object_printer *p, uint32_t set)
{
	EACH_BIT(i, set)
	if (p->changes[i].json != NULL)
		return true;
	return false;
}

static void add_missing(struct object_printer *p, uint32_t set, unsigned depth,
                        bool some);

/* Adds a member that the object does not have, with the objects on the way to it. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a path, OBJECT_DEPTH_MAX */
static void add_member(struct object_printer *p, uint32_t set, unsigned depth,
                       const char *name)
{
	int change = final_change(p, set, depth);

	put_text(p, PL_SPAN_LIT("\""));
	put_text(p, pl_span_str(name));
	put_text(p, PL_SPAN_LIT("\":"));
	if (change >= 0) {
		put_text(p, pl_span_str(p->changes[change].json));
		return;
	}
	put_text(p, PL_SPAN_LIT("{"));
	add_missing(p, set, depth + 1, false);
	put_text(p, PL_SPAN_LIT("}"));
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as a path, OBJECT_DEPTH_MAX */
static void add_missing(struct object_printer *p, uint32_t set, unsigned depth, bool some)
{
	while (set != 0) {
		unsigned first = (unsigned)__builtin_ctz(set);
		const char *name = step_name(p, first, depth);
		uint32_t group = same_step(p, set, depth, name);
		int change = final_change(p, group, depth);

		set &= ~group;
		if (!has_additions(p, group) ||
		    (change >= 0 && p->changes[change].json == NULL))
			continue;
		put_comma(p, &some);
		add_member(p, group, depth, name);
	}
}

static void print_object(struct object_printer *p, uint32_t set, unsigned depth);

/* Prints one member whose name was read: copied, replaced, left out, or with changes
 * inside. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a path, OBJECT_DEPTH_MAX */
static void print_member(struct object_printer *p, uint32_t set, unsigned depth,
                         struct pl_span name, bool *some)
{
	int change = final_change(p, set, depth);
	size_t len = value_len(p->text);
	struct pl_span value = pl_span(p->text.at, len);
	bool empty = pl_span_eq(value, PL_SPAN_LIT("null"));

	if (change >= 0 && p->changes[change].json == NULL) {
		skip_bytes(&p->text, len);
		return;
	}
	put_comma(p, some);
	put_text(p, name);
	put_text(p, PL_SPAN_LIT(":"));
	if (set != 0 && change < 0 && (value.at[0] == '{' || empty)) {
		if (empty) {
			put_text(p, PL_SPAN_LIT("{"));
			add_missing(p, set, depth + 1, false);
			put_text(p, PL_SPAN_LIT("}"));
			skip_bytes(&p->text, len);
		} else {
			print_object(p, set, depth + 1);
		}
		return;
	}
	if (set != 0 && change < 0 && p->code == PL_OK)
		p->code = pl_err_set(p->err, PL_INVALID,
		                     PL_SPAN_FMT ": want an object to change in",
		                     PL_SPAN_ARG(name));
	put_text(p, change >= 0 ? pl_span_str(p->changes[change].json) : value);
	skip_bytes(&p->text, len);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as a path, OBJECT_DEPTH_MAX */
static void print_object(struct object_printer *p, uint32_t set, unsigned depth)
{
	uint32_t missing = set;
	bool some = false;

	put_text(p, PL_SPAN_LIT("{"));
	skip_bytes(&p->text, 1);
	skip_space(&p->text);
	while (p->text.len > 0 && p->text.at[0] != '}' && p->code == PL_OK) {
		struct pl_span name = pl_span(p->text.at, string_len(p->text));
		uint32_t here = match_member(p, set, depth, name);

		missing &= ~here;
		skip_bytes(&p->text, name.len);
		skip_space(&p->text);
		skip_bytes(&p->text, 1); /* the colon */
		skip_space(&p->text);
		print_member(p, here, depth, name, &some);
		skip_space(&p->text);
		if (p->text.len > 0 && p->text.at[0] == ',')
			skip_bytes(&p->text, 1);
		skip_space(&p->text);
	}
	if (p->code != PL_OK)
		return;
	add_missing(p, missing, depth, some);
	put_text(p, PL_SPAN_LIT("}"));
	skip_bytes(&p->text, 1);
}

enum pl_code object_print(struct pl_span json, const struct object_change *changes,
                          size_t count, struct pl_buf *out, struct pl_err *err)
{
	struct object_printer p = {
		.changes = changes, .out = out, .err = err, .text = json};
	uint32_t set = count == 0 ? 0 : UINT32_MAX >> (OBJECT_CHANGES_MAX - count);

	PL_ASSERT(count <= OBJECT_CHANGES_MAX);
	skip_space(&p.text);
	PL_ASSERT(p.text.len > 0 && p.text.at[0] == '{');
	for (size_t i = 0; i < count; i++)
		PL_ASSERT(changes[i].path[0] != NULL);
	print_object(&p, set, 0);
	return p.code;
}

bool object_next_name(struct pl_span *rest, struct pl_span *name)
{
	skip_space(rest);
	if (rest->len > 0 && (rest->at[0] == '{' || rest->at[0] == ','))
		skip_bytes(rest, 1);
	skip_space(rest);
	if (rest->len == 0 || rest->at[0] != '"')
		return false;
	*name = pl_span(rest->at, string_len(*rest));
	skip_bytes(rest, name->len);
	skip_space(rest);
	skip_bytes(rest, 1); /* the colon */
	skip_space(rest);
	return true;
}

bool object_pair(struct pl_span *rest, struct pl_span *name, struct pl_span *value)
{
	if (!object_next_name(rest, name))
		return false;
	*value = pl_span(rest->at, value_len(*rest));
	skip_bytes(rest, value->len);
	return true;
}

struct pl_span object_member(struct pl_span json, const char *name)
{
	struct pl_span rest = json, key, value;

	while (object_pair(&rest, &key, &value))
		if (object_name_is(key, name))
			return value;
	return (struct pl_span){0};
}

enum pl_code object_compact(struct pl_span json, struct pl_buf *out)
{
	enum pl_code code = pl_buf_reserve(out, json.len);

	while (code == PL_OK && json.len > 0) {
		size_t len = json.at[0] == '"' ? string_len(json) : 1;

		if (!is_space(json.at[0]))
			code = pl_buf_add(out, pl_span(json.at, len));
		skip_bytes(&json, len);
	}
	return code;
}

struct pl_span object_next(struct pl_span *rest)
{
	struct pl_span value;

	skip_space(rest);
	value = pl_span(rest->at, value_len(*rest));
	/* A stray closing bracket counts as a value, so that walks end. */
	if (value.len == 0 && rest->len > 0)
		value.len = 1;
	skip_bytes(rest, value.len);
	return value;
}

struct pl_span object_item(struct pl_span *rest)
{
	struct pl_span value;

	skip_space(rest);
	if (rest->len > 0 && (rest->at[0] == '[' || rest->at[0] == ','))
		skip_bytes(rest, 1);
	skip_space(rest);
	if (rest->len == 0 || rest->at[0] == ']')
		return (struct pl_span){0};
	value = pl_span(rest->at, value_len(*rest));
	skip_bytes(rest, value.len);
	skip_space(rest);
	return value;
}
