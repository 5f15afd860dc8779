/* The writes of a run, read from the store's history afterwards: no watch disturbs the
 * run while it is measured. */
#ifndef BENCH_LIVE_HISTORY_H
#define BENCH_LIVE_HISTORY_H

#include "bench/live/live.h"

struct history {
	/* Transactions that bound pods, and the writes in them. */
	uint64_t txns, pods, allocs, groups, fences;
	uint64_t state_bytes, alloc_bytes, group_bytes;
	/* All puts and deletions, by any client. */
	uint64_t puts, bytes;
};

/* Pins the history: janitors do not compact it until it is read. */
struct history_pin;
struct history_pin *history_keep(struct live *live);
void history_release(struct live *live, struct history_pin *pin);

void history_read(struct live *live, int64_t from, int64_t until, struct history *out);
void history_emit(const struct history *history, const char *fields);

#endif
