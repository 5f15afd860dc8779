#include "shardsched/shard/objects/objects.h"

#include <stdlib.h>

#include "shardsched/shard/inner.h"
#include "shardsched/shard/report.h"
#include "shardsched/snapshot/object_catalog.h"
#include "store/base/alloc.h"

#define VIEW_KIND(kind, group, resource, in) \
	[SCHED_OF_##kind - SCHED_OBJECT_FIRST] = CLUSTER_##kind,
static const enum cluster_object_kind kinds[SCHED_OBJECT_VIEWS] = {
	CLUSTER_FOLLOWED_MAP(VIEW_KIND)};

static struct object_view *view_of(struct sched *sched, enum sched_view view)
{
	PL_ASSERT(sched_view_is_of_objects(view) && view < SCHED_VIEWS);
	return &sched->objects.view[view - SCHED_OBJECT_FIRST];
}

static enum cluster_object_kind kind_of(enum sched_view view)
{
	return kinds[view - SCHED_OBJECT_FIRST];
}

static struct stored_object *object_at(struct pl_map_node *at)
{
	return at == NULL ? NULL : PL_CONTAINER_OF(at, struct stored_object, by_name);
}

static struct catalog_key catalog_key_of(enum sched_view view,
                                         const struct stored_object *object)
{
	return object_catalog_key_of(kind_of(view), object->key[0], object->key[1]);
}

/* Something of the view was not kept: nothing is decided before it is listed again. */
static void object_missed(struct sched *sched, enum sched_view view,
                          struct stored_object *object)
{
	if (object != NULL)
		object->rev = 0;
	view_of(sched, view)->known = false;
	view_of(sched, view)->missed = true;
	report_relist_view(sched, view);
}

/* -- what follows in the queue ------------------------------------------------------- */

static enum queue_event_kind event_of(enum cluster_object_kind kind, bool there)
{
	switch (kind) {
	case CLUSTER_NAMESPACE:
		return QUEUE_EV_NAMESPACE_LABELS;
	case CLUSTER_VOLUME:
		return there ? QUEUE_EV_PV_CHANGED : QUEUE_EV_PV_ADDED;
	case CLUSTER_CLAIM:
		return there ? QUEUE_EV_PVC_CHANGED : QUEUE_EV_PVC_ADDED;
	case CLUSTER_STORAGE_CLASS:
		return QUEUE_EV_STORAGE_CLASS;
	case CLUSTER_CSI_NODE:
		return QUEUE_EV_CSI_NODE;
	case CLUSTER_CSI_DRIVER:
		return QUEUE_EV_CSI_DRIVER;
	case CLUSTER_CSI_CAPACITY:
		return QUEUE_EV_CSI_CAPACITY;
	case CLUSTER_SERVICE:
	case CLUSTER_CONTROLLER:
	case CLUSTER_REPLICA_SET:
	case CLUSTER_STATEFUL_SET:
		return QUEUE_EV_WORKLOAD;
	case CLUSTER_PRIORITY_CLASS:
	case CLUSTER_BUDGET:
	case CLUSTER_OBJECT_KINDS:
		break;
	}
	PL_UNREACHABLE("a kind that shards follow");
}

/* there: the catalog had the object before. */
static void tell_queue(struct sched *sched, enum sched_view view,
                       const struct stored_object *object, bool there)
{
	enum cluster_object_kind kind = kind_of(view);
	struct queue_event event = {.kind = event_of(kind, there)};

	if (kind == CLUSTER_NAMESPACE || kind == CLUSTER_CLAIM)
		event.object = object->key[1];
	if (kind == CLUSTER_CLAIM)
		event.detail = object->key[0];
	queue_event(sched->queue, &event);
}

/* -- namespaces ---------------------------------------------------------------------- */

static enum pl_code put_namespace(struct sched *sched, uint32_t name,
                                  struct namespace *to, struct pl_err *err)
{
	return to == NULL ? rules_default_namespace(sched, name)
	                  : snapshot_namespace_put(&sched->snapshot, to, err);
}

/* Takes the namespace over. NULL: its name is all that is known of it from now on.
 * PL_LIMIT: nothing has changed. */
static enum pl_code set_namespace(struct sched *sched, struct stored_object *object,
                                  struct namespace *to, struct pl_err *err)
{
	const struct catalog *catalog = &sched->snapshot.catalog;
	const struct labels *before = catalog_namespace_labels(catalog, object->key[1]);
	bool changed;
	enum pl_code code;

	if (before != NULL) /* or other labels might get its address */
		(void)model_ref(&sched->model, MODEL_LABELS, before);
	code = put_namespace(sched, object->key[1], to, err);
	changed = before != catalog_namespace_labels(catalog, object->key[1]);
	model_unref(&sched->model, MODEL_LABELS, before);
	if (code == PL_LIMIT)
		return code;
	if (changed && rules_labels_changed(sched, object->key[1]) != PL_OK)
		code = PL_NOMEM;
	if (code != PL_OK) {
		sched->rules.relabel_due = true;
		object_missed(sched, SCHED_OF_NAMESPACE, object);
	}
	if (changed)
		tell_queue(sched, SCHED_OF_NAMESPACE, object, true);
	return PL_OK;
}

bool objects_have_namespace(const struct sched *sched, uint32_t name)
{
	const uint32_t key[2] = {0, name};
	const struct object_view *of =
		&sched->objects.view[SCHED_OF_NAMESPACE - SCHED_OBJECT_FIRST];
	const struct stored_object *object =
		object_at(pl_map_get(&of->by_name, pl_span(key, sizeof key)));

	return object != NULL && object->good;
}

/* -- objects ------------------------------------------------------------------------- */

static struct stored_object *object_find(struct sched *sched, enum sched_view view,
                                         const struct keys_id *id)
{
	const struct strings *strings = &sched->model.strings;
	const uint32_t key[2] = {id->scope.len == 0 ? 0
	                                            : strings_find(strings, id->scope),
	                         strings_find(strings, id->name)};

	if (key[1] == 0 || (id->scope.len > 0 && key[0] == 0))
		return NULL;
	return object_at(
		pl_map_get(&view_of(sched, view)->by_name, pl_span(key, sizeof key)));
}

/* NULL: no memory. */
static struct stored_object *object_get(struct sched *sched, enum sched_view view,
                                        const struct keys_id *id)
{
	struct strings *strings = &sched->model.strings;
	struct stored_object *object = object_find(sched, view, id);

	if (object != NULL)
		return object;
	object = pl_calloc(1, sizeof *object);
	if (object == NULL)
		return NULL;
	if ((id->scope.len > 0 &&
	     strings_add(strings, id->scope, &object->key[0]) != PL_OK) ||
	    strings_add(strings, id->name, &object->key[1]) != PL_OK) {
		strings_unref(strings, object->key[0]);
		free(object);
		return NULL;
	}
	(void)!pl_map_add(&view_of(sched, view)->by_name, &object->by_name,
	                  pl_span(object->key, sizeof object->key));
	return object;
}

static void object_free(struct sched *sched, enum sched_view view,
                        struct stored_object *object)
{
	PL_ASSERT(!object->good);
	pl_map_del(&view_of(sched, view)->by_name, &object->by_name);
	strings_unref(&sched->model.strings, object->key[0]);
	strings_unref(&sched->model.strings, object->key[1]);
	free(object);
}

/* The catalog has it no more. */
static void object_unset(struct sched *sched, enum sched_view view,
                         struct stored_object *object)
{
	if (!object->good)
		return;
	object->good = false;
	if (view == SCHED_OF_NAMESPACE) {
		struct pl_err err = {0};

		(void)!set_namespace(sched, object, NULL, &err);
		return;
	}
	(void)object_catalog_remove(&sched->snapshot.catalog, kind_of(view),
	                            catalog_key_of(view, object));
	tell_queue(sched, view, object, true);
}

/* Takes the object over. */
static enum pl_code object_set(struct sched *sched, enum sched_view view,
                               struct stored_object *object, struct cluster_object *value,
                               struct pl_err *err)
{
	bool there = object->good;
	enum pl_code code;

	if (view == SCHED_OF_NAMESPACE) {
		object->good = true;
		code = set_namespace(sched, object, &value->as.namespace, err);
		if (code != PL_OK)
			object->good = there;
		return code;
	}
	if (there && object_catalog_has_same(&sched->snapshot.catalog, value)) {
		cluster_object_drop(&sched->model, value);
		return PL_OK;
	}
	code = object_catalog_put(&sched->snapshot.catalog, value, err);
	if (code != PL_OK)
		return code;
	object->good = true;
	tell_queue(sched, view, object, there);
	return PL_OK;
}

static void object_apply(struct sched *sched, enum sched_view view,
                         struct stored_object *object, const struct keys_id *id,
                         struct pl_span json)
{
	struct parse parse = {.model = &sched->model, .arena = &sched->arena};
	struct cluster_object value;
	struct pl_err err = {0};
	enum pl_code code;

	pl_arena_reset(&sched->arena);
	code = cluster_object_read(id, &parse, json, &value, &err);
	if (code == PL_OK)
		code = object_set(sched, view, object, &value, &err);
	if (code == PL_OK)
		return;
	if (code == PL_NOMEM) {
		object_missed(sched, view, object);
		return;
	}
	report_malformed(sched, id, &err);
	object_unset(sched, view, object);
}

/* -- the views ----------------------------------------------------------------------- */

static void apply_gone(struct sched *sched, enum sched_view view,
                       const struct keys_id *id)
{
	struct stored_object *object = object_find(sched, view, id);

	if (object == NULL)
		return;
	object_unset(sched, view, object);
	object_free(sched, view, object);
}

static void apply_object(struct sched *sched, enum sched_view view,
                         const struct keys_id *id, const struct kv_record *record)
{
	struct stored_object *object = object_get(sched, view, id);

	if (object == NULL) {
		object_missed(sched, view, NULL);
		return;
	}
	object->seen = view_of(sched, view)->seen;
	if (record->mod_revision == object->rev)
		return; /* the same was listed again */
	object->rev = record->mod_revision;
	object_apply(sched, view, object, id, record->value);
}

static void apply_lock(struct sched *sched, const struct kv_record *record, bool gone)
{
	sched->objects.labels.seen = view_of(sched, SCHED_OF_NAMESPACE)->seen;
	sched->objects.labels.rev = gone ? 0 : record->mod_revision;
}

static void apply_record(struct sched *sched, enum sched_view view,
                         const struct kv_record *record, bool gone)
{
	struct keys_id id;
	struct pl_err err = {0};

	if (keys_parse(record->key, &id, &err) != PL_OK)
		report_malformed(sched, NULL, &err);
	else if (id.kind == KEYS_NAMESPACES)
		apply_lock(sched, record, gone);
	else if (cluster_object_kind_of(&id) != kind_of(view))
		return; /* of another resource, whose name begins the same */
	else if (gone)
		apply_gone(sched, view, &id);
	else
		apply_object(sched, view, &id, record);
}

void objects_begin(struct sched *sched, enum sched_view view)
{
	view_of(sched, view)->seen++;
	view_of(sched, view)->missed = false;
}

void objects_records(struct sched *sched, enum sched_view view,
                     const struct kv_record *records, size_t count)
{
	for (size_t i = 0; i < count; i++)
		apply_record(sched, view, &records[i], false);
}

static void labels_reach(struct sched *sched, enum sched_view view, int64_t revision)
{
	if (view == SCHED_OF_NAMESPACE && revision > sched->objects.labels.upto)
		sched->objects.labels.upto = revision;
}

void objects_end(struct sched *sched, enum sched_view view, int64_t revision)
{
	struct object_view *of = view_of(sched, view);

	PL_MAP_EACH (at, &of->by_name) {
		struct stored_object *object = object_at(at);

		if (object->seen == of->seen)
			continue;
		object_unset(sched, view, object);
		object_free(sched, view, object);
	}
	if (view == SCHED_OF_NAMESPACE && sched->objects.labels.rev != 0 &&
	    sched->objects.labels.seen != of->seen)
		apply_lock(sched, NULL, true);
	if (view == SCHED_OF_NAMESPACE && !rules_relabel(sched))
		object_missed(sched, view, NULL);
	of->known = !of->missed;
	labels_reach(sched, view, revision);
}

void objects_events(struct sched *sched, enum sched_view view,
                    const struct kv_event *events, size_t count, int64_t revision)
{
	for (size_t i = 0; i < count; i++)
		apply_record(sched, view, &events[i].record, events[i].is_delete);
	labels_reach(sched, view, revision);
}

void objects_forget(struct sched *sched, enum sched_view view)
{
	struct object_view *of = view_of(sched, view);

	PL_MAP_EACH (at, &of->by_name) {
		struct stored_object *object = object_at(at);

		object_unset(sched, view, object);
		object_free(sched, view, object);
	}
	of->known = false;
	if (view != SCHED_OF_NAMESPACE)
		return;
	sched->objects.labels.rev = sched->objects.labels.upto = 0;
	sched->objects.labels.need = 0;
}

/* -- what may be decided ------------------------------------------------------------- */

bool objects_are_known(const struct sched *sched)
{
	for (unsigned i = 0; i < SCHED_OBJECT_VIEWS; i++)
		if (!sched->objects.view[i].known)
			return false;
	return !objects_labels_are_behind(sched);
}

bool objects_labels_are_behind(const struct sched *sched)
{
	const struct sched_objects *objects = &sched->objects;

	return objects->labels.upto < objects->labels.need ||
	       !objects->view[SCHED_OF_NAMESPACE - SCHED_OBJECT_FIRST].known;
}

/* A lock that is gone was deleted by hand: only a new list shows it as it is. */
void objects_labels_changed(struct sched *sched, int64_t revision)
{
	if (revision > sched->objects.labels.need)
		sched->objects.labels.need = revision;
	if (revision == 0)
		object_missed(sched, SCHED_OF_NAMESPACE, NULL);
}

/* -- life ---------------------------------------------------------------------------- */

void objects_init(struct sched *sched)
{
	for (unsigned i = 0; i < SCHED_OBJECT_VIEWS; i++)
		pl_map_init(&sched->objects.view[i].by_name);
}

/* The catalog goes with the snapshot. */
void objects_done(struct sched *sched)
{
	for (unsigned i = 0; i < SCHED_OBJECT_VIEWS; i++) {
		struct object_view *of = &sched->objects.view[i];

		PL_MAP_EACH (at, &of->by_name) {
			struct stored_object *object = object_at(at);

			object->good = false;
			object_free(sched, (enum sched_view)(SCHED_OBJECT_FIRST + i),
			            object);
		}
		pl_map_done(&of->by_name);
	}
}
