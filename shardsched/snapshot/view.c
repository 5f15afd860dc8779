#include "shardsched/snapshot/view.h"

#include <stdlib.h>

#include "shardsched/snapshot/views_inner.h"
#include "store/base/alloc.h"

enum { ROOM_FIRST = 4, BY_SPEC_FIRST = 64 };

/* -- all of them --------------------------------------------------------------------- */

enum pl_code views_init(struct snapshot *snapshot, struct pl_err *err)
{
	struct views *views = pl_calloc(1, sizeof *views);

	if (views == NULL)
		return pl_err_set(err, PL_NOMEM, "the views of a snapshot");
	pl_map_init(&views->namespaces);
	pl_map_init(&views->by_label);
	pl_map_init(&views->matchers);
	pl_map_init(&views->carriers);
	pl_map_init(&views->columns);
	rule_index_init(&views->matcher_index);
	rule_index_init(&views->carrier_index);
	pl_list_init(&views->matchers_of_namespaces);
	pl_list_init(&views->carriers_of_namespaces);
	pl_list_init(&views->idle_matchers);
	pl_list_init(&views->idle_tallies);
	snapshot->inner->views = views;
	return PL_OK;
}

static void drop_idle(struct snapshot *snapshot)
{
	struct views *views = snapshot->inner->views;

	PL_LIST_EACH (at, &views->idle_tallies) {
		views->idle_tallies_count--;
		tally_free(snapshot, PL_LIST_ITEM(at, struct tally_inner, idle));
	}
	PL_LIST_EACH (at, &views->idle_matchers) {
		views->idle_matchers_count--;
		matcher_free(snapshot, PL_LIST_ITEM(at, struct matcher_inner, idle));
	}
}

void views_done(struct snapshot *snapshot)
{
	struct views *views = snapshot->inner->views;

	if (views == NULL)
		return;
	drop_idle(snapshot);
	PL_ASSERT(views->count == 0 && views->namespaces.count == 0);
	PL_ASSERT(views->by_label.count == 0);
	PL_ASSERT(views->matchers.count == 0 && views->carriers.count == 0);
	PL_ASSERT(views->columns.count == 0);
	pl_map_done(&views->namespaces);
	pl_map_done(&views->by_label);
	pl_map_done(&views->matchers);
	pl_map_done(&views->carriers);
	pl_map_done(&views->columns);
	rule_index_done(&views->matcher_index);
	rule_index_done(&views->carrier_index);
	free(views->by_spec);
	free(views);
	snapshot->inner->views = NULL;
}

uint32_t views_idle_max(const struct snapshot *snapshot)
{
	uint32_t most = (uint32_t)(VIEWS_IDLE_BYTES /
	                           ((size_t)snapshot->capacity * sizeof(uint32_t) + 1));

	if (most < VIEWS_IDLE_LEAST)
		return VIEWS_IDLE_LEAST;
	return most < VIEWS_IDLE_MOST ? most : VIEWS_IDLE_MOST;
}

enum pl_code views_reserve(void *array, uint32_t count, uint32_t *cap, struct pl_err *err)
{
	uint32_t more = *cap == 0 ? ROOM_FIRST : *cap * 2;
	void *at;

	if (count < *cap)
		return PL_OK;
	memcpy(&at, array, sizeof at);
	at = pl_realloc(at, more * sizeof(void *));
	if (at == NULL)
		return pl_err_set(err, PL_NOMEM, "rules that find a pod");
	memcpy(array, &at, sizeof at);
	*cap = more;
	return PL_OK;
}

/* -- one ---------------------------------------- */

static enum pl_code by_spec_reserve(struct views *views, uint32_t id, struct pl_err *err)
{
	uint32_t cap = views->by_spec_cap == 0 ? BY_SPEC_FIRST : views->by_spec_cap;
	struct spec_view_inner **table;

	if (id < views->by_spec_cap)
		return PL_OK;
	while (cap <= id)
		cap *= 2;
	table = pl_realloc(views->by_spec, cap * sizeof(void *));
	if (table == NULL)
		return pl_err_set(err, PL_NOMEM, "views of %u classes", cap);
	for (uint32_t i = views->by_spec_cap; i < cap; i++)
		table[i] = NULL;
	views->by_spec = table;
	views->by_spec_cap = cap;
	return PL_OK;
}

static enum pl_code carry_terms(struct snapshot *snapshot, struct spec_view_inner *view,
                                enum carrier_kind kind, struct template_rows rows,
                                const struct spec_term *term, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	for (uint32_t i = 0; i < rows.count && code == PL_OK; i++) {
		struct carrier **to = &view->carries[view->carries_count];

		code = carrier_ref(snapshot, &term[i], kind, to, err);
		if (code == PL_OK)
			view->carries_count++;
	}
	return code;
}

static enum pl_code carry_all(struct snapshot *snapshot, struct spec_view_inner *view,
                              struct pl_err *err)
{
	const struct spec *spec = view->view.spec;
	enum pl_code code;

	code = carry_terms(snapshot, view, CARRIER_ANTI, spec->template->anti_affinity,
	                   spec_anti_affinity(spec), err);
	if (code == PL_OK)
		code = carry_terms(snapshot, view, CARRIER_AFFINITY,
		                   spec->template->affinity, spec_affinity(spec), err);
	if (code == PL_OK)
		code = carry_terms(snapshot, view, CARRIER_SOFT,
		                   spec->template->soft_affinity,
		                   spec_soft_affinity(spec), err);
	if (code == PL_OK)
		code = carry_terms(snapshot, view, CARRIER_SOFT_ANTI,
		                   spec->template->soft_anti_affinity,
		                   spec_soft_anti_affinity(spec), err);
	return code;
}

static void view_free(struct snapshot *snapshot, struct spec_view_inner *view)
{
	struct views *views = snapshot->inner->views;
	uint32_t id = view->view.spec->item.id;

	PL_ASSERT(view->view.pods == 0 && view->view.asked == 0);
	if (id < views->by_spec_cap && views->by_spec[id] == view) {
		views->by_spec[id] = NULL;
		views->count--;
	}
	view_namespace_leave(snapshot, view);
	while (view->carries_count > 0)
		carrier_unref(snapshot, view->carries[--view->carries_count]);
	free(view->found_by);
	free(view->view.concerns);
	model_unref(snapshot->model, MODEL_SPECS, view->view.spec);
	free(view);
}

static struct spec_view_inner *view_make(struct snapshot *snapshot,
                                         const struct spec *spec)
{
	size_t carries = (size_t)spec->template->affinity.count +
	                 spec->template->anti_affinity.count +
	                 spec->template->soft_affinity.count +
	                 spec->template->soft_anti_affinity.count;
	struct spec_view_inner *made =
		pl_calloc(1, sizeof *made + carries * sizeof(void *));

	if (made == NULL)
		return NULL;
	made->view.spec = model_ref(snapshot->model, MODEL_SPECS, spec);
	made->view.first_pod = SNAPSHOT_NONE;
	made->view.inner = made;
	pl_list_init(&made->in_namespace);
	return made;
}

static enum pl_code view_new(struct snapshot *snapshot, const struct spec *spec,
                             struct spec_view_inner **out, struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	struct spec_view_inner *made = view_make(snapshot, spec);
	enum pl_code code;

	if (made == NULL)
		return pl_err_set(err, PL_NOMEM, "the view of a class");
	code = by_spec_reserve(views, spec->item.id, err);
	if (code == PL_OK)
		code = view_namespace_join(snapshot, made, err);
	if (code == PL_OK)
		code = carry_all(snapshot, made, err);
	if (code == PL_OK)
		code = matchers_find(snapshot, made, err);
	if (code != PL_OK) {
		view_free(snapshot, made);
		return code;
	}
	views->by_spec[spec->item.id] = made;
	views->count++;
	*out = made;
	return PL_OK;
}

enum pl_code view_ref(struct snapshot *snapshot, const struct spec *spec,
                      struct spec_view **out, struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	uint32_t id = spec->item.id;
	struct spec_view_inner *view = NULL;
	enum pl_code code = view_reconcile(snapshot, err);

	if (code != PL_OK)
		return code;
	if (id < views->by_spec_cap)
		view = views->by_spec[id];
	if (view == NULL) {
		code = view_new(snapshot, spec, &view, err);
		if (code != PL_OK)
			return code;
	}
	PL_ASSERT(view != NULL);
	view->view.users++;
	*out = &view->view;
	return PL_OK;
}

void view_unref(struct snapshot *snapshot, struct spec_view *view)
{
	PL_ASSERT(view->users > 0);
	if (--view->users == 0)
		view_free(snapshot, view->inner);
}

static void stop_asking(struct spec_view *view)
{
	if (--view->asked > 0)
		return;
	free(view->concerns);
	view->concerns = NULL;
	view->concerns_count = 0;
	view->inner->concerns_cap = 0;
}

enum pl_code view_open(struct snapshot *snapshot, const struct spec *spec,
                       struct spec_view **out, struct pl_err *err)
{
	struct spec_view *view;
	enum pl_code code = view_ref(snapshot, spec, &view, err);

	if (code != PL_OK)
		return code;
	if (view->asked++ == 0)
		code = carriers_find(snapshot, view->inner, err);
	if (code != PL_OK) {
		stop_asking(view);
		view_unref(snapshot, view);
		return code;
	}
	*out = view;
	return PL_OK;
}

void view_close(struct snapshot *snapshot, struct spec_view *view)
{
	PL_ASSERT(view->asked > 0);
	stop_asking(view);
	view_unref(snapshot, view);
}

/* -- its pods ---------------------------------------- */

void views_pod_added(struct snapshot *snapshot, struct spec_view *view, uint32_t slot,
                     uint32_t flags)
{
	const struct spec_view_inner *inner = view->inner;

	(void)snapshot;
	for (uint32_t i = 0; i < inner->found_count; i++)
		if (matcher_counts(inner->found_by[i]->inner, flags))
			matcher_add(inner->found_by[i], slot, 1);
	for (uint32_t i = 0; i < inner->carries_count; i++)
		carrier_add(inner->carries[i], slot);
}

void views_pod_removed(struct snapshot *snapshot, struct spec_view *view, uint32_t slot,
                       uint32_t flags)
{
	const struct spec_view_inner *inner = view->inner;

	(void)snapshot;
	for (uint32_t i = 0; i < inner->found_count; i++)
		if (matcher_counts(inner->found_by[i]->inner, flags))
			matcher_sub(inner->found_by[i], slot, 1);
	for (uint32_t i = 0; i < inner->carries_count; i++)
		carrier_sub(inner->carries[i], slot);
}

void views_pod_terminating(struct snapshot *snapshot, struct spec_view *view,
                           uint32_t slot)
{
	const struct spec_view_inner *inner = view->inner;

	(void)snapshot;
	for (uint32_t i = 0; i < inner->found_count; i++)
		if (inner->found_by[i]->inner->spread)
			matcher_sub(inner->found_by[i], slot, 1);
}
