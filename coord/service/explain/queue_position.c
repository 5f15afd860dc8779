#include "coord/service/explain/queue_position.h"

#include <string.h>

#include "shardsched/model/parse.h"
#include "shardsched/records/pod_location.h"
#include "shardsched/records/pod_state.h"

enum { ARENA_CHUNK = 1 << 16 };

void queue_position_init(struct queue_position *queue)
{
	pl_arena_init(&queue->arena, ARENA_CHUNK, READER_ARENA_MAX);
}

void queue_position_done(struct queue_position *queue)
{
	pl_arena_done(&queue->arena);
}

/* Reads a pod that can be in the queue; false: it can not be. */
static bool read_pod(struct queue_position *queue, struct pl_span json, struct pod *out)
{
	struct parse parse = {.model = queue->model, .arena = &queue->arena};
	struct pl_err err = {0};
	bool is_pointer = false;
	uint32_t at;

	pl_arena_reset(&queue->arena);
	if (pointer_parse(json, &is_pointer, &at, &err) != PL_OK || is_pointer ||
	    pod_parse(&parse, json, out, &err) != PL_OK)
		return false;
	if (out->node == 0 && out->deleted_ms == 0 && !pod_is_terminal(out) &&
	    out->spec->template->gates.count == 0)
		return true;
	pod_drop(queue->model, out);
	return false;
}

void queue_position_set_pod(struct queue_position *queue, struct pl_span spec)
{
	struct pod pod;

	if (!read_pod(queue, spec, &pod))
		return;
	queue->known = true;
	queue->sla = pod.spec->sla;
	queue->priority = pod.spec->priority;
	queue->created_ms = pod.created_ms;
	pod_drop(queue->model, &pod);
}

/* Below 0: the pod comes before the one that is asked about, whatever their ages. */
static int compare_pods(const struct queue_position *queue, const struct pod *pod)
{
	if (queue->sort == QUEUE_BY_SLA && pod->spec->sla != queue->sla)
		return pod->spec->sla > queue->sla ? -1 : 1;
	if (pod->spec->priority != queue->priority)
		return pod->spec->priority > queue->priority ? -1 : 1;
	return 0;
}

static void count_pod(uint64_t *last[2], unsigned at, uint64_t *of)
{
	last[at] = of;
	++*of;
}

/* "0007/web/app-1" */
static struct pl_span pod_of_key(struct pl_span key, size_t leaf)
{
	size_t prefix = strlen("/schedules/");

	return pl_span(key.at + prefix, key.len - prefix - leaf);
}

static void add_spec(struct queue_position *queue, const struct kv_record *record)
{
	struct pl_span key = pod_of_key(record->key, strlen("/spec"));
	struct pod pod;
	int order;

	queue->last[0] = queue->last[1] = NULL;
	if (pl_span_eq(key, queue->self) || !read_pod(queue, record->value, &pod))
		return;
	order = compare_pods(queue, &pod);
	if (order < 0)
		count_pod(queue->last, 0, &queue->before);
	else if (order == 0)
		count_pod(queue->last, 0, &queue->alike);
	if (order == 0 && pod.created_ms < queue->created_ms)
		count_pod(queue->last, 1, &queue->older);
	pod_drop(queue->model, &pod);
	memcpy(queue->last_key.at, key.at, key.len);
	queue->last_key.len = key.len;
}

/* Reads the state of the pod that was counted last: a pod that has or had a place
 * does not wait. */
static void add_state(struct queue_position *queue, const struct kv_record *record)
{
	struct pod_state state;

	if (queue->last[0] == NULL ||
	    !pl_span_eq(pod_of_key(record->key, strlen("/state")),
	                keys_span(&queue->last_key)))
		return;
	pl_arena_reset(&queue->arena);
	if (state_parse(record->value, &queue->arena, &state, NULL) == PL_OK &&
	    state.phase == STATE_PENDING)
		return;
	for (unsigned i = 0; i < 2; i++) {
		if (queue->last[i] != NULL)
			--*queue->last[i];
		queue->last[i] = NULL;
	}
}

void queue_position_add(struct queue_position *queue, const struct keys_id *id,
                        const struct kv_record *record)
{
	if (!queue->known || !queue->own[id->partition])
		return;
	if (id->kind == KEYS_SPEC)
		add_spec(queue, record);
	else
		add_state(queue, record);
}
