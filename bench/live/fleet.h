/* A fleet: processes of placetd that share the shards of a bench, and their figures. */
#ifndef BENCH_LIVE_FLEET_H
#define BENCH_LIVE_FLEET_H

#include "bench/live/live.h"
#include "tests/support/coord/daemon/daemon_fixture.h"

enum { FLEET_PROCESSES_MAX = 16, FLEET_SHARDS_MAX = 256 };

struct fleet_opts {
	uint32_t shards, processes, partitions;
	uint32_t ttl_s;     /* 0: placetd's default */
	uint16_t api_port;  /* of the first process' API, in clear text; 0: none */
	const char *prefix; /* prefix of the processes' names; NULL: "p" */
};

/* The last figures in the shards' logs, summed up. */
struct fleet_work {
	double decided, placed, txns, txns_failed, txns_unknown, txns_fenced;
	double conflicts, taken_back, malformed;
};

struct fleet {
	struct fleet_opts opts;
	struct daemon_fixture_process process[FLEET_PROCESSES_MAX];
	double rss_max[FLEET_PROCESSES_MAX],
		cpu_s[FLEET_PROCESSES_MAX]; /* as last seen */
};

/* Ends the bench as wrong usage when shards and processes do not fit together. */
void fleet_check(const struct fleet_opts *opts);
void fleet_start(struct fleet *fleet, const struct live *live,
                 const struct fleet_opts *opts);
/* Reads CPU and memory of each process; gives the sum of the CPU. */
double fleet_look(struct fleet *fleet);
void fleet_emit(const struct fleet *fleet, const char *fields);
/* Stops the processes gracefully, and reads their logs. sum may be NULL. */
void fleet_stop(struct fleet *fleet, struct fleet_work *sum);
void fleet_kill(struct fleet *fleet);

#endif
