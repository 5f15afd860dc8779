/* Facts that the client must know about a request besides its bytes. */
#include "store/etcd/codec.h"

#include "store/kv/check.h"

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

uint64_t codec_txn_ops(const struct kv_req *req)
{
	return kv_txn_ops(req);
}
