/*
 * Digests of others (digest.h): what their partitions have to offer, as far as they say.
 */
#include <stdlib.h>

#include "shardsched/shard/inner.h"
#include "shardsched/shard/tell.h"
#include "store/base/alloc.h"

enum { CHUNK = 4096 };

struct digest_of {
	struct pl_list link;
	struct pl_arena arena;
	struct digest digest;
	uint8_t generation;
	int64_t revision;
	size_t len;
	char shard[];
};

int64_t offer_revision(const struct offer *offer)
{
	return offer->from == NULL ? 0 : offer->from->revision;
}

static struct digest_of *find(const struct sched *sched, struct pl_span shard)
{
	PL_LIST_EACH (link, &sched->digests.of) {
		struct digest_of *of = PL_LIST_ITEM(link, struct digest_of, link);

		if (pl_span_eq(pl_span(of->shard, of->len), shard))
			return of;
	}
	return NULL;
}

static void tell_offer(struct sched *sched, uint32_t partition)
{
	if (!sched->partition[partition].owned)
		queue_event(sched->queue, &(struct queue_event){.kind = QUEUE_EV_DIGEST,
		                                                .object = partition});
}

static void offer_set(struct sched *sched, uint32_t partition, const struct digest_of *of,
                      const struct digest_part *is)
{
	struct offer *offer = &sched->partition[partition].offer;
	uint64_t hash = is == NULL ? 0 : digest_part_hash(is);

	offer->from = of;
	offer->is = is;
	if (hash == offer->hash)
		return;
	offer->hash = hash;
	offer->number++;
	if (is != NULL)
		tell_offer(sched, partition);
}

/* What was seen there, and nobody remembers, may be otherwise by now, with no word from
 * its owner, who has told all that happened. */
void offer_doubt(struct sched *sched, uint32_t partition)
{
	struct offer *offer = &sched->partition[partition].offer;

	if (offer->is == NULL)
		return;
	offer->number++;
	tell_offer(sched, partition);
}

static const struct digest_part *part_of(const struct digest_of *of, uint32_t partition)
{
	for (uint32_t i = 0; of != NULL && i < of->digest.parts; i++)
		if (of->digest.part[i].partition == partition)
			return &of->digest.part[i];
	return NULL;
}

/* Who else tells of it, last. */
static void offer_of_others(struct sched *sched, uint32_t partition)
{
	const struct digest_of *last = NULL;

	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the dropped are in no list */
	PL_LIST_EACH (link, &sched->digests.of) {
		const struct digest_of *of = PL_LIST_ITEM(link, struct digest_of, link);

		if (part_of(of, partition) != NULL &&
		    (last == NULL || of->revision > last->revision))
			last = of;
	}
	offer_set(sched, partition, last, part_of(last, partition));
}

static void drop(struct sched *sched, struct digest_of *of, const struct digest_of *next)
{
	if (of == NULL)
		return;
	pl_list_del(&of->link);
	for (uint32_t i = 0; i < of->digest.parts; i++) {
		uint32_t p = of->digest.part[i].partition;

		if (sched->partition[p].offer.from == of && part_of(next, p) == NULL)
			offer_of_others(sched, p);
	}
	sched->digests.told--;
	pl_arena_done(&of->arena);
	free(of);
}

static struct digest_of *make(struct sched *sched, const struct keys_id *id,
                              const struct kv_record *record)
{
	struct digest_of *of = pl_calloc(1, sizeof *of + id->name.len);
	struct pl_err err = {0};
	enum pl_code code;

	if (of == NULL)
		return NULL;
	pl_arena_init(&of->arena, CHUNK, 0);
	memcpy(of->shard, id->name.at, id->name.len);
	of->len = id->name.len;
	of->revision = record->mod_revision;
	code = digest_parse(record->value, &of->arena, &of->digest, &err);
	while (of->digest.parts > 0 &&
	       of->digest.part[of->digest.parts - 1].partition >= sched->opts.partitions)
		of->digest.parts--; /* in their order */
	if (code == PL_OK)
		return of;
	if (code != PL_NOMEM)
		tell_garbled(sched, id, &err);
	pl_arena_done(&of->arena);
	free(of);
	return NULL;
}

/* Of a partition that two tell of, the later one counts: it was handed over. */
static void take(struct sched *sched, const struct keys_id *id,
                 const struct kv_record *record)
{
	struct digest_of *old = find(sched, id->name);
	struct digest_of *of;

	if (old != NULL && record->mod_revision <= old->revision) {
		old->generation = sched->digests.generation;
		return;
	}
	of = make(sched, id, record);
	if (of != NULL) {
		of->generation = sched->digests.generation;
		pl_list_add_tail(&sched->digests.of, &of->link);
		sched->digests.told++;
	}
	for (uint32_t i = 0; of != NULL && i < of->digest.parts; i++) {
		uint32_t p = of->digest.part[i].partition;
		const struct digest_of *from = sched->partition[p].offer.from;

		if (from == NULL || from == old || from->revision < of->revision)
			offer_set(sched, p, of, &of->digest.part[i]);
	}
	drop(sched, old, of);
}

/* A janitor took its shard for gone, or somebody did it by hand. */
static void own_is_gone(struct sched *sched)
{
	sched->digests.revision = 0;
	digests_unwritten(sched);
}

static void take_own(struct sched *sched, const struct kv_record *record, bool gone)
{
	sched->digests.own_generation = sched->digests.generation;
	if (gone)
		own_is_gone(sched);
	else
		sched->digests.revision = record->mod_revision;
}

static void take_record(struct sched *sched, const struct kv_record *record, bool gone)
{
	struct keys_id id;

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != KEYS_DIGEST)
		return;
	if (pl_span_eq(id.name, pl_span_str(sched->shard)))
		take_own(sched, record, gone);
	else if (gone)
		drop(sched, find(sched, id.name), NULL);
	else
		take(sched, &id, record);
}

static void find_rank(struct sched *sched)
{
	struct pl_span own = pl_span_str(sched->shard);

	sched->digests.rank = 0;
	PL_LIST_EACH (link, &sched->digests.of) {
		const struct digest_of *of = PL_LIST_ITEM(link, struct digest_of, link);

		sched->digests.rank += pl_span_cmp(pl_span(of->shard, of->len), own) < 0;
	}
}

void digests_begin(struct sched *sched)
{
	sched->digests.generation++;
}

void digests_records(struct sched *sched, const struct kv_record *records, size_t count)
{
	for (size_t i = 0; i < count; i++)
		take_record(sched, &records[i], false);
}

void digests_end(struct sched *sched)
{
	PL_LIST_EACH (link, &sched->digests.of) {
		struct digest_of *of = PL_LIST_ITEM(link, struct digest_of, link);

		if (of->generation != sched->digests.generation)
			drop(sched, of, NULL);
	}
	if (sched->digests.own_generation != sched->digests.generation)
		own_is_gone(sched);
	if (!sched->digests.listed)
		sched->digests.listed_ms = sched->now_ms;
	sched->digests.listed = true;
	find_rank(sched);
	abroad_visited(sched);
}

void digests_events(struct sched *sched, const struct kv_event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		take_record(sched, &events[i].record, events[i].is_delete);
	find_rank(sched);
	abroad_visited(sched);
}

void digests_forget(struct sched *sched)
{
	PL_LIST_EACH (link, &sched->digests.of)
		drop(sched, PL_LIST_ITEM(link, struct digest_of, link), NULL);
	own_is_gone(sched);
	sched->digests.listed = false;
}
