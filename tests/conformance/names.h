/*
 * Names map revisions and leases, which two stores do not share, to relative numbers.
 *
 * A case is written, and an answer shown, as if the store had just been made:
 * revisions count from its reset (0: the reset itself), leases are numbered by
 * the side that grants them. Relative numbers of leases: 1 to 999 are ids that the
 * case chose; NAMES_CHOSEN + i is the i-th id that the store chose.
 */
#ifndef TESTS_CONFORMANCE_NAMES_H
#define TESTS_CONFORMANCE_NAMES_H

#include "store/base/arena.h"
#include "store/kv/types.h"

enum { NAMES_OWN_MAX = 999, NAMES_CHOSEN = 1000, NAMES_CHOSEN_MAX = 4096 };

struct names {
	int64_t base;       /* the store's revision at its reset */
	int64_t lease_base; /* relative lease n is lease_base + n */
	int64_t *chosen;
	size_t chosen_count;
};

/* out gives the number of the store, in the number of the case. 0 stays 0. */
int64_t names_revision_out(const struct names *names, int64_t revision);
int64_t names_revision_in(const struct names *names, int64_t revision);
int64_t names_lease_out(const struct names *names, int64_t lease);
int64_t names_lease_in(const struct names *names, int64_t lease);

/* Notes a lease that the store granted with an id of its choice. */
void names_lease_chosen(struct names *names, int64_t lease);

/* Requests with the numbers of the store; keys and values stay borrowed.
 * The arena has no bound: running out of memory ends the process. */
struct kv_req names_req_out(const struct names *names, struct pl_arena *arena,
                            const struct kv_req *req);
struct kv_watch_req names_watch_out(const struct names *names,
                                    const struct kv_watch_req *req);

#endif
