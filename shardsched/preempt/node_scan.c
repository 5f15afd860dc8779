/*
 * The pods of a node are a chain through memory, and each link is a cache miss. So the
 * chains of several nodes are walked at once, and the misses overlap.
 */
#include "shardsched/preempt/preempt_int.h"

/* Whether the cached sum shows that no victims can help. */
static bool is_hopeless(const struct preempt *preempt, uint32_t slot)
{
	const struct request_sum *sum = reclaimable_known(preempt, slot);
	struct free_amounts free;

	if (sum == NULL)
		return false;
	if (sum->pods == 0)
		return true;
	/* The sums do not have scalars. */
	if (preempt->fit < 0 || preempt->request.scalars > 0)
		return false;
	resource_request_available(&preempt->request, preempt->snapshot, slot, sum,
	                           &free);
	return !resource_request_fits(&preempt->request, &free);
}

static void scan_add(struct preempt *preempt, uint32_t slot)
{
	struct node_scan *scan = &preempt->scan[preempt->scans++];

	*scan = (struct node_scan){.slot = slot,
	                           .next = SNAPSHOT_NONE,
	                           .state = is_hopeless(preempt, slot) ? SCAN_HOPELESS
	                                                               : SCAN_RANKED};
}

static void scan_begin(const struct preempt *preempt, struct node_scan *scan)
{
	const struct snapshot *snapshot = preempt->snapshot;

	scan->state = SCAN_UNRANKED;
	scan->next = snapshot->row[scan->slot].first_pod;
	if (scan->next != SNAPSHOT_NONE)
		__builtin_prefetch(&snapshot->placed[scan->next]);
}

static bool reserve_scans(struct preempt *preempt)
{
	uint32_t most = 0;
	size_t all = 0;

	if (!pod_rankings_place(preempt))
		return false;
	for (uint32_t i = 0; i < preempt->scans; i++) {
		struct node_scan *scan = &preempt->scan[i];
		uint32_t pods = preempt->snapshot->row[scan->slot].pods;

		if (scan->state == SCAN_HOPELESS ||
		    pod_ranking_known(&preempt->rankings, scan->slot))
			continue;
		scan_begin(preempt, scan);
		scan->first = (uint32_t)all;
		all += pods;
		most = pods > most ? pods : most;
	}
	return all <= UINT32_MAX &&
	       scratch_grow(&preempt->victims, all, sizeof(struct victim)) &&
	       victims_sort_ready(preempt, most);
}

/* Reads one pod of the chain. false: it was the last one. */
static bool scan_step(struct preempt *preempt, struct node_scan *scan)
{
	const struct placed_pod *pod = &preempt->snapshot->placed[scan->next];
	struct victim *victim = (struct victim *)preempt->victims.at + scan->first;
	const struct spec *spec = pod->view->spec;
	uint32_t number = scan->next;

	scan->next = pod->next_on_node;
	if (scan->next != SNAPSHOT_NONE)
		__builtin_prefetch(&preempt->snapshot->placed[scan->next]);
	if ((pod->flags & PLACED_EXEMPT) == 0)
		victim[scan->count++] = (struct victim){
			pod->started_ms == 0 ? INT64_MAX : pod->started_ms, spec,
			spec->priority, number};
	return scan->next != SNAPSHOT_NONE;
}

static void walk_chains(struct preempt *preempt)
{
	struct node_scan *walking[SCANS_MAX];
	uint32_t count = 0;

	for (uint32_t i = 0; i < preempt->scans; i++)
		if (preempt->scan[i].next != SNAPSHOT_NONE)
			walking[count++] = &preempt->scan[i];
	while (count > 0)
		for (uint32_t i = 0; i < count;)
			if (scan_step(preempt, walking[i]))
				i++;
			else
				walking[i] = walking[--count];
}

static void rank_pods(struct preempt *preempt, const struct node_scan *scan)
{
	struct victim *victim = (struct victim *)preempt->victims.at + scan->first;

	pod_ranking_fill(&preempt->rankings, scan->slot,
	                 victims_sort(preempt, victim, scan->count), scan->count);
}

size_t scan_ahead(struct preempt *preempt, size_t slot, uint32_t most)
{
	preempt->scans = 0;
	while (preempt->scans < SCANS_MAX && preempt->scans < most) {
		scan_add(preempt, (uint32_t)slot);
		slot = pl_bitset_next(preempt->potential, slot + 1);
		if (slot == preempt->potential.bits)
			slot = pl_bitset_next(preempt->potential, 0);
	}
	if (!reserve_scans(preempt)) {
		preempt->no_memory = true;
		return slot;
	}
	walk_chains(preempt);
	for (uint32_t i = 0; i < preempt->scans; i++)
		if (preempt->scan[i].state == SCAN_UNRANKED)
			rank_pods(preempt, &preempt->scan[i]);
	return slot;
}
