/* placet delete pod: at once where nobody has placed it, else its shard ends it. */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/ask.h"
#include "coord/cli/pods_given.h"
#include "coord/cli/progress.h"
#include "coord/cli/reach.h"
#include "coord/cli/say.h"
#include "coord/submit/remove.h"
#include "store/base/clock.h"

enum { OPT_IGNORE = OPTIONS_OWN_FIRST, ARGS_MAX = 10000 };

struct job {
	struct pods_given given;
	bool ignore_absent;
	const struct reach *reach;
	struct intake intake;
	unsigned arg; /* the next one */
	struct removal *removal;
	uint64_t absent, garbled;
	struct pl_err err;
};

static enum pl_code take(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct job *job = ctx;

	if (opt != OPT_IGNORE)
		return pods_given_take(&job->given, opt, arg, err);
	job->ignore_absent = true;
	return PL_OK;
}

static enum pl_code check(void *ctx, const struct options *options, struct pl_err *err)
{
	struct job *job = ctx;
	struct pl_span space, name;

	if ((options->arg_count > 0) == (job->given.files.count > 0))
		return pl_err_set(err, PL_INVALID, "want names, or -f FILE");
	for (unsigned i = 0; i < options->arg_count; i++)
		if (pods_given_name(&job->given, options->args[i], &space, &name, err) !=
		    PL_OK)
			return err->code;
	return PL_OK;
}

static enum pl_code next_named(struct job *job, struct remove_pod *out,
                               struct pl_err *err)
{
	const struct options *options = job->reach->options;

	if (job->arg == options->arg_count)
		return PL_NOTFOUND;
	return pods_given_name(&job->given, options->args[job->arg++], &out->space,
	                       &out->name, err);
}

static enum pl_code on_next(void *ctx, struct remove_pod *out, struct pl_err *err)
{
	struct job *job = ctx;
	struct intake_pod pod;
	enum pl_code code;

	if (job->given.files.count == 0)
		return next_named(job, out, err);
	code = intake_next(&job->intake, &pod, err);
	if (code == PL_OK)
		*out = (struct remove_pod){pod.pod.space, pod.pod.name};
	return code;
}

static void on_told(void *ctx, const struct remove_pod *pod, enum remove_what what,
                    const char *why)
{
	static const char *const words[] = {
		[REMOVE_GONE] = "deleted",
		[REMOVE_TERMINATING] = "is terminating",
		[REMOVE_ALREADY] = "is terminating already",
	};
	struct job *job = ctx;

	switch (what) {
	case REMOVE_GONE:
	case REMOVE_TERMINATING:
	case REMOVE_ALREADY:
		(void)printf(PL_SPAN_FMT "/" PL_SPAN_FMT " %s\n", PL_SPAN_ARG(pod->space),
		             PL_SPAN_ARG(pod->name), words[what]);
		break;
	case REMOVE_ABSENT:
		job->absent++;
		if (!job->ignore_absent)
			say(PL_SPAN_FMT "/" PL_SPAN_FMT ": no such pod",
			    PL_SPAN_ARG(pod->space), PL_SPAN_ARG(pod->name));
		break;
	case REMOVE_GARBLED:
		job->garbled++;
		say(PL_SPAN_FMT "/" PL_SPAN_FMT " is left as it is: %s",
		    PL_SPAN_ARG(pod->space), PL_SPAN_ARG(pod->name), why);
		break;
	}
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct job *job = ctx;

	job->removal = NULL;
	if (err != NULL)
		job->err = *err;
}

static int64_t wall_ms(void *ctx)
{
	(void)ctx;
	return pl_clock_wall_ms();
}

static enum pl_code run_removal(struct job *job, struct pl_err *err)
{
	struct store_session *session = job->reach->session;
	char who[REACH_WHO_SIZE];
	struct remove_opts opts = {.partitions = job->reach->meta.partitions,
	                           .timeout_ms = session->timeout_ms,
	                           .wall_ms = wall_ms,
	                           .who = reach_who(who),
	                           .next = on_next,
	                           .told = on_told,
	                           .done = on_done,
	                           .ctx = job};
	enum pl_code code = remove_open(session->kv, &opts, &job->removal, err);

	if (code != PL_OK)
		return code;
	while (job->removal != NULL)
		(void)uv_run(&session->loop, UV_RUN_ONCE);
	(void)fflush(stdout);
	if (job->err.code != PL_OK) {
		*err = job->err;
		return err->code;
	}
	if (job->garbled > 0)
		return pl_err_set(err, PL_INVALID, "%" PRIu64 " left as they are",
		                  job->garbled);
	if (job->absent > 0 && !job->ignore_absent)
		return pl_err_set(err, PL_NOTFOUND, "%" PRIu64 " not there", job->absent);
	return PL_OK;
}

static enum pl_code confirm(struct job *job, uint64_t pods, struct pl_err *err)
{
	char question[64];

	(void)snprintf(question, sizeof question, "Delete %" PRIu64 " pod%s?", pods,
	               pods == 1 ? "" : "s");
	return ask(job->reach->options, question, err);
}

static enum pl_code delete_all(void *ctx, const struct reach *reach, struct pl_err *err)
{
	struct job *job = ctx;
	bool files = job->given.files.count > 0;
	enum pl_code code = PL_OK;

	job->reach = reach;
	if (files)
		code = pods_given_intake(&job->given, reach->meta.partitions, false,
		                         &job->intake, err);
	if (code != PL_OK)
		return code;
	code = confirm(job, files ? job->intake.pods : reach->options->arg_count, err);
	if (code == PL_OK)
		code = run_removal(job, err);
	if (files)
		intake_close(&job->intake);
	return code;
}

static const struct option own[] = {
	PODS_GIVEN_OPTIONS,
	{"ignore-not-found", no_argument, NULL, OPT_IGNORE},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "delete pod",
	.usage = "<namespace>/<name>... | -f FILE [options]",
	.about =
		"Deletes pods. One that nobody has placed yet, and one that is over, is\n"
		"gone at once, with all of its keys. One that has a place is marked\n"
		"Terminating and keeps its place: the shard that owns it ends it, and\n"
		"gives the place back in the transaction that removes it. With -f, the\n"
		"pods that placet submit would make of those files.\n",
	.help = "  -f, --filename PATH    as of placet submit\n"
		"  -n, --namespace NAME   of names without one (default default)\n"
		"  --ignore-not-found     a pod that is not there is no failure\n",
	.example = "  placet delete pod shop/web-0\n"
		   "  placet delete pod -f jobs/ --yes --ignore-not-found\n",
	.exits = "0 all are gone or marked, 1 some is not there or could not be, 2 wrong "
		 "usage",
	.common = OPTIONS_YES,
	.args_max = ARGS_MAX,
	.own = own,
	.take = take,
	.check = check,
};

static enum exit_code run(int argc, char **argv)
{
	struct job job = {.ignore_absent = false};
	enum exit_code exit_code = reach_run(&spec, argc, argv, delete_all, &job);

	files_done(&job.given.files);
	return exit_code;
}

const struct command delete_pod_command = {
	.words = "delete pod", .summary = "delete pods", .run = run};
