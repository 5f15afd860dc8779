/*
 * placet submit: pods, and what pods are made of, from files into the store.
 *
 * Everything is read and checked before the first pod is written, then read again while
 * it is written: so nothing is written when something is refused, and a million pods need
 * no more memory than a few transactions, and their names' hashes (duplicates.h).
 */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/input/pods_args.h"
#include "coord/cli/input/stored_intake.h"
#include "coord/cli/output/message.h"
#include "coord/cli/output/progress.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/session/listing.h"
#include "coord/service/budgets/budget_edit.h"
#include "coord/service/submit/submit.h"
#include "store/keys/keys.h"

enum { OPT_KEEP_GOING = OPTIONS_OWN_FIRST, OPT_STRICT, SHOWN_ERRORS_MAX = 20 };

struct submit_job {
	struct pods_args given;
	bool keep_going;
	const struct cli_session *cli;
	struct pod_input pod_input;
	struct submit *submit; /* NULL: over */
	struct submit_counts counts;
	uint64_t budgets[BUDGET_UNCHANGED + 1];
	struct progress progress;
	struct pl_timer timer;
	struct pl_err err;
	unsigned said;
};

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct submit_job *job = ctx;

	switch (opt) {
	case OPT_KEEP_GOING:
		job->keep_going = true;
		return PL_OK;
	case OPT_STRICT:
		job->given.fields = POD_INPUT_FIELDS_REFUSE;
		return PL_OK;
	default:
		return pods_args_set(&job->given, opt, arg, err);
	}
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	struct submit_job *job = ctx;

	(void)options;
	return job->given.files.count > 0 ? PL_OK
	                                  : pl_err_set(err, PL_INVALID, "want -f FILE");
}

/* -- while it goes on ----------------------------------------------------- */

static enum pl_code on_next(void *ctx, struct submit_pod *out, struct pl_err *err)
{
	struct submit_job *job = ctx;
	struct pod_input_pod pod;
	enum pl_code code = pod_input_next(&job->pod_input, &pod, err);

	if (code == PL_OK)
		*out = (struct submit_pod){.namespace = pod.pod.namespace,
		                           .name = pod.pod.name,
		                           .spec = pod.pod.json,
		                           .location = pod.location};
	return code;
}

static void on_exists(void *ctx, const struct submit_pod *pod)
{
	struct submit_job *job = ctx;

	if (++job->said > SHOWN_ERRORS_MAX)
		return;
	progress_end(&job->progress);
	print_message(PL_SPAN_FMT "/" PL_SPAN_FMT
	                          " exists with another spec, and stays as it is",
	              PL_SPAN_ARG(pod->namespace), PL_SPAN_ARG(pod->name));
}

static void on_leaving(void *ctx, const struct submit_pod *pod)
{
	struct submit_job *job = ctx;

	if (++job->said > SHOWN_ERRORS_MAX)
		return;
	progress_end(&job->progress);
	print_message(PL_SPAN_FMT "/" PL_SPAN_FMT
	                          " is being deleted, and is not submitted",
	              PL_SPAN_ARG(pod->namespace), PL_SPAN_ARG(pod->name));
}

static void on_done(void *ctx, const struct submit_counts *counts,
                    const struct pl_err *err)
{
	struct submit_job *job = ctx;

	job->submit = NULL;
	job->counts = *counts;
	if (err != NULL)
		job->err = *err;
}

static uint64_t submitted_count(const struct submit_counts *counts)
{
	return counts->submitted + counts->unchanged + counts->others + counts->leaving;
}

static void on_tick(void *ctx)
{
	struct submit_job *job = ctx;
	uint64_t now_ms = kv_now_ms(job->cli->session->kv);
	uint64_t count;

	if (job->submit == NULL)
		return;
	count = submitted_count(submit_counts(job->submit));
	progress_print(&job->progress, now_ms,
	               "%" PRIu64 " of %" PRIu64 " pods %s, %.0f/s, %" PRIu64 " left",
	               count, job->pod_input.pods,
	               job->cli->options->dry_run ? "looked at" : "submitted",
	               progress_rate(&job->progress, now_ms, count),
	               job->pod_input.pods - (count < job->pod_input.pods
	                                              ? count
	                                              : job->pod_input.pods));
	pl_timer_set(&job->timer, now_ms + PROGRESS_EACH_MS);
}

static enum pl_code submit_pods(struct submit_job *job, struct pl_err *err)
{
	struct store_session *session = job->cli->session;
	struct submit_opts opts = {.dry_run = job->cli->options->dry_run,
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

static void print_words(const struct submit_job *job)
{
	const struct submit_counts *counts = &job->counts;

	(void)printf("%" PRIu64 " %ssubmitted, %" PRIu64 " unchanged", counts->submitted,
	             job->cli->options->dry_run ? "would be " : "", counts->unchanged);
	if (counts->leaving > 0)
		(void)printf(", %" PRIu64 " being deleted", counts->leaving);
	(void)printf("%s\n", counts->others > 0 ? ", and others are there" : "");
}

static void print_json(const struct submit_job *job)
{
	const struct submit_counts *counts = &job->counts;
	bool dry_run = job->cli->options->dry_run;

	(void)printf("{\"kind\":\"%s\",\"submitted\":%" PRIu64 ",\"unchanged\":%" PRIu64
	             ",\"others\":%" PRIu64 ",\"leaving\":%" PRIu64
	             ",\"refused\":%" PRIu64,
	             dry_run ? "SubmitCheck" : "SubmitResult", counts->submitted,
	             counts->unchanged, counts->others, counts->leaving,
	             job->pod_input.refused);
	if (dry_run)
		(void)printf("}\n");
	else
		(void)printf(",\"budgets\":{\"created\":%" PRIu64 ",\"changed\":%" PRIu64
		             ",\"unchanged\":%" PRIu64 "}}\n",
		             job->budgets[BUDGET_CREATED], job->budgets[BUDGET_CHANGED],
		             job->budgets[BUDGET_UNCHANGED]);
}

static void print_counts(const struct submit_job *job)
{
	if (job->cli->options->format == OUTPUT_JSON)
		print_json(job);
	else
		print_words(job);
	(void)fflush(stdout);
}

/* Adds how many pods exist with another spec. */
static enum pl_code print_leaving(uint64_t leaving, uint64_t others, struct pl_err *err)
{
	bool one = leaving == 1;

	(void)pl_err_set(
		err, PL_EXISTS,
		"%" PRIu64 " pod%s being deleted, and w%s not submitted; submit "
		"%s again when %s gone (placet wait --for=delete waits for that)",
		leaving, one ? " is" : "s are", one ? "as" : "ere", one ? "it" : "them",
		one ? "it is" : "they are");
	if (others == 0)
		return err->code;
	return pl_err_wrap(
		err, "%" PRIu64 " pod%s with another spec, and nothing was changed there",
		others, others == 1 ? " exists" : "s exist");
}

static enum pl_code final_error(const struct submit_job *job, struct pl_err *err)
{
	uint64_t left = job->pod_input.pods - submitted_count(&job->counts);

	if (job->err.code != PL_OK) {
		*err = job->err;
		return pl_err_wrap(err, "%" PRIu64 " pods left", left);
	}
	if (job->counts.leaving > 0)
		return print_leaving(job->counts.leaving, job->counts.others, err);
	if (job->counts.others == 1)
		return pl_err_set(err, PL_EXISTS,
		                  "1 pod exists with another spec, and nothing was "
		                  "changed in it; delete it first, or give the new one "
		                  "another name");
	if (job->counts.others > 0)
		return pl_err_set(err, PL_EXISTS,
		                  "%" PRIu64 " pods exist with another spec, and "
		                  "nothing was changed in them; delete them first, or "
		                  "give the new ones other names",
		                  job->counts.others);
	if (job->pod_input.refused > 0)
		return pl_err_set(err, PL_INVALID, "%" PRIu64 " refused",
		                  job->pod_input.refused);
	return PL_OK;
}

struct budget_putting {
	struct cli_wait wait;
	enum budget_outcome outcome;
};

static void on_budget_put(void *ctx, enum budget_outcome outcome, int64_t revision,
                          const struct pl_err *err)
{
	struct budget_putting *putting = ctx;

	(void)revision;
	putting->outcome = outcome;
	cli_wait_end(&putting->wait, err);
}

static enum pl_code put_budget(const struct submit_job *job,
                               const struct budget_object *budget,
                               enum budget_outcome *outcome, struct pl_err *err)
{
	struct budget_putting putting = {.outcome = BUDGET_UNCHANGED};
	struct budget_edit *edit;
	enum pl_code code =
		budget_put_start(&job->cli->service, budget, BUDGET_ANY_REVISION,
	                         on_budget_put, &putting, &edit, err);

	if (code == PL_OK)
		code = cli_wait_for(job->cli->session, &putting.wait, err);
	*outcome = putting.outcome;
	return code;
}

/* Budgets are put before the pods, so that pods are protected as soon as they are
 * placed. */
static enum pl_code put_budgets(struct submit_job *job, struct pl_err *err)
{
	static const char *const words[] = {[BUDGET_CREATED] = "created",
	                                    [BUDGET_CHANGED] = "changed",
	                                    [BUDGET_UNCHANGED] = "unchanged"};
	bool table = job->cli->options->format != OUTPUT_JSON;

	for (uint32_t i = 0; i < job->pod_input.budgets; i++) {
		const struct budget_object *given = &job->pod_input.budget[i];
		enum budget_outcome outcome;

		if (put_budget(job, given, &outcome, err) != PL_OK)
			return pl_err_wrap(err, "budget " PL_SPAN_FMT "/" PL_SPAN_FMT,
			                   PL_SPAN_ARG(given->namespace),
			                   PL_SPAN_ARG(given->name));
		job->budgets[outcome]++;
		if (table)
			(void)printf("budget " PL_SPAN_FMT "/" PL_SPAN_FMT " %s\n",
			             PL_SPAN_ARG(given->namespace),
			             PL_SPAN_ARG(given->name), words[outcome]);
	}
	return PL_OK;
}

/* -- rules that mean nothing ---------------------------------------------- */

/* PL_CANCELED ends the list: nothing is left to find. */
static enum pl_code on_node(void *ctx, const struct kv_record *record, struct pl_err *err)
{
	struct rule_warnings *warnings = ctx;
	struct keys_id id;

	(void)err;
	if (!rule_warnings_wants_nodes(warnings))
		return PL_CANCELED;
	if (keys_parse(record->key, &id, NULL) == PL_OK && id.kind == KEYS_NODE)
		rule_warnings_node(warnings, record->value);
	return PL_OK;
}

static void print_rule_warning(void *ctx, const struct rule_warning *warning)
{
	(void)ctx;
	print_message("warning: %s: object %lu: %s", warning->file, warning->number,
	              warning->text);
	if (warning->count > 1)
		print_message("warning: and %" PRIu64 " times more", warning->count - 1);
}

/* Nodes are read only while some topology key was seen on none of them: mostly one page
 * is enough. A list that fails is no reason not to submit. */
static void warn_of_rules(struct submit_job *job)
{
	struct rule_warnings *warnings = &job->pod_input.rules;
	struct pl_err ignored = {0};
	bool all = true;

	if (rule_warnings_wants_nodes(warnings))
		all = session_list(job->cli, PL_SPAN_LIT("/nodes/"), on_node, warnings,
		                   &ignored) == PL_OK;
	rule_warnings_each(warnings, all, print_rule_warning, NULL);
	if (warnings->more > 0)
		print_message("warning: and %" PRIu64 " rules more that match nothing",
		              warnings->more);
}

static enum pl_code submit_all(void *ctx, const struct cli_session *cli,
                               struct pl_err *err)
{
	struct submit_job *job = ctx;
	enum pl_code code;

	job->cli = cli;
	code = stored_intake(cli, &job->given, job->keep_going, &job->pod_input, err);
	if (code != PL_OK)
		return code;
	warn_of_rules(job);
	if (!cli->options->dry_run)
		code = put_budgets(job, err);
	if (code == PL_OK)
		code = submit_pods(job, err);
	if (code == PL_OK || job->err.code != PL_OK) {
		print_counts(job);
		code = final_error(job, err);
	}
	pod_input_close(&job->pod_input);
	return code;
}

static const struct option own[] = {
	PODS_ARGS_OPTIONS,
	{"keep-going", no_argument, NULL, OPT_KEEP_GOING},
	{"strict", no_argument, NULL, OPT_STRICT},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "submit",
	.of_store = "kubectl apply does it there, and makes no pods of workloads",
	.usage = "-f FILE [options]",
	.about =
		"Submits pods: Pod objects, and the pods of Deployment, ReplicaSet,\n"
		"StatefulSet and Job objects, with names and uids that follow from the object.\n"
		"The whole input is checked first; nothing is written when an object is\n"
		"refused. A pod that exists with the same content is left alone, so submitting\n"
		"again changes nothing. A pod that exists with another spec is reported and\n"
		"stays as it is; a pod that is being deleted is reported and not submitted.\n"
		"PodDisruptionBudget objects are created, or changed, before the pods.\n"
		"The annotations placet.io/gang: NAME and placet.io/gang-min: NUMBER make pods\n"
		"a gang, which is placed together or not at all.\n"
		"PriorityClass objects in the same input, or in the store, define the\n"
		"priorities. Objects of other kinds are skipped.\n",
	.help = "  -f, --filename PATH    JSON or YAML, one object or many, a List, an "
		"object a\n"
		"                         line, gzip; a directory; - is standard input;\n"
		"                         may be repeated\n"
		"  -n, --namespace NAME   of objects without a namespace (default default)\n"
		"  --keep-going           submit the other pods when some are refused\n"
		"  --strict               refuse fields that Kubernetes does not have, instead\n"
		"                         of warning about them\n",
	.example = "  placet submit -f deployment.yaml -f jobs/\n"
		   "  kubectl get deploy web -o json | placet submit -f -\n",
	.exits = "0 every pod exists, 1 a pod is refused, exists with another spec or "
		 "is\nbeing deleted, or the command failed, 2 wrong usage",
	.common = OPTIONS_DRY_RUN | OPTIONS_FORMAT,
	.args_max = 0,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct submit_job job = {
		.given = {.fields = POD_INPUT_FIELDS_TELL, .once = true}};
	enum exit_code exit_code = cli_session_run(&spec, argc, argv, submit_all, &job);

	files_done(&job.given.files);
	return exit_code;
}

const struct command submit_command = {
	.words = "submit",
	.summary = "submit pods, and objects that pods are made of",
	.run = run_command,
	.spec = &spec};
