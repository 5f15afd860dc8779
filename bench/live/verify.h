/* Checks of the store after a run: is it consistent, and which pods were not placed. */
#ifndef BENCH_LIVE_VERIFY_H
#define BENCH_LIVE_VERIFY_H

#include "bench/live/live.h"
#include "bench/live/load.h"

/* Checks as placet fsck does. Violations go to stderr and to fsck_violations. */
uint64_t verify_fsck(struct live *live, uint32_t partitions, const char *fields);

/* Pods of the load that have no place, by reason: unplaced, a line each. Gives how
 * many. */
uint32_t verify_unplaced(struct live *live, const struct load *load, const char *fields);

#endif
