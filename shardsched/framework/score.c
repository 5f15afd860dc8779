/* Scores: of local plugins with the filters, of the others when it is known who is left.
 */
#include <string.h>

#include "shardsched/framework/cycle_int.h"

/* Room for PLUGIN_SCORE_MAX; totals stay in bounds with whatever else they hold. */
enum { SCORE_BITS = 127 };

/* -- local, a block at a time ------------------------------------------------------- */

/* Where a plugin writes: for good, or until it was added up. */
static int64_t *score_room(struct cycle *cycle, unsigned plugin, uint32_t word)
{
	int64_t *kept = cycle->opts.keep_scores ? cycle->memory.scores[plugin] : NULL;

	return kept == NULL ? cycle->block : kept + (size_t)word * 64;
}

static bool score_call(struct cycle *cycle, unsigned plugin, struct node_span span,
                       int64_t *room)
{
	cycle->profile->table->row[plugin]->score(&cycle->call[plugin], span, room);
	return measured(cycle, plugin, POINT_SCORE);
}

/* Added up, it would spoil the totals. */
static bool score_is_none(struct cycle *cycle, unsigned plugin)
{
	struct verdict say;

	verdict_clear(&say);
	verdict_add(&say, VERDICT_ERROR, &(struct reason){.code = REASON_SCORE_RANGE});
	cycle_fail(cycle, (int)plugin, &say);
	return false;
}

/* As column_ops.fold. false: some of the scores need more bits than scores have. */
static bool score_fold(struct cycle *cycle, unsigned plugin, struct node_span span,
                       const int64_t *room, uint64_t *fold)
{
	enum plugin_normal normal = cycle->profile->table->row[plugin]->normal;

	*fold = cycle->ops->fold(room, span.bits, span.words);
	return *fold <= (normal == PLUGIN_AS_IS ? SCORE_BITS : INT32_MAX) ||
	       score_is_none(cycle, plugin);
}

static bool score_as_is(struct cycle *cycle, struct node_span span, int32_t *total)
{
	const int32_t *from = NULL;

	PL_ASSERT(total != NULL);
	for (unsigned i = 0; i < cycle->as_is_count; i++) {
		unsigned plugin = cycle->as_is[i];
		int64_t *room = score_room(cycle, plugin, span.word);
		uint64_t fold = 0;

		if (!score_call(cycle, plugin, span, room) ||
		    !score_fold(cycle, plugin, span, room, &fold))
			return false;
		if (fold == 0)
			continue;
		cycle->ops->add(total, from, room, span.words,
		                cycle->profile->weight[plugin]);
		from = total;
	}
	if (from == NULL)
		memset(total, 0, (size_t)span.words * 64 * sizeof *total);
	return true;
}

/* to: where its words are. Most often there is nothing to tell nodes apart by: fold is 0,
 * and nothing was written. */
static bool score_maxed(struct cycle *cycle, struct node_span span, uint32_t i,
                        int32_t *to, uint64_t *fold)
{
	unsigned plugin = cycle->local.maxed[i].plugin;
	int64_t *room = score_room(cycle, plugin, span.word);
	int32_t most = 0;

	if (!score_call(cycle, plugin, span, room) ||
	    !score_fold(cycle, plugin, span, room, fold))
		return false;
	if (*fold == 0)
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
		uint64_t fold = 0;

		if (!score_maxed(cycle, span, i, to, &fold))
			return false;
		if (fold == 0)
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
		uint64_t fold = 0;

		if (!score_maxed(cycle, span, i, to, &fold))
			return false;
		if (fold != 0)
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

/* -- late -----------------------------------------------------------------------------
 */

static void normal_by_max(struct pl_bitset feasible, int64_t *score, bool down)
{
	int64_t most = 0;

	PL_BITSET_EACH (slot, feasible)
		most = score[slot] > most ? score[slot] : most;
	PL_BITSET_EACH (slot, feasible) {
		int64_t share = most == 0 ? 0 : score[slot] * PLUGIN_SCORE_MAX / most;

		score[slot] = down ? PLUGIN_SCORE_MAX - share : share;
	}
}

static void normalize(struct cycle *cycle, unsigned plugin, int64_t *score)
{
	const struct plugin *row = cycle->profile->table->row[plugin];
	struct pl_bitset feasible = cycle_set(cycle, cycle->memory.feasible);

	switch (row->normal) {
	case PLUGIN_AS_IS:
		break;
	case PLUGIN_BY_MAX:
	case PLUGIN_BY_MAX_DOWN:
		normal_by_max(feasible, score, row->normal == PLUGIN_BY_MAX_DOWN);
		break;
	case PLUGIN_BY_ITSELF:
		row->normalize(&cycle->call[plugin], feasible, score);
		break;
	}
}

static bool pre_score_global(struct cycle *cycle)
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
		if (!measured(cycle, plugin, POINT_PRE_SCORE))
			return false;
	}
	return true;
}

static bool late_add(struct cycle *cycle, unsigned plugin, const int64_t *score)
{
	struct node_span all = {0, cycle->words, cycle->memory.feasible};
	uint64_t fold = cycle->ops->fold(score, all.bits, all.words);

	if (fold > SCORE_BITS)
		return score_is_none(cycle, plugin);
	if (fold == 0)
		return true;
	for (uint32_t block = 0; block < cycle->blocks; block++) {
		struct node_span span = cycle_block(cycle, block);
		size_t slot = (size_t)span.word * 64;

		if (cycle->memory.left[block] != 0)
			cycle->ops->add(cycle->memory.total + slot, cycle->base + slot,
			                score + slot, span.words,
			                cycle->profile->weight[plugin]);
	}
	cycle->base = cycle->memory.total;
	cycle->chosen = false;
	return true;
}

static bool late_score(struct cycle *cycle, unsigned plugin)
{
	int64_t *score = cycle->opts.keep_scores ? cycle->memory.scores[plugin]
	                                         : cycle->memory.wide;

	for (uint32_t block = 0; block < cycle->blocks; block++) {
		struct node_span span = cycle_block(cycle, block);

		if (cycle->memory.left[block] != 0 &&
		    !score_call(cycle, plugin, span, score + (size_t)span.word * 64))
			return false;
	}
	normalize(cycle, plugin, score);
	return measured(cycle, plugin, POINT_SCORE) && late_add(cycle, plugin, score);
}

/* Raw ones that were kept become what the totals have of them. */
static void keep_normal(struct cycle *cycle)
{
	for (uint32_t i = 0; i < cycle->local.maxed_count; i++)
		normalize(cycle, cycle->local.maxed[i].plugin,
		          cycle->memory.scores[cycle->local.maxed[i].plugin]);
}

static bool late_any(const struct cycle *cycle)
{
	bool any = false;

	for (unsigned i = 0; i < cycle->late_count; i++)
		any |= (cycle->skipped[POINT_SCORE] >> cycle->late[i] & 1) == 0;
	return any;
}

static bool late_all(struct cycle *cycle)
{
	for (unsigned i = 0; i < cycle->late_count; i++)
		if ((cycle->skipped[POINT_SCORE] >> cycle->late[i] & 1) == 0 &&
		    !late_score(cycle, cycle->late[i]))
			return false;
	return true;
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
	if (cycle->late_count != 0 && !pre_score_global(cycle))
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
