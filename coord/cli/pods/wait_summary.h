/* A wait summary is what placet wait --summary prints: how long pods waited, on
 * which clusters they are, and which shards placed them. */
#ifndef COORD_CLI_PODS_WAIT_SUMMARY_H
#define COORD_CLI_PODS_WAIT_SUMMARY_H

#include "shardsched/records/pod_state.h"
#include "store/base/arena.h"

enum { WAIT_SUMMARY_NAMES_MAX = 256 }; /* names beyond are counted as others */

struct summary_name {
	struct pl_span name; /* in the arena */
	uint64_t count;
};

struct summary_names {
	struct summary_name row[WAIT_SUMMARY_NAMES_MAX];
	uint32_t count;
	uint64_t others;
};

struct wait_summary {
	struct pl_arena arena;
	struct summary_names clusters, shards;
	uint32_t *waited_us; /* of pods that were seen before they were bound */
	size_t waits, cap;
	uint64_t first_us, last_us; /* when pods were bound; 0: none yet */
	uint64_t bound;
	bool short_of_memory; /* something is not counted */
};

void wait_summary_init(struct wait_summary *summary);
void wait_summary_done(struct wait_summary *summary);

/* Counts a pod that is bound now. seen_us: when it was first seen without a place;
 * 0: never. */
void wait_summary_bound(struct wait_summary *summary, const struct pod_state *state,
                        uint64_t seen_us, uint64_t now_us);
void wait_summary_print(struct wait_summary *summary);

#endif
