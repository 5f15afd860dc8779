/*
 * The memory store: the kv interface in memory, on a clock that the caller moves.
 *
 * The store behaves like etcd 3.4, answer for answer and revision for revision; one
 * conformance suite holds both to that. It is deterministic: the same calls at the same
 * virtual times give the same answers in the same order.
 *
 * A call is judged and applied inside kv_start. Its answer waits in one queue with all
 * answers and watch notes, which memkv_run() delivers in order:
 *
 *   - the notes of a write come before its answer, watch by watch in the order in
 *     which the watched ranges begin;
 *   - everything that happened at one time is delivered before the clock moves on;
 *     then leases run out (by time, then in the order in which they were granted),
 *     then timers run.
 *
 * So a canceled write has been applied and ends with PL_UNKNOWN, and no call times out.
 */
#ifndef STORE_MEMKV_MEMKV_H
#define STORE_MEMKV_MEMKV_H

#include <uv.h>

#include "store/base/err.h"
#include "store/kv/kv.h"

struct memkv;

struct memkv_opts {
	uint32_t txn_ops_max;       /* 0: 128 */
	uint32_t request_bytes_max; /* 0: 1.5 MiB */
	/* 0: no quota; beyond it writes fail with PL_NOSPACE */
	uint64_t quota_bytes;
	int64_t min_ttl_s; /* 0: 2, like an etcd with default timing */
	/* how long after its TTL a lease's keys are deleted */
	uint64_t expiry_delay_ms;
	/* bytes of requests in flight of a session; 0: 8 MiB */
	size_t room_bytes;
	/* requests for progress stay unanswered, as on an etcd before 3.4.25 between its
	 * timed reports: only events show how far a watch has come */
	bool no_progress;
	uint64_t now_ms; /* the first time of the clock */
	uint64_t seed;   /* of lease ids and of the cluster id */
};

/* opts may be NULL. */
PL_NODISCARD enum pl_code memkv_new(const struct memkv_opts *opts, struct memkv **out,
                                    struct pl_err *err);

/* Every session must have been closed with kv_close(). */
void memkv_free(struct memkv *mem);

/* Opens a session: one client of the store, with its own calls and watches. Several may
 * be open at once. Closing one ends what it started and nothing else. */
PL_NODISCARD enum pl_code memkv_session(struct memkv *mem, struct kv **out,
                                        struct pl_err *err);

/* Moves the clock (never back) and delivers everything that is due: answers, events,
 * timers, expired leases. Runs until nothing is due any more, so a client that answers
 * each answer with a call keeps it busy for ever: see memkv_step. */
void memkv_run(struct memkv *mem, uint64_t now_ms);

/* Like memkv_run, but delivers at most count answers and notes. False: nothing is due any
 * more. The clock stands still while something is left. */
bool memkv_step(struct memkv *mem, uint64_t now_ms, size_t count);

/* When memkv_run() next has something to do; at most the current time if answers wait.
 * UINT64_MAX: never. */
uint64_t memkv_next_ms(const struct memkv *mem);

/* Behaves as if the session's connection broke and came back. Calls whose answers were
 * still to be delivered end with PL_UNAVAIL, writes with PL_UNKNOWN. Watches resume and
 * are READY again, or end because they cannot be resumed (PL_COMPACTED, PL_REWOUND). */
void memkv_reconnect(struct kv *kv);

/* Behaves like a new leader: every lease begins its TTL anew, grace_ms from now, and none
 * expires before that. */
PL_NODISCARD enum pl_code memkv_renew_leases(struct memkv *mem, uint64_t grace_ms,
                                             struct pl_err *err);

/* The number of leases, expired ones whose keys still exist included. */
size_t memkv_leases(const struct memkv *mem);

int64_t memkv_revision(const struct memkv *mem);

/* A copy of the whole state, for a store that comes back from a backup: restoring it
 * moves the revision back, forgets later writes and starts leases anew. Watches are not
 * told. They see nothing until the revision passes what they saw, or until
 * memkv_reconnect. */
struct memkv_snapshot;
PL_NODISCARD enum pl_code memkv_save(const struct memkv *mem, struct memkv_snapshot **out,
                                     struct pl_err *err);
PL_NODISCARD enum pl_code memkv_restore(struct memkv *mem,
                                        const struct memkv_snapshot *snapshot,
                                        struct pl_err *err);
void memkv_snapshot_free(struct memkv_snapshot *snapshot);

/* Drives a memory store by the real time of a libuv loop (pl_clock_ms) until it is
 * detached. The clock first jumps there if it is behind. */
struct memkv_loop;
PL_NODISCARD enum pl_code memkv_attach(struct memkv *mem, uv_loop_t *loop,
                                       struct memkv_loop **out, struct pl_err *err);
/* The sessions must have been closed, or memkv_run must drive them from then on. */
void memkv_detach(struct memkv_loop *loop, void (*done)(void *ctx), void *ctx);

#endif
