/*
 * A page brings a pod's spec and then its state: the pod is noted when the next key is
 * another pod's, so once. A pod that a new list does not mention any more is gone.
 */
#include "coord/service/pods/pod_watch.h"

#include <stdlib.h>

#include "coord/service/pods/pod_gates.h"
#include "shardsched/records/pod_location.h"
#include "store/base/alloc.h"
#include "store/kv/calls.h"
#include "store/kv/relist.h"

struct pod_watch_list {
	struct pod_watch *watch;
	struct relist *relist; /* NULL: it has stopped */
	uint16_t number;
	uint64_t round;
	bool whole;
	struct pod_watch_pod *held; /* of the page, not noted yet */
};

struct pod_watch {
	struct kv *kv;
	struct pod_watch_opts opts;
	struct pl_map pods;
	struct pl_err err;
	unsigned count;
	struct pod_watch_list list[POD_WATCH_LISTS_MAX];
};

static void free_pod(struct pod_watch *watch, struct pod_watch_pod *pod)
{
	pl_map_del(&watch->pods, &pod->node);
	free(pod->state);
	free(pod);
}

static void free_watch(struct pod_watch *watch)
{
	PL_MAP_EACH (node, &watch->pods)
		free_pod(watch, PL_CONTAINER_OF(node, struct pod_watch_pod, node));
	pl_map_done(&watch->pods);
	free(watch);
}

static void emit_note(struct pod_watch *watch, enum pod_watch_what what,
                      struct pod_watch_pod *pod, struct pl_span state)
{
	struct pod_watch_note note = {.what = what, .pod = pod, .state = state};

	watch->opts.fn(watch->opts.ctx, &note);
}

static void stop_with_error(struct pod_watch *watch, enum pl_code code, const char *what)
{
	if (watch->err.code == PL_OK)
		(void)pl_err_set(&watch->err, code, "%s", what);
	pod_watch_stop(watch);
}

/* -- pods ------------------------------------------------------------------------------
 */

static struct pod_watch_pod *add_pod(struct pod_watch *watch, struct pl_span key,
                                     const struct keys_id *id)
{
	struct pod_watch_pod *pod = NULL;

	if (watch->pods.count < POD_WATCH_PODS_MAX)
		pod = pl_calloc(1, sizeof *pod + key.len);
	if (pod == NULL)
		return NULL;
	memcpy(pod->key, key.at, key.len);
	pod->namespace = pl_span(pod->key, id->scope.len);
	pod->name = pl_span(pod->key + id->scope.len + 1, id->name.len);
	(void)!pl_map_add(&watch->pods, &pod->node, pl_span(pod->key, key.len));
	return pod;
}

/* add: there may be none yet. NULL: not of interest, or there is none. */
static struct pod_watch_pod *pod_of(struct pod_watch_list *list, const struct keys_id *id,
                                    bool add)
{
	struct pod_watch *watch = list->watch;
	struct pod_watch_pod *pod;
	struct pl_map_node *node;
	char text[KEYS_SIZE_MAX];
	struct pl_span key;

	memcpy(text, id->scope.at, id->scope.len);
	text[id->scope.len] = '/';
	memcpy(text + id->scope.len + 1, id->name.at, id->name.len);
	key = pl_span(text, id->scope.len + 1 + id->name.len);
	node = pl_map_get(&watch->pods, key);
	if (node == NULL && (!add || (watch->opts.wanted != NULL &&
	                              !watch->opts.wanted(watch->opts.ctx, key))))
		return NULL;
	pod = node != NULL ? PL_CONTAINER_OF(node, struct pod_watch_pod, node)
	                   : add_pod(watch, key, id);
	if (pod == NULL) {
		stop_with_error(watch, PL_NOMEM, "keep the pods' names");
		return NULL;
	}
	if (add) {
		pod->list = list->number;
		pod->round = list->round;
		pod->partition = id->partition;
	}
	return pod;
}

static void drop_pod(struct pod_watch *watch, struct pod_watch_pod *pod)
{
	for (unsigned i = 0; i < watch->count; i++)
		if (watch->list[i].held == pod)
			watch->list[i].held = NULL;
	emit_note(watch, POD_WATCH_GONE, pod, (struct pl_span){0});
	free_pod(watch, pod);
}

/* Labels may change where the state does not: then the pod is noted again. */
static void keep_state(struct pod_watch *watch, struct pod_watch_pod *pod,
                       struct pl_span value)
{
	uint8_t *kept = NULL;

	if (watch->opts.query == NULL)
		return;
	if (value.len > 0)
		kept = pl_calloc(1, value.len);
	if (kept != NULL)
		memcpy(kept, value.at, value.len);
	else if (value.len > 0)
		stop_with_error(watch, PL_NOMEM, "keep the pods' states");
	free(pod->state);
	pod->state = kept;
	pod->state_len = kept == NULL ? 0 : value.len;
}

static void apply_spec(struct pod_watch *watch, struct pod_watch_pod *pod,
                       struct pl_span value)
{
	pod->has_spec = true;
	pod->gated = pod_has_gates(value);
	pod->selected = watch->opts.query == NULL ||
	                label_query_matches(watch->opts.query, value);
}

static void release_list(struct pod_watch_list *list)
{
	struct pod_watch_pod *pod = list->held;

	list->held = NULL;
	if (pod != NULL)
		emit_note(list->watch, POD_WATCH_POD, pod, (struct pl_span){0});
}

/* Applies a key of a schedule that is no pointer. */
static bool is_of_pod(const struct kv_record *record, bool is_delete, struct keys_id *id)
{
	bool is_pointer = false;
	uint32_t at = 0;

	if (keys_parse(record->key, id, NULL) != PL_OK ||
	    (id->kind != KEYS_SPEC && id->kind != KEYS_STATE))
		return false;
	if (id->kind == KEYS_SPEC && !is_delete &&
	    (pointer_parse(record->value, &is_pointer, &at, NULL) != PL_OK || is_pointer))
		return false;
	return true;
}

static void apply_record(struct pod_watch_list *list, const struct kv_record *record)
{
	struct pod_watch_pod *pod;
	struct keys_id id;

	if (!is_of_pod(record, false, &id))
		return;
	pod = pod_of(list, &id, true);
	if (pod != list->held)
		release_list(list);
	if (pod == NULL)
		return;
	if (id.kind == KEYS_SPEC) {
		apply_spec(list->watch, pod, record->value);
		pod->has_state = false; /* unless it follows */
		list->held = pod;
	} else {
		if (list->held == NULL)
			pod->has_spec = false;
		pod->has_state = true;
		keep_state(list->watch, pod, record->value);
		list->held = NULL;
		emit_note(list->watch, POD_WATCH_POD, pod, record->value);
	}
}

static struct pl_span value_of(const struct kv_event *event)
{
	return event->is_delete ? (struct pl_span){0} : event->record.value;
}

/* The state that is kept may be one that a new list has shown to be gone. */
static struct pl_span state_of(const struct pod_watch_pod *pod)
{
	return pod->has_state ? pl_span(pod->state, pod->state_len) : (struct pl_span){0};
}

static void spec_event(struct pod_watch *watch, struct pod_watch_pod *pod,
                       const struct kv_event *event)
{
	if (event->is_delete)
		pod->has_spec = false;
	else
		apply_spec(watch, pod, event->record.value);
}

static void state_event(struct pod_watch *watch, struct pod_watch_pod *pod,
                        const struct kv_event *event)
{
	pod->has_state = !event->is_delete;
	keep_state(watch, pod, value_of(event));
}

static void apply_event(struct pod_watch_list *list, const struct kv_event *event)
{
	struct pod_watch_pod *pod;
	bool was_selected;
	struct keys_id id;

	if (!is_of_pod(&event->record, event->is_delete, &id))
		return;
	pod = pod_of(list, &id, !event->is_delete);
	/* A pointer that goes is no pod's spec. */
	if (pod == NULL || (event->is_delete && pod->partition != id.partition))
		return;
	was_selected = pod->selected;
	if (id.kind == KEYS_SPEC)
		spec_event(list->watch, pod, event);
	else
		state_event(list->watch, pod, event);
	if (!pod->has_spec && !pod->has_state)
		drop_pod(list->watch, pod);
	else if (id.kind == KEYS_STATE)
		emit_note(list->watch, POD_WATCH_POD, pod, value_of(event));
	else if (!pod->has_state || pod->selected != was_selected)
		emit_note(list->watch, POD_WATCH_POD, pod, state_of(pod));
}

static void sweep_list(struct pod_watch_list *list)
{
	PL_MAP_EACH (node, &list->watch->pods) {
		struct pod_watch_pod *pod =
			PL_CONTAINER_OF(node, struct pod_watch_pod, node);

		if (pod->list == list->number && pod->round != list->round)
			drop_pod(list->watch, pod);
	}
}

/* -- lists -----------------------------------------------------------------------------
 */

static bool all_synced(const struct pod_watch *watch)
{
	for (unsigned i = 0; i < watch->count; i++)
		if (!watch->list[i].whole)
			return false;
	return true;
}

static void list_stopped(struct pod_watch_list *list)
{
	struct pod_watch *watch = list->watch;
	struct pod_watch_note note = {.what = POD_WATCH_STOPPED};
	struct pod_watch_opts opts = watch->opts;
	struct pl_err err = watch->err;

	list->relist = NULL;
	for (unsigned i = 0; i < watch->count; i++)
		if (watch->list[i].relist != NULL)
			return;
	note.err = err.code == PL_OK ? NULL : &err;
	free_watch(watch);
	opts.fn(opts.ctx, &note);
}

static void emit_trouble(struct pod_watch *watch, const struct pl_err *err)
{
	struct pod_watch_note note = {.what = POD_WATCH_TROUBLE, .err = err};

	watch->opts.fn(watch->opts.ctx, &note);
}

static void on_note(void *ctx, const struct relist_note *note)
{
	struct pod_watch_list *list = ctx;

	switch (note->what) {
	case RELIST_BEGIN:
		list->round++;
		list->held = NULL;
		break;
	case RELIST_PAGE:
		for (size_t i = 0; i < note->count; i++)
			apply_record(list, &note->records[i]);
		break;
	case RELIST_END:
		release_list(list);
		sweep_list(list);
		list->whole = true;
		if (all_synced(list->watch))
			emit_note(list->watch, POD_WATCH_WHOLE, NULL,
			          (struct pl_span){0});
		break;
	case RELIST_EVENTS:
		for (size_t i = 0; i < note->count; i++)
			apply_event(list, &note->events[i]);
		break;
	case RELIST_PROGRESS:
		break;
	case RELIST_LOST:
		list->whole = false;
		list->held = NULL;
		emit_trouble(list->watch, note->err);
		break;
	case RELIST_TROUBLE:
		emit_trouble(list->watch, note->err);
		break;
	case RELIST_STOPPED:
		list_stopped(list);
		break;
	}
}

void pod_watch_parts(const bool in_partition[KEYS_PARTITIONS_MAX],
                     struct pod_watch_parts *out)
{
	struct keys_id id = {.kind = KEYS_SPEC};
	unsigned count = 0;

	for (uint32_t p = 0; p < KEYS_PARTITIONS_MAX && count <= POD_WATCH_LISTS_MAX;
	     p++) {
		if (!in_partition[p] || count++ == POD_WATCH_LISTS_MAX)
			continue;
		id.partition = p;
		if (keys_prefix(&id, 2, &out->text[count - 1], NULL) != PL_OK)
			PL_UNREACHABLE("a partition");
		out->prefix[count - 1] = keys_span(&out->text[count - 1]);
	}
	if (count == 0 || count > POD_WATCH_LISTS_MAX) {
		out->prefix[0] = PL_SPAN_LIT("/schedules/");
		count = 1;
	}
	out->count = count;
}

enum pl_code pod_watch_open(struct kv *kv, const struct pod_watch_opts *opts,
                            struct pod_watch **out, struct pl_err *err)
{
	struct pod_watch *watch = pl_calloc(1, sizeof *watch);
	enum pl_code code = PL_OK;

	PL_ASSERT(opts->count > 0 && opts->count <= POD_WATCH_LISTS_MAX);
	if (watch == NULL)
		return pl_err_set(err, PL_NOMEM, "watch pods");
	watch->kv = kv;
	watch->opts = *opts;
	watch->opts.prefix = NULL;
	pl_map_init(&watch->pods);
	for (unsigned i = 0; i < opts->count && code == PL_OK; i++) {
		struct relist_opts one = {.keys = kv_prefix(opts->prefix[i])};
		struct pod_watch_list *list = &watch->list[i];

		list->watch = watch;
		list->number = (uint16_t)i;
		code = relist_open(kv, &one, on_note, list, &list->relist, err);
		watch->count += code == PL_OK;
	}
	if (code == PL_OK) {
		*out = watch;
		return code;
	}
	if (watch->count >
	    0) { /* the lists that were opened note that they have stopped */
		watch->err = *err;
		pod_watch_stop(watch);
		*out = watch;
		return PL_OK;
	}
	free_watch(watch);
	return code;
}

void pod_watch_each(const struct pod_watch *watch,
                    bool (*fn)(void *ctx, const struct pod_watch_pod *pod), void *ctx)
{
	PL_MAP_EACH (node, &watch->pods)
		if (!fn(ctx, PL_CONTAINER_OF(node, struct pod_watch_pod, node)))
			return;
}

void pod_watch_stop(struct pod_watch *watch)
{
	for (unsigned i = 0; i < watch->count; i++)
		if (watch->list[i].relist != NULL)
			relist_stop(watch->list[i].relist);
}
