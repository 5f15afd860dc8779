#include "tests/sim/stock.h"

#include <stdlib.h>
#include <string.h>

#include "shardsched/records/pod_location.h"
#include "store/base/alloc.h"
#include "tests/sim/world.h"

enum { ARENA_CHUNK = 1 << 16, ARENA_MAX = 16 << 20 };

static void *room(uint32_t count, size_t size)
{
	void *at = pl_calloc(count, size);

	PL_ASSERT(at != NULL);
	return at;
}

struct stock *stock_new(struct world *world, const struct scene *scene)
{
	struct stock *stock = room(1, sizeof *stock);

	stock->world = world;
	stock->scene = *scene;
	stock->nodes = scene->nodes + scene->extra;
	stock->pods = scene->pods;
	stock->node = room(stock->nodes, sizeof *stock->node);
	stock->was_node = room(stock->nodes, sizeof *stock->node);
	stock->touched_node = room(stock->nodes, sizeof *stock->touched_node);
	stock->is_touched_node = room(stock->nodes, sizeof *stock->is_touched_node);
	stock->pod = room(stock->pods, sizeof *stock->pod);
	stock->was_pod = room(stock->pods, sizeof *stock->pod);
	stock->touched_pod = room(stock->pods, sizeof *stock->touched_pod);
	stock->is_touched_pod = room(stock->pods, sizeof *stock->is_touched_pod);
	stock->gangs = scene->pods / SCENE_GROUP + 1;
	stock->gang = room(stock->gangs, sizeof *stock->gang);
	stock->was_gang = room(stock->gangs, sizeof *stock->gang);
	stock->touched_gang = room(stock->gangs, sizeof *stock->touched_gang);
	stock->is_touched_gang = room(stock->gangs, sizeof *stock->is_touched_gang);
	stock->gang_spoilt = room(stock->gangs, sizeof *stock->gang_spoilt);
	pl_arena_init(&stock->arena, ARENA_CHUNK, ARENA_MAX);
	stock_reset(stock);
	return stock;
}

void stock_free(struct stock *stock)
{
	if (stock == NULL)
		return;
	pl_arena_done(&stock->arena);
	free(stock->node);
	free(stock->was_node);
	free(stock->touched_node);
	free(stock->is_touched_node);
	free(stock->pod);
	free(stock->was_pod);
	free(stock->touched_pod);
	free(stock->is_touched_pod);
	free(stock->gang);
	free(stock->was_gang);
	free(stock->touched_gang);
	free(stock->is_touched_gang);
	free(stock->gang_spoilt);
	free(stock);
}

static void note_left(const struct stock *stock, struct stock_pod *pod)
{
	if (!stock_is_placed(pod))
		return;
	pod->left_ms = stock->world->agenda.now_ms;
	pod->left_life = stock_life(pod);
}

/* What people wrote by hand may be in what is read next, as it was saved. And what was
 * decided before is committed after, where it finds what it compares. */
static void reset_pod(const struct stock *stock, struct stock_pod *pod)
{
	note_left(stock, pod);
	*pod = (struct stock_pod){.node = STOCK_NONE,
	                          .spoilt = pod->spoilt,
	                          .left_ms = pod->left_ms,
	                          .left_life = pod->left_life};
}

void stock_reset(struct stock *stock)
{
	for (uint32_t i = 0; i < stock->nodes; i++)
		stock->node[i] = (struct stock_node){.spoilt = stock->node[i].spoilt};
	for (uint32_t i = 0; i < stock->pods; i++)
		reset_pod(stock, &stock->pod[i]);
	stock_gangs_reset(stock);
	stock_end(stock);
}

static struct stock_node *touch_node(struct stock *stock, uint32_t i)
{
	if (!stock->is_touched_node[i]) {
		stock->is_touched_node[i] = true;
		stock->was_node[i] = stock->node[i];
		stock->touched_node[stock->touched_nodes++] = i;
	}
	return &stock->node[i];
}

static struct stock_pod *touch_pod(struct stock *stock, uint32_t i)
{
	if (!stock->is_touched_pod[i]) {
		stock->is_touched_pod[i] = true;
		stock->was_pod[i] = stock->pod[i];
		stock->touched_pod[stock->touched_pods++] = i;
	}
	return &stock->pod[i];
}

/* In a store that was restored it may have been so for ever. And who did not see that it
 * was open for a while, as its watch was broken, takes it for closed since the first
 * time, unless it says since when. */
static void see_closed(const struct stock *stock, struct stock_node *node, bool was)
{
	const struct world *world = stock->world;
	int64_t said_ms = node->what.closed_ms;

	if (!was)
		node->closed_ms = world->agenda.now_ms;
	if (said_ms != 0)
		node->closed_said_ms = said_ms;
	else if (node->what.closed && node->closed_said_ms == 0)
		node->closed_said_ms = world->truth.listing ? 1 : world_wall_ms(world);
}

static void see_node(struct stock *stock, const struct keys_id *id,
                     const struct kv_event *event)
{
	uint32_t i = scene_node_of(&stock->scene, id->scope, id->name);
	struct stock_node *node;

	if (i == STOCK_NONE) {
		stock->strays++;
		return;
	}
	node = touch_node(stock, i);
	node->partition = id->partition;
	if (id->kind == KEYS_NODE) {
		bool was_closed = node->has_node && node->what.closed;

		node->has_node = !event->is_delete;
		node->node_rev = event->is_delete ? 0 : event->record.mod_revision;
		node->bad_node = node->has_node &&
		                 !scene_node_read(event->record.value, &node->what);
		node->zones |= 1u << node->what.zone;
		see_closed(stock, node, was_closed);
		return;
	}
	node->has_alloc = !event->is_delete;
	if (event->is_delete)
		node->gang_holds = node->holds = 0;
	node->alloc_rev = event->is_delete ? 0 : event->record.mod_revision;
	node->bad_alloc =
		node->has_alloc && !stock_read_alloc(stock, event->record.value, node);
	if (!node->has_alloc || node->bad_alloc)
		node->listed = 0;
}

static void see_spec(struct stock *stock, const struct keys_id *id,
                     const struct kv_event *event, uint32_t i)
{
	struct stock_pod *pod = &stock->pod[i];
	uint32_t at = 0;
	bool pointer = false;

	if (!event->is_delete &&
	    pointer_parse(event->record.value, &pointer, &at, NULL) == PL_OK && pointer) {
		pod->has_pointer = true;
		if (!pod->has_spec)
			pod->partition = at;
		return;
	}
	/* Where the pointer was, or somebody's copy in another partition. */
	if (pod->has_spec && pod->partition != id->partition) {
		pod->has_pointer = false;
		return;
	}
	if (!pod->has_spec && event->is_delete) {
		pod->has_pointer = pod->has_pointer && pod->partition == id->partition;
		return;
	}
	pod = touch_pod(stock, i);
	pod->partition = id->partition;
	pod->has_spec = !event->is_delete;
	pod->spec_rev = event->is_delete ? 0 : event->record.mod_revision;
	pod->bad_spec = pod->has_spec && !scene_pod_read(event->record.value, &pod->what);
	pod->since_ms = stock->world->agenda.now_ms;
}

static void see_state(struct stock *stock, const struct keys_id *id,
                      const struct kv_event *event, uint32_t i)
{
	struct stock_pod *pod = touch_pod(stock, i);

	note_left(stock, pod);
	if (event->is_delete) {
		pod->phase = STOCK_NO_STATE;
		pod->node = STOCK_NONE;
		pod->asked = pod->ended = pod->unwanted = false;
		pod->state_rev = 0;
		pod->reason[0] = 0;
		return;
	}
	pod->state_rev = event->record.mod_revision;
	if (!pod->has_spec)
		pod->partition = id->partition;
	pod->since_ms = stock->world->agenda.now_ms;
	if (!stock_read_state(stock, event->record.value, pod)) {
		pod->phase = STOCK_BAD_STATE;
		pod->node = STOCK_NONE;
	}
}

void stock_event(struct stock *stock, const struct keys_id *id,
                 const struct kv_event *event)
{
	uint32_t i;

	stock->revision = event->record.mod_revision;
	if (id->kind == KEYS_NODE || id->kind == KEYS_ALLOC) {
		see_node(stock, id, event);
		return;
	}
	i = scene_pod_of(&stock->scene, id->scope, id->name);
	if (i == STOCK_NONE)
		stock->strays++;
	else if (id->kind == KEYS_SPEC)
		see_spec(stock, id, event, i);
	else
		see_state(stock, id, event, i);
}

void stock_end(struct stock *stock)
{
	for (uint32_t i = 0; i < stock->touched_nodes; i++)
		stock->is_touched_node[stock->touched_node[i]] = false;
	for (uint32_t i = 0; i < stock->touched_pods; i++)
		stock->is_touched_pod[stock->touched_pod[i]] = false;
	stock->touched_nodes = stock->touched_pods = 0;
	stock_gangs_end(stock);
}

bool stock_lists(const struct stock_node *node, uint32_t pod)
{
	for (uint32_t i = 0; i < node->listed; i++)
		if (node->list[i].pod == pod)
			return true;
	return false;
}

const struct stock_hold *stock_hold_of(const struct stock_node *node, uint32_t gang)
{
	for (uint32_t i = 0; i < node->gang_holds; i++)
		if (node->gang_hold[i].gang == gang)
			return &node->gang_hold[i];
	return NULL;
}
