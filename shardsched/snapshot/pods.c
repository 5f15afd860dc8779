#include <stdlib.h>

#include "shardsched/snapshot/claim_users.h"
#include "shardsched/snapshot/snapshot_inner.h"
#include "store/base/alloc.h"

enum { CAP_MIN = 256 };

/* -- amounts ---------------------------------------------------------------------- */

/* Whether the node's sums stay within SNAPSHOT_USED_MOST. */
static bool is_countable(const struct snapshot *snapshot, uint32_t slot,
                         const struct spec *spec)
{
	const struct node_row *row = &snapshot->row[slot];
	const struct resources *asks = spec->requests;

	return asks->cpu_milli <= SNAPSHOT_USED_MOST - row->used.cpu_milli &&
	       asks->memory <= SNAPSHOT_USED_MOST - row->used.memory &&
	       asks->storage <= SNAPSHOT_USED_MOST - row->used.storage &&
	       spec_nonzero_cpu_milli(spec) <=
	               SNAPSHOT_USED_MOST - row->nonzero_cpu_milli &&
	       spec_nonzero_memory(spec) <= SNAPSHOT_USED_MOST - row->nonzero_memory &&
	       scalars_countable(snapshot, slot, asks);
}

static void count_amounts(struct snapshot *snapshot, uint32_t slot,
                          const struct spec *spec, int sign)
{
	struct node_row *row = &snapshot->row[slot];
	const struct resources *asks = spec->requests;

	row->pods += (uint32_t)sign;
	if (!row_is_counted(row))
		return;
	row->used.cpu_milli += sign * asks->cpu_milli;
	row->used.memory += sign * asks->memory;
	row->used.storage += sign * asks->storage;
	row->used.pods += sign;
	row->nonzero_cpu_milli += sign * spec_nonzero_cpu_milli(spec);
	row->nonzero_memory += sign * spec_nonzero_memory(spec);
	hot_update_used(snapshot, slot);
	scalars_add_used(snapshot, slot, asks, sign);
}

static void count_volumes(struct snapshot *snapshot, uint32_t slot,
                          const struct spec *spec, int sign)
{
	struct node_row *row = &snapshot->row[slot];

	if (spec->volumes == 0)
		return;
	row->volume_pods += (uint32_t)sign;
	row->volumes += (uint64_t)(sign * spec->volumes);
	if (row->volume_pods > 0)
		pl_bitset_add(snapshot->with_volumes, slot);
	else
		pl_bitset_del(snapshot->with_volumes, slot);
}

/* -- chains ----------------------------------------------------------------------- */

static void link_pod(struct snapshot *snapshot, uint32_t placed)
{
	struct placed_pod *pod = &snapshot->placed[placed];
	uint32_t *on_node = &snapshot->row[pod->node].first_pod,
		 *of_view = &pod->view->first_pod;

	pod->next_on_node = *on_node;
	pod->next_of_view = *of_view;
	pod->prev_on_node = pod->prev_of_view = SNAPSHOT_NONE;
	if (*on_node != SNAPSHOT_NONE)
		snapshot->placed[*on_node].prev_on_node = placed;
	if (*of_view != SNAPSHOT_NONE)
		snapshot->placed[*of_view].prev_of_view = placed;
	*on_node = *of_view = placed;
	pod->view->pods++;
}

static void unlink_pod(struct snapshot *snapshot, uint32_t placed)
{
	struct placed_pod *pod = &snapshot->placed[placed];

	if (pod->prev_on_node != SNAPSHOT_NONE)
		snapshot->placed[pod->prev_on_node].next_on_node = pod->next_on_node;
	else
		snapshot->row[pod->node].first_pod = pod->next_on_node;
	if (pod->next_on_node != SNAPSHOT_NONE)
		snapshot->placed[pod->next_on_node].prev_on_node = pod->prev_on_node;
	if (pod->prev_of_view != SNAPSHOT_NONE)
		snapshot->placed[pod->prev_of_view].next_of_view = pod->next_of_view;
	else
		pod->view->first_pod = pod->next_of_view;
	if (pod->next_of_view != SNAPSHOT_NONE)
		snapshot->placed[pod->next_of_view].prev_of_view = pod->prev_of_view;
	pod->view->pods--;
}

/* -- coming and going ------------------------------------------------------------- */

static void count_pod(struct snapshot *snapshot, uint32_t placed)
{
	const struct placed_pod *pod = &snapshot->placed[placed];
	const struct spec *spec = pod->view->spec;

	link_pod(snapshot, placed);
	count_amounts(snapshot, pod->node, spec, 1);
	count_volumes(snapshot, pod->node, spec, 1);
	ports_add(snapshot, pod->node, spec);
	views_pod_added(snapshot, pod->view, pod->node, pod->flags);
	snapshot_touch(snapshot, pod->node);
}

static void uncount_pod(struct snapshot *snapshot, uint32_t placed)
{
	const struct placed_pod *pod = &snapshot->placed[placed];
	const struct spec *spec = pod->view->spec;

	unlink_pod(snapshot, placed);
	count_amounts(snapshot, pod->node, spec, -1);
	count_volumes(snapshot, pod->node, spec, -1);
	ports_remove(snapshot, pod->node, spec);
	views_pod_removed(snapshot, pod->view, pod->node, pod->flags);
	snapshot_touch(snapshot, pod->node);
}

static enum pl_code reserve_number(struct snapshot *snapshot, struct pl_err *err)
{
	struct number_pool *pool = &snapshot->inner->placed;
	uint32_t cap = pool->cap == 0 ? CAP_MIN : pool->cap * 2;
	struct placed_pod *grown;

	if (number_pool_has(pool))
		return PL_OK;
	if (cap > SNAPSHOT_PODS_MAX)
		return pl_err_set(err, PL_LIMIT, "want at most %d pods on nodes",
		                  SNAPSHOT_PODS_MAX);
	grown = pl_realloc(snapshot->placed, cap * sizeof *grown);
	if (grown == NULL)
		return pl_err_set(err, PL_NOMEM, "room for a pod");
	snapshot->placed = grown;
	pool->cap = cap;
	return PL_OK;
}

static enum pl_code reserve_all(struct snapshot *snapshot, uint32_t slot,
                                const struct spec *spec, struct pl_err *err)
{
	bool counted = row_is_counted(&snapshot->row[slot]);
	enum pl_code code;

	if (counted && !is_countable(snapshot, slot, spec))
		return pl_err_set(
			err, PL_LIMIT,
			"the pods of the node ask for more than can be counted");
	code = reserve_number(snapshot, err);
	if (code == PL_OK && counted && spec->requests->count > 0)
		code = scalars_ready(snapshot, spec->requests, err);
	if (code == PL_OK && spec->template->ports.count > 0)
		code = ports_ready(snapshot, spec->template->ports.count, err);
	return code;
}

static uint32_t take_number(struct snapshot *snapshot)
{
	struct number_pool *pool = &snapshot->inner->placed;
	uint32_t placed = pool->free;

	if (placed == SNAPSHOT_NONE)
		return pool->end++;
	pool->free = snapshot->placed[placed].next_on_node;
	return placed;
}

static enum pl_code hold_class(struct snapshot *snapshot, const struct pod_on_node *pod,
                               struct spec_view **view, struct pl_err *err)
{
	enum pl_code code = view_ref(snapshot, pod->spec, view, err);

	if (code != PL_OK || pod->spec->volumes == 0)
		return code;
	code = claims_pod_add(&snapshot->catalog, pod->spec, pod->name, err);
	if (code != PL_OK)
		view_unref(snapshot, *view);
	return code;
}

enum pl_code snapshot_pod_add(struct snapshot *snapshot, uint32_t slot,
                              const struct pod_on_node *pod, uint32_t *placed,
                              struct pl_err *err)
{
	struct strings *strings = &snapshot->model->strings;
	struct spec_view *view;
	enum pl_code code;

	PL_ASSERT(slot < snapshot->slots && snapshot->row[slot].node.name != 0);
	PL_ASSERT((pod->flags & (PLACED_IN_USE | PLACED_LIFTED)) == 0);
	code = reserve_all(snapshot, slot, pod->spec, err);
	if (code == PL_OK)
		code = hold_class(snapshot, pod, &view, err);
	if (code != PL_OK)
		return code;
	*placed = take_number(snapshot);
	snapshot->placed[*placed] = (struct placed_pod){
		.view = view,
		.name = strings_ref(strings, pod->name),
		.uid = strings_ref(strings, pod->uid),
		.node = slot,
		.flags = pod->flags | PLACED_IN_USE,
		.started_ms = pod->started_ms,
		.user = pod->user,
	};
	if (row_is_counted(&snapshot->row[slot]))
		scalars_ref(snapshot, pod->spec->requests);
	count_pod(snapshot, *placed);
	snapshot->placed_count++;
	snapshot->inner->probe_balance++;
	return PL_OK;
}

/* A pod that is on its node. */
static struct placed_pod *get_placed(const struct snapshot *snapshot, uint32_t placed)
{
	PL_ASSERT(placed < snapshot->inner->placed.end);
	PL_ASSERT((snapshot->placed[placed].flags & (PLACED_IN_USE | PLACED_LIFTED)) ==
	          PLACED_IN_USE);
	return &snapshot->placed[placed];
}

void snapshot_pod_remove(struct snapshot *snapshot, uint32_t placed)
{
	struct strings *strings = &snapshot->model->strings;
	struct placed_pod old = *get_placed(snapshot, placed);

	uncount_pod(snapshot, placed);
	if (row_is_counted(&snapshot->row[old.node]))
		scalars_unref(snapshot, old.view->spec->requests);
	claims_pod_remove(&snapshot->catalog, old.view->spec, old.name);
	snapshot->placed[placed] =
		(struct placed_pod){.next_on_node = snapshot->inner->placed.free};
	snapshot->inner->placed.free = placed;
	snapshot->placed_count--;
	snapshot->inner->probe_balance--;
	strings_unref(strings, old.name);
	strings_unref(strings, old.uid);
	view_unref(snapshot, old.view);
}

void snapshot_pod_terminate(struct snapshot *snapshot, uint32_t placed)
{
	struct placed_pod *pod = get_placed(snapshot, placed);

	PL_ASSERT(!snapshot->inner->probing);
	if ((pod->flags & PLACED_TERMINATING) != 0)
		return;
	pod->flags |= PLACED_TERMINATING;
	views_pod_terminating(snapshot, pod->view, pod->node);
	snapshot_touch(snapshot, pod->node);
}

void snapshot_pod_lift(struct snapshot *snapshot, uint32_t placed)
{
	struct placed_pod *pod = get_placed(snapshot, placed);

	PL_ASSERT(snapshot->inner->probing);
	uncount_pod(snapshot, placed);
	ports_hide(snapshot, pod->node, pod->view->spec);
	pod->flags |= PLACED_LIFTED;
	snapshot->inner->ports_lifted += pod->view->spec->template->ports.count;
	snapshot->inner->lifted++;
}

void snapshot_pod_restore(struct snapshot *snapshot, uint32_t placed)
{
	struct placed_pod *pod = &snapshot->placed[placed];

	PL_ASSERT(placed < snapshot->inner->placed.end && snapshot->inner->probing);
	PL_ASSERT((pod->flags & PLACED_LIFTED) != 0);
	pod->flags &= ~(uint32_t)PLACED_LIFTED;
	snapshot->inner->ports_lifted -= pod->view->spec->template->ports.count;
	snapshot->inner->lifted--;
	count_pod(snapshot, placed);
	ports_show(snapshot, pod->node, pod->view->spec);
}
