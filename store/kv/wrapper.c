#include "store/kv/wrapper.h"

#include <stdlib.h>

void kv_wrapper_cancel(struct kv *kv, struct kv_call *call)
{
	kv_cancel(kv_wrapper_of(kv)->inner, *(struct kv_call **)(void *)call);
}

void kv_wrapper_unwatch(struct kv *kv, struct kv_watch *watch)
{
	kv_unwatch(kv_wrapper_of(kv)->inner, *(struct kv_watch **)(void *)watch);
}

enum pl_code kv_wrapper_progress(struct kv *kv, struct kv_watch *watch, int64_t revision,
                                 struct pl_err *err)
{
	return kv_progress(kv_wrapper_of(kv)->inner, *(struct kv_watch **)(void *)watch,
	                   revision, err);
}

struct kv_limits kv_wrapper_limits(struct kv *kv)
{
	return kv_limits(kv_wrapper_of(kv)->inner);
}

size_t kv_wrapper_room(struct kv *kv)
{
	return kv_room(kv_wrapper_of(kv)->inner);
}

void kv_wrapper_when_room(struct kv *kv, struct kv_waiter *waiter)
{
	kv_when_room(kv_wrapper_of(kv)->inner, waiter);
}

uint64_t kv_wrapper_now_ms(struct kv *kv)
{
	return kv_now_ms(kv_wrapper_of(kv)->inner);
}

struct pl_timers *kv_wrapper_timers(struct kv *kv)
{
	return kv_timers(kv_wrapper_of(kv)->inner);
}

static void on_closed(void *ctx)
{
	struct kv_wrapper *wrapper = ctx;
	kv_closed_fn *closed = wrapper->closed;
	void *closed_ctx = wrapper->closed_ctx;

	free(wrapper); /* the first member of the decorator */
	closed(closed_ctx);
}

void kv_wrapper_close(struct kv *kv, kv_closed_fn *closed, void *ctx)
{
	struct kv_wrapper *wrapper = kv_wrapper_of(kv);

	wrapper->closed = closed;
	wrapper->closed_ctx = ctx;
	kv_close(wrapper->inner, on_closed, wrapper);
}
