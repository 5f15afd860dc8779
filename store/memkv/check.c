/* What is refused before it is looked at: what means nothing, or would mean
 * something else on the wire, and what is over the store's limits. */
#include "store/kv/keys.h"
#include "store/kv/overlap.h"
#include "store/memkv/impl.h"

/* Of a message around the keys and values of one operation or compare. */
enum { OP_OVERHEAD = 16, REQUEST_OVERHEAD = 24 };

/* NULL: fine. */
static const char *keys_fault(const struct kv_keys *keys)
{
	switch (keys->kind) {
	case KV_ONE:
		return keys->from.len == 0 ? "empty key" : NULL;
	case KV_RANGE:
		if (keys->to.len == 0)
			return "range without an end";
		/* No key is less than "\0", but to etcd it means "no end". */
		if (keys->to.len == 1 && keys->to.at[0] == 0)
			return "range ends at the least key";
		return NULL;
	case KV_PREFIX:
	case KV_FROM:
		return NULL;
	}
	return "unknown kind of keys";
}

static const char *get_fault(const struct kv_get *get)
{
	if (get->limit < 0)
		return "negative limit";
	if (get->revision < 0)
		return "negative revision";
	return keys_fault(&get->keys);
}

static const char *put_fault(const struct kv_put *put)
{
	if (put->key.len == 0)
		return "empty key";
	if (put->keep_value && put->value.len != 0)
		return "a value although the old one is kept";
	if (put->keep_lease && put->lease != 0)
		return "a lease although the old one is kept";
	return NULL;
}

static const char *lease_fault(enum kv_op op, const struct kv_lease_req *lease)
{
	if (op == KV_LEASE_GRANT)
		return lease->ttl_s <= 0 ? "TTL is not positive" : NULL;
	return lease->id == 0 ? "no lease id" : NULL;
}

static const char *compare_fault(const struct kv_compare *compare)
{
	if ((unsigned)compare->target > KV_LEASE)
		return "unknown target of a compare";
	if ((unsigned)compare->relation > KV_GT)
		return "unknown relation of a compare";
	return keys_fault(&compare->keys);
}

static const char *txn_fault(const struct kv_txn *txn, unsigned depth);

static const char *op_fault(const struct kv_req *req, /* NOLINT(misc-no-recursion) */
                            unsigned depth)
{
	switch (req->op) {
	case KV_GET:
		return get_fault(&req->get);
	case KV_PUT:
		return put_fault(&req->put);
	case KV_DELETE:
		return keys_fault(&req->del.keys);
	case KV_TXN:
		return txn_fault(&req->txn, depth + 1);
	case KV_COMPACT:
		return req->compact.revision <= 0 ? "revision is not positive" : NULL;
	case KV_LEASE_GRANT:
	case KV_LEASE_REVOKE:
	case KV_LEASE_KEEP:
	case KV_LEASE_TTL:
		return lease_fault(req->op, &req->lease);
	case KV_STATUS:
		return NULL;
	case KV_OP_COUNT:
		break;
	}
	return "unknown operation";
}

static const char *list_fault(const struct kv_req *ops, /* NOLINT(misc-no-recursion) */
                              size_t count, unsigned depth)
{
	for (size_t i = 0; i < count; i++) {
		const char *fault = (unsigned)ops[i].op > KV_TXN
		                            ? "no operation of a transaction"
		                            : op_fault(&ops[i], depth);

		if (fault != NULL)
			return fault;
	}
	return NULL;
}

static const char *txn_fault(const struct kv_txn *txn, /* NOLINT(misc-no-recursion) */
                             unsigned depth)
{
	const char *fault = NULL;

	if (depth > MEM_TXN_DEPTH_MAX)
		return "nested too deeply";
	for (size_t i = 0; i < txn->compare_count && fault == NULL; i++)
		fault = compare_fault(&txn->compares[i]);
	if (fault == NULL)
		fault = list_fault(txn->then, txn->then_count, depth);
	if (fault == NULL)
		fault = list_fault(txn->otherwise, txn->otherwise_count, depth);
	return fault;
}

enum pl_code check_req(const struct kv_req *req, struct pl_err *err)
{
	const char *fault = op_fault(req, 0);

	if (fault != NULL)
		return pl_err_set(err, PL_INVALID, "%s: %s",
		                  (unsigned)req->op < KV_OP_COUNT ? kv_op_name(req->op)
		                                                  : "request",
		                  fault);
	return PL_OK;
}

enum pl_code check_watch(const struct kv_watch_req *req, struct pl_err *err)
{
	const struct kv_keys *keys = &req->keys;
	const char *fault = keys_fault(keys);

	if (fault == NULL && keys->kind == KV_RANGE &&
	    pl_span_cmp(keys->from, keys->to) >= 0)
		fault = "range holds no key";
	if (fault == NULL && req->from_revision < 0)
		fault = "negative revision";
	if (fault == NULL && req->no_puts && req->no_deletes)
		fault = "neither puts nor deletes wanted";
	return fault == NULL ? PL_OK : pl_err_set(err, PL_INVALID, "watch: %s", fault);
}

static size_t size_max(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t list_ops(const struct kv_req *ops, size_t count);

/* A transaction inside has what its outer one's longest list leaves over. */
static size_t txn_ops(const struct kv_txn *txn) /* NOLINT(misc-no-recursion) */
{
	size_t own = size_max(txn->compare_count,
	                      size_max(txn->then_count, txn->otherwise_count));

	return own + size_max(list_ops(txn->then, txn->then_count),
	                      list_ops(txn->otherwise, txn->otherwise_count));
}

static size_t list_ops(const struct kv_req *ops, /* NOLINT(misc-no-recursion) */
                       size_t count)
{
	size_t most = 0;

	for (size_t i = 0; i < count; i++)
		if (ops[i].op == KV_TXN)
			most = size_max(most, txn_ops(&ops[i].txn));
	return most;
}

static size_t overhead(const struct kv_req *req) /* NOLINT(misc-no-recursion) */
{
	size_t bytes = OP_OVERHEAD;

	if (req->op != KV_TXN)
		return bytes;
	bytes += req->txn.compare_count * OP_OVERHEAD;
	for (size_t i = 0; i < req->txn.then_count; i++)
		bytes += overhead(&req->txn.then[i]);
	for (size_t i = 0; i < req->txn.otherwise_count; i++)
		bytes += overhead(&req->txn.otherwise[i]);
	return bytes;
}

enum pl_code check_limits(const struct memkv *mem, const struct kv_req *req,
                          struct pl_err *err)
{
	size_t ops = req->op == KV_TXN ? txn_ops(&req->txn) : 0;
	size_t bytes;

	if (ops > mem->opts.txn_ops_max)
		return pl_err_set(err, PL_LIMIT,
		                  "transaction of %zu operations, %u are allowed", ops,
		                  mem->opts.txn_ops_max);
	if (req->op == KV_TXN) {
		enum pl_code code = kv_overlap_check(&req->txn, err);

		if (code != PL_OK)
			return code;
	}
	if (!kv_req_writes(req))
		return PL_OK;
	bytes = kv_req_bytes(req) + overhead(req) + REQUEST_OVERHEAD;
	if (bytes > mem->opts.request_bytes_max)
		return pl_err_set(err, PL_LIMIT, "request of %zu bytes, %u are allowed",
		                  bytes, mem->opts.request_bytes_max);
	return PL_OK;
}
