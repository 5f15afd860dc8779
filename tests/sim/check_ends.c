/*
 * Who is moved by shards, though nobody asked: whose node is closed for maintenance, and
 * not before the time is over for which he bears that; and who is less important than
 * somebody who is nominated there, or is to be when all have been told. Nobody else. The
 * time is held against the shard where all wall clocks are right.
 */
#include <inttypes.h>
#include <string.h>

#include "tests/sim/proc.h"

enum { APART_MS = 60000 };

struct state {
	uint64_t seen;
};

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* How long it has been there while the node was closed, as everybody could know. */
static int64_t borne_ms(const struct world *world, const struct stock_node *node,
                        const struct stock_pod *was)
{
	return world_wall_ms(world) - later(node->closed_said_ms, was->said_ms);
}

static void check_closed(struct world *world, const struct obs *obs, uint32_t i,
                         const struct stock_pod *was)
{
	const struct stock_node *node = &world->stock->node[was->node];
	unsigned bears_s = scene_bears_s(i);

	if (!node->has_node || !node->what.closed || bears_s == SCENE_FOR_EVER)
		check_fail(world, "ends",
		           "p-%u (%s), @%" PRId64 ": is moved from n-%u, which %s", i,
		           scene_kind_text[scene_kind(i)], obs->revision, was->node,
		           node->what.closed ? "it bears for ever" : "is not closed");
	if (world->plan.wall_max_ms == 0 &&
	    borne_ms(world, node, was) < (int64_t)bears_s * 1000)
		check_fail(world, "ends",
		           "p-%u (%s), @%" PRId64 ": is moved from n-%u after %" PRId64
		           " ms, and bears it for %u s",
		           i, scene_kind_text[scene_kind(i)], obs->revision, was->node,
		           borne_ms(world, node, was), bears_s);
	world_hit(world, COVER_MOVED_TAINT);
	if (bears_s > 0)
		world_hit(world, COVER_MOVED_TAINT_LATE);
}

/* The hold comes with the last who have to go; until then the pod's state says it. */
static bool is_made_room(const struct stock *stock, uint32_t node, int32_t priority)
{
	for (uint32_t i = 0; i < stock->pods; i++)
		if (stock->pod[i].phase == STOCK_PENDING &&
		    stock->pod[i].makes_room == node &&
		    scene_priority(scene_kind(i)) > priority)
			return true;
	return false;
}

static void check_victim(struct world *world, const struct obs *obs, uint32_t i,
                         const struct stock_pod *was)
{
	const struct stock_node *node = &world->stock->node[was->node];
	int32_t priority = scene_priority(scene_kind(i));

	if (node->hold_priority <= priority &&
	    !is_made_room(world->stock, was->node, priority))
		check_fail(world, "ends",
		           "p-%u (%s), @%" PRId64
		           ": has to go from n-%u, and nobody more important is to come",
		           i, scene_kind_text[scene_kind(i)], obs->revision, was->node);
	world_hit(world, COVER_MOVED_PREEMPTED);
}

static void check_pod(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct stock *stock = world->stock;
	const struct stock_pod *pod = &stock->pod[i], *was = &stock->was_pod[i];

	if (pod->spoilt || was->phase != STOCK_BOUND || pod->phase != STOCK_TERMINATING ||
	    was->asked || was->node == STOCK_NONE || stock->node[was->node].spoilt)
		return;
	if (strcmp(pod->reason, "taint.noexecute") == 0)
		check_closed(world, obs, i, was);
	else if (strcmp(pod->reason, "preempted") == 0)
		check_victim(world, obs, i, was);
	else
		check_fail(world, "ends",
		           "p-%u (%s), @%" PRId64 ": is moved from n-%u for '%s'", i,
		           scene_kind_text[scene_kind(i)], obs->revision, was->node,
		           pod->reason);
}

/* So far apart are the clocks of those who write. */
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
	const struct stock_node *node = &world->stock->node[n];
	const struct stock_node *was = &world->stock->was_node[n];
	bool is_closed = node->has_node && node->what.closed;

	if (is_closed != (was->has_node && was->what.closed))
		STORY(&world->story, "judge", "@%" PRId64 " n-%u is %s", obs->revision, n,
		      is_closed ? "closed" : "open");
}

static void see(struct world *world, void *me, const struct obs *obs)
{
	const struct stock *stock = world->stock;
	struct state *state = me;

	if (obs->what != OBS_STOCK)
		return;
	for (uint32_t k = 0; k < stock->touched_nodes; k++)
		tell_closed(world, obs, stock->touched_node[k]);
	if (obs->whose <= 0)
		return;
	state->seen++;
	if (world->plan.wall_max_ms != 0 && stock->touched_pods > 0 && is_apart(world))
		world_hit(world, COVER_WALL_APART);
	for (uint32_t k = 0; k < stock->touched_pods; k++)
		check_pod(world, obs, stock->touched_pod[k]);
}

const struct check check_ends = {"ends", sizeof(struct state), see, NULL};
