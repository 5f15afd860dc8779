#include "coord/access/authn/csv.h"

void csv_begin(struct csv *csv, struct pl_span text)
{
	*csv = (struct csv){.rest = text};
}

static struct pl_span line_take(struct csv *csv)
{
	const uint8_t *end =
		csv->rest.len == 0 ? NULL : memchr(csv->rest.at, '\n', csv->rest.len);
	struct pl_span line = csv->rest;

	if (end != NULL)
		line.len = (size_t)(end - csv->rest.at);
	csv->rest.at += line.len + (end != NULL ? 1 : 0);
	csv->rest.len -= line.len + (end != NULL ? 1 : 0);
	csv->line++;
	if (line.len > 0 && line.at[line.len - 1] == '\r')
		line.len--;
	return line;
}

static enum pl_code fail(const struct csv *csv, const char *why, struct pl_err *err)
{
	return pl_err_set(err, PL_INVALID, "line %zu, column %zu: %s", csv->line,
	                  csv->count + 1, why);
}

static enum pl_code quoted_take(struct csv *csv, struct pl_span *line,
                                struct pl_arena *arena, struct pl_err *err)
{
	uint8_t *out = pl_arena_alloc(arena, line->len);
	size_t len = 0, at = 1;

	if (out == NULL)
		return pl_err_set(err, PL_NOMEM, "line %zu", csv->line);
	for (; at < line->len; at++) {
		if (line->at[at] == '"' &&
		    (at + 1 == line->len || line->at[at + 1] != '"'))
			break;
		at += line->at[at] == '"';
		out[len++] = line->at[at];
	}
	if (at == line->len)
		return fail(csv, "the quote does not end", err);
	at++; /* the quote */
	if (at < line->len && line->at[at] != ',')
		return fail(csv, "something follows the closing quote", err);
	csv->field[csv->count++] = pl_span(out, len);
	*line = pl_span(line->at + at, line->len - at);
	return PL_OK;
}

static enum pl_code plain_take(struct csv *csv, struct pl_span *line, struct pl_err *err)
{
	const uint8_t *comma = line->len == 0 ? NULL : memchr(line->at, ',', line->len);
	size_t len = comma == NULL ? line->len : (size_t)(comma - line->at);

	if (len > 0 && memchr(line->at, '"', len) != NULL)
		return fail(csv, "a quote inside a field without quotes", err);
	csv->field[csv->count++] = pl_span(line->at, len);
	*line = pl_span(line->at + len, line->len - len);
	return PL_OK;
}

static enum pl_code fields_take(struct csv *csv, struct pl_span line,
                                struct pl_arena *arena, struct pl_err *err)
{
	for (csv->count = 0;;) {
		enum pl_code code;

		if (csv->count == CSV_FIELDS_MAX)
			return fail(csv, "too many columns", err);
		code = line.len > 0 && line.at[0] == '"'
		               ? quoted_take(csv, &line, arena, err)
		               : plain_take(csv, &line, err);
		if (code != PL_OK || line.len == 0)
			return code;
		line = pl_span(line.at + 1, line.len - 1); /* the comma */
	}
}

enum pl_code csv_next(struct csv *csv, struct pl_arena *arena, struct pl_err *err)
{
	while (csv->rest.len > 0) {
		struct pl_span line = line_take(csv);

		if (line.len > 0)
			return fields_take(csv, line, arena, err);
	}
	return PL_NOTFOUND;
}
