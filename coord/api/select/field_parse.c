#include <stdlib.h>

#include "coord/api/base/go_quote.h"
#include "coord/api/select/field_selector.h"
#include "store/base/utf8.h"

struct field_parser {
	struct pl_arena *arena;
	const struct field_set *set;
	struct pl_span text;
	struct pl_span *why;
	struct pl_span *parts; /* between the commas */
	struct field_term *terms;
	uint32_t part_count, term_count;
};

static enum pl_code refuse(struct field_parser *p, enum pl_code code, const char *message)
{
	if (message == NULL)
		return PL_NOMEM;
	*p->why = pl_span_str(message);
	return code;
}

/* -- one term --------------------------------------------------------------------------- */

/* label, operator, value. */
struct field_split {
	struct pl_span label, value;
	bool equal;
};

/* Splits at the first operator. */
static bool split_term(struct pl_span part, struct field_split *out)
{
	static const char *const ops[] = {"!=", "==", "="};

	for (size_t at = 0; at < part.len; at++) {
		struct pl_span rest = pl_span(part.at + at, part.len - at);

		for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
			struct pl_span op = pl_span_str(ops[i]);

			if (!pl_span_starts(rest, op))
				continue;
			out->label = pl_span(part.at, at);
			out->equal = i > 0;
			out->value = pl_span(rest.at + op.len, rest.len - op.len);
			return true;
		}
	}
	return false;
}

static bool is_escapable(uint8_t byte)
{
	return byte == '\\' || byte == ',' || byte == '=';
}

/* The character behind a backslash can be several bytes long. */
static enum pl_code refuse_escape(struct field_parser *p, struct pl_span behind)
{
	size_t len = pl_utf8_char(behind.at, behind.len);

	return refuse(p, PL_INVALID,
	              pl_arena_printf(p->arena,
	                              "invalid field selector: invalid escape sequence: "
	                              "\\" PL_SPAN_FMT,
	                              PL_SPAN_ARG(pl_span(behind.at, len))));
}

/* Removes the backslashes. */
static enum pl_code unescape(struct field_parser *p, struct pl_span value,
                             struct pl_span *out)
{
	uint8_t *to = pl_arena_alloc(p->arena, value.len + 1);
	size_t len = 0;

	if (to == NULL)
		return PL_NOMEM;
	for (size_t i = 0; i < value.len; i++) {
		if (value.at[i] == '\\') {
			i++;
			if (i == value.len || !is_escapable(value.at[i]))
				return refuse_escape(
					p, pl_span(value.at + i, value.len - i));
		} else if (is_escapable(value.at[i])) {
			return refuse(p, PL_INVALID,
			              pl_arena_printf(p->arena,
			                              "invalid field selector: unescaped "
			                              "character in value: %d",
			                              value.at[i]));
		}
		to[len++] = value.at[i];
	}
	to[len] = 0;
	*out = pl_span(to, len);
	return PL_OK;
}

static enum pl_code refuse_label(struct field_parser *p, struct pl_span label)
{
	const struct field_set *set = p->set;

	if (set->quoted) {
		const char *quoted = go_quote(p->arena, label);

		return refuse(p, PL_INVALID,
		              quoted == NULL
		                      ? NULL
		                      : pl_arena_printf(p->arena, "%s%s%s", set->before,
		                                        quoted, set->after));
	}
	return refuse(p, PL_INVALID,
	              pl_arena_printf(p->arena, "%s" PL_SPAN_FMT "%s", set->before,
	                              PL_SPAN_ARG(label), set->after));
}

/* The labels of all terms are looked at last, after the grammar. */
static enum pl_code read_part(struct field_parser *p, struct pl_span part,
                              struct field_split *split)
{
	if (!split_term(part, split))
		return refuse(p, PL_INVALID,
		              pl_arena_printf(p->arena,
		                              "invalid selector: '" PL_SPAN_FMT
		                              "'; can't understand '" PL_SPAN_FMT "'",
		                              PL_SPAN_ARG(p->text), PL_SPAN_ARG(part)));
	return unescape(p, split->value, &split->value);
}

/* -- the whole ---------------------------------------------------------------------------- */

/* Where the part that begins at from ends: at a comma that is not escaped. */
static size_t part_end(struct pl_span text, size_t from)
{
	while (from < text.len && text.at[from] != ',')
		from += text.at[from] == '\\' && from + 1 < text.len ? 2 : 1;
	return from;
}

static uint32_t count_commas(struct pl_span text)
{
	uint32_t count = 0;

	for (size_t i = 0; i < text.len; i++)
		count += text.at[i] == ',';
	return count;
}

static int compare_parts(const void *a, const void *b)
{
	return pl_span_cmp(*(const struct pl_span *)a, *(const struct pl_span *)b);
}

/* Kubernetes reads the parts in order, so the first one in order is refused. */
static enum pl_code split_parts(struct field_parser *p)
{
	size_t room = count_commas(p->text) + 1;

	p->parts = pl_arena_zalloc(p->arena, room, sizeof *p->parts);
	if (p->parts == NULL)
		return PL_NOMEM;
	for (size_t from = 0; from < p->text.len;) {
		size_t end = part_end(p->text, from);

		if (end > from)
			p->parts[p->part_count++] =
				pl_span(p->text.at + from, end - from);
		from = end + 1;
	}
	if (p->part_count > FIELD_SELECTOR_TERMS_MAX)
		return refuse(p, PL_LIMIT, "the field selector has too many terms");
	qsort(p->parts, p->part_count, sizeof *p->parts, compare_parts);
	p->terms = pl_arena_zalloc(p->arena, p->part_count + 1, sizeof *p->terms);
	return p->terms == NULL ? PL_NOMEM : PL_OK;
}

static enum pl_code read_parts(struct field_parser *p)
{
	struct field_split *splits =
		pl_arena_zalloc(p->arena, p->part_count + 1, sizeof *splits);
	enum pl_code code = splits == NULL ? PL_NOMEM : PL_OK;

	for (uint32_t i = 0; i < p->part_count && code == PL_OK; i++)
		code = read_part(p, p->parts[i], &splits[i]);
	for (uint32_t i = 0; i < p->part_count && code == PL_OK; i++) {
		const char *field = field_set_find(p->set, splits[i].label);

		if (field == NULL)
			return refuse_label(p, splits[i].label);
		p->terms[p->term_count++] = (struct field_term){.field = field,
		                                                .equal = splits[i].equal,
		                                                .value = splits[i].value};
	}
	return code;
}

enum pl_code field_selector_parse(struct pl_arena *arena, const char *group,
                                  const char *plural, struct pl_span text,
                                  struct field_selector *out, struct pl_span *why)
{
	struct field_parser p = {.arena = arena,
	                         .set = field_set_of(group, plural),
	                         .text = text,
	                         .why = why};
	enum pl_code code;

	if (text.len > FIELD_SELECTOR_BYTES_MAX)
		return refuse(&p, PL_LIMIT, "the field selector is too long");
	if (text.len > 0 && memchr(text.at, 0, text.len) != NULL)
		return refuse(&p, PL_INVALID, "the field selector has a NUL byte");
	code = split_parts(&p);
	if (code == PL_OK)
		code = read_parts(&p);
	if (code == PL_OK)
		*out = (struct field_selector){.count = p.term_count, .terms = p.terms};
	return code;
}
