/*
 * A race is a run from nodes and pods in an etcd to pods on nodes: e2e, scaling and
 * million are such runs.
 *
 *	waiting     nodes, pods, then the shards are started
 *	submitting  nodes, the shards; when these have shared out the partitions, the pods
 *
 * A race is over when every pod is bound, when no more pod has been bound for idle_s, or
 * after limit_s: pods that are not bound are reported with their reasons. Then the
 * shards are stopped, and the store is checked.
 */
#ifndef BENCH_LIVE_RACE_H
#define BENCH_LIVE_RACE_H

#include "bench/live/fleet.h"
#include "bench/live/followers.h"
#include "bench/live/history.h"
#include "bench/live/load.h"
#include "bench/live/observer.h"
#include "bench/live/regret.h"

struct race_opts {
	struct load load;
	struct fleet_opts fleet; /* has as many partitions as the load */
	bool submitting;
	bool history;            /* report the writes, from the store's history */
	uint32_t regret_samples; /* 0: none */
	uint32_t limit_s, idle_s;
	uint32_t
		followers; /* clients that watch all pods over fleet.api_port; submitting */
	const char *dir;
};

struct race_result {
	double nodes_s, submit_s; /* waiting: until all objects were in the store */
	double place_s;           /* from the first owner, or the first submission */
	double from_start_s;      /* from the start of the shards */
	double first_owner_s, first_bound_s; /* from the start of the shards */
	double placements_per_s;
	double placetd_cpu_s, etcd_cpu_s,
		watcher_cpu_s; /* from the start of the shards */
	double submitter_cpu_s, submitter_rss_max;
	double etcd_rss_max, db_bytes;
	uint32_t placed;
	uint64_t pending_puts, evicted, violations;
	struct followers_result followed;
	double followers_cpu_s;
	struct fleet fleet; /* CPU and memory of each */
	struct fleet_work work;
	struct history history;
	struct regret regret;
};

/* Ends the bench as wrong usage when options are out of bounds. */
void race_check(const struct race_opts *opts);
/* fields: of the case, for what is emitted by the run itself: violations, reasons. The
 * first one tells the environment. */
void race_run(const struct race_opts *opts, const char *fields, struct race_result *out);
/* Emits all figures of a result. */
void race_emit(const struct race_opts *opts, const struct race_result *result,
               const char *fields);
/* The exit code of a run: BENCH_OK, pods not placed, or a store that is not right. */
int race_exit(const struct race_opts *opts, const struct race_result *result);

#endif
