/* placet delete budget, delete pdb: one edit after another. */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/input/pods_args.h"
#include "coord/cli/output/message.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/session/confirm.h"
#include "coord/service/budgets/budget_edit.h"
#include "store/keys/names.h"

enum { OPT_IGNORE = OPTIONS_OWN_FIRST, BUDGETS_MAX = 10000 };

struct delete_budget_job {
	const char *namespace;
	bool ignore_absent;
};

static enum pl_code parse_name(const struct delete_budget_job *job, const char *arg,
                               struct pl_span *namespace, struct pl_span *name,
                               struct pl_err *err)
{
	const char *slash = strchr(arg, '/');
	enum pl_code code;

	*namespace = pl_span_str(job->namespace == NULL ? "default" : job->namespace);
	*name = pl_span_str(slash == NULL ? arg : slash + 1);
	if (slash != NULL)
		*namespace = pl_span(arg, (size_t)(slash - arg));
	code = names_check(NAMES_NAMESPACE, *namespace, err);
	return code == PL_OK ? names_check(NAMES_BUDGET, *name, err) : code;
}

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct delete_budget_job *job = ctx;

	if (opt == OPT_IGNORE) {
		job->ignore_absent = true;
		return PL_OK;
	}
	job->namespace = arg;
	if (names_check(NAMES_NAMESPACE, pl_span_str(arg), err) == PL_OK)
		return PL_OK;
	return pl_err_wrap(err, "--namespace");
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	struct pl_span namespace, name;

	for (unsigned i = 0; i < options->arg_count; i++)
		if (parse_name(ctx, options->args[i], &namespace, &name, err) != PL_OK)
			return err->code;
	return PL_OK;
}

static void on_deleted(void *ctx, enum budget_outcome outcome, int64_t revision,
                       const struct pl_err *err)
{
	(void)outcome;
	(void)revision;
	cli_wait_end(ctx, err);
}

static enum pl_code delete_one(const struct cli_session *cli, struct pl_span namespace,
                               struct pl_span name, struct pl_err *err)
{
	struct cli_wait wait = {0};
	struct budget_edit *edit;
	enum pl_code code =
		budget_delete_start(&cli->service, namespace, name, BUDGET_ANY_REVISION,
	                            on_deleted, &wait, &edit, err);

	return code == PL_OK ? cli_wait_for(cli->session, &wait, err) : code;
}

static enum pl_code delete_all(void *ctx, const struct cli_session *cli,
                               struct pl_err *err)
{
	const struct options *options = cli->options;
	const struct delete_budget_job *job = ctx;
	uint64_t absent = 0;
	char question[64];
	enum pl_code code;

	(void)snprintf(question, sizeof question, "Delete %u budget%s?",
	               options->arg_count, options->arg_count == 1 ? "" : "s");
	code = ask(options, question, err);
	for (unsigned i = 0; i < options->arg_count && code == PL_OK; i++) {
		struct pl_span namespace, name;

		code = parse_name(job, options->args[i], &namespace, &name, err);
		if (code == PL_OK)
			code = delete_one(cli, namespace, name, err);
		if (code == PL_OK)
			(void)printf(PL_SPAN_FMT "/" PL_SPAN_FMT " deleted\n",
			             PL_SPAN_ARG(namespace), PL_SPAN_ARG(name));
		if (code != PL_NOTFOUND)
			continue;
		code = PL_OK;
		absent++;
		if (!job->ignore_absent)
			print_message(PL_SPAN_FMT "/" PL_SPAN_FMT ": no such budget",
			              PL_SPAN_ARG(namespace), PL_SPAN_ARG(name));
	}
	if (code == PL_OK && absent > 0 && !job->ignore_absent)
		return pl_err_set(err, PL_NOTFOUND, "%" PRIu64 " not found", absent);
	return code;
}

static const struct option own[] = {
	{"namespace", required_argument, NULL, 'n'},
	{"ignore-not-found", no_argument, NULL, OPT_IGNORE},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "delete budget",
	.of_store = "kubectl delete pdb does it there",
	.usage = "<namespace>/<name>... [options]",
	.about =
		"Deletes PodDisruptionBudgets. The pods they covered may be evicted from then\n"
		"on.\n",
	.help = "  -n, --namespace NAME   of names without a namespace (default default)\n"
		"  --ignore-not-found     a budget that does not exist is no failure\n",
	.example = "  placet delete budget shop/web\n",
	.exits =
		"0 all are deleted, 1 a budget does not exist or the command failed, 2 wrong usage",
	.common = OPTIONS_YES,
	.args_min = 1,
	.args_max = BUDGETS_MAX,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct delete_budget_job job = {.namespace = NULL};

	return cli_session_run(&spec, argc, argv, delete_all, &job);
}

const struct command delete_budget_command = {.words = "delete budget",
                                              .summary = "delete disruption budgets",
                                              .run = run_command,
                                              .spec = &spec};
const struct command delete_pdb_command = {.words = "delete pdb",
                                           .summary = "the same as delete budget",
                                           .run = run_command,
                                           .spec = &spec};
