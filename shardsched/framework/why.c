/* Who refused, and why: asked afterwards, of the plugins' states as the run left them. */
#include "shardsched/framework/cycle_int.h"

/* The place of a plugin in filter[]; filters: it did not filter. */
static unsigned place_of(const struct cycle *cycle, unsigned plugin)
{
	unsigned i = 0;

	while (i < cycle->filters && cycle->filter[i] != plugin)
		i++;
	return i;
}

static void ask(struct cycle *cycle, unsigned plugin, uint32_t slot, struct verdict *say)
{
	verdict_clear(say);
	cycle->profile->table->row[plugin]->why(&cycle->call[plugin], slot, say);
	if (say->code != VERDICT_SUCCESS)
		say->plugin = (int)plugin;
}

void cycle_why_plugin(struct cycle *cycle, unsigned plugin, uint32_t slot,
                      struct verdict *say)
{
	verdict_clear(say);
	if (cycle->ready && place_of(cycle, plugin) < cycle->filters)
		ask(cycle, plugin, slot, say);
}

static void ask_all(struct cycle *cycle, uint32_t slot, struct verdict *say)
{
	verdict_clear(say);
	for (unsigned i = 0; i < cycle->filters && say->code == VERDICT_SUCCESS; i++)
		ask(cycle, cycle->filter[i], slot, say);
}

/* With those who wait for room there. */
static void ask_nominated(struct cycle *cycle, uint32_t slot, struct verdict *say)
{
	bool probing = snapshot_probing(cycle->snapshot);

	if (!probing)
		snapshot_probe(cycle->snapshot);
	if (nominated_add(cycle, slot))
		ask_all(cycle, slot, say);
	nominated_take(cycle);
	if (!probing)
		snapshot_probe_end(cycle->snapshot);
}

void cycle_why(struct cycle *cycle, uint32_t slot, struct verdict *say)
{
	if (!cycle->ready) {
		*say = cycle->result.pre;
		return;
	}
	verdict_clear(say);
	if (nominated_counts(cycle, slot))
		ask_nominated(cycle, slot, say);
	if (say->code == VERDICT_SUCCESS)
		ask_all(cycle, slot, say);
}

/* -- all that one refused -------------------------------------------------------------
 */

static void refused_by_filter(const struct cycle *cycle, unsigned place, uint64_t *to)
{
	for (uint32_t block = 0; block < cycle->blocks; block++) {
		struct node_span span = cycle_block(cycle, block);

		if (place < cycle->memory.filtered[block])
			memcpy(to + span.word, cycle->memory.gone[place] + span.word,
			       span.words * sizeof *to);
	}
}

static void refused_of_kept(const struct cycle *cycle, unsigned plugin, uint64_t *to)
{
	const struct stage_kept *kept = cycle->kept;
	const uint64_t *candidates = cycle_candidates(cycle);

	for (uint32_t i = 0; i < cycle->words; i++)
		for (uint64_t left = candidates[i] & ~kept->feasible.word[i]; left != 0;
		     left &= left - 1) {
			uint32_t bit = (uint32_t)__builtin_ctzll(left);

			if (kept->refuser[i * 64 + bit] == plugin)
				to[i] |= UINT64_C(1) << bit;
		}
}

void cycle_refused(struct cycle *cycle, unsigned plugin, struct pl_bitset set)
{
	unsigned place = place_of(cycle, plugin);

	pl_bitset_clear(set);
	if (!cycle->ready || place == cycle->filters || cycle->out->nominated)
		return;
	if (cycle->kept != NULL && place < cycle->filters_local)
		refused_of_kept(cycle, plugin, set.word);
	else if (!cycle->whole)
		refused_by_filter(cycle, place, set.word);
	for (struct held_node *held = cycle->held; held != NULL; held = held->next)
		if (held->refused_by == (int)place)
			pl_bitset_add(set, held->slot);
		else
			pl_bitset_del(set, held->slot);
}
