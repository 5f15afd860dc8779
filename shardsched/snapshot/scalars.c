/*
 * Columns of scalar resources, by name. A column is in use while a node has the resource
 * or a pod uses it; a free column is all zero, and its memory is kept for the next name.
 */
#include "shardsched/snapshot/snapshot_inner.h"

uint32_t snapshot_scalar(const struct snapshot *snapshot, uint32_t name)
{
	for (uint32_t i = 0; name != 0 && i < snapshot->inner->scalars_end; i++)
		if (snapshot->scalar[i].name == name)
			return i;
	return SNAPSHOT_NONE;
}

static struct scalar_column *column_of(struct snapshot *snapshot, uint32_t name)
{
	uint32_t at = snapshot_scalar(snapshot, name);

	PL_ASSERT(at != SNAPSHOT_NONE);
	return &snapshot->scalar[at];
}

static bool make_memory(const struct snapshot *snapshot, struct scalar_column *column)
{
	if (column->alloc == NULL)
		column->alloc = column_alloc(snapshot->capacity * sizeof(int64_t));
	if (column->used == NULL)
		column->used = column_alloc(snapshot->capacity * sizeof(int64_t));
	return column->alloc != NULL && column->used != NULL;
}

enum pl_code scalars_ready(struct snapshot *snapshot, const struct resources *resources,
                           struct pl_err *err)
{
	uint32_t missing = 0;

	for (uint64_t i = 0; i < resources->count; i++)
		missing += snapshot_scalar(snapshot, resources->row[i].name) ==
		           SNAPSHOT_NONE;
	for (uint32_t i = 0; missing > 0 && i < SNAPSHOT_SCALARS_MAX; i++) {
		if (snapshot->scalar[i].name != 0)
			continue;
		if (!make_memory(snapshot, &snapshot->scalar[i]))
			return pl_err_set(err, PL_NOMEM, "count one more resource");
		missing--;
	}
	if (missing > 0)
		return pl_err_set(err, PL_LIMIT,
		                  "want at most %d different scalar resources",
		                  SNAPSHOT_SCALARS_MAX);
	return PL_OK;
}

static struct scalar_column *column_acquire(struct snapshot *snapshot, uint32_t name)
{
	uint32_t at = snapshot_scalar(snapshot, name);

	if (at != SNAPSHOT_NONE) {
		snapshot->scalar[at].users++;
		return &snapshot->scalar[at];
	}
	for (at = 0; snapshot->scalar[at].name != 0; at++)
		PL_ASSERT(at + 1 < SNAPSHOT_SCALARS_MAX);
	PL_ASSERT(snapshot->scalar[at].alloc != NULL &&
	          snapshot->scalar[at].used != NULL);
	snapshot->scalar[at].name = name;
	snapshot->scalar[at].users = 1;
	if (at >= snapshot->inner->scalars_end)
		snapshot->inner->scalars_end = at + 1;
	return &snapshot->scalar[at];
}

static void column_release(struct scalar_column *column)
{
	PL_ASSERT(column->users > 0);
	if (--column->users == 0)
		column->name = 0;
}

static bool has_scalar(const struct resources *resources, uint32_t name)
{
	for (uint64_t i = 0; resources != NULL && i < resources->count; i++)
		if (resources->row[i].name == name)
			return true;
	return false;
}

void scalars_node_add(struct snapshot *snapshot, uint32_t slot,
                      const struct resources *resources)
{
	for (uint64_t i = 0; resources != NULL && i < resources->count; i++)
		column_acquire(snapshot, resources->row[i].name)->alloc[slot] =
			resources->row[i].amount;
}

void scalars_node_remove(struct snapshot *snapshot, uint32_t slot,
                         const struct resources *resources, const struct resources *now)
{
	for (uint64_t i = 0; resources != NULL && i < resources->count; i++) {
		uint32_t name = resources->row[i].name;
		struct scalar_column *column = column_of(snapshot, name);

		if (!has_scalar(now, name))
			column->alloc[slot] = 0;
		column_release(column);
	}
}

bool scalars_countable(const struct snapshot *snapshot, uint32_t slot,
                       const struct resources *resources)
{
	for (uint64_t i = 0; i < resources->count; i++) {
		uint32_t at = snapshot_scalar(snapshot, resources->row[i].name);
		int64_t used = at == SNAPSHOT_NONE ? 0 : snapshot->scalar[at].used[slot];

		if (resources->row[i].amount > SNAPSHOT_USED_MOST - used)
			return false;
	}
	return true;
}

void scalars_ref(struct snapshot *snapshot, const struct resources *resources)
{
	for (uint64_t i = 0; i < resources->count; i++)
		column_acquire(snapshot, resources->row[i].name);
}

void scalars_unref(struct snapshot *snapshot, const struct resources *resources)
{
	for (uint64_t i = 0; i < resources->count; i++)
		column_release(column_of(snapshot, resources->row[i].name));
}

void scalars_add_used(struct snapshot *snapshot, uint32_t slot,
                      const struct resources *resources, int sign)
{
	for (uint64_t i = 0; i < resources->count; i++)
		column_of(snapshot, resources->row[i].name)->used[slot] +=
			sign * resources->row[i].amount;
}

bool scalars_grow(struct snapshot *snapshot, uint32_t capacity)
{
	size_t from = snapshot->capacity * sizeof(int64_t),
	       to = (size_t)capacity * sizeof(int64_t);

	for (uint32_t i = 0; i < SNAPSHOT_SCALARS_MAX; i++) {
		struct scalar_column *column = &snapshot->scalar[i];

		if ((column->alloc != NULL && !column_grow(&column->alloc, from, to)) ||
		    (column->used != NULL && !column_grow(&column->used, from, to)))
			return false;
	}
	return true;
}

void scalars_done(struct snapshot *snapshot)
{
	for (uint32_t i = 0; i < SNAPSHOT_SCALARS_MAX; i++) {
		column_free(snapshot->scalar[i].alloc);
		column_free(snapshot->scalar[i].used);
	}
}

size_t scalars_memory(const struct snapshot *snapshot)
{
	size_t columns = 0;

	for (uint32_t i = 0; i < SNAPSHOT_SCALARS_MAX; i++)
		columns += (size_t)(snapshot->scalar[i].alloc != NULL) +
		           (size_t)(snapshot->scalar[i].used != NULL);
	return columns * snapshot->capacity * sizeof(int64_t);
}
