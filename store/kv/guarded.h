/*
 * A guarded kv: no write passes without its fence.
 *
 * The owner of the guard says for each key whether a write needs a fence, which is
 * another key with the create revision and lease that it must have. The write then goes
 * inside a transaction that compares them. If a fence does not hold, the write has not
 * happened: fenced() is told which fence it was, and the write ends with PL_FENCED. A
 * transaction whose own compares fail ends as it would without a guard.
 *
 * Reads, leases and watches pass unchanged. The limits are those of the kv below less the
 * room that fences need: that of GUARD_FENCES_MAX fences, but at most a quarter of a
 * limit. A write whose fences do not fit is refused with PL_LIMIT. A fenced transaction
 * may be nested one level less deep.
 */
#ifndef STORE_KV_GUARDED_H
#define STORE_KV_GUARDED_H

#include "store/keys/keys.h"
#include "store/kv/kv.h"

enum { GUARD_FENCES_MAX = 64 }; /* fences in one transaction */

struct guard_fence {
	struct keys_text key; /* the key of the owner */
	int64_t create_revision;
	int64_t lease;
};

enum guard_need {
	GUARD_FREE,  /* the write needs no fence */
	GUARD_FENCE, /* the write needs the fence in *out */
	/* The compares of the write protect it, but it needs any one fence all the same:
	 * one of another write in its transaction, else *out. create_revision 0: *out is
	 * none. */
	GUARD_ANCHOR,
	/* the write is not allowed: starting it fails with PL_FENCED, and nothing is
	 * sent */
	GUARD_REFUSE,
};

struct guard {
	/* written names what is written: a key, or a range whose keys all need the same
	 * fence (the owner must refuse a range for which that is not known). */
	enum guard_need (*need)(void *ctx, const struct kv_keys *written,
	                        struct guard_fence *out);
	/* Must not start or cancel calls of this kv. */
	void (*fenced)(void *ctx, const struct guard_fence *fence);
	void *ctx;
};

/* Copies guard. From here on kv is closed through *out. */
PL_NODISCARD enum pl_code guarded_open(struct kv *kv, const struct guard *guard,
                                       struct kv **out, struct pl_err *err);

struct guarded_metrics {
	uint64_t writes; /* writes with a fence */
	uint64_t fenced;
	uint64_t refused;
};

const struct guarded_metrics *guarded_metrics(const struct kv *kv);

#endif
