/* The check of requests: both stores refuse what it refuses, before anything is done. */
#ifndef STORE_KV_CHECK_H
#define STORE_KV_CHECK_H

#include "store/kv/types.h"

/* Depth of nested transactions, the outermost one included. */
enum { KV_TXN_DEPTH_MAX = 8 };

/* PL_OK, or PL_INVALID with the path of the field: "txn.then[3].put: empty key". */
PL_NODISCARD enum pl_code kv_check_req(const struct kv_req *req, struct pl_err *err);
PL_NODISCARD enum pl_code kv_check_watch(const struct kv_watch_req *req,
                                         struct pl_err *err);

/* The smallest limit on operations with which a store takes the request; 0 for a request
 * that is no transaction. The request must have passed kv_check_req. */
uint64_t kv_txn_ops(const struct kv_req *req);

#endif
