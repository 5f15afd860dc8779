/*
 * Shorthands: a function to start each operation, and constructors for the lists of a
 * transaction.
 *
 *	kv_put(kv, &(struct kv_put){.key = key, .value = value}, 2000, on_put, me,
 *	       NULL, &err);
 *
 *	struct kv_compare fresh = kv_if_mod_rev(key, KV_EQ, seen);
 *	struct kv_req ops[] = {kv_op_put(key, value)};
 *	kv_txn(kv, &(struct kv_txn){.compares = &fresh, .compare_count = 1,
 *	                            .then = ops, .then_count = 1}, ...);
 *
 * The functions have the contract of kv_start.
 */
#ifndef STORE_KV_CALLS_H
#define STORE_KV_CALLS_H

#include "store/kv/keys.h"
#include "store/kv/kv.h"

/* X(function, struct of the request, operation, member of kv_req) */
#define KV_CALL_MAP(X)                                           \
	X(kv_get, kv_get, KV_GET, get)                           \
	X(kv_put, kv_put, KV_PUT, put)                           \
	X(kv_delete, kv_delete, KV_DELETE, del)                  \
	X(kv_txn, kv_txn, KV_TXN, txn)                           \
	X(kv_compact, kv_compact, KV_COMPACT, compact)           \
	X(kv_lease_grant, kv_lease_req, KV_LEASE_GRANT, lease)   \
	X(kv_lease_revoke, kv_lease_req, KV_LEASE_REVOKE, lease) \
	X(kv_lease_keep, kv_lease_req, KV_LEASE_KEEP, lease)     \
	X(kv_lease_ttl, kv_lease_req, KV_LEASE_TTL, lease)

#define KV_CALL_DEFINE(fn, type, which, member)                                        \
	PL_NODISCARD static inline enum pl_code fn(                                    \
		struct kv *kv, const struct type *what, uint64_t timeout_ms,           \
		kv_done_fn *done, void *ctx, struct kv_call **out, struct pl_err *err) \
	{                                                                              \
		struct kv_req req = {.op = (which), .member = *what};                  \
		return kv_start(kv, &req, timeout_ms, done, ctx, out, err);            \
	}
KV_CALL_MAP(KV_CALL_DEFINE)

PL_NODISCARD static inline enum pl_code kv_status(struct kv *kv, uint64_t timeout_ms,
                                                  kv_done_fn *done, void *ctx,
                                                  struct kv_call **out,
                                                  struct pl_err *err)
{
	struct kv_req req = {.op = KV_STATUS};

	return kv_start(kv, &req, timeout_ms, done, ctx, out, err);
}

/* Constructors of operations for the lists of a transaction. */
static inline struct kv_req kv_op_get(struct kv_keys keys)
{
	return (struct kv_req){.op = KV_GET, .get = {.keys = keys}};
}

static inline struct kv_req kv_op_put(struct pl_span key, struct pl_span value)
{
	return (struct kv_req){.op = KV_PUT, .put = {.key = key, .value = value}};
}

static inline struct kv_req kv_op_put_leased(struct pl_span key, struct pl_span value,
                                             int64_t lease)
{
	return (struct kv_req){.op = KV_PUT,
	                       .put = {.key = key, .value = value, .lease = lease}};
}

static inline struct kv_req kv_op_delete(struct kv_keys keys)
{
	return (struct kv_req){.op = KV_DELETE, .del = {.keys = keys}};
}

/* Constructors of compares. All numbers of a key that does not exist are 0. */
static inline struct kv_compare kv_if_number(struct pl_span key, enum kv_target target,
                                             enum kv_relation relation, int64_t number)
{
	return (struct kv_compare){.keys = kv_key(key),
	                           .target = target,
	                           .relation = relation,
	                           .number = number};
}

static inline struct kv_compare kv_if_mod_rev(struct pl_span key,
                                              enum kv_relation relation, int64_t number)
{
	return kv_if_number(key, KV_MOD_REV, relation, number);
}

static inline struct kv_compare kv_if_create_rev(struct pl_span key,
                                                 enum kv_relation relation,
                                                 int64_t number)
{
	return kv_if_number(key, KV_CREATE_REV, relation, number);
}

static inline struct kv_compare kv_if_lease(struct pl_span key, enum kv_relation relation,
                                            int64_t lease)
{
	return kv_if_number(key, KV_LEASE, relation, lease);
}

static inline struct kv_compare kv_if_value(struct pl_span key, enum kv_relation relation,
                                            struct pl_span value)
{
	return (struct kv_compare){.keys = kv_key(key),
	                           .target = KV_VALUE,
	                           .relation = relation,
	                           .value = value};
}

static inline struct kv_compare kv_if_absent(struct pl_span key)
{
	return kv_if_create_rev(key, KV_EQ, 0);
}

static inline struct kv_compare kv_if_present(struct pl_span key)
{
	return kv_if_create_rev(key, KV_GT, 0);
}

#endif
