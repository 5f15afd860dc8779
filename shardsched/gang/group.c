#include "shardsched/gang/gang_int.h"

enum { GROUP_SAMPLE = 1024, GROUP_MILLION = 1000000 };

static struct gang_group new_group(struct fw_class *class)
{
	const struct spec *spec = class->view->spec;

	return (struct gang_group){
		.class = class,
		.alike = (spec->flags & SPEC_BY_NAME) == 0,
		.retries = spec->template->affinity.count > 0 ||
	                   spec->template->spreads.count > 0,
	};
}

static bool find_group(struct gang *gang, uint32_t member, uint32_t *out)
{
	struct fw_class *class = gang->members[member].class;
	uint32_t id = class->view->spec->item.id;

	if (number_map_get(&gang->seen, id, out))
		return true;
	*out = gang->group_count;
	if (!scratch_grow(&gang->groups, (size_t)*out + 1, sizeof(struct gang_group)) ||
	    !number_map_add(&gang->seen, id, *out))
		return false;
	gang_groups(gang)[gang->group_count++] = new_group(class);
	return true;
}

static bool count_members(struct gang *gang)
{
	uint32_t *group_of_member = gang->group_by_member.at;

	for (uint32_t i = 0; i < gang->count; i++) {
		struct gang_group *group;

		if (!find_group(gang, i, &group_of_member[i]))
			return false;
		group = &gang_groups(gang)[group_of_member[i]];
		group->count++;
		/* A member's own nomination does not count against it, so its outcome is
		 * not the group's. */
		if (gang->members[i].self.nominated != SNAPSHOT_NONE)
			group->alike = false;
	}
	return true;
}

bool gang_make_groups(struct gang *gang)
{
	uint32_t *by_group, *group_of_member, at = 0;

	number_map_clear(&gang->seen);
	gang->group_count = 0;
	if (!scratch_grow(&gang->group_by_member, gang->count, sizeof(uint32_t)) ||
	    !scratch_grow(&gang->by_group, gang->count, sizeof(uint32_t)) ||
	    !scratch_grow(&gang->slot, gang->count, sizeof(uint32_t)) ||
	    !scratch_grow(&gang->placements, gang->count,
	                  sizeof(struct gang_placement)) ||
	    !count_members(gang))
		return gang_fail(gang, PL_NOMEM, "groups of a gang: out of memory");
	for (uint32_t i = 0; i < gang->group_count; i++) {
		gang_groups(gang)[i].at = at;
		at += gang_groups(gang)[i].count;
		gang_groups(gang)[i].count = 0;
	}
	by_group = gang->by_group.at;
	group_of_member = gang->group_by_member.at;
	for (uint32_t i = 0; i < gang->count; i++) {
		struct gang_group *group = &gang_groups(gang)[group_of_member[i]];

		by_group[group->at + group->count++] = i;
	}
	return true;
}

static double share_of_nodes(int64_t asked, double there)
{
	if (asked <= 0)
		return 0;
	return there > 0 ? (double)asked / there : 1;
}

/* The largest share of any resource that a member takes of an average node. */
static uint64_t group_size(const struct gang *gang,
                           const struct resource_request *request, uint32_t step)
{
	const struct snapshot *snapshot = gang->snapshot;
	double cpu = 0, memory = 0, storage = 0, nodes = 0, most, part;

	for (uint32_t i = 0; i < snapshot->slots; i += step) {
		const struct node_amounts *alloc = &snapshot->row[i].alloc;

		cpu += (double)alloc->cpu_milli;
		memory += (double)alloc->memory;
		storage += (double)alloc->storage;
		nodes += pl_bitset_has(snapshot->live, i);
	}
	most = share_of_nodes(request->cpu_milli, cpu);
	part = share_of_nodes(request->memory, memory);
	most = part > most ? part : most;
	part = share_of_nodes(request->storage, storage);
	most = part > most ? part : most;
	for (uint32_t k = 0; k < request->scalars; k++) {
		const struct scalar_column *column =
			&snapshot->scalar[request->scalar[k].column];
		double there = 0;

		for (uint32_t i = 0; i < snapshot->slots; i += step)
			there += (double)column->alloc[i];
		part = share_of_nodes(request->scalar[k].amount, there);
		most = part > most ? part : most;
	}
	most = most * nodes;
	return (uint64_t)((most > GROUP_MILLION ? GROUP_MILLION : most) * GROUP_MILLION);
}

/* A sample of the nodes suffices, since sizes only order groups. */
void gang_measure(struct gang *gang)
{
	uint32_t step = gang->snapshot->slots / GROUP_SAMPLE + 1;
	struct resource_request request;

	for (uint32_t i = 0; i < gang->group_count && !gang->measured; i++) {
		struct gang_group *group = &gang_groups(gang)[i];

		resource_request_init(&request, gang->snapshot, group->class,
		                      resource_request_plugin(group->class->profile));
		group->size = group_size(gang, &request, step);
	}
	gang->measured = true;
}

/* Which of two groups comes first; equal ones keep the order of their first members. */
static bool comes_before(const struct gang *gang, enum gang_order order,
                         const struct gang_group *a, const struct gang_group *b)
{
	if (order == GANG_SECOND && gang->need < gang->count)
		return a->size < b->size;
	/* Groups without a feasible node come last: they wait for other members. */
	if (order == GANG_SECOND && a->feasible != b->feasible)
		return a->feasible - 1 < b->feasible - 1;
	return a->size > b->size;
}

/* A merge sort of doubling runs: heap sort would not be stable, and there are few
 * groups. */
static void sort_groups(struct gang *gang, uint32_t *from, uint32_t *to,
                        enum gang_order order)
{
	const struct gang_group *group = gang_groups(gang);
	uint32_t count = gang->group_count, *result = from;

	for (uint32_t run = 1; run < count; run *= 2) {
		uint32_t *next = from;

		for (uint32_t i = 0; i < count; i += 2 * run) {
			uint32_t half = count - i < run ? count : i + run;
			uint32_t end = count - i < 2 * run ? count : i + 2 * run;
			uint32_t a = i, b = half;

			for (uint32_t k = i; k < end; k++)
				to[k] = a == half || (b < end &&
				                      comes_before(gang, order,
				                                   &group[from[b]],
				                                   &group[from[a]]))
				                ? from[b++]
				                : from[a++];
		}
		from = to;
		to = next;
	}
	if (from != result)
		memcpy(result, from, count * sizeof *result);
}

static bool ignore_group(struct gang *gang, struct gang_group *group)
{
	(void)gang;
	(void)group;
	return true;
}

/* Room for the order, the one before it, and one to sort with. */
static bool reserve_order(struct gang *gang)
{
	if (!scratch_grow(&gang->order, (size_t)gang->group_count * 3, sizeof(uint32_t)))
		return gang_fail(gang, PL_NOMEM, "groups of a gang: out of memory");
	return true;
}

bool gang_make_order(struct gang *gang, enum gang_order order)
{
	uint32_t count = gang->group_count, *at;

	if (order == GANG_SECOND && count == 1)
		return false;
	if (order == GANG_SECOND && gang->need == gang->count && !gang->asked &&
	    !gang_run_groups(gang, ignore_group))
		return false;
	if (!reserve_order(gang))
		return false;
	at = gang->order.at;
	memcpy(at + 2 * (size_t)count, at, count * sizeof *at);
	for (uint32_t i = 0; i < count; i++)
		at[i] = i;
	if (count > 1) {
		gang_measure(gang);
		sort_groups(gang, at, at + count, order);
	}
	return order != GANG_SECOND ||
	       memcmp(at, at + 2 * (size_t)count, count * sizeof *at) != 0;
}
