/*
 * placet up: a whole Placet in the foreground for trials: a store of its own, some
 * processes of placetd, some clusters of simulated machines. Everything goes when it
 * ends.
 */
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coord/cli/output/message.h"
#include "coord/cli/output/placing_stats.h"
#include "coord/cli/output/progress.h"
#include "coord/cli/session/cli_session.h"
#include "coord/cli/up/sim_opts.h"
#include "coord/cli/up/up_api.h"
#include "coord/up/children.h"
#include "coord/up/memstore.h"
#include "store/base/clock.h"
#include "store/base/num.h"
#include "store/etcd/launch.h"
#include "store/kv/calls.h"

enum {
	OPT_STORE = OPTIONS_OWN_FIRST,
	OPT_SHARDS,
	OPT_PROCESSES,
	OPT_CLUSTERS,
	OPT_NODES,
	OPT_PROFILE,
	OPT_TTL,
	OPT_API_PORT,
	OPT_KUBECONFIG,
	OPT_RUNS, /* the first of enum sim_opt's */
	PATH_SIZE = 4096,
	SHARDS_MAX = 256,
	PROCESSES_MAX = 32,
	CLUSTERS_MAX = 16,
	READY_MS = 60000,
	STOP_MS = 20000,
	NODES_MS = 600000,
	LOOK_MS = 200,
	CALL_MS = 5000,
};

struct up {
	bool in_memory;
	uint64_t shards, processes, clusters, nodes;
	const char *profile, *ttl;
	struct up_api api;
	const char *runs[SIM_OPT_COUNT]; /* options of members; NULL: not given */
	char placet[PATH_SIZE], placetd[PATH_SIZE + 16];
	uv_loop_t loop; /* of the launched etcd */
	struct etcd_launch *etcd;
	struct memstore *memory;
	const char *endpoint;
	struct store_session session;
	struct children children;
	sigset_t signals;
	bool stopped; /* by a signal */
};

/* -- the command line ------------------------------------------------------------- */

static enum pl_code parse_number(const char *name, const char *arg, uint64_t most,
                                 uint64_t *out, struct pl_err *err)
{
	enum pl_code code = pl_num_u64_in(pl_span_str(arg), 1, most, out, err);

	return code == PL_OK ? PL_OK : pl_err_wrap(err, "%s", name);
}

/* An invalid option is reported here, and not by each member. */
static enum pl_code set_run_option(struct up *up, enum sim_opt opt, const char *arg,
                                   struct pl_err *err)
{
	struct sim_member_opts opts = {0};

	up->runs[opt] = arg;
	return sim_opt_set(opt, arg, &opts, err);
}

static enum pl_code set_option(void *ctx, int opt, const char *arg, struct pl_err *err)
{
	struct up *up = ctx;

	if (opt >= OPT_RUNS && opt < OPT_RUNS + SIM_OPT_COUNT)
		return set_run_option(up, (enum sim_opt)(opt - OPT_RUNS), arg, err);
	switch (opt) {
	case OPT_STORE:
		up->in_memory = strcmp(arg, "memory") == 0;
		if (up->in_memory || strcmp(arg, "etcd") == 0)
			return PL_OK;
		return pl_err_set(err, PL_INVALID, "--store %s: want etcd or memory",
		                  arg);
	case OPT_SHARDS:
		return parse_number("--shards", arg, SHARDS_MAX, &up->shards, err);
	case OPT_PROCESSES:
		return parse_number("--processes", arg, PROCESSES_MAX, &up->processes,
		                    err);
	case OPT_CLUSTERS:
		return parse_number("--clusters", arg, CLUSTERS_MAX, &up->clusters, err);
	case OPT_NODES:
		return parse_number("--nodes", arg, UINT32_MAX, &up->nodes, err);
	case OPT_PROFILE:
		up->profile = arg;
		return PL_OK;
	case OPT_TTL:
		up->ttl = arg;
		return PL_OK;
	case OPT_API_PORT:
		return parse_number("--api-port", arg, UINT16_MAX, &up->api.port, err);
	case OPT_KUBECONFIG:
		up->api.kubeconfig = arg;
		return PL_OK;
	default:
		PL_UNREACHABLE("option");
	}
}

static enum pl_code check_args(void *ctx, const struct options *options,
                               struct pl_err *err)
{
	const struct up *up = ctx;

	(void)options;
	if (up->processes > up->shards)
		return pl_err_set(err, PL_INVALID,
		                  "--processes: more than shards (%" PRIu64 ")",
		                  up->shards);
	return PL_OK;
}

/* placetd is installed or built beside this program. */
static enum pl_code find_programs(struct up *up, struct pl_err *err)
{
	static const char *const places[] = {"placetd", "../daemon/placetd"};
	ssize_t len = readlink("/proc/self/exe", up->placet, sizeof up->placet - 1);
	int dir;

	if (len <= 0)
		return pl_err_set(
			err, PL_IO,
			"the path of this program is unknown: /proc/self/exe can not be read");
	up->placet[len] = 0;
	dir = (int)(strrchr(up->placet, '/') - up->placet);
	for (unsigned i = 0; i < 2; i++) {
		int size = snprintf(up->placetd, sizeof up->placetd, "%.*s/%s", dir,
		                    up->placet, places[i]);

		if (size > 0 && (size_t)size < sizeof up->placetd &&
		    access(up->placetd, X_OK) == 0)
			return PL_OK;
	}
	return pl_err_set(err, PL_NOTFOUND, "placetd is not beside %s", up->placet);
}

/* -- the store ---------------------------------------------------------------------- */

static enum pl_code launch_etcd(struct up *up, struct pl_err *err)
{
	static const char *const args[] = {"--max-txn-ops=1024",
	                                   "--quota-backend-bytes=8589934592", NULL};
	const struct etcd_launch_opts opts = {.members = 1, .extra_args = args};
	enum pl_code code;

	if (uv_loop_init(&up->loop) != 0)
		return pl_err_set(err, PL_NOMEM, "a loop");
	code = etcd_launch_start_wait(&up->loop, &opts, &up->etcd, err);
	if (code != PL_OK) {
		(void)uv_run(&up->loop, UV_RUN_DEFAULT);
		(void)uv_loop_close(&up->loop);
		return pl_err_wrap(err, "an etcd of our own (--store memory needs none)");
	}
	up->endpoint = etcd_launch_endpoint(up->etcd, 0);
	print_message("store     %s  etcd, its data in %s", up->endpoint,
	              etcd_launch_dir(up->etcd));
	return PL_OK;
}

static enum pl_code open_store(struct up *up, struct pl_err *err)
{
	enum pl_code code;

	if (!up->in_memory)
		return launch_etcd(up, err);
	code = memstore_start(0, &up->memory, err);
	if (code != PL_OK)
		return code;
	up->endpoint = memstore_endpoint(up->memory);
	print_message("store     %s  in the memory of this process", up->endpoint);
	return PL_OK;
}

static void close_store(struct up *up)
{
	if (up->memory != NULL)
		memstore_stop(up->memory);
	if (up->etcd == NULL)
		return;
	etcd_launch_stop_wait(up->etcd);
	(void)uv_run(&up->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&up->loop);
}

/* -- its processes --------------------------------------------------------------------
 */

/* A signal ends every wait at once. */
static bool is_stopped(struct up *up, uint64_t wait_ms)
{
	const struct timespec time = {.tv_sec = (time_t)(wait_ms / 1000),
	                              .tv_nsec = (long)(wait_ms % 1000) * 1000000L};

	up->stopped = up->stopped || sigtimedwait(&up->signals, NULL, &time) > 0;
	return up->stopped;
}

static enum pl_code start_daemons(struct up *up, struct pl_err *err)
{
	enum pl_code code = PL_OK;
	uint64_t left = up->shards;

	for (uint64_t i = 0; i < up->processes && code == PL_OK; i++) {
		uint64_t share = left / (up->processes - i);
		char name[CHILDREN_NAME_SIZE], shards[24];
		const char *const args[] = {
			up->placetd,    "--shards", shards,
			"--name",       name,       "--etcd",
			up->endpoint,   "--ttl",    up->ttl,
			"--log-level",  "warn",     i == 0 ? "--api-listen" : NULL,
			up->api.listen, NULL};

		(void)snprintf(name, sizeof name, "up-%" PRIu64, i);
		(void)snprintf(shards, sizeof shards, "%" PRIu64, share);
		left -= share;
		code = children_start(&up->children, name, args, CHILD_SAYS_ERRORS, NULL,
		                      err);
	}
	return code;
}

static enum pl_code count_keys(struct up *up, const char *prefix, uint64_t *out,
                               struct pl_err *err)
{
	struct kv_req req = kv_op_get(kv_prefix(pl_span_str(prefix)));
	struct kv_result result;
	enum pl_code code;

	req.get.count_only = true;
	pl_arena_reset(&up->session.arena);
	code = store_session_call(&up->session, &req, &result, err);
	*out = code == PL_OK ? (uint64_t)result.get.total : 0;
	return code;
}

static enum pl_code end_programs(struct up *up, struct pl_err *err)
{
	const struct child *child = children_ended(&up->children);

	if (child == NULL)
		return PL_OK;
	return pl_err_set(err, PL_IO, "%s ended with status %d", child->name,
	                  child->status);
}

static enum pl_code await_shards(struct up *up, struct pl_err *err)
{
	uint64_t begin_ms = pl_clock_ms(), shards = 0, owned = 0;
	enum pl_code code = PL_OK;

	while (code == PL_OK && !is_stopped(up, LOOK_MS)) {
		code = count_keys(up, "/shards/", &shards, err);
		if (code == PL_OK)
			code = count_keys(up, "/partitions/", &owned, err);
		if (code == PL_OK)
			code = end_programs(up, err);
		if (code == PL_OK && shards == up->shards &&
		    owned >= META_PARTITIONS_DEFAULT)
			break;
		if (code == PL_OK && pl_clock_ms() - begin_ms > READY_MS)
			code = pl_err_set(err, PL_TIMEOUT,
			                  "%" PRIu64 " of %" PRIu64 " shards, %" PRIu64
			                  " partitions owned",
			                  shards, up->shards, owned);
	}
	if (code == PL_OK && !up->stopped)
		print_message("shards    %" PRIu64 " in %" PRIu64
		              " process%s own %" PRIu64 " partitions, after %.1f s",
		              shards, up->processes, up->processes == 1 ? "" : "es",
		              owned, (double)(pl_clock_ms() - begin_ms) / 1e3);
	return code;
}

/* The member: pods that are bound there run, and end. */
static enum pl_code run_cluster(struct up *up, const char *cluster, struct pl_err *err)
{
	char name[CHILDREN_NAME_SIZE + 16];
	const char *args[8 + 2 * SIM_OPT_COUNT] = {
		up->placet, "sim-cluster", "--run",     "--cluster",
		cluster,    "--endpoints", up->endpoint};
	size_t count = 7;

	for (unsigned i = 0; i < SIM_OPT_COUNT; i++) {
		if (up->runs[i] == NULL)
			continue;
		args[count++] = sim_opt_word((enum sim_opt)i);
		args[count++] = up->runs[i];
	}

	(void)snprintf(name, sizeof name, "the member of %s", cluster);
	return children_start(&up->children, name, args, CHILD_SAYS_NOTHING, NULL, err);
}

static enum pl_code add_cluster(struct up *up, uint64_t number, struct pl_err *err)
{
	char name[CHILDREN_NAME_SIZE], nodes[24];
	const char *const args[] = {
		up->placet,    "sim-cluster", "--cluster",
		name,          "--nodes",     nodes,
		"--endpoints", up->endpoint,  up->profile == NULL ? NULL : "--profile",
		up->profile,   NULL};
	struct child *child = NULL;
	enum pl_code code;

	(void)snprintf(name, sizeof name, "sim-%" PRIu64, number + 1);
	(void)snprintf(nodes, sizeof nodes, "%" PRIu64, up->nodes);
	code = children_start(&up->children, name, args, CHILD_SAYS_ERRORS, &child, err);
	if (code != PL_OK)
		return code;
	for (uint64_t begin_ms = pl_clock_ms(); !children_wait(child, 0);)
		if (is_stopped(up, LOOK_MS) || pl_clock_ms() - begin_ms > NODES_MS)
			return PL_OK; /* the child is ended with the others */
	if (child->status != 0)
		return pl_err_set(err, PL_IO,
		                  "cluster %s: placet sim-cluster ended "
		                  "with status %d",
		                  name, child->status);
	print_message("cluster   %s: %" PRIu64 " simulated nodes", name, up->nodes);
	return run_cluster(up, name, err);
}

/* -- while it is up ------------------------------------------------------- */

static enum pl_code add_stats(struct up *up, struct placing_stats *out,
                              struct pl_err *err)
{
	struct kv_req req = placing_stats_request();
	struct kv_result result;
	enum pl_code code;

	pl_arena_reset(&up->session.arena);
	code = store_session_call(&up->session, &req, &result, err);
	if (code == PL_OK)
		placing_stats_add(out, &result);
	return code;
}

static void print_stats(const struct placing_stats *stats, struct progress *progress)
{
	char text[PROGRESS_TEXT_MAX];

	placing_stats_text(stats, text);
	progress_print(progress, pl_clock_ms(), "%s", text);
}

/* The API is the first process's, and serves once its informers have read the store. */
static enum pl_code await_api(struct up *up, struct pl_err *err)
{
	uint64_t begin_ms = pl_clock_ms();
	enum pl_code code = PL_OK;

	while (code == PL_OK && !up->stopped && !up_api_ready(&up->api)) {
		(void)is_stopped(up, LOOK_MS / 4);
		code = end_programs(up, err);
		if (code == PL_OK && pl_clock_ms() - begin_ms > READY_MS)
			code = pl_err_set(err, PL_TIMEOUT, "the API at %s is not ready",
			                  up->api.url);
	}
	return code == PL_OK && !up->stopped ? up_api_tell(&up->api, err) : code;
}

static void print_usage(const struct up *up)
{
	int dir = (int)(strrchr(up->placet, '/') - up->placet);

	print_message("%s", "");
	print_message("In another terminal:");
	print_message("  export PLACET_ENDPOINTS=%s PATH=%.*s:$PATH", up->endpoint, dir,
	              up->placet);
	print_message(
		"  placet submit -f FILE.yaml      pods, Deployments, StatefulSets, Jobs");
	print_message("  placet get pods; placet get nodes; placet shards --watch");
	print_message("  placet explain pod NAMESPACE/NAME");
	print_message(
		"  placet delete pod NAMESPACE/NAME; placet nodes drain sim-1/node-000000");
	print_message("  placet shard drain up-0-0; placet fsck");
	print_message("  kubectl --kubeconfig %s get nodes", up->api.path);
	print_message("Ctrl-C ends it, and everything in it.");
}

/* Uses the programs that were started first. */
static unsigned daemons_running(const struct up *up)
{
	unsigned count = 0;

	for (uint64_t i = 0; i < up->processes; i++)
		count += up->children.child[i].pid != 0;
	return count;
}

/* Members go on without these programs, so the user is told what counts. */
static void print_ended(const struct up *up, const struct child *child)
{
	bool is_daemon = child < up->children.child + up->processes;
	unsigned left = daemons_running(up);

	print_message("%s ended with status %d", child->name, child->status);
	if (!is_daemon)
		print_message(
			"what is bound to its machines does not begin or end any more");
	else if (left > 0)
		print_message("%u of %" PRIu64 " processes of placetd go%s on", left,
		              up->processes, left == 1 ? "es" : "");
	else
		print_message(
			"no placetd is left: pods are not placed (start one: placetd --etcd "
			"%s)",
			up->endpoint);
}

/* Runs until a signal; PL_IO: no process is left. */
static enum pl_code wait_for_signal(struct up *up, struct pl_err *err)
{
	struct progress progress;

	progress_init(&progress, pl_clock_ms());
	while (!is_stopped(up, 1000)) {
		const struct child *child = children_ended(&up->children);
		struct placing_stats stats = {0};
		struct pl_err trouble = {0};

		if (child != NULL) {
			progress_end(&progress);
			print_ended(up, child);
		}
		if (children_running(&up->children) == 0)
			return pl_err_set(err, PL_IO, "every process has ended");
		if (progress.terminal && add_stats(up, &stats, &trouble) == PL_OK)
			print_stats(&stats, &progress);
	}
	progress_end(&progress);
	return PL_OK;
}

static enum pl_code fill_cluster(struct up *up, struct pl_err *err)
{
	enum pl_code code = up_api_prepare(&up->api, err);

	if (code == PL_OK)
		code = start_daemons(up, err);
	if (code == PL_OK)
		code = await_shards(up, err);
	if (code == PL_OK && !up->stopped)
		code = await_api(up, err);
	for (uint64_t i = 0; i < up->clusters && code == PL_OK && !up->stopped; i++)
		code = add_cluster(up, i, err);
	if (code != PL_OK || up->stopped)
		return code;
	print_usage(up);
	return wait_for_signal(up, err);
}

static enum pl_code run_up(struct up *up, struct pl_err *err)
{
	struct etcd_opts etcd = {0};
	enum pl_code code = open_store(up, err);

	if (code != PL_OK)
		return code;
	etcd.endpoints = up->endpoint;
	code = store_session_open(&up->session, &etcd, CALL_MS, err);
	if (code == PL_OK) {
		code = fill_cluster(up, err);
		print_message("stopping %u processes", children_running(&up->children));
		children_stop(&up->children, STOP_MS);
		up_api_done(&up->api);
		store_session_close(&up->session);
	}
	close_store(up);
	return code;
}

static const struct option own[] = {
	{"store", required_argument, NULL, OPT_STORE},
	{"shards", required_argument, NULL, OPT_SHARDS},
	{"processes", required_argument, NULL, OPT_PROCESSES},
	{"clusters", required_argument, NULL, OPT_CLUSTERS},
	{"nodes", required_argument, NULL, OPT_NODES},
	{"profile", required_argument, NULL, OPT_PROFILE},
	{"ttl", required_argument, NULL, OPT_TTL},
	{"api-port", required_argument, NULL, OPT_API_PORT},
	{"kubeconfig", required_argument, NULL, OPT_KUBECONFIG},
	SIM_OPTS_OWN(OPT_RUNS),
	{0}};

static const struct options_spec spec = {
	.words = "up",
	.usage = "[options]",
	.about =
		"Runs a whole Placet in the foreground, to try things on: a store of its own,\n"
		"shards in processes of placetd, clusters of simulated machines, and the\n"
		"Kubernetes API, with a kubeconfig for kubectl. Ctrl-C ends it and removes\n"
		"everything.\n",
	.help = "  --store etcd|memory    an etcd that it starts itself (default), or a store\n"
		"                         in memory, which needs no etcd installed\n"
		"  --shards N             number of shards (default 4)\n"
		"  --processes N          processes that run the shards (default 2)\n"
		"  --clusters N           clusters of simulated machines (default 2)\n"
		"  --nodes N              machines in each cluster (default 1000)\n"
		"  --profile FILE         shapes of the machines (placet sim-cluster --help)\n" SIM_OPTS_HELP
		"  --ttl DURATION         of the shards' leases (default 3s)\n"
		"  --api-port PORT        where the first process serves the Kubernetes API on\n"
		"                         127.0.0.1 (default: one that is free)\n"
		"  --kubeconfig FILE      written for kubectl, and removed at the end (default:\n"
		"                         in a directory of its own)\n",
	.example = "  placet up\n"
		   "  placet up --ends 20/s --fail 5\n"
		   "  placet up --store memory --shards 1 --processes 1 --nodes 100\n",
	.common = OPTIONS_OFFLINE,
	.own = own,
	.take = set_option,
	.check = check_args,
};

/* Settings for stores elsewhere do not hold for this one. */
static void clear_environment(void)
{
	static const char *const names[] = {
		"PLACET_PREFIX", "PLACET_USER", "PLACET_PASSWORD", "PLACET_CACERT",
		"PLACET_CERT",   "PLACET_KEY",  "PLACET_SERVER"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		(void)unsetenv(names[i]);
}

static enum exit_code run_command(int argc, char **argv)
{
	struct up up = {
		.shards = 4, .processes = 2, .clusters = 2, .nodes = 1000, .ttl = "3s"};
	struct options options;
	enum exit_code exit_code;
	struct pl_err err = {0};
	enum pl_code code;

	if (!options_parse(&spec, argc, argv, &up, &options, &exit_code))
		return exit_code;
	clear_environment();
	(void)sigemptyset(&up.signals);
	(void)sigaddset(&up.signals, SIGINT);
	(void)sigaddset(&up.signals, SIGTERM);
	(void)signal(SIGPIPE, SIG_IGN);
	/* Signals are set up before any thread: they are waited for in one place. */
	(void)sigprocmask(SIG_BLOCK, &up.signals, NULL);
	code = find_programs(&up, &err);
	if (code == PL_OK)
		code = run_up(&up, &err);
	options_done(&options);
	return code == PL_OK ? EXIT_OK : print_error(spec.words, &err);
}

const struct command up_command = {
	.words = "up",
	.summary = "run a whole Placet in the foreground, to try it",
	.run = run_command,
	.spec = &spec};
