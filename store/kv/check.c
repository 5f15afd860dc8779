/* Checks that the server would make later and with worse messages, and one that it would
 * not make: an end of a range that means something else to etcd. */
#include "store/kv/check.h"

#include <stdio.h>

/* The path from the request to the operation that is checked. */
struct check_path {
	const struct check_path *up;
	/* "then", "otherwise" or "compares"; NULL: the request itself */
	const char *list;
	size_t at;
	enum kv_op op;
};

static size_t path_add(char *path, size_t size, size_t len, const char *text)
{
	int more = snprintf(path + len, size - len, "%s", text);

	return more < 0 || (size_t)more >= size - len ? size - 1 : len + (size_t)more;
}

/* Prints "txn.then[3].put", outermost first. The recursion is as deep as the
 * operation. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static size_t path_print(const struct check_path *where, char *path, size_t size)
{
	char step[48];
	size_t len = 0;

	if (where->up != NULL) {
		len = path_print(where->up, path, size);
		(void)snprintf(step, sizeof step, ".%s[%zu].", where->list, where->at);
		len = path_add(path, size, len, step);
	}
	return path_add(path, size, len, kv_op_name(where->op));
}

PL_NODISCARD static enum pl_code fail_at(const struct check_path *where,
                                         const char *field, const char *why,
                                         struct pl_err *err)
{
	char path[160];

	(void)path_print(where, path, sizeof path);
	return pl_err_set(err, PL_INVALID, "%s%s: %s", path, field, why);
}

/* NULL: the keys are valid. */
static const char *keys_fault(const struct kv_keys *keys)
{
	switch (keys->kind) {
	case KV_ONE:
		return keys->from.len == 0 ? "empty key" : NULL;
	case KV_RANGE:
		if (keys->to.len == 0)
			return "range without an end";
		/* No key is less than "\0", but to etcd this end means "no end". */
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

static const char *compare_fault(const struct kv_compare *compare)
{
	if ((unsigned)compare->target > KV_LEASE)
		return "unknown target";
	if ((unsigned)compare->relation > KV_GT)
		return "unknown relation";
	return keys_fault(&compare->keys);
}

static const char *lease_fault(enum kv_op op, const struct kv_lease_req *lease)
{
	if (op == KV_LEASE_GRANT)
		return lease->ttl_s <= 0 ? "TTL is not positive" : NULL;
	return lease->id == 0 ? "no lease id" : NULL;
}

/* NOLINTBEGIN(misc-no-recursion): check_txn ends it at KV_TXN_DEPTH_MAX. */

static enum pl_code check_list(const struct check_path *up, const char *list,
                               const struct kv_req *ops, size_t count, unsigned depth,
                               struct pl_err *err);

static enum pl_code check_txn(const struct check_path *where, const struct kv_txn *txn,
                              unsigned depth, struct pl_err *err)
{
	enum pl_code code;

	if (depth > KV_TXN_DEPTH_MAX)
		return fail_at(where, "", "nested too deeply", err);
	for (size_t i = 0; i < txn->compare_count; i++) {
		const char *fault = compare_fault(&txn->compares[i]);

		if (fault != NULL) {
			char field[32];

			(void)snprintf(field, sizeof field, ".compares[%zu]", i);
			return fail_at(where, field, fault, err);
		}
	}
	code = check_list(where, "then", txn->then, txn->then_count, depth, err);
	if (code != PL_OK)
		return code;
	return check_list(where, "otherwise", txn->otherwise, txn->otherwise_count, depth,
	                  err);
}

static enum pl_code check_op(const struct check_path *where, const struct kv_req *req,
                             unsigned depth, struct pl_err *err)
{
	const char *fault = NULL;

	switch (req->op) {
	case KV_GET:
		fault = get_fault(&req->get);
		break;
	case KV_PUT:
		fault = put_fault(&req->put);
		break;
	case KV_DELETE:
		fault = keys_fault(&req->del.keys);
		break;
	case KV_TXN:
		return check_txn(where, &req->txn, depth + 1, err);
	case KV_COMPACT:
		if (req->compact.revision <= 0)
			fault = "revision is not positive";
		break;
	case KV_LEASE_GRANT:
	case KV_LEASE_REVOKE:
	case KV_LEASE_KEEP:
	case KV_LEASE_TTL:
		fault = lease_fault(req->op, &req->lease);
		break;
	case KV_STATUS:
	case KV_OP_COUNT:
		break;
	}
	return fault == NULL ? PL_OK : fail_at(where, "", fault, err);
}

static enum pl_code check_list(const struct check_path *up, const char *list,
                               const struct kv_req *ops, size_t count, unsigned depth,
                               struct pl_err *err)
{
	for (size_t i = 0; i < count; i++) {
		struct check_path where = {
			.up = up, .list = list, .at = i, .op = ops[i].op};
		enum pl_code code;

		if ((unsigned)ops[i].op > KV_TXN) {
			char field[64];

			(void)snprintf(field, sizeof field, ".%s[%zu]", list, i);
			return fail_at(up, field, "no operation of a transaction", err);
		}
		code = check_op(&where, &ops[i], depth, err);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

/* NOLINTEND(misc-no-recursion) */

enum pl_code kv_check_req(const struct kv_req *req, struct pl_err *err)
{
	struct check_path where = {.op = req->op};

	if ((unsigned)req->op >= KV_OP_COUNT)
		return pl_err_set(err, PL_INVALID, "unknown operation %d", (int)req->op);
	return check_op(&where, req, 0, err);
}

enum pl_code kv_check_watch(const struct kv_watch_req *req, struct pl_err *err)
{
	const char *fault = keys_fault(&req->keys);

	if (fault == NULL && req->keys.kind == KV_RANGE &&
	    pl_span_cmp(req->keys.from, req->keys.to) >= 0)
		fault = "range holds no key";
	if (fault == NULL && req->from_revision < 0)
		fault = "negative revision";
	if (fault == NULL && req->no_puts && req->no_deletes)
		fault = "neither puts nor deletes wanted";
	return fault == NULL ? PL_OK : pl_err_set(err, PL_INVALID, "watch: %s", fault);
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t nested_ops(const struct kv_req *ops, /* NOLINT(misc-no-recursion) */
                           size_t count)
{
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++)
		most = max_of(most, kv_txn_ops(&ops[i]));
	return most;
}

uint64_t kv_txn_ops(const struct kv_req *req) /* NOLINT(misc-no-recursion) */
{
	const struct kv_txn *txn = &req->txn;

	if (req->op != KV_TXN)
		return 0;
	/* etcd takes the longest list of a level off the limit of the next level. */
	return max_of(txn->compare_count, max_of(txn->then_count, txn->otherwise_count)) +
	       max_of(nested_ops(txn->then, txn->then_count),
	              nested_ops(txn->otherwise, txn->otherwise_count));
}
