/*
 * A kv that lets nothing be written without its fence.
 *
 * The owner of the guard says, key by key, whether a write needs a fence: a key
 * whose create revision and lease must be what they were. The write then goes inside
 * a transaction that compares them. When one of them does not hold the write did not
 * happen and ends with PL_FENCED, after fenced() has been told which; a transaction
 * whose own compares fail ends as ever.
 *
 * Reads, leases and watches pass untouched. Limits are those of the wrapped kv less
 * the room that fences need: all of GUARD_FENCES_MAX, but never more than a quarter
 * of a limit. A write whose fences do not fit is refused with PL_LIMIT; a fenced
 * transaction may be nested one level less deep.
 */
#ifndef STORE_KV_GUARDED_H
#define STORE_KV_GUARDED_H

#include "store/keys/keys.h"
#include "store/kv/kv.h"

enum { GUARD_FENCES_MAX = 64 }; /* of one transaction */

struct guard_fence {
	struct keys_text key; /* of the owner */
	int64_t create_revision;
	int64_t lease;
};

enum guard_need {
	GUARD_FREE,  /* no fence */
	GUARD_FENCE, /* *out is filled in */
	/* The compares of the write protect it, but it needs a fence all the same, any:
	 * one of another write in its transaction, else *out. create_revision 0: that
	 * is none. */
	GUARD_ANCHOR,
	GUARD_REFUSE, /* not ours: PL_FENCED by the start, nothing is sent */
};

struct guard {
	/* first names all of what is written: a key, or the start of a range whose
	 * keys all need the same fence (one that may not is to be refused). */
	enum guard_need (*need)(void *ctx, const struct kv_keys *written,
	                        struct guard_fence *out);
	/* May not start or end calls of this kv. */
	void (*fenced)(void *ctx, const struct guard_fence *fence);
	void *ctx;
};

/* Copies guard. From here on kv is closed through *out. */
PL_NODISCARD enum pl_code guarded_open(struct kv *kv, const struct guard *guard,
                                       struct kv **out, struct pl_err *err);

struct guarded_metrics {
	uint64_t writes; /* that had a fence */
	uint64_t fenced;
	uint64_t refused;
};

const struct guarded_metrics *guarded_metrics(const struct kv *kv);

#endif
