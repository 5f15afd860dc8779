/*
 * The whole of it: nodes and pods in an etcd with fsync, shards in processes of placetd,
 * until every pod is bound; and what the same store takes from an idle client that sends
 * the same transactions.
 */
#ifndef BENCH_E2E_E2E_H
#define BENCH_E2E_E2E_H

#include <uv.h>

#include "coord/daemon/crew.h"
#include "coord/work/crowd.h"
#include "store/etcd/etcd.h"
#include "store/etcd/launch.h"

enum { E2E_PROCESSES_MAX = 16 };

struct e2e_opts {
	struct crowd crowd;
	uint32_t shards, processes;
	bool submitting; /* the pods come while the shards run */
	bool ceiling;
	uint32_t timeout_s;
	const char *dir;
};

/* An etcd and a client of it. */
struct e2e_store {
	uv_loop_t loop;
	struct etcd_launch *launch;
	struct kv *kv;
};

/* What a shard's log says of it at the end, summed up. */
struct e2e_work {
	double decided, placed, txns, txns_failed, txns_unknown, txns_fenced, conflicts;
};

/* How large the transactions were. */
struct e2e_sizes {
	double pods, nodes, fences; /* in one */
	double state_bytes, alloc_bytes;
	uint32_t inflight;
};

/* Ends the program: a bench that went wrong has no figures. */
void e2e_check(enum pl_code code, const struct pl_err *err, const char *what);
void e2e_emit(const struct e2e_opts *opts, const char *metric, double value,
              const char *unit);
double e2e_now_s(void);
double e2e_cpu_s(pid_t pid);

/* store.c */
void store_up(struct e2e_store *store, const struct e2e_opts *opts);
void store_down(struct e2e_store *store);
void store_call(struct e2e_store *store, const struct kv_req *req,
                void (*fn)(void *ctx, const struct kv_result *result), void *ctx);
int64_t store_revision(struct e2e_store *store);
void store_write(struct e2e_store *store, const struct crowd *crowd,
                 enum crowd_part part);
void store_check(struct e2e_store *store, const struct crowd *crowd,
                 struct crowd_found *found);

/* race.c: gives what the transactions were like. */
void race_run(const struct e2e_opts *opts, struct e2e_sizes *sizes, double *placements);

/* ceiling.c: placements a second. */
double ceiling_run(const struct e2e_opts *opts, const struct e2e_sizes *sizes);

#endif
