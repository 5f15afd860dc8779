/* Requests on leases: grant, keep-alive, time to live, and revoke with all keys. */
#include "store/memkv/exec.h"

#define TTL_MAX_S INT64_C(9000000000)

static void lease_renew(struct memkv *mem, struct mem_lease *lease)
{
	uint64_t expiry = mem_now(mem) + (uint64_t)lease->ttl_s * 1000;

	mem_lease_set_due(mem->mvcc, lease, expiry, expiry + mem->opts.expiry_delay_ms);
}

static int64_t lease_new_id(struct memkv *mem)
{
	for (;;) {
		int64_t id = (int64_t)(pl_rng_next(&mem->rng) >> 1);

		if (id != 0 && mem_lease_find(mem->mvcc, id) == NULL)
			return id;
	}
}

enum pl_code exec_grant(struct exec *exec, const struct kv_lease_req *req)
{
	struct memkv *mem = exec->mem;
	int64_t ttl = req->ttl_s < mem->opts.min_ttl_s ? mem->opts.min_ttl_s : req->ttl_s;
	struct mem_lease *lease;
	enum pl_code code;

	if (req->ttl_s > TTL_MAX_S)
		return exec_refuse(exec, PL_INVALID, "lease grant: TTL is too large");
	if (req->id != 0 && mem_lease_find(exec->mvcc, req->id) != NULL)
		return exec_refuse(exec, PL_EXISTS, "lease grant: lease already exists");
	code = mem_lease_add(exec->mvcc, req->id == 0 ? lease_new_id(mem) : req->id, ttl,
	                     &lease);
	if (code != PL_OK)
		return code;
	lease_renew(mem, lease);
	exec->call->result.lease =
		(struct kv_lease_result){.id = lease->id, .ttl_s = ttl};
	return PL_OK;
}

static enum pl_code lease_names(struct exec *exec, const struct mem_lease *lease,
                                struct kv_lease_result *out)
{
	struct mem_version **newest;
	struct mem_key **keys;
	struct pl_span *names;
	size_t count = lease->key_count;

	if (count == 0)
		return PL_OK;
	keys = pl_arena_alloc(&exec->mem->scratch, count * sizeof(struct mem_key *));
	newest =
		pl_arena_alloc(&exec->mem->scratch, count * sizeof(struct mem_version *));
	names = pl_arena_alloc(&exec->call->arena, count * sizeof *names);
	if (keys == NULL || newest == NULL || names == NULL)
		return PL_NOMEM;
	mem_lease_keys(lease, keys);
	for (size_t i = 0; i < count; i++) {
		newest[i] = mem_newest(keys[i]);
		names[i] = keys[i]->node.key;
	}
	out->keys = names;
	out->key_count = count;
	return exec_hold(exec, newest, count);
}

enum pl_code exec_lease(struct exec *exec, const struct kv_req *req)
{
	struct kv_lease_result *out = &exec->call->result.lease;
	struct mem_lease *lease = mem_lease_find(exec->mvcc, req->lease.id);
	uint64_t now = mem_now(exec->mem);

	/* A lease that has run out cannot be kept alive, although its keys may still
	 * exist. */
	if (lease == NULL || (req->op == KV_LEASE_KEEP && lease->expiry_ms <= now))
		return exec_refuse(exec, PL_NOLEASE, "requested lease not found");
	out->id = lease->id;
	if (req->op == KV_LEASE_REVOKE)
		return exec_revoke(exec->mem, lease);
	if (req->op == KV_LEASE_KEEP) {
		lease_renew(exec->mem, lease);
		out->ttl_s = lease->ttl_s;
		return PL_OK;
	}
	out->granted_s = lease->ttl_s;
	if (lease->expiry_ms > now)
		out->ttl_s = (int64_t)((lease->expiry_ms - now) / 1000);
	return req->lease.want_keys ? lease_names(exec, lease, out) : PL_OK;
}

enum pl_code exec_revoke(struct memkv *mem, struct mem_lease *lease)
{
	enum pl_code code = PL_OK;
	struct mem_key **keys;

	pl_arena_reset(&mem->scratch);
	if (lease->key_count != 0) {
		keys = pl_arena_alloc(&mem->scratch,
		                      lease->key_count * sizeof(struct mem_key *));
		if (keys == NULL)
			return PL_NOMEM;
		mem_lease_keys(lease, keys);
		for (size_t i = 0; i < lease->key_count && code == PL_OK; i++)
			code = mvcc_delete(mem->mvcc, keys[i]);
	}
	if (code == PL_OK)
		code = exec_commit(mem);
	if (code != PL_OK) {
		mvcc_undo(mem->mvcc);
		return code;
	}
	mem_lease_del(mem->mvcc, lease);
	return PL_OK;
}
