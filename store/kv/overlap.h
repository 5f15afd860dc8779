/*
 * The check whether the operations of a transaction may stand together.
 *
 * etcd refuses a transaction in which a key could be put twice, or be deleted and then
 * put. The lists then and otherwise exclude each other and are judged separately. A
 * nested transaction comes before the puts next to it, and its deletes count only for the
 * operations behind it.
 *
 * etcd 3.4 forgets to check deletes without an end (KV_FROM, and KV_PREFIX of every key).
 * Together with a put that keeps the value of a key that is gone by then, such a
 * transaction crashes the server, and crashes it again at each restart, because it is in
 * the log. So it must never be sent: kv_overlap_blind() tells for which transactions the
 * client has to judge by itself.
 */
#ifndef STORE_KV_OVERLAP_H
#define STORE_KV_OVERLAP_H

#include "store/kv/types.h"

/* PL_OK, PL_INVALID (err names the key), PL_NOMEM. */
PL_NODISCARD enum pl_code kv_overlap_check(const struct kv_txn *txn, struct pl_err *err);

/* True for a transaction with a delete that the server does not compare with the puts. */
bool kv_overlap_blind(const struct kv_txn *txn);

#endif
