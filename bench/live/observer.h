/*
 * The observer of a run watches the store over a client of its own: which partitions
 * are owned, which of the load's pods are bound, and when.
 */
#ifndef BENCH_LIVE_OBSERVER_H
#define BENCH_LIVE_OBSERVER_H

#include "bench/live/live.h"
#include "bench/live/load.h"

/* A pod was bound to a node; placements are in the order of the store. */
struct observer_placement {
	uint32_t pod, node;
};

struct observer {
	struct live *live;
	struct kv *kv; /* the observer's own client */
	struct kv_watch *owners, *states;
	unsigned ended; /* watches that have ended */
	uint32_t pods;
	bool *is_bound;     /* by pod */
	uint64_t *bound_ns; /* by pod, when it was first seen; NULL: not wanted */
	struct observer_placement *placement; /* NULL: not wanted */
	uint32_t placements, placements_max;
	uint32_t owned;  /* owner keys that were put */
	uint32_t bound;  /* pods bound now */
	uint32_t placed; /* pods that were bound at least once */
	uint64_t pending_puts;
	uint64_t evicted; /* pods asked to terminate, also pods that are not the load's */
	/* When the first owner came, and the first and last pod were bound. */
	double owned_s, first_bound_s, bound_s;
	double moved_s; /* when a pod was last bound or a partition last owned */
};

enum {
	OBSERVER_PLACEMENTS = 1 << 0, /* remember them in their order */
	OBSERVER_TIMES = 1 << 1,      /* remember when each pod was bound */
};

/* Watches from that revision on; 0: from now. */
void observer_open_at(struct observer *observer, struct live *live, uint32_t pods,
                      unsigned wants, int64_t from);
void observer_open(struct observer *observer, struct live *live, uint32_t pods,
                   unsigned wants);
void observer_close(struct observer *observer);

#endif
