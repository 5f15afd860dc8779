/* What the client asks about a request without its bytes. */
#include "store/etcd/codec.h"

static const char *const paths[KV_OP_COUNT] = {
	[KV_GET] = "/etcdserverpb.KV/Range",
	[KV_PUT] = "/etcdserverpb.KV/Put",
	[KV_DELETE] = "/etcdserverpb.KV/DeleteRange",
	[KV_TXN] = "/etcdserverpb.KV/Txn",
	[KV_COMPACT] = "/etcdserverpb.KV/Compact",
	[KV_LEASE_GRANT] = "/etcdserverpb.Lease/LeaseGrant",
	[KV_LEASE_REVOKE] = "/etcdserverpb.Lease/LeaseRevoke",
	[KV_LEASE_KEEP] = CODEC_PATH_KEEP,
	[KV_LEASE_TTL] = "/etcdserverpb.Lease/LeaseTimeToLive",
	[KV_STATUS] = "/etcdserverpb.Maintenance/Status",
};

const char *codec_path(enum kv_op op)
{
	PL_ASSERT((unsigned)op < KV_OP_COUNT);
	return paths[op];
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t nested_ops(const struct kv_req *ops, size_t count)
{
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++)
		most = max_of(most, codec_txn_ops(&ops[i]));
	return most;
}

uint64_t codec_txn_ops(const struct kv_req *req)
{
	const struct kv_txn *txn = &req->txn;

	if (req->op != KV_TXN)
		return 0;
	/* etcd takes the longest list of a level off what the next one may have. */
	return max_of(txn->compare_count, max_of(txn->then_count, txn->otherwise_count)) +
	       max_of(nested_ops(txn->then, txn->then_count),
	              nested_ops(txn->otherwise, txn->otherwise_count));
}
