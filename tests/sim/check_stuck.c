/* Nothing gets stuck: a shard that was asked to leave leaves, a dead process is gone, and
 * when all have left, none of their keys and leases is left in the store. */
#include <inttypes.h>

#include "tests/sim/proc.h"

enum { LEAVE_MAX_MS = 30000, GHOST_MAX_MS = 30000 };

struct stuck_state {
	uint64_t seen;
};

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void check_leavers(struct world *world)
{
	uint64_t now = world->agenda.now_ms;

	PROC_EACH (proc, world) {
		if (proc->ghost && now - proc->died_ms > GHOST_MAX_MS)
			check_fail(world, "stuck", "%s died %d s ago and does not end",
			           proc->name, GHOST_MAX_MS / 1000);
		if (world->recovering && proc->leaving && !proc->ghost &&
		    now - max_u64(proc->leave_ms, world->recovery_ms) > LEAVE_MAX_MS)
			check_fail(world, "stuck",
			           "%s was asked to leave %d s ago, and has not",
			           proc->name, LEAVE_MAX_MS / 1000);
	}
}

static void check_all_left(struct world *world)
{
	const struct truth *truth = &world->truth;

	for (unsigned i = 0; i < truth->shards; i++)
		if (truth->member[i].exists)
			check_fail(world, "stuck", "the record of s%u is left", i);
	for (uint32_t p = 0; p < truth->partitions; p++)
		if (truth->owner[p].exists)
			check_fail(world, "stuck", "the owner key of %u is left", p);
}

static void check_end(struct world *world)
{
	const struct truth *truth = &world->truth;
	size_t pins = 0, leases = memkv_leases(world->store.mem);

	for (unsigned i = 0; i < TRUTH_PINS_MAX; i++)
		pins += truth->pin[i].revision != 0;
	/* A late grant may have created a lease that no process holds. */
	if (leases != pins && world->plan.link.late_in_1000 == 0)
		check_fail(world, "stuck", "%zu leases are left, and %zu pins", leases,
		           pins);
}

static void observe(struct world *world, void *me, const struct obs *obs)
{
	struct stuck_state *state = me;

	state->seen++;
	if (obs->what == OBS_TICK)
		check_leavers(world);
	if (obs->what == OBS_ALL_LEFT)
		check_all_left(world);
	if (obs->what == OBS_END)
		check_end(world);
}

const struct check check_stuck = {"stuck", sizeof(struct stuck_state), observe, NULL};
