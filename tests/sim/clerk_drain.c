/*
 * A node that is to be empty, as placet nodes drain does it: cordoned first, then whoever
 * is there is asked to move, again and again, since some come until the cordon is known.
 * Nothing is kept of it but in the store: who dies half-way leaves it at that.
 */
#include "tests/sim/clerk_int.h"

enum { DRAIN_MS = 12000 };

static void give_up(struct clerk *clerk)
{
	clerk->drain.node = STOCK_NONE;
}

static void ask_all(struct clerk *clerk, const struct stock_node *node)
{
	struct clerk_errand *errand = &clerk->moves;

	errand->count = 0;
	for (uint32_t k = 0; k < node->listed; k++) {
		if (node->list[k].pod == STOCK_NONE || node->list[k].leaving)
			continue;
		clerk_errand_add(errand, node->list[k].pod, POD_REQUEST_EVICT,
		                 STATE_ENDED_NOT);
		if (errand->count > 0)
			errand->word[errand->count - 1].node = clerk->drain.node;
	}
	clerk_errand_go(errand);
}

static void change_it(struct clerk *clerk, enum nodes_verb verb)
{
	clerk->changes.count = 1;
	clerk->changes.next = 0;
	clerk->changes.at[0] = clerk->drain.node;
	clerk->node[clerk->drain.node].what.cordoned = verb == NODES_CORDON;
	clerk_change(clerk, verb);
}

void clerk_drain_begin(struct clerk *clerk)
{
	struct world *world = clerk->world;
	uint32_t node = (uint32_t)world_below(world, world->plan.scene.nodes);

	if (!clerk->node[node].wanted)
		return;
	clerk->drain = (struct clerk_drain){.node = node,
	                                    .until_ms = world->agenda.now_ms + DRAIN_MS};
}

void clerk_drain_step(struct clerk *clerk)
{
	struct clerk_drain *drain = &clerk->drain;
	const struct stock_node *node;

	if (drain->node == STOCK_NONE || clerk->change != NULL ||
	    clerk->moves.wishes != NULL)
		return;
	node = &clerk->world->stock->node[drain->node];
	if (clerk->calm != CALM_NOT || clerk->world->agenda.now_ms > drain->until_ms ||
	    !node->has_alloc) {
		give_up(clerk);
	} else if (!drain->cordoned) {
		drain->cordoned = true;
		change_it(clerk, NODES_CORDON);
	} else if (node->listed > 0) {
		ask_all(clerk, node);
	} else {
		world_hit(clerk->world, COVER_DRAINED_NODE);
		change_it(clerk, world_chance(clerk->world, 1, 2) ? NODES_DELETE
		                                                  : NODES_UNCORDON);
		give_up(clerk);
	}
}
