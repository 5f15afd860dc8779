/* Tables: columns as wide as their widest cell, three spaces between them, nothing
 * after the last. While watching, columns only grow. */
#include <stdio.h>

#include "coord/cli/output/output_int.h"
#include "coord/cli/output/printable.h"
#include "store/base/num.h"

enum { GAP = 3, CELL_SIZE = 40 };

static struct pl_span double_text(double value, char at[CELL_SIZE])
{
	int len = snprintf(at, CELL_SIZE, "%.*f", value < 10 ? 2 : 1, value);

	return pl_span(at, (size_t)len < CELL_SIZE ? (size_t)len : CELL_SIZE - 1);
}

static struct pl_span cell_text(const struct output_cell *cell, char at[CELL_SIZE])
{
	switch (cell->type) {
	case OUTPUT_NONE:
		return PL_SPAN_LIT("-");
	case OUTPUT_TEXT:
	case OUTPUT_RAW:
		return cell->text.len > 0 ? cell->text : PL_SPAN_LIT("-");
	case OUTPUT_INT:
	case OUTPUT_INT_STRING:
		return pl_span(at, pl_num_print_i64(at, cell->number));
	case OUTPUT_DOUBLE:
		return double_text(cell->real, at);
	case OUTPUT_BOOL:
		return cell->flag ? PL_SPAN_LIT("yes") : PL_SPAN_LIT("no");
	}
	PL_UNREACHABLE("type of a cell");
}

enum pl_code output_names(const struct output *output, const struct output_row *rows,
                          size_t count, struct pl_buf *to)
{
	unsigned columns = output->schema->name_columns;
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < count && code == PL_OK; i++)
		for (unsigned c = 0; c < columns && code == PL_OK; c++) {
			char at[CELL_SIZE];
			size_t width = 0;

			code = printable_add(to, cell_text(&rows[i].cells[c], at),
			                     &width);
			if (code == PL_OK)
				code = pl_buf_add_str(to, c + 1 < columns ? "/" : "\n");
		}
	return code;
}

enum pl_code output_table_look(const struct output *output, const struct output_row *row,
                               struct pl_buf *to)
{
	enum pl_code code = PL_OK;

	for (unsigned c = 0; c < output->schema->count && code == PL_OK; c++) {
		const struct output_column *column = &output->schema->columns[c];
		char at[CELL_SIZE];

		if (column->title == NULL || column->field == NULL ||
		    (column->show == OUTPUT_ON_WIDE && output->format != OUTPUT_WIDE))
			continue;
		code = pl_buf_add(to, cell_text(&row->cells[c], at));
		if (code == PL_OK)
			code = pl_buf_add(to, pl_span("", 1));
	}
	return code;
}

static bool column_used(unsigned column, const struct output_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].cells[column].type != OUTPUT_NONE)
			return true;
	return false;
}

static bool column_shown(const struct output *output, unsigned column,
                         const struct output_row *rows, size_t count)
{
	const struct output_column *is = &output->schema->columns[column];

	if (is->title == NULL)
		return false;
	switch (is->show) {
	case OUTPUT_ALWAYS:
		return true;
	case OUTPUT_ON_WIDE:
		return output->format == OUTPUT_WIDE;
	case OUTPUT_IF_USED:
		return output->watch || column_used(column, rows, count);
	}
	PL_UNREACHABLE("when to show a column");
}

static void measure_columns(struct output *output, const struct output_row *rows,
                            size_t count)
{
	char at[CELL_SIZE];

	for (unsigned c = 0; c < output->schema->count; c++) {
		size_t *width = &output->width[c];

		if (!output->headed) {
			output->shown[c] = column_shown(output, c, rows, count);
			if (output->shown[c])
				*width = strlen(output->schema->columns[c].title);
		}
		for (size_t i = 0; i < count && output->shown[c]; i++) {
			size_t wide = printable_width(cell_text(&rows[i].cells[c], at));

			*width = wide > *width ? wide : *width;
		}
	}
}

static unsigned last_column(const struct output *output)
{
	unsigned last = 0;

	for (unsigned c = 0; c < output->schema->count; c++)
		last = output->shown[c] ? c : last;
	return last;
}

/* row NULL: the titles. */
static enum pl_code print_line(const struct output *output, const struct output_row *row,
                               struct pl_buf *to)
{
	unsigned last = last_column(output);
	enum pl_code code = PL_OK;

	for (unsigned c = 0; c <= last && code == PL_OK; c++) {
		char at[CELL_SIZE];
		struct pl_span text;
		size_t width = 0;

		if (!output->shown[c])
			continue;
		text = row == NULL ? pl_span_str(output->schema->columns[c].title)
		                   : cell_text(&row->cells[c], at);
		code = printable_add(to, text, &width);
		if (code == PL_OK && c < last)
			code = pl_buf_printf(to, "%*s",
			                     (int)(output->width[c] - width + GAP), "");
	}
	return code == PL_OK ? pl_buf_add_str(to, "\n") : code;
}

enum pl_code output_table_rows(struct output *output, const struct output_row *rows,
                               size_t count, struct pl_buf *to)
{
	enum pl_code code = PL_OK;

	if (count == 0)
		return PL_OK;
	measure_columns(output, rows, count);
	if (!output->headed)
		code = print_line(output, NULL, to);
	output->headed = true;
	for (size_t i = 0; i < count && code == PL_OK; i++)
		code = print_line(output, &rows[i], to);
	return code;
}
