/*
 * A kv with a rival: another writer that comes first when a test says so.
 *
 *	rival_before(kv, prefix, fn, ctx)
 *	... transaction that writes a key of the prefix --> fn(ctx) --> the store
 *
 * So a test has a write lose a race at a known place, without luck or waiting.
 */
#ifndef TESTS_SUPPORT_STORE_KV_RIVAL_H
#define TESTS_SUPPORT_STORE_KV_RIVAL_H

#include "store/kv/kv.h"

/* From here on kv is closed through *out. */
PL_NODISCARD enum pl_code rival_open(struct kv *kv, struct kv **out, struct pl_err *err);
/* Calls fn before the next so many transactions that put or delete a key of the prefix are
 * sent. Borrows the prefix. fn writes through another session. */
void rival_before(struct kv *kv, const char *prefix, unsigned times,
                  void (*fn)(void *ctx), void *ctx);

#endif
