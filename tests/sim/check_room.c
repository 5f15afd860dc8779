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

		/* It had to go somewhere when somebody took its spec away. */
		if (pod != STOCK_NONE && !stock->pod[pod].has_spec &&
		    stock->pod[pod].spoilt)
			return;
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

/* What is taken there: by pods and gangs; or by everybody, when those that leave have. */
struct taken {
	int64_t of[2][3];
};

static struct taken taken_of(const struct stock *stock, const struct stock_node *node)
{
	const struct stock_sum *used = &node->used, *nominated = &node->nominated;
	struct stock_sum left = *used;

	for (uint32_t k = 0; k < node->listed; k++) {
		uint32_t pod = node->list[k].pod;

		if (pod == STOCK_NONE || !node->list[k].leaving)
			continue;
		left.cpu_milli -= stock->pod[pod].what.cpu_milli;
		left.memory_bytes -= stock->pod[pod].what.memory_mib * mebi;
		left.pods--;
	}
	return (struct taken){{{used->cpu_milli - nominated->cpu_milli,
	                        used->memory_bytes - nominated->memory_bytes,
	                        used->pods - nominated->pods},
	                       {left.cpu_milli, left.memory_bytes, left.pods}}};
}

static void check_over(struct world *world, const struct obs *obs, uint32_t i,
                       const struct stock_node *was)
{
	const struct stock_node *node = &world->stock->node[i];
	const int64_t has[] = {node->what.cpu_milli, node->what.memory_mib * mebi,
	                       node->what.pods};
	struct taken now = taken_of(world->stock, node);
	struct taken before = taken_of(world->stock, was);
	static const char *const what[] = {"cpu", "memory", "pods"};
	static const char *const whose[] = {"by pods and gangs", "with nominations"};

	for (unsigned k = 0; k < 6; k++) {
		int64_t is = now.of[k / 3][k % 3], was_it = before.of[k / 3][k % 3];

		if (is > has[k % 3] && is > was_it)
			check_fail(world, "room",
			           "n-%u, @%" PRId64 ": %s taken %s is %" PRId64
			           " of %" PRId64 ", before it was %" PRId64,
			           i, obs->revision, what[k % 3], whose[k / 3], is,
			           has[k % 3], was_it);
	}
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
