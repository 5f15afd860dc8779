/* placet delete budget, delete pdb. */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/budgets/budget_edit.h"
#include "coord/cli/out/say.h"
#include "coord/cli/pods/pods_given.h"
#include "coord/cli/reach/ask.h"
#include "coord/cli/reach/reach.h"
#include "store/keys/names.h"

enum { OPT_IGNORE = OPTIONS_OWN_FIRST, BUDGETS_MAX = 10000 };

struct job {
	const char *space;
	bool ignore_absent;
};

static enum pl_code name_of(const struct job *job, const char *arg, struct pl_span *space,
                            struct pl_span *name, struct pl_err *err)
{
	const char *slash = strchr(arg, '/');
	enum pl_code code;

	*space = pl_span_str(job->space == NULL ? "default" : job->space);
	*name = pl_span_str(slash == NULL ? arg : slash + 1);
	if (slash != NULL)
		*space = pl_span(arg, (size_t)(slash - arg));
	code = names_check(NAMES_NAMESPACE, *space, err);
	return code == PL_OK ? names_check(NAMES_BUDGET, *name, err) : code;
}

static enum pl_code take(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct job *job = ctx;

	if (opt == OPT_IGNORE) {
		job->ignore_absent = true;
		return PL_OK;
	}
	job->space = arg;
	if (names_check(NAMES_NAMESPACE, pl_span_str(arg), err) == PL_OK)
		return PL_OK;
	return pl_err_wrap(err, "--namespace");
}

static enum pl_code check(void *ctx, const struct options *options, struct pl_err *err)
{
	struct pl_span space, name;

	for (unsigned i = 0; i < options->arg_count; i++)
		if (name_of(ctx, options->args[i], &space, &name, err) != PL_OK)
			return err->code;
	return PL_OK;
}

static enum pl_code delete_all(void *ctx, const struct reach *reach, struct pl_err *err)
{
	const struct options *options = reach->options;
	const struct job *job = ctx;
	uint64_t absent = 0;
	char question[64];
	enum pl_code code;

	(void)snprintf(question, sizeof question, "Delete %u budget%s?",
	               options->arg_count, options->arg_count == 1 ? "" : "s");
	code = ask(options, question, err);
	for (unsigned i = 0; i < options->arg_count && code == PL_OK; i++) {
		struct pl_span space, name;

		code = name_of(job, options->args[i], &space, &name, err);
		if (code == PL_OK)
			code = budget_delete(reach->session, space, name, err);
		if (code == PL_OK)
			(void)printf(PL_SPAN_FMT "/" PL_SPAN_FMT " deleted\n",
			             PL_SPAN_ARG(space), PL_SPAN_ARG(name));
		if (code != PL_NOTFOUND)
			continue;
		code = PL_OK;
		absent++;
		if (!job->ignore_absent)
			say(PL_SPAN_FMT "/" PL_SPAN_FMT ": no such budget",
			    PL_SPAN_ARG(space), PL_SPAN_ARG(name));
	}
	if (code == PL_OK && absent > 0 && !job->ignore_absent)
		return pl_err_set(err, PL_NOTFOUND, "%" PRIu64 " not there", absent);
	return code;
}

static const struct option own[] = {
	{"namespace", required_argument, NULL, 'n'},
	{"ignore-not-found", no_argument, NULL, OPT_IGNORE},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "delete budget",
	.usage = "<namespace>/<name>... [options]",
	.about =
		"Deletes PodDisruptionBudgets: their pods may be evicted from then on.\n",
	.help = "  -n, --namespace NAME   of names without one (default default)\n"
		"  --ignore-not-found     a budget that is not there is no failure\n",
	.example = "  placet delete budget shop/web\n",
	.exits = "0 all are gone, 1 some is not there or could not be, 2 wrong usage",
	.common = OPTIONS_YES,
	.args_min = 1,
	.args_max = BUDGETS_MAX,
	.own = own,
	.take = take,
	.check = check,
};

static enum exit_code run(int argc, char **argv)
{
	struct job job = {.space = NULL};

	return reach_run(&spec, argc, argv, delete_all, &job);
}

const struct command delete_budget_command = {
	.words = "delete budget", .summary = "delete disruption budgets", .run = run};
const struct command delete_pdb_command = {
	.words = "delete pdb", .summary = "the same as delete budget", .run = run};
