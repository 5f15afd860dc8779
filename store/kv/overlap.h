/*
 * May a transaction's operations stand together?
 *
 * etcd refuses a transaction in which a key could be put twice, or be deleted
 * and then put. The lists then and otherwise exclude each other and are judged
 * apart; a transaction inside comes before its neighbours' puts, and what it
 * deletes counts for those that stand after it only.
 *
 * For deletes without an end (KV_FROM, and KV_PREFIX of every key) etcd 3.4
 * forgets to look. Together with a put that keeps the value of a key that is
 * gone by then, such a transaction ends the server, and ends it again at each
 * restart, because it is in the log. So it must never be sent: kv_overlap_blind()
 * says for which transactions the client has to judge by itself.
 */
#ifndef STORE_KV_OVERLAP_H
#define STORE_KV_OVERLAP_H

#include "store/kv/types.h"

/* PL_OK, PL_INVALID (err names the key), PL_NOMEM. */
PL_NODISCARD enum pl_code kv_overlap_check(const struct kv_txn *txn, struct pl_err *err);

/* Has it a delete that the server does not compare with the puts? */
bool kv_overlap_blind(const struct kv_txn *txn);

#endif
