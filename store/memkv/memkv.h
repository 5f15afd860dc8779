/*
 * The kv interface in memory, on a clock that the caller moves.
 *
 * Behaves as etcd 3.4 does, answer for answer, revision for revision: one
 * conformance suite holds both to that. Deterministic: the same calls at the
 * same virtual times give the same answers in the same order. Answers wait in a
 * queue; memkv_run() delivers them.
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
	uint64_t now_ms;            /* the clock's first reading */
	uint64_t seed;              /* of lease ids and the cluster's id */
};

PL_NODISCARD enum pl_code memkv_new(const struct memkv_opts *opts, struct memkv **out,
                                    struct pl_err *err);

/* Closes nothing: kv_close() every session first. */
void memkv_free(struct memkv *mem);

/* One client of the store: its own calls and watches. Several may be open at
 * once; closing one ends what it started and nothing else. */
PL_NODISCARD enum pl_code memkv_session(struct memkv *mem, struct kv **out,
                                        struct pl_err *err);

/* Moves the clock (never back) and delivers everything due: answers, events,
 * timers, expired leases. Runs until nothing is due any more. */
void memkv_run(struct memkv *mem, uint64_t now_ms);

/* When memkv_run() next has something to do; at most now when answers wait.
 * UINT64_MAX: never. */
uint64_t memkv_next_ms(const struct memkv *mem);

/* The whole state as it stands, for a store that comes back from a backup: the
 * revision goes back, later writes are forgotten, watches are not told. */
struct memkv_snapshot;
PL_NODISCARD enum pl_code memkv_save(const struct memkv *mem, struct memkv_snapshot **out,
                                     struct pl_err *err);
PL_NODISCARD enum pl_code memkv_restore(struct memkv *mem,
                                        const struct memkv_snapshot *snapshot,
                                        struct pl_err *err);
void memkv_snapshot_free(struct memkv_snapshot *snapshot);

/* Runs a memkv by a libuv loop's real time, until detached. */
struct memkv_loop;
PL_NODISCARD enum pl_code memkv_attach(struct memkv *mem, uv_loop_t *loop,
                                       struct memkv_loop **out, struct pl_err *err);
void memkv_detach(struct memkv_loop *loop, void (*done)(void *ctx), void *ctx);

#endif
