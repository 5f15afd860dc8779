/*
 * At no moment of true time do two shards act on one partition: while one owns it or
 * decides on it, no other running shard has an epoch for it, and no decision is made
 * under an older epoch than the last one.
 *
 * Violations are excused where no lease can help, but never for the guard (fence): a
 * clock that runs slower than the margin, keys or leases that an operator removed under a
 * running owner, and a restored store until everything is well again.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/sim/proc.h"

struct last_actor {
	int64_t epoch;
	uint64_t at_ms;
};

struct acting_state {
	struct last_actor *last; /* by partition */
};

/* The process has a slow clock, or an operator removed its lease. */
static bool is_explained(const struct world *world, const struct proc *proc)
{
	return proc->broken_until_ms > world->agenda.now_ms ||
	       (proc->revoked_lease != 0 && proc->revoked_lease == proc->lease);
}

static bool is_excused(struct world *world, const struct proc *older, uint32_t partition,
                       int64_t epoch)
{
	return world->after_restore || epoch <= world->revoked_epoch[partition] ||
	       is_explained(world, older);
}

static void fail_if(struct world *world, const struct obs *obs, const struct proc *other,
                    int64_t theirs)
{
	bool we_are_older = obs->epoch < theirs;
	const struct proc *older = we_are_older ? obs->proc : other;

	if (is_excused(world, older, obs->partition,
	               we_are_older ? obs->epoch : theirs)) {
		world_hit(world, COVER_EXCUSED);
		return;
	}
	check_fail(world, "acting",
	           "partition %u: %s under epoch %" PRId64 ", while %s is under %" PRId64,
	           obs->partition, obs->proc->name, obs->epoch, other->name, theirs);
}

static void observe_act(struct world *world, const struct obs *obs)
{
	PROC_EACH (other, world) {
		int64_t theirs;

		if (other == obs->proc || !proc_moves(other) || other->hold == NULL ||
		    other->hold[obs->partition].state == HOLD_NONE)
			continue;
		theirs = shard_epoch(other->shard, obs->partition);
		if (theirs != 0)
			fail_if(world, obs, other, theirs);
	}
}

static void observe_decision(struct world *world, struct acting_state *state,
                             const struct obs *obs)
{
	struct last_actor *last = &state->last[obs->partition];

	if (obs->epoch >= last->epoch) {
		*last = (struct last_actor){obs->epoch, world->agenda.now_ms};
		return;
	}
	if (is_excused(world, obs->proc, obs->partition, obs->epoch)) {
		world_hit(world, COVER_EXCUSED);
		return;
	}
	check_fail(world, "acting",
	           "partition %u: %s decides under epoch %" PRId64
	           ", after a decision under %" PRId64 " %" PRIu64 " ms ago",
	           obs->partition, obs->proc->name, obs->epoch, last->epoch,
	           world->agenda.now_ms - last->at_ms);
}

/* The same for roles: a shard that reports that it leads has a lease that is safe. */
static void observe_lead(struct world *world, const struct obs *obs)
{
	PROC_EACH (other, world) {
		if (other == obs->proc || !proc_moves(other) ||
		    !proc_leads(other, obs->role) ||
		    claims_lease(shard_claims(other->shard)) == 0)
			continue;
		if (world->after_restore || is_explained(world, other) ||
		    is_explained(world, obs->proc))
			world_hit(world, COVER_EXCUSED);
		else
			check_fail(world, "acting", "%s leads %s, and so does %s",
			           obs->proc->name, obs->role, other->name);
	}
}

static void observe(struct world *world, void *me, const struct obs *obs)
{
	struct acting_state *state = me;

	if (state->last == NULL)
		state->last = pl_calloc(world->truth.partitions, sizeof *state->last);
	PL_ASSERT(state->last != NULL);
	if (obs->what == OBS_OWN || obs->what == OBS_DECIDE)
		observe_act(world, obs);
	if (obs->what == OBS_LEAD)
		observe_lead(world, obs);
	if (obs->what == OBS_DECIDE)
		observe_decision(world, state, obs);
	if (obs->what == OBS_RESTORED ||
	    (obs->what == OBS_CONVERGED && world->after_restore))
		for (uint32_t p = 0; p < world->truth.partitions; p++)
			state->last[p].epoch = 0;
}

static void done(void *me)
{
	free(((struct acting_state *)me)->last);
}

const struct check check_acting = {"acting", sizeof(struct acting_state), observe, done};
