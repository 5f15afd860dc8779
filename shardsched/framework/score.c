/* Scores: local ones run right after the filters of a block, the others when all feasible
 * nodes are known. */
#include <string.h>

#include "shardsched/framework/cycle_int.h"

/* -- local scores, a block at a time ----------------------------------------------------- */

/* Where a plugin writes its scores: to the column that is kept, or to one that is added
 * up at once. */
static int64_t *score_column(struct cycle *cycle, unsigned plugin, uint32_t word)
{
	int64_t *results = cycle->opts.keep_scores ? cycle->memory.scores[plugin] : NULL;

	return results == NULL ? cycle->block : results + (size_t)word * 64;
}

bool score_call(struct cycle *cycle, unsigned plugin, struct node_span span,
                int64_t *column)
{
	bool any = cycle->profile->table->row[plugin]->score(&cycle->call[plugin], span,
	                                                     column);

	return measure_call(cycle, plugin, POINT_SCORE) && any;
}

bool score_out_of_range(struct cycle *cycle, unsigned plugin)
{
	struct verdict verdict;

	verdict_clear(&verdict);
	verdict_add(&verdict, VERDICT_ERROR,
	            &(struct reason){.code = REASON_SCORE_RANGE});
	cycle_fail(cycle, (int)plugin, &verdict);
	return false;
}

/* As score_call; a column that is kept is zeroed when the plugin wrote nothing. */
static bool score_local(struct cycle *cycle, unsigned plugin, struct node_span span,
                        int64_t *column)
{
	if (score_call(cycle, plugin, span, column))
		return true;
	if (cycle->opts.keep_scores)
		memset(column, 0, (size_t)span.words * 64 * sizeof *column);
	return false;
}

static bool score_as_is(struct cycle *cycle, struct node_span span, int32_t *total)
{
	const int32_t *from = NULL;

	PL_ASSERT(total != NULL);
	for (unsigned i = 0; i < cycle->as_is_count; i++) {
		unsigned plugin = cycle->as_is[i];
		int64_t *column = score_column(cycle, plugin, span.word);

		if (!score_local(cycle, plugin, span, column)) {
			if (cycle_has_failed(cycle))
				return false;
			continue;
		}
		if (cycle->ops->sum(total, from, column, span.bits, span.words,
		                    cycle->profile->weight[plugin]) > SCORE_BITS)
			return score_out_of_range(cycle, plugin);
		from = total;
	}
	if (from == NULL)
		memset(total, 0, (size_t)span.words * 64 * sizeof *total);
	return true;
}

/* Writes the raw scores of by_max[i] to to. Often they are all 0: any is false then, and
 * nothing was written. */
static bool score_by_max(struct cycle *cycle, struct node_span span, uint32_t i,
                         int32_t *to, bool *any)
{
	unsigned plugin = cycle->local.by_max[i].plugin;
	int64_t *column = score_column(cycle, plugin, span.word);
	int32_t most = 0;
	uint64_t fold = 0;

	*any = false;
	if (!score_local(cycle, plugin, span, column))
		return !cycle_has_failed(cycle);
	fold = cycle->ops->fold(column, span.bits, span.words);
	if (fold > INT32_MAX)
		return score_out_of_range(cycle, plugin);
	*any = fold != 0;
	if (fold == 0)
		return true;
	most = cycle->ops->narrow(to, column, span.bits, span.words);
	if (most > cycle->max[i])
		cycle->max[i] = most;
	return true;
}

bool score_local_span(struct cycle *cycle, struct node_span span,
                      const struct stage_out *out)
{
	if (!score_as_is(cycle, span, out->total))
		return false;
	for (uint32_t i = 0; i < cycle->local.by_max_count; i++) {
		int32_t *to = out->by_max[i];
		bool any = false;

		if (!score_by_max(cycle, span, i, to, &any))
			return false;
		if (!any)
			memset(to, 0, (size_t)span.words * 64 * sizeof *to);
	}
	return true;
}

bool score_local_block(struct cycle *cycle, uint32_t block)
{
	struct node_span span = cycle_block(cycle, block);
	int32_t *total = NULL;

	/* Few nodes of the block may be left. */
	for (; span.bits[0] == 0; span.bits++, span.word++)
		span.words--;
	while (span.bits[span.words - 1] == 0)
		span.words--;
	total = cycle->memory.total + (size_t)span.word * 64;
	if (!score_as_is(cycle, span, total))
		return false;
	cycle->memory.raised[block] = 0;
	for (uint32_t i = 0; i < cycle->local.by_max_count; i++) {
		int32_t *to = cycle->memory.by_max[i] + (size_t)span.word * 64;
		bool any = false;

		if (!score_by_max(cycle, span, i, to, &any))
			return false;
		if (any)
			cycle->memory.raised[block] |= (uint8_t)(1U << i);
	}
	/* The block is in the processor's cache now; the result is used unless other
	 * scores follow. */
	choose_in_block(cycle, span, block);
	return true;
}

/* -- scores normalised by the maximum ---------------------------------------------------- */

/* Adds to the totals what the raw scores are worth under that maximum. */
static void scale_add(struct cycle *cycle, const struct stage_by_max *by_max,
                      const int32_t *raw, int32_t max, int sign)
{
	struct column_scale scale;

	if (max == 0) {
		cycle->bonus += sign * stage_weigh(by_max, 0, 0);
		return;
	}
	scale = column_scale(max, sign * by_max->weight, by_max->down);
	for (uint32_t block = 0; block < cycle->blocks; block++) {
		struct node_span span = cycle_block(cycle, block);
		size_t slot = (size_t)span.word * 64;

		if (cycle->memory.left[block] != 0)
			cycle->ops->scale(cycle->memory.total + slot, raw + slot,
			                  span.words, &scale);
	}
}

/* Zeroes the blocks in which all raw scores were 0, since nothing was written there. */
static void scale_fill(struct cycle *cycle, uint32_t i)
{
	for (uint32_t block = 0; block < cycle->blocks; block++) {
		struct node_span span = cycle_block(cycle, block);
		int32_t *raw = cycle->memory.by_max[i] + (size_t)span.word * 64;

		if (cycle->memory.left[block] != 0 &&
		    (cycle->memory.raised[block] >> i & 1) == 0)
			memset(raw, 0, (size_t)span.words * 64 * sizeof *raw);
	}
}

static void scale_all(struct cycle *cycle)
{
	for (uint32_t i = 0; i < cycle->local.by_max_count; i++) {
		if (cycle->max[i] != 0) {
			scale_fill(cycle, i);
			cycle->chosen = false;
		}
		scale_add(cycle, &cycle->local.by_max[i], cycle->memory.by_max[i],
		          cycle->max[i], 1);
	}
	cycle->base = cycle->memory.total;
}

static int32_t max_of_feasible(struct cycle *cycle, const int32_t *raw)
{
	int32_t most = 0;

	for (uint32_t block = 0; raw != NULL && block < cycle->blocks; block++) {
		struct node_span span = cycle_block(cycle, block);
		int32_t of_block = 0;

		if (cycle->memory.left[block] == 0)
			continue;
		of_block = cycle->ops->max(raw + (size_t)span.word * 64, span.bits,
		                           span.words);
		most = of_block > most ? of_block : most;
	}
	return most;
}

/* The cached totals stay valid, unless the node with the highest raw score is not among
 * the feasible ones. */
static void scale_results(struct cycle *cycle)
{
	const struct stage_results *results = cycle->results;

	cycle->base = results->total;
	cycle->chosen = false;
	if (cycle->out->feasible == results->count)
		return;
	for (uint32_t i = 0; i < cycle->local.by_max_count; i++) {
		const struct stage_by_max *by_max = &cycle->local.by_max[i];
		int32_t max = max_of_feasible(cycle, results->by_max[i]);

		if (max == results->max[i])
			continue;
		if (cycle->base == results->total)
			memcpy(cycle->memory.total, results->total,
			       (size_t)cycle->words * 64 * sizeof *results->total);
		cycle->base = cycle->memory.total;
		scale_add(cycle, by_max, results->by_max[i], results->max[i], -1);
		scale_add(cycle, by_max, results->by_max[i], max, 1);
	}
}

/* -- all scores -------------------------------------------------------------------------- */

/* Turns kept raw scores into what the totals have of them. */
static void normalize_kept(struct cycle *cycle)
{
	for (uint32_t i = 0; i < cycle->local.by_max_count; i++)
		score_normalize(cycle, cycle->local.by_max[i].plugin,
		                cycle->memory.scores[cycle->local.by_max[i].plugin]);
}

/* false: no deferred score has anything to add, so the cached results are the answer. */
static bool needs_deferred(struct cycle *cycle)
{
	if (!deferred_any(cycle))
		return false;
	cycle->whole = false;
	cycle->out->feasible = 0;
	return true;
}

bool score_all(struct cycle *cycle)
{
	if (cycle->pre_score.code == VERDICT_ERROR) {
		cycle_fail(cycle, cycle->pre_score.plugin, &cycle->pre_score);
		return false;
	}
	if (cycle->deferred_count != 0 && !deferred_pre_score(cycle))
		return false;
	if (cycle->whole) {
		if (!needs_deferred(cycle))
			return measure_stage(cycle);
		if (!filter_results_each(cycle))
			return false;
	}
	if (cycle->results != NULL)
		scale_results(cycle);
	else
		scale_all(cycle);
	if (cycle->opts.keep_scores)
		normalize_kept(cycle);
	return deferred_score_all(cycle) && measure_stage(cycle);
}
