/*
 * The one interface to a store of keys with revisions. Its implementations are etcd over
 * the network (store/etcd), the memory store (store/memkv), and decorators around either.
 *
 * A kv is asynchronous and single threaded: everything happens on the thread that drives
 * the implementation (a libuv loop, or a test with virtual time). For every call:
 *
 *   1. done fires exactly once, and never inside the call that started it;
 *   2. if starting fails, done never fires, and ctx stays the caller's;
 *   3. cancel ends through done as well.
 *
 * A write has one of three outcomes: it has happened (PL_OK), it has not (any other
 * code), or the outcome is unknown (PL_UNKNOWN): the write may have been applied already,
 * or may be applied later. A transaction whose compares do not hold ends with PL_OK, with
 * succeeded false.
 */
#ifndef STORE_KV_KV_H
#define STORE_KV_KV_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/list.h"
#include "store/base/timers.h"
#include "store/kv/types.h"

struct kv;
struct kv_call;
struct kv_watch;

/* result is NULL exactly when err is not. Both are borrowed. */
typedef void kv_done_fn(void *ctx, const struct kv_result *result,
                        const struct pl_err *err);
typedef void kv_watch_fn(void *ctx, const struct kv_watch_note *note);
typedef void kv_closed_fn(void *ctx);

/* Waits for room, in memory of the caller. fn is called once and may start calls. */
struct kv_waiter {
	struct pl_list link; /* pl_list_init before the first use */
	void (*fn)(void *ctx);
	void *ctx;
};

struct kv_ops {
	const char *name;

	/* out may be NULL; *out is valid until done fires. The request is not read any
	 * more once start has returned. PL_BUSY: there is no room, see when_room.
	 * PL_LIMIT: the store would refuse a request of that size. */
	enum pl_code (*start)(struct kv *kv, const struct kv_req *req,
	                      uint64_t timeout_ms, kv_done_fn *done, void *ctx,
	                      struct kv_call **out, struct pl_err *err);
	void (*cancel)(struct kv *kv, struct kv_call *call);

	enum pl_code (*watch)(struct kv *kv, const struct kv_watch_req *req,
	                      kv_watch_fn *fn, void *ctx, struct kv_watch **out,
	                      struct pl_err *err);
	void (*unwatch)(struct kv *kv, struct kv_watch *watch);
	enum pl_code (*progress)(struct kv *kv, struct kv_watch *watch, int64_t revision,
	                         struct pl_err *err);

	struct kv_limits (*limits)(struct kv *kv);
	size_t (*room)(struct kv *kv);
	void (*when_room)(struct kv *kv, struct kv_waiter *waiter);

	uint64_t (*now_ms)(struct kv *kv);
	struct pl_timers *(*timers)(struct kv *kv);

	void (*close)(struct kv *kv, kv_closed_fn *closed, void *ctx);
};

/* The first member of every implementation. */
struct kv {
	const struct kv_ops *ops;
};

PL_NODISCARD enum pl_code kv_start(struct kv *kv, const struct kv_req *req,
                                   uint64_t timeout_ms, kv_done_fn *done, void *ctx,
                                   struct kv_call **out, struct pl_err *err);

/* done fires with PL_CANCELED, or with PL_UNKNOWN for a write that had been sent. */
void kv_cancel(struct kv *kv, struct kv_call *call);

/* The watch lives until KV_WATCH_END has been delivered. It survives a lost connection:
 * it resumes without a gap and without repetition. */
PL_NODISCARD enum pl_code kv_watch(struct kv *kv, const struct kv_watch_req *req,
                                   kv_watch_fn *fn, void *ctx, struct kv_watch **out,
                                   struct pl_err *err);

/* KV_WATCH_END with PL_CANCELED follows, and no other note before it. */
void kv_unwatch(struct kv *kv, struct kv_watch *watch);

/* KV_WATCH_PROGRESS follows once the watch has delivered everything up to that revision,
 * which the store must have reached. revision 0: a revision that is not older than this
 * call, which may cost a read. */
PL_NODISCARD enum pl_code kv_progress(struct kv *kv, struct kv_watch *watch,
                                      int64_t revision, struct pl_err *err);

struct kv_limits kv_limits(struct kv *kv);

/* Bytes of requests that can be started before kv_start gives PL_BUSY. */
size_t kv_room(struct kv *kv);

/* Calls waiter->fn once there is room, later even if there is room now.
 * pl_list_del(&waiter->link) cancels the wait. */
void kv_when_room(struct kv *kv, struct kv_waiter *waiter);

/* The store's clock: monotonic milliseconds, or a test's virtual ones. */
uint64_t kv_now_ms(struct kv *kv);
struct pl_timers *kv_timers(struct kv *kv);

/* Every call in flight ends through done, every watch with KV_WATCH_END. Then closed is
 * called, later, and kv is gone. A decorator closes the kv that it wraps. */
void kv_close(struct kv *kv, kv_closed_fn *closed, void *ctx);

#endif
