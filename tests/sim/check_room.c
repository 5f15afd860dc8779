/*
 * What is nominated may exceed a node by what terminates there; all else may not.
 *
 * What is taken on a node: whoever of ours writes an alloc writes the sum of the pods
 * that it lists and of its holds; no such write makes a node fuller than it is, or fuller
 * still; and every write makes the generation greater.
 */
#include <inttypes.h>

#include "tests/sim/world.h"

struct state {
	uint64_t seen;
};

static const int64_t mebi = 1 << 20;

static void check_sum(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct stock *stock = world->stock;
	const struct stock_node *node = &stock->node[i];
	struct stock_sum sum = node->held;

	for (uint32_t k = 0; k < node->listed; k++) {
		uint32_t pod = node->list[k].pod;

		if (pod == STOCK_NONE || !stock->pod[pod].has_spec)
			check_fail(world, "room",
			           "n-%u, @%" PRId64 ": p-%u is listed and is not there",
			           i, obs->revision, pod);
		sum.cpu_milli += stock->pod[pod].what.cpu_milli;
		sum.memory_bytes += stock->pod[pod].what.memory_mib * mebi;
		sum.pods++;
	}
	if (sum.cpu_milli != node->used.cpu_milli ||
	    sum.memory_bytes != node->used.memory_bytes || sum.pods != node->used.pods)
		check_fail(world, "room",
		           "n-%u, @%" PRId64 ": its pods and holds are %" PRId64
		           "m, %" PRId64 " bytes, %" PRId64
		           " pods, its alloc says %" PRId64 "m, %" PRId64 ", %" PRId64,
		           i, obs->revision, sum.cpu_milli, sum.memory_bytes, sum.pods,
		           node->used.cpu_milli, node->used.memory_bytes,
		           node->used.pods);
}

static void check_over(struct world *world, const struct obs *obs, uint32_t i,
                       const struct stock_node *was)
{
	const struct stock_node *node = &world->stock->node[i];
	const int64_t has[] = {node->what.cpu_milli, node->what.memory_mib * mebi,
	                       node->what.pods};
	const int64_t now[] = {node->used.cpu_milli - node->nominated.cpu_milli,
	                       node->used.memory_bytes - node->nominated.memory_bytes,
	                       node->used.pods - node->nominated.pods};
	const int64_t before[] = {was->used.cpu_milli - was->nominated.cpu_milli,
	                          was->used.memory_bytes - was->nominated.memory_bytes,
	                          was->used.pods - was->nominated.pods};
	static const char *const what[] = {"cpu", "memory", "pods"};

	for (unsigned k = 0; k < 3; k++)
		if (now[k] > has[k] && now[k] > before[k])
			check_fail(world, "room",
			           "n-%u, @%" PRId64 ": %s taken is %" PRId64
			           " of %" PRId64 ", before it was %" PRId64,
			           i, obs->revision, what[k], now[k], has[k], before[k]);
}

static void check_node(struct world *world, const struct obs *obs, uint32_t i,
                       const struct stock_node *was)
{
	const struct stock_node *node = &world->stock->node[i];
	bool wrote = node->has_alloc && node->alloc_rev == obs->revision;

	if (!wrote || node->spoilt)
		return;
	if (node->bad_alloc)
		check_fail(world, "room",
		           "n-%u, @%" PRId64 ": an alloc that makes no sense", i,
		           obs->revision);
	if (was->has_alloc && node->generation <= was->generation)
		check_fail(world, "room",
		           "n-%u, @%" PRId64 ": generation %" PRIu64 " after %" PRIu64, i,
		           obs->revision, node->generation, was->generation);
	if (obs->whose == DEPOT_CLERK)
		return;
	if (!node->has_node || node->node_rev == obs->revision || !was->has_alloc)
		check_fail(world, "room", "n-%u, @%" PRId64 ": shards write no Nodes", i,
		           obs->revision);
	check_sum(world, obs, i);
	check_over(world, obs, i, was);
}

static void see(struct world *world, void *me, const struct obs *obs)
{
	const struct stock *stock = world->stock;
	struct state *state = me;

	if (obs->what != OBS_STOCK || obs->whose == DEPOT_NOBODY)
		return;
	state->seen++;
	for (uint32_t k = 0; k < stock->touched_nodes; k++) {
		uint32_t i = stock->touched_node[k];

		check_node(world, obs, i, &stock->was_node[i]);
	}
}

const struct check check_room = {"room", sizeof(struct state), see, NULL};
