/*
 * The store of a simulation: one memkv, and the faults of the servers in front of it.
 * Requests arrive here when the network has brought them.
 *
 * Without a leader only requests are answered that one member can answer alone. Other
 * requests are served later, refused, or served and never answered. Leases do not expire,
 * and begin their TTL anew under the next leader. A full store refuses writes that would
 * make it larger, with an unknown outcome.
 */
#ifndef TESTS_SIM_SIMSTORE_H
#define TESTS_SIM_SIMSTORE_H

#include "store/kv/kv.h"
#include "store/memkv/memkv.h"
#include "tests/sim/agenda.h"
#include "tests/sim/story.h"

/* Writers of revisions besides processes: none (expired leases, operators), the
 * client. */
enum { SIMSTORE_NO_WRITER = 0, SIMSTORE_CLIENT = -1, SIMSTORE_WRITES = 4096 };

/* Embedded in the call that it belongs to. */
struct simstore_job {
	struct pl_list link;
	struct simstore *store;
	struct kv_req req; /* borrowed until done */
	bool writes;
	int64_t writer;   /* pid of a process, or SIMSTORE_CLIENT */
	bool answer_lost; /* the request will be served, and its answer lost */
	/* Called exactly once, perhaps before simstore_ask() returns. Both arguments are
	 * borrowed. */
	void (*done)(struct simstore_job *job, const struct kv_result *result,
	             const struct pl_err *err);
};

struct simstore {
	struct agenda *agenda;
	struct story *story;
	struct memkv *mem;
	struct kv *kv; /* the kv behind all requests and watches */
	struct pl_rng rng;
	struct pl_list parked; /* jobs that came while there was no leader */
	struct agenda_item elected;
	bool leaderless;
	bool full;
	uint64_t slow_ms; /* every request takes up to so much longer */
	bool closed;
	uint64_t served, refused, lost; /* for the coverage */
	struct {
		int64_t revision, writer;
	} wrote[SIMSTORE_WRITES]; /* writers of the last revisions */
	/* Called after each compaction. */
	void (*compacted)(void *ctx, int64_t revision);
	void *ctx;
};

void simstore_init(struct simstore *store, struct agenda *agenda, struct story *story,
                   uint64_t seed, uint64_t expiry_delay_ms, uint32_t txn_ops);
void simstore_done(struct simstore *store); /* no request may be under way */

/* Returns the writer of one of the last revisions. */
int64_t simstore_writer(const struct simstore *store, int64_t revision);

void simstore_ask(struct simstore *store, struct simstore_job *job);

/* The leader is lost for that time. */
void simstore_lose_leader(struct simstore *store, uint64_t ms);
void simstore_elect(struct simstore *store);

/* Restores an earlier snapshot; waiting requests are lost. The caller has to break all
 * connections (simkv_break). */
void simstore_restore(struct simstore *store, const struct memkv_snapshot *snapshot);

/* Runs what is due in memkv at this moment: expired leases, answers, notes. */
void simstore_run(struct simstore *store);
uint64_t simstore_next_ms(const struct simstore *store);

#endif
