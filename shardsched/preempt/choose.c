#include "shardsched/preempt/preempt_int.h"

void rank_candidate(const struct preempt *preempt,
                    const struct preempt_candidate *candidate, struct candidate_rank *out)
{
	const struct placed_pod *placed = preempt->snapshot->placed;
	const uint32_t *victim =
		(const uint32_t *)preempt->candidate_victims.at + candidate->first;
	int32_t most = INT32_MIN;

	*out = (struct candidate_rank){
		.oldest_ms = INT64_MAX,
		.violations = candidate->violations,
		.count = candidate->count,
		.highest = placed[victim[0]].view->spec->priority,
	};
	for (uint32_t i = 0; i < candidate->count; i++) {
		int32_t priority = placed[victim[i]].view->spec->priority;
		int64_t started = placed[victim[i]].started_ms;

		started = started == 0 ? INT64_MAX : started;
		out->priorities += priority_shifted(priority);
		if (priority > most || (priority == most && started < out->oldest_ms))
			out->oldest_ms = started;
		most = priority > most ? priority : most;
	}
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Below 0: a is better. */
static int compare_ranks(const struct candidate_rank *a, const struct candidate_rank *b)
{
	int order = compare_u64(a->violations, b->violations);

	if (order == 0 && a->highest != b->highest)
		order = a->highest < b->highest ? -1 : 1;
	if (order == 0)
		order = compare_u64(a->priorities, b->priorities);
	if (order == 0)
		order = compare_u64(a->count, b->count);
	if (order == 0 && a->oldest_ms != b->oldest_ms)
		order = a->oldest_ms > b->oldest_ms ? -1 : 1;
	return order;
}

static struct preempt_candidate *candidate_array(const struct preempt *preempt)
{
	return preempt->candidates.at;
}

static struct candidate_rank *rank_array(const struct preempt *preempt)
{
	return preempt->ranks.at;
}

/* Keeps only the best candidate, at index 0. */
static void keep_better(struct preempt *preempt, struct preempt_candidate candidate,
                        const struct candidate_rank *rank)
{
	uint32_t *candidate_victims = preempt->candidate_victims.at;

	if (preempt->candidates_count == 0 ||
	    compare_ranks(rank, rank_array(preempt)) < 0) {
		memmove(candidate_victims, candidate_victims + candidate.first,
		        candidate.count * sizeof *candidate_victims);
		candidate.first = 0;
		candidate_array(preempt)[0] = candidate;
		rank_array(preempt)[0] = *rank;
		preempt->candidates_count = 1;
	}
	preempt->candidate_victim_count = candidate_array(preempt)[0].count;
}

void candidate_found(struct preempt *preempt, uint32_t violations)
{
	preempt->found++;
	preempt->found_without_violations += violations == 0;
}

bool candidate_loses(const struct preempt *preempt, const struct candidate_rank *rank)
{
	return !preempt->keep_all && preempt->candidates_count > 0 &&
	       compare_ranks(rank, rank_array(preempt)) >= 0;
}

bool candidate_add(struct preempt *preempt, const struct preempt_candidate *candidate,
                   const struct candidate_rank *rank)
{
	size_t count = (size_t)preempt->candidates_count + 1;

	if (!scratch_grow(&preempt->candidates, count, sizeof *candidate) ||
	    !scratch_grow(&preempt->ranks, count, sizeof *rank) ||
	    !scratch_grow(&preempt->tied, count, sizeof(uint32_t)))
		return false;
	if (!preempt->keep_all) {
		keep_better(preempt, *candidate, rank);
		return true;
	}
	candidate_array(preempt)[preempt->candidates_count] = *candidate;
	rank_array(preempt)[preempt->candidates_count++] = *rank;
	return true;
}

/* Finds the candidates that no other one is better than; the first of them is chosen. */
static uint32_t find_tied(struct preempt *preempt)
{
	const struct candidate_rank *rank = rank_array(preempt);
	uint32_t *tied = preempt->tied.at, count = 1;

	tied[0] = 0;
	for (uint32_t i = 1; i < preempt->candidates_count; i++) {
		int order = compare_ranks(&rank[i], &rank[tied[0]]);

		if (order < 0)
			count = 0;
		if (order <= 0)
			tied[count++] = i;
	}
	return count;
}

void candidates_choose(struct preempt *preempt, struct preempt_outcome *out)
{
	const struct preempt_candidate *best;

	if (preempt->candidates_count == 0)
		return;
	out->tied_count = find_tied(preempt);
	out->tied = preempt->tied.at;
	best = &candidate_array(preempt)[out->tied[0]];
	out->code = VERDICT_SUCCESS;
	out->node = best->node;
	out->victims = best->count;
	out->victim = (const uint32_t *)preempt->candidate_victims.at + best->first;
	out->violations = best->violations;
	if (!preempt->keep_all)
		return;
	out->candidate = preempt->candidates.at;
	out->candidates = preempt->candidates_count;
	out->all_victims = preempt->candidate_victims.at;
}
