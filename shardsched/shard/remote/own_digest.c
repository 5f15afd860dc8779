/*
 * The own digest (records/digest.h), for other shards. Parts are made again where nodes
 * changed; the digest is written when it says something else than before, at once if the
 * difference is large, after a while if it is small. All shards together write at most a
 * hundred a second.
 */
#include "shardsched/shard/inner.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/txn/inflight.h"

enum {
	WRITE_MS = 1000,      /* between two writes, at least */
	WRITE_SHARD_MS = 10,  /* and for each shard that there is */
	LITTLE_MS = 30000,    /* until a small difference is written */
	NODES_AT_ONCE = 8192, /* that one turn looks at */
	MUCH_PARTS = 8,       /* a large difference: more than this part */
	CHUNK = 4096,
};

static bool differs_much(const struct digest_summary *a, const struct digest_summary *b)
{
	if (a->kind != b->kind || a->nodes != b->nodes)
		return true;
	for (unsigned n = 0; n < 2; n++)
		for (unsigned i = 0; i < DIGEST_SUMMARY_AMOUNTS; i++) {
			int64_t was = a->amount[n][i], is = b->amount[n][i];
			int64_t by = was > is ? was - is : is - was;

			if (by > was / MUCH_PARTS)
				return true;
		}
	return false;
}

static void dirty_slot(void *ctx, uint32_t slot)
{
	const struct sched *sched = ctx;
	const struct sched_node *node =
		slot < sched->by_slot_cap ? sched->by_slot[slot] : NULL;

	if (node != NULL)
		sched->partition[node->partition].own.dirty = true;
}

void own_digest_dirty(struct sched *sched, uint32_t partition)
{
	sched->partition[partition].own.dirty = true;
	sched->digests.pending = true;
}

static bool is_published(const struct sched *sched, uint32_t i)
{
	return sched->partition[i].owned && sched->partition[i].open &&
	       !sched->partition[i].quiet;
}

/* Makes a bounded number of parts, in turn. */
static void remake_parts(struct sched *sched)
{
	struct digests *digests = &sched->digests;
	uint32_t nodes = 0;

	if (!snapshot_changed_since(&sched->snapshot, digests->changes, dirty_slot,
	                            sched))
		for (uint32_t i = 0; i < sched->opts.partitions; i++)
			own_digest_dirty(sched, i);
	digests->changes = sched->snapshot.changes;
	for (uint32_t n = 0; n < sched->opts.partitions && nodes < NODES_AT_ONCE; n++) {
		uint32_t i = digests->next = (digests->next + 1) % sched->opts.partitions;

		if (sched->partition[i].own.dirty && is_published(sched, i))
			nodes += digest_make(sched, i);
	}
}

static bool is_write_due(const struct sched *sched)
{
	bool later = sched->now_ms >= sched->digests.written_ms + LITTLE_MS;

	for (uint32_t i = 0; i < sched->opts.partitions; i++) {
		const struct own_digest *own = &sched->partition[i].own;
		bool published = is_published(sched, i) && own->made;

		if (published != own->written ||
		    (published && differs_much(&own->published, &own->now)) ||
		    (published && later && own->published.hash != own->now.hash))
			return true;
	}
	return false;
}

static enum pl_code print_digest(struct sched *sched, struct pl_err *err)
{
	struct digest digest = {0};
	struct digest_partition *part =
		pl_arena_zalloc(&sched->arena, sched->opts.partitions, sizeof *part);

	if (part == NULL)
		return pl_err_set(err, PL_NOMEM, "write a digest");
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		if (is_published(sched, i) && sched->partition[i].own.made)
			part[digest.parts++] = sched->partition[i].own.part;
	digest.part = part;
	return digest_fit(&sched->arena, &digest, &sched->buf, err);
}

/* Other shards can not know what is here, and trying again soon does not help. */
static void on_too_large(struct sched *sched, const struct pl_err *err)
{
	report_trouble(sched, err);
	sched->digests.due_ms = sched->now_ms + LITTLE_MS;
}

static bool send_digest(struct sched *sched)
{
	const struct keys_id id = {.kind = KEYS_DIGEST,
	                           .name = pl_span_str(sched->shard)};
	struct shard_txn *txn = txn_begin(sched, TXN_DIGEST);
	struct pl_span value;
	struct keys_text key;
	struct pl_err err = {0};

	if (txn == NULL)
		return false;
	pl_arena_reset(&sched->arena);
	if (keys_build(&id, &key, NULL) != PL_OK || print_digest(sched, &err) != PL_OK)
		goto fail;
	value = pl_arena_dup(&txn->arena, pl_buf_span(&sched->buf));
	if (value.at == NULL ||
	    !builder_put(&txn->builder, keys_span(&key), sched->digests.revision, value))
		goto fail;
	txn_post(sched, txn);
	return true;
fail:
	if (err.code == PL_LIMIT)
		on_too_large(sched, &err);
	txn_end(sched, txn);
	return false;
}

static void mark_written(struct sched *sched)
{
	sched->digests.written_ms = sched->now_ms;
	for (uint32_t i = 0; i < sched->opts.partitions; i++) {
		struct own_digest *own = &sched->partition[i].own;

		own->written = is_published(sched, i) && own->made;
		own->published = own->now;
	}
}

/* Something differs from what was written, or was not looked at yet. */
static bool has_pending(const struct sched *sched)
{
	for (uint32_t i = 0; i < sched->opts.partitions; i++) {
		const struct own_digest *own = &sched->partition[i].own;
		bool published = is_published(sched, i);

		if (published ? own->dirty || !own->written ||
		                        own->published.hash != own->now.hash
		              : own->written)
			return true;
	}
	return false;
}

void own_digest_run(struct sched *sched)
{
	struct digests *digests = &sched->digests;
	uint64_t pace_ms = WRITE_SHARD_MS * (uint64_t)digests->shards;

	if (!digests->listed || sched->now_ms < digests->due_ms ||
	    (!digests->pending && digests->changes == sched->snapshot.changes))
		return;
	digests->due_ms = sched->now_ms + (pace_ms > WRITE_MS ? pace_ms : WRITE_MS);
	remake_parts(sched);
	if (is_write_due(sched) && send_digest(sched))
		mark_written(sched);
	digests->pending = has_pending(sched);
}

uint64_t own_digest_deadline_ms(const struct sched *sched)
{
	const struct digests *digests = &sched->digests;

	if (!digests->listed ||
	    (!digests->pending && digests->changes == sched->snapshot.changes))
		return UINT64_MAX;
	return digests->due_ms;
}

void own_digest_unwritten(struct sched *sched)
{
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		sched->partition[i].own.written = false;
	sched->digests.pending = true;
}

/* After any outcome the next write compares the revision of the stored digest. */
void own_digest_answer(struct sched *sched, struct shard_txn *txn,
                       const struct kv_result *result)
{
	struct digests *digests = &sched->digests;

	if (result != NULL && result->txn.succeeded) {
		digests->revision = result->header.revision;
	} else {
		own_digest_unwritten(sched);
		if (result != NULL && result->txn.count > 0)
			digests->revision = result->txn.results[0].get.count == 0
			                            ? 0
			                            : result->txn.results[0]
			                                      .get.records[0]
			                                      .mod_revision;
	}
	txn_end(sched, txn);
}

void digests_init(struct sched *sched)
{
	sched->digests.shards = 1;
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		pl_arena_init(&sched->partition[i].own.arena, CHUNK, 0);
}

void digests_done(struct sched *sched)
{
	if (sched->partition == NULL)
		return;
	digest_index_forget(sched);
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		pl_arena_done(&sched->partition[i].own.arena);
}
