#include "shardsched/framework/asks.h"

int asks_plugin(const struct profile *profile)
{
	const struct profile_point *filters = &profile->at[POINT_FILTER];

	for (uint8_t i = 0; i < filters->count; i++)
		if (profile->table->row[filters->plugin[i]]->counts != NULL)
			return filters->plugin[i];
	return -1;
}

/* What is not asked for is not lacked, however little there is. */
static int64_t at_least(int64_t amount)
{
	return amount > 0 ? amount : INT64_MIN;
}

static void add_scalar(struct asks *asks, const struct snapshot *snapshot,
                       const struct resource_row *row)
{
	struct ask_scalar ask = {row->amount, row->name,
	                         snapshot_scalar(snapshot, row->name)};

	if (ask.column == SNAPSHOT_NONE)
		asks->impossible = true;
	else
		asks->scalar[asks->scalars++] = ask;
}

void asks_init(struct asks *asks, const struct snapshot *snapshot,
               const struct fw_class *class, int plugin)
{
	const struct profile *profile = class->profile;
	const struct resources *requests = class->view->spec->requests;

	asks->cpu_milli = at_least(requests->cpu_milli);
	asks->memory = at_least(requests->memory);
	asks->storage = at_least(requests->storage);
	asks->impossible = false;
	asks->scalars = 0;
	if (plugin < 0)
		return;
	for (uint64_t i = 0; i < requests->count && !asks->impossible; i++)
		if (profile->table->row[plugin]->counts(snapshot->model,
		                                        profile->args[plugin],
		                                        requests->row[i].name))
			add_scalar(asks, snapshot, &requests->row[i]);
}

void asks_free(const struct asks *asks, const struct snapshot *snapshot, uint32_t slot,
               const struct room *room, struct free_amounts *out)
{
	const struct node_amounts *alloc = &snapshot->row[slot].alloc;
	const struct node_amounts *used = &snapshot->row[slot].used;

	out->pods = alloc->pods - (used->pods - room->pods);
	out->cpu_milli = alloc->cpu_milli - (used->cpu_milli - room->cpu_milli);
	out->memory = alloc->memory - (used->memory - room->memory);
	out->storage = alloc->storage - (used->storage - room->storage);
	for (uint32_t i = 0; i < asks->scalars; i++) {
		const struct scalar_column *column =
			&snapshot->scalar[asks->scalar[i].column];

		out->scalar[i] = column->alloc[slot] - column->used[slot];
	}
}

bool asks_fit(const struct asks *asks, const struct free_amounts *free)
{
	if (free->pods < 1)
		return false;
	if (asks->cpu_milli > free->cpu_milli || asks->memory > free->memory ||
	    asks->storage > free->storage)
		return false;
	for (uint32_t i = 0; i < asks->scalars; i++)
		if (asks->scalar[i].amount > free->scalar[i])
			return false;
	return true;
}

static int64_t times(int64_t least, int64_t free, int64_t most)
{
	int64_t count;

	if (least == INT64_MIN)
		return most;
	count = free < least ? 0 : free / least;
	return count < most ? count : most;
}

int64_t asks_times(const struct asks *asks, const struct free_amounts *free, int64_t most)
{
	most = times(1, free->pods, most);
	most = times(asks->cpu_milli, free->cpu_milli, most);
	most = times(asks->memory, free->memory, most);
	most = times(asks->storage, free->storage, most);
	for (uint32_t i = 0; i < asks->scalars; i++)
		most = times(asks->scalar[i].amount, free->scalar[i], most);
	return most;
}

void asks_give_scalars(const struct asks *asks, const struct resources *resources,
                       struct free_amounts *free)
{
	for (uint32_t i = 0; i < asks->scalars; i++)
		free->scalar[i] += resources_get(resources, asks->scalar[i].name);
}

void asks_give(const struct asks *asks, const struct resources *resources,
               struct free_amounts *free)
{
	free->pods++;
	free->cpu_milli += resources->cpu_milli;
	free->memory += resources->memory;
	free->storage += resources->storage;
	asks_give_scalars(asks, resources, free);
}

void asks_take(const struct asks *asks, const struct resources *resources,
               struct free_amounts *free)
{
	free->pods--;
	free->cpu_milli -= resources->cpu_milli;
	free->memory -= resources->memory;
	free->storage -= resources->storage;
	for (uint32_t i = 0; i < asks->scalars; i++)
		free->scalar[i] -= resources_get(resources, asks->scalar[i].name);
}
