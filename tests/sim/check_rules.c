/*
 * What pods require of other pods, judged naively against everything that stands in the
 * store at the revision of the commit, whoever owns it: spread, affinity, anti-affinity,
 * and that a gang is there whole or not at all.
 *
 * Pods that end still take their place; where Kubernetes does not count them, both ways
 * of counting are right.
 */
#include <inttypes.h>

#include "tests/sim/world.h"

/* What happened is known after so long. */
enum { LATELY_MS = 10000 };

struct state {
	uint64_t seen;
};

/* As it is now: nodes are moved. */
static unsigned zone_of(const struct stock *stock, uint32_t node)
{
	return stock->node[node].what.zone;
}

/* Nobody knows that it is there, or in which zone: it was spoilt, or its Node is, before
 * or after it came. */
static bool is_hidden(const struct stock *stock, uint32_t k)
{
	const struct stock_pod *pod = &stock->pod[k];
	const struct stock_node *node =
		pod->node == STOCK_NONE ? NULL : &stock->node[pod->node];

	return pod->spoilt ||
	       (node != NULL && node->spoilt && (node->bad_node || !node->has_node));
}

/* Of its group, placed; but one. */
static bool is_peer(const struct stock *stock, uint32_t group, uint32_t k, bool ending)
{
	const struct stock_pod *pod = &stock->pod[k];

	return scene_group(k) == group && pod->node != STOCK_NONE &&
	       (pod->phase == STOCK_BOUND || (ending && pod->phase == STOCK_TERMINATING));
}

/* Groups lie close together. */
static void around(const struct stock *stock, uint32_t i, uint32_t *from, uint32_t *to)
{
	*from = i / SCENE_GROUP * SCENE_GROUP;
	*to = *from + SCENE_GROUP < stock->pods ? *from + SCENE_GROUP : stock->pods;
}

static void check_anti(struct world *world, const struct obs *obs, uint32_t i, bool zone)
{
	const struct stock *stock = world->stock;
	uint32_t from, to, here = stock->pod[i].node;

	around(stock, i, &from, &to);
	for (uint32_t k = from; k < to; k++) {
		uint32_t there = stock->pod[k].node;

		if (k == i || (zone ? is_hidden(stock, k) : stock->pod[k].spoilt) ||
		    !is_peer(stock, scene_group(i), k, true))
			continue;
		if (zone ? zone_of(stock, here) == zone_of(stock, there) : here == there)
			check_fail(world, "rules",
			           "p-%u (%s), @%" PRId64 ": on n-%u, and p-%u on n-%u",
			           i, scene_kind_text[scene_kind(i)], obs->revision, here,
			           k, there);
	}
}

static void check_affinity(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct stock *stock = world->stock;
	uint32_t from, to, elsewhere = 0, zone = zone_of(stock, stock->pod[i].node);

	around(stock, i, &from, &to);
	for (uint32_t k = from; k < to; k++) {
		if (k == i || !is_peer(stock, scene_group(i), k, true))
			continue;
		if (zone_of(stock, stock->pod[k].node) == zone || is_hidden(stock, k))
			return;
		elsewhere += stock->pod[k].phase == STOCK_BOUND;
	}
	if (elsewhere > 0)
		check_fail(world, "rules",
		           "p-%u (%s), @%" PRId64
		           ": in zone %u, where none of its group is, and %u elsewhere",
		           i, scene_kind_text[scene_kind(i)], obs->revision, zone,
		           elsewhere);
}

/* Comes in the same transaction, and may do so after all that it is judged with: it has
 * no rule of its own. */
static bool may_be_last(const struct stock *stock, uint32_t i, uint32_t k)
{
	return k != i && !scene_is_carrier(k) &&
	       stock->pod[k].state_rev == stock->pod[i].state_rev &&
	       zone_of(stock, stock->pod[k].node) == zone_of(stock, stock->pod[i].node);
}

/* How many of its group the emptiest host has: there may be few, as they come. */
static uint32_t on_least(const struct stock *stock, uint32_t i, bool ending)
{
	uint32_t least = UINT32_MAX, from, to;

	around(stock, i, &from, &to);
	for (uint32_t n = 0; n < stock->nodes && least > 0; n++) {
		uint32_t here = 0;

		if (!stock->node[n].has_node || !stock->node[n].has_alloc ||
		    stock->node[n].spoilt)
			continue;
		for (uint32_t k = from; k < to; k++)
			here += is_peer(stock, scene_group(i), k, ending) &&
			        stock->pod[k].node == n;
		least = here < least ? here : least;
	}
	return least;
}

/* How many more there are than in the emptiest domain. */
static uint32_t skew(const struct stock *stock, uint32_t i, bool zone, bool ending)
{
	uint32_t count[SCENE_ZONES_ALL] = {0}, least = UINT32_MAX, here = 0, from, to;
	uint32_t node = stock->pod[i].node;
	bool has[SCENE_ZONES_ALL] = {0};

	around(stock, i, &from, &to);
	for (uint32_t k = from; k < to; k++) {
		if (k != i && (!is_peer(stock, scene_group(i), k, ending) ||
		               may_be_last(stock, i, k)))
			continue;
		here += stock->pod[k].node == node;
		count[zone_of(stock, stock->pod[k].node)]++;
	}
	for (uint32_t n = 0; n < stock->nodes; n++)
		if (stock->node[n].has_node && stock->node[n].has_alloc &&
		    !stock->node[n].spoilt)
			has[zone_of(stock, n)] = true;
	if (!zone)
		return here - on_least(stock, i, ending);
	for (unsigned z = 0; z < SCENE_ZONES_ALL; z++)
		if (has[z] && count[z] < least)
			least = count[z];
	return count[zone_of(stock, node)] - least;
}

static void check_spread(struct world *world, const struct obs *obs, uint32_t i,
                         bool zone)
{
	if (skew(world->stock, i, zone, true) <= 1 ||
	    skew(world->stock, i, zone, false) <= 1)
		return;
	check_fail(world, "rules", "p-%u (%s), @%" PRId64 ": skew %u on n-%u", i,
	           scene_kind_text[scene_kind(i)], obs->revision,
	           skew(world->stock, i, zone, false), world->stock->pod[i].node);
}

static void check_whole(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct stock *stock = world->stock;
	uint32_t gang = scene_gang(i), count = 0, pods[SCENE_GANG_PODS];
	uint32_t members = scene_gang_pods(gang, stock->pods, pods);
	uint64_t now = world->agenda.now_ms;

	/* Its members become so one after the other. */
	if (stock->gang[gang].phase == STOCK_GANG_BOUND || stock->gang_spoilt[gang])
		return;
	/* Who has just gone counts for whoever did not see that: those who stand are not
	 * compared, since they may go at the next moment. */
	for (uint32_t k = 0; k < members; k++) {
		const struct stock_pod *pod = &stock->pod[pods[k]];

		count += pod->spoilt || is_peer(stock, scene_group(i), pods[k], true) ||
		         (pod->left_ms != 0 && now - pod->left_ms < LATELY_MS);
	}
	if (count < scene_gang_min(gang))
		check_fail(world, "rules",
		           "p-%u (gang), @%" PRId64 ": %u of the gang are bound, of %u",
		           i, obs->revision, count, scene_gang_min(gang));
}

/* Whether one of its group is hidden: then nobody knows how many there are. */
static bool is_blurred(const struct stock *stock, uint32_t i)
{
	uint32_t from, to;

	around(stock, i, &from, &to);
	for (uint32_t k = from; k < to; k++)
		if (is_hidden(stock, k))
			return true;
	return false;
}

static void check_pod(struct world *world, const struct obs *obs, uint32_t i)
{
	bool blurred = is_blurred(world->stock, i);

	switch (scene_kind(i)) {
	case SCENE_ANTI_HOST:
	case SCENE_STATEFUL:
		check_anti(world, obs, i, false);
		return;
	case SCENE_ANTI_ZONE:
	case SCENE_APART_ANTI:
		check_anti(world, obs, i, true);
		return;
	case SCENE_AFFINITY:
	case SCENE_APART_AFFINITY:
		check_affinity(world, obs, i);
		return;
	case SCENE_SPREAD_HOST:
	case SCENE_SPREAD_ZONE:
		if (!blurred)
			check_spread(world, obs, i, scene_kind(i) == SCENE_SPREAD_ZONE);
		return;
	case SCENE_APART_SPREAD:
		if (!blurred && scene_is_carrier(i))
			check_spread(world, obs, i, true);
		return;
	case SCENE_GANG:
	case SCENE_LARGE:
		check_whole(world, obs, i);
		return;
	case SCENE_BASIC:
	case SCENE_NODEAFFINITY:
	case SCENE_SELECTOR:
	case SCENE_TOLERATES:
	case SCENE_PORT:
	case SCENE_FILL:
	case SCENE_HIGH:
	case SCENE_BEARS:
	case SCENE_NEVER:
	case SCENE_KINDS:
		return;
	}
}

static void see(struct world *world, void *me, const struct obs *obs)
{
	const struct stock *stock = world->stock;
	struct state *state = me;

	if (obs->what != OBS_STOCK || obs->whose <= 0 || stock->rules_spoilt)
		return;
	state->seen++;
	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k];

		if (stock->pod[i].phase == STOCK_BOUND &&
		    stock->was_pod[i].phase != STOCK_BOUND && !stock->pod[i].spoilt &&
		    stock->pod[i].node != STOCK_NONE)
			check_pod(world, obs, i);
	}
}

const struct check check_rules = {"rules", sizeof(struct state), see, NULL};
