/*
 * A writer of many transactions in flight, each of which is settled. Submission,
 * requests about pods, nodes and repairs are built on it.
 *
 * It has a number of slots, and each slot does one transaction after the other. next
 * gives the slot's next request, answer takes the store's answer. When no slot has
 * more requests, or after a failure, done ends everything.
 *
 * **Unknown outcomes.** Every transaction must carry compares that its own success
 * makes false (txn_builder.h). A transaction with an unknown outcome is sent again as
 * it is until there is an answer: either it was applied just now, or the answer says
 * what stands there, and again says that it may be ours. A transaction that did not
 * reach the store is sent again after a while too, until the patience is over.
 */
#ifndef COORD_BULK_BULK_WRITER_H
#define COORD_BULK_BULK_WRITER_H

#include "store/base/arena.h"
#include "store/kv/kv.h"

enum { BULK_SLOTS_MAX = 64 };

struct bulk_writer;

struct bulk_opts {
	unsigned slots;       /* 0: 8; transactions in flight */
	uint64_t timeout_ms;  /* 0: 5,000; of each call */
	uint64_t patience_ms; /* 0: 30,000; of each transaction with all its attempts */
	/* Gives the slot's next request, which may borrow from the arena; the arena is
	 * reset before the next call. False: the slot has no more requests and is not
	 * asked again. */
	bool (*next)(void *ctx, unsigned slot, struct pl_arena *arena,
	             struct kv_req *req);
	/* Takes the store's answer to the request. again: an earlier attempt may have
	 * been applied. */
	void (*answer)(void *ctx, unsigned slot, const struct kv_result *result,
	               bool again);
	/* The last call; the writer is freed. err NULL: all slots have run dry.
	 * Otherwise a transaction failed, or the writer was canceled; PL_UNKNOWN: the
	 * outcome of some transaction is not known. Requests that were given and not
	 * answered did not end. */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

/* Copies opts. Calls nothing before it returns. */
PL_NODISCARD enum pl_code bulk_open(struct kv *kv, const struct bulk_opts *opts,
                                    struct bulk_writer **out, struct pl_err *err);
/* Starts no more requests; done follows later. May be called from next and answer. why
 * NULL: PL_CANCELED. */
void bulk_cancel(struct bulk_writer *writer, const struct pl_err *why);

#endif
