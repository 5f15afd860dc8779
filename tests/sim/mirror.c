#include "tests/sim/mirror.h"

#include <stdlib.h>
#include <string.h>

#include "shardsched/records/pod_location.h"
#include "store/base/alloc.h"
#include "tests/sim/world.h"

enum { ARENA_CHUNK = 1 << 16, ARENA_MAX = 16 << 20 };

static void *alloc_zeroed(uint32_t count, size_t size)
{
	void *at = pl_calloc(count, size);

	PL_ASSERT(at != NULL);
	return at;
}

struct mirror *mirror_new(struct world *world, const struct scenario *scenario)
{
	struct mirror *mirror = alloc_zeroed(1, sizeof *mirror);

	mirror->world = world;
	mirror->scenario = *scenario;
	mirror->nodes = scenario->nodes + scenario->extra;
	mirror->pods = scenario->pods;
	mirror->node = alloc_zeroed(mirror->nodes, sizeof *mirror->node);
	mirror->was_node = alloc_zeroed(mirror->nodes, sizeof *mirror->node);
	mirror->touched_node = alloc_zeroed(mirror->nodes, sizeof *mirror->touched_node);
	mirror->is_touched_node =
		alloc_zeroed(mirror->nodes, sizeof *mirror->is_touched_node);
	mirror->pod = alloc_zeroed(mirror->pods, sizeof *mirror->pod);
	mirror->was_pod = alloc_zeroed(mirror->pods, sizeof *mirror->pod);
	mirror->touched_pod = alloc_zeroed(mirror->pods, sizeof *mirror->touched_pod);
	mirror->is_touched_pod =
		alloc_zeroed(mirror->pods, sizeof *mirror->is_touched_pod);
	mirror->gangs = scenario->pods / SCENARIO_GROUP + 1;
	mirror->gang = alloc_zeroed(mirror->gangs, sizeof *mirror->gang);
	mirror->was_gang = alloc_zeroed(mirror->gangs, sizeof *mirror->gang);
	mirror->touched_gang = alloc_zeroed(mirror->gangs, sizeof *mirror->touched_gang);
	mirror->is_touched_gang =
		alloc_zeroed(mirror->gangs, sizeof *mirror->is_touched_gang);
	mirror->gang_corrupted =
		alloc_zeroed(mirror->gangs, sizeof *mirror->gang_corrupted);
	pl_arena_init(&mirror->arena, ARENA_CHUNK, ARENA_MAX);
	mirror_reset(mirror);
	return mirror;
}

void mirror_free(struct mirror *mirror)
{
	if (mirror == NULL)
		return;
	pl_arena_done(&mirror->arena);
	free(mirror->node);
	free(mirror->was_node);
	free(mirror->touched_node);
	free(mirror->is_touched_node);
	free(mirror->pod);
	free(mirror->was_pod);
	free(mirror->touched_pod);
	free(mirror->is_touched_pod);
	free(mirror->gang);
	free(mirror->was_gang);
	free(mirror->touched_gang);
	free(mirror->is_touched_gang);
	free(mirror->gang_corrupted);
	free(mirror);
}

static void note_left(const struct mirror *mirror, struct mirror_pod *pod)
{
	if (!mirror_is_placed(pod))
		return;
	pod->left_ms = mirror->world->agenda.now_ms;
	pod->left_labels = mirror_labels(pod);
}

/* The next list may show keys that were damaged when the snapshot was made. And decisions
 * from before the restore are committed after it, if their compares hold. */
static void reset_pod(const struct mirror *mirror, struct mirror_pod *pod)
{
	note_left(mirror, pod);
	*pod = (struct mirror_pod){.node = MIRROR_NONE,
	                           .corrupted = pod->corrupted,
	                           .left_ms = pod->left_ms,
	                           .left_labels = pod->left_labels};
}

void mirror_reset(struct mirror *mirror)
{
	for (uint32_t i = 0; i < mirror->nodes; i++)
		mirror->node[i] =
			(struct mirror_node){.corrupted = mirror->node[i].corrupted};
	for (uint32_t i = 0; i < mirror->pods; i++)
		reset_pod(mirror, &mirror->pod[i]);
	mirror_gangs_reset(mirror);
	mirror_end(mirror);
}

static struct mirror_node *touch_node(struct mirror *mirror, uint32_t i)
{
	if (!mirror->is_touched_node[i]) {
		mirror->is_touched_node[i] = true;
		mirror->was_node[i] = mirror->node[i];
		mirror->touched_node[mirror->touched_nodes++] = i;
	}
	return &mirror->node[i];
}

static struct mirror_pod *touch_pod(struct mirror *mirror, uint32_t i)
{
	if (!mirror->is_touched_pod[i]) {
		mirror->is_touched_pod[i] = true;
		mirror->was_pod[i] = mirror->pod[i];
		mirror->touched_pod[mirror->touched_pods++] = i;
	}
	return &mirror->pod[i];
}

/* In a restored store the node may have been closed before. And a shard whose watch was
 * broken may not have seen that the node was open for a while, and takes it for closed
 * since the first time, unless the taint says since when. */
static void observe_closed(const struct mirror *mirror, struct mirror_node *node,
                           bool was)
{
	const struct world *world = mirror->world;
	int64_t said_ms = node->what.closed_ms;

	if (!was)
		node->closed_ms = world->agenda.now_ms;
	if (said_ms != 0)
		node->closed_said_ms = said_ms;
	else if (node->what.closed && node->closed_said_ms == 0)
		node->closed_said_ms = world->truth.listing ? 1 : world_wall_ms(world);
}

static void observe_node(struct mirror *mirror, const struct keys_id *id,
                         const struct kv_event *event)
{
	uint32_t i = scenario_node_of(&mirror->scenario, id->scope, id->name);
	struct mirror_node *node;

	if (i == MIRROR_NONE) {
		mirror->unknown_keys++;
		return;
	}
	node = touch_node(mirror, i);
	node->partition = id->partition;
	if (id->kind == KEYS_NODE) {
		bool was_closed = node->has_node && node->what.closed;

		node->has_node = !event->is_delete;
		node->node_rev = event->is_delete ? 0 : event->record.mod_revision;
		node->bad_node = node->has_node &&
		                 !scenario_node_read(event->record.value, &node->what);
		node->zones |= 1u << node->what.zone;
		observe_closed(mirror, node, was_closed);
		return;
	}
	node->has_alloc = !event->is_delete;
	if (event->is_delete)
		node->gang_reservations = node->reservations = 0;
	node->alloc_rev = event->is_delete ? 0 : event->record.mod_revision;
	node->bad_alloc =
		node->has_alloc && !mirror_read_alloc(mirror, event->record.value, node);
	if (!node->has_alloc || node->bad_alloc)
		node->listed = 0;
}

static void observe_spec(struct mirror *mirror, const struct keys_id *id,
                         const struct kv_event *event, uint32_t i)
{
	struct mirror_pod *pod = &mirror->pod[i];
	uint32_t at = 0;
	bool pointer = false;

	if (!event->is_delete &&
	    pointer_parse(event->record.value, &pointer, &at, NULL) == PL_OK && pointer) {
		pod->has_pointer = true;
		if (!pod->has_spec)
			pod->partition = at;
		return;
	}
	/* The partition of the pointer, or of a manual copy in another partition. */
	if (pod->has_spec && pod->partition != id->partition) {
		pod->has_pointer = false;
		return;
	}
	if (!pod->has_spec && event->is_delete) {
		pod->has_pointer = pod->has_pointer && pod->partition == id->partition;
		return;
	}
	pod = touch_pod(mirror, i);
	pod->partition = id->partition;
	pod->has_spec = !event->is_delete;
	pod->spec_rev = event->is_delete ? 0 : event->record.mod_revision;
	pod->bad_spec =
		pod->has_spec && !scenario_pod_read(event->record.value, &pod->what);
	pod->since_ms = mirror->world->agenda.now_ms;
}

static void observe_state(struct mirror *mirror, const struct keys_id *id,
                          const struct kv_event *event, uint32_t i)
{
	struct mirror_pod *pod = touch_pod(mirror, i);

	note_left(mirror, pod);
	if (event->is_delete) {
		pod->phase = MIRROR_NO_STATE;
		pod->node = MIRROR_NONE;
		pod->asked = pod->ended = pod->unwanted = false;
		pod->state_rev = 0;
		pod->reason[0] = 0;
		return;
	}
	pod->state_rev = event->record.mod_revision;
	if (!pod->has_spec)
		pod->partition = id->partition;
	pod->since_ms = mirror->world->agenda.now_ms;
	if (!mirror_read_state(mirror, event->record.value, pod)) {
		pod->phase = MIRROR_BAD_STATE;
		pod->node = MIRROR_NONE;
	}
}

void mirror_event(struct mirror *mirror, const struct keys_id *id,
                  const struct kv_event *event)
{
	uint32_t i;

	mirror->revision = event->record.mod_revision;
	if (id->kind == KEYS_NODE || id->kind == KEYS_ALLOC) {
		observe_node(mirror, id, event);
		return;
	}
	i = scenario_pod_of(&mirror->scenario, id->scope, id->name);
	if (i == MIRROR_NONE)
		mirror->unknown_keys++;
	else if (id->kind == KEYS_SPEC)
		observe_spec(mirror, id, event, i);
	else
		observe_state(mirror, id, event, i);
}

void mirror_end(struct mirror *mirror)
{
	for (uint32_t i = 0; i < mirror->touched_nodes; i++)
		mirror->is_touched_node[mirror->touched_node[i]] = false;
	for (uint32_t i = 0; i < mirror->touched_pods; i++)
		mirror->is_touched_pod[mirror->touched_pod[i]] = false;
	mirror->touched_nodes = mirror->touched_pods = 0;
	mirror_gangs_end(mirror);
}

bool mirror_lists(const struct mirror_node *node, uint32_t pod)
{
	for (uint32_t i = 0; i < node->listed; i++)
		if (node->list[i].pod == pod)
			return true;
	return false;
}

const struct mirror_reservation *mirror_reservation_of(const struct mirror_node *node,
                                                       uint32_t gang)
{
	for (uint32_t i = 0; i < node->gang_reservations; i++)
		if (node->gang_reservation[i].gang == gang)
			return &node->gang_reservation[i];
	return NULL;
}
