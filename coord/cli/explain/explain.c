/*
 * placet explain: where a pod would go among the objects in some files, and why.
 */
#include <stdio.h>
#include <string.h>

#include "coord/cli/explain/explain_job.h"
#include "coord/cli/output/message.h"
#include "coord/cli/session/options.h"
#include "store/base/num.h"

enum {
	OPT_NODES = OPTIONS_OWN_FIRST,
	OPT_PODS,
	OPT_OBJECTS,
	OPT_CONFIG,
	OPT_SEED,
	OPT_RECORD,
};

static void print_remark(const struct explain_job *job)
{
	if (engine_snapshot(job->engine)->nodes == 0)
		print_message(
			"placet explain: there are no nodes: give some with --nodes");
	if (job->unread > 0)
		print_message(
			"placet explain: objects of kinds that scheduling does not read: %llu",
			(unsigned long long)job->unread);
}

static enum exit_code run_job(struct explain_job *job)
{
	struct pl_err err = {0};
	enum exit_code exit_code = EXIT_OK;
	enum pl_code code = explain_job_run(job, &err);

	if (code == PL_OK) {
		print_remark(job);
		code = print_result(&job->out, &err);
	}
	if (code != PL_OK)
		exit_code = print_error("explain", &err);
	else if (job->nowhere > 0)
		exit_code = EXIT_FAILED;
	explain_job_done(job);
	return exit_code;
}

static enum pl_code add_file(const char **files, unsigned *count, const char *path,
                             struct pl_err *err)
{
	if (*count == EXPLAIN_FILES_MAX)
		return pl_err_set(err, PL_INVALID, "more than %d files",
		                  EXPLAIN_FILES_MAX);
	files[(*count)++] = path;
	return PL_OK;
}

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct explain_job *job = ctx;

	switch (opt) {
	case 'f':
		return add_file(job->subjects, &job->subject_count, arg, err);
	case 'o':
		return explain_format_parse(arg, &job->format, err);
	case OPT_CONFIG:
		job->config = arg;
		return PL_OK;
	case OPT_RECORD:
		job->record = arg;
		return PL_OK;
	case OPT_SEED:
		if (pl_num_i64_in(pl_span_str(arg), 0, INT64_MAX, &job->seed, NULL) ==
		    PL_OK)
			return PL_OK;
		return pl_err_set(err, PL_INVALID, "--seed %s: want a number", arg);
	default:
		return add_file(job->clusters, &job->cluster_count, arg, err);
	}
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	const struct explain_job *job = ctx;

	(void)options;
	if (job->subject_count == 0)
		return pl_err_set(err, PL_INVALID, "want -f FILE with the pod");
	return PL_OK;
}

static enum exit_code explain_run(int argc, char **argv)
{
	static const struct option own[] = {
		{"filename", required_argument, NULL, 'f'},
		{"output", required_argument, NULL, 'o'},
		{"nodes", required_argument, NULL, OPT_NODES},
		{"pods", required_argument, NULL, OPT_PODS},
		{"objects", required_argument, NULL, OPT_OBJECTS},
		{"config", required_argument, NULL, OPT_CONFIG},
		{"seed", required_argument, NULL, OPT_SEED},
		{"record", required_argument, NULL, OPT_RECORD},
		{NULL, 0, NULL, 0},
	};
	static const struct options_spec spec = {
		.words = "explain",
		.usage = "-f POD --nodes NODES [options]",
		.about =
			"Explains where a pod would be placed: which nodes each filter refuses, what\n"
			"would make the pod fit, how each plugin scores the best nodes, and which pods\n"
			"preemption would evict. Works on files alone: JSON or YAML, one object or\n"
			"many, as kubectl get -o json prints them; gzip too; - is stdin. Any file may\n"
			"hold objects of any kind that scheduling reads. Several pods are decided in\n"
			"turn, each with the earlier ones placed.\n",
		.help = "  -f, --filename FILE    the pod or pods (may be repeated, as "
			"may the next ones)\n"
			"  --nodes FILE           the nodes\n"
			"  --pods FILE            pods that are on them\n"
			"  --objects FILE         claims, volumes, services, budgets, ...\n"
			"  --config FILE          profiles, as a "
			"KubeSchedulerConfiguration\n"
			"  --seed N               seed of the choice between equally good "
			"nodes (default 0)\n"
			"  --record FILE          writes what was read and decided, for "
			"placet replay\n"
			"  -o, --output FORMAT    text, json or dot (default text)\n",
		.example = "  placet explain -f pod.yaml --nodes nodes.json --pods "
			   "pods.json\n"
			   "  kubectl get nodes,pods -A -o json | placet explain -f "
			   "pod.yaml --nodes -\n",
		.exits = "0 every pod would get a node, 1 some would get none or the "
			 "command\nfailed, 2 wrong usage",
		.common = OPTIONS_OFFLINE,
		.own = own,
		.take = set_option,
		.check = check_args,
	};
	struct explain_job job = {0};
	struct options options;
	enum exit_code exit_code;

	if (!options_parse(&spec, argc, argv, &job, &options, &exit_code))
		return exit_code;
	exit_code = run_job(&job);
	options_done(&options);
	return exit_code;
}

const struct command explain_command = {
	.words = "explain",
	.summary = "where a pod would go, and why",
	.run = explain_run,
};
