/*
 * Lists and events of owned partitions. A partition opens when all its parts were listed
 * once and every record was kept, since a record that is not known would be taken for
 * deleted. From then on every event takes effect at once.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_records.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/pending_status.h"
#include "shardsched/shard/report.h"

enum { PATIENCE_MS = 10000 }; /* how long pods wait for lists that do not end */

static bool is_of_part(enum sched_part part, enum keys_kind kind)
{
	switch (part) {
	case SCHED_NODES:
		return kind == KEYS_NODE;
	case SCHED_ALLOCS:
		return kind == KEYS_ALLOC;
	case SCHED_SCHEDULES:
		return kind == KEYS_SPEC || kind == KEYS_STATE;
	case SCHED_PARTS:
		break;
	}
	return false;
}

static void report_malformed_key(struct sched *sched, struct pl_span key)
{
	struct pl_err err;

	pl_err_set(&err, PL_INVALID, "unexpected key: %.*s", PL_SPAN_ARG(key));
	report_malformed(sched, NULL, &err);
}

static void apply_key(struct sched *sched, uint32_t partition, enum sched_part part,
                      const struct kv_record *record, bool gone)
{
	struct keys_id id;

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.partition != partition ||
	    !is_of_part(part, id.kind)) {
		report_malformed_key(sched, record->key);
		return;
	}
	if (!cache_apply(sched, &id, record, gone))
		report_relist(sched, partition, part);
}

static struct sched_partition *owned_partition(struct sched *sched, uint32_t partition)
{
	PL_ASSERT(partition < sched->opts.partitions);
	return sched->partition[partition].owned ? &sched->partition[partition] : NULL;
}

void sched_list_begin(struct sched *sched, uint32_t partition, enum sched_part part)
{
	struct sched_partition *of = owned_partition(sched, partition);

	if (of == NULL)
		return;
	of->generation[part]++;
	of->misses[part] = false;
}

void sched_list_records(struct sched *sched, uint32_t partition, enum sched_part part,
                        const struct kv_record *records, size_t count)
{
	if (owned_partition(sched, partition) == NULL)
		return;
	for (size_t i = 0; i < count; i++)
		apply_key(sched, partition, part, &records[i], false);
}

/* A fact newer than the list came from elsewhere and may have been absent when the list
 * was made. */
static void sweep_nodes(struct sched *sched, struct sched_partition *of,
                        enum sched_part part, int64_t revision)
{
	enum fact fact = part == SCHED_NODES ? FACT_NODE : FACT_ALLOC;

	PL_LIST_EACH (link, &of->nodes) {
		struct sched_node *node =
			PL_LIST_ITEM(link, struct sched_node, of_partition);

		if (node->seen[fact] != of->generation[part] &&
		    node->rev[fact] <= revision)
			cache_sweep_node(sched, node, fact, revision);
	}
}

static void sweep_pods(struct sched *sched, struct sched_partition *of, int64_t revision)
{
	uint8_t generation = of->generation[SCHED_SCHEDULES];

	PODS_OF_EACH(pod, sched, (uint32_t)(of - sched->partition))
	{
		bool spec = pod->seen[FACT_SPEC] == generation ||
		            pod->rev[FACT_SPEC] > revision;

		/* Sweeping the spec may have freed the pod. */
		if (pod->seen[FACT_STATE] != generation &&
		    pod->rev[FACT_STATE] <= revision) {
			bool state_only = spec || pod->rev[FACT_SPEC] == 0;

			cache_sweep_pod(sched, pod, FACT_STATE, revision);
			if (state_only)
				continue;
		}
		if (!spec)
			cache_sweep_pod(sched, pod, FACT_SPEC, revision);
	}
}

bool load_is_running(const struct sched *sched)
{
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		if (sched->partition[i].owned && !sched->partition[i].open)
			return true;
	return false;
}

/* The patience runs from the first call: before that call no time is known. */
bool load_is_awaited(struct sched *sched)
{
	if (!load_is_running(sched))
		return false;
	if (sched->load_ms == 0)
		sched->load_ms = sched->now_ms + PATIENCE_MS;
	return sched->now_ms < sched->load_ms;
}

static void partition_open(struct sched *sched, struct sched_partition *of)
{
	of->open = true;
	sched->load_ms = 0;
	pending_status_recheck(sched);
	sched->orphans_due = true;
	own_digest_dirty(sched, (uint32_t)(of - sched->partition));
	PODS_OF_EACH(pod, sched, (uint32_t)(of - sched->partition))
	pod_reconcile(sched, pod);
	PL_LIST_EACH (link, &of->nodes)
		node_reconcile(sched,
		               PL_LIST_ITEM(link, struct sched_node, of_partition));
}

/* Nodes elsewhere list pods that were not listed here yet, or hold reservations for
 * them. */
static void open_remaining(struct sched *sched)
{
	PL_LIST_EACH (link, &sched->incomplete)
		node_reconcile(sched, PL_LIST_ITEM(link, struct sched_node, incomplete));
	PL_LIST_EACH (link, &sched->unread)
		node_reconcile(sched, PL_LIST_ITEM(link, struct sched_node, incomplete));
	PL_LIST_EACH (link, &sched->reserving)
		node_reconcile(sched, PL_LIST_ITEM(link, struct sched_node, reserving));
}

void sched_list_end(struct sched *sched, uint32_t partition, enum sched_part part,
                    int64_t revision)
{
	struct sched_partition *of = owned_partition(sched, partition);

	if (of == NULL)
		return;
	if (part == SCHED_SCHEDULES)
		sweep_pods(sched, of, revision);
	else
		sweep_nodes(sched, of, part, revision);
	of->ended[part] = true;
	of->missed[part] = of->misses[part];
	of->upto[part] = revision;
	if (part == SCHED_SCHEDULES)
		PODS_OF_EACH(pod, sched, partition)
	incarnation_followed(sched, pod);
	for (unsigned i = 0; i < SCHED_PARTS; i++)
		if (!of->ended[i] || of->missed[i])
			return;
	if (!of->open) {
		partition_open(sched, of);
		open_remaining(sched);
		remote_wake_listed(sched);
	}
}

void sched_events(struct sched *sched, uint32_t partition, enum sched_part part,
                  const struct kv_event *events, size_t count)
{
	struct sched_partition *of = owned_partition(sched, partition);

	if (of == NULL)
		return;
	for (size_t i = 0; i < count; i++)
		apply_key(sched, partition, part, &events[i].record, events[i].is_delete);
	if (count > 0 && events[count - 1].record.mod_revision > of->upto[part])
		of->upto[part] = events[count - 1].record.mod_revision;
}

void sched_progress(struct sched *sched, uint32_t partition, enum sched_part part,
                    int64_t revision)
{
	struct sched_partition *of = owned_partition(sched, partition);

	if (of != NULL && of->ended[part] && revision > of->upto[part])
		of->upto[part] = revision;
}

/* -- views ------------------------------------------------------------------- */

/* Other shards have partitions, and a pod is to be placed. */
static bool has_remote_partitions(const struct sched *sched)
{
	bool own = false, others = false;

	for (uint32_t i = 0; i < sched->opts.partitions; i++) {
		own = own || sched->partition[i].owned;
		others = others || !sched->partition[i].owned;
	}
	return own && others;
}

static bool owns_any(const struct sched *sched)
{
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		if (sched->partition[i].owned)
			return true;
	return false;
}

bool sched_view_wanted(const struct sched *sched, enum sched_view view)
{
	switch (view) {
	case SCHED_FLEET:
		return fleet_view_is_wanted(sched);
	case SCHED_DIGESTS:
		return has_remote_partitions(sched);
	case SCHED_GANGS:
		return owns_any(sched);
	case SCHED_BUDGETS:
		return disruption_wanted(sched);
#define OBJECT_VIEW(kind, group, resource, in) case SCHED_OF_##kind:
		CLUSTER_FOLLOWED_MAP(OBJECT_VIEW)
		return owns_any(sched);
	case SCHED_VIEWS:
		break;
	}
	PL_UNREACHABLE("a view");
}

void sched_view_begin(struct sched *sched, enum sched_view view)
{
	if (view == SCHED_FLEET)
		fleet_view_begin(sched);
	else if (view == SCHED_DIGESTS)
		digest_index_begin(sched);
	else if (view == SCHED_GANGS)
		gang_records_begin(sched);
	else if (view == SCHED_BUDGETS)
		disruption_begin(sched);
	else
		objects_begin(sched, view);
}

void sched_view_records(struct sched *sched, enum sched_view view,
                        const struct kv_record *records, size_t count)
{
	if (view == SCHED_FLEET)
		fleet_view_records(sched, records, count);
	else if (view == SCHED_DIGESTS)
		digest_index_records(sched, records, count);
	else if (view == SCHED_GANGS)
		gang_records_list(sched, records, count);
	else if (view == SCHED_BUDGETS)
		disruption_records(sched, records, count);
	else
		objects_records(sched, view, records, count);
}

void sched_view_end(struct sched *sched, enum sched_view view, int64_t revision)
{
	if (view == SCHED_FLEET)
		fleet_view_end(sched, revision);
	else if (view == SCHED_DIGESTS)
		digest_index_end(sched);
	else if (view == SCHED_GANGS)
		gang_records_end(sched, revision);
	else if (view == SCHED_BUDGETS)
		disruption_end(sched, revision);
	else
		objects_end(sched, view, revision);
}

void sched_view_events(struct sched *sched, enum sched_view view,
                       const struct kv_event *events, size_t count, int64_t revision)
{
	if (view == SCHED_FLEET)
		fleet_view_events(sched, events, count, revision);
	else if (view == SCHED_DIGESTS)
		digest_index_events(sched, events, count);
	else if (view == SCHED_GANGS)
		gang_records_events(sched, events, count);
	else if (view == SCHED_BUDGETS)
		disruption_events(sched, events, count, revision);
	else
		objects_events(sched, view, events, count, revision);
}

void sched_view_lost(struct sched *sched, enum sched_view view)
{
	if (view == SCHED_FLEET)
		fleet_view_lost(sched);
	else if (view == SCHED_GANGS)
		gang_records_lost(sched);
	else if (view == SCHED_BUDGETS)
		disruption_lost(sched);
}

void sched_view_closed(struct sched *sched, enum sched_view view)
{
	if (view == SCHED_FLEET)
		fleet_view_forget(sched);
	else if (view == SCHED_DIGESTS)
		digest_index_forget(sched);
	else if (view == SCHED_GANGS)
		gang_records_forget(sched);
	else if (view == SCHED_BUDGETS)
		disruption_forget(sched);
	else
		objects_forget(sched, view);
}

void sched_set_shards(struct sched *sched, uint32_t shards)
{
	sched->digests.shards = shards;
}
