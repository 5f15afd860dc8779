/*
 * For tests of the core: a store of a few hundred keys with etcd's revisions. It logs
 * every event.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_RIG_STORE_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_RIG_STORE_H

#include "store/base/arena.h"
#include "store/kv/keys.h"
#include "store/kv/types.h"
#include "tests/harness/t.h"

enum { RIG_KEYS_MAX = 16384, RIG_LOG_MAX = 1 << 17 };

struct rig_store {
	struct pl_arena arena;
	/* in the order of keys; mod_revision 0: deleted */
	struct kv_record key[RIG_KEYS_MAX];
	uint32_t keys;
	struct kv_event *log;
	uint32_t logged;
	int64_t revision;
};

static inline uint32_t rig_at(const struct rig_store *store, struct pl_span key)
{
	uint32_t low = 0, high = store->keys;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (pl_span_cmp(store->key[mid].key, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static inline struct kv_record *rig_get(struct rig_store *store, struct pl_span key)
{
	uint32_t i = rig_at(store, key);

	if (i == store->keys || !pl_span_eq(store->key[i].key, key) ||
	    store->key[i].mod_revision == 0)
		return NULL;
	return &store->key[i];
}

static inline void rig_log(struct rig_store *store, const struct kv_record *record,
                           bool gone)
{
	struct kv_event *event = &store->log[store->logged++];

	T_TRUE(store->logged <= RIG_LOG_MAX);
	*event = (struct kv_event){.is_delete = gone, .record = *record};
	event->record.mod_revision = store->revision;
}

static inline void rig_set(struct rig_store *store, struct pl_span key,
                           struct pl_span value)
{
	uint32_t i = rig_at(store, key);
	struct kv_record *record = &store->key[i];

	if (i == store->keys || !pl_span_eq(record->key, key)) {
		T_TRUE(store->keys < RIG_KEYS_MAX);
		memmove(record + 1, record, (store->keys - i) * sizeof *record);
		store->keys++;
		*record = (struct kv_record){.key = pl_arena_dup(&store->arena, key)};
	}
	record->value = pl_arena_dup(&store->arena, value);
	if (record->mod_revision == 0)
		record->create_revision = store->revision;
	record->mod_revision = store->revision;
	rig_log(store, record, false);
}

static inline void rig_unset(struct rig_store *store, struct pl_span key)
{
	struct kv_record *record = rig_get(store, key);

	if (record == NULL)
		return;
	record->mod_revision = record->create_revision = 0;
	rig_log(store, record, true);
}

/* Deletes one key, or all keys with the prefix. */
static inline void rig_unset_all(struct rig_store *store, struct kv_keys keys)
{
	for (uint32_t i = rig_at(store, keys.from); i < store->keys; i++) {
		if (!kv_key_in(keys, store->key[i].key))
			break;
		rig_unset(store, store->key[i].key);
	}
}

/* Each key with the prefix has to be of that revision; at least one has to exist. */
static inline bool rig_holds_all(struct rig_store *store,
                                 const struct kv_compare *compare)
{
	bool some = false;

	T_TRUE(compare->target == KV_MOD_REV && compare->relation == KV_EQ);
	for (uint32_t i = rig_at(store, compare->keys.from); i < store->keys; i++) {
		const struct kv_record *record = &store->key[i];

		if (!kv_key_in(compare->keys, record->key))
			break;
		if (record->mod_revision == 0)
			continue;
		some = true;
		if (record->mod_revision != compare->number)
			return false;
	}
	return some;
}

static inline bool rig_holds(struct rig_store *store, const struct kv_compare *compare)
{
	struct kv_record *record = rig_get(store, compare->keys.from);
	int64_t number = record == NULL                     ? 0
	                 : compare->target == KV_CREATE_REV ? record->create_revision
	                                                    : record->mod_revision;

	if (compare->keys.kind == KV_PREFIX)
		return rig_holds_all(store, compare);
	T_TRUE(compare->keys.kind == KV_ONE && compare->relation == KV_EQ);
	if (compare->target == KV_VALUE)
		return record != NULL && pl_span_eq(record->value, compare->value);
	return number == compare->number;
}

static inline void rig_range(struct rig_store *store, const struct kv_get *get,
                             struct kv_result *out)
{
	struct kv_record *found = pl_arena_zalloc(&store->arena, 64, sizeof *found);

	out->op = KV_GET;
	for (uint32_t i = rig_at(store, get->keys.from); i < store->keys; i++) {
		if (!kv_key_in(get->keys, store->key[i].key))
			break;
		if (store->key[i].mod_revision == 0)
			continue;
		T_TRUE(out->get.count < 64);
		found[out->get.count++] = store->key[i];
		if (get->keys_only)
			found[out->get.count - 1].value = (struct pl_span){0};
	}
	out->get.records = found;
	out->get.total = (int64_t)out->get.count;
}

static inline bool rig_writes(const struct kv_req *op, struct pl_span key)
{
	return op->op == KV_PUT ? pl_span_eq(op->put.key, key)
	                        : op->op == KV_DELETE && kv_key_in(op->del.keys, key);
}

/* etcd refuses a txn that puts a key twice. */
static inline void rig_writes_once(const struct kv_txn *txn)
{
	for (size_t i = 0; i < txn->then_count; i++)
		for (size_t n = 0; txn->then[i].op == KV_PUT && n < txn->then_count; n++)
			T_TRUE(n == i ||
			       !rig_writes(&txn->then[n], txn->then[i].put.key));
}

/* A nested txn of deletes, judged by the keys as they are when it runs. */
static inline void rig_exec_nested(struct rig_store *store, const struct kv_txn *txn)
{
	for (size_t i = 0; i < txn->compare_count; i++)
		if (!rig_holds(store, &txn->compares[i]))
			return;
	for (size_t i = 0; i < txn->then_count; i++) {
		T_EQ(txn->then[i].op, KV_DELETE);
		rig_unset_all(store, txn->then[i].del.keys);
	}
}

/* Executes the txn as etcd does. */
static inline struct kv_result rig_exec(struct rig_store *store, const struct kv_txn *txn)
{
	struct kv_result result = {.op = KV_TXN}, *results;
	const struct kv_req *ops;
	size_t count;

	result.txn.succeeded = true;
	for (size_t i = 0; i < txn->compare_count; i++)
		if (!rig_holds(store, &txn->compares[i]))
			result.txn.succeeded = false;
	rig_writes_once(txn);
	ops = result.txn.succeeded ? txn->then : txn->otherwise;
	count = result.txn.succeeded ? txn->then_count : txn->otherwise_count;
	results = pl_arena_zalloc(&store->arena, count + 1, sizeof *results);
	for (size_t i = 0; i < count; i++)
		if (ops[i].op != KV_GET) {
			store->revision++;
			break;
		}
	for (size_t i = 0; i < count; i++) {
		results[i].op = ops[i].op;
		if (ops[i].op == KV_GET)
			rig_range(store, &ops[i].get, &results[i]);
		else if (ops[i].op == KV_PUT)
			rig_set(store, ops[i].put.key, ops[i].put.value);
		else if (ops[i].op == KV_DELETE)
			rig_unset_all(store, ops[i].del.keys);
		else if (ops[i].op == KV_TXN)
			rig_exec_nested(store, &ops[i].txn);
	}
	result.txn.results = results;
	result.txn.count = count;
	result.header.revision = store->revision;
	return result;
}

#endif
