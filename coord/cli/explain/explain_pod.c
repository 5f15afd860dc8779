/*
 * placet explain pod: where a live pod would go now, and why, with its state.
 */
#include "coord/cli/explain/explain_pod.h"

#include "coord/cli/explain/explain_api.h"
#include "coord/cli/explain/explain_job.h"
#include "coord/cli/explain/explain_print.h"
#include "coord/cli/input/pods_args.h"
#include "coord/cli/output/message.h"
#include "coord/cli/output/progress.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "store/base/clock.h"
#include "store/base/num.h"

enum { OPT_SEED = OPTIONS_OWN_FIRST, PROGRESS_STEP = 1000 };

struct explain_pod_cmd {
	enum explain_format format;
	int64_t seed;
	const char *namespace; /* -n */
	struct cli_wait wait;
	struct progress progress;
	bool nowhere, has_place; /* the pod would get no node; the pod has one */
};

static enum pl_code print_answer(struct explain_pod_cmd *ask,
                                 const struct pod_explanation *pod,
                                 const struct explain *explain, struct pl_err *err)
{
	struct pl_buf out;
	enum pl_code code = PL_OK;

	pl_buf_init(&out, EXPLAIN_OUT_MAX);
	switch (ask->format) {
	case EXPLAIN_TEXT:
		code = explain_pod_text(pod, explain, &out);
		break;
	case EXPLAIN_JSON:
		code = explain_pod_json(pod, explain, &out, err);
		break;
	case EXPLAIN_DOT:
		code = explain == NULL ? PL_OK : explain_dot(explain, &out);
		break;
	}
	if (code != PL_OK && err->code == PL_OK)
		pl_err_set(err, code, "print the explanation");
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	return code;
}

static void on_progress(void *ctx, int64_t revision, const char *what, uint64_t count)
{
	struct explain_pod_cmd *ask = ctx;

	if (count % PROGRESS_STEP == 0)
		progress_print(&ask->progress, pl_clock_ms(),
		               "reading at revision %lld: %llu %s", (long long)revision,
		               (unsigned long long)count, what);
}

static void on_done(void *ctx, const struct pod_explanation *pod,
                    const struct explain *explain, const struct pl_err *err)
{
	struct explain_pod_cmd *ask = ctx;
	struct pl_err why = {0};

	progress_end(&ask->progress);
	if (err == NULL) {
		ask->nowhere = pod->nowhere;
		ask->has_place = pod->has_state && state_has_place(&pod->state);
		if (print_answer(ask, pod, explain, &why) != PL_OK)
			err = &why;
	}
	cli_wait_end(&ask->wait, err);
}

static enum pl_code explain_pod_run(void *ctx, const struct cli_session *cli,
                                    struct pl_err *err)
{
	struct explain_pod_cmd *ask = ctx;
	const struct pods_args given = {.namespace = ask->namespace};
	struct pod_explain_opts opts = {.seed = (uint64_t)ask->seed,
	                                .wall_ms = pl_clock_wall_ms(),
	                                .progress = on_progress,
	                                .done = on_done,
	                                .ctx = ask};
	struct pod_explain *running;
	enum pl_code code = pods_args_name(&given, cli->options->args[0],
	                                   &opts.pod.namespace, &opts.pod.name, err);

	progress_init(&ask->progress, pl_clock_ms());
	if (code == PL_OK)
		code = pod_explain_start(&cli->service, &opts, &running, err);
	return code == PL_OK ? cli_wait_for(cli->session, &ask->wait, err) : code;
}

static enum pl_code explain_pod_ask(void *ctx, struct api_session *api,
                                    struct pl_err *err)
{
	struct explain_pod_cmd *ask = ctx;
	/* As with kubectl, the context may name the namespace. */
	const struct pods_args given = {.namespace = ask->namespace != NULL
	                                                     ? ask->namespace
	                                                     : api->target.namespace};
	struct explanation_verdict verdict = {.has_place = false};
	struct pl_span namespace, name;
	enum pl_code code;

	if (ask->format == EXPLAIN_DOT || ask->seed != 0)
		return pl_err_set(err, PL_UNSUPPORTED, "%s needs the store (--endpoints)",
		                  ask->seed != 0 ? "--seed" : "--output dot");
	code = pods_args_name(&given, api->options->args[0], &namespace, &name, err);
	if (code == PL_OK)
		code = explain_api(api, namespace, name, ask->format == EXPLAIN_JSON,
		                   &verdict, err);
	ask->nowhere = verdict.nowhere;
	ask->has_place = verdict.has_place;
	return code;
}

/* -- the command line ----------------------------------------------------- */

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct explain_pod_cmd *ask = ctx;
	struct pods_args given = {0};
	enum pl_code code = PL_OK;

	switch (opt) {
	case 'o':
		return explain_format_parse(arg, &ask->format, err);
	case OPT_SEED:
		if (pl_num_i64_in(pl_span_str(arg), 0, INT64_MAX, &ask->seed, NULL) ==
		    PL_OK)
			return PL_OK;
		return pl_err_set(err, PL_INVALID, "--seed %s: want a number", arg);
	default:
		code = pods_args_set(&given, PODS_ARGS_SPACE, arg, err);
		ask->namespace = given.namespace;
		return code;
	}
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	const struct explain_pod_cmd *ask = ctx;
	const struct pods_args given = {.namespace = ask->namespace};
	struct pl_span namespace, name;

	return pods_args_name(&given, options->args[0], &namespace, &name, err);
}

static const struct option own[] = {
	{"namespace", required_argument, NULL, 'n'},
	{"output", required_argument, NULL, 'o'},
	{"seed", required_argument, NULL, OPT_SEED},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "explain pod",
	.usage = "<namespace>/<name> [options]",
	.about =
		"Explains why a pod is on its node, or on none: prints what its state says,\n"
		"then what a shard that owned every node would decide now: which nodes each\n"
		"filter refuses, by cluster, the nearest nodes and what would make the pod\n"
		"fit, how each plugin scores the best nodes, and which pods preemption would\n"
		"evict. A pod that has a node is judged as if it had none. Everything is read\n"
		"at one revision; nothing is changed. With 5,000 nodes and 50,000 pods that\n"
		"takes some seconds. The API does the same on its server and prints less: its\n"
		"Explanation.\n",
	.help = "  -n, --namespace NAME   of a name without a namespace (default default)\n"
		"  -o, --output FORMAT    text, json or dot (default text)\n"
		"  --seed N               seed of the choice between equally good nodes\n"
		"                         (default 0)\n",
	.example = "  placet explain pod shop/web-1\n"
		   "  placet explain pod shop/web-1 -o json | jq '.decision.clusters'\n"
		   "  placet explain pod shop/web-1 -o dot | dot -Tsvg > web-1.svg\n",
	.exits =
		"0 the pod has a node or would get one, 1 it would get none or the command\n"
		"failed, 2 wrong usage",
	.common = OPTIONS_API,
	.args_min = 1,
	.args_max = 1,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct explain_pod_cmd ask = {.nowhere = false};
	enum exit_code code = cli_session_run_either(&spec, argc, argv, explain_pod_run,
	                                             explain_pod_ask, &ask);

	return code == EXIT_OK && ask.nowhere && !ask.has_place ? EXIT_FAILED : code;
}

const struct command explain_pod_command = {
	.words = "explain pod",
	.summary = "why a pod in the store is on its node, or on none",
	.run = run_command,
	.spec = &spec};
