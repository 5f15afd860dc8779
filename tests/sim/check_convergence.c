/*
 * Once the faults have stopped the world converges within a bound: every partition is
 * owned by the running shard that it is assigned to, each role has one leader, the same
 * configuration is applied everywhere, each shard has one lease and no other lease is
 * left.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/assign/assign.h"
#include "tests/sim/proc.h"

enum {
	STEADY_MS = 2500,
	BOUND_MS = 60000,
	FLOW_BOUND_MS = 90000,
	PEACE_MS = 15000,
	WHY_SIZE = 200
};

struct convergence_state {
	uint64_t good_ms; /* time since which it has converged; 0: it has not */
	char why[WHY_SIZE];
};

#define BAD(state, ...) ((void)snprintf((state)->why, WHY_SIZE, __VA_ARGS__), false)

static struct proc *proc_of_lease(struct world *world, const struct truth_owner *owner)
{
	PROC_EACH (proc, world)
		if (proc_lives(proc) && proc->lease == owner->lease)
			return proc;
	return NULL;
}

static uint32_t weight_of(const struct world *world, const struct truth_member *member)
{
	uint64_t factor = truth_factor(&world->truth, member->shard);
	uint64_t weight = member->weight * factor / ASSIGN_WEIGHT_ONE;

	if (weight < 1)
		return 1;
	return weight > ASSIGN_WEIGHT_MAX ? ASSIGN_WEIGHT_MAX : (uint32_t)weight;
}

static bool members_good(struct world *world, struct convergence_state *state,
                         struct assign *assign)
{
	unsigned living = 0, members = 0;

	PROC_EACH (proc, world) {
		const struct truth_member *member = &world->truth.member[proc->id];

		if (!proc_lives(proc))
			return BAD(state, "%s is not gone yet", proc->name);
		if (proc->leaving || proc->refused)
			return BAD(state, "%s has not ended", proc->name);
		living++;
		if (world->drained == proc->id + 1 && !world->recovering) {
			if (proc->state != MEMBERSHIP_DRAINING)
				return BAD(state, "%s does not drain", proc->name);
			continue;
		}
		if (!member->exists || !member->active || member->lease != proc->lease ||
		    proc->state != MEMBERSHIP_ACTIVE)
			return BAD(state, "%s is not an active member", proc->name);
		if (assign_put_salted(assign, pl_span_str(proc->id_text),
		                      weight_of(world, member), member->salt,
		                      NULL) != PL_OK)
			PL_UNREACHABLE("assign");
	}
	for (unsigned i = 0; i < world->truth.shards; i++)
		members += world->truth.member[i].exists;
	if (living != members || living == 0)
		return BAD(state, "%u members, %u living shards", members, living);
	return true;
}

static bool owners_good(struct world *world, struct convergence_state *state,
                        const struct assign *assign)
{
	for (uint32_t p = 0; p < world->truth.partitions; p++) {
		const struct truth_owner *owner = &world->truth.owner[p];
		struct pl_span wanted = assign_of(assign, p);
		const struct proc *proc;

		if (!owner->exists)
			return BAD(state,
			           "partition %u has no owner, and falls to " PL_SPAN_FMT,
			           p, PL_SPAN_ARG(wanted));
		proc = proc_of_lease(world, owner);
		if (proc == NULL)
			return BAD(state, "partition %u is owned by no living shard", p);
		if (!pl_span_eq(wanted, pl_span_str(proc->id_text)))
			return BAD(state,
			           "partition %u is with %s, and falls to " PL_SPAN_FMT,
			           p, proc->name, PL_SPAN_ARG(wanted));
		if (proc->hold == NULL || proc->hold[p].state != HOLD_OWNED ||
		    proc->hold[p].epoch != owner->epoch ||
		    shard_epoch(proc->shard, p) != owner->epoch)
			return BAD(state, "partition %u: %s does not act on it", p,
			           proc->name);
	}
	return true;
}

static bool roles_good(struct world *world, struct convergence_state *state)
{
	static const char *const wanted[] = {"balancer", "janitor", "budgets"};
	unsigned found = 0;

	for (unsigned i = 0; i < TRUTH_ROLES_MAX; i++) {
		const struct truth_leader *leader = &world->truth.leader[i];
		unsigned leading = 0;

		if (leader->role[0] == 0)
			continue;
		if (!leader->exists)
			return BAD(state, "no shard leads %s", leader->role);
		PROC_EACH (proc, world)
			leading += proc_lives(proc) && proc_leads(proc, leader->role);
		if (leading != 1)
			return BAD(state, "%u say that they lead %s", leading,
			           leader->role);
		for (unsigned k = 0; k < 3; k++)
			found += strcmp(leader->role, wanted[k]) == 0;
	}
	return found == 3 || BAD(state, "%u of 3 roles have ever been led", found);
}

_Static_assert((int)TRUTH_CONFIGS == (int)CONFIG_NAME_COUNT,
               "the truth knows every configuration");

static bool config_good(struct world *world, struct convergence_state *state)
{
	PROC_EACH (proc, world)
		for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++)
			if (proc->config[i] != world->truth.config[i])
				return BAD(state,
				           "%s has version %" PRIu64
				           " of %s applied, current is %" PRIu64,
				           proc->name, proc->config[i],
				           config_name_text((enum config_name)i),
				           world->truth.config[i]);
	return true;
}

static bool leases_good(struct world *world, struct convergence_state *state)
{
	size_t wanted = 0, leases = memkv_leases(world->store.mem);

	PROC_EACH (proc, world)
		wanted += proc_lives(proc);
	for (unsigned i = 0; i < TRUTH_PINS_MAX; i++)
		wanted += world->truth.pin[i].revision != 0;
	return leases == wanted ||
	       BAD(state, "%zu leases, %zu are wanted", leases, wanted);
}

static bool is_good(struct world *world, struct convergence_state *state)
{
	struct assign *assign;
	bool good;

	if (assign_new(world->truth.partitions, &assign, NULL) != PL_OK)
		PL_UNREACHABLE("assign");
	good = members_good(world, state, assign) && owners_good(world, state, assign) &&
	       roles_good(world, state) && config_good(world, state) &&
	       leases_good(world, state) &&
	       (!world->recovering || flow_is_done(world, state->why, sizeof state->why));
	assign_free(assign);
	return good;
}

static int bound_ms(const struct world *world)
{
	return world->mirror == NULL ? BOUND_MS : FLOW_BOUND_MS;
}

static void check_tick(struct world *world, struct convergence_state *state)
{
	uint64_t now = world->agenda.now_ms;

	if (!is_good(world, state)) {
		state->good_ms = 0;
		if (!world->recovering && world->change_ms != 0 &&
		    now - world->change_ms > PEACE_MS)
			check_fail(world, "converge",
			           "%s, %d s after one change without faults", state->why,
			           PEACE_MS / 1000);
		if (world->recovering &&
		    now - world->recovery_ms > (uint64_t)bound_ms(world))
			check_fail(world, "converge", "%s, %d s after the last fault",
			           state->why, bound_ms(world) / 1000);
		return;
	}
	if (state->good_ms == 0)
		state->good_ms = now;
	if (now - state->good_ms < STEADY_MS || world->change_ms == 0)
		return;
	STORY(&world->story, "judge", "all is well since %" PRIu64 " ms",
	      now - state->good_ms);
	world_hit(world, COVER_CONVERGED);
	world_observe(world, &(struct obs){.what = OBS_CONVERGED});
	world->change_ms = 0;
	world->after_restore = false;
}

static void observe(struct world *world, void *me, const struct obs *obs)
{
	struct convergence_state *state = me;

	if (obs->what == OBS_TICK && (world->recovering || world->plan.one_at_a_time))
		check_tick(world, state);
	if (obs->what == OBS_RECOVERY)
		state->good_ms = 0;
}

const struct check check_convergence = {"converge", sizeof(struct convergence_state),
                                        observe, NULL};
