/* What placet wait --summary tells: how long pods waited, where they went, and who sent
 * them there. */
#ifndef COORD_CLI_WAIT_TALLY_H
#define COORD_CLI_WAIT_TALLY_H

#include "shardsched/ledger/state.h"
#include "store/base/arena.h"

enum { TALLY_NAMES_MAX = 256 }; /* those beyond are counted as others */

struct tally_name {
	struct pl_span name; /* in the arena */
	uint64_t count;
};

struct tally_names {
	struct tally_name row[TALLY_NAMES_MAX];
	uint32_t count;
	uint64_t others;
};

struct wait_tally {
	struct pl_arena arena;
	struct tally_names clusters, shards;
	uint32_t *waited_us; /* of pods that were seen before they were bound */
	size_t waits, cap;
	uint64_t first_us, last_us; /* when pods were bound; 0: none yet */
	uint64_t bound;
	bool short_of_memory; /* something is not counted */
};

void wait_tally_init(struct wait_tally *tally);
void wait_tally_done(struct wait_tally *tally);

/* Bound now. seen_us: when it was first seen without a place; 0: it never was. */
void wait_tally_bound(struct wait_tally *tally, const struct pod_state *state,
                      uint64_t seen_us, uint64_t now_us);
void wait_tally_print(struct wait_tally *tally);

#endif
