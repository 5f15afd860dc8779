/*
 * Requests against the state, answered at once.
 *
 * Reads hold what they show. Writes run one after the other against the state
 * and are undone together when memory ends, or when one of them is refused.
 */
#include "store/kv/keys.h"
#include "store/memkv/impl.h"

#define TTL_MAX_S INT64_C(9000000000)
enum { KV_COST = 256, LEASE_COST = 64 }; /* as etcd's quota guesses */

struct exec {
	struct memkv *mem;
	struct mvcc *mvcc;
	struct mem_call *call;
	bool *path; /* how the compares went, transaction by transaction */
	size_t path_at;
};

static enum pl_code refuse(struct exec *exec, enum pl_code code, const char *why)
{
	return pl_err_set(&exec->call->err, code, "%s", why);
}

/* -- what answers show -------------------------------------------------- */

static enum pl_code hold_add(struct exec *exec, struct mem_version *const *versions,
                             size_t count)
{
	struct mem_call *call = exec->call;
	struct hold *hold = pl_arena_alloc(
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

static enum pl_code show(struct exec *exec, struct mem_version *const *versions,
                         size_t count, bool keys_only, const struct kv_record **out)
{
	struct kv_record *records;

	if (count == 0)
		return PL_OK;
	records = pl_arena_alloc(&exec->call->arena, count * sizeof *records);
	if (records == NULL || hold_add(exec, versions, count) != PL_OK)
		return PL_NOMEM;
	for (size_t i = 0; i < count; i++)
		mem_record(versions[i], keys_only, &records[i]);
	*out = records;
	return PL_OK;
}

/* -- operations --------------------------------------------------------- */

static enum pl_code do_get(struct exec *exec, const struct kv_get *get,
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
	return show(exec, mvcc->hits, mvcc->hit_count, get->keys_only, &out->records);
}

static enum pl_code do_put(struct exec *exec, const struct kv_put *put,
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
		return refuse(exec, PL_NOTFOUND, "put: key not found");
	if (put->keep_value)
		value = pl_span(before->bytes, before->len);
	if (put->keep_lease)
		lease = before->lease;
	if (put->want_prev && before != NULL &&
	    show(exec, &before, 1, false, &out->prev) != PL_OK)
		return PL_NOMEM;
	return mvcc_put(exec->mvcc, put->key, value, lease);
}

static enum pl_code do_delete(struct exec *exec, const struct kv_delete *del,
                              struct kv_delete_result *out)
{
	struct mvcc *mvcc = exec->mvcc;
	enum pl_code code =
		mvcc_range(mvcc, &del->keys, mvcc_view(mvcc), 0, &out->deleted);

	if (code == PL_OK && del->want_prev) {
		out->prev_count = mvcc->hit_count;
		code = show(exec, mvcc->hits, mvcc->hit_count, false, &out->prev);
	}
	for (size_t i = 0; i < mvcc->hit_count && code == PL_OK; i++)
		code = mvcc_delete(mvcc, mvcc->hits[i]->key);
	return code;
}

/* -- transactions ------------------------------------------------------- */

static bool holds(enum kv_relation relation, int order)
{
	switch (relation) {
	case KV_EQ:
		return order == 0;
	case KV_NE:
		return order != 0;
	case KV_LT:
		return order < 0;
	case KV_GT:
		return order > 0;
	}
	PL_UNREACHABLE("relation");
}

static int64_t number_of(const struct mem_version *version, enum kv_target target)
{
	if (version == NULL)
		return 0;
	switch (target) {
	case KV_VERSION:
		return version->version;
	case KV_CREATE_REV:
		return version->create_revision;
	case KV_MOD_REV:
		return version->mod_revision;
	case KV_LEASE:
		return version->lease;
	case KV_VALUE:
		break;
	}
	PL_UNREACHABLE("target");
}

/* version NULL: there is no key. */
static bool compare_one(const struct kv_compare *compare,
                        const struct mem_version *version)
{
	int64_t number;

	if (compare->target == KV_VALUE)
		return version != NULL &&
		       holds(compare->relation,
		             pl_span_cmp(pl_span(version->bytes, version->len),
		                         compare->value));
	number = number_of(version, compare->target);
	return holds(compare->relation,
	             number < compare->number ? -1 : number > compare->number);
}

static enum pl_code compare_judge(struct exec *exec, const struct kv_compare *compare,
                                  bool *out)
{
	struct mvcc *mvcc = exec->mvcc;
	int64_t total;
	enum pl_code code;

	if (compare->keys.kind == KV_ONE) {
		struct mem_key *key = mvcc_find(mvcc, compare->keys.from);

		*out = compare_one(compare, key == NULL ? NULL : mem_at(key, INT64_MAX));
		return PL_OK;
	}
	code = mvcc_range(mvcc, &compare->keys, mvcc->revision, 0, &total);
	if (code != PL_OK)
		return code;
	*out = mvcc->hit_count != 0 || compare_one(compare, NULL);
	for (size_t i = 0; i < mvcc->hit_count && *out; i++)
		*out = compare_one(compare, mvcc->hits[i]);
	return PL_OK;
}

static const struct kv_req *txn_list(const struct kv_txn *txn, bool succeeded,
                                     size_t *count)
{
	*count = succeeded ? txn->then_count : txn->otherwise_count;
	return succeeded ? txn->then : txn->otherwise;
}

/* All compares on the way that the transaction takes, before anything is written. */
static enum pl_code judge(struct exec *exec, /* NOLINT(misc-no-recursion) */
                          const struct kv_txn *txn)
{
	bool succeeded = true;
	const struct kv_req *ops;
	size_t count;

	for (size_t i = 0; i < txn->compare_count && succeeded; i++)
		if (compare_judge(exec, &txn->compares[i], &succeeded) != PL_OK)
			return PL_NOMEM;
	exec->path[exec->path_at++] = succeeded;
	ops = txn_list(txn, succeeded, &count);
	for (size_t i = 0; i < count; i++)
		if (ops[i].op == KV_TXN && judge(exec, &ops[i].txn) != PL_OK)
			return PL_NOMEM;
	return PL_OK;
}

static enum pl_code check_put(struct exec *exec, const struct kv_put *put)
{
	if (put->keep_value || put->keep_lease) {
		struct mem_key *key = mvcc_find(exec->mvcc, put->key);

		if (key == NULL || mem_at(key, INT64_MAX) == NULL)
			return refuse(exec, PL_NOTFOUND, "put: key not found");
	}
	if (put->lease != 0 && lease_find(exec->mvcc, put->lease) == NULL)
		return refuse(exec, PL_NOLEASE, "put: requested lease not found");
	return PL_OK;
}

static enum pl_code check_get(struct exec *exec, const struct kv_get *get)
{
	if (get->revision == 0)
		return PL_OK;
	if (get->revision > exec->mvcc->revision)
		return refuse(exec, PL_FUTURE, "get: revision is in the future");
	if (get->revision < exec->mvcc->compacted)
		return refuse(exec, PL_COMPACTED, "get: revision has been compacted");
	return PL_OK;
}

/* Along the path again: the operations of one kind that will run. */
static enum pl_code check_ops(struct exec *exec, /* NOLINT(misc-no-recursion) */
                              const struct kv_txn *txn, enum kv_op kind)
{
	enum pl_code code = PL_OK;
	size_t count;
	const struct kv_req *ops = txn_list(txn, exec->path[exec->path_at++], &count);

	for (size_t i = 0; i < count && code == PL_OK; i++) {
		if (ops[i].op == KV_TXN)
			code = check_ops(exec, &ops[i].txn, kind);
		else if (ops[i].op == kind)
			code = kind == KV_PUT ? check_put(exec, &ops[i].put)
			                      : check_get(exec, &ops[i].get);
	}
	return code;
}

static enum pl_code run_txn(struct exec *exec, const struct kv_txn *txn,
                            struct kv_txn_result *out);

static enum pl_code run_op(struct exec *exec, /* NOLINT(misc-no-recursion) */
                           const struct kv_req *req, struct kv_result *out)
{
	*out = (struct kv_result){.op = req->op};
	switch (req->op) {
	case KV_GET:
		return do_get(exec, &req->get, &out->get);
	case KV_PUT:
		return do_put(exec, &req->put, &out->put);
	case KV_DELETE:
		return do_delete(exec, &req->del, &out->del);
	case KV_TXN:
		return run_txn(exec, &req->txn, &out->txn);
	case KV_COMPACT:
	case KV_LEASE_GRANT:
	case KV_LEASE_REVOKE:
	case KV_LEASE_KEEP:
	case KV_LEASE_TTL:
	case KV_STATUS:
	case KV_OP_COUNT:
		break;
	}
	PL_UNREACHABLE("operation of a transaction");
}

static enum pl_code run_txn(struct exec *exec, /* NOLINT(misc-no-recursion) */
                            const struct kv_txn *txn, struct kv_txn_result *out)
{
	struct kv_result *results = NULL;
	enum pl_code code = PL_OK;
	const struct kv_req *ops;

	out->succeeded = exec->path[exec->path_at++];
	ops = txn_list(txn, out->succeeded, &out->count);
	if (out->count != 0) {
		results =
			pl_arena_alloc(&exec->call->arena, out->count * sizeof *results);
		if (results == NULL)
			return PL_NOMEM;
	}
	out->results = results;
	for (size_t i = 0; i < out->count && code == PL_OK; i++)
		code = run_op(exec, &ops[i], &results[i]);
	return code;
}

static size_t txn_count(const struct kv_txn *txn);

static size_t list_txns(const struct kv_req *ops, /* NOLINT(misc-no-recursion) */
                        size_t count)
{
	size_t txns = 0;

	for (size_t i = 0; i < count; i++)
		if (ops[i].op == KV_TXN)
			txns += txn_count(&ops[i].txn);
	return txns;
}

static size_t txn_count(const struct kv_txn *txn) /* NOLINT(misc-no-recursion) */
{
	return 1 + list_txns(txn->then, txn->then_count) +
	       list_txns(txn->otherwise, txn->otherwise_count);
}

static enum pl_code do_txn(struct exec *exec, const struct kv_txn *txn)
{
	enum pl_code code;

	exec->path = pl_arena_alloc(&exec->mem->scratch, txn_count(txn));
	if (exec->path == NULL)
		return PL_NOMEM;
	code = judge(exec, txn);
	exec->path_at = 0;
	if (code == PL_OK)
		code = check_ops(exec, txn, KV_PUT);
	exec->path_at = 0;
	if (code == PL_OK)
		code = check_ops(exec, txn, KV_GET);
	exec->path_at = 0;
	return code != PL_OK ? code : run_txn(exec, txn, &exec->call->result.txn);
}

/* -- what changes the state --------------------------------------------- */

static enum pl_code commit(struct memkv *mem)
{
	struct note *notes = NULL;
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

enum pl_code exec_revoke(struct memkv *mem, struct lease *lease)
{
	enum pl_code code = PL_OK;
	struct mem_key **keys;

	pl_arena_reset(&mem->scratch);
	if (lease->key_count != 0) {
		keys = pl_arena_alloc(&mem->scratch,
		                      lease->key_count * sizeof(struct mem_key *));
		if (keys == NULL)
			return PL_NOMEM;
		lease_keys(lease, keys);
		for (size_t i = 0; i < lease->key_count && code == PL_OK; i++)
			code = mvcc_delete(mem->mvcc, keys[i]);
	}
	if (code == PL_OK)
		code = commit(mem);
	if (code != PL_OK) {
		mvcc_undo(mem->mvcc);
		return code;
	}
	lease_del(mem->mvcc, lease);
	return PL_OK;
}

static enum pl_code do_compact(struct exec *exec, const struct kv_compact *compact)
{
	if (compact->revision <= exec->mvcc->compacted)
		return refuse(exec, PL_COMPACTED, "compact: already compacted");
	if (compact->revision > exec->mvcc->revision)
		return refuse(exec, PL_FUTURE, "compact: revision is in the future");
	mvcc_compact(exec->mvcc, compact->revision);
	return PL_OK;
}

/* -- leases ------------------------------------------------------------- */

static void lease_renew(struct memkv *mem, struct lease *lease)
{
	uint64_t expiry = mem_now(mem) + (uint64_t)lease->ttl_s * 1000;

	lease_set_due(mem->mvcc, lease, expiry, expiry + mem->opts.expiry_delay_ms);
}

static int64_t lease_new_id(struct memkv *mem)
{
	for (;;) {
		int64_t id = (int64_t)(pl_rng_next(&mem->rng) >> 1);

		if (id != 0 && lease_find(mem->mvcc, id) == NULL)
			return id;
	}
}

static enum pl_code do_grant(struct exec *exec, const struct kv_lease_req *req)
{
	struct memkv *mem = exec->mem;
	int64_t ttl = req->ttl_s < mem->opts.min_ttl_s ? mem->opts.min_ttl_s : req->ttl_s;
	struct lease *lease;
	enum pl_code code;

	if (req->ttl_s > TTL_MAX_S)
		return refuse(exec, PL_INVALID, "lease grant: TTL is too large");
	if (req->id != 0 && lease_find(exec->mvcc, req->id) != NULL)
		return refuse(exec, PL_EXISTS, "lease grant: lease already exists");
	code = lease_add(exec->mvcc, req->id == 0 ? lease_new_id(mem) : req->id, ttl,
	                 &lease);
	if (code != PL_OK)
		return code;
	lease_renew(mem, lease);
	exec->call->result.lease =
		(struct kv_lease_result){.id = lease->id, .ttl_s = ttl};
	return PL_OK;
}

static enum pl_code lease_names(struct exec *exec, const struct lease *lease,
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
	lease_keys(lease, keys);
	for (size_t i = 0; i < count; i++) {
		newest[i] = mem_newest(keys[i]);
		names[i] = keys[i]->node.key;
	}
	out->keys = names;
	out->key_count = count;
	return hold_add(exec, newest, count);
}

static enum pl_code do_lease(struct exec *exec, const struct kv_req *req)
{
	struct kv_lease_result *out = &exec->call->result.lease;
	struct lease *lease = lease_find(exec->mvcc, req->lease.id);
	uint64_t now = mem_now(exec->mem);

	/* One that has run out can not be kept, although its keys may still stand. */
	if (lease == NULL || (req->op == KV_LEASE_KEEP && lease->expiry_ms <= now))
		return refuse(exec, PL_NOLEASE, "requested lease not found");
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

/* -- one request -------------------------------------------------------- */

static uint64_t put_cost(const struct kv_req *ops, size_t count)
{
	uint64_t cost = 0;

	for (size_t i = 0; i < count; i++)
		if (ops[i].op == KV_PUT)
			cost += KV_COST + kv_req_bytes(&ops[i]);
	return cost;
}

/* Deletes and compactions are free: they are the way out. */
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
		.alarm_nospace = mem->opts.quota_bytes != 0 &&
	                         mem->mvcc->bytes + KV_COST >= mem->opts.quota_bytes,
	};
}

static enum pl_code run_req(struct exec *exec, const struct kv_req *req)
{
	struct kv_result *out = &exec->call->result;
	enum pl_code code;

	if (!has_space(exec->mem, req))
		return refuse(exec, PL_NOSPACE, "database space exceeded");
	switch (req->op) {
	case KV_GET:
		code = check_get(exec, &req->get);
		return code != PL_OK ? code : do_get(exec, &req->get, &out->get);
	case KV_PUT:
		if (req->put.lease != 0 && lease_find(exec->mvcc, req->put.lease) == NULL)
			return refuse(exec, PL_NOLEASE, "put: requested lease not found");
		return do_put(exec, &req->put, &out->put);
	case KV_DELETE:
		return do_delete(exec, &req->del, &out->del);
	case KV_TXN:
		return do_txn(exec, &req->txn);
	case KV_COMPACT:
		return do_compact(exec, &req->compact);
	case KV_LEASE_GRANT:
		return do_grant(exec, &req->lease);
	case KV_LEASE_REVOKE:
	case KV_LEASE_KEEP:
	case KV_LEASE_TTL:
		return do_lease(exec, req);
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
		code = commit(mem);
	if (code != PL_OK)
		mvcc_undo(mem->mvcc);
	if (code == PL_NOMEM)
		return code;
	mem->raft_index += call->writes;
	call->result.header = mem_header(mem);
	return PL_OK;
}
