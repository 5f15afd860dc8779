/*
 * The whole view: all allocs and nodes of the store, and the locks of rules between them,
 * in one list and one watch, so that their changes come in one order. Nodes of others are
 * in the tables and the snapshot by it like own ones. Keys of own partitions are taken
 * too: what is news is known by its revision, from wherever it comes first.
 *
 * It is held while somebody wants it, since it costs what the whole store changes.
 */
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"
#include "shardsched/shard/unsched.h"

enum { VIEW_KEPT_MS = 30000 };

void view_want(struct sched *sched)
{
	sched->whole.users++;
}

void view_release(struct sched *sched)
{
	PL_ASSERT(sched->whole.users > 0);
	if (--sched->whole.users == 0)
		sched->whole.until_ms = sched->now_ms + VIEW_KEPT_MS;
}

void view_use(struct sched *sched)
{
	sched->whole.until_ms = sched->now_ms + VIEW_KEPT_MS;
}

bool whole_is_wanted(const struct sched *sched)
{
	return sched->whole.users > 0 || sched->now_ms < sched->whole.until_ms;
}

uint64_t whole_deadline_ms(const struct sched *sched)
{
	const struct whole *whole = &sched->whole;

	return whole->begun && whole->users == 0 ? whole->until_ms : UINT64_MAX;
}

/* -- how far it is ------------------------------------------------------ */

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* What came in and waits, for a call to be answered or for the spec of a pod. */
static int64_t behind(const struct call *call)
{
	int64_t rev = INT64_MAX;

	if (call->state == CALL_FREE)
		return rev;
	rev = call->doubted;
	for (const struct held *held = call->held; held != NULL; held = held->next)
		rev = least(rev, held->since);
	for (uint32_t i = 0; call->kind == CALL_READ && i < call->items; i++)
		rev = least(rev, call->item[i].pod->unknown_rev);
	return rev;
}

int64_t view_clear(const struct sched *sched)
{
	int64_t rev = INT64_MAX;

	/* Specs of pods of ours are not asked for by key: they come, sooner or later. */
	if (sched->whole.revision == 0 || load_goes_on(sched))
		return 0;
	for (unsigned i = 0; i < SCHED_CALLS; i++)
		rev = least(rev, behind(&sched->call[i]));
	PL_LIST_EACH (link, &sched->wanted)
		rev = least(rev, PL_LIST_ITEM(link, struct sched_pod, link)->unknown_rev);
	return rev > sched->whole.revision ? sched->whole.revision : rev - (rev > 0);
}

/* -- what it says ------------------------------------------------------- */

static void take_node(struct sched *sched, const struct keys_id *id,
                      const struct kv_record *record, bool gone)
{
	if (id->partition >= sched->opts.partitions)
		return;
	sched->viewing = true;
	if (!news_take(sched, id, record, gone))
		whole_miss(sched);
	sched->viewing = false;
}

/* What is garbled is told by who owns it. */
static void take(struct sched *sched, const struct kv_record *record, bool gone)
{
	struct keys_id id;

	if (keys_parse(record->key, &id, NULL) != PL_OK)
		return;
	if (id.kind == KEYS_NODE || id.kind == KEYS_ALLOC)
		take_node(sched, &id, record, gone);
	else if (id.kind == KEYS_GANG)
		(void)!records_take(sched, &id, record, gone); /* tried again */
	else if (!groups_take(sched, &id, record, gone))
		whole_miss(sched);
}

void whole_begin(struct sched *sched)
{
	struct whole *whole = &sched->whole;

	whole->begun = true;
	whole->missed = false;
	whole->revision = 0;
	whole->generation++;
	groups_view_begun(sched);
}

void whole_records(struct sched *sched, const struct kv_record *records, size_t count)
{
	for (size_t i = 0; i < count; i++)
		take(sched, &records[i], false);
}

/* It is known from before the list, which does not have it. */
static bool is_gone(const struct sched *sched, const struct sched_node *node,
                    enum fact fact, int64_t revision)
{
	return node->rev[fact] != 0 && node->rev[fact] <= revision &&
	       node->viewed[fact] != sched->whole.generation;
}

/* The second sweep may be the end of it. */
static void sweep(struct sched *sched, int64_t revision)
{
	PL_MAP_EACH (at, &sched->nodes) {
		struct sched_node *node = PL_CONTAINER_OF(at, struct sched_node, by_name);
		bool alloc = is_gone(sched, node, FACT_ALLOC, revision);

		if (is_gone(sched, node, FACT_NODE, revision))
			news_sweep_node(sched, node, FACT_NODE, revision);
		if (alloc)
			news_sweep_node(sched, node, FACT_ALLOC, revision);
	}
}

void whole_end(struct sched *sched, int64_t revision)
{
	sweep(sched, revision);
	sched->whole.known = true;
	unsched_learn(sched);
	if (!sched->whole.missed)
		sched->whole.revision = revision;
	PL_MAP_EACH (at, &sched->nodes)
		node_settle(sched, PL_CONTAINER_OF(at, struct sched_node, by_name));
	abroad_visited(sched);
}

void whole_events(struct sched *sched, const struct kv_event *events, size_t count,
                  int64_t revision)
{
	for (size_t i = 0; i < count; i++)
		take(sched, &events[i].record, events[i].is_delete);
	if (sched->whole.revision != 0 && revision > sched->whole.revision)
		sched->whole.revision = revision;
}

/* Its nodes stay, as they were, until they are listed again. */
void whole_lost(struct sched *sched)
{
	sched->whole.revision = 0;
}

void whole_miss(struct sched *sched)
{
	struct whole *whole = &sched->whole;
	struct pl_err err = {0};

	whole->revision = 0;
	tell_anew(sched, SCHED_WHOLE);
	if (whole->missed)
		return;
	whole->missed = true;
	pl_err_set(&err, PL_NOMEM, "keep what the view tells");
	tell_repair(sched, &err);
}

void whole_repair(struct sched *sched)
{
	if (sched->whole.missed)
		tell_anew(sched, SCHED_WHOLE);
}

void whole_forget(struct sched *sched)
{
	struct whole *whole = &sched->whole;

	whole->begun = whole->known = whole->missed = false;
	whole->revision = 0;
	for (uint32_t i = 0; i < sched->opts.partitions; i++) {
		struct sched_partition *part = &sched->partition[i];

		if (part->owned)
			abroad_settle(sched, i);
		else if (!part->visit.known)
			abroad_forget(sched, i);
	}
}
