/* What the parts of the store's bench share. */
#ifndef BENCH_STORE_BENCH_H
#define BENCH_STORE_BENCH_H

#include "bench/common/report.h"
#include "bench/live/live.h"
#include "bench/live/pump.h"

struct bench_opts {
	unsigned only; /* a part; 0: all */
	const char *dir;
	double seconds; /* of each timed case */
	uint32_t pods;  /* distinct pods of the placement case */
	uint32_t nodes;
	uint64_t events; /* of the soak */
};

struct bench {
	const struct bench_opts *opts;
	struct live live;
};

void bench_open(struct bench *bench, const struct bench_opts *opts, bool tls);
void bench_close(struct bench *bench);

/* From its /metrics: fsync latency, size of the database. */
void bench_emit_server(struct bench *bench, const char *part);

/* The parts. */
void bench_puts(const struct bench_opts *opts);
void bench_pairs(struct bench *bench, const char *label, bool headline_only);
void bench_placement(const struct bench_opts *opts);
void bench_watch(struct bench *bench);
void bench_replay(struct bench *bench);
void bench_ranges(struct bench *bench);
void bench_rest(struct bench *bench);
void bench_soak(struct bench *bench);

#endif
