/* Reports which plugin refused a node, and why, after the run: plugins are asked with the
 * states as the run left them. */
#include "shardsched/framework/cycle_int.h"

/* Index of a plugin in filter[]; cycle->filters: it did not filter. */
static unsigned filter_index(const struct cycle *cycle, unsigned plugin)
{
	unsigned i = 0;

	while (i < cycle->filters && cycle->filter[i] != plugin)
		i++;
	return i;
}

static void ask_plugin(struct cycle *cycle, unsigned plugin, uint32_t slot,
                       struct verdict *verdict)
{
	verdict_clear(verdict);
	cycle->profile->table->row[plugin]->why(&cycle->call[plugin], slot, verdict);
	if (verdict->code != VERDICT_SUCCESS)
		verdict->plugin = (int)plugin;
}

void cycle_why_plugin(struct cycle *cycle, unsigned plugin, uint32_t slot,
                      struct verdict *verdict)
{
	verdict_clear(verdict);
	if (cycle_is_ready(cycle) && filter_index(cycle, plugin) < cycle->filters)
		ask_plugin(cycle, plugin, slot, verdict);
}

static void ask_filters(struct cycle *cycle, uint32_t slot, struct verdict *verdict)
{
	verdict_clear(verdict);
	for (unsigned i = 0; i < cycle->filters && verdict->code == VERDICT_SUCCESS; i++)
		ask_plugin(cycle, cycle->filter[i], slot, verdict);
}

/* Asks the filters with the nominated pods on the node. */
static void ask_nominated(struct cycle *cycle, uint32_t slot, struct verdict *verdict)
{
	bool probing = snapshot_probing(cycle->snapshot);

	if (!probing)
		snapshot_probe(cycle->snapshot);
	if (nominated_add(cycle, slot))
		ask_filters(cycle, slot, verdict);
	nominated_remove(cycle);
	if (!probing)
		snapshot_probe_end(cycle->snapshot);
}

void cycle_why(struct cycle *cycle, uint32_t slot, struct verdict *verdict)
{
	if (!cycle_is_ready(cycle)) {
		*verdict = cycle->result.pre;
		return;
	}
	verdict_clear(verdict);
	if (nominated_counts(cycle, slot))
		ask_nominated(cycle, slot, verdict);
	if (verdict->code == VERDICT_SUCCESS)
		ask_filters(cycle, slot, verdict);
}

/* -- all nodes that one plugin refused --------------------------------------------------- */

static void refused_by_filter(const struct cycle *cycle, unsigned place, uint64_t *to)
{
	for (uint32_t block = 0; block < cycle->blocks; block++) {
		struct node_span span = cycle_block(cycle, block);

		if (place < cycle->memory.filtered[block])
			memcpy(to + span.word, cycle->memory.gone[place] + span.word,
			       span.words * sizeof *to);
	}
}

static void refused_of_results(const struct cycle *cycle, unsigned plugin, uint64_t *to)
{
	const struct stage_results *results = cycle->results;
	const uint64_t *candidates = cycle_candidates(cycle);

	for (uint32_t i = 0; i < cycle->words; i++)
		for (uint64_t left = candidates[i] & ~results->feasible.word[i];
		     left != 0; left &= left - 1) {
			uint32_t bit = (uint32_t)__builtin_ctzll(left);

			if (results->refuser[i * 64 + bit] == plugin)
				to[i] |= UINT64_C(1) << bit;
		}
}

void cycle_refused(struct cycle *cycle, unsigned plugin, struct pl_bitset set)
{
	unsigned place = filter_index(cycle, plugin);

	pl_bitset_clear(set);
	if (!cycle_is_ready(cycle) || place == cycle->filters || cycle->out->nominated)
		return;
	if (cycle->results != NULL && place < cycle->filters_local)
		refused_of_results(cycle, plugin, set.word);
	else if (!cycle->whole)
		refused_by_filter(cycle, place, set.word);
	for (struct judged_node *judged = cycle->judged; judged != NULL;
	     judged = judged->next)
		if (judged->refused_by == (int)place)
			pl_bitset_add(set, judged->slot);
		else
			pl_bitset_del(set, judged->slot);
}
