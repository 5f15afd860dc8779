#include "shardsched/preempt/preempt_int.h"

/* Removing pods may help where the first plugin to refuse the node says UNSCHEDULABLE. A
 * plugin whose verdict depends on the node is asked about each one. */
static bool may_help(struct preempt *preempt, unsigned plugin, uint32_t slot)
{
	struct verdict verdict;

	verdict_clear(&verdict);
	if (!pl_bitset_has(preempt->snapshot->nominated, slot))
		cycle_why_plugin(preempt->cycle, plugin, slot, &verdict);
	/* The pods nominated for the node may be what stands in the way. */
	if (verdict.code == VERDICT_SUCCESS)
		cycle_why(preempt->cycle, slot, &verdict);
	return verdict.code == VERDICT_UNSCHEDULABLE;
}

static void add_mixed(struct preempt *preempt, unsigned plugin)
{
	PL_BITSET_EACH (slot, preempt->mixed)
		if (may_help(preempt, plugin, (uint32_t)slot))
			pl_bitset_add(preempt->potential, slot);
}

static void add_refused(struct preempt *preempt, const struct plugin *row,
                        unsigned plugin)
{
	bool is_fit = (int)plugin == preempt->fit;
	struct pl_bitset set = is_fit ? preempt->by_fit : preempt->mixed;

	if (row->refusal == PLUGIN_REFUSES_UNRESOLVABLE)
		return;
	cycle_refused(preempt->cycle, plugin, set);
	if (row->refusal == PLUGIN_REFUSES_UNSCHEDULABLE) {
		pl_bitset_or(preempt->potential, set);
		return;
	}
	if (is_fit)
		pl_bitset_copy(preempt->mixed, set);
	add_mixed(preempt, plugin);
}

uint32_t potential_find(struct preempt *preempt, const struct cycle_outcome *last)
{
	const struct profile *profile = cycle_class(preempt->cycle)->profile;
	const struct profile_point *filters = &profile->at[POINT_FILTER];

	for (uint8_t i = 0; i < filters->count; i++) {
		unsigned plugin = filters->plugin[i];

		if (last->refused[plugin] > 0)
			add_refused(preempt, profile->table->row[plugin], plugin);
	}
	return (uint32_t)pl_bitset_count(preempt->potential);
}
