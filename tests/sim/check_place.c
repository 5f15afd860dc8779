/*
 * Where pods are: a pod is bound to one node at a time, which exists, is listed by that
 * node's alloc and no other, is written under the epoch of its partition as it is at that
 * revision, and the node admits it as the node is at that revision.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "tests/sim/naive.h"
#include "tests/sim/world.h"

struct place_state {
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
	           scenario_kind_text[scenario_kind(i)], obs->revision, text);
}

/* -- the writer -------------------------------------------------------------- */

static void check_decider(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct mirror_pod *pod = &world->mirror->pod[i];
	const struct truth_owner *owner = &world->truth.owner[pod->partition];

	/* The state of a victim of another partition, which may have ended already, has
	 * no epoch: its preemptor compares the state. No pod is bound so. */
	if (pod->phase != MIRROR_BOUND && pod->epoch == 0)
		return;
	if (!owner->exists || owner->epoch != pod->epoch ||
	    (owner->shard != pod->shard && !world->manual_owner[pod->partition]))
		FAIL(world, obs, i,
		     "s%u decided under epoch %" PRId64
		     ", while partition %u is s%u's under %" PRId64,
		     pod->shard, pod->epoch, pod->partition, owner->shard, owner->epoch);
}

/* -- listed once ------------------------------------------------------------------ */

static void check_listed_once(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct mirror *mirror = world->mirror;
	const struct mirror_pod *pod = &mirror->pod[i];

	for (uint32_t n = 0; n < mirror->nodes; n++) {
		const struct mirror_node *node = &mirror->node[n];

		if (n != pod->node && !node->corrupted && mirror_lists(node, i))
			FAIL(world, obs, i, "is bound to n-%u, and n-%u lists it",
			     pod->node, n);
	}
}

static void check_bound(struct world *world, const struct obs *obs, uint32_t i,
                        const struct mirror_pod *was)
{
	const struct mirror_pod *pod = &world->mirror->pod[i];
	const struct mirror_node *node;
	bool moved = pod->node != was->node;
	const char *why;

	if (pod->node == MIRROR_NONE || !pod->has_spec)
		FAIL(world, obs, i, "is bound %s",
		     pod->has_spec ? "to a node that does not exist" : "and has no spec");
	node = &world->mirror->node[pod->node];
	if (mirror_is_placed(was) && moved)
		FAIL(world, obs, i, "is bound to n-%u, and was bound to n-%u", pod->node,
		     was->node);
	if (was->phase != MIRROR_BOUND && was->phase != MIRROR_PENDING &&
	    was->phase != MIRROR_NO_STATE)
		FAIL(world, obs, i, "is bound, and had ended");
	if (pod->incarnation != pod->what.incarnation)
		FAIL(world, obs, i,
		     "incarnation %u is bound, and its spec is incarnation %u",
		     pod->incarnation, pod->what.incarnation);
	if (node->corrupted)
		return; /* a listing that was removed by hand can not be seen */
	if (!node->has_node || !node->has_alloc || !mirror_lists(node, i))
		FAIL(world, obs, i, "is bound to n-%u, which %s", pod->node,
		     node->has_node && node->has_alloc ? "does not list it"
		                                       : "is not there");
	check_listed_once(world, obs, i);
	/* The reservation was made when the node admitted the pod (check_gang.c). */
	if (scenario_is_gang(i) &&
	    world->mirror->gang[scenario_gang(i)].phase == MIRROR_GANG_BOUND)
		return;
	why = moved ? naive_refuses(world->mirror, pod->node, i) : NULL;
	if (why != NULL)
		FAIL(world, obs, i, "is bound to n-%u, and %s", pod->node, why);
}

/* A pod keeps its place until its member says that it does not run any more, or the node
 * is gone. */
static void check_leaves(struct world *world, const struct obs *obs, uint32_t i,
                         const struct mirror_pod *was)
{
	const struct mirror_pod *pod = &world->mirror->pod[i];

	if (!mirror_is_placed(was) || mirror_is_placed(pod))
		return;
	world_hit(world, COVER_LEFT);
	STORY(&world->story, "judge", "@%" PRId64 " p-%u (%s) leaves n-%u", obs->revision,
	      i, scenario_kind_text[scenario_kind(i)], was->node);
	if (!was->ended && was->node != MIRROR_NONE &&
	    world->mirror->node[was->node].has_alloc &&
	    !world->mirror->node[was->node].corrupted)
		FAIL(world, obs, i, "loses its place on n-%u, where it still runs",
		     was->node);
}

/* The pod had a place before, and a rule selects it now that did not, or the other way
 * round. */
static bool labels_changed(const struct mirror_pod *pod, uint32_t i)
{
	return pod->left_ms != 0 && scenario_is_selected(i, pod->left_labels) !=
	                                    scenario_is_selected(i, mirror_labels(pod));
}

static void check_pod(struct world *world, const struct obs *obs, uint32_t i,
                      const struct mirror_pod *was)
{
	const struct mirror_pod *pod = &world->mirror->pod[i];

	if (pod->corrupted)
		return;
	if (!pod->has_spec && was->has_spec && !was->unwanted)
		FAIL(world, obs, i, "a shard removed it without a request");
	check_leaves(world, obs, i, was);
	if (pod->phase == MIRROR_NO_STATE || pod->state_rev != obs->revision)
		return;
	check_decider(world, obs, i);
	if (pod->phase == MIRROR_BOUND)
		check_bound(world, obs, i, was);
	if (pod->phase == MIRROR_BOUND && was->phase != MIRROR_BOUND) {
		world_hit(world, COVER_BOUND_BASIC + (unsigned)scenario_kind(i));
		if (labels_changed(pod, i))
			world_hit(world, COVER_RELABELLED_POD);
		STORY(&world->story, "judge", "@%" PRId64 " p-%u (%s) is on n-%u",
		      obs->revision, i, scenario_kind_text[scenario_kind(i)], pod->node);
	}
}

/* -- allocs ------------------------------------------------------------------------- */

/* Exactly the terminating pods are marked as leaving. */
static void check_leaving(struct world *world, const struct obs *obs, uint32_t n)
{
	const struct mirror_node *node = &world->mirror->node[n];

	for (uint32_t k = 0; k < node->listed; k++) {
		uint32_t i = node->list[k].pod;

		if (i == MIRROR_NONE || world->mirror->pod[i].corrupted)
			continue;
		if (node->list[k].leaving !=
		    (world->mirror->pod[i].phase == MIRROR_TERMINATING))
			FAIL(world, obs, i, "n-%u lists it as %s", n,
			     node->list[k].leaving ? "leaving, and it does not terminate"
			                           : "staying, and it terminates");
	}
}

/* Compares the pods of one list with the other. */
static void check_lists(struct world *world, const struct obs *obs, uint32_t n)
{
	const struct mirror *mirror = world->mirror;
	const struct mirror_node *node = &mirror->node[n], *was = &mirror->was_node[n];

	for (uint32_t k = 0; k < node->listed; k++) {
		uint32_t i = node->list[k].pod;
		const struct mirror_pod *pod;

		if (i == MIRROR_NONE || mirror_lists(was, i))
			continue;
		pod = &mirror->pod[i];
		if (pod->corrupted)
			continue;
		if (!mirror_is_placed(pod) || pod->node != n ||
		    pod->partition != node->list[k].partition)
			FAIL(world, obs, i, "n-%u lists it, and its state is elsewhere",
			     n);
	}
	check_leaving(world, obs, n);
	for (uint32_t k = 0; k < was->listed; k++) {
		uint32_t i = was->list[k].pod;

		if (i != MIRROR_NONE && !mirror_lists(node, i) &&
		    !mirror->pod[i].corrupted && mirror_is_placed(&mirror->pod[i]) &&
		    mirror->pod[i].node == n)
			FAIL(world, obs, i, "is on n-%u, whose alloc drops it", n);
	}
}

static void observe(struct world *world, void *me, const struct obs *obs)
{
	const struct mirror *mirror = world->mirror;
	struct place_state *state = me;

	if (obs->what != OBS_MIRROR || obs->writer == SIMSTORE_NO_WRITER)
		return;
	state->seen++;
	for (uint32_t k = 0; k < mirror->touched_nodes; k++)
		if (!mirror->node[mirror->touched_node[k]].corrupted)
			check_lists(world, obs, mirror->touched_node[k]);
	if (obs->writer == SIMSTORE_CLIENT)
		return;
	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		uint32_t i = mirror->touched_pod[k];

		check_pod(world, obs, i, &mirror->was_pod[i]);
	}
}

const struct check check_place = {"place", sizeof(struct place_state), observe, NULL};
