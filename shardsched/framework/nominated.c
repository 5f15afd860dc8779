/*
 * Pods nominated for a node count there for pods of no higher priority. Such a node has
 * to be feasible both with them and without them, since an affinity may be satisfied by a
 * pod that never comes.
 */
#include <stdlib.h>

#include "shardsched/framework/cycle_int.h"
#include "shardsched/framework/resource_request.h"
#include "store/base/alloc.h"

static bool is_same_pod(const struct cycle *cycle, const struct nomination *other)
{
	if (cycle->pod.uid != 0 || other->uid != 0)
		return cycle->pod.uid == other->uid;
	return cycle->pod.name == other->name &&
	       cycle->class->view->spec->namespace == other->view->spec->namespace;
}

static bool nomination_counts(const struct cycle *cycle, const struct nomination *other)
{
	return other->view->spec->priority >= cycle->class->view->spec->priority &&
	       !is_same_pod(cycle, other);
}

static uint32_t first_nomination_on(const struct snapshot *snapshot, uint32_t slot)
{
	return pl_bitset_has(snapshot->nominated, slot)
	               ? snapshot->row[slot].first_nomination
	               : SNAPSHOT_NONE;
}

bool nominated_counts(const struct cycle *cycle, uint32_t slot)
{
	const struct snapshot *snapshot = cycle->snapshot;
	uint32_t at = first_nomination_on(snapshot, slot);

	while (at != SNAPSHOT_NONE &&
	       !nomination_counts(cycle, &snapshot->nomination[at]))
		at = snapshot->nomination[at].next;
	return at != SNAPSHOT_NONE;
}

static bool grow_added(struct cycle *cycle)
{
	uint32_t cap = cycle->added_cap == 0 ? 16 : cycle->added_cap * 2;
	uint32_t *grown = NULL;

	if (cycle->added_count < cycle->added_cap)
		return true;
	grown = pl_realloc(cycle->added, cap * sizeof *grown);
	if (grown == NULL)
		return false;
	cycle->added = grown;
	cycle->added_cap = cap;
	return true;
}

static bool add_nominated(struct cycle *cycle, uint32_t slot,
                          const struct nomination *other)
{
	struct pod_on_node pod = {.spec = other->view->spec,
	                          .name = other->name,
	                          .uid = other->uid,
	                          .started_ms = other->started_ms};
	uint32_t placed = 0;
	struct pl_err err;

	if (!grow_added(cycle) ||
	    snapshot_pod_add(cycle->snapshot, slot, &pod, &placed, &err) != PL_OK)
		return false;
	cycle->added[cycle->added_count++] = placed;
	cycle_pod_moved(cycle, &cycle->snapshot->placed[placed], 1);
	return true;
}

bool nominated_add(struct cycle *cycle, uint32_t slot)
{
	struct snapshot *snapshot = cycle->snapshot;
	uint32_t at = first_nomination_on(snapshot, slot);

	PL_ASSERT(cycle->added_count == 0);
	while (at != SNAPSHOT_NONE) {
		const struct nomination *other = &snapshot->nomination[at];

		if (nomination_counts(cycle, other) &&
		    !add_nominated(cycle, slot, other)) {
			nominated_remove(cycle);
			return false;
		}
		at = snapshot->nomination[at].next;
	}
	return true;
}

void nominated_remove(struct cycle *cycle)
{
	while (cycle->added_count != 0) {
		uint32_t placed = cycle->added[--cycle->added_count];
		struct placed_pod pod = cycle->snapshot->placed[placed];

		/* The nomination holds the pod's view. */
		snapshot_pod_remove(cycle->snapshot, placed);
		cycle_pod_moved(cycle, &pod, -1);
	}
}

int nominated_filter(struct cycle *cycle, uint32_t slot)
{
	bool probing = snapshot_probing(cycle->snapshot);
	int refused_by = -1;

	if (!nominated_counts(cycle, slot))
		return filter_one(cycle, slot);
	if (!probing)
		snapshot_probe(cycle->snapshot);
	if (nominated_add(cycle, slot)) {
		refused_by = filter_one(cycle, slot);
		nominated_remove(cycle);
	} else {
		cycle_fail(cycle, -1, NULL);
	}
	if (!probing)
		snapshot_probe_end(cycle->snapshot);
	return refused_by >= 0 || cycle_has_failed(cycle) ? refused_by
	                                                  : filter_one(cycle, slot);
}

/* -- nodes with nominated pods, by the cached results of the class ----------------------- */

/* Decides most nodes that have nominated pods without adding these to the snapshot. */
struct quick_judge {
	const struct stage_results *results; /* NULL: no node can be decided this way */
	/* local filters whose refusal holds whatever is nominated: all before the first
	 * one that looks at pods */
	uint64_t unaffected;
	/* index in filter[] of the filter by free amounts; -1: there is none */
	int by_amounts;
	struct resource_request request;
};

static void quick_init(struct cycle *cycle, struct quick_judge *quick)
{
	quick->results = cycle->results;
	quick->unaffected = 0;
	quick->by_amounts = -1;
	for (unsigned i = 0; quick->results != NULL && i < cycle->filters_local; i++) {
		unsigned plugin = cycle->filter[i];
		const struct plugin *row = cycle->profile->table->row[plugin];

		quick->unaffected |= UINT64_C(1) << plugin;
		if ((row->events & QUEUE_ON_PODS) == 0)
			continue;
		if (row->counts == NULL)
			return;
		resource_request_init(&quick->request, cycle->snapshot, cycle->class,
		                      (int)plugin);
		if (!quick->request.impossible)
			quick->by_amounts = (int)i;
		return;
	}
}

/* A refusal by an unaffected filter is counted with the cached results. */
static bool is_refused_anyway(const struct quick_judge *quick, uint32_t slot)
{
	return quick->results != NULL && !pl_bitset_has(quick->results->feasible, slot) &&
	       (quick->unaffected >> quick->results->refuser[slot] & 1) != 0;
}

/* The node is feasible without the nominated pods, and these leave too little for the
 * pod. */
static bool leaves_no_room(const struct cycle *cycle, const struct quick_judge *quick,
                           uint32_t slot)
{
	const struct snapshot *snapshot = cycle->snapshot;
	const struct request_sum none = {0};
	struct free_amounts free;

	if (quick->by_amounts < 0 || !pl_bitset_has(quick->results->feasible, slot))
		return false;
	resource_request_available(&quick->request, snapshot, slot, &none, &free);
	for (uint32_t at = first_nomination_on(snapshot, slot); at != SNAPSHOT_NONE;
	     at = snapshot->nomination[at].next)
		if (nomination_counts(cycle, &snapshot->nomination[at]))
			resource_request_take(
				&quick->request,
				snapshot->nomination[at].view->spec->requests, &free);
	return !resource_request_fits(&quick->request, &free);
}

static struct judged_node *judge_node(struct cycle *cycle,
                                      const struct quick_judge *quick, uint32_t slot,
                                      struct judged_node **link)
{
	struct judged_node *judged = pl_arena_alloc(&cycle->arena, sizeof *judged);

	if (judged == NULL) {
		cycle_fail(cycle, -1, NULL);
		return NULL;
	}
	*judged = (struct judged_node){.slot = slot,
	                               .refused_by =
	                                       leaves_no_room(cycle, quick, slot)
	                                               ? quick->by_amounts
	                                               : nominated_filter(cycle, slot)};
	*link = judged;
	pl_bitset_add(cycle_set(cycle, cycle->memory.judged), slot);
	if (judged->refused_by >= 0)
		cycle->out->refused[cycle->filter[judged->refused_by]]++;
	return judged;
}

bool nominated_judge_nodes(struct cycle *cycle)
{
	const uint64_t *candidates = cycle_candidates(cycle);
	const uint64_t *nominated = cycle->snapshot->nominated.word;
	uint32_t nodes = cycle->snapshot->nominated_nodes;
	struct judged_node **link = &cycle->judged;
	struct quick_judge quick;

	if (nodes == 0)
		return !cycle_has_failed(cycle);
	quick_init(cycle, &quick);
	for (uint32_t i = 0; nodes != 0; i++) {
		nodes -= (uint32_t)__builtin_popcountll(nominated[i]);
		for (uint64_t left = nominated[i] & candidates[i]; left != 0;
		     left &= left - 1) {
			uint32_t slot = i * 64 + (uint32_t)__builtin_ctzll(left);

			if (is_refused_anyway(&quick, slot) ||
			    !nominated_counts(cycle, slot))
				continue;
			cycle->memory.judged = memory_set(cycle, cycle->memory.judged);
			if (cycle_has_failed(cycle) ||
			    judge_node(cycle, &quick, slot, link) == NULL)
				return false;
			link = &(*link)->next;
		}
	}
	return !cycle_has_failed(cycle) &&
	       (cycle->judged == NULL || measure_stage(cycle));
}

void nominated_release(struct cycle *cycle)
{
	for (struct judged_node *judged = cycle->judged; judged != NULL;
	     judged = judged->next)
		cycle->memory.judged[judged->slot / 64] = 0;
}
