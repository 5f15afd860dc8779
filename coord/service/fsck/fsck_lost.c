/* Pods whose state is lost or does not parse. Their place is taken from the allocs
 * that list them. */
#include "coord/service/fsck/fsck_int.h"

/* False if there is nothing but a pointer. */
bool fsck_is_there(const struct fsck_current *at)
{
	return at->has_state || (at->has_spec && !at->is_pointer);
}

/* The node whose alloc lists the pod. If several do (alloc.pod_twice) the choice is
 * free: the first in the order of keys that does not mark the pod as leaving. */
static uint32_t place_of(const struct fsck_core *core, uint32_t first)
{
	const struct fsck_row *best = NULL;

	for (uint32_t i = first; i != FSCK_NONE; i = core->row[i].next) {
		const struct fsck_row *row = &core->row[i];

		/* The rows are linked last one first. */
		if (row->partition == core->at.partition &&
		    (best == NULL || best->leaving || !row->leaving))
			best = row;
	}
	return best == NULL ? FSCK_NONE : best->node;
}

void fsck_lost_pod(struct fsck_core *core, uint32_t entry)
{
	const struct fsck_current *at = &core->at;
	struct fsck_lost new = {.node = FSCK_NONE,
	                        .partition = (uint16_t)at->partition,
	                        .spec_rev = at->has_spec ? at->spec_rev : 0,
	                        .state_rev = at->has_state ? at->state_rev : 0};
	struct keys_text alloc, state;

	if (!fsck_is_there(at) || (at->has_state && at->state_ok))
		return;
	if (entry != NAME_TABLE_NONE)
		new.node = place_of(core, core->entry[entry].listed);
	if (!at->has_state && new.node == FSCK_NONE)
		return; /* the pod waits for its first decision */
	new.pod = fsck_entry_add(core, keys_span(&at->name));
	if (new.pod == FSCK_NONE)
		return;
	if (!name_table_room((void **)&core->lost, &core->lost_cap, core->losses,
	                     sizeof *core->lost)) {
		fsck_no_memory(core);
		return;
	}
	core->lost[core->losses++] = new;
	if (at->has_state)
		return; /* reported already */
	fsck_report(core, FSCK_STATE_MISSING,
	            fsck_key(&state, KEYS_STATE, at->partition, keys_span(&at->name)),
	            fsck_key(&alloc, KEYS_ALLOC, core->node[new.node].partition,
	                     name_table_get(&core->nodes, new.node)),
	            "it has none, and " PL_SPAN_FMT " lists it",
	            PL_SPAN_ARG(name_table_get(&core->nodes, new.node)));
}
