/* Views by namespace, and what its labels mean to rules. */
#include <stdlib.h>

#include "shardsched/snapshot/views.h"
#include "store/base/alloc.h"

static struct view_space *space_find(const struct views *views, uint32_t name)
{
	struct pl_map_node *node =
		pl_map_get(&views->spaces, pl_span(&name, sizeof name));

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct view_space, by_name);
}

/* -- finding views ---------------------------------------- */

static enum pl_code each_in_space(struct view_space *space, views_fn *fn, void *ctx)
{
	enum pl_code code = PL_OK;

	PL_LIST_EACH (at, &space->views) {
		code = fn(ctx, PL_LIST_ITEM(at, struct spec_view_inner, in_space));
		if (code != PL_OK)
			break;
	}
	return code;
}

static struct view_shelf *shelf_find(const struct views *views, const uint32_t key[3])
{
	struct pl_map_node *node;

	node = pl_map_get(&views->shelves, pl_span(key, 3 * sizeof key[0]));
	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct view_shelf, by_key);
}

static enum pl_code each_on_shelf(struct view_shelf *shelf, views_fn *fn, void *ctx)
{
	enum pl_code code = PL_OK;

	PL_LIST_EACH (at, &shelf->views) {
		code = fn(ctx, PL_LIST_ITEM(at, struct view_label, in_shelf)->view);
		if (code != PL_OK)
			break;
	}
	return code;
}

/* Where to look, and for whom. */
struct search {
	const struct rule *rule;
	views_fn *fn;
	void *ctx;
};

static enum pl_code search_space(const struct views *views, uint32_t name,
                                 const struct search *search)
{
	uint32_t key[3] = {name, 0, 0};
	struct view_shelf *shelf;
	struct view_space *space;

	if (rule_label(search->rule, &key[1], &key[2])) {
		shelf = shelf_find(views, key);
		return shelf == NULL ? PL_OK
		                     : each_on_shelf(shelf, search->fn, search->ctx);
	}
	space = space_find(views, name);
	return space == NULL ? PL_OK : each_in_space(space, search->fn, search->ctx);
}

enum pl_code views_each(const struct views *views, const struct rule *rule, views_fn *fn,
                        void *ctx)
{
	const struct search search = {rule, fn, ctx};
	enum pl_code code = PL_OK;
	const uint32_t *namespace;
	uint32_t count;

	if (rule_namespaces(rule, &namespace, &count)) {
		for (uint32_t i = 0; i < count && code == PL_OK; i++)
			code = search_space(views, namespace[i], &search);
		return code;
	}
	PL_MAP_EACH (node, &views->spaces) {
		code = search_space(
			views, PL_CONTAINER_OF(node, struct view_space, by_name)->name,
			&search);
		if (code != PL_OK)
			break;
	}
	return code;
}

/* -- joining and leaving ---------------------------------------- */

static struct view_shelf *shelf_take(struct views *views, const uint32_t key[3])
{
	struct view_shelf *shelf = shelf_find(views, key);

	if (shelf != NULL)
		return shelf;
	shelf = pl_calloc(1, sizeof *shelf);
	if (shelf == NULL)
		return NULL;
	for (unsigned i = 0; i < 3; i++)
		shelf->key[i] = key[i];
	pl_list_init(&shelf->views);
	views_map_add(&views->shelves, &shelf->by_key,
	              pl_span(shelf->key, sizeof shelf->key));
	return shelf;
}

static void leave_shelves(struct views *views, struct spec_view_inner *view)
{
	for (uint32_t i = 0; i < view->labels; i++) {
		struct view_shelf *shelf = view->label[i].shelf;

		pl_list_del(&view->label[i].in_shelf);
		if (!pl_list_empty(&shelf->views))
			continue;
		pl_map_del(&views->shelves, &shelf->by_key);
		free(shelf);
	}
	free(view->label);
	view->label = NULL;
	view->labels = 0;
}

static enum pl_code join_shelves(struct views *views, struct spec_view_inner *view,
                                 struct pl_err *err)
{
	const struct labels *labels = view->view.spec->labels;

	view->label = pl_calloc((size_t)labels->count + 1, sizeof *view->label);
	if (view->label == NULL)
		return pl_err_set(err, PL_NOMEM, "a class by its labels");
	for (uint32_t i = 0; i < labels->count; i++) {
		const uint32_t key[3] = {view->view.spec->namespace, labels->row[i].key,
		                         labels->row[i].value};
		struct view_shelf *shelf = shelf_take(views, key);

		if (shelf == NULL)
			return pl_err_set(err, PL_NOMEM, "a class by its labels");
		view->label[i] = (struct view_label){.shelf = shelf, .view = view};
		pl_list_add_tail(&shelf->views, &view->label[i].in_shelf);
		view->labels++;
	}
	return PL_OK;
}

static void set_labels(struct snapshot *snapshot, struct view_space *space,
                       const struct labels *labels)
{
	const struct labels *before = space->labels;

	space->labels = model_ref(snapshot->model, MODEL_LABELS, labels);
	model_unref(snapshot->model, MODEL_LABELS, before);
}

enum pl_code view_space_join(struct snapshot *snapshot, struct spec_view_inner *view,
                             struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	uint32_t name = view->view.spec->namespace;
	struct view_space *space = space_find(views, name);

	if (space == NULL) {
		space = pl_calloc(1, sizeof *space);
		if (space == NULL)
			return pl_err_set(err, PL_NOMEM, "the views of a namespace");
		space->name = strings_ref(&snapshot->model->strings, name);
		pl_list_init(&space->views);
		set_labels(snapshot, space,
		           catalog_space_labels(&snapshot->catalog, name));
		views_map_add(&views->spaces, &space->by_name,
		              pl_span(&space->name, sizeof space->name));
	}
	view->space = space;
	pl_list_add_tail(&space->views, &view->in_space);
	return join_shelves(views, view, err);
}

void view_space_leave(struct snapshot *snapshot, struct spec_view_inner *view)
{
	struct view_space *space = view->space;

	if (space == NULL)
		return;
	leave_shelves(snapshot->inner->views, view);
	view->space = NULL;
	pl_list_del(&view->in_space);
	if (!pl_list_empty(&space->views))
		return;
	pl_map_del(&snapshot->inner->views->spaces, &space->by_name);
	set_labels(snapshot, space, NULL);
	strings_unref(&snapshot->model->strings, space->name);
	free(space);
}

/* -- labels that change ------------------------------------------------------------- */

static enum pl_code find_again(struct snapshot *snapshot, struct spec_view_inner *view,
                               const struct labels *labels, struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	enum pl_code code;

	PL_LIST_EACH (at, &views->matchers_of_spaces) {
		code = matcher_find_again(
			snapshot, PL_LIST_ITEM(at, struct matcher_inner, reads_spaces),
			view, labels, err);
		if (code != PL_OK)
			return code;
	}
	PL_LIST_EACH (at, &views->carriers_of_spaces) {
		code = carrier_find_again(
			snapshot, PL_LIST_ITEM(at, struct carrier_inner, reads_spaces),
			view, labels, err);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

/* Repeatable: the labels count as changed until all of its views are right. */
static enum pl_code space_settle(struct snapshot *snapshot, struct view_space *space,
                                 struct pl_err *err)
{
	const struct labels *labels =
		catalog_space_labels(&snapshot->catalog, space->name);
	enum pl_code code;

	if (labels == space->labels)
		return PL_OK;
	PL_LIST_EACH (at, &space->views) {
		code = find_again(snapshot,
		                  PL_LIST_ITEM(at, struct spec_view_inner, in_space),
		                  labels, err);
		if (code != PL_OK)
			return code;
	}
	set_labels(snapshot, space, labels);
	return PL_OK;
}

enum pl_code views_space_changed(struct snapshot *snapshot, uint32_t namespace,
                                 struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	struct view_space *space = space_find(views, namespace);
	uint64_t now = snapshot->catalog.epoch[CATALOG_SPACE];
	enum pl_code code = PL_OK;

	if (space != NULL)
		code = space_settle(snapshot, space, err);
	/* One change since all was right: this one. */
	if (code == PL_OK && views->spaces_epoch + 1 == now)
		views->spaces_epoch = now;
	return code;
}

bool snapshot_space_is_used(const struct snapshot *snapshot, uint32_t name)
{
	return space_find(snapshot->inner->views, name) != NULL;
}

bool view_is_settled(const struct snapshot *snapshot)
{
	return snapshot->inner->views->spaces_epoch ==
	       snapshot->catalog.epoch[CATALOG_SPACE];
}

enum pl_code view_settle(struct snapshot *snapshot, struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	enum pl_code code;

	if (view_is_settled(snapshot))
		return PL_OK;
	PL_MAP_EACH (node, &views->spaces) {
		code = space_settle(
			snapshot, PL_CONTAINER_OF(node, struct view_space, by_name), err);
		if (code != PL_OK)
			return code;
	}
	views->spaces_epoch = snapshot->catalog.epoch[CATALOG_SPACE];
	return PL_OK;
}
