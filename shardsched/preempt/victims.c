#include "shardsched/preempt/inner.h"

static const struct resources *held_by(const struct preempt *preempt,
                                       const struct victim *victim)
{
	return preempt->snapshot->placed[victim->placed].view->spec->requests;
}

/* One node, while it is looked at. */
struct trial {
	struct preempt *preempt;
	uint32_t slot;
	uint32_t count;
	struct victim *victim;
	bool adds; /* adding up is enough */
	struct free_amounts free;
	struct preempt_candidate candidate;
};

static bool fits(const struct trial *trial)
{
	if (trial->adds)
		return asks_fit(&trial->preempt->asks, &trial->free);
	return cycle_fits(trial->preempt->cycle, trial->slot);
}

static void lift(struct trial *trial, const struct victim *victim)
{
	if (trial->adds)
		asks_give(&trial->preempt->asks, held_by(trial->preempt, victim),
		          &trial->free);
	else
		cycle_lift(trial->preempt->cycle, victim->placed);
}

static void lower(struct trial *trial, const struct victim *victim)
{
	if (trial->adds)
		asks_take(&trial->preempt->asks, held_by(trial->preempt, victim),
		          &trial->free);
	else
		cycle_lower(trial->preempt->cycle, victim->placed);
}

/* The most that lifting can give is not enough, whatever else there is. */
static bool is_hopeless(struct trial *trial)
{
	struct preempt *preempt = trial->preempt;

	for (uint32_t i = 0; i < trial->count && preempt->asks.scalars > 0; i++)
		asks_give_scalars(&preempt->asks, held_by(preempt, &trial->victim[i]),
		                  &trial->free);
	if (preempt->fit < 0 || asks_fit(&preempt->asks, &trial->free))
		return false;
	refused_by_fit(preempt);
	return true;
}

static bool lift_all(struct trial *trial)
{
	const struct victim *victim = trial->victim;
	bool does;
	int by;

	if (trial->adds)
		return true; /* free is without them */
	for (uint32_t i = 0; i < trial->count; i++)
		lift(trial, &victim[i]);
	by = cycle_refuser(trial->preempt->cycle, trial->slot, &does);
	if (does)
		return true;
	if (by >= 0)
		trial->preempt->refused_by |= UINT64_C(1) << by;
	for (uint32_t i = 0; i < trial->count; i++)
		lower(trial, &victim[i]);
	return false;
}

/* In order of importance, as each of them takes from a budget what is left. */
static void protect(struct trial *trial)
{
	struct preempt *preempt = trial->preempt;
	struct victim *victim = trial->victim;

	budgets_node(&preempt->budgets);
	for (uint32_t i = 0; i < trial->count; i++)
		victim[i].protected = budgets_take(
			&preempt->budgets, &preempt->snapshot->placed[victim[i].placed],
			&preempt->no_memory);
}

/* Puts back whoever may come back; the others are given up. */
static void reprieve(struct trial *trial, bool protected)
{
	struct preempt *preempt = trial->preempt;
	const struct victim *victim = trial->victim;
	uint32_t *given_up = preempt->given_up.at;

	for (uint32_t i = 0; i < trial->count; i++) {
		if (victim[i].protected != protected)
			continue;
		lower(trial, &victim[i]);
		if (fits(trial))
			continue;
		lift(trial, &victim[i]);
		given_up[preempt->given_up_count++] = victim[i].placed;
		trial->candidate.count++;
		trial->candidate.violations += protected;
	}
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

	victims_sort(preempt, trial->victim, trial->count);
	protect(trial);
	trial->candidate = (struct preempt_candidate){.node = trial->slot,
	                                              .first = preempt->given_up_count};
	reprieve(trial, true);
	reprieve(trial, false);
	put_back(trial);
	if (trial->candidate.count > 0 && !candidate_add(preempt, &trial->candidate))
		preempt->no_memory = true;
}

void victims_find(struct preempt *preempt, const struct look *look)
{
	const struct room *room = room_of(preempt, look->slot);
	struct trial trial = {
		.preempt = preempt, .slot = look->slot, .count = look->count};

	if (room->pods == 0)
		return;
	trial.victim = (struct victim *)preempt->victims.at + look->first;
	asks_free(&preempt->asks, preempt->snapshot, look->slot, room, &trial.free);
	trial.adds = preempt->only_fit && !preempt->never_adds &&
	             pl_bitset_has(preempt->by_fit, look->slot) &&
	             !pl_bitset_has(preempt->snapshot->nominated, look->slot);
	if (!scratch_grow(&preempt->given_up,
	                  (size_t)preempt->given_up_count + look->count,
	                  sizeof(uint32_t)))
		preempt->no_memory = true;
	else if (!is_hopeless(&trial) && lift_all(&trial))
		choose_victims(&trial);
}
