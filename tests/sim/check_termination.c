/*
 * Only two kinds of pods are terminated by shards without a request: a pod whose node is
 * closed for maintenance, not before its toleration is over; and a pod of lower priority
 * than one that is nominated to its node, or is to be nominated when all victims have
 * been terminated. The time is compared with the shard's where all wall clocks are right.
 */
#include <inttypes.h>
#include <string.h>

#include "tests/sim/proc.h"

enum { APART_MS = 60000 };

struct termination_state {
	uint64_t seen;
};

static int64_t max_u64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Returns how long the pod has been on its node while that was closed, as every shard
 * could know. */
static int64_t stayed_ms(const struct world *world, const struct mirror_node *node,
                         const struct mirror_pod *was)
{
	return world_wall_ms(world) - max_u64(node->closed_said_ms, was->said_ms);
}

static void check_closed(struct world *world, const struct obs *obs, uint32_t i,
                         const struct mirror_pod *was)
{
	const struct mirror_node *node = &world->mirror->node[was->node];
	unsigned bears_s = scenario_toleration_s(i);

	if (!node->has_node || !node->what.closed || bears_s == SCENARIO_FOREVER)
		check_fail(world, "termination",
		           "p-%u (%s), @%" PRId64 ": is moved from n-%u, which %s", i,
		           scenario_kind_text[scenario_kind(i)], obs->revision, was->node,
		           node->what.closed ? "it tolerates for ever" : "is not closed");
	if (world->plan.wall_max_ms == 0 &&
	    stayed_ms(world, node, was) < (int64_t)bears_s * 1000)
		check_fail(world, "termination",
		           "p-%u (%s), @%" PRId64 ": is moved from n-%u after %" PRId64
		           " ms, and tolerates it for %u s",
		           i, scenario_kind_text[scenario_kind(i)], obs->revision,
		           was->node, stayed_ms(world, node, was), bears_s);
	world_hit(world, COVER_MOVED_TAINT);
	if (bears_s > 0)
		world_hit(world, COVER_MOVED_TAINT_LATE);
}

/* The reservation is written with the last victims; until then the pod's state names the
 * node. */
static bool is_made_room(const struct mirror *mirror, uint32_t node, int32_t priority)
{
	for (uint32_t i = 0; i < mirror->pods; i++)
		if (mirror->pod[i].phase == MIRROR_PENDING &&
		    mirror->pod[i].makes_room == node &&
		    scenario_priority(scenario_kind(i)) > priority)
			return true;
	return false;
}

static void check_victim(struct world *world, const struct obs *obs, uint32_t i,
                         const struct mirror_pod *was)
{
	const struct mirror_node *node = &world->mirror->node[was->node];
	int32_t priority = scenario_priority(scenario_kind(i));

	if (node->nominated_priority <= priority &&
	    !is_made_room(world->mirror, was->node, priority))
		check_fail(world, "termination",
		           "p-%u (%s), @%" PRId64
		           ": has to leave n-%u, and no more important pod is to come",
		           i, scenario_kind_text[scenario_kind(i)], obs->revision,
		           was->node);
	world_hit(world, COVER_MOVED_PREEMPTED);
}

static void check_pod(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct mirror *mirror = world->mirror;
	const struct mirror_pod *pod = &mirror->pod[i], *was = &mirror->was_pod[i];

	if (pod->corrupted || was->phase != MIRROR_BOUND ||
	    pod->phase != MIRROR_TERMINATING || was->asked || was->node == MIRROR_NONE ||
	    mirror->node[was->node].corrupted)
		return;
	if (strcmp(pod->reason, "taint.noexecute") == 0)
		check_closed(world, obs, i, was);
	else if (strcmp(pod->reason, "preempted") == 0)
		check_victim(world, obs, i, was);
	else
		check_fail(world, "termination",
		           "p-%u (%s), @%" PRId64 ": is moved from n-%u for '%s'", i,
		           scenario_kind_text[scenario_kind(i)], obs->revision, was->node,
		           pod->reason);
}

/* The wall clocks of the writers differ by so much. */
static bool is_apart(struct world *world)
{
	int64_t least = INT64_MAX, most = INT64_MIN;

	PROC_EACH (proc, world) {
		least = proc->wall_ms < least ? proc->wall_ms : least;
		most = proc->wall_ms > most ? proc->wall_ms : most;
	}
	return most > least && most - least >= APART_MS;
}

static void tell_closed(struct world *world, const struct obs *obs, uint32_t n)
{
	const struct mirror_node *node = &world->mirror->node[n];
	const struct mirror_node *was = &world->mirror->was_node[n];
	bool is_closed = node->has_node && node->what.closed;

	if (is_closed != (was->has_node && was->what.closed))
		STORY(&world->story, "judge", "@%" PRId64 " n-%u is %s", obs->revision, n,
		      is_closed ? "closed" : "open");
}

static void observe(struct world *world, void *me, const struct obs *obs)
{
	const struct mirror *mirror = world->mirror;
	struct termination_state *state = me;

	if (obs->what != OBS_MIRROR)
		return;
	for (uint32_t k = 0; k < mirror->touched_nodes; k++)
		tell_closed(world, obs, mirror->touched_node[k]);
	if (obs->writer <= 0)
		return;
	state->seen++;
	if (world->plan.wall_max_ms != 0 && mirror->touched_pods > 0 && is_apart(world))
		world_hit(world, COVER_WALL_APART);
	for (uint32_t k = 0; k < mirror->touched_pods; k++)
		check_pod(world, obs, mirror->touched_pod[k]);
}

const struct check check_termination = {"termination", sizeof(struct termination_state),
                                        observe, NULL};
