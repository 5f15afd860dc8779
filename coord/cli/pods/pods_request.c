#include "coord/cli/pods/pods_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/confirm.h"
#include "coord/cli/session/session_pause.h"
#include "coord/service/pods/pod_watch.h"
#include "store/base/alloc.h"
#include "store/base/duration.h"

enum { TIMEOUT_MAX_MS = 86400000, ROUND_MS = 500, SHOWN_ERRORS_MAX = 20 };

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

/* Not by name: they have to be found first. */
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
		return pl_err_set(err, PL_INVALID, "--all: of which namespace (-n NAME)");
	if (is_search(job) && job->given.namespace == NULL && !job->everywhere)
		return pl_err_set(err, PL_INVALID,
		                  "--selector: of which namespace (-n NAME, or -A)");
	for (unsigned i = 0; i < options->arg_count; i++)
		if (pods_args_name(&job->given, options->args[i], &namespace, &name,
		                   err) != PL_OK)
			return err->code;
	return PL_OK;
}

/* -- all of a namespace, or those with labels ----------------------------- */

struct pod_named {
	struct pl_map_node node;
	uint32_t partition;
	size_t space_len;
	uint8_t key[];
};

struct pods_finding {
	struct pods_request *job;
	struct pod_watch *watch;
	bool whole, stopped;
	struct pl_err err;
};

static bool is_in_namespace(void *ctx, struct pl_span key)
{
	const struct pods_finding *finding = ctx;

	return pods_args_is_of(&finding->job->given, key);
}

static void keep_found(struct pods_finding *finding, const struct pod_watch_pod *pod)
{
	struct pod_named *found = pl_calloc(1, sizeof *found + pod->node.key.len);

	if (found == NULL) {
		pl_err_set(&finding->err, PL_NOMEM, "keep the pods' names");
		finding->whole = true;
		return;
	}
	memcpy(found->key, pod->node.key.at, pod->node.key.len);
	found->partition = pod->partition;
	found->space_len = pod->namespace.len;
	if (pl_map_add(&finding->job->named, &found->node,
	               pl_span(found->key, pod->node.key.len)) != NULL)
		free(found);
}

/* Without a spec there are none. */
static bool has_labels(const struct pods_finding *finding,
                       const struct pod_watch_pod *pod)
{
	return finding->job->query.requirements == 0 || (pod->has_spec && pod->selected);
}

static void on_found(void *ctx, const struct pod_watch_note *note)
{
	struct pods_finding *finding = ctx;

	if (note->what == POD_WATCH_POD && has_labels(finding, note->pod))
		keep_found(finding, note->pod);
	else if (note->what == POD_WATCH_WHOLE)
		finding->whole = true;
	else if (note->what == POD_WATCH_STOPPED)
		finding->stopped = true;
	if (note->what == POD_WATCH_STOPPED && note->err != NULL)
		finding->err = *note->err;
}

static enum pl_code find_all(struct pods_request *job, struct pl_err *err)
{
	struct pods_finding finding = {.job = job};
	const struct pl_span prefix = PL_SPAN_LIT("/schedules/");
	struct pod_watch_opts opts = {.prefix = &prefix,
	                              .count = 1,
	                              .wanted = is_in_namespace,
	                              .query = job->query.requirements > 0 ? &job->query
	                                                                   : NULL,
	                              .fn = on_found,
	                              .ctx = &finding};
	uv_loop_t *loop = &job->cli->session->loop;
	enum pl_code code =
		pod_watch_open(job->cli->session->kv, &opts, &finding.watch, err);

	if (code != PL_OK)
		return code;
	while (!finding.whole && !finding.stopped)
		(void)uv_run(loop, UV_RUN_ONCE);
	if (!finding.stopped)
		pod_watch_stop(finding.watch);
	while (!finding.stopped)
		(void)uv_run(loop, UV_RUN_ONCE);
	if (finding.err.code != PL_OK)
		*err = finding.err;
	job->next = pl_map_first(&job->named);
	return err->code;
}

static void free_found(struct pods_request *job)
{
	PL_MAP_EACH (node, &job->named) {
		pl_map_del(&job->named, node);
		free(PL_CONTAINER_OF(node, struct pod_named, node));
	}
	pl_map_done(&job->named);
}

/* -- one after the other ---------------------------------------------------------------
 */

static enum pl_code next_found(struct pods_request *job, struct pod_request *out)
{
	const struct pod_named *found;

	if (job->next == NULL)
		return PL_NOTFOUND;
	found = PL_CONTAINER_OF_CONST(job->next, struct pod_named, node);
	out->namespace = pl_span(found->key, found->space_len);
	out->name = pl_span(found->key + found->space_len + 1,
	                    found->node.key.len - found->space_len - 1);
	job->next = pl_map_next(&job->named, job->next);
	return PL_OK;
}

static enum pl_code next_of_files(struct pods_request *job, struct pod_request *out,
                                  struct pl_err *err)
{
	struct pod_input_pod pod;
	enum pl_code code = pod_input_next(&job->pod_input, &pod, err);

	if (code != PL_OK)
		return code;
	out->namespace = pod.pod.namespace;
	out->name = pod.pod.name;
	return PL_OK;
}

/* Those that budgets held back in the round before. */
static enum pl_code next_withheld(struct pods_request *job, struct pod_request *out)
{
	const struct pods_withheld *held = &job->held[(job->round + 1) % 2];

	if (job->again == held->count)
		return PL_NOTFOUND;
	out->namespace = held->at[job->again].namespace;
	out->name = held->at[job->again].name;
	job->again++;
	return PL_OK;
}

static enum pl_code on_next(void *ctx, struct pod_request *out, struct pl_err *err)
{
	struct pods_request *job = ctx;
	const struct options *options = job->cli->options;

	*out = (struct pod_request){.verb = job->verb,
	                            .at = POD_REQUEST_BY_NAME,
	                            .ended = job->force ? STATE_ENDED_GONE
	                                                : STATE_ENDED_NOT};
	if (job->round > 0)
		return next_withheld(job, out);
	if (is_search(job))
		return next_found(job, out);
	if (job->given.files.count > 0)
		return next_of_files(job, out, err);
	if (job->arg == options->arg_count)
		return PL_NOTFOUND;
	return pods_args_name(&job->given, options->args[job->arg++], &out->namespace,
	                      &out->name, err);
}

/* To be asked again, soon. The first ones are told, once. */
static void keep_withheld(struct pods_request *job, const struct pod_request *wish,
                          const char *budget)
{
	struct pods_withheld *held = &job->held[job->round % 2];
	size_t cap = held->cap == 0 ? 64 : held->cap * 2;
	struct pods_withheld_pod pod = {
		.namespace = pl_arena_dup(&held->arena, wish->namespace),
		.name = pl_arena_dup(&held->arena, wish->name)};
	struct pods_withheld_pod *grown = held->at;

	if (held->count == held->cap)
		grown = pl_realloc(held->at, cap * sizeof *grown);
	if (grown == NULL || pod.namespace.at == NULL || pod.name.at == NULL) {
		pl_err_set(&job->err, PL_NOMEM, "keep the pods' names");
		return;
	}
	held->cap = held->count == held->cap ? cap : held->cap;
	held->at = grown;
	held->at[held->count++] = pod;
	if (job->round == 0 && held->count <= SHOWN_ERRORS_MAX)
		print_message(PL_SPAN_FMT "/" PL_SPAN_FMT " waits: budget %s %s",
		              PL_SPAN_ARG(wish->namespace), PL_SPAN_ARG(wish->name),
		              budget,
		              job->past_budgets ? "has to be counted first"
		                                : "allows no disruption now");
}

static void on_outcome(void *ctx, const struct pod_request *wish,
                       enum pod_request_outcome outcome, const char *why)
{
	struct pods_request *job = ctx;
	struct pl_err err = {0};

	if (outcome == POD_REQUEST_WITHHELD) {
		keep_withheld(job, wish, why);
		return;
	}
	if (outcome == POD_REQUEST_MALFORMED) {
		job->left++;
		print_message(PL_SPAN_FMT "/" PL_SPAN_FMT " is left as it is: %s",
		              PL_SPAN_ARG(wish->namespace), PL_SPAN_ARG(wish->name), why);
	} else if (outcome == POD_REQUEST_ABSENT) {
		job->absent++;
		if (!job->ignore_absent)
			print_message(PL_SPAN_FMT "/" PL_SPAN_FMT ": no such pod",
			              PL_SPAN_ARG(wish->namespace),
			              PL_SPAN_ARG(wish->name));
	} else {
		(void)printf(PL_SPAN_FMT "/" PL_SPAN_FMT " %s\n",
		             PL_SPAN_ARG(wish->namespace), PL_SPAN_ARG(wish->name),
		             job->words[outcome]);
	}
	if ((outcome == POD_REQUEST_ACCEPTED || outcome == POD_REQUEST_ALREADY) &&
	    job->wait &&
	    pods_gone_add(&job->gone, wish->at, wish->namespace, wish->name, &err) !=
	            PL_OK)
		job->err = err;
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct pods_request *job = ctx;

	job->wishes = NULL;
	if (err != NULL)
		job->err = *err;
}

static enum pl_code request_all(struct pods_request *job, struct pl_err *err)
{
	struct store_session *session = job->cli->session;
	struct pod_request_opts opts = {.partitions = job->cli->meta.partitions,
	                                .slots = job->verb == POD_REQUEST_EVICT ? 1 : 0,
	                                .past_budgets = job->past_budgets,
	                                .timeout_ms = session->timeout_ms,
	                                .who = session->user,
	                                .next = on_next,
	                                .told = on_outcome,
	                                .done = on_done,
	                                .ctx = job};
	enum pl_code code = pod_requests_open(session->kv, &opts, &job->wishes, err);

	if (code != PL_OK)
		return code;
	while (job->wishes != NULL)
		(void)uv_run(&session->loop, UV_RUN_ONCE);
	(void)fflush(stdout);
	if (job->err.code == PL_OK)
		return PL_OK;
	*err = job->err;
	return err->code;
}

/* Until no budget holds any of them back. */
static enum pl_code request_rounds(struct pods_request *job, struct pl_err *err)
{
	struct store_session *session = job->cli->session;
	uint64_t end_ms = kv_now_ms(session->kv) + job->timeout_ms;
	enum pl_code code;

	for (;; job->round++) {
		struct pods_withheld *held = &job->held[job->round % 2];

		held->count = job->again = 0;
		pl_arena_reset(&held->arena);
		code = request_all(job, err);
		if (code != PL_OK || held->count == 0)
			return code;
		if (job->round == 0 && held->count > SHOWN_ERRORS_MAX)
			print_message("and %zu more", held->count - SHOWN_ERRORS_MAX);
		if (job->timeout_ms > 0 && kv_now_ms(session->kv) >= end_ms)
			return pl_err_set(
				err, PL_TIMEOUT,
				"%zu pods were not asked to move; their budgets %s",
				held->count,
				job->past_budgets
					? "have to be counted first"
					: "do not allow it, or --ignore-budgets");
		code = session_pause(session, ROUND_MS, err);
		if (code != PL_OK)
			return code;
	}
}

static enum pl_code final_error(const struct pods_request *job, struct pl_err *err)
{
	if (job->left > 0)
		return pl_err_set(err, PL_INVALID, "%" PRIu64 " left as they are",
		                  job->left);
	if (job->absent > 0 && !job->ignore_absent)
		return pl_err_set(err, PL_NOTFOUND, "%" PRIu64 " not there", job->absent);
	return PL_OK;
}

static enum pl_code confirm_request(struct pods_request *job, struct pl_err *err)
{
	uint64_t pods = job->cli->options->arg_count;
	char question[64];

	if (job->given.files.count > 0)
		pods = job->pod_input.pods;
	if (is_search(job))
		pods = job->named.count;
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
		code = pods_args_intake(&job->given, cli->meta.partitions, false,
		                        &job->pod_input, err);
	else if (is_search(job))
		code = find_all(job, err);
	if (code != PL_OK)
		return code;
	if (is_search(job) && job->named.count == 0) {
		print_none(job);
		return PL_OK;
	}
	code = confirm_request(job, err);
	if (code == PL_OK)
		code = request_rounds(job, err);
	if (files)
		pod_input_close(&job->pod_input);
	if (code == PL_OK)
		code = pods_gone_wait(&job->gone, cli, job->timeout_ms, err);
	return code == PL_OK ? final_error(job, err) : code;
}

enum exit_code pods_request_run(struct pods_request *job, const struct options_spec *spec,
                                int argc, char **argv)
{
	enum exit_code exit_code;

	pods_gone_init(&job->gone);
	pl_map_init(&job->named);
	for (unsigned i = 0; i < 2; i++)
		pl_arena_init(&job->held[i].arena, 0, 0);
	exit_code = cli_session_run(spec, argc, argv, run_request, job);
	files_done(&job->given.files);
	free_found(job);
	pods_gone_done(&job->gone);
	for (unsigned i = 0; i < 2; i++) {
		pl_arena_done(&job->held[i].arena);
		free(job->held[i].at);
	}
	return exit_code;
}
