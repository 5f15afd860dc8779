/*
 * Between two converged states with one change of members in between, partitions move
 * only to the new member, or only away from the one that left, each of them once. That is
 * the least that can move.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/proc.h"

struct moves_state {
	uint16_t *was; /* owners in the last converged state; NULL: none yet */
	uint64_t at_ms;
	uint64_t takes; /* since that state */
};

/* The shard joined since the last converged state, and chose its salt for it. */
static bool is_new(struct world *world, const struct moves_state *state, uint16_t shard)
{
	const struct proc *proc = proc_of(world, shard);

	return proc != NULL && proc->started_ms >= state->at_ms;
}

/* Returns the share of one shard that joins, and a tenth. */
static uint64_t fair_share(struct world *world)
{
	uint64_t partitions = world->truth.partitions, count = proc_active(world);

	return (partitions * 11 + count * 10 - 1) / (count * 10) + 1;
}

static void judge_moves(struct world *world, struct moves_state *state)
{
	uint64_t moved = 0;
	bool one_from = true, one_to = true;
	uint16_t from = TRUTH_SHARD_NONE, to = TRUTH_SHARD_NONE;

	for (uint32_t p = 0; p < world->truth.partitions; p++) {
		uint16_t was = state->was[p], is = world->truth.owner[p].shard;

		if (was == is)
			continue;
		one_from = one_from && (moved == 0 || was == from);
		one_to = one_to && (moved == 0 || is == to);
		from = was;
		to = is;
		moved++;
	}
	STORY(&world->story, "judge",
	      "%" PRIu64 " partitions moved, by %" PRIu64 " claims", moved, state->takes);
	if (moved != state->takes)
		check_fail(world, "moves",
		           "%" PRIu64 " partitions changed their owner, after %" PRIu64
		           " claims",
		           moved, state->takes);
	if (one_to && moved > fair_share(world) && is_new(world, state, to))
		check_fail(world, "moves",
		           "%" PRIu64 " partitions moved to a new one of %u shards",
		           moved, proc_active(world));
	if (!one_from && !one_to)
		check_fail(world, "moves",
		           "%" PRIu64 " partitions moved between more than two sides",
		           moved);
}

static void observe_converged(struct world *world, struct moves_state *state)
{
	if (state->was != NULL)
		judge_moves(world, state);
	else
		state->was = pl_calloc(world->truth.partitions, sizeof *state->was);
	PL_ASSERT(state->was != NULL);
	for (uint32_t p = 0; p < world->truth.partitions; p++)
		state->was[p] = world->truth.owner[p].shard;
	state->takes = 0;
	state->at_ms = world->agenda.now_ms;
}

static void observe(struct world *world, void *me, const struct obs *obs)
{
	struct moves_state *state = me;

	if (!world->plan.one_at_a_time || world->recovering)
		return;
	if (obs->what == OBS_OWNER && obs->owner->exists && !obs->before->exists)
		state->takes++;
	if (obs->what == OBS_CONVERGED)
		observe_converged(world, state);
}

static void done(void *me)
{
	free(((struct moves_state *)me)->was);
}

const struct check check_moves = {"moves", sizeof(struct moves_state), observe, done};
