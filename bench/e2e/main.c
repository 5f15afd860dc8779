/* bench-e2e: from pods in the store to pods on nodes. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/common/options.h"
#include "bench/common/report.h"
#include "bench/e2e/e2e.h"
#include "store/keys/keys.h"

static void fields_of(const struct race_opts *opts, struct bench_fields *fields)
{
	const struct load *load = &opts->load;

	bench_field(fields,
	            "\"nodes\":%u,\"pods\":%u,\"shards\":%u,\"processes\":%u,"
	            "\"partitions\":%u,\"profile\":\"%s\",\"op\":\"%s\"",
	            load->nodes, load->pods, opts->fleet.shards, opts->fleet.processes,
	            load->partitions, load_profile_names[load->profile],
	            opts->submitting ? "submitting" : "waiting");
}

enum { ROUNDS_MAX = 32 };

static int by_number(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median(double *value, uint32_t count)
{
	qsort(value, count, sizeof *value, by_number);
	return (value[(count - 1) / 2] + value[count / 2]) / 2;
}

/* One race of a round; gives its placements a second. */
static double run_turn(const struct race_opts *opts, uint32_t watchers, uint32_t round,
                       int *worst)
{
	struct race_result *result = bench_alloc(1, sizeof *result);
	struct race_opts turn = *opts;
	struct bench_fields fields = {.len = 0};
	double rate;
	int exit_code;

	turn.followers = watchers;
	turn.fleet.api_port = watchers > 0 ? followers_free_port() : 0;
	fields_of(&turn, &fields);
	bench_field(&fields, "\"watchers\":%u,\"round\":%u", watchers, round);
	race_run(&turn, fields.at, result);
	race_emit(&turn, result, fields.at);
	rate = result->placements_per_s;
	exit_code = race_exit(&turn, result);
	if (exit_code == BENCH_FAILED || *worst == BENCH_OK)
		*worst = exit_code;
	free(result);
	return rate;
}

/* Races without and with watchers, in turn. */
static int run_watched(const struct race_opts *opts, uint32_t watchers, uint32_t rounds)
{
	double without[ROUNDS_MAX], with[ROUNDS_MAX];
	struct bench_fields fields = {.len = 0};
	int worst = BENCH_OK;

	for (uint32_t round = 0; round < rounds; round++) {
		without[round] = run_turn(opts, 0, round, &worst);
		with[round] = run_turn(opts, watchers, round, &worst);
	}
	fields_of(opts, &fields);
	bench_field(&fields, "\"watchers\":%u,\"rounds\":%u", watchers, rounds);
	bench_emit(fields.at, "watched_ratio",
	           median(with, rounds) / median(without, rounds), "");
	return worst;
}

static int run_race(const struct race_opts *opts, bool ceiling)
{
	struct race_result *result = bench_alloc(1, sizeof *result);
	struct bench_fields fields = {.len = 0};
	double most;
	int exit_code;

	fields_of(opts, &fields);
	race_run(opts, fields.at, result);
	race_emit(opts, result, fields.at);
	if (ceiling && result->history.txns > 0) {
		most = ceiling_run(opts, &result->history, fields.at);
		bench_emit(fields.at, "ceiling_per_s", most, "1/s");
		bench_emit(fields.at, "ceiling_ratio", result->placements_per_s / most,
		           "");
	}
	exit_code = race_exit(opts, result);
	free(result);
	return exit_code;
}

static const char about[] =
	"Starts an etcd of its own with fsync, writes nodes and pods, and runs shards until\n"
	"every pod is bound. Then an idle client sends the same transactions to a new etcd\n"
	"with the same nodes and pods (ceiling).\n";

static const char more[] =
	"\nplacements_per_s counts from the first owned partition (--submitting: from the\n"
	"first submission) to the last bound pod, as a watch sees both. Pods that are not\n"
	"bound are counted by their reasons (unplaced).\n\n"
	"Exit status: 0 all pods are bound and fsck finds nothing, 1 fsck found violations\n"
	"or the bench failed, 2 wrong usage, 3 not every pod was bound.\n";

int main(int argc, char **argv)
{
	struct race_opts opts = {.load = {.partitions = 64, .nodes = 5000},
	                         .fleet = {.shards = 4, .processes = 1},
	                         .history = true,
	                         .regret_samples = 2000,
	                         .limit_s = 300,
	                         .idle_s = 15};
	unsigned profile = LOAD_BASIC;
	uint32_t watchers = 0, rounds = 3;
	bool ceiling = true;
	char *help = NULL;
	const struct bench_option options[] = {
		{"nodes", BENCH_COUNT, &opts.load.nodes, NULL, "nodes", .low = 16,
	         .high = 4000000},
		{"pods", BENCH_COUNT, &opts.load.pods, NULL,
	         "pods (default 10 for each node; preemption: 1)", .low = 1,
	         .high = 40000000},
		{"shards", BENCH_COUNT, &opts.fleet.shards, NULL, "shards", .low = 1,
	         .high = FLEET_SHARDS_MAX},
		{"processes", BENCH_COUNT, &opts.fleet.processes, NULL,
	         "processes of placetd, which share the shards", .low = 1,
	         .high = FLEET_PROCESSES_MAX},
		{"partitions", BENCH_COUNT, &opts.load.partitions, NULL, "partitions",
	         .low = 1, .high = KEYS_PARTITIONS_MAX},
		{"profile", BENCH_WORD, &profile, "NAME", "the kind of pods and nodes",
	         .words = load_profile_names},
		{"waiting", BENCH_OFF, &opts.submitting, NULL,
	         "pods are in the store before the shards start (the default)", .low = 0},
		{"submitting", BENCH_ON, &opts.submitting, NULL,
	         "pods are submitted after the partitions are divided", .low = 0},
		{"no-ceiling", BENCH_OFF, &ceiling, NULL, "do not run the idle client",
	         .low = 0},
		{"regret-samples", BENCH_COUNT, &opts.regret_samples, NULL,
	         "placements that are compared with a global choice;\n0: none", .low = 0},
		{"watchers", BENCH_COUNT, &watchers, NULL,
	         "races without and with so many clients that watch all\npods over the "
	         "API, in turn (--submitting)",
	         .low = 1, .high = FOLLOWERS_MAX},
		{"rounds", BENCH_COUNT, &rounds, NULL, "of such races", .low = 1,
	         .high = ROUNDS_MAX},
		{"timeout", BENCH_COUNT, &opts.limit_s, "S", "limit of the placement",
	         .low = 1},
		{"idle", BENCH_COUNT, &opts.idle_s, "S",
	         "end after so long without a newly bound pod", .low = 1},
		{"dir", BENCH_TEXT, &opts.dir, "DIR",
	         "parent directory of etcd's data (default TMPDIR or /tmp)", .low = 0},
	};
	struct bench_usage usage = {
		.name = "e2e",
		.about = about,
		.options = options,
		.count = sizeof options / sizeof options[0],
	};

	if (asprintf(&help, "%s%s", load_profile_help, more) < 0)
		bench_fail("out of memory");
	usage.more = help;
	bench_options(&usage, argc, argv);
	free(help);
	opts.load.profile = (enum load_profile)profile;
	opts.load.shards = opts.fleet.shards;
	opts.fleet.partitions = opts.load.partitions;
	if (opts.load.pods == 0)
		opts.load.pods = load_pods_usual(opts.load.profile, opts.load.nodes);
	opts.submitting = opts.submitting || watchers > 0;
	race_check(&opts);
	return watchers > 0 ? run_watched(&opts, watchers, rounds)
	                    : run_race(&opts, ceiling);
}
