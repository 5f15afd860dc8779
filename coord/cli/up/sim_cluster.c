/*
 * placet sim-cluster: registers simulated machines like real ones, so that Placet can
 * be tried at any size.
 */
#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/config/config_text.h"
#include "coord/cli/nodes/nodes_run.h"
#include "coord/cli/output/message.h"
#include "coord/cli/up/sim_opts.h"
#include "coord/cli/up/sim_run.h"
#include "coord/up/sim_profile.h"
#include "store/base/clock.h"
#include "store/base/duration.h"
#include "store/base/num.h"
#include "store/keys/names.h"

enum {
	OPT_CLUSTER = OPTIONS_OWN_FIRST,
	OPT_NODES,
	OPT_PROFILE,
	OPT_SEED,
	OPT_PRINT,
	OPT_RUN,
	OPT_RUNS, /* the first of enum sim_opt's */
	RUN_MAX_MS = 86400000,
	NODE_MAX = 1 << 20,
	SHOWN_ERRORS_MAX = 5, /* refused nodes that are printed one by one */
};

struct sim_cluster {
	struct pl_span cluster;
	uint64_t nodes, seed, at;
	const char *file; /* NULL: the default */
	bool print, member;
	struct sim_member_opts runs;
	uint64_t for_ms;       /* --run=DURATION; 0: until it is interrupted */
	struct pl_arena arena; /* of the profile */
	struct sim_profile profile;
	struct pl_buf json;
	char name[SIM_NAME_SIZE];
	struct nodes_run run;
};

/* Options about the simulated pods. */
static enum pl_code set_lifetime(struct sim_cluster *sim, int opt, const char *arg,
                                 struct pl_err *err)
{
	enum pl_code code = PL_OK;

	if (opt != OPT_RUN)
		return sim_opt_set((enum sim_opt)(opt - OPT_RUNS), arg, &sim->runs, err);
	sim->member = true;
	if (arg != NULL)
		code = pl_duration_ms(pl_span_str(arg), 0, RUN_MAX_MS, &sim->for_ms, err);
	return code == PL_OK ? PL_OK : pl_err_wrap(err, "--run");
}

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct sim_cluster *sim = ctx;
	enum pl_code code = PL_OK;

	if (opt >= OPT_RUN)
		return set_lifetime(sim, opt, arg, err);
	if (opt == OPT_CLUSTER)
		sim->cluster = pl_span_str(arg);
	else if (opt == OPT_PROFILE)
		sim->file = arg;
	else if (opt == OPT_PRINT)
		sim->print = true;
	else if (opt == OPT_SEED)
		code = pl_num_u64(pl_span_str(arg), &sim->seed, err);
	else
		code = pl_num_u64_in(pl_span_str(arg), 1, SIM_NODES_MAX, &sim->nodes,
		                     err);
	return code == PL_OK ? PL_OK
	                     : pl_err_wrap(err, opt == OPT_SEED ? "--seed" : "--nodes");
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	struct sim_cluster *sim = ctx;
	enum pl_code code;

	(void)options;
	if (sim->nodes == 0 && !sim->member)
		return pl_err_set(err, PL_INVALID, "--nodes: want a number of nodes");
	if (sim->print && sim->cluster.len == 0)
		return PL_OK;
	if (sim->cluster.len == 0)
		return pl_err_set(err, PL_INVALID, "--cluster: want a name");
	code = names_check(NAMES_CLUSTER, sim->cluster, err);
	return code == PL_OK ? PL_OK : pl_err_wrap(err, "--cluster");
}

static enum pl_code read_profile(struct sim_cluster *sim, struct pl_err *err)
{
	struct pl_json json;
	enum pl_code code;

	if (sim->file != NULL)
		code = config_text_read(sim->file, &sim->arena, &json, err);
	else
		code = config_text_parse(pl_span_str(sim_profile_default), &sim->arena,
		                         &json, err);
	if (code == PL_OK)
		code = sim_profile_parse(json, &sim->arena, &sim->profile, err);
	return code == PL_OK ? PL_OK : pl_err_wrap(err, "the profile");
}

static enum pl_code make_nodes(struct sim_cluster *sim, struct pl_err *err)
{
	enum pl_code code;

	pl_buf_clear(&sim->json, NODE_MAX);
	code = sim_node_print(&sim->profile, sim->seed, sim->at, &sim->json);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "make a node");
}

static enum pl_code on_next(void *ctx, struct nodes_item *out, bool *more,
                            struct pl_err *err)
{
	struct sim_cluster *sim = ctx;
	enum pl_code code;

	*more = sim->at < sim->nodes;
	if (!*more)
		return PL_OK;
	code = make_nodes(sim, err);
	out->cluster = sim->cluster;
	out->name = pl_span(sim->name, sim_node_name(&sim->profile, sim->at, sim->name));
	out->json = pl_buf_span(&sim->json);
	sim->at++;
	return code;
}

static void on_outcome(void *ctx, const struct nodes_item *item,
                       enum nodes_outcome outcome, const struct pl_err *err)
{
	struct sim_cluster *sim = ctx;

	if (outcome == NODES_REFUSED && sim->run.count[outcome] <= SHOWN_ERRORS_MAX)
		print_message("placet sim-cluster: " PL_SPAN_FMT "/" PL_SPAN_FMT ": %s",
		              PL_SPAN_ARG(item->cluster), PL_SPAN_ARG(item->name),
		              err->msg);
}

static enum pl_code apply_nodes(struct sim_cluster *sim, const struct cli_session *cli,
                                struct pl_err *err)
{
	uint64_t begin_ms = pl_clock_ms(), took_ms;
	const uint64_t *count = sim->run.count;
	enum pl_code code;

	sim->run.total = sim->nodes;
	code = nodes_run(&sim->run, cli, err);
	took_ms = pl_clock_ms() - begin_ms;
	(void)printf("cluster " PL_SPAN_FMT ": %" PRIu64 " nodes %s, %" PRIu64
	             " changed, %" PRIu64 " unchanged, in %" PRIu64 ".%" PRIu64
	             " s (%" PRIu64 "/s)\n",
	             PL_SPAN_ARG(sim->cluster), count[NODES_CREATED],
	             nodes_run_word(&sim->run, NODES_CREATED), count[NODES_CHANGED],
	             count[NODES_UNCHANGED], took_ms / 1000, took_ms % 1000 / 100,
	             sim->run.outcome_count * 1000 / (took_ms == 0 ? 1 : took_ms));
	(void)fflush(stdout);
	return code == PL_OK ? nodes_run_verdict(&sim->run, err) : code;
}

static enum pl_code sim_run(void *ctx, const struct cli_session *cli, struct pl_err *err)
{
	struct sim_cluster *sim = ctx;
	enum pl_code code = sim->nodes == 0 ? PL_OK : apply_nodes(sim, cli, err);

	if (code != PL_OK || !sim->member || cli->options->dry_run)
		return code;
	sim->runs.cluster = sim->cluster;
	sim->runs.seed = sim->seed;
	return sim_run_member(cli, &sim->runs, sim->for_ms, err);
}

static enum pl_code print_all(struct sim_cluster *sim, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	while (code == PL_OK && sim->at < sim->nodes) {
		code = make_nodes(sim, err);
		sim->at++;
		if (code == PL_OK && pl_buf_add_str(&sim->json, "\n") != PL_OK)
			code = pl_err_set(err, PL_NOMEM, "make a node");
		if (code == PL_OK &&
		    fwrite(sim->json.at, 1, sim->json.len, stdout) != sim->json.len)
			code = pl_err_set(err, PL_IO, "standard output");
	}
	if (code == PL_OK && fflush(stdout) != 0)
		code = pl_err_set(err, PL_IO, "standard output");
	return code;
}

static const struct option own[] = {{"cluster", required_argument, NULL, OPT_CLUSTER},
                                    {"nodes", required_argument, NULL, OPT_NODES},
                                    {"profile", required_argument, NULL, OPT_PROFILE},
                                    {"seed", required_argument, NULL, OPT_SEED},
                                    {"print", no_argument, NULL, OPT_PRINT},
                                    {"run", optional_argument, NULL, OPT_RUN},
                                    SIM_OPTS_OWN(OPT_RUNS),
                                    {0}};

static const struct options_spec spec = {
	.words = "sim-cluster",
	.of_store = "it plays the part of members, which write to the store",
	.usage = "--cluster NAME --nodes N [options]",
	.about =
		"Registers simulated machines in zones and racks, of several shapes, some with\n"
		"taints and GPUs, to try Placet at any size. The same profile and seed give\n"
		"the same nodes, and a larger cluster begins with the nodes of a smaller one,\n"
		"so the command may be run again.\n"
		"With --run it is also the cluster's member, until it is interrupted: a pod\n"
		"that is bound there runs, ends after its lifetime or when its turn has come,\n"
		"and when it terminates it ends after its grace period. The shards then give\n"
		"its capacity to other pods.\n",
	.help = "  --cluster NAME         the cluster of the machines\n"
		"  --nodes N              how many\n"
		"  --profile FILE         shapes of the machines, YAML or JSON (docs/cli.md);\n"
		"                         - is standard input; default: a built-in profile\n"
		"  --seed N               seed of everything random (default 0)\n"
		"  --run[=DURATION]       run bound pods for that long (default: until\n"
		"                         interrupted); --nodes may be left out then\n" SIM_OPTS_HELP
		"  --print                only print them, an object a line; needs no store\n",
	.example = "  placet sim-cluster --cluster sim-a --nodes 1000\n"
		   "  placet sim-cluster --cluster sim-a --run --lifetime=1m --fail=5\n"
		   "  placet sim-cluster --nodes 3 --print | jq .metadata.labels\n",
	.common = OPTIONS_DRY_RUN,
	.own = own,
	.take = set_option,
	.check = check_args,
};

/* The command line is parsed once to learn whether a store is wanted, and again by
 * cli_session_run. */
static enum exit_code run_parsed(struct sim_cluster *sim, int argc, char **argv)
{
	struct pl_err err = {0};
	enum exit_code exit_code;
	struct options options;
	enum pl_code code;

	if (!options_parse(&spec, argc, argv, sim, &options, &exit_code))
		return exit_code;
	options_done(&options);
	code = read_profile(sim, &err);
	if (code == PL_OK && sim->print)
		code = print_all(sim, &err);
	if (code != PL_OK)
		return print_error(spec.words, &err);
	if (sim->print)
		return EXIT_OK;
	optind = 0;
	return cli_session_run(&spec, argc, argv, sim_run, sim);
}

static enum exit_code run_command(int argc, char **argv)
{
	struct sim_cluster sim = {
		.runs = {.grace_ms = SIM_GRACE_MS},
		.run = {.verb = NODES_APPLY, .next = on_next, .report = on_outcome}};
	enum exit_code exit_code;

	sim.run.ctx = &sim;
	pl_arena_init(&sim.arena, 0, 0);
	pl_buf_init(&sim.json, NODE_MAX);
	exit_code = run_parsed(&sim, argc, argv);
	pl_buf_done(&sim.json);
	pl_arena_done(&sim.arena);
	return exit_code;
}

const struct command sim_cluster_command = {.words = "sim-cluster",
                                            .summary =
                                                    "register and run simulated machines",
                                            .run = run_command,
                                            .spec = &spec};
