/*
 * placet plan: where the pods of some files would go now, and what-ifs.
 */
#include "coord/cli/input/objects.h"
#include "coord/cli/input/pods_args.h"
#include "coord/cli/input/stored_intake.h"
#include "coord/cli/output/message.h"
#include "coord/cli/output/progress.h"
#include "coord/cli/plan/plan_api.h"
#include "coord/cli/plan/plan_print.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/session/cli_wait.h"
#include "store/base/clock.h"
#include "store/base/num.h"

enum {
	OPT_WITHOUT = OPTIONS_OWN_FIRST,
	OPT_ADD,
	OPT_REVISION,
	OPT_SEED,
	PROGRESS_STEP = 1000,
	ARENA_CHUNK = 1 << 16,
};

struct plan_cmd {
	struct pods_args given;
	struct pl_span without[PLAN_WITHOUT_MAX];
	struct plan_nodes add[PLAN_ADDS_MAX];
	struct plan_opts opts;
	struct pl_arena arena; /* of the pods and Nodes of files */
	const struct cli_session *cli;
	struct cli_wait wait;
	struct progress progress;
	bool over, fits; /* there is a plan; every pod fits */
};

/* -- the plan ---------------------------------------------------------------------- */

static void on_progress(void *ctx, int64_t revision, const char *what, uint64_t count)
{
	struct plan_cmd *ask = ctx;

	if (count % PROGRESS_STEP == 0)
		progress_print(&ask->progress, pl_clock_ms(), "at revision %lld: %llu %s",
		               (long long)revision, (unsigned long long)count, what);
}

static void on_done(void *ctx, const struct plan *plan, const struct pl_err *err)
{
	struct plan_cmd *ask = ctx;
	struct pl_err why = {0};

	progress_end(&ask->progress);
	if (err == NULL && plan_print(plan, ask->cli->options->format, &why) != PL_OK)
		err = &why;
	ask->over = err == NULL;
	ask->fits = plan != NULL && plan->fits;
	cli_wait_end(&ask->wait, err);
}

static enum pl_code keep_pods(struct plan_cmd *ask, struct pod_input *input,
                              struct pl_err *err)
{
	struct pod_input_pod pod;
	struct pl_span *pods;
	enum pl_code code = PL_OK;

	if (input->pods > PLAN_PODS_MAX)
		return pl_err_set(
			err, PL_LIMIT,
			"the files have %llu pods; at most %d are planned at once",
			(unsigned long long)input->pods, PLAN_PODS_MAX);
	pods = pl_arena_zalloc(&ask->arena, input->pods + 1, sizeof *pods);
	if (pods == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the pods");
	ask->opts.pods = pods;
	while (ask->opts.pod_count < input->pods) {
		code = pod_input_next(input, &pod, err);
		if (code != PL_OK)
			break;
		pods[ask->opts.pod_count] = pl_arena_dup(&ask->arena, pod.pod.json);
		if (pods[ask->opts.pod_count++].at == NULL)
			return pl_err_set(err, PL_NOMEM, "keep the pods");
	}
	return code == PL_NOTFOUND ? PL_OK : code;
}

static enum pl_code read_pods(struct plan_cmd *ask, struct pl_err *err)
{
	struct pod_input input;
	enum pl_code code;

	if (ask->given.files.count == 0)
		return PL_OK;
	code = stored_intake(ask->cli, &ask->given, false, &input, err);
	if (code != PL_OK)
		return code;
	code = keep_pods(ask, &input, err);
	pod_input_close(&input);
	return code;
}

static enum pl_code plan_run(void *ctx, const struct cli_session *cli, struct pl_err *err)
{
	struct plan_cmd *ask = ctx;
	struct plan_op *running;
	enum pl_code code;

	ask->cli = cli;
	progress_init(&ask->progress, pl_clock_ms());
	ask->opts.without = ask->without;
	ask->opts.add = ask->add;
	ask->opts.progress = on_progress;
	ask->opts.done = on_done;
	ask->opts.ctx = ask;
	code = read_pods(ask, err);
	if (code == PL_OK)
		code = plan_start(&cli->service, &ask->opts, &running, err);
	return code == PL_OK ? cli_wait_for(cli->session, &ask->wait, err) : code;
}

static enum pl_code plan_ask(void *ctx, struct api_session *api, struct pl_err *err)
{
	struct plan_cmd *ask = ctx;
	const struct plan_asked asked = {.given = &ask->given, .opts = &ask->opts};
	enum pl_code code;

	if (ask->opts.seed != 0)
		return pl_err_set(err, PL_UNSUPPORTED,
		                  "--seed needs the store (--endpoints)");
	ask->opts.without = ask->without;
	ask->opts.add = ask->add;
	code = plan_api(api, &asked, &ask->fits, err);
	ask->over = code == PL_OK;
	return code;
}

/* -- the command line --------------------------------------------------------------- */

static enum pl_code add_without(struct plan_cmd *ask, const char *arg, struct pl_err *err)
{
	static const char cluster[] = "cluster=";

	if (strncmp(arg, cluster, strlen(cluster)) != 0)
		return pl_err_set(err, PL_INVALID, "--without %s: want cluster=NAME",
		                  arg);
	if (ask->opts.withouts == PLAN_WITHOUT_MAX)
		return pl_err_set(err, PL_LIMIT, "--without: at most %d clusters",
		                  PLAN_WITHOUT_MAX);
	ask->without[ask->opts.withouts++] = pl_span_str(arg + strlen(cluster));
	return PL_OK;
}

struct node_file {
	struct plan_cmd *ask;
	struct pl_span json;
};

static enum pl_code on_object(void *ctx, struct pl_span kind, struct pl_span json,
                              struct pl_err *err)
{
	struct node_file *file = ctx;

	if (!pl_span_eq(kind, PL_SPAN_LIT("Node")) || file->json.len > 0)
		return pl_err_set(err, PL_INVALID, "want one Node");
	file->json = pl_arena_dup(&file->ask->arena, json);
	return file->json.at == NULL ? pl_err_set(err, PL_NOMEM, "keep a Node") : PL_OK;
}

static enum pl_code read_node(struct plan_cmd *ask, const char *path, struct pl_span *out,
                              struct pl_err *err)
{
	struct node_file file = {.ask = ask};
	enum pl_code code = objects_read(path, on_object, &file, err);

	if (code == PL_OK && file.json.len == 0)
		code = pl_err_set(err, PL_INVALID, "%s: want one Node", path);
	*out = file.json;
	return code;
}

/* "100:cpu=8,memory=32Gi", or "100:node.yaml". */
static enum pl_code add_nodes(struct plan_cmd *ask, const char *arg, struct pl_err *err)
{
	const char *colon = strchr(arg, ':');
	struct plan_nodes *nodes = &ask->add[ask->opts.adds];
	uint64_t count = 0;

	if (ask->opts.adds == PLAN_ADDS_MAX)
		return pl_err_set(err, PL_LIMIT, "--add-nodes: at most %d times",
		                  PLAN_ADDS_MAX);
	if (colon == NULL || colon[1] == 0 ||
	    pl_num_u64_in(pl_span(arg, (size_t)(colon - arg)), 1, PLAN_NODES_MAX, &count,
	                  NULL) != PL_OK)
		return pl_err_set(err, PL_INVALID,
		                  "--add-nodes %s: want COUNT:RESOURCE=AMOUNT,... or "
		                  "COUNT:FILE, COUNT from 1 to %d",
		                  arg, PLAN_NODES_MAX);
	*nodes = (struct plan_nodes){.count = (uint32_t)count};
	if (strchr(colon, '=') != NULL)
		nodes->shape = pl_span_str(colon + 1);
	else if (read_node(ask, colon + 1, &nodes->json, err) != PL_OK)
		return pl_err_wrap(err, "--add-nodes");
	ask->opts.adds++;
	return PL_OK;
}

static enum pl_code set_number(const char *name, const char *arg, int64_t low,
                               int64_t *out, struct pl_err *err)
{
	if (pl_num_i64_in(pl_span_str(arg), low, INT64_MAX, out, NULL) == PL_OK)
		return PL_OK;
	return pl_err_set(err, PL_INVALID, "%s %s: want a number", name, arg);
}

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct plan_cmd *ask = ctx;
	int64_t seed = 0;

	switch (opt) {
	case OPT_WITHOUT:
		return add_without(ask, arg, err);
	case OPT_ADD:
		return add_nodes(ask, arg, err);
	case OPT_REVISION:
		return set_number("--at-revision", arg, 1, &ask->opts.at_revision, err);
	case OPT_SEED:
		if (set_number("--seed", arg, 0, &seed, err) != PL_OK)
			return err->code;
		ask->opts.seed = (uint64_t)seed;
		return PL_OK;
	default:
		return pods_args_set(&ask->given, opt, arg, err);
	}
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	const struct plan_cmd *ask = ctx;

	(void)options;
	if (ask->given.files.count == 0 && ask->opts.withouts == 0)
		return pl_err_set(err, PL_INVALID,
		                  "want -f FILE, or --without cluster=NAME");
	return PL_OK;
}

static const struct option own[] = {
	PODS_ARGS_OPTIONS,
	{"without", required_argument, NULL, OPT_WITHOUT},
	{"add-nodes", required_argument, NULL, OPT_ADD},
	{"at-revision", required_argument, NULL, OPT_REVISION},
	{"seed", required_argument, NULL, OPT_SEED},
	{NULL, 0, NULL, 0},
};

static const struct options_spec spec = {
	.words = "plan",
	.usage = "-f FILE [options]",
	.about =
		"Plans pods: says where each would go now, and why some would go nowhere;\n"
		"nothing is written. The files are read as placet submit reads them. The pods\n"
		"are decided in their order, as a shard that owned every node would, each\n"
		"with those before it on their nodes; a gang as a whole. Pods that wait in the\n"
		"store are not counted. At most 10,000 pods are planned at once.\n",
	.help = "  -f, --filename PATH    JSON or YAML, as with placet submit; may be repeated\n"
		"  -n, --namespace NAME   of objects without a namespace (default default)\n"
		"  --without cluster=NAME as if the cluster were lost: its nodes are left out,\n"
		"                         and the pods on them are planned again before the\n"
		"                         others; may be repeated, and do without -f\n"
		"  --add-nodes N:SHAPE    with N nodes more of cpu=8,memory=32Gi,...; pods=110\n"
		"                         unless it says otherwise; may be repeated\n"
		"  --add-nodes N:FILE     the same, all like the Node in the file\n"
		"  --at-revision N        the store as it was then\n"
		"  --seed N               seed of the choice between equally good nodes\n"
		"                         (default 0)\n",
	.example = "  placet plan -f deployment.yaml\n"
		   "  placet plan -f deployment.yaml --add-nodes 100:cpu=8,memory=32Gi\n"
		   "  placet plan --without cluster=east -o json | jq .totals\n",
	.exits =
		"0 every pod fits, 1 some pod does not, 2 the command failed, or wrong usage",
	.common = OPTIONS_FORMAT | OPTIONS_API,
	.args_max = 0,
	.own = own,
	.take = set_option,
	.check = check_args,
};

static enum exit_code run_command(int argc, char **argv)
{
	struct plan_cmd ask = {.given = {.fields = POD_INPUT_FIELDS_TELL, .once = true}};
	enum exit_code code;

	pl_arena_init(&ask.arena, ARENA_CHUNK, 0);
	code = cli_session_run_either(&spec, argc, argv, plan_run, plan_ask, &ask);
	files_done(&ask.given.files);
	pl_arena_done(&ask.arena);
	if (code == EXIT_FAILED)
		return EXIT_USAGE;
	return code == EXIT_OK && ask.over && !ask.fits ? EXIT_FAILED : code;
}

const struct command plan_command = {.words = "plan",
                                     .summary = "where pods would go, and what if",
                                     .run = run_command,
                                     .spec = &spec};
