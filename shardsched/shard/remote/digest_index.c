/*
 * The digests of other shards (records/digest.h), by partition.
 */
#include <stdlib.h>

#include "shardsched/shard/inner.h"
#include "shardsched/shard/report.h"
#include "store/base/alloc.h"

enum { CHUNK = 4096 };

struct remote_digest {
	struct pl_list link;
	struct pl_arena arena;
	struct digest digest;
	uint8_t generation;
	int64_t revision;
	size_t len;
	char shard[];
};

int64_t digest_entry_revision(const struct digest_entry *digest_entry)
{
	return digest_entry->from == NULL ? 0 : digest_entry->from->revision;
}

static struct remote_digest *find_digest(const struct sched *sched, struct pl_span shard)
{
	PL_LIST_EACH (link, &sched->digests.remotes) {
		struct remote_digest *remote =
			PL_LIST_ITEM(link, struct remote_digest, link);

		if (pl_span_eq(pl_span(remote->shard, remote->len), shard))
			return remote;
	}
	return NULL;
}

static void emit_entry(struct sched *sched, uint32_t partition)
{
	if (!sched->partition[partition].owned)
		queue_event(sched->queue, &(struct queue_event){.kind = QUEUE_EV_DIGEST,
		                                                .object = partition});
}

static void set_entry(struct sched *sched, uint32_t partition,
                      const struct remote_digest *remote,
                      const struct digest_partition *is)
{
	struct digest_entry *digest_entry = &sched->partition[partition].digest_entry;
	uint64_t hash = is == NULL ? 0 : digest_partition_hash(is);

	digest_entry->from = remote;
	digest_entry->is = is;
	if (hash == digest_entry->hash)
		return;
	digest_entry->hash = hash;
	digest_entry->number++;
	if (is != NULL)
		emit_entry(sched, partition);
}

/* The nodes that a search saw there may have been forgotten, and may have changed since without a
 * word from the owner, whose digest has said everything already. */
void digest_entry_recheck(struct sched *sched, uint32_t partition)
{
	struct digest_entry *digest_entry = &sched->partition[partition].digest_entry;

	if (digest_entry->is == NULL)
		return;
	digest_entry->number++;
	emit_entry(sched, partition);
}

static const struct digest_partition *part_of(const struct remote_digest *remote,
                                              uint32_t partition)
{
	for (uint32_t i = 0; remote != NULL && i < remote->digest.parts; i++)
		if (remote->digest.part[i].partition == partition)
			return &remote->digest.part[i];
	return NULL;
}

/* The last writer counts among the other shards that say something of the partition. */
static void set_entry_of_others(struct sched *sched, uint32_t partition)
{
	const struct remote_digest *last = NULL;

	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the dropped are in no list */
	PL_LIST_EACH (link, &sched->digests.remotes) {
		const struct remote_digest *remote =
			PL_LIST_ITEM(link, struct remote_digest, link);

		if (part_of(remote, partition) != NULL &&
		    (last == NULL || remote->revision > last->revision))
			last = remote;
	}
	set_entry(sched, partition, last, part_of(last, partition));
}

static void drop_digest(struct sched *sched, struct remote_digest *remote,
                        const struct remote_digest *next)
{
	if (remote == NULL)
		return;
	pl_list_del(&remote->link);
	for (uint32_t i = 0; i < remote->digest.parts; i++) {
		uint32_t p = remote->digest.part[i].partition;

		if (sched->partition[p].digest_entry.from == remote &&
		    part_of(next, p) == NULL)
			set_entry_of_others(sched, p);
	}
	sched->digests.published--;
	pl_arena_done(&remote->arena);
	free(remote);
}

static struct remote_digest *parse_digest(struct sched *sched, const struct keys_id *id,
                                          const struct kv_record *record)
{
	struct remote_digest *remote = pl_calloc(1, sizeof *remote + id->name.len);
	struct pl_err err = {0};
	enum pl_code code;

	if (remote == NULL)
		return NULL;
	pl_arena_init(&remote->arena, CHUNK, 0);
	memcpy(remote->shard, id->name.at, id->name.len);
	remote->len = id->name.len;
	remote->revision = record->mod_revision;
	code = digest_parse(record->value, &remote->arena, &remote->digest, &err);
	while (remote->digest.parts > 0 &&
	       remote->digest.part[remote->digest.parts - 1].partition >=
	               sched->opts.partitions)
		remote->digest.parts--; /* parts are in the order of partitions */
	if (code == PL_OK)
		return remote;
	if (code != PL_NOMEM)
		report_malformed(sched, id, &err);
	pl_arena_done(&remote->arena);
	free(remote);
	return NULL;
}

/* When two shards say something of a partition the later writer counts: the partition
 * was handed over. */
static void apply_digest(struct sched *sched, const struct keys_id *id,
                         const struct kv_record *record)
{
	struct remote_digest *old = find_digest(sched, id->name);
	struct remote_digest *remote;

	if (old != NULL && record->mod_revision <= old->revision) {
		old->generation = sched->digests.generation;
		return;
	}
	remote = parse_digest(sched, id, record);
	if (remote != NULL) {
		remote->generation = sched->digests.generation;
		pl_list_add_tail(&sched->digests.remotes, &remote->link);
		sched->digests.published++;
	}
	for (uint32_t i = 0; remote != NULL && i < remote->digest.parts; i++) {
		uint32_t p = remote->digest.part[i].partition;
		const struct remote_digest *from = sched->partition[p].digest_entry.from;

		if (from == NULL || from == old || from->revision < remote->revision)
			set_entry(sched, p, remote, &remote->digest.part[i]);
	}
	drop_digest(sched, old, remote);
}

/* A janitor took the shard for gone, or an operator deleted the key. */
static void own_is_gone(struct sched *sched)
{
	sched->digests.revision = 0;
	own_digest_unwritten(sched);
}

static void apply_own(struct sched *sched, const struct kv_record *record, bool gone)
{
	sched->digests.own_generation = sched->digests.generation;
	if (gone)
		own_is_gone(sched);
	else
		sched->digests.revision = record->mod_revision;
}

static void apply_record(struct sched *sched, const struct kv_record *record, bool gone)
{
	struct keys_id id;

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != KEYS_DIGEST)
		return;
	if (pl_span_eq(id.name, pl_span_str(sched->shard)))
		apply_own(sched, record, gone);
	else if (gone)
		drop_digest(sched, find_digest(sched, id.name), NULL);
	else
		apply_digest(sched, &id, record);
}

static void update_rank(struct sched *sched)
{
	struct pl_span own = pl_span_str(sched->shard);

	sched->digests.rank = 0;
	PL_LIST_EACH (link, &sched->digests.remotes) {
		const struct remote_digest *remote =
			PL_LIST_ITEM(link, struct remote_digest, link);

		sched->digests.rank +=
			pl_span_cmp(pl_span(remote->shard, remote->len), own) < 0;
	}
}

void digest_index_begin(struct sched *sched)
{
	sched->digests.generation++;
}

void digest_index_records(struct sched *sched, const struct kv_record *records,
                          size_t count)
{
	for (size_t i = 0; i < count; i++)
		apply_record(sched, &records[i], false);
}

void digest_index_end(struct sched *sched)
{
	PL_LIST_EACH (link, &sched->digests.remotes) {
		struct remote_digest *remote =
			PL_LIST_ITEM(link, struct remote_digest, link);

		if (remote->generation != sched->digests.generation)
			drop_digest(sched, remote, NULL);
	}
	if (sched->digests.own_generation != sched->digests.generation)
		own_is_gone(sched);
	if (!sched->digests.listed)
		sched->digests.listed_ms = sched->now_ms;
	sched->digests.listed = true;
	update_rank(sched);
	remote_wake_listed(sched);
}

void digest_index_events(struct sched *sched, const struct kv_event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		apply_record(sched, &events[i].record, events[i].is_delete);
	update_rank(sched);
	remote_wake_listed(sched);
}

void digest_index_forget(struct sched *sched)
{
	PL_LIST_EACH (link, &sched->digests.remotes)
		drop_digest(sched, PL_LIST_ITEM(link, struct remote_digest, link), NULL);
	own_is_gone(sched);
	sched->digests.listed = false;
}
