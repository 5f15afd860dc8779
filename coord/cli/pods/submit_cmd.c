/*
 * placet submit: pods, and what pods are made of, from files into the store.
 *
 * Everything is read and checked before the first pod is written, then read again while
 * it is written: so nothing is written when something is refused, and a million pods need
 * no more memory than a few transactions, and their names' hashes (twice.h).
 */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/budgets/budget_edit.h"
#include "coord/cli/out/progress.h"
#include "coord/cli/out/say.h"
#include "coord/cli/pods/pods_given.h"
#include "coord/cli/reach/reach.h"
#include "coord/submit/submit.h"

enum { OPT_KEEP_GOING = OPTIONS_OWN_FIRST, OPT_STRICT, SAID_MAX = 20 };

struct job {
	struct pods_given given;
	bool keep_going;
	const struct reach *reach;
	struct intake intake;
	struct submit *submit; /* NULL: over */
	struct submit_counts counts;
	uint64_t budgets[BUDGET_UNCHANGED + 1];
	struct progress progress;
	struct pl_timer timer;
	struct pl_err err;
	unsigned said;
};

static enum pl_code take(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct job *job = ctx;

	switch (opt) {
	case OPT_KEEP_GOING:
		job->keep_going = true;
		return PL_OK;
	case OPT_STRICT:
		job->given.fields = INTAKE_FIELDS_REFUSE;
		return PL_OK;
	default:
		return pods_given_take(&job->given, opt, arg, err);
	}
}

static enum pl_code check(void *ctx, const struct options *options, struct pl_err *err)
{
	struct job *job = ctx;

	(void)options;
	return job->given.files.count > 0 ? PL_OK
	                                  : pl_err_set(err, PL_INVALID, "want -f FILE");
}

/* -- while it goes on ----------------------------------------------------- */

static enum pl_code on_next(void *ctx, struct submit_pod *out, struct pl_err *err)
{
	struct job *job = ctx;
	struct intake_pod pod;
	enum pl_code code = intake_next(&job->intake, &pod, err);

	if (code == PL_OK)
		*out = (struct submit_pod){.space = pod.pod.space,
		                           .name = pod.pod.name,
		                           .spec = pod.pod.json,
		                           .home = pod.home};
	return code;
}

static void on_exists(void *ctx, const struct submit_pod *pod)
{
	struct job *job = ctx;

	if (++job->said > SAID_MAX)
		return;
	progress_end(&job->progress);
	say(PL_SPAN_FMT "/" PL_SPAN_FMT " is there with another spec, and stays as it is",
	    PL_SPAN_ARG(pod->space), PL_SPAN_ARG(pod->name));
}

static void on_leaving(void *ctx, const struct submit_pod *pod)
{
	struct job *job = ctx;

	if (++job->said > SAID_MAX)
		return;
	progress_end(&job->progress);
	say(PL_SPAN_FMT "/" PL_SPAN_FMT " is being deleted, and is not submitted",
	    PL_SPAN_ARG(pod->space), PL_SPAN_ARG(pod->name));
}

static void on_done(void *ctx, const struct submit_counts *counts,
                    const struct pl_err *err)
{
	struct job *job = ctx;

	job->submit = NULL;
	job->counts = *counts;
	if (err != NULL)
		job->err = *err;
}

static uint64_t settled(const struct submit_counts *counts)
{
	return counts->submitted + counts->unchanged + counts->others + counts->leaving;
}

static void on_tick(void *ctx)
{
	struct job *job = ctx;
	uint64_t now_ms = kv_now_ms(job->reach->session->kv);
	uint64_t count;

	if (job->submit == NULL)
		return;
	count = settled(submit_counts(job->submit));
	progress_say(&job->progress, now_ms,
	             "%" PRIu64 " of %" PRIu64 " pods %s, %.0f/s, %" PRIu64 " left",
	             count, job->intake.pods,
	             job->reach->options->dry_run ? "looked at" : "submitted",
	             progress_rate(&job->progress, now_ms, count),
	             job->intake.pods -
	                     (count < job->intake.pods ? count : job->intake.pods));
	pl_timer_set(&job->timer, now_ms + PROGRESS_EACH_MS);
}

static enum pl_code run_submit(struct job *job, struct pl_err *err)
{
	struct store_session *session = job->reach->session;
	struct submit_opts opts = {.dry_run = job->reach->options->dry_run,
	                           .timeout_ms = session->timeout_ms,
	                           .next = on_next,
	                           .exists = on_exists,
	                           .leaving = on_leaving,
	                           .done = on_done,
	                           .ctx = job};
	enum pl_code code =
		pl_timer_init(&job->timer, kv_timers(session->kv), on_tick, job);

	if (code != PL_OK)
		return pl_err_set(err, code, "submit");
	progress_init(&job->progress, kv_now_ms(session->kv));
	code = submit_open(session->kv, &opts, &job->submit, err);
	if (code == PL_OK) {
		on_tick(job);
		while (job->submit != NULL)
			(void)uv_run(&session->loop, UV_RUN_ONCE);
		progress_end(&job->progress);
		code = job->err.code;
		if (code != PL_OK)
			*err = job->err;
	}
	pl_timer_done(&job->timer);
	return code;
}

/* -- and afterwards ------------------------------------------------------- */

static void print_words(const struct job *job)
{
	const struct submit_counts *counts = &job->counts;

	(void)printf("%" PRIu64 " %ssubmitted, %" PRIu64 " unchanged", counts->submitted,
	             job->reach->options->dry_run ? "would be " : "", counts->unchanged);
	if (counts->leaving > 0)
		(void)printf(", %" PRIu64 " being deleted", counts->leaving);
	(void)printf("%s\n", counts->others > 0 ? ", and others are there" : "");
}

static void print_json(const struct job *job)
{
	const struct submit_counts *counts = &job->counts;
	bool dry_run = job->reach->options->dry_run;

	(void)printf(
		"{\"kind\":\"%s\",\"submitted\":%" PRIu64 ",\"unchanged\":%" PRIu64
		",\"others\":%" PRIu64 ",\"leaving\":%" PRIu64 ",\"refused\":%" PRIu64,
		dry_run ? "SubmitCheck" : "SubmitResult", counts->submitted,
		counts->unchanged, counts->others, counts->leaving, job->intake.refused);
	if (dry_run)
		(void)printf("}\n");
	else
		(void)printf(",\"budgets\":{\"created\":%" PRIu64 ",\"changed\":%" PRIu64
		             ",\"unchanged\":%" PRIu64 "}}\n",
		             job->budgets[BUDGET_CREATED], job->budgets[BUDGET_CHANGED],
		             job->budgets[BUDGET_UNCHANGED]);
}

static void print_counts(const struct job *job)
{
	if (job->reach->options->format == OUTPUT_JSON)
		print_json(job);
	else
		print_words(job);
	(void)fflush(stdout);
}

/* With what became of the others, where both are so. */
static enum pl_code say_leaving(uint64_t leaving, uint64_t others, struct pl_err *err)
{
	bool one = leaving == 1;

	(void)pl_err_set(err, PL_EXISTS,
	                 "%" PRIu64 " pod%s being deleted, and w%s not submitted; submit "
	                 "%s again when %s gone, which placet wait --for=delete tells",
	                 leaving, one ? " is" : "s are", one ? "as" : "ere",
	                 one ? "it" : "them", one ? "it is" : "they are");
	if (others == 0)
		return err->code;
	return pl_err_wrap(err,
	                   "%" PRIu64 " pod%s there with another spec, and nothing was "
	                   "changed there",
	                   others, others == 1 ? " is" : "s are");
}

static enum pl_code verdict(const struct job *job, struct pl_err *err)
{
	uint64_t left = job->intake.pods - settled(&job->counts);

	if (job->err.code != PL_OK) {
		*err = job->err;
		return pl_err_wrap(err, "%" PRIu64 " pods left", left);
	}
	if (job->counts.leaving > 0)
		return say_leaving(job->counts.leaving, job->counts.others, err);
	if (job->counts.others == 1)
		return pl_err_set(err, PL_EXISTS,
		                  "1 pod is there with another spec, and nothing was "
		                  "changed in it; delete it first, or give the new one "
		                  "another name");
	if (job->counts.others > 0)
		return pl_err_set(err, PL_EXISTS,
		                  "%" PRIu64 " pods are there with another spec, and "
		                  "nothing was changed in them; delete them first, or "
		                  "give the new ones other names",
		                  job->counts.others);
	if (job->intake.refused > 0)
		return pl_err_set(err, PL_INVALID, "%" PRIu64 " refused",
		                  job->intake.refused);
	return PL_OK;
}

/* Before the pods: who is placed is protected at once. */
static enum pl_code put_budgets(struct job *job, struct pl_err *err)
{
	static const char *const words[] = {[BUDGET_CREATED] = "created",
	                                    [BUDGET_CHANGED] = "changed",
	                                    [BUDGET_UNCHANGED] = "unchanged"};
	bool table = job->reach->options->format != OUTPUT_JSON;

	for (uint32_t i = 0; i < job->intake.budgets; i++) {
		const struct budget_given *given = &job->intake.budget[i];
		enum budget_outcome outcome;

		if (budget_put(job->reach->session, given, &outcome, err) != PL_OK)
			return pl_err_wrap(err, "budget " PL_SPAN_FMT "/" PL_SPAN_FMT,
			                   PL_SPAN_ARG(given->space),
			                   PL_SPAN_ARG(given->name));
		job->budgets[outcome]++;
		if (table)
			(void)printf("budget " PL_SPAN_FMT "/" PL_SPAN_FMT " %s\n",
			             PL_SPAN_ARG(given->space), PL_SPAN_ARG(given->name),
			             words[outcome]);
	}
	return PL_OK;
}

static enum pl_code submit_all(void *ctx, const struct reach *reach, struct pl_err *err)
{
	struct job *job = ctx;
	enum pl_code code;

	job->reach = reach;
	code = pods_given_intake(&job->given, reach->meta.partitions, job->keep_going,
	                         &job->intake, err);
	if (code != PL_OK)
		return code;
	if (!reach->options->dry_run)
		code = put_budgets(job, err);
	if (code == PL_OK)
		code = run_submit(job, err);
	if (code == PL_OK || job->err.code != PL_OK) {
		print_counts(job);
		code = verdict(job, err);
	}
	intake_close(&job->intake);
	return code;
}

static const struct option own[] = {
	PODS_GIVEN_OPTIONS,
	{"keep-going", no_argument, NULL, OPT_KEEP_GOING},
	{"strict", no_argument, NULL, OPT_STRICT},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "submit",
	.usage = "-f FILE [options]",
	.about =
		"Submits pods: Pod objects, and the pods of Deployment, ReplicaSet,\n"
		"StatefulSet and Job objects, with names and uids that stay the same. All\n"
		"of it is read and checked first; nothing is written when something is\n"
		"refused. What is there already, as it would be written, is left alone: to\n"
		"submit again changes nothing. A pod that is there with another spec stays\n"
		"as it is, and is told; one that is being deleted is not submitted.\n"
		"PodDisruptionBudget objects are created, or changed, before the pods.\n"
		"Annotations placet.io/gang: NAME and placet.io/gang-min: NUMBER make pods\n"
		"a gang, which is placed together or not at all.\n"
		"PriorityClass objects in the same input say what priorities are. Other\n"
		"kinds are passed over.\n",
	.help = "  -f, --filename PATH    JSON or YAML, one object or many, a List, an "
		"object a\n"
		"                         line, gzip; a directory; - is standard input;\n"
		"                         may be given again\n"
		"  -n, --namespace NAME   of objects that name none (default default)\n"
		"  --keep-going           submit the others when some are refused\n"
		"  --strict               refuse fields that Kubernetes does not have, instead\n"
		"                         of a warning\n",
	.example = "  placet submit -f deployment.yaml -f jobs/\n"
		   "  kubectl get deploy web -o json | placet submit -f -\n",
	.exits = "0 every pod is there, 1 some is refused, is there with another spec "
		 "or\nis being deleted, or it could not be done, 2 wrong usage",
	.common = OPTIONS_DRY_RUN | OPTIONS_FORMAT,
	.args_max = 0,
	.own = own,
	.take = take,
	.check = check,
};

static enum exit_code run(int argc, char **argv)
{
	struct job job = {.given = {.fields = INTAKE_FIELDS_TELL, .once = true}};
	enum exit_code exit_code = reach_run(&spec, argc, argv, submit_all, &job);

	files_done(&job.given.files);
	return exit_code;
}

const struct command submit_command = {.words = "submit",
                                       .summary =
                                               "submit pods, and what pods are made of",
                                       .run = run};
