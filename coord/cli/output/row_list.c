#include "coord/cli/output/row_list.h"

#include <stdlib.h>

#include "coord/cli/output/message.h"
#include "store/base/alloc.h"

enum { ARENA_CHUNK = 1 << 20, PRINT_MAX = 256 << 20 };

enum pl_code row_list_init(struct row_list *list, const struct output_schema *schema,
                           enum output_format format, struct pl_err *err)
{
	*list = (struct row_list){.rows = pl_calloc(ROW_LIST_PART, sizeof *list->rows)};
	if (list->rows == NULL)
		return pl_err_set(err, PL_NOMEM, "a list of rows");
	output_init(&list->output, schema, format, false);
	pl_arena_init(&list->arena, ARENA_CHUNK, 0);
	return PL_OK;
}

void row_list_done(struct row_list *list)
{
	free(list->rows);
	pl_arena_done(&list->arena);
}

/* last: of all rows. */
static enum pl_code print_rows(struct row_list *list, bool last, struct pl_err *err)
{
	struct pl_buf out;
	enum pl_code code;

	pl_buf_init(&out, PRINT_MAX);
	if (last && !list->parted)
		code = output_list(&list->output, list->rows, list->count, &out, err);
	else
		code = output_part(&list->output, list->rows, list->count, last, &out,
		                   err);
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	list->parted = true;
	list->count = 0;
	pl_arena_reset(&list->arena);
	return code;
}

enum pl_code row_list_add(struct row_list *list, const struct output_row *row,
                          struct pl_err *err)
{
	struct output_row *kept;

	if (list->count == ROW_LIST_PART && print_rows(list, false, err) != PL_OK)
		return err->code;
	kept = &list->rows[list->count];
	*kept = *row;
	if (output_row_keep(list->output.schema, kept, &list->arena) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "a list of rows");
	list->count++;
	return PL_OK;
}

enum pl_code row_list_end(struct row_list *list, const char *none, struct pl_err *err)
{
	if (list->count == 0 && !list->parted) {
		if (none == NULL)
			return PL_OK;
		print_message("%s", none);
	}
	return print_rows(list, true, err);
}
