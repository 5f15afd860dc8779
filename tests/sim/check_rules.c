/*
 * Rules of pods about other pods, judged naively against everything that stands in the
 * store at the revision of the commit, whichever shard owns it: spread, affinity,
 * anti-affinity, and that a gang is placed as a whole or not at all.
 *
 * Terminating pods still take their place; where Kubernetes does not count them, both
 * ways of counting are accepted. Each pod is judged by the labels of the incarnation that
 * is bound.
 */
#include <inttypes.h>

#include "tests/sim/world.h"

/* After so long a shard knows what happened. */
enum { KNOWN_AFTER_MS = 10000 };

struct rules_state {
	uint64_t seen;
};

/* The zone as it is now: nodes change theirs. */
static unsigned zone_of(const struct mirror *mirror, uint32_t node)
{
	return mirror->node[node].what.zone;
}

/* The pods that a rule selects when they have the label, the pod itself among them. */
struct rule_group {
	uint32_t pod[SCENARIO_GANG_PODS + SCENARIO_GROUP], pods;
};

static struct rule_group group_of(const struct mirror *mirror, uint32_t i)
{
	struct rule_group out = {.pods = 0};
	uint32_t first = i / SCENARIO_GROUP *
	                 SCENARIO_GROUP; /* members have consecutive numbers */

	if (scenario_is_gang(i)) {
		out.pods = scenario_gang_pods(scenario_gang(i), mirror->pods, out.pod);
		for (uint32_t k = 0; k < mirror->pods; k++)
			if (scenario_selected_by(k) == scenario_gang(i))
				out.pod[out.pods++] = k;
		return out;
	}
	for (uint32_t k = first; k < first + SCENARIO_GROUP && k < mirror->pods; k++)
		if (scenario_group(k) == scenario_group(i))
			out.pod[out.pods++] = k;
	return out;
}

/* The pod's gang is bound as a whole, and the pod is about to follow. */
static const struct mirror_planned *planned_follower(const struct mirror *mirror,
                                                     uint32_t i)
{
	if (!scenario_is_gang(i) ||
	    mirror->gang[scenario_gang(i)].phase != MIRROR_GANG_BOUND)
		return NULL;
	return mirror_planned_of(&mirror->gang[scenario_gang(i)], i);
}

/* The pods that count: bound ones; also terminating ones; also planned members that have
 * gone, which a shard may not know yet. */
enum { BOUND_ONLY = 0, AND_ENDING = 1, AND_OVER = 2, ALL = AND_ENDING | AND_OVER };

/* MIRROR_NONE: the pod has no place that counts. */
static uint32_t place_of(const struct mirror *mirror, uint32_t i, unsigned who)
{
	const struct mirror_pod *pod = &mirror->pod[i];
	const struct mirror_planned *is = planned_follower(mirror, i);
	bool ending = (who & AND_ENDING) != 0, over = (who & AND_OVER) != 0;

	if (pod->phase == MIRROR_BOUND || (ending && pod->phase == MIRROR_TERMINATING))
		return pod->node;
	return is == NULL || (is->over && !over) ? MIRROR_NONE : is->node;
}

/* Returns the incarnation that has the place. */
static uint32_t incarnation_of(const struct mirror *mirror, uint32_t i)
{
	const struct mirror_planned *is = planned_follower(mirror, i);

	if (is != NULL && !mirror_is_placed(&mirror->pod[i]))
		return is->incarnation;
	return mirror_incarnation(&mirror->pod[i]);
}

static bool has_rule(const struct mirror *mirror, uint32_t i)
{
	return scenario_has_rule(i, incarnation_of(mirror, i));
}

/* Labels of gangs' members are not edited. */
static bool is_selected(const struct mirror *mirror, uint32_t i)
{
	return scenario_is_selected(i, scenario_is_gang(i)
	                                       ? incarnation_of(mirror, i)
	                                       : mirror_labels(&mirror->pod[i]));
}

/* No shard can know that the pod is there, or in which zone: the pod or its Node is
 * corrupted, or was when the pod came. */
static bool is_hidden(const struct mirror *mirror, uint32_t k)
{
	uint32_t at = place_of(mirror, k, ALL);
	const struct mirror_node *node = at == MIRROR_NONE ? NULL : &mirror->node[at];

	return mirror->pod[k].corrupted ||
	       (node != NULL && node->corrupted && (node->bad_node || !node->has_node));
}

/* The pod is placed by this revision. */
static bool is_new(const struct mirror *mirror, uint32_t i)
{
	const struct mirror_pod *pod = &mirror->pod[i];

	if (pod->phase != MIRROR_BOUND)
		return planned_follower(mirror, i) != NULL;
	return mirror->is_touched_pod[i] && mirror->was_pod[i].phase != MIRROR_BOUND;
}

static void check_anti(struct world *world, const struct obs *obs, uint32_t i, bool zone)
{
	const struct mirror *mirror = world->mirror;
	const struct rule_group group = group_of(mirror, i);
	uint32_t here = place_of(mirror, i, ALL);

	for (uint32_t n = 0; n < group.pods; n++) {
		uint32_t k = group.pod[n], there = place_of(mirror, k, AND_ENDING);

		if (k == i || there == MIRROR_NONE ||
		    (zone ? is_hidden(mirror, k) : mirror->pod[k].corrupted))
			continue;
		if (!(has_rule(mirror, i) && is_selected(mirror, k)) &&
		    !(has_rule(mirror, k) && is_selected(mirror, i)))
			continue;
		if (zone ? zone_of(mirror, here) == zone_of(mirror, there)
		         : here == there)
			check_fail(world, "rules",
			           "p-%u (%s), @%" PRId64 ": on n-%u, and p-%u on n-%u",
			           i, scenario_kind_text[scenario_kind(i)], obs->revision,
			           here, k, there);
	}
}

/* The pod comes in the same transaction and has no rule of its own, so that it may count
 * as placed before or after the pod that is judged. */
static bool is_loose(const struct mirror *mirror, uint32_t i, uint32_t k)
{
	return k != i && !has_rule(mirror, k) && is_new(mirror, k);
}

/* The pod is in a zone where a member of its group was that terminates now. */
static bool may_follow_ending(const struct mirror *mirror, const struct rule_group *group,
                              uint32_t i)
{
	unsigned zone = zone_of(mirror, place_of(mirror, i, ALL));

	for (uint32_t n = 0; n < group->pods; n++) {
		uint32_t there = place_of(mirror, group->pod[n], AND_ENDING);

		if (mirror->pod[group->pod[n]].phase == MIRROR_TERMINATING &&
		    is_selected(mirror, group->pod[n]) && there != MIRROR_NONE &&
		    zone_of(mirror, there) == zone)
			return true;
	}
	return false;
}

/* Pods that come at once may be the first: then all of them are in one zone. */
static void check_affinity(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct mirror *mirror = world->mirror;
	const struct rule_group group = group_of(mirror, i);
	uint32_t elsewhere = 0, others = 0,
		 zone = zone_of(mirror, place_of(mirror, i, ALL));

	for (uint32_t n = 0; n < group.pods; n++) {
		uint32_t k = group.pod[n], there = place_of(mirror, k, AND_ENDING);
		bool here = there != MIRROR_NONE && zone_of(mirror, there) == zone;

		if (k == i || (there == MIRROR_NONE && !is_hidden(mirror, k)))
			continue;
		if (is_hidden(mirror, k))
			return;
		if (!is_selected(mirror, k))
			continue;
		if (here && (!is_new(mirror, k) || is_loose(mirror, i, k)))
			return;
		if (is_loose(mirror, i, k))
			continue;
		if (is_new(mirror, k))
			others += !here && !may_follow_ending(mirror, &group, k);
		else
			elsewhere += mirror->pod[k].phase == MIRROR_BOUND;
	}
	if (elsewhere + others > 0)
		check_fail(world, "rules",
		           "p-%u (%s), @%" PRId64 ": in zone %u, where none of its group "
		           "was, and %u elsewhere, and %u that came with it",
		           i, scenario_kind_text[scenario_kind(i)], obs->revision, zone,
		           elsewhere, others);
}

/* Returns how many pods of the group the emptiest host has; there are few hosts with
 * any. */
static uint32_t on_least(const struct mirror *mirror, const struct rule_group *group,
                         unsigned who)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t n = 0; n < mirror->nodes && least > 0; n++) {
		uint32_t here = 0;

		if (!mirror->node[n].has_node || !mirror->node[n].has_alloc ||
		    mirror->node[n].corrupted)
			continue;
		for (uint32_t k = 0; k < group->pods; k++)
			here += is_selected(mirror, group->pod[k]) &&
			        place_of(mirror, group->pod[k], who) == n;
		least = here < least ? here : least;
	}
	return least;
}

/* Returns how many more pods the pod's domain has than the emptiest one. */
static uint32_t skew_of(const struct mirror *mirror, uint32_t i, bool zone, unsigned who)
{
	const struct rule_group group = group_of(mirror, i);
	uint32_t count[SCENARIO_ZONES_ALL] = {0}, least = UINT32_MAX, here = 0;
	uint32_t node = place_of(mirror, i, ALL);
	bool has[SCENARIO_ZONES_ALL] = {0};

	for (uint32_t n = 0; n < group.pods; n++) {
		uint32_t k = group.pod[n],
			 there = place_of(mirror, k, k == i ? ALL : who);

		if (there == MIRROR_NONE || !is_selected(mirror, k) ||
		    (is_loose(mirror, i, k) &&
		     zone_of(mirror, there) == zone_of(mirror, node)))
			continue;
		here += there == node;
		count[zone_of(mirror, there)]++;
	}
	for (uint32_t n = 0; n < mirror->nodes; n++)
		if (mirror->node[n].has_node && mirror->node[n].has_alloc &&
		    !mirror->node[n].corrupted)
			has[zone_of(mirror, n)] = true;
	if (!zone)
		return here - on_least(mirror, &group, who);
	for (unsigned z = 0; z < SCENARIO_ZONES_ALL; z++)
		if (has[z] && count[z] < least)
			least = count[z];
	return count[zone_of(mirror, node)] - least;
}

static void check_spread(struct world *world, const struct obs *obs, uint32_t i,
                         bool zone)
{
	for (unsigned who = BOUND_ONLY; who <= ALL; who++)
		if (skew_of(world->mirror, i, zone, who) <= 1)
			return;
	check_fail(world, "rules", "p-%u (%s), @%" PRId64 ": skew %u on n-%u", i,
	           scenario_kind_text[scenario_kind(i)], obs->revision,
	           skew_of(world->mirror, i, zone, BOUND_ONLY),
	           place_of(world->mirror, i, ALL));
}

static void check_whole(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct mirror *mirror = world->mirror;
	uint32_t gang = scenario_gang(i), count = 0, pods[SCENARIO_GANG_PODS];
	uint32_t members = scenario_gang_pods(gang, mirror->pods, pods);
	uint64_t now = world->agenda.now_ms;

	/* The members are bound one after the other. */
	if (mirror->gang[gang].phase == MIRROR_GANG_BOUND || mirror->gang_corrupted[gang])
		return;
	/* A pod that has just gone counts for a shard that did not see that: pods that
	 * are placed are not compared, since they may go at the next moment. */
	for (uint32_t k = 0; k < members; k++) {
		const struct mirror_pod *pod = &mirror->pod[pods[k]];

		count += pod->corrupted ||
		         place_of(mirror, pods[k], AND_ENDING) != MIRROR_NONE ||
		         (pod->left_ms != 0 && now - pod->left_ms < KNOWN_AFTER_MS);
	}
	if (count < scenario_gang_min(gang))
		check_fail(world, "rules",
		           "p-%u (gang), @%" PRId64 ": %u of the gang are bound, of %u",
		           i, obs->revision, count, scenario_gang_min(gang));
}

/* Both nodes are, or once were, in one zone: after a move it is unknown what a shard had
 * heard of when it decided. */
static bool shared_zone(const struct mirror *mirror, uint32_t a, uint32_t b)
{
	return (mirror->node[a].zones & mirror->node[b].zones) != 0;
}

/* The pod is in the zone of its placed members; pods that come at once come to the same
 * zone. */
static void check_domain(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct mirror *mirror = world->mirror;
	uint32_t gang = scenario_gang(i), there = 0, pods[SCENARIO_GANG_PODS];
	uint32_t members = scenario_gang_pods(gang, mirror->pods, pods);
	uint32_t at = mirror->pod[i].node;

	for (uint32_t k = 0; k < members; k++) {
		const struct mirror_pod *pod = &mirror->pod[pods[k]];

		if (is_hidden(mirror, pods[k]))
			return;
		if (pods[k] == i || pod->phase != MIRROR_BOUND ||
		    pod->node == MIRROR_NONE)
			continue;
		if (is_new(mirror, pods[k]) && !shared_zone(mirror, at, pod->node))
			check_fail(world, "rules",
			           "p-%u (gang), @%" PRId64
			           ": on n-%u, and p-%u with it on n-%u, in another zone",
			           i, obs->revision, at, pods[k], pod->node);
		if (!is_new(mirror, pods[k]) && shared_zone(mirror, at, pod->node)) {
			world_hit(world, COVER_DOMAIN_JOINED);
			return;
		}
		there += !is_new(mirror, pods[k]);
	}
	if (there > 0)
		check_fail(world, "rules",
		           "p-%u (gang), @%" PRId64
		           ": on n-%u, in a zone where none of its gang is, of %u",
		           i, obs->revision, at, there);
}

/* A pod of the group is hidden, so that no shard knows how many there are. */
static bool is_uncertain(const struct mirror *mirror, uint32_t i)
{
	const struct rule_group group = group_of(mirror, i);

	for (uint32_t k = 0; k < group.pods; k++)
		if (is_hidden(mirror, group.pod[k]))
			return true;
	return false;
}

static void check_rule(struct world *world, const struct obs *obs, uint32_t i,
                       enum scenario_kind rule)
{
	bool uncertain = is_uncertain(world->mirror, i);

	switch (rule) {
	case SCENARIO_ANTI_HOST:
	case SCENARIO_STATEFUL:
		check_anti(world, obs, i, false);
		return;
	case SCENARIO_ANTI_ZONE:
	case SCENARIO_APART_ANTI:
		check_anti(world, obs, i, true);
		return;
	case SCENARIO_AFFINITY:
	case SCENARIO_APART_AFFINITY:
		if (has_rule(world->mirror, i))
			check_affinity(world, obs, i);
		return;
	case SCENARIO_SPREAD_HOST:
	case SCENARIO_SPREAD_ZONE:
	case SCENARIO_APART_SPREAD:
		if (!uncertain && has_rule(world->mirror, i))
			check_spread(world, obs, i, rule != SCENARIO_SPREAD_HOST);
		return;
	case SCENARIO_GANG:
	case SCENARIO_LARGE:
	case SCENARIO_BASIC:
	case SCENARIO_NODEAFFINITY:
	case SCENARIO_SELECTOR:
	case SCENARIO_TOLERATES:
	case SCENARIO_PORT:
	case SCENARIO_FILL:
	case SCENARIO_HIGH:
	case SCENARIO_MAINTENANCE:
	case SCENARIO_NEVER:
	case SCENARIO_KINDS:
		return;
	}
}

/* The pods of a gang that is bound were judged when it was bound. */
static void check_pod(struct world *world, const struct obs *obs, uint32_t i)
{
	const struct mirror *mirror = world->mirror;

	if (!scenario_is_gang(i)) {
		check_rule(world, obs, i, scenario_kind(i));
		return;
	}
	check_whole(world, obs, i);
	if (scenario_gang_has_domain(scenario_gang(i)) &&
	    !mirror->gang_corrupted[scenario_gang(i)])
		check_domain(world, obs, i);
	if (mirror->gang[scenario_gang(i)].phase == MIRROR_GANG_NONE &&
	    !mirror->gang_corrupted[scenario_gang(i)])
		check_rule(world, obs, i, scenario_gang_rule(scenario_gang(i)));
}

/* From now on all members count as placed. */
static void check_large(struct world *world, const struct obs *obs, uint32_t g)
{
	const struct mirror *mirror = world->mirror;
	const struct mirror_gang *gang = &mirror->gang[g];

	if (gang->phase != MIRROR_GANG_BOUND || gang->uncertain ||
	    mirror->gang_corrupted[g])
		return;
	if (scenario_gang_rule(g) != SCENARIO_BASIC)
		world_hit(world, COVER_LARGE_RULED);
	for (uint32_t n = 0; n < gang->count; n++)
		if (!gang->plan[n].over && !gang->plan[n].lost)
			check_rule(world, obs, gang->plan[n].pod, scenario_gang_rule(g));
}

static bool is_bound_now(const struct mirror *mirror, uint32_t i)
{
	return mirror->pod[i].phase == MIRROR_BOUND &&
	       mirror->was_pod[i].phase != MIRROR_BOUND;
}

/* A repair may show later what could not be seen then. */
static void note_uncertain(struct mirror *mirror)
{
	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		uint32_t i = mirror->touched_pod[k];

		if (is_bound_now(mirror, i))
			mirror->pod[i].uncertain =
				mirror->rules_corrupted || is_uncertain(mirror, i);
	}
}

static void observe(struct world *world, void *me, const struct obs *obs)
{
	const struct mirror *mirror = world->mirror;
	struct rules_state *state = me;

	if (obs->what != OBS_MIRROR)
		return;
	note_uncertain(world->mirror);
	if (obs->writer <= 0 || mirror->rules_corrupted)
		return;
	state->seen++;
	for (uint32_t k = 0; k < mirror->touched_pods; k++) {
		uint32_t i = mirror->touched_pod[k];

		if (is_bound_now(mirror, i) && !mirror->pod[i].corrupted &&
		    mirror->pod[i].node != MIRROR_NONE)
			check_pod(world, obs, i);
	}
	for (uint32_t k = 0; k < mirror->touched_gangs; k++)
		check_large(world, obs, mirror->touched_gang[k]);
}

const struct check check_rules = {"rules", sizeof(struct rules_state), observe, NULL};
