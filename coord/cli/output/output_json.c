/* JSON: written compact first, then indented for people, or turned into YAML. */
#include <stdio.h>

#include "coord/cli/output/output_int.h"
#include "coord/cli/output/printable.h"
#include "store/base/json.h"
#include "store/base/json_out.h"
#include "store/base/yaml.h"

enum { DOCUMENT_MAX = 64 << 20, ARENA_MAX = 1 << 30, VALUES_MAX = 4 << 20, INDENT = 2 };

static void print_cell(struct pl_json_out *out, const struct output_cell *cell)
{
	switch (cell->type) {
	case OUTPUT_NONE:
		pl_json_out_null(out);
		break;
	case OUTPUT_TEXT:
		pl_json_out_string(out, cell->text);
		break;
	case OUTPUT_INT:
		pl_json_out_int(out, cell->number);
		break;
	case OUTPUT_INT_STRING:
		pl_json_out_int_string(out, cell->number);
		break;
	case OUTPUT_DOUBLE:
		pl_json_out_double(out, cell->real);
		break;
	case OUTPUT_BOOL:
		pl_json_out_bool(out, cell->flag);
		break;
	case OUTPUT_RAW:
		pl_json_out_raw(out, cell->json);
		break;
	}
}

static bool has_json(const struct output_cell *cell)
{
	return cell->type != OUTPUT_NONE &&
	       (cell->type != OUTPUT_RAW || cell->json.len > 0);
}

static void print_members(struct pl_json_out *out, const struct output_schema *schema,
                          const struct output_row *row)
{
	for (unsigned c = 0; c < schema->count; c++) {
		if (schema->columns[c].field == NULL || !has_json(&row->cells[c]))
			continue;
		pl_json_out_name(out, schema->columns[c].field);
		print_cell(out, &row->cells[c]);
	}
}

enum pl_code output_json_look(const struct output_schema *schema,
                              const struct output_row *row, struct pl_buf *to)
{
	struct pl_json_out out;

	pl_json_out_init(&out, to);
	pl_json_out_object(&out);
	print_members(&out, schema, row);
	pl_json_out_end(&out);
	return pl_json_out_done(&out);
}

/* -- indented ------------------------------------------------------------------ */

static enum pl_code new_line(struct pl_buf *to, unsigned depth)
{
	return pl_buf_printf(to, "\n%*s", (int)(depth * INDENT), "");
}

/* Returns the length of the leading text that is copied as it is: a string, or
 * everything up to the next mark. */
static size_t token_len(struct pl_span json)
{
	size_t at = 1;

	if (json.at[0] != '"')
		return 1;
	while (at < json.len && json.at[at] != '"')
		at += json.at[at] == '\\' ? 2 : 1;
	return at + 1;
}

static bool opens_scope(uint8_t byte)
{
	return byte == '{' || byte == '[';
}

static bool closes_scope(uint8_t byte)
{
	return byte == '}' || byte == ']';
}

static enum pl_code indent_token(struct pl_span json, size_t at, unsigned *depth,
                                 struct pl_buf *to)
{
	struct pl_span token =
		pl_span(json.at + at, token_len(pl_span(json.at + at, json.len - at)));
	uint8_t byte = token.at[0];
	bool empty = at + 1 < json.len && closes_scope(json.at[at + 1]);
	bool was_empty = at > 0 && opens_scope(json.at[at - 1]);
	enum pl_code code = PL_OK;

	if (closes_scope(byte) && !was_empty)
		code = new_line(to, --*depth);
	if (code == PL_OK)
		code = printable_add_json(to, token);
	if (code == PL_OK && byte == ':')
		code = pl_buf_add_str(to, " ");
	if (code == PL_OK && opens_scope(byte) && !empty)
		code = new_line(to, ++*depth);
	if (code == PL_OK && byte == ',')
		code = new_line(to, *depth);
	return code;
}

static enum pl_code indent_json(struct pl_span json, struct pl_buf *to)
{
	enum pl_code code = PL_OK;
	unsigned depth = 0;
	size_t at = 0;

	while (at < json.len && code == PL_OK) {
		code = indent_token(json, at, &depth, to);
		at += token_len(pl_span(json.at + at, json.len - at));
	}
	PL_ASSERT(code != PL_OK || depth == 0);
	return code == PL_OK ? pl_buf_add_str(to, "\n") : code;
}

static const struct pl_json_limits document_limits = {
	.bytes = DOCUMENT_MAX, .depth = PL_JSON_DEPTH_MAX, .values = VALUES_MAX};

static enum pl_code as_yaml(struct pl_span json, struct pl_buf *to, struct pl_err *err)
{
	struct pl_arena arena;
	struct pl_json value;
	enum pl_code code;

	pl_arena_init(&arena, 1 << 16, ARENA_MAX);
	code = pl_json_parse(&arena, json, &document_limits, &value, err);
	if (code == PL_OK)
		code = pl_yaml_from_json(value, to, err);
	pl_arena_done(&arena);
	return code;
}

enum pl_code output_document(enum output_format format, struct pl_span json,
                             struct pl_buf *to, struct pl_err *err)
{
	enum pl_code code;

	if (format == OUTPUT_YAML)
		return as_yaml(json, to, err);
	code = indent_json(json, to);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "print JSON");
}

/* -- documents ------------------------------------------------------------------ */

static enum pl_code print_document(const struct output *output, struct pl_json_out *out,
                                   struct pl_buf *to)
{
	enum pl_code code = pl_json_out_done(out);

	if (code == PL_OK)
		code = output_document(output->format, pl_buf_span(out->buf), to, NULL);
	pl_buf_done(out->buf);
	return code;
}

static void print_kind(struct pl_json_out *out, const struct output_schema *schema,
                       const char *suffix)
{
	char kind[64];

	(void)snprintf(kind, sizeof kind, "%s%s", schema->kind, suffix);
	pl_json_out_object(out);
	pl_json_out_name(out, "kind");
	pl_json_out_str(out, kind);
}

enum pl_code output_json_list(const struct output *output, const struct output_row *rows,
                              size_t count, struct pl_buf *to)
{
	struct pl_json_out out;
	struct pl_buf buf;

	pl_buf_init(&buf, DOCUMENT_MAX);
	pl_json_out_init(&out, &buf);
	print_kind(&out, output->schema, "List");
	pl_json_out_name(&out, "items");
	pl_json_out_array(&out);
	for (size_t i = 0; i < count; i++) {
		pl_json_out_object(&out);
		print_members(&out, output->schema, &rows[i]);
		pl_json_out_end(&out);
	}
	pl_json_out_end(&out);
	pl_json_out_end(&out);
	return print_document(output, &out, to);
}

static enum pl_code part_head(struct output *output, struct pl_buf *to)
{
	const char *kind = output->schema->kind;

	output->headed = true;
	return output->format == OUTPUT_YAML
	               ? pl_buf_printf(to, "kind: %sList\nitems:\n", kind)
	               : pl_buf_printf(to, "{\n  \"kind\": \"%sList\",\n  \"items\": [",
	                               kind);
}

/* A row as an item: a line of JSON, or a list of one in YAML. */
static enum pl_code part_row(const struct output *output, const struct output_row *row,
                             bool first, struct pl_buf *to)
{
	bool yaml = output->format == OUTPUT_YAML;
	enum pl_code code = PL_OK;
	struct pl_buf json;

	pl_buf_init(&json, DOCUMENT_MAX);
	if (yaml)
		code = pl_buf_add_str(&json, "[");
	if (code == PL_OK)
		code = output_json_look(output->schema, row, &json);
	if (yaml && code == PL_OK)
		code = pl_buf_add_str(&json, "]");
	if (!yaml && code == PL_OK)
		code = pl_buf_add_str(to, first ? "\n    " : ",\n    ");
	if (code == PL_OK)
		code = yaml ? as_yaml(pl_buf_span(&json), to, NULL)
		            : printable_add_json(to, pl_buf_span(&json));
	pl_buf_done(&json);
	return code;
}

enum pl_code output_json_part(struct output *output, const struct output_row *rows,
                              size_t count, bool last, struct pl_buf *to)
{
	bool first = !output->headed;
	enum pl_code code = first ? part_head(output, to) : PL_OK;

	for (size_t i = 0; i < count && code == PL_OK; i++)
		code = part_row(output, &rows[i], first && i == 0, to);
	if (last && code == PL_OK && output->format != OUTPUT_YAML)
		code = pl_buf_add_str(to, "\n  ]\n}\n");
	return code;
}

enum pl_code output_json_one(const struct output *output, const struct output_row *row,
                             struct pl_buf *to)
{
	struct pl_json_out out;
	struct pl_buf buf;

	pl_buf_init(&buf, DOCUMENT_MAX);
	pl_json_out_init(&out, &buf);
	print_kind(&out, output->schema, "");
	print_members(&out, output->schema, row);
	pl_json_out_end(&out);
	return print_document(output, &out, to);
}

static enum pl_code end_change(const struct output *output, struct pl_json_out *out,
                               struct pl_buf *to)
{
	enum pl_code code;

	if (output->format == OUTPUT_YAML) {
		code = pl_buf_add_str(to, "---\n");
		if (code == PL_OK)
			return print_document(output, out, to);
	} else {
		code = pl_json_out_done(out);
		if (code == PL_OK)
			code = printable_add_json(to, pl_buf_span(out->buf));
		if (code == PL_OK)
			code = pl_buf_add_str(to, "\n");
	}
	pl_buf_done(out->buf);
	return code;
}

enum pl_code output_json_change(struct output *output, const struct output_row *row,
                                enum output_change change, struct pl_buf *to)
{
	static const char *const names[] = {[OUTPUT_ADDED] = "added",
	                                    [OUTPUT_MODIFIED] = "modified",
	                                    [OUTPUT_DELETED] = "deleted"};
	struct pl_json_out out;
	struct pl_buf buf;

	pl_buf_init(&buf, DOCUMENT_MAX);
	pl_json_out_init(&out, &buf);
	print_kind(&out, output->schema, "");
	pl_json_out_name(&out, "change");
	pl_json_out_str(&out, names[change]);
	print_members(&out, output->schema, row);
	pl_json_out_end(&out);
	return end_change(output, &out, to);
}
