/*
 * A shard has one lease: a key that a shard takes hangs on the lease of its record at that
 * moment.
 */
#include <inttypes.h>

#include "tests/sim/proc.h"

struct lease_state {
	uint64_t seen;
};

static void check_lease_of(struct world *world, const char *what, uint16_t shard,
                           int64_t lease)
{
	const struct truth_member *member;

	if (shard == TRUTH_SHARD_NONE)
		check_fail(world, "lease", "%s has no lease", what);
	member = &world->truth.member[shard];
	if (lease == 0 || !member->exists || member->lease != lease)
		check_fail(world, "lease",
		           "%s is taken by s%u under lease %" PRIx64
		           ", while its record %s lease %" PRIx64,
		           what, shard, (uint64_t)lease,
		           member->exists ? "has" : "is gone:", (uint64_t)member->lease);
}

static void observe(struct world *world, void *me, const struct obs *obs)
{
	struct lease_state *state = me;

	state->seen++;
	if (obs->what == OBS_OWNER && obs->owner->exists && !obs->before->exists &&
	    !world->manual_owner[obs->partition])
		check_lease_of(world, "an owner key", obs->owner->shard,
		               obs->owner->lease);
	if (obs->what == OBS_LEADER && obs->leader->exists)
		check_lease_of(world, obs->role, obs->leader->shard, obs->leader->lease);
	if (obs->what == OBS_SHARD && obs->member->exists && obs->member->lease == 0)
		check_fail(world, "lease", "the record of s%u has no lease",
		           obs->member->shard);
}

const struct check check_lease = {"lease", sizeof(struct lease_state), observe, NULL};
