/* Scores: of local plugins with the filters, of the others when it is known who is left.
 */
#include <string.h>

#include "shardsched/framework/cycle_int.h"

/* -- local, a block at a time ------------------------------------------------------- */

/* Where a plugin writes: for good, or until it was added up. */
static int64_t *score_room(struct cycle *cycle, unsigned plugin, uint32_t word)
{
	int64_t *kept = cycle->opts.keep_scores ? cycle->memory.scores[plugin] : NULL;

	return kept == NULL ? cycle->block : kept + (size_t)word * 64;
}

bool score_call(struct cycle *cycle, unsigned plugin, struct node_span span,
                int64_t *room)
{
	bool any = cycle->profile->table->row[plugin]->score(&cycle->call[plugin], span,
	                                                     room);

	return measured(cycle, plugin, POINT_SCORE) && any;
}

bool score_is_none(struct cycle *cycle, unsigned plugin)
{
	struct verdict say;

	verdict_clear(&say);
	verdict_add(&say, VERDICT_ERROR, &(struct reason){.code = REASON_SCORE_RANGE});
	cycle_fail(cycle, (int)plugin, &say);
	return false;
}

/* As score_call, where a node may be asked about it later. */
static bool score_local(struct cycle *cycle, unsigned plugin, struct node_span span,
                        int64_t *room)
{
	if (score_call(cycle, plugin, span, room))
		return true;
	if (cycle->opts.keep_scores)
		memset(room, 0, (size_t)span.words * 64 * sizeof *room);
	return false;
}

static bool score_as_is(struct cycle *cycle, struct node_span span, int32_t *total)
{
	const int32_t *from = NULL;

	PL_ASSERT(total != NULL);
	for (unsigned i = 0; i < cycle->as_is_count; i++) {
		unsigned plugin = cycle->as_is[i];
		int64_t *room = score_room(cycle, plugin, span.word);

		if (!score_local(cycle, plugin, span, room)) {
			if (cycle->failed)
				return false;
			continue;
		}
		if (cycle->ops->sum(total, from, room, span.bits, span.words,
		                    cycle->profile->weight[plugin]) > SCORE_BITS)
			return score_is_none(cycle, plugin);
		from = total;
	}
	if (from == NULL)
		memset(total, 0, (size_t)span.words * 64 * sizeof *total);
	return true;
}

/* to: where its words are. Most often there is nothing to tell nodes apart by: any is
 * false, and nothing was written. */
static bool score_maxed(struct cycle *cycle, struct node_span span, uint32_t i,
                        int32_t *to, bool *any)
{
	unsigned plugin = cycle->local.maxed[i].plugin;
	int64_t *room = score_room(cycle, plugin, span.word);
	int32_t most = 0;
	uint64_t fold = 0;

	*any = false;
	if (!score_local(cycle, plugin, span, room))
		return !cycle->failed;
	fold = cycle->ops->fold(room, span.bits, span.words);
	if (fold > INT32_MAX)
		return score_is_none(cycle, plugin);
	*any = fold != 0;
	if (fold == 0)
		return true;
	most = cycle->ops->narrow(to, room, span.bits, span.words);
	if (most > cycle->max[i])
		cycle->max[i] = most;
	return true;
}

bool score_span(struct cycle *cycle, struct node_span span, const struct stage_out *out)
{
	if (!score_as_is(cycle, span, out->total))
		return false;
	for (uint32_t i = 0; i < cycle->local.maxed_count; i++) {
		int32_t *to = out->maxed[i];
		bool any = false;

		if (!score_maxed(cycle, span, i, to, &any))
			return false;
		if (!any)
			memset(to, 0, (size_t)span.words * 64 * sizeof *to);
	}
	return true;
}

bool score_block(struct cycle *cycle, uint32_t block)
{
	struct node_span span = cycle_block(cycle, block);
	int32_t *total = NULL;

	/* Few may be left of many. */
	for (; span.bits[0] == 0; span.bits++, span.word++)
		span.words--;
	while (span.bits[span.words - 1] == 0)
		span.words--;
	total = cycle->memory.total + (size_t)span.word * 64;
	if (!score_as_is(cycle, span, total))
		return false;
	cycle->memory.raised[block] = 0;
	for (uint32_t i = 0; i < cycle->local.maxed_count; i++) {
		int32_t *to = cycle->memory.maxed[i] + (size_t)span.word * 64;
		bool any = false;

		if (!score_maxed(cycle, span, i, to, &any))
			return false;
		if (any)
			cycle->memory.raised[block] |= (uint8_t)(1U << i);
	}
	/* It may come to nothing, but now they are near. */
	choose_block(cycle, span, block);
	return true;
}

/* -- by the highest ------------------------------------------------------------------ */

/* Adds to the totals what raw scores are worth under that maximum. */
static void scale_add(struct cycle *cycle, const struct stage_maxed *maxed,
                      const int32_t *raw, int32_t max, int sign)
{
	struct column_scale scale;

	if (max == 0) {
		cycle->bonus += sign * stage_weigh(maxed, 0, 0);
		return;
	}
	scale = column_scale(max, sign * maxed->weight, maxed->down);
	for (uint32_t block = 0; block < cycle->blocks; block++) {
		struct node_span span = cycle_block(cycle, block);
		size_t slot = (size_t)span.word * 64;

		if (cycle->memory.left[block] != 0)
			cycle->ops->scale(cycle->memory.total + slot, raw + slot,
			                  span.words, &scale);
	}
}

/* Where all were 0, none was written. */
static void scale_fill(struct cycle *cycle, uint32_t i)
{
	for (uint32_t block = 0; block < cycle->blocks; block++) {
		struct node_span span = cycle_block(cycle, block);
		int32_t *raw = cycle->memory.maxed[i] + (size_t)span.word * 64;

		if (cycle->memory.left[block] != 0 &&
		    (cycle->memory.raised[block] >> i & 1) == 0)
			memset(raw, 0, (size_t)span.words * 64 * sizeof *raw);
	}
}

static void scale_all(struct cycle *cycle)
{
	for (uint32_t i = 0; i < cycle->local.maxed_count; i++) {
		if (cycle->max[i] != 0) {
			scale_fill(cycle, i);
			cycle->chosen = false;
		}
		scale_add(cycle, &cycle->local.maxed[i], cycle->memory.maxed[i],
		          cycle->max[i], 1);
	}
	cycle->base = cycle->memory.total;
}

static int32_t max_all(struct cycle *cycle, const int32_t *raw)
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

/* What is kept holds as it is, unless the highest one is not among those left. */
static void scale_kept(struct cycle *cycle)
{
	const struct stage_kept *kept = cycle->kept;

	cycle->base = kept->total;
	cycle->chosen = false;
	if (cycle->out->feasible == kept->count)
		return;
	for (uint32_t i = 0; i < cycle->local.maxed_count; i++) {
		const struct stage_maxed *maxed = &cycle->local.maxed[i];
		int32_t max = max_all(cycle, kept->maxed[i]);

		if (max == kept->max[i])
			continue;
		if (cycle->base == kept->total)
			memcpy(cycle->memory.total, kept->total,
			       (size_t)cycle->words * 64 * sizeof *kept->total);
		cycle->base = cycle->memory.total;
		scale_add(cycle, maxed, kept->maxed[i], kept->max[i], -1);
		scale_add(cycle, maxed, kept->maxed[i], max, 1);
	}
}

/* -- all of it ---------------------------------------------------------------------- */

/* Raw ones that were kept become what the totals have of them. */
static void keep_normal(struct cycle *cycle)
{
	for (uint32_t i = 0; i < cycle->local.maxed_count; i++)
		score_normalize(cycle, cycle->local.maxed[i].plugin,
		                cycle->memory.scores[cycle->local.maxed[i].plugin]);
}

/* false: nothing is late, or has anything to say, and what is kept is the answer. */
static bool kept_is_part(struct cycle *cycle)
{
	if (!late_any(cycle))
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
	if (cycle->late_count != 0 && !late_pre_score(cycle))
		return false;
	if (cycle->whole) {
		if (!kept_is_part(cycle))
			return measure_stage(cycle);
		if (!filter_kept_each(cycle))
			return false;
	}
	if (cycle->kept != NULL)
		scale_kept(cycle);
	else
		scale_all(cycle);
	if (cycle->opts.keep_scores)
		keep_normal(cycle);
	return late_all(cycle) && measure_stage(cycle);
}
