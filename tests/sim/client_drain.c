/*
 * A node that is drained, as placet nodes drain does it: it is cordoned first, then each
 * pod on it is asked to move, again and again, since pods come until shards know of the
 * cordon. The drain has no record in the store: a client that dies half-way leaves it as
 * it is.
 */
#include "tests/sim/client_int.h"

enum { DRAIN_MS = 12000 };

static void give_up(struct client *client)
{
	client->drain.node = MIRROR_NONE;
}

static void evict_all(struct client *client, const struct mirror_node *node)
{
	struct client_requests *requests = &client->moves;

	requests->count = 0;
	for (uint32_t k = 0; k < node->listed; k++) {
		if (node->list[k].pod == MIRROR_NONE || node->list[k].leaving)
			continue;
		client_requests_add(requests, node->list[k].pod, POD_REQUEST_EVICT,
		                    STATE_ENDED_NOT);
		if (requests->count > 0)
			requests->request[requests->count - 1].node = client->drain.node;
	}
	client_requests_start(requests);
}

static void set_cordon(struct client *client, enum nodes_verb verb)
{
	client->changes.count = 1;
	client->changes.next = 0;
	client->changes.at[0] = client->drain.node;
	client->node[client->drain.node].what.cordoned = verb == NODES_CORDON;
	client_change(client, verb);
}

void client_drain_begin(struct client *client)
{
	struct world *world = client->world;
	uint32_t node = (uint32_t)world_below(world, world->plan.scenario.nodes);

	if (!client->node[node].wanted)
		return;
	client->drain = (struct client_drain){
		.node = node, .until_ms = world->agenda.now_ms + DRAIN_MS};
}

void client_drain_step(struct client *client)
{
	struct client_drain *drain = &client->drain;
	const struct mirror_node *node;

	if (drain->node == MIRROR_NONE || client->change != NULL ||
	    client->moves.active != NULL)
		return;
	node = &client->world->mirror->node[drain->node];
	if (client->phase != CLIENT_RUNNING ||
	    client->world->agenda.now_ms > drain->until_ms || !node->has_alloc) {
		give_up(client);
	} else if (!drain->cordoned) {
		drain->cordoned = true;
		set_cordon(client, NODES_CORDON);
	} else if (node->listed > 0) {
		evict_all(client, node);
	} else {
		world_hit(client->world, COVER_DRAINED_NODE);
		set_cordon(client, world_chance(client->world, 1, 2) ? NODES_DELETE
		                                                     : NODES_UNCORDON);
		give_up(client);
	}
}
