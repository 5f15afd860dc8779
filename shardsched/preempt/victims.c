#include "shardsched/preempt/inner.h"

/* One node, while it is looked at. */
struct trial {
	struct preempt *preempt;
	uint32_t slot;
	struct lineup_part part;
	bool adds; /* adding up is enough */
	struct free_amounts free;
	struct preempt_candidate candidate;
};

static const struct resources *held_by(const struct trial *trial, uint32_t i)
{
	uint32_t placed = trial->part.placed[i];

	return trial->preempt->snapshot->placed[placed].view->spec->requests;
}

static bool fits(const struct trial *trial)
{
	if (trial->adds)
		return asks_fit(&trial->preempt->asks, &trial->free);
	return cycle_fits(trial->preempt->cycle, trial->slot);
}

static void lift(struct trial *trial, uint32_t i)
{
	if (trial->adds)
		asks_give(&trial->preempt->asks, held_by(trial, i), &trial->free);
	else
		cycle_lift(trial->preempt->cycle, trial->part.placed[i]);
}

static void lower(struct trial *trial, uint32_t i)
{
	if (trial->adds)
		asks_take(&trial->preempt->asks, held_by(trial, i), &trial->free);
	else
		cycle_lower(trial->preempt->cycle, trial->part.placed[i]);
}

/* The most that lifting can give is not enough, whatever else there is. */
static bool is_hopeless(struct trial *trial)
{
	struct preempt *preempt = trial->preempt;

	for (uint32_t i = 0; i < trial->part.count && preempt->asks.scalars > 0; i++)
		asks_give_scalars(&preempt->asks, held_by(trial, i), &trial->free);
	if (preempt->fit < 0 || asks_fit(&preempt->asks, &trial->free))
		return false;
	refused_by_fit(preempt);
	return true;
}

static bool lift_all(struct trial *trial)
{
	bool does;
	int by;

	if (trial->adds)
		return true; /* free is without them */
	for (uint32_t i = 0; i < trial->part.count; i++)
		lift(trial, i);
	by = cycle_refuser(trial->preempt->cycle, trial->slot, &does);
	if (does)
		return true;
	if (by >= 0)
		trial->preempt->refused_by |= UINT64_C(1) << by;
	for (uint32_t i = 0; i < trial->part.count; i++)
		lower(trial, i);
	return false;
}

uint32_t protect(struct preempt *preempt, const struct lineup_part *part)
{
	struct budget_pods pods = {part->count, part->placed, part->spec};
	uint32_t wards;

	if (!budgets_split(&preempt->budgets, &pods, preempt->order.at, &wards))
		preempt->no_memory = true;
	return wards;
}

/* Puts back whoever may come back; the others are given up. */
static void reprieve(struct trial *trial, uint32_t i, bool ward)
{
	struct preempt *preempt = trial->preempt;
	uint32_t *given_up = preempt->given_up.at;

	lower(trial, i);
	if (fits(trial))
		return;
	lift(trial, i);
	given_up[preempt->given_up_count++] = trial->part.placed[i];
	trial->candidate.count++;
	trial->candidate.violations += ward;
}

static void put_back(struct trial *trial)
{
	const uint32_t *given_up = trial->preempt->given_up.at;

	if (trial->adds)
		return;
	for (uint32_t i = 0; i < trial->candidate.count; i++)
		cycle_lower(trial->preempt->cycle, given_up[trial->candidate.first + i]);
}

static void choose_victims(struct trial *trial)
{
	struct preempt *preempt = trial->preempt;
	const uint32_t *order = preempt->order.at;
	uint32_t wards = protect(preempt, &trial->part);
	struct candidate_rank rank;

	trial->candidate = (struct preempt_candidate){.node = trial->slot,
	                                              .first = preempt->given_up_count};
	for (uint32_t i = 0; i < trial->part.count; i++)
		reprieve(trial, wards == 0 ? i : order[i], i < wards);
	put_back(trial);
	if (trial->candidate.count == 0)
		return;
	candidate_found(preempt, trial->candidate.violations);
	rank_candidate(preempt, &trial->candidate, &rank);
	if (!candidate_add(preempt, &trial->candidate, &rank))
		preempt->no_memory = true;
}

static bool make_room(struct preempt *preempt, uint32_t count)
{
	return scratch_grow(&preempt->given_up, (size_t)preempt->given_up_count + count,
	                    sizeof(uint32_t)) &&
	       scratch_grow(&preempt->order, 2 * (size_t)count, sizeof(uint32_t));
}

bool victims_add(const struct preempt *preempt, uint32_t slot)
{
	return preempt->only_fit && !preempt->never_adds && preempt->asks.scalars == 0 &&
	       pl_bitset_has(preempt->by_fit, slot) &&
	       !pl_bitset_has(preempt->snapshot->nominated, slot);
}

void victims_find(struct preempt *preempt, uint32_t slot)
{
	struct trial trial = {.preempt = preempt, .slot = slot};
	const struct room *room;

	trial.part = lineup_below(&preempt->lineups, slot, preempt->priority);
	room = room_of(preempt, slot, &trial.part);
	if (room->pods == 0)
		return;
	if (!make_room(preempt, trial.part.count)) {
		preempt->no_memory = true;
		return;
	}
	asks_free(&preempt->asks, preempt->snapshot, slot, room, &trial.free);
	trial.adds = preempt->only_fit && !preempt->never_adds &&
	             pl_bitset_has(preempt->by_fit, slot) &&
	             !pl_bitset_has(preempt->snapshot->nominated, slot);
	if (is_hopeless(&trial))
		return;
	if (trial.adds && preempt->asks.scalars == 0)
		victims_add_up(preempt, slot, &trial.part, &trial.free);
	else if (lift_all(&trial))
		choose_victims(&trial);
}
