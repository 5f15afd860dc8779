#include "coord/cli/output/output.h"

#include "coord/cli/output/output_int.h"

static void set_cell(struct output_row *row, unsigned column, struct output_cell cell)
{
	PL_ASSERT(column < OUTPUT_COLUMNS_MAX);
	row->cells[column] = cell;
}

void output_text(struct output_row *row, unsigned column, struct pl_span text)
{
	set_cell(row, column,
	         (struct output_cell){.type = text.len > 0 ? OUTPUT_TEXT : OUTPUT_NONE,
	                              .text = text});
}

void output_int(struct output_row *row, unsigned column, int64_t value)
{
	set_cell(row, column, (struct output_cell){.type = OUTPUT_INT, .number = value});
}

void output_int_string(struct output_row *row, unsigned column, int64_t value)
{
	set_cell(row, column,
	         (struct output_cell){.type = OUTPUT_INT_STRING, .number = value});
}

void output_double(struct output_row *row, unsigned column, double value)
{
	set_cell(row, column, (struct output_cell){.type = OUTPUT_DOUBLE, .real = value});
}

void output_bool(struct output_row *row, unsigned column, bool value)
{
	set_cell(row, column, (struct output_cell){.type = OUTPUT_BOOL, .flag = value});
}

void output_raw(struct output_row *row, unsigned column, struct pl_span text,
                struct pl_span json)
{
	set_cell(row, column,
	         (struct output_cell){.type = OUTPUT_RAW, .text = text, .json = json});
}

static bool keep(struct pl_arena *arena, struct pl_span *text)
{
	if (text->len == 0)
		return true;
	*text = pl_arena_dup(arena, *text);
	return text->at != NULL;
}

enum pl_code output_row_keep(const struct output_schema *schema, struct output_row *row,
                             struct pl_arena *arena)
{
	for (unsigned i = 0; i < schema->count; i++)
		if (!keep(arena, &row->cells[i].text) ||
		    !keep(arena, &row->cells[i].json))
			return PL_NOMEM;
	return PL_OK;
}

void output_row_name(const struct output_schema *schema, struct output_row *row,
                     struct pl_span name)
{
	const uint8_t *slash;
	unsigned column = 0;

	while (column + 1 < schema->name_columns &&
	       (slash = memchr(name.at, '/', name.len)) != NULL) {
		size_t len = (size_t)(slash - name.at);

		output_text(row, column++, pl_span(name.at, len));
		name = pl_span(slash + 1, name.len - len - 1);
	}
	output_text(row, column, name);
}

void output_init(struct output *output, const struct output_schema *schema,
                 enum output_format format, bool watch)
{
	PL_ASSERT(schema->count <= OUTPUT_COLUMNS_MAX);
	PL_ASSERT(format != OUTPUT_NAME || (schema->name_columns > 0 && !watch));
	*output = (struct output){.schema = schema, .format = format, .watch = watch};
}

static bool is_table(const struct output *output)
{
	return output->format == OUTPUT_TABLE || output->format == OUTPUT_WIDE;
}

enum pl_code output_look(const struct output *output, const struct output_row *row,
                         struct pl_buf *to)
{
	return is_table(output) ? output_table_look(output, row, to)
	                        : output_json_look(output->schema, row, to);
}

static enum pl_code put_changes(struct output *output, const struct output_row *rows,
                                size_t count, struct pl_buf *to)
{
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < count && code == PL_OK; i++)
		code = output_json_change(output, &rows[i], OUTPUT_ADDED, to);
	return code;
}

static enum pl_code finish_output(enum pl_code code, struct pl_err *err)
{
	if (code == PL_OK || (err != NULL && err->code == code))
		return code;
	return pl_err_set(err, code, "print: %s",
	                  code == PL_LIMIT ? "there is too much of it"
	                                   : pl_code_name(code));
}

enum pl_code output_list(struct output *output, const struct output_row *rows,
                         size_t count, struct pl_buf *to, struct pl_err *err)
{
	enum pl_code code;

	if (output->format == OUTPUT_NAME)
		code = output_names(output, rows, count, to);
	else if (is_table(output))
		code = output_table_rows(output, rows, count, to);
	else if (output->watch)
		code = put_changes(output, rows, count, to);
	else
		code = output_json_list(output, rows, count, to);
	return finish_output(code, err);
}

enum pl_code output_part(struct output *output, const struct output_row *rows,
                         size_t count, bool last, struct pl_buf *to, struct pl_err *err)
{
	PL_ASSERT(!output->watch);
	if (output->format == OUTPUT_NAME)
		return finish_output(output_names(output, rows, count, to), err);
	return finish_output(is_table(output)
	                             ? output_table_rows(output, rows, count, to)
	                             : output_json_part(output, rows, count, last, to),
	                     err);
}

enum pl_code output_change(struct output *output, const struct output_row *row,
                           enum output_change change, struct pl_buf *to,
                           struct pl_err *err)
{
	PL_ASSERT(output->watch);
	return finish_output(is_table(output)
	                             ? output_table_rows(output, row, 1, to)
	                             : output_json_change(output, row, change, to),
	                     err);
}

enum pl_code output_object(const struct output *output, const struct output_row *row,
                           struct pl_buf *to, struct pl_err *err)
{
	PL_ASSERT(!is_table(output) && output->format != OUTPUT_NAME);
	return finish_output(output_json_one(output, row, to), err);
}

enum pl_code output_format_parse(const char *text, bool names, enum output_format *out,
                                 struct pl_err *err)
{
	static const char *const words[] = {[OUTPUT_TABLE] = "table",
	                                    [OUTPUT_WIDE] = "wide",
	                                    [OUTPUT_JSON] = "json",
	                                    [OUTPUT_YAML] = "yaml",
	                                    [OUTPUT_NAME] = "name"};

	for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcmp(text, words[i]) == 0 && (names || i != OUTPUT_NAME)) {
			*out = (enum output_format)i;
			return PL_OK;
		}
	return pl_err_set(err, PL_INVALID, "--output %s: want table, wide, json%s", text,
	                  names ? ", yaml or name" : " or yaml");
}
