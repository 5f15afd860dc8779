#include "store/memkv/mvcc.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/keys.h"

enum { HITS_KEPT = 65536, VECTOR_MIN = 64 };

static const struct mem_lease *lease_of(const struct pl_heap_node *due)
{
	const char *at = (const char *)due - offsetof(struct mem_lease, due);

	return (const struct mem_lease *)(const void *)at;
}

static bool due_before(const struct pl_heap_node *a, const struct pl_heap_node *b)
{
	const struct mem_lease *x = lease_of(a), *y = lease_of(b);

	return x->due_ms != y->due_ms ? x->due_ms < y->due_ms : x->seq < y->seq;
}

void mvcc_init(struct mvcc *mvcc)
{
	*mvcc = (struct mvcc){.revision = 1, .compacted = -1};
	revlog_init(&mvcc->log, 2);
	pl_heap_init(&mvcc->due, due_before);
}

static struct mem_key *key_of(struct pl_btree_node *node)
{
	return PL_CONTAINER_OF(node, struct mem_key, node);
}

static void version_drop(struct mvcc *mvcc, struct mem_version *version)
{
	mvcc->bytes -= mem_version_cost(version);
	mem_version_unref(version);
}

static void key_remove(struct mvcc *mvcc, struct mem_key *key)
{
	PL_ASSERT(key->count == 0);
	pl_btree_del(&mvcc->keys, &key->node);
	hash_table_del(&mvcc->by_key, &key->hash);
	mem_key_unref(key);
}

static void key_drop_oldest(struct mvcc *mvcc, struct mem_key *key, uint32_t count)
{
	struct mem_version **all = mem_versions(key);

	for (uint32_t i = 0; i < count; i++)
		version_drop(mvcc, all[i]);
	mem_drop_oldest(key, count);
	if (key->count == 0)
		key_remove(mvcc, key);
}

void mvcc_done(struct mvcc *mvcc)
{
	struct pl_btree_cursor cursor = pl_btree_seek(&mvcc->keys, pl_span(NULL, 0));
	struct pl_btree_node *node;
	struct mem_lease *lease;

	mvcc_undo(mvcc);
	while ((node = pl_btree_next(&cursor)) != NULL) {
		struct mem_key *key = key_of(node);

		mem_lease_attach(key, NULL);
		for (uint32_t i = 0; i < key->count; i++)
			version_drop(mvcc, mem_versions(key)[i]);
		mem_drop_oldest(key, key->count);
		hash_table_del(&mvcc->by_key, &key->hash);
		mem_key_unref(key);
	}
	while ((lease = mem_lease_next_due(mvcc)) != NULL)
		mem_lease_del(mvcc, lease);
	pl_btree_done(&mvcc->keys);
	hash_table_done(&mvcc->by_key);
	hash_table_done(&mvcc->leases);
	pl_heap_done(&mvcc->due);
	revlog_done(&mvcc->log);
	free((void *)mvcc->changes);
	free((void *)mvcc->hits);
}

struct mem_key *mvcc_find(const struct mvcc *mvcc, struct pl_span key)
{
	struct hash_table_node *node =
		hash_table_first(&mvcc->by_key, hash_table_hash(key));

	for (; node != NULL; node = hash_table_next(node)) {
		struct mem_key *found = PL_CONTAINER_OF(node, struct mem_key, hash);

		if (pl_span_eq(found->node.key, key))
			return found;
	}
	return NULL;
}

static enum pl_code hit_add(struct mvcc *mvcc, struct mem_version *version)
{
	if (mvcc->hit_count == mvcc->hit_cap) {
		size_t cap = mvcc->hit_cap == 0 ? VECTOR_MIN : mvcc->hit_cap * 2;
		struct mem_version **grown = pl_realloc(
			(void *)mvcc->hits, cap * sizeof(struct mem_version *));

		if (grown == NULL)
			return PL_NOMEM;
		mvcc->hits = grown;
		mvcc->hit_cap = cap;
	}
	mvcc->hits[mvcc->hit_count++] = version;
	return PL_OK;
}

/* A vector that one huge range has grown goes back to the heap. */
static void hits_reset(struct mvcc *mvcc)
{
	mvcc->hit_count = 0;
	if (mvcc->hit_cap > HITS_KEPT) {
		free((void *)mvcc->hits);
		mvcc->hits = NULL;
		mvcc->hit_cap = 0;
	}
}

enum pl_code mvcc_range(struct mvcc *mvcc, const struct kv_keys *keys, int64_t revision,
                        int64_t limit, int64_t *total)
{
	struct pl_btree_cursor cursor;
	struct pl_btree_node *node;
	int64_t found = 0;

	hits_reset(mvcc);
	if (keys->kind == KV_ONE) {
		struct mem_key *key = mvcc_find(mvcc, keys->from);
		struct mem_version *version = key == NULL ? NULL : mem_at(key, revision);

		*total = version != NULL;
		return version == NULL || limit < 0 ? PL_OK : hit_add(mvcc, version);
	}
	cursor = pl_btree_seek(&mvcc->keys, keys->from);
	while ((node = pl_btree_next(&cursor)) != NULL && kv_key_in(*keys, node->key)) {
		struct mem_version *version = mem_at(key_of(node), revision);

		if (version == NULL)
			continue;
		found++;
		if (limit == 0 || found <= limit) {
			enum pl_code code = hit_add(mvcc, version);

			if (code != PL_OK)
				return code;
		}
	}
	*total = found;
	return PL_OK;
}

/* Makes room for one more change. */
static enum pl_code changes_reserve(struct mvcc *mvcc)
{
	uint32_t cap = mvcc->change_cap == 0 ? VECTOR_MIN : mvcc->change_cap * 2;
	struct mem_version **grown;

	if (mvcc->change_count < mvcc->change_cap)
		return PL_OK;
	if (mvcc->change_cap > UINT32_MAX / 2)
		return PL_NOMEM;
	grown = pl_realloc((void *)mvcc->changes, cap * sizeof(struct mem_version *));
	if (grown == NULL)
		return PL_NOMEM;
	mvcc->changes = grown;
	mvcc->change_cap = cap;
	return PL_OK;
}

/* Takes the caller's reference to version, even if it fails. */
static enum pl_code change_add(struct mvcc *mvcc, struct mem_version *version)
{
	enum pl_code code = changes_reserve(mvcc);

	version->mod_revision = mvcc->revision + 1;
	version->sub = mvcc->change_count;
	if (code == PL_OK)
		code = mem_push(version->key, version);
	if (code != PL_OK) {
		mem_version_unref(version);
		return code;
	}
	mvcc->bytes += mem_version_cost(version);
	mvcc->changes[mvcc->change_count++] = version;
	return PL_OK;
}

/* Makes a key without versions; a push must follow. */
static struct mem_key *key_create(struct mvcc *mvcc, struct pl_span name)
{
	struct mem_key *key;

	if (pl_btree_reserve(&mvcc->keys) != PL_OK ||
	    hash_table_reserve(&mvcc->by_key, mvcc->by_key.count + 1) != PL_OK)
		return NULL;
	key = mem_key_new(name);
	if (key == NULL)
		return NULL;
	pl_btree_add(&mvcc->keys, &key->node);
	hash_table_add(&mvcc->by_key, &key->hash, hash_table_hash(name));
	return key;
}

enum pl_code mvcc_put(struct mvcc *mvcc, struct pl_span name, struct pl_span value,
                      int64_t lease)
{
	struct mem_key *key = mvcc_find(mvcc, name);
	struct mem_version *before, *version;
	enum pl_code code = PL_NOMEM;

	if (key == NULL)
		key = key_create(mvcc, name);
	if (key == NULL)
		return PL_NOMEM;
	before = mem_at(key, INT64_MAX);
	version = mem_version_new(key, value);
	if (version != NULL) {
		version->create_revision =
			before == NULL ? mvcc->revision + 1 : before->create_revision;
		version->version = before == NULL ? 1 : before->version + 1;
		version->lease = lease;
		code = change_add(mvcc, version);
	}
	if (key->count == 0)
		key_remove(mvcc, key);
	return code;
}

enum pl_code mvcc_delete(struct mvcc *mvcc, struct mem_key *key)
{
	struct mem_version *version = mem_version_new(key, pl_span(NULL, 0));

	PL_ASSERT(mem_at(key, INT64_MAX) != NULL);
	return version == NULL ? PL_NOMEM : change_add(mvcc, version);
}

enum pl_code mvcc_load(struct mvcc *mvcc, const struct mem_version *from,
                       struct mem_version **out)
{
	struct pl_span name = from->key->node.key;
	struct mem_key *key = mvcc_find(mvcc, name);
	struct mem_version *version = NULL;
	enum pl_code code = PL_NOMEM;

	if (key == NULL)
		key = key_create(mvcc, name);
	if (key == NULL)
		return PL_NOMEM;
	version = mem_version_new(key, pl_span(from->bytes, from->len));
	if (version != NULL) {
		version->sub = from->sub;
		version->mod_revision = from->mod_revision;
		version->create_revision = from->create_revision;
		version->version = from->version;
		version->lease = from->lease;
		code = mem_push(key, version);
	}
	if (code != PL_OK) {
		mem_version_unref(version);
		if (key->count == 0)
			key_remove(mvcc, key);
		return code;
	}
	mvcc->bytes += mem_version_cost(version);
	mem_lease_attach(key, version->lease == 0 ? NULL
	                                          : mem_lease_find(mvcc, version->lease));
	*out = version;
	return PL_OK;
}

enum pl_code mvcc_prepare(struct mvcc *mvcc)
{
	PL_ASSERT(mvcc->change_count > 0);
	return revlog_prepare(&mvcc->log, mvcc->changes, mvcc->change_count);
}

void mvcc_commit(struct mvcc *mvcc)
{
	for (uint32_t i = 0; i < mvcc->change_count; i++) {
		struct mem_version *version = mvcc->changes[i];

		mem_lease_attach(version->key,
		                 version->lease == 0
		                         ? NULL
		                         : mem_lease_find(mvcc, version->lease));
	}
	revlog_add(&mvcc->log);
	mvcc->revision++;
	mvcc->change_count = 0;
}

void mvcc_undo(struct mvcc *mvcc)
{
	while (mvcc->change_count > 0) {
		struct mem_key *key = mvcc->changes[--mvcc->change_count]->key;

		version_drop(mvcc, mem_pop(key));
		if (key->count == 0)
			key_remove(mvcc, key);
	}
	revlog_forget(&mvcc->log);
}

struct mvcc_compaction {
	struct mvcc *mvcc;
	int64_t revision;
};

/*
 * Whether a change stays. Called in the order of the log: when it comes to what a key was
 * at the revision, the key's older versions have had their turn and are not looked at
 * again, so they all go at once. A deletion goes with them.
 */
static bool change_compact(struct mem_version *version, void *ctx)
{
	const struct mvcc_compaction *compaction = ctx;
	struct mem_key *key = version->key;
	uint32_t rank = mem_rank(key, compaction->revision);
	bool gone = mem_is_delete(version);

	if (mem_versions(key)[rank - 1] != version)
		return false;
	if (gone || rank > 1)
		key_drop_oldest(compaction->mvcc, key, gone ? rank : rank - 1);
	return !gone;
}

void mvcc_compact(struct mvcc *mvcc, int64_t revision)
{
	struct mvcc_compaction compaction = {.mvcc = mvcc, .revision = revision};

	PL_ASSERT(revision > mvcc->compacted && revision <= mvcc->revision);
	PL_ASSERT(mvcc->change_count == 0);
	for (int64_t at = mvcc->log.first; at < revision; at++) {
		uint32_t count;
		struct mem_version **changes = revlog_at(&mvcc->log, at, &count);

		for (uint32_t i = 0; i < count; i++)
			(void)change_compact(changes[i], &compaction);
	}
	revlog_filter(&mvcc->log, revision, change_compact, &compaction);
	revlog_drop_below(&mvcc->log, revision);
	mvcc->compacted = revision;
}
