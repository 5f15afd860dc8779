#include "shardsched/framework/resource_request.h"

int resource_request_plugin(const struct profile *profile)
{
	const struct profile_point *filters = &profile->at[POINT_FILTER];

	for (uint8_t i = 0; i < filters->count; i++)
		if (profile->table->row[filters->plugin[i]]->counts != NULL)
			return filters->plugin[i];
	return -1;
}

/* A resource that is not requested always fits, however little is free. */
static int64_t lower_bound(int64_t amount)
{
	return amount > 0 ? amount : INT64_MIN;
}

static void add_scalar(struct resource_request *request, const struct snapshot *snapshot,
                       const struct resource_row *row)
{
	struct scalar_request entry = {row->amount, row->name,
	                               snapshot_scalar(snapshot, row->name)};

	if (entry.column == SNAPSHOT_NONE)
		request->impossible = true;
	else
		request->scalar[request->scalars++] = entry;
}

void resource_request_init(struct resource_request *request,
                           const struct snapshot *snapshot, const struct fw_class *class,
                           int plugin)
{
	const struct profile *profile = class->profile;
	const struct resources *requests = class->view->spec->requests;

	request->cpu_milli = lower_bound(requests->cpu_milli);
	request->memory = lower_bound(requests->memory);
	request->storage = lower_bound(requests->storage);
	request->impossible = false;
	request->scalars = 0;
	if (plugin < 0)
		return;
	for (uint64_t i = 0; i < requests->count && !request->impossible; i++)
		if (profile->table->row[plugin]->counts(snapshot->model,
		                                        profile->args[plugin],
		                                        requests->row[i].name))
			add_scalar(request, snapshot, &requests->row[i]);
}

void resource_request_available(const struct resource_request *request,
                                const struct snapshot *snapshot, uint32_t slot,
                                const struct request_sum *reclaimed,
                                struct free_amounts *out)
{
	const struct node_amounts *alloc = &snapshot->row[slot].alloc;
	const struct node_amounts *used = &snapshot->row[slot].used;

	out->pods = alloc->pods - (used->pods - reclaimed->pods);
	out->cpu_milli = alloc->cpu_milli - (used->cpu_milli - reclaimed->cpu_milli);
	out->memory = alloc->memory - (used->memory - reclaimed->memory);
	out->storage = alloc->storage - (used->storage - reclaimed->storage);
	for (uint32_t i = 0; i < request->scalars; i++) {
		const struct scalar_column *column =
			&snapshot->scalar[request->scalar[i].column];

		out->scalar[i] = column->alloc[slot] - column->used[slot];
	}
}

bool resource_request_fits(const struct resource_request *request,
                           const struct free_amounts *free)
{
	if (free->pods < 1)
		return false;
	if (request->cpu_milli > free->cpu_milli || request->memory > free->memory ||
	    request->storage > free->storage)
		return false;
	for (uint32_t i = 0; i < request->scalars; i++)
		if (request->scalar[i].amount > free->scalar[i])
			return false;
	return true;
}

static int64_t count_fitting(int64_t least, int64_t free, int64_t most)
{
	int64_t count;

	if (least == INT64_MIN)
		return most;
	count = free < least ? 0 : free / least;
	return count < most ? count : most;
}

int64_t resource_request_copies(const struct resource_request *request,
                                const struct free_amounts *free, int64_t most)
{
	most = count_fitting(1, free->pods, most);
	most = count_fitting(request->cpu_milli, free->cpu_milli, most);
	most = count_fitting(request->memory, free->memory, most);
	most = count_fitting(request->storage, free->storage, most);
	for (uint32_t i = 0; i < request->scalars; i++)
		most = count_fitting(request->scalar[i].amount, free->scalar[i], most);
	return most;
}

void resource_request_return_scalars(const struct resource_request *request,
                                     const struct resources *resources,
                                     struct free_amounts *free)
{
	for (uint32_t i = 0; i < request->scalars; i++)
		free->scalar[i] += resources_get(resources, request->scalar[i].name);
}

void resource_request_return(const struct resource_request *request,
                             const struct resources *resources, struct free_amounts *free)
{
	free->pods++;
	free->cpu_milli += resources->cpu_milli;
	free->memory += resources->memory;
	free->storage += resources->storage;
	resource_request_return_scalars(request, resources, free);
}

void resource_request_take(const struct resource_request *request,
                           const struct resources *resources, struct free_amounts *free)
{
	free->pods--;
	free->cpu_milli -= resources->cpu_milli;
	free->memory -= resources->memory;
	free->storage -= resources->storage;
	for (uint32_t i = 0; i < request->scalars; i++)
		free->scalar[i] -= resources_get(resources, request->scalar[i].name);
}
