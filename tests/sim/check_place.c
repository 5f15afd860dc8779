/*
 * Where pods are: bound at most once at a time, to a node that is there, listed by that
 * node's alloc and no other, under the epoch of the pod's partition as it is at that
 * revision, and where the node lets it, as the node is at that revision.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "tests/sim/naive.h"
#include "tests/sim/world.h"

struct state {
	uint64_t seen;
};

#define FAIL(world, obs, i, ...) fail_pod(world, obs, i, __VA_ARGS__)

PL_PRINTF(4, 5)
_Noreturn static void fail_pod(struct world *world, const struct obs *obs, uint32_t i,
                               const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	check_fail(world, "place", "p-%u (%s), @%" PRId64 ": %s", i,
	           scene_kind_text[scene_kind(i)], obs->revision, text);
}

/* -- who decides ------------------------------------------------------------- */

static void check_decider(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct stock_pod *pod = &world->stock->pod[i];
	const struct truth_owner *owner = &world->truth.owner[pod->partition];

	/* A victim of another partition, which may have ended already: who takes its
	 * place compares its state. Nobody is bound so. */
	if (pod->phase != STOCK_BOUND && pod->epoch == 0)
		return;
	if (!owner->exists || owner->epoch != pod->epoch ||
	    (owner->shard != pod->shard && !world->handmade[pod->partition]))
		FAIL(world, obs, i,
		     "s%u decided under epoch %" PRId64
		     ", while partition %u is s%u's under %" PRId64,
		     pod->shard, pod->epoch, pod->partition, owner->shard, owner->epoch);
}

/* -- and that it is there once ---------------------------------------------------- */

static void check_listed_once(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct stock *stock = world->stock;
	const struct stock_pod *pod = &stock->pod[i];

	for (uint32_t n = 0; n < stock->nodes; n++) {
		const struct stock_node *node = &stock->node[n];

		if (n != pod->node && !node->spoilt && stock_lists(node, i))
			FAIL(world, obs, i, "is bound to n-%u, and n-%u lists it",
			     pod->node, n);
	}
}

static void check_bound(struct world *world, const struct obs *obs, uint32_t i,
                        const struct stock_pod *was)
{
	const struct stock_pod *pod = &world->stock->pod[i];
	const struct stock_node *node;
	bool moved = pod->node != was->node;
	const char *why;

	if (pod->node == STOCK_NONE || !pod->has_spec)
		FAIL(world, obs, i, "is bound %s",
		     pod->has_spec ? "to a node that is none" : "and has no spec");
	node = &world->stock->node[pod->node];
	if (stock_is_placed(was) && moved)
		FAIL(world, obs, i, "is bound to n-%u, and was bound to n-%u", pod->node,
		     was->node);
	if (was->phase != STOCK_BOUND && was->phase != STOCK_PENDING &&
	    was->phase != STOCK_NO_STATE)
		FAIL(world, obs, i, "is bound, and was at its end");
	if (pod->life != pod->what.life)
		FAIL(world, obs, i, "life %u is bound, and it is in life %u", pod->life,
		     pod->what.life);
	if (node->spoilt)
		return; /* what somebody took away there, nobody had to see */
	if (!node->has_node || !node->has_alloc || !stock_lists(node, i))
		FAIL(world, obs, i, "is bound to n-%u, which %s", pod->node,
		     node->has_node && node->has_alloc ? "does not list it"
		                                       : "is not there");
	check_listed_once(world, obs, i);
	/* What was held for it was so when the node would have it (check_gang.c). */
	if (scene_is_gang(i) &&
	    world->stock->gang[scene_gang(i)].phase == STOCK_GANG_BOUND)
		return;
	why = moved ? naive_refuses(world->stock, pod->node, i) : NULL;
	if (why != NULL)
		FAIL(world, obs, i, "is bound to n-%u, and %s", pod->node, why);
}

/* It keeps its place until who runs it says that it does not run any more; or the node is
 * gone. */
static void check_leaves(struct world *world, const struct obs *obs, uint32_t i,
                         const struct stock_pod *was)
{
	const struct stock_pod *pod = &world->stock->pod[i];

	if (!stock_is_placed(was) || stock_is_placed(pod))
		return;
	world_hit(world, COVER_LEFT);
	STORY(&world->story, "judge", "@%" PRId64 " p-%u (%s) leaves n-%u", obs->revision,
	      i, scene_kind_text[scene_kind(i)], was->node);
	if (!was->ended && was->node != STOCK_NONE &&
	    world->stock->node[was->node].has_alloc &&
	    !world->stock->node[was->node].spoilt)
		FAIL(world, obs, i, "loses its place on n-%u, where it still runs",
		     was->node);
}

/* It had a place before, and now a rule finds it that did not, or the other way round. */
static bool looks_otherwise(const struct stock_pod *pod, uint32_t i)
{
	return pod->left_ms != 0 &&
	       scene_is_found(i, pod->left_life) != scene_is_found(i, pod->life);
}

static void check_pod(struct world *world, const struct obs *obs, uint32_t i,
                      const struct stock_pod *was)
{
	const struct stock_pod *pod = &world->stock->pod[i];

	if (pod->spoilt)
		return;
	if (!pod->has_spec && was->has_spec && !was->unwanted)
		FAIL(world, obs, i, "a shard removed it, and nobody wanted that");
	check_leaves(world, obs, i, was);
	if (pod->phase == STOCK_NO_STATE || pod->state_rev != obs->revision)
		return;
	check_decider(world, obs, i);
	if (pod->phase == STOCK_BOUND)
		check_bound(world, obs, i, was);
	if (pod->phase == STOCK_BOUND && was->phase != STOCK_BOUND) {
		world_hit(world, COVER_BOUND_BASIC + (unsigned)scene_kind(i));
		if (looks_otherwise(pod, i))
			world_hit(world, COVER_RELABELLED_POD);
		STORY(&world->story, "judge", "@%" PRId64 " p-%u (%s) is on n-%u",
		      obs->revision, i, scene_kind_text[scene_kind(i)], pod->node);
	}
}

/* -- what allocs say of it ---------------------------------------------------------- */

/* Who terminates is marked, and nobody else. */
static void check_leaving(struct world *world, const struct obs *obs, uint32_t n)
{
	const struct stock_node *node = &world->stock->node[n];

	for (uint32_t k = 0; k < node->listed; k++) {
		uint32_t i = node->list[k].pod;

		if (i == STOCK_NONE || world->stock->pod[i].spoilt)
			continue;
		if (node->list[k].leaving !=
		    (world->stock->pod[i].phase == STOCK_TERMINATING))
			FAIL(world, obs, i, "n-%u says that it %s", n,
			     node->list[k].leaving ? "leaves, and it does not"
			                           : "stays, and it terminates");
	}
}

/* Of the pods of one list, those that are not in the other. */
static void check_lists(struct world *world, const struct obs *obs, uint32_t n)
{
	const struct stock *stock = world->stock;
	const struct stock_node *node = &stock->node[n], *was = &stock->was_node[n];

	for (uint32_t k = 0; k < node->listed; k++) {
		uint32_t i = node->list[k].pod;
		const struct stock_pod *pod;

		if (i == STOCK_NONE || stock_lists(was, i))
			continue;
		pod = &stock->pod[i];
		if (pod->spoilt)
			continue;
		if (!stock_is_placed(pod) || pod->node != n ||
		    pod->partition != node->list[k].partition)
			FAIL(world, obs, i, "n-%u lists it, and it is not there", n);
	}
	check_leaving(world, obs, n);
	for (uint32_t k = 0; k < was->listed; k++) {
		uint32_t i = was->list[k].pod;

		if (i != STOCK_NONE && !stock_lists(node, i) && !stock->pod[i].spoilt &&
		    stock_is_placed(&stock->pod[i]) && stock->pod[i].node == n)
			FAIL(world, obs, i, "is on n-%u, which forgets it", n);
	}
}

static void see(struct world *world, void *me, const struct obs *obs)
{
	const struct stock *stock = world->stock;
	struct state *state = me;

	if (obs->what != OBS_STOCK || obs->whose == DEPOT_NOBODY)
		return;
	state->seen++;
	for (uint32_t k = 0; k < stock->touched_nodes; k++)
		if (!stock->node[stock->touched_node[k]].spoilt)
			check_lists(world, obs, stock->touched_node[k]);
	if (obs->whose == DEPOT_CLERK)
		return;
	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k];

		check_pod(world, obs, i, &stock->was_pod[i]);
	}
}

const struct check check_place = {"place", sizeof(struct state), see, NULL};
