/*
 * A hand-over leaves no partition without an owner for longer than a bound. Judged only
 * where every shard ends gracefully: shards that join, leave and drain, with a network
 * that works.
 */
#include <inttypes.h>

#include "tests/sim/proc.h"

enum { GAP_MAX_MS = 200 };

struct gap_state {
	bool began; /* every partition had an owner once */
	uint64_t longest_ms;
};

static void observe(struct world *world, void *me, const struct obs *obs)
{
	struct gap_state *state = me;
	uint64_t gap;

	if (!world->plan.one_at_a_time)
		return;
	if (obs->what == OBS_CONVERGED)
		state->began = true;
	if (obs->what == OBS_FENCED)
		check_fail(world, "gap",
		           "work of %s on partition %u was fenced, without a fault",
		           obs->proc->name, obs->partition);
	if (obs->what == OBS_ALL_LEFT || proc_count(world) == 0)
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

const struct check check_gap = {"gap", sizeof(struct gap_state), observe, NULL};
