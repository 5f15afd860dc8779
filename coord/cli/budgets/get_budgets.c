/* placet get budgets, get pdb: how many pods may be disturbed, and why no more. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/listing.h"
#include "shardsched/records/budget_record.h"
#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/keys/names.h"

enum { BUDGETS_MAX = 1000000, PRINT_MAX = 256 << 20, TEXT_SIZE = 32, CHUNK = 1 << 20 };

enum budget_column {
	SPACE,
	NAME,
	MIN_AVAILABLE,
	MAX_UNAVAILABLE,
	EXPECTED,
	DESIRED,
	HEALTHY,
	ALLOWED,
	DISRUPTED,
	NOTE,
	COLUMN_COUNT,
};

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

static const struct output_schema schema = {"Budget", columns, COLUMN_COUNT, 2};

struct budget_found {
	struct pl_span namespace, name, note;
	struct budget_rule rule;
	struct budget_record record; /* its counts */
	char amount[TEXT_SIZE];
};

struct get_budgets {
	const char *namespace; /* NULL: all */
	struct pl_arena arena, scratch;
	struct model model;
	struct budget_found *found;
	size_t count, cap;
};

static bool grow_rows(struct get_budgets *get)
{
	size_t cap = get->cap == 0 ? 64 : get->cap * 2;
	struct budget_found *grown = NULL;

	if (get->count < get->cap)
		return true;
	if (cap <= BUDGETS_MAX)
		grown = pl_realloc(get->found, cap * sizeof *grown);
	if (grown == NULL)
		return false;
	get->found = grown;
	get->cap = cap;
	return true;
}

static enum pl_code read_budget(struct get_budgets *get, const struct keys_id *id,
                                struct pl_span value, struct budget_found *out,
                                struct pl_err *err)
{
	struct parse parse = {.model = &get->model, .arena = &get->scratch};
	struct budget budget = {0};
	enum pl_code code;

	pl_arena_reset(&get->scratch);
	code = budget_record_parse(value, &get->scratch, &out->record, err);
	if (code == PL_OK)
		code = budget_record_object(&out->record, &parse, id->scope, id->name,
		                            &budget, err);
	out->rule = budget.rule;
	budget_drop(&get->model, &budget);
	return code;
}

static enum pl_code on_budget(void *ctx, const struct kv_record *record,
                              struct pl_err *err)
{
	struct get_budgets *get = ctx;
	struct pl_err why = {0};
	struct budget_found *out;
	struct keys_id id;
	enum pl_code code;

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != KEYS_BUDGET)
		return PL_OK;
	if (!grow_rows(get))
		return pl_err_set(err, PL_NOMEM, "keep the budgets");
	out = &get->found[get->count];
	*out = (struct budget_found){.namespace = pl_arena_dup(&get->arena, id.scope),
	                             .name = pl_arena_dup(&get->arena, id.name)};
	code = read_budget(get, &id, record->value, out, &why);
	if (code != PL_OK && code != PL_NOMEM)
		out->note = pl_arena_dup(&get->arena, pl_span_str(why.msg));
	if (code == PL_NOMEM || out->namespace.at == NULL || out->name.at == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the budgets");
	get->count++;
	return PL_OK;
}

static void fill_row(struct budget_found *it, struct output_row *row)
{
	const struct budget_status *status = &it->record.status;
	unsigned column =
		it->rule.kind == BUDGET_MIN_AVAILABLE ? MIN_AVAILABLE : MAX_UNAVAILABLE;

	output_text(row, SPACE, it->namespace);
	output_text(row, NAME, it->name);
	output_text(row, NOTE, it->note);
	if (it->note.len > 0)
		return;
	(void)snprintf(it->amount, sizeof it->amount, "%" PRIu32 "%s", it->rule.amount,
	               it->rule.percent ? "%" : "");
	if (it->rule.kind != BUDGET_NOTHING)
		output_text(row, column, pl_span_str(it->amount));
	output_int(row, DISRUPTED, it->record.disrupted_count);
	if (!it->record.counted) {
		output_text(row, NOTE, PL_SPAN_LIT("not counted yet"));
		return;
	}
	output_int(row, EXPECTED, status->expected);
	output_int(row, DESIRED, status->desired);
	output_int(row, HEALTHY, status->healthy);
	output_int(row, ALLOWED, status->allowed);
}

static enum pl_code print_budgets(struct get_budgets *get, const struct cli_session *cli,
                                  struct pl_err *err)
{
	struct output_row *rows = pl_calloc(get->count + 1, sizeof *rows);
	struct output output;
	struct pl_buf out;
	enum pl_code code;

	if (rows == NULL)
		return pl_err_set(err, PL_NOMEM, "print the budgets");
	if (get->count == 0)
		print_message("no budgets");
	for (size_t i = 0; i < get->count; i++)
		fill_row(&get->found[i], &rows[i]);
	output_init(&output, &schema, cli->options->format, false);
	pl_buf_init(&out, PRINT_MAX);
	code = output_list(&output, rows, get->count, &out, err);
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	free(rows);
	return code;
}

static enum pl_code get_budgets_run(void *ctx, const struct cli_session *cli,
                                    struct pl_err *err)
{
	struct get_budgets *get = ctx;
	struct keys_id id = {.kind = KEYS_BUDGET, .scope = pl_span_str(get->namespace)};
	struct keys_text prefix;
	int64_t revision = 0;
	enum pl_code code =
		keys_prefix(&id, get->namespace == NULL ? 1 : 2, &prefix, err);

	model_init(&get->model);
	pl_arena_init(&get->arena, CHUNK, 0);
	pl_arena_init(&get->scratch, CHUNK, READER_ARENA_MAX);
	if (code == PL_OK)
		code = session_list(cli->session, keys_span(&prefix), &revision,
		                    on_budget, get, err);
	if (code == PL_OK)
		code = print_budgets(get, cli, err);
	pl_arena_done(&get->scratch);
	pl_arena_done(&get->arena);
	model_done(&get->model);
	free(get->found);
	return code;
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
		"are healthy, and how many may be evicted now. One that makes no sense is\n"
		"shown with the reason.\n",
	.help = "  -n, --namespace NAME   only those of a namespace\n",
	.example = "  placet get budgets -n shop\n",
	.common = OPTIONS_OUTPUT | OPTIONS_NAMES,
	.args_max = 0,
	.own = own,
	.take = set_option,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct get_budgets get = {.namespace = NULL};

	return cli_session_run(&spec, argc, argv, get_budgets_run, &get);
}

const struct command get_budgets_command = {
	.words = "get budgets", .summary = "show disruption budgets", .run = run_command};
const struct command get_pdb_command = {
	.words = "get pdb", .summary = "the same as get budgets", .run = run_command};
