/* A copy of the state: all versions, shared with the state, and the leases. */
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/memkv/impl.h"

struct lease_copy {
	int64_t id;
	int64_t ttl_s;
};

struct memkv_snapshot {
	int64_t revision;
	int64_t compacted;
	struct mem_version **version; /* by key, then oldest first; held */
	size_t version_count;
	struct lease_copy *lease;
	size_t lease_count;
};

void memkv_snapshot_free(struct memkv_snapshot *snapshot)
{
	if (snapshot == NULL)
		return;
	for (size_t i = 0; i < snapshot->version_count; i++)
		mem_version_unref(snapshot->version[i]);
	free((void *)snapshot->version);
	free(snapshot->lease);
	free(snapshot);
}

static struct mem_key *next_key(struct pl_btree_cursor *cursor)
{
	struct pl_btree_node *node = pl_btree_next(cursor);

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct mem_key, node);
}

static size_t count_versions(const struct mvcc *mvcc)
{
	struct pl_btree_cursor cursor = pl_btree_seek(&mvcc->keys, pl_span(NULL, 0));
	const struct mem_key *key;
	size_t count = 0;

	while ((key = next_key(&cursor)) != NULL)
		count += key->count;
	return count;
}

static void copy_versions(const struct mvcc *mvcc, struct memkv_snapshot *to)
{
	struct pl_btree_cursor cursor = pl_btree_seek(&mvcc->keys, pl_span(NULL, 0));
	struct mem_key *key;

	while ((key = next_key(&cursor)) != NULL)
		for (uint32_t i = 0; i < key->count; i++)
			to->version[to->version_count++] =
				mem_version_ref(mem_versions(key)[i]);
}

static int lease_order(const void *a, const void *b)
{
	const struct mem_lease *const *x = a, *const *y = b;

	return (*x)->seq < (*y)->seq ? -1 : (*x)->seq > (*y)->seq;
}

static void copy_leases(const struct mvcc *mvcc, const struct mem_lease **sorted,
                        struct memkv_snapshot *to)
{
	size_t count = mvcc->due.count;

	for (size_t i = 0; i < count; i++)
		sorted[i] = PL_CONTAINER_OF(mvcc->due.node[i], struct mem_lease, due);
	if (count > 1)
		qsort((void *)sorted, count, sizeof(struct mem_lease *), lease_order);
	for (size_t i = 0; i < count; i++)
		to->lease[to->lease_count++] = (struct lease_copy){
			.id = sorted[i]->id, .ttl_s = sorted[i]->ttl_s};
}

enum pl_code memkv_save(const struct memkv *mem, struct memkv_snapshot **out,
                        struct pl_err *err)
{
	const struct mvcc *mvcc = mem->mvcc;
	size_t versions = count_versions(mvcc), leases = mvcc->due.count;
	struct memkv_snapshot *to = pl_calloc(1, sizeof *to);
	const struct mem_lease **sorted =
		pl_malloc((leases + 1) * sizeof(struct mem_lease *));

	if (to != NULL) {
		to->version = pl_malloc((versions + 1) * sizeof(struct mem_version *));
		to->lease = pl_malloc((leases + 1) * sizeof *to->lease);
	}
	if (to == NULL || to->version == NULL || to->lease == NULL || sorted == NULL) {
		free((void *)sorted);
		memkv_snapshot_free(to);
		return pl_err_set(err, PL_NOMEM, "snapshot");
	}
	to->revision = mvcc->revision;
	to->compacted = mvcc->compacted;
	copy_versions(mvcc, to);
	copy_leases(mvcc, sorted, to);
	free((void *)sorted);
	*out = to;
	return PL_OK;
}

static enum pl_code restore_leases(struct memkv *mem, struct mvcc *mvcc,
                                   const struct memkv_snapshot *from)
{
	for (size_t i = 0; i < from->lease_count; i++) {
		struct mem_lease *lease;
		uint64_t expiry;
		enum pl_code code = mem_lease_add(mvcc, from->lease[i].id,
		                                  from->lease[i].ttl_s, &lease);

		if (code != PL_OK)
			return code;
		expiry = mem_now(mem) + (uint64_t)lease->ttl_s * 1000;
		mem_lease_set_due(mvcc, lease, expiry,
		                  expiry + mem->opts.expiry_delay_ms);
	}
	return PL_OK;
}

static int version_order(const void *a, const void *b)
{
	const struct mem_version *const *x = a, *const *y = b;

	if ((*x)->mod_revision != (*y)->mod_revision)
		return (*x)->mod_revision < (*y)->mod_revision ? -1 : 1;
	return (*x)->sub < (*y)->sub ? -1 : (*x)->sub > (*y)->sub;
}

/* version has all versions of the new state; those that the log needs are sorted by
 * revision. */
static enum pl_code restore_log(struct mvcc *mvcc, struct mem_version **version,
                                size_t count)
{
	size_t at = 0;

	if (count > 1)
		qsort((void *)version, count, sizeof(struct mem_version *),
		      version_order);
	while (at < count && version[at]->mod_revision < mvcc->compacted)
		at++;
	if (at < count)
		mvcc->log.first = version[at]->mod_revision;
	else
		mvcc->log.first = mvcc->revision + 1;
	while (at < count) {
		size_t end = at;
		enum pl_code code;

		while (end < count &&
		       version[end]->mod_revision == version[at]->mod_revision)
			end++;
		code = revlog_prepare(&mvcc->log, &version[at], (uint32_t)(end - at));
		if (code != PL_OK)
			return code;
		revlog_add(&mvcc->log);
		at = end;
	}
	PL_ASSERT(mvcc->log.first + (int64_t)mvcc->log.count == mvcc->revision + 1);
	return PL_OK;
}

/* copies: room for all versions */
static enum pl_code restore_into(struct memkv *mem, struct mvcc *mvcc,
                                 const struct memkv_snapshot *from,
                                 struct mem_version **copies)
{
	enum pl_code code = restore_leases(mem, mvcc, from);

	for (size_t i = 0; i < from->version_count && code == PL_OK; i++)
		code = mvcc_load(mvcc, from->version[i], &copies[i]);
	if (code != PL_OK)
		return code;
	mvcc->revision = from->revision;
	mvcc->compacted = from->compacted;
	return restore_log(mvcc, copies, from->version_count);
}

enum pl_code memkv_restore(struct memkv *mem, const struct memkv_snapshot *snapshot,
                           struct pl_err *err)
{
	struct mem_version **copies =
		pl_malloc((snapshot->version_count + 1) * sizeof(struct mem_version *));
	struct mvcc *mvcc = pl_malloc(sizeof *mvcc);
	enum pl_code code = PL_NOMEM;

	if (mvcc != NULL)
		mvcc_init(mvcc);
	if (copies != NULL && mvcc != NULL)
		code = restore_into(mem, mvcc, snapshot, copies);
	free((void *)copies);
	if (code == PL_OK) {
		struct mvcc *old = mem->mvcc;

		mem->mvcc = mvcc;
		mem->raft_term++;
		mvcc = old;
	}
	if (mvcc != NULL)
		mvcc_done(mvcc);
	free(mvcc);
	if (code != PL_OK)
		return pl_err_set(err, code, "restore");
	if (mem->wake != NULL)
		mem->wake(mem->wake_ctx); /* leases are due at other times now */
	return PL_OK;
}
