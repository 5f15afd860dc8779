#include "store/kv/keys.h"

#include "store/base/compiler.h"

bool kv_key_in(struct kv_keys keys, struct pl_span key)
{
	switch (keys.kind) {
	case KV_ONE:
		return pl_span_eq(keys.from, key);
	case KV_RANGE:
		return pl_span_cmp(keys.from, key) <= 0 && pl_span_cmp(key, keys.to) < 0;
	case KV_PREFIX:
		return pl_span_starts(key, keys.from);
	case KV_FROM:
		return pl_span_cmp(keys.from, key) <= 0;
	}
	PL_UNREACHABLE("kind of keys");
}

struct pl_span kv_prefix_end(struct pl_span prefix, uint8_t *at)
{
	size_t len = prefix.len;

	while (len > 0 && prefix.at[len - 1] == 0xff)
		len--;
	if (len == 0)
		return pl_span(NULL, 0);
	memmove(at, prefix.at, len);
	at[len - 1]++;
	return pl_span(at, len);
}

static bool ops_write(const struct kv_req *ops, size_t count)
{
	/* A nested transaction counts as a write: a transaction is not nested only to
	 * read. */
	for (size_t i = 0; i < count; i++)
		if (ops[i].op != KV_GET)
			return true;
	return false;
}

bool kv_req_writes(const struct kv_req *req)
{
	switch (req->op) {
	case KV_PUT:
	case KV_DELETE:
	case KV_COMPACT:
	case KV_LEASE_GRANT:
	case KV_LEASE_REVOKE:
		return true;
	case KV_TXN:
		return ops_write(req->txn.then, req->txn.then_count) ||
		       ops_write(req->txn.otherwise, req->txn.otherwise_count);
	case KV_GET:
	case KV_LEASE_KEEP:
	case KV_LEASE_TTL:
	case KV_STATUS:
	case KV_OP_COUNT:
		break;
	}
	return false;
}

static size_t keys_bytes(const struct kv_keys *keys)
{
	return keys->from.len + (keys->kind == KV_RANGE ? keys->to.len : 0);
}

static size_t ops_bytes(const struct kv_req *ops, size_t count);

size_t kv_req_bytes(const struct kv_req *req) /* NOLINT(misc-no-recursion) */
{
	size_t bytes = 0;

	switch (req->op) {
	case KV_GET:
		return keys_bytes(&req->get.keys);
	case KV_PUT:
		return req->put.key.len + req->put.value.len;
	case KV_DELETE:
		return keys_bytes(&req->del.keys);
	case KV_TXN:
		for (size_t i = 0; i < req->txn.compare_count; i++)
			bytes += keys_bytes(&req->txn.compares[i].keys) +
			         req->txn.compares[i].value.len;
		return bytes + ops_bytes(req->txn.then, req->txn.then_count) +
		       ops_bytes(req->txn.otherwise, req->txn.otherwise_count);
	case KV_COMPACT:
	case KV_LEASE_GRANT:
	case KV_LEASE_REVOKE:
	case KV_LEASE_KEEP:
	case KV_LEASE_TTL:
	case KV_STATUS:
	case KV_OP_COUNT:
		break;
	}
	return bytes;
}

/* The recursion is as deep as the caller nested its transaction. */
static size_t ops_bytes(const struct kv_req *ops, /* NOLINT(misc-no-recursion) */
                        size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += kv_req_bytes(&ops[i]);
	return bytes;
}

static size_t records_bytes(const struct kv_record *records, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += records[i].key.len + records[i].value.len;
	return bytes;
}

size_t kv_result_bytes(const struct kv_result *result) /* NOLINT(misc-no-recursion) */
{
	size_t bytes = 0;

	switch (result->op) {
	case KV_GET:
		return records_bytes(result->get.records, result->get.count);
	case KV_PUT:
		return records_bytes(result->put.prev, result->put.prev != NULL);
	case KV_DELETE:
		return records_bytes(result->del.prev, result->del.prev_count);
	case KV_TXN:
		for (size_t i = 0; i < result->txn.count; i++)
			bytes += kv_result_bytes(&result->txn.results[i]);
		break;
	case KV_LEASE_TTL:
		for (size_t i = 0; i < result->lease.key_count; i++)
			bytes += result->lease.keys[i].len;
		break;
	case KV_COMPACT:
	case KV_LEASE_GRANT:
	case KV_LEASE_REVOKE:
	case KV_LEASE_KEEP:
	case KV_STATUS:
	case KV_OP_COUNT:
		break;
	}
	return bytes;
}

size_t kv_events_bytes(const struct kv_event *events, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += records_bytes(&events[i].record, 1) +
		         records_bytes(events[i].prev, events[i].prev != NULL);
	return bytes;
}
