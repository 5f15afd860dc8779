/*
 * Rows of pods that are removed together and come back as soon as their names are free,
 * as when what runs them is updated: as other lives, so with other labels. Who hears late
 * of it finds the same names on the same nodes, or on others, and has to notice that they
 * are not the same pods.
 */
#include "tests/sim/clerk_int.h"

enum { ROW_MS = 8000, TRIES = 8 };

/* A rule finds its pods in one life and not in the next, and some of them run. */
static bool is_row(const struct clerk *clerk, uint32_t first)
{
	const struct stock *stock = clerk->world->stock;
	uint32_t placed = 0;

	if (scene_is_gang(first) || first + SCENE_GROUP > clerk->fresh)
		return false;
	for (uint32_t i = first; i < first + SCENE_GROUP; i++)
		placed += stock_is_placed(&stock->pod[i]);
	return placed > 1 && scene_is_found(first, 0) != scene_is_found(first, 1);
}

/* All of them, or some; false: the clerk has no hand free. */
static bool remove_row(struct clerk *clerk, uint32_t first)
{
	struct world *world = clerk->world;
	struct clerk_errand *errand = &clerk->removal;
	bool waits = world_chance(world, 1, 4), all = world_chance(world, 1, 2);

	if (errand->wishes != NULL)
		return false;
	errand->count = 0;
	for (uint32_t i = first; i < first + SCENE_GROUP; i++) {
		if (!clerk->pod[i].wanted || clerk->pod[i].removed ||
		    (!all && world_chance(world, 1, 2)))
			continue;
		clerk->pod[i].removed = true;
		clerk_errand_add(errand, i, POD_REQUEST_DELETE,
		                 waits ? STATE_ENDED_NOT : STATE_ENDED_GONE);
	}
	STORY(&world->story, "clerk", "replaces %u pods of the row of p-%u",
	      errand->count, first);
	clerk_errand_go(errand);
	return true;
}

void clerk_row(struct clerk *clerk)
{
	struct world *world = clerk->world;
	struct clerk_row *row = clerk->row;

	while (row < clerk->row + CLERK_ROWS && row->first != STOCK_NONE)
		row++;
	for (unsigned k = 0; k < TRIES && row < clerk->row + CLERK_ROWS; k++) {
		uint32_t first = (uint32_t)world_below(world, clerk->pods / SCENE_GROUP) *
		                 SCENE_GROUP;

		if (!is_row(clerk, first) || !remove_row(clerk, first))
			continue;
		*row = (struct clerk_row){first, world->agenda.now_ms + ROW_MS};
		return;
	}
}

/* Of those that are gone: they are to be submitted. */
static void row_step(struct clerk *clerk, struct clerk_row *row)
{
	struct world *world = clerk->world;
	uint32_t gone = 0, left = 0, placed = 0;

	for (uint32_t i = row->first; i < row->first + SCENE_GROUP; i++) {
		gone += clerk_is_free(clerk, i);
		left += clerk->pod[i].removed && !clerk_is_free(clerk, i);
		placed += clerk_wants_pod(clerk, i) &&
		          stock_is_placed(&world->stock->pod[i]);
	}
	if (clerk->calm != CALM_NOT || world->agenda.now_ms > row->until_ms) {
		row->first = STOCK_NONE;
		return;
	}
	if (gone + left == 0 && placed > 1 && world_chance(world, 1, 4))
		(void)remove_row(clerk, row->first);
	if (gone == 0 || (left > 0 && world_chance(world, 1, 2)))
		return;
	for (uint32_t i = row->first; i < row->first + SCENE_GROUP; i++)
		if (clerk_is_free(clerk, i))
			clerk_add_pod(clerk, i);
	if (gone > 1)
		world_hit(world, COVER_ROW_AGAIN);
}

void clerk_row_step(struct clerk *clerk)
{
	if (clerk->submit != NULL)
		return;
	clerk->submits.count = clerk->submits.next = 0;
	for (unsigned k = 0; k < CLERK_ROWS; k++)
		if (clerk->row[k].first != STOCK_NONE)
			row_step(clerk, &clerk->row[k]);
	if (clerk->submits.count > 0)
		clerk_submit(clerk);
}
