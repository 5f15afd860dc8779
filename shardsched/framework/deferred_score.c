/* Deferred scores need to see all feasible nodes: the scores of global plugins, and of
 * plugins that normalise by themselves. */
#include <string.h>

#include "shardsched/framework/cycle_int.h"

static void normalize_by_max(struct pl_bitset feasible, int64_t *score, bool down)
{
	int64_t most = 0;

	PL_BITSET_EACH (slot, feasible)
		most = score[slot] > most ? score[slot] : most;
	PL_BITSET_EACH (slot, feasible) {
		int64_t share = most == 0 ? 0 : score[slot] * PLUGIN_SCORE_MAX / most;

		score[slot] = down ? PLUGIN_SCORE_MAX - share : share;
	}
}

void score_normalize(struct cycle *cycle, unsigned plugin, int64_t *score)
{
	const struct plugin *row = cycle->profile->table->row[plugin];
	struct pl_bitset feasible = cycle_set(cycle, cycle->memory.feasible);

	switch (row->normal) {
	case PLUGIN_AS_IS:
		break;
	case PLUGIN_BY_MAX:
	case PLUGIN_BY_MAX_DOWN:
		normalize_by_max(feasible, score, row->normal == PLUGIN_BY_MAX_DOWN);
		break;
	case PLUGIN_BY_ITSELF:
		row->normalize(&cycle->call[plugin], feasible, score);
		break;
	}
}

bool deferred_pre_score(struct cycle *cycle)
{
	const struct profile_point *at = &cycle->profile->at[POINT_PRE_SCORE];
	struct pl_bitset feasible = cycle_feasible(cycle);

	for (unsigned i = 0; i < at->count; i++) {
		unsigned plugin = at->plugin[i];
		const struct plugin *row = cycle->profile->table->row[plugin];
		enum verdict_code code = VERDICT_SUCCESS;

		if (!row->global)
			continue;
		code = row->pre_score(&cycle->call[plugin], feasible, &cycle->pre_score);
		if (code == VERDICT_SKIP) {
			cycle->skipped[POINT_SCORE] |= UINT64_C(1) << plugin;
		} else if (code != VERDICT_SUCCESS) {
			cycle_fail(cycle, (int)plugin, &cycle->pre_score);
			return false;
		}
		if (!measure_call(cycle, plugin, POINT_PRE_SCORE))
			return false;
	}
	return true;
}

static bool deferred_add(struct cycle *cycle, unsigned plugin, const int64_t *score)
{
	struct node_span all = {0, cycle->words, cycle->memory.feasible};
	uint64_t fold = cycle->ops->fold(score, all.bits, all.words);

	if (fold > SCORE_BITS)
		return score_out_of_range(cycle, plugin);
	if (fold == 0)
		return true;
	for (uint32_t block = 0; block < cycle->blocks; block++) {
		struct node_span span = cycle_block(cycle, block);
		size_t slot = (size_t)span.word * 64;

		if (cycle->memory.left[block] != 0)
			(void)cycle->ops->sum(cycle->memory.total + slot,
			                      cycle->base + slot, score + slot, span.bits,
			                      span.words, cycle->profile->weight[plugin]);
	}
	cycle->base = cycle->memory.total;
	cycle->chosen = false;
	return true;
}

/* Raw scores that are normalised by the maximum must fit in 32 bits. */
static bool deferred_in_range(struct cycle *cycle, unsigned plugin, const int64_t *score)
{
	enum plugin_normal normal = cycle->profile->table->row[plugin]->normal;

	if (normal != PLUGIN_BY_MAX && normal != PLUGIN_BY_MAX_DOWN)
		return true;
	return cycle->ops->fold(score, cycle->memory.feasible, cycle->words) <=
	               INT32_MAX ||
	       score_out_of_range(cycle, plugin);
}

static bool deferred_score(struct cycle *cycle, unsigned plugin)
{
	int64_t *score = cycle->opts.keep_scores ? cycle->memory.scores[plugin]
	                                         : cycle->memory.wide;

	for (uint32_t block = 0; block < cycle->blocks; block++) {
		struct node_span span = cycle_block(cycle, block);

		int64_t *column = score + (size_t)span.word * 64;

		if (cycle->memory.left[block] == 0)
			continue;
		if (!score_call(cycle, plugin, span, column))
			memset(column, 0, (size_t)span.words * 64 * sizeof *column);
		if (cycle_has_failed(cycle))
			return false;
	}
	if (!deferred_in_range(cycle, plugin, score))
		return false;
	score_normalize(cycle, plugin, score);
	return measure_call(cycle, plugin, POINT_SCORE) &&
	       deferred_add(cycle, plugin, score);
}

bool deferred_any(const struct cycle *cycle)
{
	bool any = false;

	for (unsigned i = 0; i < cycle->deferred_count; i++)
		any |= (cycle->skipped[POINT_SCORE] >> cycle->deferred[i] & 1) == 0;
	return any;
}

bool deferred_score_all(struct cycle *cycle)
{
	for (unsigned i = 0; i < cycle->deferred_count; i++)
		if ((cycle->skipped[POINT_SCORE] >> cycle->deferred[i] & 1) == 0 &&
		    !deferred_score(cycle, cycle->deferred[i]))
			return false;
	return true;
}
