/*
 * A kv on loan: what was started through it ends when it is closed, and the one that
 * lent it stays open. For a part that wants a kv of its own to close, decorators and
 * all, over one that others use too.
 */
#ifndef STORE_KV_BORROWED_H
#define STORE_KV_BORROWED_H

#include "store/kv/kv.h"

/* kv stays the caller's, and must be open until *out has been closed. */
PL_NODISCARD enum pl_code borrowed_open(struct kv *kv, struct kv **out,
                                        struct pl_err *err);

#endif
