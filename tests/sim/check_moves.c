/*
 * Between two moments when everything had settled with one change of members in
 * between, partitions move only to who came, or only from who went, each of
 * them once. That is the least that can move.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/proc.h"

struct state {
	uint16_t *was; /* owners when it had settled; NULL: not yet */
	uint64_t at_ms;
	uint64_t takes; /* since */
};

/* It came since things had settled last, and chose its salt for how they are. */
static bool is_new(struct world *world, const struct state *state, uint16_t shard)
{
	const struct proc *proc = proc_of(world, shard);

	return proc != NULL && proc->started_ms >= state->at_ms;
}

/* Of one shard that joins, and a tenth. */
static uint64_t fair_share(struct world *world)
{
	uint64_t partitions = world->truth.partitions, count = proc_active(world);

	return (partitions * 11 + count * 10 - 1) / (count * 10) + 1;
}

static void judge(struct world *world, struct state *state)
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
	      "%" PRIu64 " partitions moved, by %" PRIu64 " takings", moved,
	      state->takes);
	if (moved != state->takes)
		check_fail(world, "moves",
		           "%" PRIu64 " partitions have another owner, after %" PRIu64
		           " takings",
		           moved, state->takes);
	if (one_to && moved > fair_share(world) && is_new(world, state, to))
		check_fail(world, "moves",
		           "%" PRIu64 " partitions moved to one of %u shards", moved,
		           proc_active(world));
	if (!one_from && !one_to)
		check_fail(world, "moves",
		           "%" PRIu64 " partitions moved between more than two sides",
		           moved);
}

static void settled(struct world *world, struct state *state)
{
	if (state->was != NULL)
		judge(world, state);
	else
		state->was = pl_calloc(world->truth.partitions, sizeof *state->was);
	PL_ASSERT(state->was != NULL);
	for (uint32_t p = 0; p < world->truth.partitions; p++)
		state->was[p] = world->truth.owner[p].shard;
	state->takes = 0;
	state->at_ms = world->agenda.now_ms;
}

static void see(struct world *world, void *me, const struct obs *obs)
{
	struct state *state = me;

	if (!world->plan.one_at_a_time || world->calm)
		return;
	if (obs->what == OBS_OWNER && obs->owner->exists && !obs->before->exists)
		state->takes++;
	if (obs->what == OBS_SETTLED)
		settled(world, state);
}

static void done(void *me)
{
	free(((struct state *)me)->was);
}

const struct check check_moves = {"moves", sizeof(struct state), see, done};
