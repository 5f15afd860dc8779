/*
 * What somebody who watches the store sees of a run: who owns partitions, which of the
 * load's pods are bound, and when. A client of its own, apart from whoever writes.
 */
#ifndef BENCH_LIVE_ONLOOKER_H
#define BENCH_LIVE_ONLOOKER_H

#include "bench/live/live.h"
#include "bench/live/load.h"

/* A pod came to a node, in the order of the store. */
struct onlooker_placement {
	uint32_t pod, node;
};

struct onlooker {
	struct live *live;
	struct kv *kv; /* its own */
	struct kv_watch *owners, *states;
	unsigned ended; /* watches */
	uint32_t pods;
	bool *is_bound;     /* by pod */
	uint64_t *bound_ns; /* by pod, when it was first seen; NULL: not wanted */
	struct onlooker_placement *placement; /* NULL: not wanted */
	uint32_t placements, placements_max;
	uint32_t owned;  /* owners that came */
	uint32_t bound;  /* now */
	uint32_t placed; /* that were bound once at least */
	uint64_t pending_puts;
	uint64_t evicted; /* pods that were told to go, others' too */
	double owned_s, first_bound_s,
		bound_s; /* the first owner; the first and last pod */
	double moved_s;  /* when something was bound, or owned, last */
};

enum {
	ONLOOKER_PLACEMENTS = 1 << 0, /* remember them in their order */
	ONLOOKER_TIMES = 1 << 1,      /* of each pod */
};

/* From that revision on; 0: from now. */
void onlooker_open_at(struct onlooker *onlooker, struct live *live, uint32_t pods,
                      unsigned wants, int64_t from);
void onlooker_open(struct onlooker *onlooker, struct live *live, uint32_t pods,
                   unsigned wants);
void onlooker_close(struct onlooker *onlooker);

#endif
