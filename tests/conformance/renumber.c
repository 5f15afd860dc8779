#include "tests/conformance/renumber.h"

static const struct kv_compare *compares(const struct renumber *renumber,
                                         const struct kv_txn *txn)
{
	struct kv_compare *out =
		pl_arena_zalloc(renumber->arena, txn->compare_count, sizeof *out);

	PL_ASSERT(out != NULL);
	for (size_t i = 0; i < txn->compare_count; i++) {
		out[i] = txn->compares[i];
		out[i].number = renumber->compare(renumber->ctx, &txn->compares[i]);
	}
	return out;
}

static const struct kv_req *
list(const struct renumber *renumber, /* NOLINT(misc-no-recursion) */
     const struct kv_req *ops, size_t count)
{
	struct kv_req *out = pl_arena_zalloc(renumber->arena, count, sizeof *out);

	PL_ASSERT(out != NULL);
	for (size_t i = 0; i < count; i++)
		out[i] = renumber_req(renumber, &ops[i]);
	return out;
}

static int64_t renumber_lease(const struct renumber *renumber, int64_t id)
{
	return id == 0 ? 0 : renumber->lease(renumber->ctx, id);
}

struct kv_req
renumber_req(const struct renumber *renumber, /* NOLINT(misc-no-recursion) */
             const struct kv_req *req)
{
	struct kv_req out = *req;

	switch (req->op) {
	case KV_GET:
		if (req->get.revision != 0)
			out.get.revision =
				renumber->revision(renumber->ctx, req->get.revision);
		break;
	case KV_PUT:
		out.put.lease = renumber_lease(renumber, req->put.lease);
		break;
	case KV_TXN:
		out.txn.compares = compares(renumber, &req->txn);
		out.txn.then = list(renumber, req->txn.then, req->txn.then_count);
		out.txn.otherwise =
			list(renumber, req->txn.otherwise, req->txn.otherwise_count);
		break;
	case KV_COMPACT:
		out.compact.revision =
			renumber->compact(renumber->ctx, req->compact.revision);
		break;
	case KV_LEASE_GRANT:
	case KV_LEASE_REVOKE:
	case KV_LEASE_KEEP:
	case KV_LEASE_TTL:
		out.lease.id = renumber_lease(renumber, req->lease.id);
		break;
	case KV_DELETE:
	case KV_STATUS:
	case KV_OP_COUNT:
		break;
	}
	return out;
}
