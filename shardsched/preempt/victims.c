#include "shardsched/preempt/preempt_int.h"

/* A node while it is tried. */
struct node_trial {
	struct preempt *preempt;
	uint32_t slot;
	struct ranking_part part;
	bool by_sum; /* adding up suffices */
	struct free_amounts free;
	struct preempt_candidate candidate;
};

static const struct resources *requests_of(const struct node_trial *trial, uint32_t i)
{
	uint32_t placed = trial->part.placed[i];

	return trial->preempt->snapshot->placed[placed].view->spec->requests;
}

static bool pod_fits(const struct node_trial *trial)
{
	if (trial->by_sum)
		return resource_request_fits(&trial->preempt->request, &trial->free);
	return cycle_fits(trial->preempt->cycle, trial->slot);
}

static void remove_pod(struct node_trial *trial, uint32_t i)
{
	if (trial->by_sum)
		resource_request_return(&trial->preempt->request, requests_of(trial, i),
		                        &trial->free);
	else
		cycle_remove_pod(trial->preempt->cycle, trial->part.placed[i]);
}

static void restore_pod(struct node_trial *trial, uint32_t i)
{
	if (trial->by_sum)
		resource_request_take(&trial->preempt->request, requests_of(trial, i),
		                      &trial->free);
	else
		cycle_add_pod(trial->preempt->cycle, trial->part.placed[i]);
}

/* Whether removing all pods of lower priority gives too little. */
static bool is_hopeless(struct node_trial *trial)
{
	struct preempt *preempt = trial->preempt;

	for (uint32_t i = 0; i < trial->part.count && preempt->request.scalars > 0; i++)
		resource_request_return_scalars(&preempt->request, requests_of(trial, i),
		                                &trial->free);
	if (preempt->fit < 0 || resource_request_fits(&preempt->request, &trial->free))
		return false;
	note_refused_by_fit(preempt);
	return true;
}

static bool remove_all(struct node_trial *trial)
{
	bool fits;
	int by;

	if (trial->by_sum)
		return true; /* free does not have them */
	for (uint32_t i = 0; i < trial->part.count; i++)
		remove_pod(trial, i);
	by = cycle_refuser(trial->preempt->cycle, trial->slot, &fits);
	if (fits)
		return true;
	if (by >= 0)
		trial->preempt->refused_by |= UINT64_C(1) << by;
	for (uint32_t i = 0; i < trial->part.count; i++)
		restore_pod(trial, i);
	return false;
}

uint32_t split_protected(struct preempt *preempt, const struct ranking_part *part)
{
	struct budget_pods pods = {part->count, part->placed, part->spec};
	uint32_t protected;

	if (!budgets_split(&preempt->budgets, &pods, preempt->order.at, &protected))
		preempt->no_memory = true;
	return protected;
}

/* Puts the pod back if the preemptor still fits; otherwise the pod is given up. */
static void reprieve(struct node_trial *trial, uint32_t i, bool is_protected)
{
	struct preempt *preempt = trial->preempt;
	uint32_t *candidate_victims = preempt->candidate_victims.at;

	restore_pod(trial, i);
	if (pod_fits(trial))
		return;
	remove_pod(trial, i);
	candidate_victims[preempt->candidate_victim_count++] = trial->part.placed[i];
	trial->candidate.count++;
	trial->candidate.violations += is_protected;
}

static void restore_victims(struct node_trial *trial)
{
	const uint32_t *candidate_victims = trial->preempt->candidate_victims.at;

	if (trial->by_sum)
		return;
	for (uint32_t i = 0; i < trial->candidate.count; i++)
		cycle_add_pod(trial->preempt->cycle,
		              candidate_victims[trial->candidate.first + i]);
}

static void choose_victims(struct node_trial *trial)
{
	struct preempt *preempt = trial->preempt;
	const uint32_t *order = preempt->order.at;
	uint32_t protected = split_protected(preempt, &trial->part);
	struct candidate_rank rank;

	trial->candidate = (struct preempt_candidate){
		.node = trial->slot, .first = preempt->candidate_victim_count};
	for (uint32_t i = 0; i < trial->part.count; i++)
		reprieve(trial, protected == 0 ? i : order[i], i < protected);
	restore_victims(trial);
	if (trial->candidate.count == 0)
		return;
	candidate_found(preempt, trial->candidate.violations);
	rank_candidate(preempt, &trial->candidate, &rank);
	if (!candidate_add(preempt, &trial->candidate, &rank))
		preempt->no_memory = true;
}

static bool reserve_order(struct preempt *preempt, uint32_t count)
{
	return scratch_grow(&preempt->candidate_victims,
	                    (size_t)preempt->candidate_victim_count + count,
	                    sizeof(uint32_t)) &&
	       scratch_grow(&preempt->order, 2 * (size_t)count, sizeof(uint32_t));
}

bool victims_sums_suffice(const struct preempt *preempt, uint32_t slot)
{
	return preempt->only_fit && !preempt->never_sums &&
	       preempt->request.scalars == 0 && pl_bitset_has(preempt->by_fit, slot) &&
	       !pl_bitset_has(preempt->snapshot->nominated, slot);
}

void victims_find(struct preempt *preempt, uint32_t slot)
{
	struct node_trial trial = {.preempt = preempt, .slot = slot};
	const struct request_sum *sum;

	trial.part = pod_ranking_below(&preempt->rankings, slot, preempt->priority);
	sum = reclaimable_on(preempt, slot, &trial.part);
	if (sum->pods == 0)
		return;
	if (!reserve_order(preempt, trial.part.count)) {
		preempt->no_memory = true;
		return;
	}
	resource_request_available(&preempt->request, preempt->snapshot, slot, sum,
	                           &trial.free);
	trial.by_sum = preempt->only_fit && !preempt->never_sums &&
	               pl_bitset_has(preempt->by_fit, slot) &&
	               !pl_bitset_has(preempt->snapshot->nominated, slot);
	if (is_hopeless(&trial))
		return;
	if (trial.by_sum && preempt->request.scalars == 0)
		victims_find_by_sum(preempt, slot, &trial.part, &trial.free);
	else if (remove_all(&trial))
		choose_victims(&trial);
}
