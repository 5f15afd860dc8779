/* Reservations by plugins for placed members, as for a pod that is going to be bound.
 * They are released when the member is taken back. */
#include "shardsched/gang/gang_int.h"

static struct plugin_call make_call(struct gang *gang, uint32_t member, unsigned plugin)
{
	const struct gang_member *entry = &gang->members[member];

	return (struct plugin_call){
		.snapshot = gang->snapshot,
		.spec = entry->class->view->spec,
		.view = entry->class->view,
		.pod = &entry->self,
		.args = entry->class->profile->args[plugin],
		.class_state = entry->class->class_state[plugin],
		.arena = &gang->arena,
		.change = gang->snapshot,
	};
}

/* Calls Unreserve of the first count plugins, the last of them first. */
static void unreserve_first(struct gang *gang, uint32_t member, unsigned count)
{
	const struct profile *profile = gang->members[member].class->profile;
	const struct profile_point *at = &profile->at[POINT_RESERVE];
	uint32_t slot = ((const uint32_t *)gang->slot.at)[member];

	for (unsigned i = count; i > 0; i--) {
		unsigned plugin = at->plugin[i - 1];
		struct plugin_call call = make_call(gang, member, plugin);

		if (profile->table->row[plugin]->unreserve != NULL)
			profile->table->row[plugin]->unreserve(&call, slot);
	}
}

void gang_unreserve(struct gang *gang, uint32_t member)
{
	const struct profile *profile = gang->members[member].class->profile;

	unreserve_first(gang, member, profile->at[POINT_RESERVE].count);
}

enum verdict_code gang_reserve(struct gang *gang, uint32_t member,
                               struct verdict *verdict)
{
	const struct profile *profile = gang->members[member].class->profile;
	const struct profile_point *at = &profile->at[POINT_RESERVE];
	uint32_t slot = ((const uint32_t *)gang->slot.at)[member];

	for (unsigned i = 0; i < at->count; i++) {
		unsigned plugin = at->plugin[i];
		struct plugin_call call = make_call(gang, member, plugin);
		enum verdict_code code;

		pl_arena_reset(&gang->arena);
		verdict_clear(verdict);
		code = profile->table->row[plugin]->reserve(&call, slot, verdict);
		if (code == VERDICT_SUCCESS)
			continue;
		verdict->code = code;
		verdict->plugin = (int)plugin;
		unreserve_first(gang, member, i + 1);
		return code;
	}
	return VERDICT_SUCCESS;
}
