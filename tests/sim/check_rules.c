/*
 * What pods require of other pods, judged naively against everything that stands in the
 * store at the revision of the commit, whoever owns it: spread, affinity, anti-affinity,
 * and that a gang is there whole or not at all.
 *
 * Pods that end still take their place; where Kubernetes does not count them, both ways
 * of counting are right. Each is judged by the labels of the life that is bound.
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

/* Those that its rule finds when they have the label, itself among them. */
struct group {
	uint32_t pod[SCENE_GANG_PODS + SCENE_GROUP], pods;
};

static struct group group_of(const struct stock *stock, uint32_t i)
{
	struct group out = {.pods = 0};
	uint32_t first = i / SCENE_GROUP * SCENE_GROUP; /* they lie close together */

	if (scene_is_gang(i)) {
		out.pods = scene_gang_pods(scene_gang(i), stock->pods, out.pod);
		for (uint32_t k = 0; k < stock->pods; k++)
			if (scene_found_by(k) == scene_gang(i))
				out.pod[out.pods++] = k;
		return out;
	}
	for (uint32_t k = first; k < first + SCENE_GROUP && k < stock->pods; k++)
		if (scene_group(k) == scene_group(i))
			out.pod[out.pods++] = k;
	return out;
}

/* Its gang is bound as a whole, and it is about to follow. */
static const struct stock_planned *follows(const struct stock *stock, uint32_t i)
{
	if (!scene_is_gang(i) || stock->gang[scene_gang(i)].phase != STOCK_GANG_BOUND)
		return NULL;
	return stock_planned_of(&stock->gang[scene_gang(i)], i);
}

/* Who counts: also who ends; also who was to follow and has gone, of which nobody may
 * have heard. */
enum { BOUND_ONLY = 0, AND_ENDING = 1, AND_OVER = 2, ALL = AND_ENDING | AND_OVER };

/* STOCK_NONE: it has none that counts. */
static uint32_t place_of(const struct stock *stock, uint32_t i, unsigned who)
{
	const struct stock_pod *pod = &stock->pod[i];
	const struct stock_planned *is = follows(stock, i);
	bool ending = (who & AND_ENDING) != 0, over = (who & AND_OVER) != 0;

	if (pod->phase == STOCK_BOUND || (ending && pod->phase == STOCK_TERMINATING))
		return pod->node;
	return is == NULL || (is->over && !over) ? STOCK_NONE : is->node;
}

/* The one that has its place. */
static uint32_t life_of(const struct stock *stock, uint32_t i)
{
	const struct stock_planned *is = follows(stock, i);

	if (is != NULL && !stock_is_placed(&stock->pod[i]))
		return is->life;
	return stock_life(&stock->pod[i]);
}

static bool carries(const struct stock *stock, uint32_t i)
{
	return scene_is_carrier(i, life_of(stock, i));
}

static bool is_found(const struct stock *stock, uint32_t i)
{
	return scene_is_found(i, life_of(stock, i));
}

/* Nobody knows that it is there, or in which zone: it was spoilt, or its Node is, before
 * or after it came. */
static bool is_hidden(const struct stock *stock, uint32_t k)
{
	uint32_t at = place_of(stock, k, ALL);
	const struct stock_node *node = at == STOCK_NONE ? NULL : &stock->node[at];

	return stock->pod[k].spoilt ||
	       (node != NULL && node->spoilt && (node->bad_node || !node->has_node));
}

/* It is in this revision that it came there. */
static bool is_new(const struct stock *stock, uint32_t i)
{
	const struct stock_pod *pod = &stock->pod[i];

	if (pod->phase != STOCK_BOUND)
		return follows(stock, i) != NULL;
	return stock->is_touched_pod[i] && stock->was_pod[i].phase != STOCK_BOUND;
}

static void check_anti(struct world *world, const struct obs *obs, uint32_t i, bool zone)
{
	const struct stock *stock = world->stock;
	const struct group group = group_of(stock, i);
	uint32_t here = place_of(stock, i, ALL);

	for (uint32_t n = 0; n < group.pods; n++) {
		uint32_t k = group.pod[n], there = place_of(stock, k, AND_ENDING);

		if (k == i || there == STOCK_NONE ||
		    (zone ? is_hidden(stock, k) : stock->pod[k].spoilt))
			continue;
		if (!(carries(stock, i) && is_found(stock, k)) &&
		    !(carries(stock, k) && is_found(stock, i)))
			continue;
		if (zone ? zone_of(stock, here) == zone_of(stock, there) : here == there)
			check_fail(world, "rules",
			           "p-%u (%s), @%" PRId64 ": on n-%u, and p-%u on n-%u",
			           i, scene_kind_text[scene_kind(i)], obs->revision, here,
			           k, there);
	}
}

/* Comes in the same transaction, and may do so before or after all that it is judged
 * with: it has no rule of its own. */
static bool is_loose(const struct stock *stock, uint32_t i, uint32_t k)
{
	return k != i && !carries(stock, k) && is_new(stock, k);
}

/* In a zone where one of its group was, that ends now. */
static bool may_follow_ending(const struct stock *stock, const struct group *group,
                              uint32_t i)
{
	unsigned zone = zone_of(stock, place_of(stock, i, ALL));

	for (uint32_t n = 0; n < group->pods; n++) {
		uint32_t there = place_of(stock, group->pod[n], AND_ENDING);

		if (stock->pod[group->pod[n]].phase == STOCK_TERMINATING &&
		    is_found(stock, group->pod[n]) && there != STOCK_NONE &&
		    zone_of(stock, there) == zone)
			return true;
	}
	return false;
}

/* Those that come at once may be the first: then all of them in one zone. */
static void check_affinity(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct stock *stock = world->stock;
	const struct group group = group_of(stock, i);
	uint32_t elsewhere = 0, others = 0,
		 zone = zone_of(stock, place_of(stock, i, ALL));

	for (uint32_t n = 0; n < group.pods; n++) {
		uint32_t k = group.pod[n], there = place_of(stock, k, AND_ENDING);
		bool here = there != STOCK_NONE && zone_of(stock, there) == zone;

		if (k == i || (there == STOCK_NONE && !is_hidden(stock, k)))
			continue;
		if (is_hidden(stock, k))
			return;
		if (!is_found(stock, k))
			continue;
		if (here && (!is_new(stock, k) || is_loose(stock, i, k)))
			return;
		if (is_loose(stock, i, k))
			continue;
		if (is_new(stock, k))
			others += !here && !may_follow_ending(stock, &group, k);
		else
			elsewhere += stock->pod[k].phase == STOCK_BOUND;
	}
	if (elsewhere + others > 0)
		check_fail(world, "rules",
		           "p-%u (%s), @%" PRId64 ": in zone %u, where none of its group "
		           "was, and %u elsewhere, and %u that came with it",
		           i, scene_kind_text[scene_kind(i)], obs->revision, zone,
		           elsewhere, others);
}

/* How many of its group the emptiest host has: there may be few, as they come. */
static uint32_t on_least(const struct stock *stock, const struct group *group,
                         unsigned who)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t n = 0; n < stock->nodes && least > 0; n++) {
		uint32_t here = 0;

		if (!stock->node[n].has_node || !stock->node[n].has_alloc ||
		    stock->node[n].spoilt)
			continue;
		for (uint32_t k = 0; k < group->pods; k++)
			here += is_found(stock, group->pod[k]) &&
			        place_of(stock, group->pod[k], who) == n;
		least = here < least ? here : least;
	}
	return least;
}

/* How many more there are than in the emptiest domain. */
static uint32_t skew(const struct stock *stock, uint32_t i, bool zone, unsigned who)
{
	const struct group group = group_of(stock, i);
	uint32_t count[SCENE_ZONES_ALL] = {0}, least = UINT32_MAX, here = 0;
	uint32_t node = place_of(stock, i, ALL);
	bool has[SCENE_ZONES_ALL] = {0};

	for (uint32_t n = 0; n < group.pods; n++) {
		uint32_t k = group.pod[n], there = place_of(stock, k, k == i ? ALL : who);

		if (there == STOCK_NONE || !is_found(stock, k) ||
		    (is_loose(stock, i, k) &&
		     zone_of(stock, there) == zone_of(stock, node)))
			continue;
		here += there == node;
		count[zone_of(stock, there)]++;
	}
	for (uint32_t n = 0; n < stock->nodes; n++)
		if (stock->node[n].has_node && stock->node[n].has_alloc &&
		    !stock->node[n].spoilt)
			has[zone_of(stock, n)] = true;
	if (!zone)
		return here - on_least(stock, &group, who);
	for (unsigned z = 0; z < SCENE_ZONES_ALL; z++)
		if (has[z] && count[z] < least)
			least = count[z];
	return count[zone_of(stock, node)] - least;
}

static void check_spread(struct world *world, const struct obs *obs, uint32_t i,
                         bool zone)
{
	for (unsigned who = BOUND_ONLY; who <= ALL; who++)
		if (skew(world->stock, i, zone, who) <= 1)
			return;
	check_fail(world, "rules", "p-%u (%s), @%" PRId64 ": skew %u on n-%u", i,
	           scene_kind_text[scene_kind(i)], obs->revision,
	           skew(world->stock, i, zone, BOUND_ONLY),
	           place_of(world->stock, i, ALL));
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

		count += pod->spoilt ||
		         place_of(stock, pods[k], AND_ENDING) != STOCK_NONE ||
		         (pod->left_ms != 0 && now - pod->left_ms < LATELY_MS);
	}
	if (count < scene_gang_min(gang))
		check_fail(world, "rules",
		           "p-%u (gang), @%" PRId64 ": %u of the gang are bound, of %u",
		           i, obs->revision, count, scene_gang_min(gang));
}

/* Both are, or once were: of what was moved nobody knows what had been heard of when that
 * was decided. */
static bool met(const struct stock *stock, uint32_t a, uint32_t b)
{
	return (stock->node[a].zones & stock->node[b].zones) != 0;
}

/* With one of those who are there; who comes at once with it comes to the same zone. */
static void check_domain(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct stock *stock = world->stock;
	uint32_t gang = scene_gang(i), there = 0, pods[SCENE_GANG_PODS];
	uint32_t members = scene_gang_pods(gang, stock->pods, pods);
	uint32_t at = stock->pod[i].node;

	for (uint32_t k = 0; k < members; k++) {
		const struct stock_pod *pod = &stock->pod[pods[k]];

		if (is_hidden(stock, pods[k]))
			return;
		if (pods[k] == i || pod->phase != STOCK_BOUND || pod->node == STOCK_NONE)
			continue;
		if (is_new(stock, pods[k]) && !met(stock, at, pod->node))
			check_fail(world, "rules",
			           "p-%u (gang), @%" PRId64
			           ": on n-%u, and p-%u with it on n-%u, in another zone",
			           i, obs->revision, at, pods[k], pod->node);
		if (!is_new(stock, pods[k]) && met(stock, at, pod->node)) {
			world_hit(world, COVER_DOMAIN_JOINED);
			return;
		}
		there += !is_new(stock, pods[k]);
	}
	if (there > 0)
		check_fail(world, "rules",
		           "p-%u (gang), @%" PRId64
		           ": on n-%u, in a zone where none of its gang is, of %u",
		           i, obs->revision, at, there);
}

/* Whether one of its group is hidden: then nobody knows how many there are. */
static bool is_blurred(const struct stock *stock, uint32_t i)
{
	const struct group group = group_of(stock, i);

	for (uint32_t k = 0; k < group.pods; k++)
		if (is_hidden(stock, group.pod[k]))
			return true;
	return false;
}

static void check_rule(struct world *world, const struct obs *obs, uint32_t i,
                       enum scene_kind rule)
{
	bool blurred = is_blurred(world->stock, i);

	switch (rule) {
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
		if (carries(world->stock, i))
			check_affinity(world, obs, i);
		return;
	case SCENE_SPREAD_HOST:
	case SCENE_SPREAD_ZONE:
	case SCENE_APART_SPREAD:
		if (!blurred && carries(world->stock, i))
			check_spread(world, obs, i, rule != SCENE_SPREAD_HOST);
		return;
	case SCENE_GANG:
	case SCENE_LARGE:
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

/* What becomes pods of a gang that is bound was judged when it was. */
static void check_pod(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct stock *stock = world->stock;

	if (!scene_is_gang(i)) {
		check_rule(world, obs, i, scene_kind(i));
		return;
	}
	check_whole(world, obs, i);
	if (scene_gang_has_domain(scene_gang(i)) && !stock->gang_spoilt[scene_gang(i)])
		check_domain(world, obs, i);
	if (stock->gang[scene_gang(i)].phase == STOCK_GANG_NONE &&
	    !stock->gang_spoilt[scene_gang(i)])
		check_rule(world, obs, i, scene_gang_rule(scene_gang(i)));
}

/* From now on all of them are there. */
static void check_large(struct world *world, const struct obs *obs, uint32_t g)
{
	const struct stock *stock = world->stock;
	const struct stock_gang *gang = &stock->gang[g];

	if (gang->phase != STOCK_GANG_BOUND || gang->blurred || stock->gang_spoilt[g])
		return;
	if (scene_gang_rule(g) != SCENE_BASIC)
		world_hit(world, COVER_LARGE_RULED);
	for (uint32_t n = 0; n < gang->count; n++)
		if (!gang->plan[n].over && !gang->plan[n].lost)
			check_rule(world, obs, gang->plan[n].pod, scene_gang_rule(g));
}

static bool came(const struct stock *stock, uint32_t i)
{
	return stock->pod[i].phase == STOCK_BOUND &&
	       stock->was_pod[i].phase != STOCK_BOUND;
}

/* What is put right later shows what could not be seen then. */
static void note_blurred(struct stock *stock)
{
	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k];

		if (came(stock, i))
			stock->pod[i].blurred =
				stock->rules_spoilt || is_blurred(stock, i);
	}
}

static void see(struct world *world, void *me, const struct obs *obs)
{
	const struct stock *stock = world->stock;
	struct state *state = me;

	if (obs->what != OBS_STOCK)
		return;
	note_blurred(world->stock);
	if (obs->whose <= 0 || stock->rules_spoilt)
		return;
	state->seen++;
	for (uint32_t k = 0; k < stock->touched_pods; k++) {
		uint32_t i = stock->touched_pod[k];

		if (came(stock, i) && !stock->pod[i].spoilt &&
		    stock->pod[i].node != STOCK_NONE)
			check_pod(world, obs, i);
	}
	for (uint32_t k = 0; k < stock->touched_gangs; k++)
		check_large(world, obs, stock->touched_gang[k]);
}

const struct check check_rules = {"rules", sizeof(struct state), see, NULL};
