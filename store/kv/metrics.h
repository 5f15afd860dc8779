/*
 * Counters around a kv: calls by operation and outcome, latencies, bytes, and what the
 * watches delivered.
 *
 * The counters are a plain struct that the thread which drives the kv changes in place.
 * Another thread needs a copy that is made on that thread.
 */
#ifndef STORE_KV_METRICS_H
#define STORE_KV_METRICS_H

#include "store/kv/kv.h"
#include "store/metrics/histogram.h"

struct kv_op_metrics {
	uint64_t started;
	uint64_t refused; /* starting failed: no room, or over a limit */
	uint64_t
		/* by code; [PL_OK]: succeeded; [PL_UNKNOWN]: the outcome is unknown */
		ended[PL_CODE_COUNT];
	uint64_t in_flight;
	/* sizes of keys and values, without the wire's overhead */
	uint64_t bytes_out, bytes_in;
	struct histogram took_us; /* latency of all outcomes */
};

struct kv_watch_metrics {
	uint64_t started;
	uint64_t open;
	uint64_t notes;
	uint64_t events;
	uint64_t resumes; /* READY notes after the first one of a watch */
	uint64_t progress;
	uint64_t ended[PL_CODE_COUNT];
	uint64_t bytes_in;
};

struct kv_metrics {
	struct kv_op_metrics op[KV_OP_COUNT];
	uint64_t compares_failed; /* transactions whose compares did not hold */
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

/* kv must come from kv_metrics_open. The result is valid until kv is closed. */
const struct kv_metrics *kv_metrics_of(const struct kv *kv);

#endif
