/*
 * The store of a simulation: one memkv, and what may befall the servers before
 * it. Requests arrive here when the network has brought them.
 *
 * Without a leader nothing is answered but what one member can say alone. What
 * came meanwhile is then served, refused, or served and never answered. Leases
 * are not expired, and begin their TTL anew under the next leader. A full store
 * refuses what would make it larger, with an outcome that nobody can know.
 */
#ifndef TESTS_SIM_DEPOT_H
#define TESTS_SIM_DEPOT_H

#include "store/kv/kv.h"
#include "store/memkv/memkv.h"
#include "tests/sim/agenda.h"
#include "tests/sim/story.h"

/* Whose a revision is: not of one of these, of nobody who was asked through here. */
enum { DEPOT_NOBODY = 0, DEPOT_CLERK = -1, DEPOT_WROTE = 4096 };

/* Embedded in the call that it is about. */
struct depot_job {
	struct pl_list link;
	struct depot *depot;
	struct kv_req req; /* borrowed until done */
	bool writes;
	int64_t whose; /* pid of a process, or DEPOT_CLERK */
	bool deaf;     /* it will be served, and the answer lost */
	/* Exactly once, perhaps before depot_ask() returns. Both are borrowed. */
	void (*done)(struct depot_job *job, const struct kv_result *result,
	             const struct pl_err *err);
};

struct depot {
	struct agenda *agenda;
	struct story *story;
	struct memkv *mem;
	struct kv *kv; /* what everybody's requests and watches go through */
	struct pl_rng rng;
	struct pl_list parked; /* jobs that came while there was no leader */
	struct agenda_item elected;
	bool leaderless;
	bool full;
	uint64_t slow_ms; /* everything takes up to so much longer */
	bool closed;
	uint64_t served, refused, lost; /* for the coverage */
	struct {
		int64_t revision, whose;
	} wrote[DEPOT_WROTE]; /* the last revisions */
	/* Told of each compaction that was done. */
	void (*compacted)(void *ctx, int64_t revision);
	void *ctx;
};

void depot_init(struct depot *depot, struct agenda *agenda, struct story *story,
                uint64_t seed, uint64_t expiry_delay_ms, uint32_t txn_ops);
void depot_done(struct depot *depot); /* nothing may be asked any more */

/* Who made that revision, one of the last. */
int64_t depot_whose(const struct depot *depot, int64_t revision);

void depot_ask(struct depot *depot, struct depot_job *job);

/* The leader is gone for so long. */
void depot_lose_leader(struct depot *depot, uint64_t ms);
void depot_elect(struct depot *depot);

/* The state of an earlier moment comes back; what waits is lost. Whoever is
 * connected has to be told (simkv_break). */
void depot_restore(struct depot *depot, const struct memkv_snapshot *snapshot);

/* What is due in memkv at this moment: expired leases, answers, notes. */
void depot_run(struct depot *depot);
uint64_t depot_next_ms(const struct depot *depot);

#endif
