/*
 * What the store benches share: an etcd of their own with fsync, a client, the
 * clock and the CPU time of both, and one JSON object a line on stdout.
 */
#ifndef BENCH_STORE_BENCH_H
#define BENCH_STORE_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "store/base/arena.h"
#include "store/etcd/etcd.h"
#include "store/etcd/launch.h"
#include "store/kv/calls.h"

struct bench_opts {
	const char *only; /* NULL: all; otherwise a part's name */
	const char *dir;  /* where etcd's data goes; NULL: TMPDIR or /tmp */
	double seconds;   /* of each timed case */
	unsigned pods;    /* distinct pods of the placement case */
	unsigned nodes;
	uint64_t events; /* of the soak */
};

struct bench {
	const struct bench_opts *opts;
	uv_loop_t loop;
	struct etcd_launch *launch;
	struct kv *kv;
	struct pl_arena arena; /* of the request being built; reset by whoever builds */
};

/* Ends the program with a message when something fails: a bench that went wrong
 * has no figures. */
void bench_check(enum pl_code code, const struct pl_err *err, const char *what);

/* Zeroed; never NULL. Freed by free(). */
__attribute__((returns_nonnull)) void *bench_alloc(size_t count, size_t size);

void bench_open(struct bench *bench, const struct bench_opts *opts, bool tls);
void bench_close(struct bench *bench);

/* Another client of the same etcd, on a loop of the caller's. */
struct kv *bench_client(const struct bench *bench, uv_loop_t *loop);
void bench_client_close(uv_loop_t *loop, struct kv *kv);

/* One call, to its end. result is valid until the next one; may be NULL. */
void bench_call(struct bench *bench, const struct kv_req *req, struct kv_result *result);

/* -- figures --------------------------------------------------------------- */

/* "store", unless a program of another name says so before its first figure. */
extern const char *bench_name;

struct measure {
	uint64_t start_ns, client_ns, server_ns;
	double wall_s, client_s, server_s;
};

void measure_start(struct measure *m, const struct bench *bench);
void measure_end(struct measure *m, const struct bench *bench);

/* fields: the inside of "case", as "\"op\":\"put\",\"inflight\":4". */
void bench_emit(const char *fields, const char *metric, double value, const char *unit);
void bench_emit_cpu(const char *fields, const struct measure *m);
/* From its /metrics: fsync latency, size of the database. */
void bench_emit_server(struct bench *bench, const char *part);
void bench_environment(struct bench *bench);

/* Latencies in microseconds; sorts at. */
struct samples {
	uint32_t *at;
	size_t count, cap, seen; /* a full reservoir takes every n-th */
};

void samples_init(struct samples *s, size_t cap);
void samples_add(struct samples *s, uint64_t ns);
void samples_emit(struct samples *s, const char *fields, const char *prefix);
void samples_done(struct samples *s);

/* -- keeping calls in flight ------------------------------------------------ */

struct pump {
	struct bench *bench;
	unsigned inflight;
	double seconds; /* 0: until next says no */
	/* Builds the next request of a slot; false: there is none. */
	bool (*next)(void *ctx, unsigned slot, struct kv_req *req);
	void (*answered)(void *ctx, unsigned slot, const struct kv_result *result);
	void *ctx;
	/* results */
	uint64_t calls;
	struct samples *latency;
	struct measure measure;
};

void pump_run(struct pump *pump);

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
