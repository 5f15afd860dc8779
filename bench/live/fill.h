/*
 * A load into the store, as any client would put it there, in a process of its own: nodes
 * through coord/service/nodes, pods through coord/service/submit.
 */
#ifndef BENCH_LIVE_FILL_H
#define BENCH_LIVE_FILL_H

#include "bench/live/child.h"
#include "bench/live/live.h"
#include "bench/live/load.h"

enum fill_what { FILL_NODES, FILL_PODS };

struct fill_opts {
	struct load load;
	enum fill_what what;
	uint32_t first, count; /* range of pod numbers; count 0: all pods */
};

struct fill_result {
	double wall_s;
	uint64_t txns; /* transactions that wrote pods */
};

/* Starts the child that fills; progress goes to stderr. live and opts must last until
 * the child ends. */
void fill_start(struct child *child, struct live *live, const struct fill_opts *opts);
/* Fills, and runs the loop until the child has ended. */
void fill_run(struct live *live, const struct fill_opts *opts, struct child *ended);

#endif
