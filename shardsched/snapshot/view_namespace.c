/* Views by namespace, and what its labels mean to rules. */
#include <stdlib.h>

#include "shardsched/snapshot/views_inner.h"
#include "store/base/alloc.h"

static struct view_namespace *view_namespace_find(const struct views *views,
                                                  uint32_t name)
{
	struct pl_map_node *node =
		pl_map_get(&views->namespaces, pl_span(&name, sizeof name));

	return node == NULL ? NULL
	                    : PL_CONTAINER_OF(node, struct view_namespace, by_name);
}

/* -- finding views ---------------------------------------- */

static enum pl_code each_in_namespace(struct view_namespace *namespace, views_fn *fn,
                                      void *ctx)
{
	enum pl_code code = PL_OK;

	PL_LIST_EACH (at, &namespace->views) {
		code = fn(ctx, PL_LIST_ITEM(at, struct spec_view_inner, in_namespace));
		if (code != PL_OK)
			break;
	}
	return code;
}

static struct view_label_index *label_index_find(const struct views *views,
                                                 const uint32_t key[3])
{
	struct pl_map_node *node;

	node = pl_map_get(&views->by_label, pl_span(key, 3 * sizeof key[0]));
	return node == NULL ? NULL
	                    : PL_CONTAINER_OF(node, struct view_label_index, by_key);
}

static enum pl_code each_in_index(struct view_label_index *label_index, views_fn *fn,
                                  void *ctx)
{
	enum pl_code code = PL_OK;

	PL_LIST_EACH (at, &label_index->views) {
		code = fn(ctx, PL_LIST_ITEM(at, struct view_label, in_index)->view);
		if (code != PL_OK)
			break;
	}
	return code;
}

/* A search for the views that a rule may find. */
struct view_search {
	const struct rule *rule;
	views_fn *fn;
	void *ctx;
};

static enum pl_code search_namespace(const struct views *views, uint32_t name,
                                     const struct view_search *search)
{
	uint32_t key[3] = {name, 0, 0};
	struct view_label_index *label_index;
	struct view_namespace *namespace;

	if (rule_label(search->rule, &key[1], &key[2])) {
		label_index = label_index_find(views, key);
		return label_index == NULL
		               ? PL_OK
		               : each_in_index(label_index, search->fn, search->ctx);
	}
	namespace = view_namespace_find(views, name);
	return namespace == NULL ? PL_OK
	                         : each_in_namespace(namespace, search->fn, search->ctx);
}

enum pl_code views_each(const struct views *views, const struct rule *rule, views_fn *fn,
                        void *ctx)
{
	const struct view_search search = {rule, fn, ctx};
	enum pl_code code = PL_OK;
	const uint32_t *namespace;
	uint32_t count;

	if (rule_namespaces(rule, &namespace, &count)) {
		for (uint32_t i = 0; i < count && code == PL_OK; i++)
			code = search_namespace(views, namespace[i], &search);
		return code;
	}
	PL_MAP_EACH (node, &views->namespaces) {
		code = search_namespace(
			views,
			PL_CONTAINER_OF(node, struct view_namespace, by_name)->name,
			&search);
		if (code != PL_OK)
			break;
	}
	return code;
}

/* -- joining and leaving ---------------------------------------- */

static struct view_label_index *label_index_get(struct views *views,
                                                const uint32_t key[3])
{
	struct view_label_index *label_index = label_index_find(views, key);

	if (label_index != NULL)
		return label_index;
	label_index = pl_calloc(1, sizeof *label_index);
	if (label_index == NULL)
		return NULL;
	for (unsigned i = 0; i < 3; i++)
		label_index->key[i] = key[i];
	pl_list_init(&label_index->views);
	views_map_add(&views->by_label, &label_index->by_key,
	              pl_span(label_index->key, sizeof label_index->key));
	return label_index;
}

static void leave_indexes(struct views *views, struct spec_view_inner *view)
{
	for (uint32_t i = 0; i < view->labels; i++) {
		struct view_label_index *label_index = view->label[i].label_index;

		pl_list_del(&view->label[i].in_index);
		if (!pl_list_empty(&label_index->views))
			continue;
		pl_map_del(&views->by_label, &label_index->by_key);
		free(label_index);
	}
	free(view->label);
	view->label = NULL;
	view->labels = 0;
}

static enum pl_code join_indexes(struct views *views, struct spec_view_inner *view,
                                 struct pl_err *err)
{
	const struct labels *labels = view->view.spec->labels;

	view->label = pl_calloc((size_t)labels->count + 1, sizeof *view->label);
	if (view->label == NULL)
		return pl_err_set(err, PL_NOMEM, "a class by its labels");
	for (uint32_t i = 0; i < labels->count; i++) {
		const uint32_t key[3] = {view->view.spec->namespace, labels->row[i].key,
		                         labels->row[i].value};
		struct view_label_index *label_index = label_index_get(views, key);

		if (label_index == NULL)
			return pl_err_set(err, PL_NOMEM, "a class by its labels");
		view->label[i] =
			(struct view_label){.label_index = label_index, .view = view};
		pl_list_add_tail(&label_index->views, &view->label[i].in_index);
		view->labels++;
	}
	return PL_OK;
}

static void set_labels(struct snapshot *snapshot, struct view_namespace *namespace,
                       const struct labels *labels)
{
	const struct labels *before = namespace->labels;

	namespace->labels = model_ref(snapshot->model, MODEL_LABELS, labels);
	model_unref(snapshot->model, MODEL_LABELS, before);
}

enum pl_code view_namespace_join(struct snapshot *snapshot, struct spec_view_inner *view,
                                 struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	uint32_t name = view->view.spec->namespace;
	struct view_namespace *namespace = view_namespace_find(views, name);

	if (namespace == NULL) {
		namespace = pl_calloc(1, sizeof *namespace);
		if (namespace == NULL)
			return pl_err_set(err, PL_NOMEM, "the views of a namespace");
		namespace->name = strings_ref(&snapshot->model->strings, name);
		pl_list_init(&namespace->views);
		set_labels(snapshot, namespace,
		           catalog_namespace_labels(&snapshot->catalog, name));
		views_map_add(&views->namespaces, &namespace->by_name,
		              pl_span(&namespace->name, sizeof namespace->name));
	}
	view->namespace = namespace;
	pl_list_add_tail(&namespace->views, &view->in_namespace);
	return join_indexes(views, view, err);
}

void view_namespace_leave(struct snapshot *snapshot, struct spec_view_inner *view)
{
	struct view_namespace *namespace = view->namespace;

	if (namespace == NULL)
		return;
	leave_indexes(snapshot->inner->views, view);
	view->namespace = NULL;
	pl_list_del(&view->in_namespace);
	if (!pl_list_empty(&namespace->views))
		return;
	pl_map_del(&snapshot->inner->views->namespaces, &namespace->by_name);
	set_labels(snapshot, namespace, NULL);
	strings_unref(&snapshot->model->strings, namespace->name);
	free(namespace);
}

/* -- labels that change ------------------------------------------------------------- */

static enum pl_code rematch_view(struct snapshot *snapshot, struct spec_view_inner *view,
                                 const struct labels *labels, struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	enum pl_code code;

	PL_LIST_EACH (at, &views->matchers_of_namespaces) {
		code = matcher_rematch(
			snapshot,
			PL_LIST_ITEM(at, struct matcher_inner, reads_namespaces), view,
			labels, err);
		if (code != PL_OK)
			return code;
	}
	PL_LIST_EACH (at, &views->carriers_of_namespaces) {
		code = carrier_rematch(
			snapshot,
			PL_LIST_ITEM(at, struct carrier_inner, reads_namespaces), view,
			labels, err);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

/* After a failure the labels still count as changed, so the next call completes the
 * update. */
static enum pl_code namespace_reconcile(struct snapshot *snapshot,
                                        struct view_namespace *namespace,
                                        struct pl_err *err)
{
	const struct labels *labels =
		catalog_namespace_labels(&snapshot->catalog, namespace->name);
	enum pl_code code;

	if (labels == namespace->labels)
		return PL_OK;
	PL_LIST_EACH (at, &namespace->views) {
		code = rematch_view(
			snapshot, PL_LIST_ITEM(at, struct spec_view_inner, in_namespace),
			labels, err);
		if (code != PL_OK)
			return code;
	}
	set_labels(snapshot, namespace, labels);
	return PL_OK;
}

enum pl_code views_namespace_changed(struct snapshot *snapshot, uint32_t name,
                                     struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	struct view_namespace *namespace = view_namespace_find(views, name);
	uint64_t now = snapshot->catalog.epoch[CATALOG_NAMESPACE];
	enum pl_code code = PL_OK;

	if (namespace != NULL)
		code = namespace_reconcile(snapshot, namespace, err);
	/* The only change since the last reconcile is this one. */
	if (code == PL_OK && views->namespaces_epoch + 1 == now)
		views->namespaces_epoch = now;
	return code;
}

bool snapshot_reads_namespaces(const struct snapshot *snapshot)
{
	const struct views *views = snapshot->inner->views;

	return !pl_list_empty(&views->matchers_of_namespaces) ||
	       !pl_list_empty(&views->carriers_of_namespaces);
}

bool snapshot_namespace_is_used(const struct snapshot *snapshot, uint32_t name)
{
	return view_namespace_find(snapshot->inner->views, name) != NULL;
}

bool view_is_reconciled(const struct snapshot *snapshot)
{
	return snapshot->inner->views->namespaces_epoch ==
	       snapshot->catalog.epoch[CATALOG_NAMESPACE];
}

enum pl_code view_reconcile(struct snapshot *snapshot, struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	enum pl_code code;

	if (view_is_reconciled(snapshot))
		return PL_OK;
	PL_MAP_EACH (node, &views->namespaces) {
		code = namespace_reconcile(
			snapshot, PL_CONTAINER_OF(node, struct view_namespace, by_name),
			err);
		if (code != PL_OK)
			return code;
	}
	views->namespaces_epoch = snapshot->catalog.epoch[CATALOG_NAMESPACE];
	return PL_OK;
}
