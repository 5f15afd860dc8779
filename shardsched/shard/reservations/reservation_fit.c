/*
 * Who has no room any more. Beside those that go an alloc that is written leaves out
 * nominations for which there is none: somebody more important, who does not see them,
 * has come, or the node has less. What the pods take that terminate is free as far as
 * nominations go.
 */
#include "shardsched/shard/reservations/preemption.h"

static void add_amounts(struct node_amounts *left, const struct resources *amounts)
{
	left->cpu_milli += amounts->cpu_milli;
	left->memory += amounts->memory;
	left->storage += amounts->storage;
	left->pods++;
}

static void sub_amounts(struct node_amounts *left, const struct resources *amounts)
{
	left->cpu_milli -= amounts->cpu_milli;
	left->memory -= amounts->memory;
	left->storage -= amounts->storage;
	left->pods--;
}

/* For a pod whose spec is not known: in the node's row it is used. */
static bool is_of_unknown_pod(const struct sched_reservation *hold)
{
	return hold->number != SNAPSHOT_NONE &&
	       hold->kind == ALLOC_RESERVATION_NOMINATED && !hold->nominates &&
	       reservation_counts(hold);
}

/* Likewise, and it is left out already. */
static bool is_left_out(const struct sched_reservation *hold)
{
	return hold->number != SNAPSHOT_NONE && !hold->nominates && hold->out;
}

static bool is_nominated(const struct sched_reservation *hold)
{
	return hold->number != SNAPSHOT_NONE && hold->nominates &&
	       reservation_counts(hold);
}

struct node_amounts reservations_nominated_amounts(const struct sched_node *node)
{
	struct node_amounts kept = {0};

	for (uint32_t i = 0; i < node->holds; i++) {
		const struct sched_reservation *hold = &node->hold[i];

		if (hold->nominates)
			add_amounts(&kept, hold->is.amounts);
	}
	return kept;
}

int32_t reservations_least_priority(const struct sched_node *node)
{
	int32_t least = INT32_MAX;

	for (uint32_t i = 0; i < node->holds; i++) {
		const struct sched_reservation *hold = &node->hold[i];

		if (hold->nominates && hold->pod->spec->priority < least)
			least = hold->pod->spec->priority;
	}
	return least;
}

/* By the alloc that is written its room is free, or will be. */
static bool entry_goes(const struct alloc_entry *listed)
{
	return listed->leaving || listed->end != STATE_TRANSITION_NONE;
}

/* As things stand (NULL); or once that plan is through. */
static bool entry_frees(const struct preemption_plan *plan,
                        const struct alloc_entry *listed)
{
	return entry_goes(listed) || (plan != NULL && listed->pod->victim_of == plan);
}

/* Likewise: of those nominated, then, whom the plan's pod does not take precedence of. */
static bool reservation_takes(const struct preemption_plan *plan,
                              const struct sched_reservation *hold)
{
	if (plan == NULL)
		return is_nominated(hold);
	if (hold->pod == plan->pod)
		return true;
	return is_nominated(hold) &&
	       hold->pod->spec->priority >= plan->pod->spec->priority;
}

/* What the node has, less those that are there and stay, and those nominated. */
static struct node_amounts amounts_left(const struct sched *sched,
                                        const struct sched_node *node,
                                        const struct preemption_plan *plan)
{
	const struct node_row *row = &sched->snapshot.row[node->slot];
	struct node_amounts left = {row->alloc.cpu_milli - row->used.cpu_milli,
	                            row->alloc.memory - row->used.memory,
	                            row->alloc.storage - row->used.storage,
	                            row->alloc.pods - row->used.pods};

	for (uint32_t i = 0; i < node->count; i++)
		if (entry_frees(plan, &node->listed[i]))
			add_amounts(&left, node->listed[i].pod->spec->requests);
	for (uint32_t i = 0; i < node->holds; i++)
		if (is_left_out(&node->hold[i]))
			add_amounts(&left, node->hold[i].is.amounts);
		else if (reservation_takes(plan, &node->hold[i]))
			sub_amounts(&left, node->hold[i].is.amounts);
	return left;
}

static int64_t scalar_left(const struct sched *sched, const struct sched_node *node,
                           const struct preemption_plan *plan, uint32_t name)
{
	const struct snapshot *snapshot = &sched->snapshot;
	uint32_t at = snapshot_scalar(snapshot, name);
	int64_t left = 0;

	if (at != SNAPSHOT_NONE)
		left = snapshot->scalar[at].alloc[node->slot] -
		       snapshot->scalar[at].used[node->slot];
	for (uint32_t i = 0; i < node->count; i++)
		if (entry_frees(plan, &node->listed[i]))
			left += resources_get(node->listed[i].pod->spec->requests, name);
	for (uint32_t i = 0; i < node->holds; i++)
		if (is_left_out(&node->hold[i]))
			left += resources_get(node->hold[i].is.amounts, name);
		else if (reservation_takes(plan, &node->hold[i]))
			left -= resources_get(node->hold[i].is.amounts, name);
	return left;
}

/* It asks for something of which there is too little. */
static bool has_no_room(const struct sched *sched, const struct sched_node *node,
                        const struct preemption_plan *plan,
                        const struct node_amounts *left,
                        const struct sched_reservation *hold)
{
	const struct resources *amounts = hold->is.amounts;

	if ((left->cpu_milli < 0 && amounts->cpu_milli > 0) ||
	    (left->memory < 0 && amounts->memory > 0) ||
	    (left->storage < 0 && amounts->storage > 0) || left->pods < 0)
		return true;
	for (uint64_t i = 0; i < amounts->count; i++)
		if (scalar_left(sched, node, plan, amounts->row[i].name) < 0)
			return true;
	return false;
}

struct sched_reservation *reservations_crowded_out(const struct sched *sched,
                                                   struct sched_node *node)
{
	struct node_amounts left = amounts_left(sched, node, NULL);
	struct sched_reservation *last = NULL;

	/* It may have gone, and been renewed since pods were put in its place. */
	for (uint32_t i = 0; i < node->holds; i++)
		if (is_of_unknown_pod(&node->hold[i]) &&
		    has_no_room(sched, node, NULL, &left, &node->hold[i]))
			return &node->hold[i];
	for (uint32_t i = 0; i < node->holds; i++) {
		struct sched_reservation *hold = &node->hold[i];

		if (is_nominated(hold) && has_no_room(sched, node, NULL, &left, hold) &&
		    (last == NULL ||
		     hold->pod->spec->priority < last->pod->spec->priority))
			last = hold;
	}
	return last;
}

bool reservations_fit(const struct sched *sched, const struct preemption_plan *plan)
{
	const struct sched_node *node = plan->node;
	const struct sched_reservation *hold = reservation_of_pod(node, plan->pod);
	struct node_amounts left;

	if (hold == NULL || hold->number == SNAPSHOT_NONE || !hold->nominates ||
	    node->slot == SNAPSHOT_NONE)
		return true; /* nothing crowds it out */
	left = amounts_left(sched, node, plan);
	return !has_no_room(sched, node, plan, &left, hold);
}
