/* Probes: pods leave their nodes and come back, and the states of the plugins follow. */
#include "shardsched/framework/cycle_int.h"

void cycle_pod_moved(struct cycle *cycle, const struct placed_pod *pod, int delta)
{
	for (unsigned i = 0; i < cycle->filters; i++) {
		unsigned plugin = cycle->filter[i];
		const struct plugin *row = cycle->profile->table->row[plugin];

		if (row->moved != NULL)
			row->moved(&cycle->call[plugin], pod, delta);
	}
}

void cycle_remove_pod(struct cycle *cycle, uint32_t placed)
{
	snapshot_pod_lift(cycle->snapshot, placed);
	cycle_pod_moved(cycle, &cycle->snapshot->placed[placed], -1);
}

void cycle_add_pod(struct cycle *cycle, uint32_t placed)
{
	snapshot_pod_restore(cycle->snapshot, placed);
	cycle_pod_moved(cycle, &cycle->snapshot->placed[placed], 1);
}

int cycle_refuser(struct cycle *cycle, uint32_t slot, bool *fits)
{
	int place;

	*fits = false;
	if (!cycle_is_ready(cycle))
		return -1;
	place = nominated_filter(cycle, slot);
	*fits = place < 0 && cycle_is_ready(cycle);
	/* A failure while probing does not fail the run. */
	cycle->run_state = RUN_READY;
	return place < 0 ? -1 : cycle->filter[place];
}

bool cycle_fits(struct cycle *cycle, uint32_t slot)
{
	bool fits;

	(void)cycle_refuser(cycle, slot, &fits);
	return fits;
}

enum verdict_code cycle_post_filter(struct cycle *cycle, struct verdict *verdict)
{
	const struct profile_point *at = &cycle->profile->at[POINT_POST_FILTER];
	enum verdict_code code = VERDICT_UNSCHEDULABLE;

	verdict_clear(verdict);
	for (unsigned i = 0; i < at->count; i++) {
		unsigned plugin = at->plugin[i];

		verdict_clear(verdict);
		code = cycle->profile->table->row[plugin]->post_filter(
			&cycle->call[plugin], cycle, verdict);
		verdict->code = code;
		verdict->plugin = (int)plugin;
		if (code == VERDICT_SUCCESS || code == VERDICT_ERROR)
			break;
	}
	return code;
}
