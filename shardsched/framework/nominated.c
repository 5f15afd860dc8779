/*
 * Pods that wait for room on a node count there, for pods of no higher priority: such a
 * node has to be good both with them and without them (an affinity may be satisfied by
 * a pod that never comes).
 */
#include <stdlib.h>

#include "shardsched/framework/asks.h"
#include "shardsched/framework/cycle_int.h"
#include "store/base/alloc.h"

/* What happens to pods on nodes. */
#define ON_PODS (QUEUE_ON(POD_ADDED) | QUEUE_ON(POD_REMOVED) | QUEUE_ON(POD_LABELS))

static bool is_itself(const struct cycle *cycle, const struct nomination *other)
{
	if (cycle->pod.uid != 0 || other->uid != 0)
		return cycle->pod.uid == other->uid;
	return cycle->pod.name == other->name &&
	       cycle->class->view->spec->namespace == other->view->spec->namespace;
}

static bool counts(const struct cycle *cycle, const struct nomination *other)
{
	return other->view->spec->priority >= cycle->class->view->spec->priority &&
	       !is_itself(cycle, other);
}

static uint32_t first_on(const struct snapshot *snapshot, uint32_t slot)
{
	return pl_bitset_has(snapshot->nominated, slot)
	               ? snapshot->row[slot].first_nomination
	               : SNAPSHOT_NONE;
}

bool nominated_counts(const struct cycle *cycle, uint32_t slot)
{
	const struct snapshot *snapshot = cycle->snapshot;
	uint32_t at = first_on(snapshot, slot);

	while (at != SNAPSHOT_NONE && !counts(cycle, &snapshot->nomination[at]))
		at = snapshot->nomination[at].next;
	return at != SNAPSHOT_NONE;
}

static bool added_room(struct cycle *cycle)
{
	uint32_t room = cycle->added_room == 0 ? 16 : cycle->added_room * 2;
	uint32_t *grown = NULL;

	if (cycle->added_count < cycle->added_room)
		return true;
	grown = pl_realloc(cycle->added, room * sizeof *grown);
	if (grown == NULL)
		return false;
	cycle->added = grown;
	cycle->added_room = room;
	return true;
}

static bool add_one(struct cycle *cycle, uint32_t slot, const struct nomination *other)
{
	struct pod_on_node pod = {.spec = other->view->spec,
	                          .name = other->name,
	                          .uid = other->uid,
	                          .started_ms = other->started_ms};
	uint32_t placed = 0;
	struct pl_err err;

	if (!added_room(cycle) ||
	    snapshot_pod_add(cycle->snapshot, slot, &pod, &placed, &err) != PL_OK)
		return false;
	cycle->added[cycle->added_count++] = placed;
	cycle_moved(cycle, &cycle->snapshot->placed[placed], 1);
	return true;
}

bool nominated_add(struct cycle *cycle, uint32_t slot)
{
	struct snapshot *snapshot = cycle->snapshot;
	uint32_t at = first_on(snapshot, slot);

	PL_ASSERT(cycle->added_count == 0);
	while (at != SNAPSHOT_NONE) {
		const struct nomination *other = &snapshot->nomination[at];

		if (counts(cycle, other) && !add_one(cycle, slot, other)) {
			nominated_take(cycle);
			return false;
		}
		at = snapshot->nomination[at].next;
	}
	return true;
}

void nominated_take(struct cycle *cycle)
{
	while (cycle->added_count != 0) {
		uint32_t placed = cycle->added[--cycle->added_count];
		struct placed pod = cycle->snapshot->placed[placed];

		/* The nomination holds its view. */
		snapshot_pod_remove(cycle->snapshot, placed);
		cycle_moved(cycle, &pod, -1);
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
		nominated_take(cycle);
	} else {
		cycle_fail(cycle, -1, NULL);
	}
	if (!probing)
		snapshot_probe_end(cycle->snapshot);
	return refused_by >= 0 || cycle->failed ? refused_by : filter_one(cycle, slot);
}

/* -- those that have some, by what is kept of the class ---------------------------------
 */

/* Most of them can be told without putting anybody there. */
struct told {
	const struct stage_kept *kept; /* NULL: none can */
	/* Local filters that refuse a node first, whatever is nominated there: up to the
	 * first that looks at pods. */
	uint64_t firm;
	int by_amounts; /* its place in filter[] when that is the one which adds up; -1 */
	struct asks asks;
};

static void told_init(struct cycle *cycle, struct told *told)
{
	told->kept = cycle->kept;
	told->firm = 0;
	told->by_amounts = -1;
	for (unsigned i = 0; told->kept != NULL && i < cycle->filters_local; i++) {
		unsigned plugin = cycle->filter[i];
		const struct plugin *row = cycle->profile->table->row[plugin];

		told->firm |= UINT64_C(1) << plugin;
		if ((row->events & ON_PODS) == 0)
			continue;
		if (row->counts == NULL)
			return;
		asks_init(&told->asks, cycle->snapshot, cycle->class, (int)plugin);
		if (!told->asks.impossible)
			told->by_amounts = (int)i;
		return;
	}
}

/* It is counted with what is kept. */
static bool is_refused(const struct told *told, uint32_t slot)
{
	return told->kept != NULL && !pl_bitset_has(told->kept->feasible, slot) &&
	       (told->firm >> told->kept->refuser[slot] & 1) != 0;
}

/* Good without them, they leave no room. */
static bool is_taken(const struct cycle *cycle, const struct told *told, uint32_t slot)
{
	const struct snapshot *snapshot = cycle->snapshot;
	const struct room none = {0};
	struct free_amounts free;

	if (told->by_amounts < 0 || !pl_bitset_has(told->kept->feasible, slot))
		return false;
	asks_free(&told->asks, snapshot, slot, &none, &free);
	for (uint32_t at = first_on(snapshot, slot); at != SNAPSHOT_NONE;
	     at = snapshot->nomination[at].next)
		if (counts(cycle, &snapshot->nomination[at]))
			asks_take(&told->asks,
			          snapshot->nomination[at].view->spec->requests, &free);
	return !asks_fit(&told->asks, &free);
}

static struct held_node *hold(struct cycle *cycle, const struct told *told, uint32_t slot,
                              struct held_node **link)
{
	struct held_node *held = pl_arena_alloc(&cycle->arena, sizeof *held);

	if (held == NULL) {
		cycle_fail(cycle, -1, NULL);
		return NULL;
	}
	*held = (struct held_node){.slot = slot,
	                           .refused_by = is_taken(cycle, told, slot)
	                                                 ? told->by_amounts
	                                                 : nominated_filter(cycle, slot)};
	*link = held;
	pl_bitset_add(cycle_set(cycle, cycle->memory.held), slot);
	if (held->refused_by >= 0)
		cycle->out->refused[cycle->filter[held->refused_by]]++;
	return held;
}

bool nominated_hold(struct cycle *cycle)
{
	const uint64_t *candidates = cycle_candidates(cycle);
	const uint64_t *nominated = cycle->snapshot->nominated.word;
	uint32_t nodes = cycle->snapshot->nominated_nodes;
	struct held_node **link = &cycle->held;
	struct told told;

	if (nodes == 0)
		return !cycle->failed;
	told_init(cycle, &told);
	for (uint32_t i = 0; nodes != 0; i++) {
		nodes -= (uint32_t)__builtin_popcountll(nominated[i]);
		for (uint64_t left = nominated[i] & candidates[i]; left != 0;
		     left &= left - 1) {
			uint32_t slot = i * 64 + (uint32_t)__builtin_ctzll(left);

			if (is_refused(&told, slot) || !nominated_counts(cycle, slot))
				continue;
			cycle->memory.held = memory_set(cycle, cycle->memory.held);
			if (cycle->failed || hold(cycle, &told, slot, link) == NULL)
				return false;
			link = &(*link)->next;
		}
	}
	return !cycle->failed && (cycle->held == NULL || measure_stage(cycle));
}

void nominated_let_go(struct cycle *cycle)
{
	for (struct held_node *held = cycle->held; held != NULL; held = held->next)
		cycle->memory.held[held->slot / 64] = 0;
}
