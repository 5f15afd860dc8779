/*
 * Rows of pods that are removed together and submitted again as soon as their names are
 * free, as when their controller rolls out another revision: they come back as other
 * incarnations, with other labels. A shard that hears of it late finds the same names on
 * the same nodes, or on others, and has to notice that they are not the same pods.
 */
#include "tests/sim/client_int.h"

enum { ROLLOUT_MS = 8000, TRIES = 8 };

/* A rule selects its pods in one incarnation and not in the next, and some of them
 * run. */
static bool can_roll_out(const struct client *client, uint32_t first)
{
	const struct mirror *mirror = client->world->mirror;
	uint32_t placed = 0;

	if (scenario_is_gang(first) || first + SCENARIO_GROUP > client->first_new)
		return false;
	for (uint32_t i = first; i < first + SCENARIO_GROUP; i++)
		placed += mirror_is_placed(&mirror->pod[i]);
	return placed > 1 &&
	       scenario_is_selected(first, 0) != scenario_is_selected(first, 1);
}

/* Removes all pods of the row, or some; false: the client is busy with another
 * removal. */
static bool remove_row(struct client *client, uint32_t first)
{
	struct world *world = client->world;
	struct client_requests *requests = &client->removal;
	bool waits = world_chance(world, 1, 4), all = world_chance(world, 1, 2);

	if (requests->active != NULL)
		return false;
	requests->count = 0;
	for (uint32_t i = first; i < first + SCENARIO_GROUP; i++) {
		if (!client->pod[i].wanted || client->pod[i].removed ||
		    (!all && world_chance(world, 1, 2)))
			continue;
		client->pod[i].removed = true;
		client_requests_add(requests, i, POD_REQUEST_DELETE,
		                    waits ? STATE_ENDED_NOT : STATE_ENDED_GONE);
	}
	STORY(&world->story, "client", "replaces %u pods of the row of p-%u",
	      requests->count, first);
	client_requests_start(requests);
	return true;
}

void client_rollout(struct client *client)
{
	struct world *world = client->world;
	struct client_rollout *rollout = client->rollout;

	while (rollout < client->rollout + CLIENT_ROLLOUTS &&
	       rollout->first != MIRROR_NONE)
		rollout++;
	for (unsigned k = 0; k < TRIES && rollout < client->rollout + CLIENT_ROLLOUTS;
	     k++) {
		uint32_t first =
			(uint32_t)world_below(world, client->pods / SCENARIO_GROUP) *
			SCENARIO_GROUP;

		if (!can_roll_out(client, first) || !remove_row(client, first))
			continue;
		*rollout =
			(struct client_rollout){first, world->agenda.now_ms + ROLLOUT_MS};
		return;
	}
}

/* Submits the pods that are gone. */
static void rollout_step(struct client *client, struct client_rollout *rollout)
{
	struct world *world = client->world;
	uint32_t gone = 0, left = 0, placed = 0;

	for (uint32_t i = rollout->first; i < rollout->first + SCENARIO_GROUP; i++) {
		gone += client_is_free(client, i);
		left += client->pod[i].removed && !client_is_free(client, i);
		placed += client_wants_pod(client, i) &&
		          mirror_is_placed(&world->mirror->pod[i]);
	}
	if (client->phase != CLIENT_RUNNING || world->agenda.now_ms > rollout->until_ms) {
		rollout->first = MIRROR_NONE;
		return;
	}
	if (gone + left == 0 && placed > 1 && world_chance(world, 1, 4))
		(void)remove_row(client, rollout->first);
	if (gone == 0 || (left > 0 && world_chance(world, 1, 2)))
		return;
	for (uint32_t i = rollout->first; i < rollout->first + SCENARIO_GROUP; i++)
		if (client_is_free(client, i))
			client_add_pod(client, i);
	if (gone > 1)
		world_hit(world, COVER_ROLLOUT);
}

void client_rollout_step(struct client *client)
{
	if (client->submit != NULL)
		return;
	client->submits.count = client->submits.next = 0;
	for (unsigned k = 0; k < CLIENT_ROLLOUTS; k++)
		if (client->rollout[k].first != MIRROR_NONE)
			rollout_step(client, &client->rollout[k]);
	if (client->submits.count > 0)
		client_submit(client);
}
