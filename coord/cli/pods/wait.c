/* placet wait: until pods are bound (wait_bound.h), or gone (wait_gone.h). */
#include <string.h>

#include "coord/cli/pods/wait_bound.h"
#include "coord/cli/pods/wait_gone.h"
#include "coord/service/input/label_query.h"
#include "store/base/duration.h"

enum {
	OPT_FOR = OPTIONS_OWN_FIRST,
	OPT_ALL,
	OPT_TIMEOUT,
	OPT_SUMMARY,
	OPT_SELECTOR = 'l',
	TIMEOUT_DEFAULT_MS = 300000,
	TIMEOUT_MAX_MS = 86400000,
	ARGS_MAX = 10000,
};

struct wait_job {
	struct pods_args given;
	struct label_query query;
	struct wait_bound bound;
	bool bound_asked, gone_args;
};

static enum pl_code wait_any(void *ctx, const struct cli_session *cli, struct pl_err *err)
{
	struct wait_job *job = ctx;

	if (job->gone_args)
		return wait_gone(cli, &job->given, job->bound.timeout_ms, err);
	return wait_bound(cli, &job->bound, err);
}

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct wait_job *job = ctx;

	switch (opt) {
	case OPT_FOR:
		job->bound_asked = strcmp(arg, "bound") == 0;
		job->gone_args = strcmp(arg, "delete") == 0;
		if (job->bound_asked || job->gone_args)
			return PL_OK;
		return pl_err_set(err, PL_INVALID, "--for=%s: want bound or delete", arg);
	case OPT_ALL:
		job->bound.all = true;
		return PL_OK;
	case OPT_SELECTOR:
		if (label_query_parse(pl_span_str(arg), &job->query, err) == PL_OK)
			return PL_OK;
		return pl_err_wrap(err, "--selector");
	case OPT_SUMMARY:
		job->bound.summary = true;
		return PL_OK;
	case OPT_TIMEOUT:
		if (pl_duration_ms(pl_span_str(arg), 1, TIMEOUT_MAX_MS,
		                   &job->bound.timeout_ms, err) == PL_OK)
			return PL_OK;
		return pl_err_wrap(err, "--timeout");
	default:
		return pods_args_set(&job->given, opt, arg, err);
	}
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	struct wait_job *job = ctx;
	unsigned ways = (unsigned)job->bound.all + (job->query.requirements > 0) +
	                (options->arg_count > 0) + (job->given.files.count > 0);

	if (!job->bound_asked && !job->gone_args)
		return pl_err_set(err, PL_INVALID, "want --for=bound or --for=delete");
	if (ways != 1)
		return pl_err_set(err, PL_INVALID,
		                  "want names, -f FILE, --selector or --all");
	job->bound.all = job->bound.all || job->query.requirements > 0;
	if (job->gone_args && (job->bound.all || job->bound.summary))
		return pl_err_set(
			err, PL_INVALID,
			"--for=delete: want names or -f FILE, and no --summary");
	return PL_OK;
}

static const struct option own[] = {
	PODS_ARGS_OPTIONS,
	{"for", required_argument, NULL, OPT_FOR},
	{"all", no_argument, NULL, OPT_ALL},
	{"selector", required_argument, NULL, OPT_SELECTOR},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"summary", no_argument, NULL, OPT_SUMMARY},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "wait",
	.of_store = "kubectl wait does it there",
	.usage = "--for=bound|delete <namespace>/<name>... | -f FILE | -l LABELS | --all "
		 "[options]",
	.about =
		"Waits until pods are bound. A pod that has ended counts as bound. A pod that\n"
		"is deleted before it was bound, or that is being deleted when it is first\n"
		"seen, is reported as a failure; with --selector and --all it is left out.\n"
		"With --for=delete, waits until pods do not exist any more.\n",
	.help = "  --for=bound            what to wait for; --for=delete takes names or -f\n"
		"  -f, --filename PATH    the pods that placet submit makes of it; they need\n"
		"                         not exist yet\n"
		"  -n, --namespace NAME   of names without one (default default); with -l\n"
		"                         and --all only pods of it (default all)\n"
		"  -l, --selector LABELS  pods with these labels, as app=web,tier!=db or\n"
		"                         'track in (a,b)'; no such pod is a failure\n"
		"  --all                  every pod in the store\n"
		"  --timeout DURATION     of the whole wait (default 5m)\n"
		"  --summary              then print how long the pods waited, on which\n"
		"                         clusters they are and which shards placed them\n",
	.example = "  placet wait --for=bound -f deployment.yaml --timeout=2m\n"
		   "  placet wait --for=bound -n shop -l app=web\n"
		   "  placet wait --for=bound --all\n"
		   "  placet wait --for=delete shop/web-0\n",
	.exits = "0 all pods are bound, or gone, 1 some are not, 2 wrong usage",
	.common = 0,
	.args_max = ARGS_MAX,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct wait_job job = {.bound = {.timeout_ms = TIMEOUT_DEFAULT_MS}};
	enum exit_code exit_code;

	job.bound.given = &job.given;
	job.bound.query = &job.query;
	exit_code = cli_session_run(&spec, argc, argv, wait_any, &job);
	files_done(&job.given.files);
	return exit_code;
}

const struct command wait_command = {.words = "wait",
                                     .summary = "wait until pods are bound, or gone",
                                     .run = run_command,
                                     .spec = &spec};
