/* Checks the state against its invariants. */
#include "tests/support/store/memkv/mvcc_audit.h"

static void audit_versions(const struct mvcc *mvcc, struct mem_key *key, uint64_t *bytes)
{
	struct mem_version **all = mem_versions(key);
	const struct mem_version *before = NULL;

	PL_ASSERT(key->count > 0);
	for (uint32_t i = 0; i < key->count; i++) {
		const struct mem_version *version = all[i];

		PL_ASSERT(version->key == key && version->refs > 0);
		PL_ASSERT(version->mod_revision <= mvcc->revision);
		if (before == NULL || mem_is_delete(before)) {
			/* The first revisions of a key may have been compacted away. */
			PL_ASSERT(before == NULL || version->version == 1);
		} else if (!mem_is_delete(version)) {
			PL_ASSERT(version->version == before->version + 1);
			PL_ASSERT(version->create_revision == before->create_revision);
		}
		PL_ASSERT(before == NULL ||
		          before->mod_revision < version->mod_revision ||
		          (before->mod_revision == version->mod_revision &&
		           before->sub < version->sub));
		*bytes += mem_version_cost(version);
		before = version;
	}
	/* Compaction leaves the key's version at that revision, and nothing older. */
	if (mem_rank(key, mvcc->compacted) > 0) {
		PL_ASSERT(mem_rank(key, mvcc->compacted) == 1);
		PL_ASSERT(!mem_is_delete(all[0]));
	}
}

static void audit_lease(const struct mvcc *mvcc, struct mem_key *key)
{
	const struct mem_version *newest = mem_newest(key);

	PL_ASSERT((key->lease == NULL) == (newest->lease == 0));
	if (key->lease == NULL)
		return;
	PL_ASSERT(key->lease == mem_lease_find(mvcc, newest->lease));
}

static void audit_log(const struct mvcc *mvcc)
{
	const struct revlog *log = &mvcc->log;

	PL_ASSERT(log->next.count == 0);
	PL_ASSERT(log->first >= mvcc->compacted || log->count == 0);
	PL_ASSERT(log->first + (int64_t)log->count == mvcc->revision + 1);
	for (int64_t at = log->first; at <= mvcc->revision; at++) {
		uint32_t count;
		struct mem_version **changes = revlog_at(log, at, &count);

		PL_ASSERT(count > 0 || at == mvcc->compacted);
		for (uint32_t i = 0; i < count; i++) {
			uint32_t rank = mem_rank(changes[i]->key, at);
			bool found = false;

			PL_ASSERT(changes[i]->mod_revision == at);
			while (rank-- > 0 && !found)
				found = mem_versions(changes[i]->key)[rank] == changes[i];
			PL_ASSERT(found);
		}
	}
}

void mvcc_audit(const struct mvcc *mvcc)
{
	struct pl_btree_cursor cursor = pl_btree_seek(&mvcc->keys, pl_span(NULL, 0));
	struct pl_btree_node *node;
	uint64_t bytes = 0;
	size_t keys = 0, leased = 0;

	pl_btree_check(&mvcc->keys);
	PL_ASSERT(mvcc->change_count == 0);
	while ((node = pl_btree_next(&cursor)) != NULL) {
		struct mem_key *key = PL_CONTAINER_OF(node, struct mem_key, node);

		PL_ASSERT(mvcc_find(mvcc, key->node.key) == key);
		audit_versions(mvcc, key, &bytes);
		audit_lease(mvcc, key);
		leased += key->lease != NULL;
		keys++;
	}
	PL_ASSERT(keys == mvcc->by_key.count && bytes == mvcc->bytes);
	for (size_t i = 0; i < mvcc->due.count; i++)
		leased -= PL_CONTAINER_OF(mvcc->due.node[i], struct mem_lease, due)
		                  ->key_count;
	PL_ASSERT(leased == 0 && mvcc->due.count == mvcc->leases.count);
	audit_log(mvcc);
}
