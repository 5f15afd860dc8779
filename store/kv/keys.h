/*
 * Sets of keys: one key, a range, a prefix; the end of a prefix; and the size of
 * requests.
 *
 * Keys are ordered bytewise, a key before its continuations.
 */
#ifndef STORE_KV_KEYS_H
#define STORE_KV_KEYS_H

#include <stdbool.h>

#include "store/kv/types.h"

static inline struct kv_keys kv_key(struct pl_span key)
{
	return (struct kv_keys){.kind = KV_ONE, .from = key};
}

/* from <= key < to */
static inline struct kv_keys kv_range(struct pl_span from, struct pl_span to)
{
	return (struct kv_keys){.kind = KV_RANGE, .from = from, .to = to};
}

static inline struct kv_keys kv_prefix(struct pl_span prefix)
{
	return (struct kv_keys){.kind = KV_PREFIX, .from = prefix};
}

static inline struct kv_keys kv_from(struct pl_span from)
{
	return (struct kv_keys){.kind = KV_FROM, .from = from};
}

static inline struct kv_keys kv_all_keys(void)
{
	return (struct kv_keys){.kind = KV_PREFIX};
}

bool kv_key_in(struct kv_keys keys, struct pl_span key);

/* The least key that is greater than every key with the prefix, written to at, which has
 * room for prefix.len bytes. Empty: there is no such key, because every key from the
 * prefix on has the prefix ("" and any run of 0xff). */
struct pl_span kv_prefix_end(struct pl_span prefix, uint8_t *at);

/* True for requests that may change the store. A keep-alive does not count: it can be
 * repeated freely, so its outcome is never unknown. */
bool kv_req_writes(const struct kv_req *req);

/* Approximate bytes of a request or an answer on the wire: those of its keys and
 * values. */
size_t kv_req_bytes(const struct kv_req *req);
size_t kv_result_bytes(const struct kv_result *result);
size_t kv_events_bytes(const struct kv_event *events, size_t count);

#endif
