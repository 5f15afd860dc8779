/*
 * A million pods on a million nodes through one etcd: nodes applied, pods submitted,
 * then the shards are started and place them.
 *
 *	nodes_s   applying the nodes
 *	submit_s  submitting the pods
 *	place_s   from the start of the shards, which have to read all of it, to the last
 *	          pod bound
 *	total_s   submit_s and place_s
 */
#include <stdlib.h>

#include "bench/common/options.h"
#include "bench/common/report.h"
#include "bench/live/race.h"

static void emit_result(const struct race_opts *opts, const struct race_result *r,
                        const char *fields)
{
	double rss = 0;

	for (unsigned i = 0; i < opts->fleet.processes; i++)
		rss += r->fleet.rss_max[i];
	bench_emit(fields, "total_s", r->submit_s + r->from_start_s, "s");
	bench_emit(fields, "submit_s", r->submit_s, "s");
	bench_emit(fields, "place_s", r->from_start_s, "s");
	bench_emit(fields, "placed", r->placed, "pods");
	bench_emit(fields, "placements_per_s",
	           r->from_start_s > 0 ? r->placed / r->from_start_s : 0, "1/s");
	bench_emit(fields, "nodes_s", r->nodes_s, "s");
	bench_emit(fields, "first_owner_s", r->first_owner_s, "s");
	bench_emit(fields, "first_bound_s", r->first_bound_s, "s");
	bench_emit(fields, "placetd_cpu_s", r->placetd_cpu_s, "s");
	bench_emit(fields, "etcd_cpu_s", r->etcd_cpu_s, "s");
	bench_emit(fields, "submitter_cpu_s", r->submitter_cpu_s, "s");
	bench_emit(fields, "placetd_rss_max", rss, "B");
	bench_emit(fields, "etcd_rss_max", r->etcd_rss_max, "B");
	bench_emit(fields, "db_bytes", r->db_bytes, "B");
	bench_emit(fields, "txns", r->work.txns, "transactions");
	bench_emit(fields, "txns_failed", r->work.txns_failed, "transactions");
	bench_emit(fields, "txns_unknown", r->work.txns_unknown, "transactions");
	bench_emit(fields, "conflicts", r->work.conflicts, "placements");
	bench_emit(fields, "taken_back", r->work.taken_back, "placements");
	fleet_emit(&r->fleet, fields);
}

int main(int argc, char **argv)
{
	struct race_opts opts = {
		.load = {.partitions = 256, .nodes = 1000000, .pods = 1000000},
		.fleet = {.shards = 4, .processes = 1},
		.limit_s = 1800,
		.idle_s = 120,
	};
	struct race_result *result = bench_alloc(1, sizeof *result);
	struct bench_fields fields = {.len = 0};
	int exit_code;
	const struct bench_option options[] = {
		{"nodes", BENCH_COUNT, &opts.load.nodes, NULL, "nodes", .low = 16,
	         .high = 4000000},
		{"pods", BENCH_COUNT, &opts.load.pods, NULL, "pods", .low = 1,
	         .high = 40000000},
		{"shards", BENCH_COUNT, &opts.fleet.shards, NULL, "shards", .low = 1,
	         .high = FLEET_SHARDS_MAX},
		{"processes", BENCH_COUNT, &opts.fleet.processes, NULL,
	         "processes of placetd, which share the shards", .low = 1,
	         .high = FLEET_PROCESSES_MAX},
		{"partitions", BENCH_COUNT, &opts.load.partitions, NULL, "partitions",
	         .low = 1, .high = KEYS_PARTITIONS_MAX},
		{"ttl", BENCH_COUNT, &opts.fleet.ttl_s, "S",
	         "TTL of the shards' leases (default: that of placetd). A\n"
	         "store with little CPU answers keep-alives late",
	         .low = 2, .high = 3600},
		{"timeout", BENCH_COUNT, &opts.limit_s, "S", "limit of the placement",
	         .low = 1},
		{"idle", BENCH_COUNT, &opts.idle_s, "S",
	         "end after so long without a newly bound pod", .low = 1},
		{"dir", BENCH_TEXT, &opts.dir, "DIR",
	         "parent directory of etcd's data (default TMPDIR or /tmp)", .low = 0},
	};
	const struct bench_usage usage = {
		.name = "million",
		.about =
			"A million pods on a million nodes, or fewer, through an etcd of its own with\n"
			"fsync. Nodes are applied, pods are submitted, then placed; memory, and fsck.\n",
		.options = options,
		.count = sizeof options / sizeof options[0],
		.more = "total_s is submit_s plus place_s, which counts from the start of the shards.\n\n"
			"The exit status is that of e2e.\n",
	};

	bench_options(&usage, argc, argv);
	opts.load.shards = opts.fleet.shards;
	opts.fleet.partitions = opts.load.partitions;
	race_check(&opts);
	bench_field(&fields,
	            "\"nodes\":%u,\"pods\":%u,\"shards\":%u,\"processes\":%u,"
	            "\"partitions\":%u",
	            opts.load.nodes, opts.load.pods, opts.fleet.shards,
	            opts.fleet.processes, opts.load.partitions);
	race_run(&opts, fields.at, result);
	emit_result(&opts, result, fields.at);
	exit_code = race_exit(&opts, result);
	free(result);
	return exit_code;
}
