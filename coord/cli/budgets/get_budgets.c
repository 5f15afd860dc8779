/* placet get budgets, get pdb: how many pods may be disturbed, and why no more. */
#include <inttypes.h>
#include <stdlib.h>

#include "coord/cli/budgets/get_budgets_api.h"
#include "coord/cli/output/message.h"
#include "coord/cli/output/output.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/service/budgets/budget_list.h"
#include "store/base/alloc.h"
#include "store/base/arena.h"
#include "store/keys/names.h"

enum { PRINT_MAX = 256 << 20, CHUNK = 1 << 16 };

static const struct output_column columns[] = {
	[SPACE] = {"NAMESPACE", "namespace", OUTPUT_ALWAYS},
	[NAME] = {"NAME", "name", OUTPUT_ALWAYS},
	[MIN_AVAILABLE] = {"MIN AVAILABLE", "min_available", OUTPUT_ALWAYS},
	[MAX_UNAVAILABLE] = {"MAX UNAVAILABLE", "max_unavailable", OUTPUT_ALWAYS},
	[EXPECTED] = {"PODS", "expected", OUTPUT_ALWAYS},
	[DESIRED] = {"DESIRED", "desired", OUTPUT_ON_WIDE},
	[HEALTHY] = {"HEALTHY", "healthy", OUTPUT_ALWAYS},
	[ALLOWED] = {"ALLOWED DISRUPTIONS", "allowed", OUTPUT_ALWAYS},
	[DISRUPTED] = {"DISRUPTED", "disrupted", OUTPUT_ON_WIDE},
	[NOTE] = {"NOTE", "note", OUTPUT_IF_USED},
};

const struct output_schema budget_schema = {"Budget", columns, COLUMN_COUNT, 2};

struct get_budgets {
	const char *namespace; /* NULL: all */
};

/* The amount lives in the arena. */
static enum pl_code fill_row(const struct budget_info *it, struct pl_arena *arena,
                             struct output_row *row)
{
	const struct budget_status *status = &it->status;
	char *amount = pl_arena_printf(arena, "%" PRIu32 "%s", it->rule.amount,
	                               it->rule.percent ? "%" : "");
	unsigned column =
		it->rule.kind == BUDGET_MIN_AVAILABLE ? MIN_AVAILABLE : MAX_UNAVAILABLE;

	if (amount == NULL)
		return PL_NOMEM;
	output_text(row, SPACE, it->namespace);
	output_text(row, NAME, it->name);
	output_text(row, NOTE, it->note);
	if (it->note.len > 0)
		return PL_OK;
	if (it->rule.kind != BUDGET_NOTHING)
		output_text(row, column, pl_span_str(amount));
	output_int(row, DISRUPTED, it->disrupted);
	if (!it->counted) {
		output_text(row, NOTE, PL_SPAN_LIT("not counted yet"));
		return PL_OK;
	}
	output_int(row, EXPECTED, status->expected);
	output_int(row, DESIRED, status->desired);
	output_int(row, HEALTHY, status->healthy);
	output_int(row, ALLOWED, status->allowed);
	return PL_OK;
}

static enum pl_code print_budgets(const struct budget_list *list,
                                  const struct cli_session *cli, struct pl_err *err)
{
	size_t count;
	const struct budget_info *budgets = budget_list_budgets(list, &count);
	struct output_row *rows = pl_calloc(count + 1, sizeof *rows);
	enum pl_code code = PL_OK;
	struct pl_arena arena;
	struct output output;
	struct pl_buf out;

	if (rows == NULL)
		return pl_err_set(err, PL_NOMEM, "print the budgets");
	if (count == 0)
		print_message("no budgets");
	pl_arena_init(&arena, CHUNK, 0);
	for (size_t i = 0; i < count && code == PL_OK; i++)
		code = fill_row(&budgets[i], &arena, &rows[i]);
	output_init(&output, &budget_schema, cli->options->format, false);
	pl_buf_init(&out, PRINT_MAX);
	if (code != PL_OK)
		(void)pl_err_set(err, code, "print the budgets");
	else
		code = output_list(&output, rows, count, &out, err);
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	pl_arena_done(&arena);
	free(rows);
	return code;
}

static enum pl_code get_budgets_run(void *ctx, const struct cli_session *cli,
                                    struct pl_err *err)
{
	const struct get_budgets *get = ctx;
	struct cli_wait wait = {0};
	const struct budget_list_opts opts = {.namespace = pl_span_str(get->namespace),
	                                      .done = cli_wait_end,
	                                      .ctx = &wait};
	struct budget_list *list;
	enum pl_code code = budget_list_start(&cli->service, &opts, &list, err);

	if (code != PL_OK)
		return code;
	code = cli_wait_for(cli->session, &wait, err);
	if (code == PL_OK)
		code = print_budgets(list, cli, err);
	budget_list_free(list);
	return code;
}

static enum pl_code get_budgets_ask(void *ctx, struct api_session *api,
                                    struct pl_err *err)
{
	const struct get_budgets *get = ctx;

	return get_budgets_api(api, pl_span_str(get->namespace), err);
}

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct get_budgets *get = ctx;

	(void)opt;
	get->namespace = arg;
	if (names_check(NAMES_NAMESPACE, pl_span_str(arg), err) == PL_OK)
		return PL_OK;
	return pl_err_wrap(err, "--namespace");
}

static const struct option own[] = {
	{"namespace", required_argument, NULL, 'n'},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "get budgets",
	.usage = "[options]",
	.about =
		"Shows PodDisruptionBudgets: how many pods each covers, how many of these\n"
		"are healthy, and how many may be evicted now. A malformed budget is shown\n"
		"with the reason.\n",
	.help = "  -n, --namespace NAME   only budgets of this namespace\n",
	.example = "  placet get budgets -n shop\n",
	.common = OPTIONS_OUTPUT | OPTIONS_NAMES | OPTIONS_API,
	.args_max = 0,
	.own = own,
	.take = set_option,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct get_budgets get = {.namespace = NULL};

	return cli_session_run_either(&spec, argc, argv, get_budgets_run, get_budgets_ask,
	                              &get);
}

const struct command get_budgets_command = {.words = "get budgets",
                                            .summary = "show disruption budgets",
                                            .run = run_command,
                                            .spec = &spec};
const struct command get_pdb_command = {.words = "get pdb",
                                        .summary = "the same as get budgets",
                                        .run = run_command,
                                        .spec = &spec};
