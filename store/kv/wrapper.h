/*
 * The part of a decorator that passes everything on to the kv that it wraps.
 *
 * A decorator embeds a kv_wrapper as its first member and takes its operations from here,
 * except for those that it changes. Where it wraps calls or watches in handles of its own,
 * the first member of a handle is the inner handle (struct kv_call *, struct kv_watch *).
 */
#ifndef STORE_KV_WRAPPER_H
#define STORE_KV_WRAPPER_H

#include "store/kv/kv.h"

struct kv_wrapper {
	struct kv kv;
	struct kv *inner;
	kv_closed_fn *closed; /* set by close */
	void *closed_ctx;
};

static inline struct kv_wrapper *kv_wrapper_of(struct kv *kv)
{
	return PL_CONTAINER_OF(kv, struct kv_wrapper, kv);
}

/* For handles whose first member is the inner handle. */
void kv_wrapper_cancel(struct kv *kv, struct kv_call *call);
void kv_wrapper_unwatch(struct kv *kv, struct kv_watch *watch);
enum pl_code kv_wrapper_progress(struct kv *kv, struct kv_watch *watch, int64_t revision,
                                 struct pl_err *err);

struct kv_limits kv_wrapper_limits(struct kv *kv);
size_t kv_wrapper_room(struct kv *kv);
void kv_wrapper_when_room(struct kv *kv, struct kv_waiter *waiter);
uint64_t kv_wrapper_now_ms(struct kv *kv);
struct pl_timers *kv_wrapper_timers(struct kv *kv);

/* Closes the inner kv, and then frees the decorator with free(). */
void kv_wrapper_close(struct kv *kv, kv_closed_fn *closed, void *ctx);

#endif
