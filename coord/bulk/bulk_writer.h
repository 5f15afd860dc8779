/*
 * Many transactions in flight, each settled: what several commands that write much have
 * in common.
 *
 * There are so many slots; each does one transaction after the other. Its user is asked
 * for the next one (next), and told what the store answered (answer); when no slot has
 * anything left, or something failed for good, done ends it all.
 *
 * **Unknown outcomes.** Every transaction must carry compares that its own success makes
 * false (book.h). One whose outcome nobody knows is sent again as it is, until there is
 * an answer: then it was either applied just now, or the answer says what stands there,
 * and again tells that it may be ours. What merely did not reach the store is sent again
 * too, after a while, until its patience is over.
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
	uint64_t patience_ms; /* 0: 30,000; of each transaction, with all its calls */
	/* Asks for the slot's next request, which may borrow from the arena; it is reset
	 * before the next one. False: the slot has nothing left, and is not asked again.
	 */
	bool (*next)(void *ctx, unsigned slot, struct pl_arena *arena,
	             struct kv_req *req);
	/* The store's answer to it. again: it was sent before, and that may have been
	 * applied. */
	void (*answer)(void *ctx, unsigned slot, const struct kv_result *result,
	               bool again);
	/* The last call; the writes are gone. err NULL: all slots ran dry. Else one
	 * failed, or it was canceled; PL_UNKNOWN: what some transaction did could not be
	 * learned. Slots that were asked and not answered are those that did not end. */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

/* Copies opts. Calls nothing before it returns. */
PL_NODISCARD enum pl_code bulk_open(struct kv *kv, const struct bulk_opts *opts,
                                    struct bulk_writer **out, struct pl_err *err);
/* No request is started any more; done follows, later. May be called from next and
 * answer. why NULL: PL_CANCELED. */
void bulk_cancel(struct bulk_writer *writer, const struct pl_err *why);

#endif
