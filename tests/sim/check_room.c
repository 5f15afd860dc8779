/*
 * Nominations may exceed a node by what terminates there; nothing else may.
 *
 * An alloc that a shard or client writes holds the sums of the pods that it lists and of
 * its reservations; no such write makes a node fuller than it is, or an overfull node
 * fuller still; and every write increases the generation.
 */
#include <inttypes.h>

#include "tests/sim/world.h"

struct room_state {
	uint64_t seen;
};

static const int64_t mebi = 1 << 20;

static void check_sum(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct mirror *mirror = world->mirror;
	const struct mirror_node *node = &mirror->node[i];
	struct mirror_sum sum = node->reserved;

	for (uint32_t k = 0; k < node->listed; k++) {
		uint32_t pod = node->list[k].pod;

		/* The reservation was kept although the pod's spec was deleted by
		 * hand. */
		if (pod != MIRROR_NONE && !mirror->pod[pod].has_spec &&
		    mirror->pod[pod].corrupted)
			return;
		if (pod == MIRROR_NONE || !mirror->pod[pod].has_spec)
			check_fail(world, "room",
			           "n-%u, @%" PRId64 ": p-%u is listed and is not there",
			           i, obs->revision, pod);
		sum.cpu_milli += mirror->pod[pod].what.cpu_milli;
		sum.memory_bytes += mirror->pod[pod].what.memory_mib * mebi;
		sum.pods++;
	}
	if (sum.cpu_milli != node->used.cpu_milli ||
	    sum.memory_bytes != node->used.memory_bytes || sum.pods != node->used.pods)
		check_fail(world, "room",
		           "n-%u, @%" PRId64 ": its pods and reservations are %" PRId64
		           "m, %" PRId64 " bytes, %" PRId64
		           " pods, its alloc says %" PRId64 "m, %" PRId64 ", %" PRId64,
		           i, obs->revision, sum.cpu_milli, sum.memory_bytes, sum.pods,
		           node->used.cpu_milli, node->used.memory_bytes,
		           node->used.pods);
}

/* Resources in use by pods and gangs; and by all, without those that terminate. */
struct taken_room {
	int64_t of[2][3];
};

static struct taken_room taken_of(const struct mirror *mirror,
                                  const struct mirror_node *node)
{
	const struct mirror_sum *used = &node->used, *nominated = &node->nominated;
	struct mirror_sum left = *used;

	for (uint32_t k = 0; k < node->listed; k++) {
		uint32_t pod = node->list[k].pod;

		if (pod == MIRROR_NONE || !node->list[k].leaving)
			continue;
		left.cpu_milli -= mirror->pod[pod].what.cpu_milli;
		left.memory_bytes -= mirror->pod[pod].what.memory_mib * mebi;
		left.pods--;
	}
	return (struct taken_room){{{used->cpu_milli - nominated->cpu_milli,
	                             used->memory_bytes - nominated->memory_bytes,
	                             used->pods - nominated->pods},
	                            {left.cpu_milli, left.memory_bytes, left.pods}}};
}

static void check_over(struct world *world, const struct obs *obs, uint32_t i,
                       const struct mirror_node *was)
{
	const struct mirror_node *node = &world->mirror->node[i];
	const int64_t has[] = {node->what.cpu_milli, node->what.memory_mib * mebi,
	                       node->what.pods};
	struct taken_room now = taken_of(world->mirror, node);
	struct taken_room before = taken_of(world->mirror, was);
	static const char *const what[] = {"cpu", "memory", "pods"};
	static const char *const writer[] = {"by pods and gangs", "with nominations"};

	for (unsigned k = 0; k < 6; k++) {
		int64_t is = now.of[k / 3][k % 3], was_it = before.of[k / 3][k % 3];

		if (is > has[k % 3] && is > was_it)
			check_fail(world, "room",
			           "n-%u, @%" PRId64 ": %s taken %s is %" PRId64
			           " of %" PRId64 ", before it was %" PRId64,
			           i, obs->revision, what[k % 3], writer[k / 3], is,
			           has[k % 3], was_it);
	}
}

static void check_node(struct world *world, const struct obs *obs, uint32_t i,
                       const struct mirror_node *was)
{
	const struct mirror_node *node = &world->mirror->node[i];
	bool wrote = node->has_alloc && node->alloc_rev == obs->revision;

	if (!wrote || node->corrupted)
		return;
	if (node->bad_alloc)
		check_fail(world, "room", "n-%u, @%" PRId64 ": the alloc is malformed", i,
		           obs->revision);
	if (was->has_alloc && node->generation <= was->generation)
		check_fail(world, "room",
		           "n-%u, @%" PRId64 ": generation %" PRIu64 " after %" PRIu64, i,
		           obs->revision, node->generation, was->generation);
	if (obs->writer == SIMSTORE_CLIENT)
		return;
	if (!node->has_node || node->node_rev == obs->revision || !was->has_alloc)
		check_fail(world, "room", "n-%u, @%" PRId64 ": shards write no Nodes", i,
		           obs->revision);
	check_sum(world, obs, i);
	check_over(world, obs, i, was);
}

static void observe(struct world *world, void *me, const struct obs *obs)
{
	const struct mirror *mirror = world->mirror;
	struct room_state *state = me;

	if (obs->what != OBS_MIRROR || obs->writer == SIMSTORE_NO_WRITER)
		return;
	state->seen++;
	for (uint32_t k = 0; k < mirror->touched_nodes; k++) {
		uint32_t i = mirror->touched_node[k];

		check_node(world, obs, i, &mirror->was_node[i]);
	}
}

const struct check check_room = {"room", sizeof(struct room_state), observe, NULL};
