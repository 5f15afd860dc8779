#include "coord/cli/session/api_rows.h"

#include "coord/cli/output/message.h"

enum { KEY_MAX = 4096, FIRST_MAX = 60000 };

struct api_rows {
	const struct api_rows_opts *opts;
	struct row_watch rows;
	struct pl_arena arena; /* of one row */
	struct pl_buf key;
	bool printed; /* the first picture */
};

/* "shop/web-0", of the columns of the name. */
static enum pl_code make_key(struct api_rows *rows, const struct output_row *row)
{
	unsigned names = rows->opts->schema->name_columns;
	enum pl_code code = PL_OK;

	pl_buf_clear(&rows->key, KEY_MAX);
	for (unsigned i = 0; code == PL_OK && (i == 0 || i < names); i++) {
		if (i > 0)
			code = pl_buf_add_str(&rows->key, "/");
		if (code == PL_OK)
			code = pl_buf_add(&rows->key, row->cells[i].text);
	}
	return code;
}

static enum pl_code put(struct api_rows *rows, struct output_row *row, bool shown)
{
	enum pl_code code = make_key(rows, row);

	if (code == PL_OK && !shown) {
		row_watch_gone(&rows->rows, pl_buf_span(&rows->key));
		return PL_OK;
	}
	if (code == PL_OK)
		code = output_row_keep(rows->opts->schema, row, &rows->rows.arena);
	if (code == PL_OK)
		row_watch_put(&rows->rows, pl_buf_span(&rows->key), row);
	return code;
}

/* An object that is not shown in a list is left out, and so is gone by the list's end. */
static enum pl_code on_object(void *ctx, struct pl_json object, bool gone,
                              struct pl_err *err)
{
	struct api_rows *rows = ctx;
	struct output_row row = {0};
	bool shown = true;
	enum pl_code code;

	pl_arena_reset(&rows->arena);
	code = rows->opts->row(rows->opts->ctx, object, &rows->arena, &row, &shown);
	shown = shown && !gone;
	if (code == PL_OK && (shown || !rows->rows.gathering))
		code = put(rows, &row, shown);
	if (code != PL_OK)
		return pl_err_set(err, code, "print a row");
	if (!rows->printed && rows->rows.first_count > FIRST_MAX)
		return pl_err_set(err, PL_LIMIT,
		                  "more than %d at once; ask for less with the options",
		                  FIRST_MAX);
	if (rows->rows.err.code != PL_OK)
		*err = rows->rows.err;
	return rows->rows.err.code;
}

static void on_begin(void *ctx)
{
	row_watch_begin(&((struct api_rows *)ctx)->rows);
}

static enum pl_code on_end(void *ctx, struct pl_err *err)
{
	struct api_rows *rows = ctx;
	const struct api_rows_opts *opts = rows->opts;
	bool none = rows->rows.first_count == 0;

	row_watch_end(&rows->rows);
	if (!rows->printed && none && opts->none != NULL)
		print_message("%s", opts->none);
	if (!rows->printed && opts->first != NULL)
		opts->first(opts->ctx, &rows->rows);
	rows->printed = true;
	if (rows->rows.err.code != PL_OK)
		*err = rows->rows.err;
	return rows->rows.err.code;
}

static void on_trouble(void *ctx, const struct pl_err *err)
{
	const struct api_rows *rows = ctx;

	print_message("placet %s: %s; going on", rows->opts->words, err->msg);
}

enum pl_code api_rows_watch(struct api_session *api, const struct api_rows_opts *opts,
                            struct pl_err *err)
{
	struct api_rows rows = {.opts = opts};
	const struct api_watch_opts watch = {.path = opts->path,
	                                     .query = opts->query,
	                                     .begin = on_begin,
	                                     .object = on_object,
	                                     .end = on_end,
	                                     .trouble = on_trouble,
	                                     .ctx = &rows};
	enum pl_code code;

	row_watch_init(&rows.rows, opts->schema, api->options->format, true);
	rows.rows.state_column = opts->state_column;
	pl_arena_init(&rows.arena, 0, 0);
	pl_buf_init(&rows.key, KEY_MAX);
	code = api_watch_run(api, &watch, err);
	pl_buf_done(&rows.key);
	pl_arena_done(&rows.arena);
	row_watch_done(&rows.rows);
	return code;
}
