#include "shardsched/snapshot/snapshot.h"

#include <stdlib.h>

#include "shardsched/snapshot/snapshot_inner.h"
#include "store/base/alloc.h"

/* X(column) */
#define COLUMNS_MAP(X)        \
	X(row)                \
	X(hot.cpu_alloc)      \
	X(hot.cpu_used)       \
	X(hot.cpu_nonzero)    \
	X(hot.memory_alloc)   \
	X(hot.memory_used)    \
	X(hot.memory_nonzero) \
	X(hot.cpu_unit)       \
	X(hot.memory_unit)    \
	X(storage_free)       \
	X(taints)

static bool grow_columns(struct snapshot *snapshot, uint32_t to)
{
	size_t from = snapshot->capacity;

#define GROW_COLUMN(column)                                                  \
	if (!column_grow(&snapshot->column, from * sizeof *snapshot->column, \
	                 (size_t)to * sizeof *snapshot->column))             \
		return false;
	COLUMNS_MAP(GROW_COLUMN)
#define GROW_SET(set)                                                    \
	if (!column_grow(&snapshot->set.word, from / 8, (size_t)to / 8)) \
		return false;
	SNAPSHOT_SETS_MAP(GROW_SET)
	return scalars_grow(snapshot, to);
}

/* After a failure the columns that have grown stay longer than needed. */
static enum pl_code grow_to(struct snapshot *snapshot, uint32_t to, struct pl_err *err)
{
	enum pl_code code;

	if (!grow_columns(snapshot, to))
		return pl_err_set(err, PL_NOMEM, "room for %u nodes", to);
	code = label_columns_grow(snapshot, to, err);
	if (code == PL_OK)
		code = views_grow(snapshot, to, err);
	if (code != PL_OK)
		return code;
	snapshot->capacity = to;
#define SIZE_SET(set) snapshot->set.bits = to;
	SNAPSHOT_SETS_MAP(SIZE_SET)
	return PL_OK;
}

enum pl_code snapshot_grow(struct snapshot *snapshot, struct pl_err *err)
{
	if (snapshot->capacity >= SNAPSHOT_NODES_MAX)
		return pl_err_set(err, PL_LIMIT, "want at most %d nodes",
		                  SNAPSHOT_NODES_MAX);
	return grow_to(snapshot, snapshot->capacity * 2, err);
}

static enum pl_code make_inner(struct snapshot *snapshot, struct pl_err *err)
{
	struct snapshot_inner *inner = pl_calloc(1, sizeof *inner);

	if (inner == NULL)
		return pl_err_set(err, PL_NOMEM, "make a snapshot");
	inner->free_slot = inner->placed.free = inner->nominations.free =
		inner->reservations.free = inner->ports.free = SNAPSHOT_NONE;
	inner->log = pl_calloc(SNAPSHOT_LOG, sizeof *inner->log);
	if (inner->log == NULL) {
		free(inner);
		return pl_err_set(err, PL_NOMEM, "make a snapshot");
	}
	snapshot->inner = inner;
	nodes_init(snapshot);
	return PL_OK;
}

static void free_inner(struct snapshot *snapshot)
{
	buckets_done(&snapshot->inner->by_name);
	number_map_done(&snapshot->inner->images);
	free(snapshot->inner->log);
	free(snapshot->inner);
	snapshot->inner = NULL;
}

static void free_columns(struct snapshot *snapshot)
{
#define FREE_COLUMN(column) column_free(snapshot->column);
	COLUMNS_MAP(FREE_COLUMN)
#define FREE_SET(set) column_free(snapshot->set.word);
	SNAPSHOT_SETS_MAP(FREE_SET)
	scalars_done(snapshot);
	free(snapshot->placed);
	free(snapshot->nomination);
	free(snapshot->reservation);
	free(snapshot->port_use);
}

enum pl_code snapshot_init(struct snapshot *snapshot, struct model *model,
                           struct pl_err *err)
{
	enum pl_code code;

	*snapshot = (struct snapshot){.model = model};
	code = make_inner(snapshot, err);
	if (code != PL_OK)
		return code;
	code = catalog_init(&snapshot->catalog, model, err);
	if (code != PL_OK)
		goto fail_catalog;
	code = views_init(snapshot, err);
	if (code != PL_OK)
		goto fail_views;
	code = grow_to(snapshot, SNAPSHOT_PAD, err);
	if (code == PL_OK)
		return PL_OK;
	free_columns(snapshot);
	views_done(snapshot);
fail_views:
	catalog_done(&snapshot->catalog);
fail_catalog:
	free_inner(snapshot);
	return code;
}

static void remove_all(struct snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->inner->placed.end; i++)
		if ((snapshot->placed[i].flags & PLACED_IN_USE) != 0)
			snapshot_pod_remove(snapshot, i);
	for (uint32_t slot = 0; slot < snapshot->slots; slot++) {
		while (snapshot->row[slot].first_nomination != SNAPSHOT_NONE)
			snapshot_nominate_end(snapshot,
			                      snapshot->row[slot].first_nomination);
		while (snapshot->row[slot].first_reservation != SNAPSHOT_NONE)
			snapshot_unreserve(snapshot,
			                   snapshot->row[slot].first_reservation);
		if (snapshot->row[slot].node.name != 0)
			snapshot_node_remove(snapshot, slot);
	}
}

void snapshot_done(struct snapshot *snapshot)
{
	PL_ASSERT(!snapshot->inner->probing);
	remove_all(snapshot);
	views_done(snapshot);
	label_columns_done(snapshot);
	catalog_done(&snapshot->catalog);
	free_columns(snapshot);
	free_inner(snapshot);
	*snapshot = (struct snapshot){0};
}

enum pl_code snapshot_namespace_put(struct snapshot *snapshot,
                                    struct namespace *namespace, struct pl_err *err)
{
	uint32_t name = strings_ref(&snapshot->model->strings, namespace->name);
	enum pl_code code = catalog_put_namespace(&snapshot->catalog, namespace, err);

	if (code == PL_OK)
		code = views_namespace_changed(snapshot, name, err);
	strings_unref(&snapshot->model->strings, name);
	return code;
}

enum pl_code snapshot_namespace_drop(struct snapshot *snapshot, uint32_t name,
                                     struct pl_err *err)
{
	enum pl_code code;

	strings_ref(&snapshot->model->strings, name);
	catalog_drop_namespace(&snapshot->catalog, (struct catalog_key){.name = name});
	code = views_namespace_changed(snapshot, name, err);
	strings_unref(&snapshot->model->strings, name);
	return code;
}

static size_t columns_memory(const struct snapshot *snapshot)
{
	size_t a_slot = 0, sets = 0;

#define SIZE_COLUMN(column) a_slot += sizeof *snapshot->column;
	COLUMNS_MAP(SIZE_COLUMN)
#define COUNT_SET(set) sets += snapshot->set.bits / 8;
	SNAPSHOT_SETS_MAP(COUNT_SET)
	return a_slot * snapshot->capacity + sets;
}

size_t snapshot_memory(const struct snapshot *snapshot)
{
	const struct snapshot_inner *inner = snapshot->inner;

	return columns_memory(snapshot) + sizeof *inner +
	       SNAPSHOT_LOG * sizeof *inner->log + inner->by_name.cap * sizeof(uint32_t) +
	       inner->images.cap * sizeof(struct number_entry) +
	       inner->placed.cap * sizeof(struct placed_pod) +
	       inner->nominations.cap * sizeof(struct nomination) +
	       inner->reservations.cap * sizeof(struct reservation) +
	       inner->ports.cap * sizeof(struct port_use) + scalars_memory(snapshot) +
	       label_columns_memory(snapshot) + views_memory(snapshot) +
	       catalog_memory(&snapshot->catalog);
}
