/*
 * Counts what goes through a kv: calls by operation and outcome, how long they
 * took, bytes, and what the watches brought.
 *
 * The figures are a plain struct, changed in place by the thread that drives the
 * kv; another thread needs a copy made there.
 */
#ifndef STORE_KV_METRICS_H
#define STORE_KV_METRICS_H

#include "store/base/buf.h"
#include "store/kv/histogram.h"
#include "store/kv/kv.h"

struct kv_op_metrics {
	uint64_t started;
	uint64_t refused; /* starting failed: no room, over a limit */
	uint64_t
		ended[PL_CODE_COUNT]; /* [PL_OK]: succeeded; [PL_UNKNOWN]: nobody knows */
	uint64_t in_flight;
	uint64_t bytes_out, bytes_in; /* keys and values, without the wire's overhead */
	struct histogram took;        /* every outcome */
};

struct kv_watch_metrics {
	uint64_t started;
	uint64_t open;
	uint64_t notes;
	uint64_t events;
	uint64_t resumes; /* READY, after the first of a watch */
	uint64_t progress;
	uint64_t ended[PL_CODE_COUNT];
	uint64_t bytes_in;
};

struct kv_metrics {
	struct kv_op_metrics op[KV_OP_COUNT];
	uint64_t compares_failed; /* transactions that took their other branch */
	struct kv_watch_metrics watch;
};

struct kv_metrics_opts {
	/* NULL: the store's own clock, which counts whole milliseconds. */
	uint64_t (*now_us)(void *ctx);
	void *ctx;
};

/* opts may be NULL. From here on kv is closed through *out. */
PL_NODISCARD enum pl_code kv_metrics_open(struct kv *kv,
                                          const struct kv_metrics_opts *opts,
                                          struct kv **out, struct pl_err *err);

/* Of a kv from kv_metrics_open; valid until it is closed. */
const struct kv_metrics *kv_metrics_of(const struct kv *kv);

/* Prometheus' text format, every line with these labels, as 'shard="a"'; NULL or
 * "" for none. Operations that were never used are left out. */
PL_NODISCARD enum pl_code kv_metrics_prometheus(const struct kv_metrics *metrics,
                                                const char *labels, struct pl_buf *out);

/* One JSON object, without a newline. */
PL_NODISCARD enum pl_code kv_metrics_json(const struct kv_metrics *metrics,
                                          struct pl_buf *out);

#endif
