/* placet token list: whose the issued tokens are. */
#include <stdlib.h>

#include "coord/cli/output/age.h"
#include "coord/cli/output/message.h"
#include "coord/cli/output/output.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/tokens/token_api.h"
#include "coord/service/tokens/token_list.h"
#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/json_out.h"
#include "store/base/timestamp.h"

enum { PRINT_MAX = 64 << 20, GROUPS_TEXT_MAX = 128 << 10 };

static const struct output_column columns[] = {
	[TOKEN_NAME] = {"NAME", "name", OUTPUT_ALWAYS},
	[TOKEN_USER] = {"USER", "user", OUTPUT_ALWAYS},
	[TOKEN_GROUPS] = {"GROUPS", "groups", OUTPUT_ALWAYS},
	[TOKEN_AGE] = {"AGE", NULL, OUTPUT_ALWAYS},
	[TOKEN_CREATED] = {NULL, "created", OUTPUT_ALWAYS},
	[TOKEN_EXPIRES] = {NULL, "expires", OUTPUT_ALWAYS},
	[TOKEN_EXPIRES_IN] = {"EXPIRES IN", NULL, OUTPUT_ALWAYS},
	[TOKEN_BY] = {"BY", "by", OUTPUT_ON_WIDE},
	[TOKEN_NOTE] = {"NOTE", "note", OUTPUT_IF_USED},
};

const struct output_schema token_schema = {"Token", columns, TOKEN_COLUMNS, 1};

static enum pl_code add_groups(struct pl_buf *text, struct pl_buf *json,
                               const struct token_record *record)
{
	struct pl_json_out out;
	enum pl_code code = PL_OK;

	pl_json_out_init(&out, json);
	pl_json_out_array(&out);
	for (size_t i = 0; i < record->group_count && code == PL_OK; i++) {
		pl_json_out_string(&out, record->groups[i]);
		if (i > 0)
			code = pl_buf_add_str(text, ",");
		if (code == PL_OK)
			code = pl_buf_add(text, record->groups[i]);
	}
	pl_json_out_end(&out);
	return code == PL_OK ? pl_json_out_done(&out) : code;
}

static enum pl_code groups_cell(struct output_row *row, struct pl_arena *arena,
                                const struct token_record *record)
{
	struct pl_buf text, json;
	enum pl_code code;

	if (record->group_count == 0)
		return PL_OK;
	pl_buf_init(&text, GROUPS_TEXT_MAX);
	pl_buf_init(&json, (size_t)2 * GROUPS_TEXT_MAX);
	code = add_groups(&text, &json, record);
	if (code == PL_OK) {
		struct pl_span shown = pl_arena_dup(arena, pl_buf_span(&text));
		struct pl_span raw = pl_arena_dup(arena, pl_buf_span(&json));

		code = shown.at == NULL || raw.at == NULL ? PL_NOMEM : PL_OK;
		output_raw(row, TOKEN_GROUPS, shown, raw);
	}
	pl_buf_done(&text);
	pl_buf_done(&json);
	return code;
}

static enum pl_code text_cell(struct output_row *row, unsigned column,
                              struct pl_arena *arena, const char *text)
{
	struct pl_span copy = pl_arena_dup(arena, pl_span_str(text));

	output_text(row, column, copy);
	return copy.at == NULL ? PL_NOMEM : PL_OK;
}

static enum pl_code times_cells(struct output_row *row, struct pl_arena *arena,
                                const struct token_record *record)
{
	int64_t now = pl_clock_wall_ms(), left = record->expires_ms - now;
	char text[PL_TIMESTAMP_SIZE], age[AGE_SIZE];
	enum pl_code code = text_cell(row, TOKEN_CREATED, arena,
	                              pl_timestamp_print(record->created_ms, text));

	if (code == PL_OK)
		code = text_cell(row, TOKEN_AGE, arena,
		                 age_text(now - record->created_ms, age));
	if (code != PL_OK || record->expires_ms == 0)
		return code;
	code = text_cell(row, TOKEN_EXPIRES, arena,
	                 pl_timestamp_print(record->expires_ms, text));
	if (code != PL_OK)
		return code;
	return text_cell(row, TOKEN_EXPIRES_IN, arena,
	                 left <= 0 ? "expired" : age_text(left, age));
}

enum pl_code token_row(struct output_row *row, struct pl_arena *arena,
                       struct pl_span name, const struct token_record *record)
{
	enum pl_code code;

	output_text(row, TOKEN_NAME, name);
	output_text(row, TOKEN_USER, record->user);
	output_text(row, TOKEN_BY, record->by);
	code = groups_cell(row, arena, record);
	if (code != PL_OK || record->created_ms == 0)
		return code;
	return times_cells(row, arena, record);
}

static enum pl_code fill_row(const struct token_info *info, struct pl_arena *arena,
                             struct output_row *row)
{
	enum pl_code code = token_row(row, arena, info->id, &info->record);

	output_text(row, TOKEN_NOTE, info->note);
	return code;
}

static enum pl_code print_tokens(const struct token_list *list,
                                 const struct cli_session *cli, struct pl_err *err)
{
	size_t count;
	const struct token_info *tokens = token_list_tokens(list, &count);
	struct output_row *rows = pl_calloc(count + 1, sizeof *rows);
	enum pl_code code = PL_OK;
	struct pl_arena arena;
	struct output output;
	struct pl_buf out;

	if (rows == NULL)
		return pl_err_set(err, PL_NOMEM, "print the tokens");
	if (count == 0)
		print_message("no tokens");
	pl_arena_init(&arena, 0, 0);
	for (size_t i = 0; i < count && code == PL_OK; i++)
		code = fill_row(&tokens[i], &arena, &rows[i]);
	output_init(&output, &token_schema, cli->options->format, false);
	pl_buf_init(&out, PRINT_MAX);
	if (code != PL_OK)
		(void)pl_err_set(err, code, "print the tokens");
	else
		code = output_list(&output, rows, count, &out, err);
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	pl_arena_done(&arena);
	free(rows);
	return code;
}

static enum pl_code list_run(void *ctx, const struct cli_session *cli, struct pl_err *err)
{
	struct cli_wait wait = {0};
	const struct token_list_opts opts = {.done = cli_wait_end, .ctx = &wait};
	struct token_list *list;
	enum pl_code code = token_list_start(&cli->service, &opts, &list, err);

	(void)ctx;
	if (code != PL_OK)
		return code;
	code = cli_wait_for(cli->session, &wait, err);
	if (code == PL_OK)
		code = print_tokens(list, cli, err);
	token_list_free(list);
	return code;
}

static enum pl_code list_ask(void *ctx, struct api_session *api, struct pl_err *err)
{
	(void)ctx;
	return token_api_list(api, err);
}

static const struct options_spec spec = {
	.words = "token list",
	.usage = "[options]",
	.about =
		"Shows whose the issued tokens are and until when. What they are is not kept\n"
		"anywhere.\n",
	.example = "  placet token list -o wide\n",
	.common = OPTIONS_OUTPUT | OPTIONS_NAMES | OPTIONS_API,
	.args_max = 0,
};

static enum exit_code run_command(int argc, char **argv)
{
	return cli_session_run_either(&spec, argc, argv, list_run, list_ask, NULL);
}

const struct command token_list_command = {.words = "token list",
                                           .summary = "show whose the issued tokens are",
                                           .run = run_command,
                                           .spec = &spec};
