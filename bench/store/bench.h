/* Options and state that the parts of the store's bench share. */
#ifndef BENCH_STORE_BENCH_H
#define BENCH_STORE_BENCH_H

#include "bench/common/report.h"
#include "bench/live/live.h"
#include "bench/live/pump.h"

struct store_bench_opts {
	unsigned only; /* the part to run; 0: all */
	const char *dir;
	double seconds; /* duration of each timed case */
	uint32_t pods;  /* distinct pods of the placement case */
	uint32_t nodes;
	uint64_t events; /* events of the soak */
};

struct store_bench {
	const struct store_bench_opts *opts;
	struct live live;
};

void bench_open(struct store_bench *bench, const struct store_bench_opts *opts, bool tls);
void bench_close(struct store_bench *bench);

/* Emits fsync latency and size of the database from etcd's /metrics. */
void bench_emit_server(struct store_bench *bench, const char *part);

/* The parts of the bench. */
void bench_puts(const struct store_bench_opts *opts);
void bench_pairs(struct store_bench *bench, const char *label, bool headline_only);
void bench_placement(const struct store_bench_opts *opts);
void bench_watch(struct store_bench *bench);
void bench_replay(struct store_bench *bench);
void bench_ranges(struct store_bench *bench);
void bench_rest(struct store_bench *bench);
void bench_soak(struct store_bench *bench);

#endif
