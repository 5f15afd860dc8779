/* A pump keeps a number of calls in flight; a slot has one call after the other. */
#ifndef BENCH_LIVE_PUMP_H
#define BENCH_LIVE_PUMP_H

#include "bench/common/samples.h"
#include "bench/live/live.h"

struct pump {
	struct live *live;
	unsigned inflight;
	double seconds; /* 0: until next gives no request */
	/* Builds the next request of a slot, in the live's arena; false: there is none.
	 */
	bool (*next)(void *ctx, unsigned slot, struct kv_req *req);
	void (*answered)(void *ctx, unsigned slot, const struct kv_result *result);
	void *ctx;
	/* results */
	uint64_t calls;
	struct samples *latency;
	struct meter measure;
};

void pump_run(struct pump *pump);

#endif
