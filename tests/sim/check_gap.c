/*
 * A hand-over leaves no partition without an owner for longer than a bound.
 * Looked at where every end is an orderly one: shards that join, leave and
 * drain, with a network that works.
 */
#include <inttypes.h>

#include "tests/sim/proc.h"

enum { GAP_MAX_MS = 200 };

struct state {
	bool began; /* everything was owned once */
	uint64_t longest_ms;
};

static void see(struct world *world, void *me, const struct obs *obs)
{
	struct state *state = me;
	uint64_t gap;

	if (!world->plan.one_at_a_time)
		return;
	if (obs->what == OBS_SETTLED)
		state->began = true;
	if (obs->what == OBS_FENCED)
		check_fail(world, "gap",
		           "work of %s on partition %u was fenced, in peace",
		           obs->proc->name, obs->partition);
	if (obs->what == OBS_EMPTY || proc_count(world) == 0)
		state->began = false;
	if (obs->what != OBS_OWNER || !state->began || !obs->owner->exists ||
	    obs->before->exists)
		return;
	gap = world->agenda.now_ms - obs->before->since_ms;
	if (gap > state->longest_ms)
		state->longest_ms = gap;
	if (gap > GAP_MAX_MS)
		check_fail(world, "gap", "partition %u had no owner for %" PRIu64 " ms",
		           obs->partition, gap);
}

const struct check check_gap = {"gap", sizeof(struct state), see, NULL};
