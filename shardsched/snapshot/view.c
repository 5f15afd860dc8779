#include "shardsched/snapshot/view.h"

#include <stdlib.h>

#include "shardsched/snapshot/inner.h"
#include "store/base/alloc.h"

enum { CAP_MIN = 64 };

/* By the spec's number. */
struct views {
	struct spec_view **by_spec;
	uint32_t cap;
	uint32_t count;
};

enum pl_code views_init(struct snapshot *snapshot, struct pl_err *err)
{
	snapshot->inner->views = pl_calloc(1, sizeof *snapshot->inner->views);
	if (snapshot->inner->views == NULL)
		return pl_err_set(err, PL_NOMEM, "make a snapshot");
	return PL_OK;
}

void views_done(struct snapshot *snapshot)
{
	struct views *views = snapshot->inner->views;

	PL_ASSERT(views->count == 0);
	free(views->by_spec);
	free(views);
	snapshot->inner->views = NULL;
}

static bool make_room(struct views *views, uint32_t id)
{
	uint32_t cap = views->cap == 0 ? CAP_MIN : views->cap;
	struct spec_view **grown;

	if (id < views->cap)
		return true;
	while (cap <= id)
		cap *= 2;
	grown = pl_realloc(views->by_spec, cap * sizeof *grown);
	if (grown == NULL)
		return false;
	memset(grown + views->cap, 0, (cap - views->cap) * sizeof *grown);
	views->by_spec = grown;
	views->cap = cap;
	return true;
}

enum pl_code view_ref(struct snapshot *snapshot, const struct spec *spec,
                      struct spec_view **out, struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	uint32_t id = spec->item.id;
	struct spec_view *view;

	if (id < views->cap && views->by_spec[id] != NULL) {
		*out = views->by_spec[id];
		(*out)->users++;
		return PL_OK;
	}
	view = make_room(views, id) ? pl_calloc(1, sizeof *view) : NULL;
	if (view == NULL)
		return pl_err_set(err, PL_NOMEM, "room for a class of pods");
	view->spec = model_ref(snapshot->model, MODEL_SPECS, spec);
	view->users = 1;
	view->first_pod = SNAPSHOT_NONE;
	views->by_spec[id] = *out = view;
	views->count++;
	return PL_OK;
}

void view_unref(struct snapshot *snapshot, struct spec_view *view)
{
	struct views *views = snapshot->inner->views;

	PL_ASSERT(view->users > 0 && views->by_spec[view->spec->item.id] == view);
	if (--view->users > 0)
		return;
	PL_ASSERT(view->pods == 0);
	views->by_spec[view->spec->item.id] = NULL;
	views->count--;
	model_unref(snapshot->model, MODEL_SPECS, view->spec);
	free(view);
}

enum pl_code view_open(struct snapshot *snapshot, const struct spec *spec,
                       struct spec_view **out, struct pl_err *err)
{
	enum pl_code code = view_ref(snapshot, spec, out, err);

	if (code == PL_OK)
		(*out)->asked++;
	return code;
}

void view_close(struct snapshot *snapshot, struct spec_view *view)
{
	view->asked--;
	view_unref(snapshot, view);
}

/* -- what rules count ------------------------------------------------------------------
 */

void views_pod_added(struct snapshot *snapshot, struct spec_view *view, uint32_t slot,
                     uint32_t flags)
{
	(void)snapshot;
	(void)view;
	(void)slot;
	(void)flags;
}

void views_pod_removed(struct snapshot *snapshot, struct spec_view *view, uint32_t slot,
                       uint32_t flags)
{
	(void)snapshot;
	(void)view;
	(void)slot;
	(void)flags;
}

void views_pod_terminating(struct snapshot *snapshot, struct spec_view *view,
                           uint32_t slot)
{
	(void)snapshot;
	(void)view;
	(void)slot;
}

enum pl_code views_grow(struct snapshot *snapshot, uint32_t capacity, struct pl_err *err)
{
	(void)snapshot;
	(void)capacity;
	(void)err;
	return PL_OK;
}

enum pl_code views_domains_grow(struct snapshot *snapshot, struct label_column *column,
                                uint32_t room, struct pl_err *err)
{
	(void)snapshot;
	(void)column;
	(void)room;
	(void)err;
	return PL_OK;
}

void views_node_moving(struct snapshot *snapshot, uint32_t slot,
                       struct label_column *column, uint32_t from, uint32_t to)
{
	(void)snapshot;
	(void)slot;
	(void)column;
	(void)from;
	(void)to;
}

enum pl_code views_space_changed(struct snapshot *snapshot, uint32_t namespace,
                                 struct pl_err *err)
{
	(void)snapshot;
	(void)namespace;
	(void)err;
	return PL_OK;
}

/* -- figures ---------------------------------------------------------------------------
 */

size_t views_memory(const struct snapshot *snapshot)
{
	const struct views *views = snapshot->inner->views;

	return sizeof *views + views->cap * sizeof(void *) +
	       views->count * sizeof(struct spec_view);
}

static void check_chain(const struct snapshot *snapshot, const struct spec_view *view)
{
	uint32_t pods = 0;

	for (uint32_t i = view->first_pod; i != SNAPSHOT_NONE;
	     i = snapshot->placed[i].next_of_view) {
		PL_ASSERT(snapshot->placed[i].view == view);
		pods++;
	}
	PL_ASSERT(pods == view->pods);
}

void views_check(const struct snapshot *snapshot)
{
	const struct views *views = snapshot->inner->views;
	uint32_t count = 0;

	for (uint32_t id = 0; id < views->cap; id++) {
		const struct spec_view *view = views->by_spec[id];

		if (view == NULL)
			continue;
		PL_ASSERT(view->spec->item.id == id && view->users > 0);
		check_chain(snapshot, view);
		count++;
	}
	PL_ASSERT(count == views->count);
}
