/* Pods for which room is being made on a node. They take none: they are only known. */
#include <stdlib.h>

#include "shardsched/snapshot/snapshot_inner.h"
#include "store/base/alloc.h"

enum { CAP_MIN = 64 };

static enum pl_code reserve_number(struct snapshot *snapshot, struct pl_err *err)
{
	struct number_pool *pool = &snapshot->inner->nominations;
	uint32_t cap = pool->cap == 0 ? CAP_MIN : pool->cap * 2;
	struct nomination *grown;

	if (number_pool_has(pool))
		return PL_OK;
	if (cap > SNAPSHOT_PODS_MAX)
		return pl_err_set(err, PL_LIMIT, "want at most %d nominated pods",
		                  SNAPSHOT_PODS_MAX);
	grown = pl_realloc(snapshot->nomination, cap * sizeof *grown);
	if (grown == NULL)
		return pl_err_set(err, PL_NOMEM, "room for a nomination");
	snapshot->nomination = grown;
	pool->cap = cap;
	return PL_OK;
}

static uint32_t take_number(struct snapshot *snapshot)
{
	struct number_pool *pool = &snapshot->inner->nominations;
	uint32_t nomination = pool->free;

	if (nomination == SNAPSHOT_NONE)
		return pool->end++;
	pool->free = snapshot->nomination[nomination].next;
	return nomination;
}

enum pl_code snapshot_nominate(struct snapshot *snapshot, uint32_t slot,
                               const struct pod_on_node *pod, uint32_t *nomination,
                               struct pl_err *err)
{
	struct strings *strings = &snapshot->model->strings;
	struct spec_view *view;
	enum pl_code code;

	PL_ASSERT(slot < snapshot->slots && snapshot->row[slot].node.name != 0);
	code = reserve_number(snapshot, err);
	if (code == PL_OK)
		code = view_ref(snapshot, pod->spec, &view, err);
	if (code != PL_OK)
		return code;
	*nomination = take_number(snapshot);
	snapshot->nomination[*nomination] =
		(struct nomination){.view = view,
	                            .name = strings_ref(strings, pod->name),
	                            .uid = strings_ref(strings, pod->uid),
	                            .node = slot,
	                            .next = snapshot->row[slot].first_nomination,
	                            .started_ms = pod->started_ms};
	snapshot->nominated_nodes +=
		snapshot->row[slot].first_nomination == SNAPSHOT_NONE;
	snapshot->row[slot].first_nomination = *nomination;
	pl_bitset_add(snapshot->nominated, slot);
	snapshot->inner->probe_balance++;
	snapshot_touch(snapshot, slot);
	return PL_OK;
}

void snapshot_nominate_end(struct snapshot *snapshot, uint32_t nomination)
{
	struct nomination old = snapshot->nomination[nomination];
	struct node_row *row = &snapshot->row[old.node];
	uint32_t *at = &row->first_nomination;

	PL_ASSERT(nomination < snapshot->inner->nominations.end && old.view != NULL);
	while (*at != nomination)
		at = &snapshot->nomination[*at].next;
	*at = old.next;
	if (row->first_nomination == SNAPSHOT_NONE) {
		pl_bitset_del(snapshot->nominated, old.node);
		snapshot->nominated_nodes--;
	}
	snapshot->nomination[nomination] =
		(struct nomination){.next = snapshot->inner->nominations.free};
	snapshot->inner->nominations.free = nomination;
	snapshot->inner->probe_balance--;
	snapshot_touch(snapshot, old.node);
	strings_unref(&snapshot->model->strings, old.name);
	strings_unref(&snapshot->model->strings, old.uid);
	view_unref(snapshot, old.view);
}
