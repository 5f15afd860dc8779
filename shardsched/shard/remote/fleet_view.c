/*
 * The fleet view (fleet_view.h). It brings remote nodes into the cache and the snapshot
 * like local ones. Keys of own partitions are applied as well: whichever watch brings a
 * revision first counts.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/pending_status.h"
#include "shardsched/shard/report.h"

enum { VIEW_KEPT_MS = 30000 };

#define BIT(x) (1u << (x))

static const unsigned states_after[VIEW_STATES] = {
	[VIEW_OFF] = BIT(VIEW_OFF) | BIT(VIEW_LISTING),
	[VIEW_LISTING] = BIT(VIEW_OFF) | BIT(VIEW_LISTING) | BIT(VIEW_CURRENT) |
                         BIT(VIEW_OUTDATED) | BIT(VIEW_INCOMPLETE),
	[VIEW_CURRENT] = BIT(VIEW_OFF) | BIT(VIEW_LISTING) | BIT(VIEW_OUTDATED) |
                         BIT(VIEW_INCOMPLETE),
	[VIEW_OUTDATED] = BIT(VIEW_OFF) | BIT(VIEW_LISTING) | BIT(VIEW_INCOMPLETE),
	[VIEW_INCOMPLETE] = BIT(VIEW_OFF) | BIT(VIEW_LISTING) | BIT(VIEW_INCOMPLETE),
};

/* revision: of a VIEW_CURRENT; else 0. */
static void set_state(struct fleet_view *view, enum fleet_view_state state,
                      int64_t revision)
{
	PL_ASSERT((states_after[view->state] & BIT(state)) != 0);
	PL_ASSERT((state == VIEW_CURRENT) == (revision != 0));
	view->state = state;
	view->revision = revision;
}

void fleet_view_acquire(struct sched *sched)
{
	sched->fleet_view.users++;
}

void fleet_view_release(struct sched *sched)
{
	PL_ASSERT(sched->fleet_view.users > 0);
	if (--sched->fleet_view.users == 0)
		sched->fleet_view.until_ms = sched->now_ms + VIEW_KEPT_MS;
}

void fleet_view_touch(struct sched *sched)
{
	sched->fleet_view.until_ms = sched->now_ms + VIEW_KEPT_MS;
}

bool fleet_view_is_wanted(const struct sched *sched)
{
	return sched->fleet_view.users > 0 || sched->now_ms < sched->fleet_view.until_ms;
}

uint64_t fleet_view_deadline_ms(const struct sched *sched)
{
	const struct fleet_view *fleet_view = &sched->fleet_view;

	return fleet_view_is_on(fleet_view) && fleet_view->users == 0
	               ? fleet_view->until_ms
	               : UINT64_MAX;
}

/* -- progress ---------------------------------------------------------------------- */

static int64_t least_rev(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The oldest revision of what has arrived but waits, for an answer or for a spec. */
static int64_t oldest_pending_rev(const struct shard_txn *txn)
{
	int64_t rev = INT64_MAX;

	if (!txn_is_posted(txn))
		return rev;
	rev = txn->unconfirmed;
	for (const struct deferred_event *deferred = txn->deferred; deferred != NULL;
	     deferred = deferred->next)
		rev = least_rev(rev, deferred->since);
	for (uint32_t i = 0; txn->kind == TXN_READ && i < txn->entries; i++)
		rev = least_rev(rev, txn->entry[i].pod->unknown_rev);
	return rev;
}

int64_t fleet_view_applied_rev(const struct sched *sched)
{
	int64_t rev = INT64_MAX;

	/* Specs of own pods are not read by key: their list brings them. */
	if (sched->fleet_view.revision == 0 || load_is_running(sched))
		return 0;
	for (unsigned i = 0; i < SCHED_TXNS; i++)
		rev = least_rev(rev, oldest_pending_rev(&sched->txn[i]));
	PL_LIST_EACH (link, &sched->wanted)
		rev = least_rev(rev,
		                PL_LIST_ITEM(link, struct sched_pod, link)->unknown_rev);
	return rev > sched->fleet_view.revision ? sched->fleet_view.revision
	                                        : rev - (rev > 0);
}

/* -- records ----------------------------------------------------------------------- */

static void apply_node(struct sched *sched, const struct keys_id *id,
                       const struct kv_record *record, bool gone)
{
	if (id->partition >= sched->opts.partitions)
		return;
	sched->applying_view = true;
	if (!cache_apply(sched, id, record, gone))
		fleet_view_incomplete(sched);
	sched->applying_view = false;
}

/* Malformed keys are passed over: their owners report them. */
static void apply_record(struct sched *sched, const struct kv_record *record, bool gone)
{
	struct keys_id id;

	if (keys_parse(record->key, &id, NULL) != PL_OK)
		return;
	if (id.kind == KEYS_NODE || id.kind == KEYS_ALLOC)
		apply_node(sched, &id, record, gone);
	else if (id.kind == KEYS_GANG)
		/* Failure is repaired by the view of gangs */
		(void)!gang_records_apply(sched, &id, record, gone);
	else if (!rules_apply(sched, &id, record, gone))
		fleet_view_incomplete(sched);
}

void fleet_view_begin(struct sched *sched)
{
	set_state(&sched->fleet_view, VIEW_LISTING, 0);
	sched->fleet_view.generation++;
	rules_view_begun(sched);
}

void fleet_view_records(struct sched *sched, const struct kv_record *records,
                        size_t count)
{
	for (size_t i = 0; i < count; i++)
		apply_record(sched, &records[i], false);
}

/* The fact is older than the list, which did not bring it. */
static bool is_fact_gone(const struct sched *sched, const struct sched_node *node,
                         enum fact fact, int64_t revision)
{
	return node->rev[fact] != 0 && node->rev[fact] <= revision &&
	       node->viewed[fact] != sched->fleet_view.generation;
}

/* Both facts are judged first: the first sweep may free the node. */
static void sweep_nodes(struct sched *sched, int64_t revision)
{
	PL_MAP_EACH (at, &sched->nodes) {
		struct sched_node *node = PL_CONTAINER_OF(at, struct sched_node, by_name);
		bool alloc = is_fact_gone(sched, node, FACT_ALLOC, revision);

		if (is_fact_gone(sched, node, FACT_NODE, revision))
			cache_sweep_node(sched, node, FACT_NODE, revision);
		if (alloc)
			cache_sweep_node(sched, node, FACT_ALLOC, revision);
	}
}

void fleet_view_end(struct sched *sched, int64_t revision)
{
	sweep_nodes(sched, revision);
	sched->fleet_view.known = true;
	pending_status_recheck(sched);
	if (sched->fleet_view.state == VIEW_LISTING)
		set_state(&sched->fleet_view, VIEW_CURRENT, revision);
	PL_MAP_EACH (at, &sched->nodes)
		node_reconcile(sched, PL_CONTAINER_OF(at, struct sched_node, by_name));
	remote_wake_listed(sched);
}

void fleet_view_events(struct sched *sched, const struct kv_event *events, size_t count,
                       int64_t revision)
{
	for (size_t i = 0; i < count; i++)
		apply_record(sched, &events[i].record, events[i].is_delete);
	if (sched->fleet_view.state == VIEW_CURRENT &&
	    revision > sched->fleet_view.revision)
		sched->fleet_view.revision = revision;
}

/* The nodes stay as they were until they are listed again. */
void fleet_view_lost(struct sched *sched)
{
	struct fleet_view *view = &sched->fleet_view;

	if (view->state == VIEW_LISTING || view->state == VIEW_CURRENT)
		set_state(view, VIEW_OUTDATED, 0);
}

void fleet_view_incomplete(struct sched *sched)
{
	struct fleet_view *view = &sched->fleet_view;
	struct pl_err err = {0};

	report_relist_view(sched, SCHED_FLEET);
	if (view->state == VIEW_OFF || view->state == VIEW_INCOMPLETE)
		return;
	set_state(view, VIEW_INCOMPLETE, 0);
	pl_err_set(&err, PL_NOMEM, "keep what the fleet view brings");
	report_repair(sched, &err);
}

void fleet_view_repair(struct sched *sched)
{
	if (sched->fleet_view.state == VIEW_INCOMPLETE)
		report_relist_view(sched, SCHED_FLEET);
}

void fleet_view_forget(struct sched *sched)
{
	set_state(&sched->fleet_view, VIEW_OFF, 0);
	sched->fleet_view.known = false;
	for (uint32_t i = 0; i < sched->opts.partitions; i++) {
		struct sched_partition *part = &sched->partition[i];

		if (part->owned)
			remote_reconcile(sched, i);
		else if (!remote_list_is_known(&part->remote_list))
			remote_forget(sched, i);
	}
}
