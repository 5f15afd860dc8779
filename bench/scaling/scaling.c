/*
 * The cost of a placement by the number of shards: the same nodes and pods with 1, 2,
 * 4, 8, 16 shards, one run after the other, each over an etcd of its own. On few cores
 * more shards are not faster; the figure is the CPU time of placetd that each placement
 * takes.
 */
#include <stdlib.h>

#include "bench/common/options.h"
#include "bench/common/report.h"
#include "bench/live/race.h"

enum { SHARDS_MAX = 16 };

static double run_shards(struct race_opts *opts, uint32_t shards, double of_one,
                         int *exit_code)
{
	struct race_result *result = bench_alloc(1, sizeof *result);
	struct bench_fields fields = {.len = 0};
	double each_us;
	int code;

	opts->load.shards = opts->fleet.shards = shards;
	bench_field(&fields,
	            "\"shards\":%u,\"nodes\":%u,\"pods\":%u,\"processes\":%u,"
	            "\"partitions\":%u,\"profile\":\"%s\"",
	            shards, opts->load.nodes, opts->load.pods, opts->fleet.processes,
	            opts->load.partitions, load_profile_names[opts->load.profile]);
	race_run(opts, fields.at, result);
	race_emit(opts, result, fields.at);
	each_us = result->placed == 0 ? 0 : result->placetd_cpu_s * 1e6 / result->placed;
	if (of_one > 0)
		bench_emit(fields.at, "cpu_ratio", each_us / of_one, "");
	code = race_exit(opts, result);
	if (code != BENCH_OK && *exit_code != BENCH_FAILED)
		*exit_code = code;
	free(result);
	return each_us;
}

int main(int argc, char **argv)
{
	struct race_opts opts = {.load = {.partitions = 64, .nodes = 5000},
	                         .fleet = {.shards = 1, .processes = 1},
	                         .limit_s = 300,
	                         .idle_s = 15};
	unsigned profile = LOAD_BASIC;
	uint32_t most = SHARDS_MAX;
	double of_one = 0;
	int exit_code = BENCH_OK;
	const struct bench_option options[] = {
		{"nodes", BENCH_COUNT, &opts.load.nodes, NULL, "nodes", .low = 16,
	         .high = 4000000},
		{"pods", BENCH_COUNT, &opts.load.pods, NULL,
	         "pods (default 10 for each node; preemption: 1)", .low = 1},
		{"shards", BENCH_COUNT, &most, NULL,
	         "largest number of shards; each run has twice as many", .low = 1,
	         .high = FLEET_SHARDS_MAX},
		{"partitions", BENCH_COUNT, &opts.load.partitions, NULL, "partitions",
	         .low = 1, .high = KEYS_PARTITIONS_MAX},
		{"profile", BENCH_WORD, &profile, "NAME", "the kind of pods and nodes",
	         .words = load_profile_names},
		{"submitting", BENCH_ON, &opts.submitting, NULL,
	         "pods are submitted after the partitions are divided, so\n"
	         "that the division is not measured",
	         .low = 0},
		{"timeout", BENCH_COUNT, &opts.limit_s, "S", "limit of each run",
	         .low = 1},
		{"idle", BENCH_COUNT, &opts.idle_s, "S",
	         "end after so long without a newly bound pod", .low = 1},
		{"dir", BENCH_TEXT, &opts.dir, "DIR",
	         "parent directory of etcd's data (default TMPDIR or /tmp)", .low = 0},
	};
	const struct bench_usage usage = {
		.name = "scaling",
		.about =
			"CPU time per placement with more shards: e2e with 1, 2, 4, 8, 16 shards.\n",
		.options = options,
		.count = sizeof options / sizeof options[0],
		.more = load_profile_help,
	};

	bench_options(&usage, argc, argv);
	opts.load.profile = (enum load_profile)profile;
	opts.fleet.partitions = opts.load.partitions;
	if (opts.load.pods == 0)
		opts.load.pods = load_pods_usual(opts.load.profile, opts.load.nodes);
	opts.fleet.shards = most;
	race_check(&opts);
	for (uint32_t shards = 1; shards <= most; shards *= 2) {
		double each_us = run_shards(&opts, shards, of_one, &exit_code);

		if (shards == 1)
			of_one = each_us;
	}
	return exit_code;
}
