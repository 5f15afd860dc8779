/*
 * Requests against the state, answered at once.
 *
 * A read holds the versions that it shows. The writes of a request run one after the
 * other, and are undone together if memory runs out or one of them is refused.
 */
#include "store/memkv/exec.h"

#include "store/kv/keys.h"

enum { KV_COST = 256, LEASE_COST = 64 }; /* like the guesses of etcd's quota */

enum pl_code exec_refuse(struct exec *exec, enum pl_code code, const char *why)
{
	return pl_err_set(&exec->call->err, code, "%s", why);
}

/* -- the numbers that answers show -------------------------------------------------- */

enum pl_code exec_hold(struct exec *exec, struct mem_version *const *versions,
                       size_t count)
{
	struct mem_call *call = exec->call;
	struct mem_hold *hold = pl_arena_alloc(
		&call->arena, sizeof *hold + count * sizeof(struct mem_version *));

	if (hold == NULL)
		return PL_NOMEM;
	hold->next = call->holds;
	hold->count = count;
	for (size_t i = 0; i < count; i++)
		hold->version[i] = mem_version_ref(versions[i]);
	call->holds = hold;
	return PL_OK;
}

static enum pl_code show_versions(struct exec *exec, struct mem_version *const *versions,
                                  size_t count, bool keys_only,
                                  const struct kv_record **out)
{
	struct kv_record *records;

	if (count == 0)
		return PL_OK;
	records = pl_arena_alloc(&exec->call->arena, count * sizeof *records);
	if (records == NULL || exec_hold(exec, versions, count) != PL_OK)
		return PL_NOMEM;
	for (size_t i = 0; i < count; i++)
		mem_record(versions[i], keys_only, &records[i]);
	*out = records;
	return PL_OK;
}

/* -- operations --------------------------------------------------------- */

enum pl_code exec_get(struct exec *exec, const struct kv_get *get,
                      struct kv_get_result *out)
{
	struct mvcc *mvcc = exec->mvcc;
	int64_t revision = get->revision == 0 ? mvcc_view(mvcc) : get->revision;
	int64_t total;
	enum pl_code code = mvcc_range(mvcc, &get->keys, revision,
	                               get->count_only ? -1 : get->limit, &total);

	if (code != PL_OK)
		return code;
	out->count = mvcc->hit_count;
	out->total = total;
	out->more = !get->count_only && (int64_t)mvcc->hit_count < total;
	return show_versions(exec, mvcc->hits, mvcc->hit_count, get->keys_only,
	                     &out->records);
}

enum pl_code exec_put(struct exec *exec, const struct kv_put *put,
                      struct kv_put_result *out)
{
	struct mem_key *key = NULL;
	struct mem_version *before = NULL;
	struct pl_span value = put->value;
	int64_t lease = put->lease;

	if (put->keep_value || put->keep_lease || put->want_prev) {
		key = mvcc_find(exec->mvcc, put->key);
		before = key == NULL ? NULL : mem_at(key, INT64_MAX);
	}
	if ((put->keep_value || put->keep_lease) && before == NULL)
		return exec_refuse(exec, PL_NOTFOUND, "put: key not found");
	if (put->keep_value)
		value = pl_span(before->bytes, before->len);
	if (put->keep_lease)
		lease = before->lease;
	if (put->want_prev && before != NULL &&
	    show_versions(exec, &before, 1, false, &out->prev) != PL_OK)
		return PL_NOMEM;
	return mvcc_put(exec->mvcc, put->key, value, lease);
}

enum pl_code exec_delete(struct exec *exec, const struct kv_delete *del,
                         struct kv_delete_result *out)
{
	struct mvcc *mvcc = exec->mvcc;
	enum pl_code code =
		mvcc_range(mvcc, &del->keys, mvcc_view(mvcc), 0, &out->deleted);

	if (code == PL_OK && del->want_prev) {
		out->prev_count = mvcc->hit_count;
		code = show_versions(exec, mvcc->hits, mvcc->hit_count, false,
		                     &out->prev);
	}
	for (size_t i = 0; i < mvcc->hit_count && code == PL_OK; i++)
		code = mvcc_delete(mvcc, mvcc->hits[i]->key);
	return code;
}

enum pl_code exec_check_get(struct exec *exec, const struct kv_get *get)
{
	if (get->revision == 0)
		return PL_OK;
	if (get->revision > exec->mvcc->revision)
		return exec_refuse(exec, PL_FUTURE, "get: revision is in the future");
	if (get->revision < exec->mvcc->compacted)
		return exec_refuse(exec, PL_COMPACTED,
		                   "get: revision has been compacted");
	return PL_OK;
}

/* -- operations that change the state --------------------------------------------- */

enum pl_code exec_commit(struct memkv *mem)
{
	struct mem_note *notes = NULL;
	enum pl_code code;

	if (mem->mvcc->change_count == 0)
		return PL_OK;
	code = mvcc_prepare(mem->mvcc);
	if (code == PL_OK)
		code = notes_prepare(mem, &notes);
	if (code != PL_OK)
		return code;
	mvcc_commit(mem->mvcc);
	notes_queue(mem, notes);
	return PL_OK;
}

static enum pl_code do_compact(struct exec *exec, const struct kv_compact *compact)
{
	if (compact->revision <= exec->mvcc->compacted)
		return exec_refuse(exec, PL_COMPACTED, "compact: already compacted");
	if (compact->revision > exec->mvcc->revision)
		return exec_refuse(exec, PL_FUTURE, "compact: revision is in the future");
	mvcc_compact(exec->mvcc, compact->revision);
	/* no alarm needs to be disarmed */
	exec->mem->nospace = false;
	return PL_OK;
}

/* -- one request -------------------------------------------------------- */

static uint64_t put_cost(const struct kv_req *ops, size_t count)
{
	uint64_t cost = 0;

	for (size_t i = 0; i < count; i++)
		if (ops[i].op == KV_PUT)
			cost += KV_COST + kv_req_bytes(&ops[i]);
	return cost;
}

/* Deletes and compactions are free, because they are the way out. */
static bool has_space(const struct memkv *mem, const struct kv_req *req)
{
	uint64_t cost = 0, other;

	if (mem->opts.quota_bytes == 0)
		return true;
	if (req->op == KV_TXN) {
		cost = put_cost(req->txn.then, req->txn.then_count);
		other = put_cost(req->txn.otherwise, req->txn.otherwise_count);
		cost = cost < other ? other : cost;
	} else if (req->op == KV_PUT) {
		cost = put_cost(req, 1);
	} else if (req->op == KV_LEASE_GRANT) {
		cost = LEASE_COST;
	}
	return cost == 0 || mem->mvcc->bytes + cost < mem->opts.quota_bytes;
}

static void do_status(struct exec *exec)
{
	const struct memkv *mem = exec->mem;

	exec->call->result.status = (struct kv_status_result){
		.version = "3.4.23",
		.db_bytes = (int64_t)mem->mvcc->bytes,
		.db_bytes_in_use = (int64_t)mem->mvcc->bytes,
		.leader = mem->member_id,
		.raft_index = mem->raft_index,
		.alarm_nospace = mem->nospace,
	};
}

static enum pl_code run_req(struct exec *exec, const struct kv_req *req)
{
	struct kv_result *out = &exec->call->result;
	enum pl_code code;

	if (!has_space(exec->mem, req)) {
		exec->mem->nospace = true;
		return exec_refuse(exec, PL_NOSPACE, "database space exceeded");
	}
	switch (req->op) {
	case KV_GET:
		code = exec_check_get(exec, &req->get);
		return code != PL_OK ? code : exec_get(exec, &req->get, &out->get);
	case KV_PUT:
		if (req->put.lease != 0 &&
		    mem_lease_find(exec->mvcc, req->put.lease) == NULL)
			return exec_refuse(exec, PL_NOLEASE,
			                   "put: requested lease not found");
		return exec_put(exec, &req->put, &out->put);
	case KV_DELETE:
		return exec_delete(exec, &req->del, &out->del);
	case KV_TXN:
		return exec_txn(exec, &req->txn);
	case KV_COMPACT:
		return do_compact(exec, &req->compact);
	case KV_LEASE_GRANT:
		return exec_grant(exec, &req->lease);
	case KV_LEASE_REVOKE:
	case KV_LEASE_KEEP:
	case KV_LEASE_TTL:
		return exec_lease(exec, req);
	case KV_STATUS:
		do_status(exec);
		return PL_OK;
	case KV_OP_COUNT:
		break;
	}
	PL_UNREACHABLE("operation");
}

enum pl_code exec_req(struct memkv *mem, struct mem_call *call, const struct kv_req *req)
{
	struct exec exec = {.mem = mem, .mvcc = mem->mvcc, .call = call};
	enum pl_code code;

	pl_arena_reset(&mem->scratch);
	call->result = (struct kv_result){.op = req->op};
	code = run_req(&exec, req);
	if (code == PL_OK)
		code = exec_commit(mem);
	if (code != PL_OK)
		mvcc_undo(mem->mvcc);
	if (code == PL_NOMEM)
		return code;
	mem->raft_index += call->writes;
	call->result.header = mem_header(mem);
	return PL_OK;
}
