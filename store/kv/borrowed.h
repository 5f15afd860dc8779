/*
 * A borrowed kv: calls and watches that were started through it end when it is closed,
 * and the kv under it stays open. It serves a part that wants a kv of its own to close,
 * decorators included, over one that other parts use, too.
 */
#ifndef STORE_KV_BORROWED_H
#define STORE_KV_BORROWED_H

#include "store/kv/kv.h"

/* kv stays the caller's and must be open until *out has been closed. */
PL_NODISCARD enum pl_code borrowed_open(struct kv *kv, struct kv **out,
                                        struct pl_err *err);

#endif
