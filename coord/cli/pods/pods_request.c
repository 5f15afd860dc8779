#include "coord/cli/pods/pods_request.h"

#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/input/stored_intake.h"
#include "coord/cli/output/message.h"
#include "coord/cli/session/confirm.h"
#include "store/base/duration.h"

enum { TIMEOUT_MAX_MS = 86400000, SHOWN_ERRORS_MAX = 20 };

/* -- the command line ------------------------------------------------------------------
 */

static enum pl_code set_wait(struct pods_request *job, const char *arg,
                             struct pl_err *err)
{
	job->wait = arg == NULL || strcmp(arg, "true") == 0;
	if (!job->wait && strcmp(arg, "false") != 0)
		return pl_err_set(err, PL_INVALID, "--wait=%s: want true or false", arg);
	return PL_OK;
}

enum pl_code pods_request_take(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct pods_request *job = ctx;

	switch (opt) {
	case PODS_REQUEST_FORCE:
		job->force = true;
		return PL_OK;
	case PODS_REQUEST_ALL:
		job->all = true;
		return PL_OK;
	case PODS_REQUEST_EVERYWHERE:
		job->everywhere = true;
		return PL_OK;
	case PODS_REQUEST_SELECTOR:
		if (label_query_parse(pl_span_str(arg), &job->query, err) == PL_OK)
			return PL_OK;
		return pl_err_wrap(err, "--selector");
	case PODS_REQUEST_IGNORE:
		job->ignore_absent = true;
		return PL_OK;
	case PODS_REQUEST_PAST:
		job->past_budgets = true;
		return PL_OK;
	case PODS_REQUEST_WAIT:
		return set_wait(job, arg, err);
	case PODS_REQUEST_TIMEOUT:
		if (pl_duration_ms(pl_span_str(arg), 0, TIMEOUT_MAX_MS, &job->timeout_ms,
		                   err) == PL_OK)
			return PL_OK;
		return pl_err_wrap(err, "--timeout");
	default:
		return pods_args_set(&job->given, opt, arg, err);
	}
}

/* The pods have to be searched for first. */
static bool is_search(const struct pods_request *job)
{
	return job->all || job->query.requirements > 0;
}

enum pl_code pods_request_check(void *ctx, const struct options *options,
                                struct pl_err *err)
{
	struct pods_request *job = ctx;
	struct pl_span namespace, name;

	if ((unsigned)job->all + (job->query.requirements > 0) +
	            (options->arg_count > 0) + (job->given.files.count > 0) !=
	    1)
		return pl_err_set(err, PL_INVALID,
		                  "want names, -f FILE, --selector or --all");
	if (job->everywhere &&
	    (job->query.requirements == 0 || job->given.namespace != NULL))
		return pl_err_set(err, PL_INVALID,
		                  "--all-namespaces: goes with --selector, and not with "
		                  "--namespace");
	if (job->all && job->given.namespace == NULL)
		return pl_err_set(err, PL_INVALID, "--all: want a namespace (-n NAME)");
	if (is_search(job) && job->given.namespace == NULL && !job->everywhere)
		return pl_err_set(err, PL_INVALID,
		                  "--selector: want a namespace (-n NAME, or -A)");
	for (unsigned i = 0; i < options->arg_count; i++)
		if (pods_args_name(&job->given, options->args[i], &namespace, &name,
		                   err) != PL_OK)
			return err->code;
	return PL_OK;
}

/* -- all of a namespace, or those with labels ----------------------------- */

static enum pl_code find_all(struct pods_request *job, struct pl_err *err)
{
	struct cli_wait wait = {0};
	const struct pod_list_opts opts = {
		.filter = {.namespace = pl_span_str(job->given.namespace),
	                   .query = &job->query},
		.names_only = true,
		.done = cli_wait_end,
		.ctx = &wait};
	enum pl_code code = pod_list_start(&job->cli->service, &opts, &job->found, err);

	return code == PL_OK ? cli_wait_for(job->cli->session, &wait, err) : code;
}

static size_t count_found(const struct pods_request *job)
{
	size_t count;

	(void)pod_list_pods(job->found, &count);
	return count;
}

/* -- one after the other --------------------------------------------------------------
 */

static enum pl_code next_found(struct pods_request *job, struct pod_name *out)
{
	size_t count;
	const struct pod_info *pods = pod_list_pods(job->found, &count);

	if (job->next == count)
		return PL_NOTFOUND;
	*out = (struct pod_name){pods[job->next].namespace, pods[job->next].name};
	job->next++;
	return PL_OK;
}

static enum pl_code next_of_files(struct pods_request *job, struct pod_name *out,
                                  struct pl_err *err)
{
	struct pod_input_pod pod;
	enum pl_code code = pod_input_next(&job->pod_input, &pod, err);

	if (code == PL_OK)
		*out = (struct pod_name){pod.pod.namespace, pod.pod.name};
	return code;
}

static enum pl_code on_next(void *ctx, struct pod_name *out, struct pl_err *err)
{
	struct pods_request *job = ctx;
	const struct options *options = job->cli->options;

	if (is_search(job))
		return next_found(job, out);
	if (job->given.files.count > 0)
		return next_of_files(job, out, err);
	if (job->next == options->arg_count)
		return PL_NOTFOUND;
	return pods_args_name(&job->given, options->args[job->next++], &out->namespace,
	                      &out->name, err);
}

/* The first ones are printed, once. */
static void print_withheld(struct pods_request *job, const struct pod_name *pod,
                           const char *budget)
{
	if (++job->withheld <= SHOWN_ERRORS_MAX)
		print_message(PL_SPAN_FMT "/" PL_SPAN_FMT " waits: budget %s %s",
		              PL_SPAN_ARG(pod->namespace), PL_SPAN_ARG(pod->name), budget,
		              job->past_budgets ? "has to be counted first"
		                                : "allows no disruption now");
}

static void on_outcome(void *ctx, const struct pod_name *pod, uint32_t partition,
                       enum pod_request_outcome outcome, const char *why)
{
	struct pods_request *job = ctx;
	struct pl_err err = {0};

	if (outcome == POD_REQUEST_WITHHELD) {
		print_withheld(job, pod, why);
		return;
	}
	if (outcome == POD_REQUEST_MALFORMED) {
		job->left++;
		print_message(PL_SPAN_FMT "/" PL_SPAN_FMT " is left as it is: %s",
		              PL_SPAN_ARG(pod->namespace), PL_SPAN_ARG(pod->name), why);
	} else if (outcome == POD_REQUEST_ABSENT) {
		job->absent++;
		if (!job->ignore_absent)
			print_message(PL_SPAN_FMT "/" PL_SPAN_FMT ": no such pod",
			              PL_SPAN_ARG(pod->namespace),
			              PL_SPAN_ARG(pod->name));
	} else {
		(void)printf(PL_SPAN_FMT "/" PL_SPAN_FMT " %s\n",
		             PL_SPAN_ARG(pod->namespace), PL_SPAN_ARG(pod->name),
		             job->words[outcome]);
	}
	if ((outcome == POD_REQUEST_ACCEPTED || outcome == POD_REQUEST_ALREADY) &&
	    job->wait && pods_gone_add(&job->gone, partition, pod, &err) != PL_OK)
		job->err = err;
}

static void on_withheld(void *ctx, uint64_t pods)
{
	(void)ctx;
	(void)fflush(stdout);
	if (pods > SHOWN_ERRORS_MAX)
		print_message("and %" PRIu64 " more", pods - SHOWN_ERRORS_MAX);
}

static void on_done(void *ctx, uint64_t withheld, const struct pl_err *err)
{
	struct pods_request *job = ctx;
	struct pl_err why;

	(void)fflush(stdout);
	if (withheld > 0) {
		(void)pl_err_set(
			&why, PL_TIMEOUT,
			"%" PRIu64 " pods were not asked to move; their budgets %s",
			withheld,
			job->past_budgets ? "have to be counted first"
					  : "do not allow it, or --ignore-budgets");
		err = &why;
	}
	cli_wait_end(&job->wait_end, err);
}

static enum pl_code request_all(struct pods_request *job, struct pl_err *err)
{
	const struct pod_remove_opts opts = {.verb = job->verb,
	                                     .force = job->force,
	                                     .past_budgets = job->past_budgets,
	                                     .timeout_ms = job->timeout_ms,
	                                     .next = on_next,
	                                     .outcome = on_outcome,
	                                     .withheld = on_withheld,
	                                     .done = on_done,
	                                     .ctx = job};
	struct pod_remove *running;
	enum pl_code code = pod_remove_start(&job->cli->service, &opts, &running, err);

	if (code == PL_OK)
		code = cli_wait_for(job->cli->session, &job->wait_end, err);
	if (code == PL_OK && job->err.code != PL_OK) {
		*err = job->err;
		code = err->code;
	}
	return code;
}

static enum pl_code final_error(const struct pods_request *job, struct pl_err *err)
{
	if (job->left > 0)
		return pl_err_set(err, PL_INVALID, "%" PRIu64 " left as they are",
		                  job->left);
	if (job->absent > 0 && !job->ignore_absent)
		return pl_err_set(err, PL_NOTFOUND, "%" PRIu64 " not found", job->absent);
	return PL_OK;
}

static enum pl_code confirm_request(struct pods_request *job, struct pl_err *err)
{
	uint64_t pods = job->cli->options->arg_count;
	char question[64];

	if (job->given.files.count > 0)
		pods = job->pod_input.pods;
	if (is_search(job))
		pods = count_found(job);
	(void)snprintf(question, sizeof question, "%s %" PRIu64 " pod%s?", job->question,
	               pods, pods == 1 ? "" : "s");
	return ask(job->cli->options, question, err);
}

static void print_none(const struct pods_request *job)
{
	const char *which = job->query.requirements > 0 ? "such " : "";

	if (job->everywhere)
		print_message("no %spods", which);
	else
		print_message("no %spods in namespace %s", which, job->given.namespace);
}

static enum pl_code run_request(void *ctx, const struct cli_session *cli,
                                struct pl_err *err)
{
	struct pods_request *job = ctx;
	bool files = job->given.files.count > 0;
	enum pl_code code = PL_OK;

	job->cli = cli;
	if (files)
		code = stored_intake(cli, &job->given, false, &job->pod_input, err);
	else if (is_search(job))
		code = find_all(job, err);
	if (code != PL_OK)
		return code;
	if (is_search(job) && count_found(job) == 0) {
		print_none(job);
		return PL_OK;
	}
	code = confirm_request(job, err);
	if (code == PL_OK)
		code = request_all(job, err);
	if (files)
		pod_input_close(&job->pod_input);
	if (code == PL_OK)
		code = pods_gone_wait(&job->gone, cli, job->timeout_ms, err);
	return code == PL_OK ? final_error(job, err) : code;
}

enum exit_code pods_request_run(struct pods_request *job, const struct options_spec *spec,
                                api_session_fn *api, int argc, char **argv)
{
	enum exit_code exit_code;

	pods_gone_init(&job->gone);
	exit_code = cli_session_run_either(spec, argc, argv, run_request, api, job);
	files_done(&job->given.files);
	pod_list_free(job->found);
	pods_gone_done(&job->gone);
	return exit_code;
}
