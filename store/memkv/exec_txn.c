/* Transactions: the compares on the path are judged, the operations on the path are
 * checked, and then they run. */
#include "store/memkv/exec.h"

static bool relation_holds(enum kv_relation relation, int order)
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

/* version NULL: the key does not exist. */
static bool compare_one(const struct kv_compare *compare,
                        const struct mem_version *version)
{
	int64_t number;

	if (compare->target == KV_VALUE)
		return version != NULL &&
		       relation_holds(compare->relation,
		                      pl_span_cmp(pl_span(version->bytes, version->len),
		                                  compare->value));
	number = number_of(version, compare->target);
	return relation_holds(compare->relation,
	                      number < compare->number ? -1 : number > compare->number);
}

static enum pl_code judge_compare(struct exec *exec, const struct kv_compare *compare,
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

/* Judges all compares on the path that the transaction takes, before anything is
 * written. */
static enum pl_code judge_txn(struct exec *exec, /* NOLINT(misc-no-recursion) */
                              const struct kv_txn *txn)
{
	bool succeeded = true;
	const struct kv_req *ops;
	size_t count;

	for (size_t i = 0; i < txn->compare_count && succeeded; i++)
		if (judge_compare(exec, &txn->compares[i], &succeeded) != PL_OK)
			return PL_NOMEM;
	exec->path[exec->path_at++] = succeeded;
	ops = txn_list(txn, succeeded, &count);
	for (size_t i = 0; i < count; i++)
		if (ops[i].op == KV_TXN && judge_txn(exec, &ops[i].txn) != PL_OK)
			return PL_NOMEM;
	return PL_OK;
}

static enum pl_code check_put(struct exec *exec, const struct kv_put *put)
{
	if (put->keep_value || put->keep_lease) {
		struct mem_key *key = mvcc_find(exec->mvcc, put->key);

		if (key == NULL || mem_at(key, INT64_MAX) == NULL)
			return exec_refuse(exec, PL_NOTFOUND, "put: key not found");
	}
	if (put->lease != 0 && mem_lease_find(exec->mvcc, put->lease) == NULL)
		return exec_refuse(exec, PL_NOLEASE, "put: requested lease not found");
	return PL_OK;
}

/* Follows the path again and checks the operations of one kind that will run. */
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
			                      : exec_check_get(exec, &ops[i].get);
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
		return exec_get(exec, &req->get, &out->get);
	case KV_PUT:
		return exec_put(exec, &req->put, &out->put);
	case KV_DELETE:
		return exec_delete(exec, &req->del, &out->del);
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

enum pl_code exec_txn(struct exec *exec, const struct kv_txn *txn)
{
	enum pl_code code;

	exec->path = pl_arena_alloc(&exec->mem->scratch, txn_count(txn));
	if (exec->path == NULL)
		return PL_NOMEM;
	code = judge_txn(exec, txn);
	exec->path_at = 0;
	if (code == PL_OK)
		code = check_ops(exec, txn, KV_PUT);
	exec->path_at = 0;
	if (code == PL_OK)
		code = check_ops(exec, txn, KV_GET);
	exec->path_at = 0;
	return code != PL_OK ? code : run_txn(exec, txn, &exec->call->result.txn);
}
