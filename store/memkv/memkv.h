/*
 * The kv interface in memory, on a clock that the caller moves.
 *
 * Behaves as etcd 3.4 does, answer for answer, revision for revision: one
 * conformance suite holds both to that. Deterministic: the same calls at the
 * same virtual times give the same answers in the same order.
 *
 * A call is judged and applied inside kv_start; its answer waits in one queue
 * with everybody's answers and watch notes, which memkv_run() delivers in order:
 *   - the notes of a write come before its answer, watch by watch in the order
 *     of where the watched ranges begin;
 *   - what happened at one time is delivered before the clock moves on; then
 *     leases run out (by time, then in the order they were granted), then timers.
 * So a canceled write was applied, and ends with PL_UNKNOWN; no call times out.
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
	uint64_t quota_bytes;       /* 0: none; over it writes fail with PL_NOSPACE */
	int64_t min_ttl_s;          /* 0: 2, as etcd's with default timing */
	uint64_t expiry_delay_ms;   /* how long after its TTL a lease's keys go */
	size_t room_bytes;          /* requests in flight, a session; 0: 8 MiB */
	uint64_t now_ms;            /* the clock's first reading */
	uint64_t seed;              /* of lease ids and the cluster's id */
};

/* opts may be NULL. */
PL_NODISCARD enum pl_code memkv_new(const struct memkv_opts *opts, struct memkv **out,
                                    struct pl_err *err);

/* Closes nothing: kv_close() every session first. */
void memkv_free(struct memkv *mem);

/* One client of the store: its own calls and watches. Several may be open at
 * once; closing one ends what it started and nothing else. */
PL_NODISCARD enum pl_code memkv_session(struct memkv *mem, struct kv **out,
                                        struct pl_err *err);

/* Moves the clock (never back) and delivers everything due: answers, events,
 * timers, expired leases. Runs until nothing is due any more; so a client that
 * answers each answer with a call keeps it busy for ever: see memkv_step. */
void memkv_run(struct memkv *mem, uint64_t now_ms);

/* The same, but delivers at most count answers and notes. False: nothing is due
 * any more. The clock stands still while something is left. */
bool memkv_step(struct memkv *mem, uint64_t now_ms, size_t count);

/* When memkv_run() next has something to do; at most now when answers wait.
 * UINT64_MAX: never. */
uint64_t memkv_next_ms(const struct memkv *mem);

/* As if the session's connection broke and came back: calls whose answers were
 * still to be delivered end with PL_UNAVAIL, writes with PL_UNKNOWN; watches
 * resume, are READY again, or find out that they can not be resumed
 * (PL_COMPACTED, PL_REWOUND). */
void memkv_reconnect(struct kv *kv);

/* As a new leader does: every lease begins its TTL anew, grace_ms from now. None
 * expires before that. */
PL_NODISCARD enum pl_code memkv_renew_leases(struct memkv *mem, uint64_t grace_ms,
                                             struct pl_err *err);

/* How many there are, expired ones whose keys still stand included. */
size_t memkv_leases(const struct memkv *mem);

int64_t memkv_revision(const struct memkv *mem);

/* The whole state as it stands, for a store that comes back from a backup: the
 * revision goes back, later writes are forgotten, leases start anew. Watches are
 * not told: they see nothing until the revision passes what they saw, or until
 * memkv_reconnect. */
struct memkv_snapshot;
PL_NODISCARD enum pl_code memkv_save(const struct memkv *mem, struct memkv_snapshot **out,
                                     struct pl_err *err);
PL_NODISCARD enum pl_code memkv_restore(struct memkv *mem,
                                        const struct memkv_snapshot *snapshot,
                                        struct pl_err *err);
void memkv_snapshot_free(struct memkv_snapshot *snapshot);

/* Runs a memkv by a libuv loop's real time (pl_clock_ms), until detached. The
 * clock jumps there first when it is behind. */
struct memkv_loop;
PL_NODISCARD enum pl_code memkv_attach(struct memkv *mem, uv_loop_t *loop,
                                       struct memkv_loop **out, struct pl_err *err);
/* The sessions are closed first, or driven by memkv_run from then on. */
void memkv_detach(struct memkv_loop *loop, void (*done)(void *ctx), void *ctx);

#endif
