/*
 * Pods: each has an entry by its name, and a place that follows from what the pod says of
 * its node and from which nodes are there.
 *
 * What may fail comes first: a pod takes its new place before it leaves the old one, so a
 * failure changes nothing.
 */
#include <stdlib.h>

#include "shardsched/engine/engine_int.h"
#include "store/base/alloc.h"

static struct engine_pod *find_pod(const struct engine *engine, uint32_t namespace,
                                   uint32_t name)
{
	const uint32_t key[2] = {namespace, name};
	struct pl_map_node *node = pl_map_get(&engine->pods, engine_key(key));

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct engine_pod, by_name);
}

static uint32_t placed_flags(const struct pod *pod)
{
	return (pod->deleted_ms != 0 ? (uint32_t)PLACED_TERMINATING : 0) |
	       (pod->preempted ? (uint32_t)PLACED_PREEMPTED : 0);
}

static struct pod_on_node make_pod_on_node(struct engine_pod *entry)
{
	return (struct pod_on_node){
		.spec = entry->pod.spec,
		.name = entry->pod.name,
		.uid = entry->pod.uid,
		.flags = placed_flags(&entry->pod),
		.started_ms = entry->pod.started_ms,
	};
}

enum pl_code engine_pod_place(struct engine *engine, struct engine_pod *entry,
                              uint32_t slot, struct pl_err *err)
{
	const struct pod_on_node pod = make_pod_on_node(entry);
	bool bound = entry->pod.node != 0;
	enum pl_code code = bound ? snapshot_pod_add(&engine->snapshot, slot, &pod,
	                                             &entry->number, err)
	                          : snapshot_nominate(&engine->snapshot, slot, &pod,
	                                              &entry->number, err);

	if (code == PL_OK)
		entry->place = bound ? ENGINE_PLACED : ENGINE_NOMINATED;
	return code;
}

static enum pl_code place_pod(struct engine *engine, struct engine_pod *entry,
                              struct pl_err *err)
{
	uint32_t name = entry->pod.node != 0 ? entry->pod.node : entry->pod.nominated;
	struct engine_missing_node *missing = NULL;
	enum pl_code code;
	uint32_t slot;

	if (name == 0 || pod_is_terminal(&entry->pod))
		return PL_OK;
	slot = snapshot_node_find(&engine->snapshot, entry->cluster, name);
	if (slot != SNAPSHOT_NONE)
		return engine_pod_place(engine, entry, slot, err);
	code = missing_node_get(engine, entry->cluster, name, &missing, err);
	if (code == PL_OK)
		missing_node_add(engine, missing, entry);
	return code;
}

static void unplace_pod(struct engine *engine, struct engine_pod *entry)
{
	switch (entry->place) {
	case ENGINE_WAITS:
		break;
	case ENGINE_PLACED:
		snapshot_pod_remove(&engine->snapshot, entry->number);
		break;
	case ENGINE_NOMINATED:
		snapshot_nominate_end(&engine->snapshot, entry->number);
		break;
	case ENGINE_NODE_MISSING:
		missing_node_remove(engine, entry);
		break;
	}
	entry->place = ENGINE_WAITS;
}

void engine_pod_set(struct engine *engine, struct engine_pod *entry, struct pod *pod)
{
	engine->identity_pods -= entry->pod.identity_keys != 0;
	engine->identity_pods += pod->identity_keys != 0;
	entry->pod = *pod;
	*pod = (struct pod){0};
}

static void entry_free(struct engine *engine, struct engine_pod *entry)
{
	unplace_pod(engine, entry);
	if (pl_map_has(&entry->by_name))
		pl_map_del(&engine->pods, &entry->by_name);
	strings_unref(&engine->model.strings, entry->cluster);
	engine->identity_pods -= entry->pod.identity_keys != 0;
	pod_drop(&engine->model, &entry->pod);
	free(entry);
}

/* Takes the pod over, also on failure. NULL: out of memory. */
static struct engine_pod *entry_new(struct engine *engine, uint32_t cluster,
                                    struct pod *pod, struct pl_err *err)
{
	struct engine_pod *entry = pl_calloc(1, sizeof *entry);

	if (entry == NULL) {
		pod_drop(&engine->model, pod);
		pl_err_set(err, PL_NOMEM, "pod: out of memory");
		return NULL;
	}
	engine_pod_set(engine, entry, pod);
	entry->cluster = strings_ref(&engine->model.strings, cluster);
	entry->key[0] = entry->pod.spec->namespace;
	entry->key[1] = entry->pod.name;
	return entry;
}

/* The new entry takes the place of the old one. */
static void replace_pod(struct engine *engine, struct engine_pod *old,
                        struct engine_pod *new)
{
	if (old != NULL)
		entry_free(engine, old);
	(void)!pl_map_add(&engine->pods, &new->by_name, engine_key(new->key));
}

/* Whether scheduling reads the same of both, but perhaps that the pod is terminating
 * now. */
static bool scheduling_equal(const struct engine_pod *old, uint32_t cluster,
                             const struct pod *pod)
{
	return old->cluster == cluster && old->pod.spec == pod->spec &&
	       old->pod.uid == pod->uid && old->pod.node == pod->node &&
	       (pod->node != 0 || old->pod.nominated == pod->nominated) &&
	       old->pod.started_ms == pod->started_ms &&
	       pod_is_terminal(&old->pod) == pod_is_terminal(pod) &&
	       old->pod.preempted == pod->preempted &&
	       (old->pod.deleted_ms == 0 || pod->deleted_ms != 0);
}

static void update_pod(struct engine *engine, struct engine_pod *entry, struct pod *pod)
{
	bool terminates = entry->pod.deleted_ms == 0 && pod->deleted_ms != 0;
	struct pod was = entry->pod;

	if (terminates && entry->place == ENGINE_PLACED)
		snapshot_pod_terminate(&engine->snapshot, entry->number);
	engine_pod_set(engine, entry, pod);
	pod_drop(&engine->model, &was);
}

enum pl_code engine_pod_put(struct engine *engine, uint32_t cluster, struct pod *pod,
                            struct pl_err *err)
{
	struct engine_pod *old = find_pod(engine, pod->spec->namespace, pod->name);
	struct engine_pod *new;
	enum pl_code code = engine_name_check(engine, pod->name, old != NULL, err);

	if (code != PL_OK) {
		pod_drop(&engine->model, pod);
		return code;
	}
	if (old != NULL && scheduling_equal(old, cluster, pod)) {
		update_pod(engine, old, pod);
		return PL_OK;
	}
	new = entry_new(engine, cluster, pod, err);
	if (new == NULL)
		return PL_NOMEM;
	code = place_pod(engine, new, err);
	if (code == PL_OK)
		replace_pod(engine, old, new);
	else
		entry_free(engine, new);
	return code;
}

enum pl_code engine_pod_drop(struct engine *engine, uint32_t namespace, uint32_t name,
                             struct pl_err *err)
{
	struct engine_pod *entry = find_pod(engine, namespace, name);

	if (entry == NULL)
		return pl_err_set(err, PL_NOTFOUND, "no such pod");
	entry_free(engine, entry);
	return PL_OK;
}

/* A copy of the pod, bound to that node. */
static struct pod copy_bound(struct engine *engine, const struct pod *pod, uint32_t node)
{
	struct strings *strings = &engine->model.strings;
	struct pod out = pod_copy(&engine->model, pod);

	strings_unref(strings, out.node);
	strings_unref(strings, out.nominated);
	out.node = strings_ref(strings, node);
	out.nominated = 0;
	return out;
}

enum pl_code engine_assume(struct engine *engine, const struct pod *pod, uint32_t slot,
                           uint32_t *placed, struct pl_err *err)
{
	const struct node_row *row = &engine->snapshot.row[slot];
	struct engine_pod *old = find_pod(engine, pod->spec->namespace, pod->name);
	struct engine_pod *new;
	struct pod bound;
	enum pl_code code;

	PL_ASSERT(slot < engine->snapshot.slots && row->node.name != 0);
	if (old != NULL && old->place == ENGINE_PLACED)
		return pl_err_set(err, PL_EXISTS,
		                  "a pod of that name is on a node already");
	bound = copy_bound(engine, pod, row->node.name);
	code = engine_pod_promote_labels(engine, &bound, err);
	if (code != PL_OK) {
		pod_drop(&engine->model, &bound);
		return code;
	}
	new = entry_new(engine, row->cluster, &bound, err);
	if (new == NULL)
		return PL_NOMEM;
	code = engine_pod_place(engine, new, slot, err);
	if (code != PL_OK) {
		entry_free(engine, new);
		return code;
	}
	if (placed != NULL)
		*placed = new->number;
	replace_pod(engine, old, new);
	return PL_OK;
}

enum pl_code engine_pods_adopt(struct engine *engine, uint32_t slot, struct pl_err *err)
{
	const struct node_row *row = &engine->snapshot.row[slot];
	struct engine_missing_node *missing =
		missing_node_find(engine, row->cluster, row->node.name);
	enum pl_code code = PL_OK;

	if (missing == NULL)
		return PL_OK;
	PL_LIST_EACH (link, &missing->pods) {
		struct engine_pod *pod = PL_LIST_ITEM(link, struct engine_pod, link);

		code = engine_pod_place(engine, pod, slot, err);
		if (code != PL_OK)
			break;
	}
	PL_LIST_EACH (link, &missing->pods) {
		struct engine_pod *pod = PL_LIST_ITEM(link, struct engine_pod, link);

		if (pod->place == ENGINE_NODE_MISSING)
			break;
		if (code != PL_OK) {
			unplace_pod(engine, pod);
			pod->place = ENGINE_NODE_MISSING;
			continue;
		}
		pl_list_del(link);
		engine->without_node--;
	}
	missing_node_tidy(engine, missing);
	return code;
}

static void detach_pod(struct engine *engine, struct engine_missing_node *missing,
                       const struct spec_view *view, uint32_t name)
{
	struct engine_pod *entry = find_pod(engine, view->spec->namespace, name);

	PL_ASSERT(entry != NULL);
	unplace_pod(engine, entry);
	missing_node_add(engine, missing, entry);
}

enum pl_code engine_pods_detach(struct engine *engine, uint32_t slot, struct pl_err *err)
{
	struct snapshot *snapshot = &engine->snapshot;
	const struct node_row *row = &snapshot->row[slot];
	struct engine_missing_node *missing = NULL;
	enum pl_code code =
		missing_node_get(engine, row->cluster, row->node.name, &missing, err);

	if (code != PL_OK)
		return code;
	while (row->first_pod != SNAPSHOT_NONE) {
		const struct placed_pod *placed = &snapshot->placed[row->first_pod];

		detach_pod(engine, missing, placed->view, placed->name);
	}
	while (row->first_nomination != SNAPSHOT_NONE) {
		const struct nomination *nomination =
			&snapshot->nomination[row->first_nomination];

		detach_pod(engine, missing, nomination->view, nomination->name);
	}
	missing_node_tidy(engine, missing);
	return PL_OK;
}

uint32_t engine_pod_nominated(const struct engine *engine, const struct pod *pod)
{
	const struct engine_pod *entry;

	if (pod->nominated == 0)
		return SNAPSHOT_NONE;
	entry = find_pod(engine, pod->spec->namespace, pod->name);
	if (entry != NULL && entry->place == ENGINE_NOMINATED)
		return engine->snapshot.nomination[entry->number].node;
	return snapshot_node_find(&engine->snapshot, 0, pod->nominated);
}

void engine_pods_done(struct engine *engine)
{
	PL_MAP_EACH (node, &engine->pods)
		entry_free(engine, PL_CONTAINER_OF(node, struct engine_pod, by_name));
	pl_map_done(&engine->pods);
	PL_ASSERT(engine->without_node == 0 && pl_map_first(&engine->missing) == NULL);
	pl_map_done(&engine->missing);
}

uint32_t engine_pod_slot(const struct engine *engine, const struct pod *pod)
{
	const struct engine_pod *entry =
		find_pod(engine, pod->spec->namespace, pod->name);

	return entry != NULL && entry->place == ENGINE_PLACED
	               ? engine->snapshot.placed[entry->number].node
	               : SNAPSHOT_NONE;
}

uint32_t engine_pods(const struct engine *engine)
{
	return (uint32_t)engine->pods.count;
}

uint32_t engine_pods_without_node(const struct engine *engine)
{
	return engine->without_node;
}
