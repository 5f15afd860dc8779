/* Checks requests for limits and contradictions. */
#include "store/kv/check.h"

#include <inttypes.h>

#include "store/kv/keys.h"
#include "store/kv/overlap.h"
#include "store/memkv/impl.h"

/* Bytes of a message around the keys and values of one operation or compare. */
enum { OP_OVERHEAD = 16, REQUEST_OVERHEAD = 24 };

static size_t request_overhead(const struct kv_req *req) /* NOLINT(misc-no-recursion) */
{
	size_t bytes = OP_OVERHEAD;

	if (req->op != KV_TXN)
		return bytes;
	bytes += req->txn.compare_count * OP_OVERHEAD;
	for (size_t i = 0; i < req->txn.then_count; i++)
		bytes += request_overhead(&req->txn.then[i]);
	for (size_t i = 0; i < req->txn.otherwise_count; i++)
		bytes += request_overhead(&req->txn.otherwise[i]);
	return bytes;
}

enum pl_code check_limits(const struct memkv *mem, const struct kv_req *req,
                          struct pl_err *err)
{
	uint64_t ops = kv_txn_ops(req);
	size_t bytes;

	if (ops > mem->opts.txn_ops_max)
		return pl_err_set(err, PL_LIMIT,
		                  "transaction of %" PRIu64 " operations, %u are allowed",
		                  ops, mem->opts.txn_ops_max);
	if (req->op == KV_TXN) {
		enum pl_code code = kv_overlap_check(&req->txn, err);

		if (code != PL_OK)
			return code;
	}
	if (!kv_req_writes(req))
		return PL_OK;
	bytes = kv_req_bytes(req) + request_overhead(req) + REQUEST_OVERHEAD;
	if (bytes > mem->opts.request_bytes_max)
		return pl_err_set(err, PL_LIMIT, "request of %zu bytes, %u are allowed",
		                  bytes, mem->opts.request_bytes_max);
	return PL_OK;
}
