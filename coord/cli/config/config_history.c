/* placet config history: the versions of a configuration, the newest first. */
#include "coord/cli/config/config_rows.h"
#include "coord/cli/config/config_session.h"
#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "store/base/clock.h"

enum { OUT_MAX = 16 << 20 };

struct config_history_cmd {
	enum config_name name;
};

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	struct config_history_cmd *history = ctx;

	return config_name_parse(pl_span_str(options->args[0]), &history->name, err);
}

static enum pl_code print_history(const struct cli_session *cli,
                                  const struct config_found *found, struct pl_buf *out,
                                  struct pl_err *err)
{
	struct pl_arena *arena = &cli->session->arena;
	struct output_row *rows = pl_arena_zalloc(arena, found->count + 1, sizeof *rows);
	int64_t now_ms = pl_clock_wall_ms();
	struct output output;
	enum pl_code code = rows == NULL ? PL_NOMEM : PL_OK;

	for (size_t i = 0; i < found->count && code == PL_OK; i++)
		code = config_version_row(&found->versions[i], now_ms, arena, &rows[i]);
	if (code != PL_OK)
		return pl_err_set(err, code, "rows of a history");
	output_init(&output, &config_version_schema, cli->options->format, false);
	return output_list(&output, rows, found->count, out, err);
}

static enum pl_code history_run(void *ctx, const struct cli_session *cli,
                                struct pl_err *err)
{
	const struct config_history_cmd *history = ctx;
	const char *name = config_name_text(history->name);
	struct config_found found;
	struct pl_buf out;
	enum pl_code code =
		config_session_history(cli->session, history->name, 0, &found, err);

	if (code != PL_OK)
		return code;
	if (found.count == 0)
		print_message("%s: no version yet, the default holds", name);
	if (found.current_err.code != PL_OK)
		print_message("%s: the current version is unknown: %s", name,
		              found.current_err.msg);
	if (found.more)
		print_message("%s: there are older ones", name);
	pl_buf_init(&out, OUT_MAX);
	code = print_history(cli, &found, &out, err);
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	return code;
}

static const struct options_spec spec = {
	.words = "config history",
	.of_store = "the API shows the current version only",
	.usage = "NAME [options]",
	.about =
		"Shows the versions of a configuration, the newest first: who wrote them,\n"
		"when and why, which one is current, and which do not pass the schema.\n",
	.example = "  placet config history coord\n",
	.common = OPTIONS_OUTPUT,
	.args_min = 1,
	.args_max = 1,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct config_history_cmd history = {0};

	return cli_session_run(&spec, argc, argv, history_run, &history);
}

const struct command config_history_command = {
	.words = "config history",
	.summary = "show the versions of a configuration",
	.run = run_command,
	.spec = &spec};
