/* Chooses the node: the highest total, and by the draw one of the nodes that have it. */
#include "shardsched/framework/cycle_int.h"

void choose_in_block(struct cycle *cycle, struct node_span span, uint32_t block)
{
	const int32_t *base = cycle->base == NULL ? cycle->memory.total : cycle->base;
	int32_t best = 0;

	base += (size_t)span.word * 64;
	best = cycle->ops->max(base, span.bits, span.words);
	cycle->memory.best[block] = best;
	cycle->memory.ties[block] = 0;
	if (best < cycle->highest)
		return;
	cycle->highest = best;
	cycle->memory.ties[block] = cycle->ops->equal(base, span.bits, span.words, best);
}

static int32_t choose_highest(struct cycle *cycle)
{
	if (cycle->chosen)
		return cycle->highest;
	cycle->highest = 0;
	for (uint32_t block = 0; block < cycle->blocks; block++)
		if (cycle->memory.left[block] != 0)
			choose_in_block(cycle, cycle_block(cycle, block), block);
	return cycle->highest;
}

/* Counts the nodes with the highest total, in all and by block. Blocks whose own best is
 * lower were not counted exactly. */
static uint32_t choose_count(struct cycle *cycle, int32_t highest)
{
	struct cycle_memory *memory = &cycle->memory;
	uint32_t ties = 0;

	for (uint32_t block = 0; block < cycle->blocks; block++) {
		if (memory->left[block] == 0 || memory->best[block] != highest)
			memory->ties[block] = 0;
		ties += memory->ties[block];
	}
	return ties;
}

/* The slot with that index among the nodes of the span that have the highest total. */
static uint32_t choose_in_span(const struct cycle *cycle, struct node_span span,
                               int32_t highest, uint32_t index)
{
	SPAN_EACH_WORD(i, span)
	for (uint64_t left = span.bits[i]; left != 0; left &= left - 1) {
		uint32_t slot = (span.word + i) * 64 + (uint32_t)__builtin_ctzll(left);

		if (cycle->base[slot] == highest && index-- == 0)
			return slot;
	}
	PL_UNREACHABLE("there are so many");
}

/* Narrows the span to the word that has the node first: most words have none. */
static uint32_t choose_word(const struct cycle *cycle, struct node_span span,
                            int32_t highest, uint32_t index)
{
	for (; span.words > 0; span.words--, span.word++, span.bits++) {
		uint32_t count = cycle->ops->equal(cycle->base + (size_t)span.word * 64,
		                                   span.bits, 1, highest);

		if (index < count)
			break;
		index -= count;
	}
	return choose_in_span(cycle, span, highest, index);
}

static void choose_from_results(struct cycle *cycle, uint64_t draw)
{
	const struct cycle_cache *cache = cycle->opts.cache;
	struct stage_winner best = {.slot = SNAPSHOT_NONE};

	cache->best(cache->ctx, cycle->class, draw, &best);
	cycle->base = cycle->results->total;
	cycle->out->node = best.slot;
	cycle->out->total = best.total;
	cycle->out->best = best.ties;
}

void choose_node(struct cycle *cycle, uint64_t draw)
{
	int32_t highest = 0;
	uint32_t index = 0, block = 0;

	if (cycle->whole) {
		choose_from_results(cycle, draw);
		return;
	}
	highest = choose_highest(cycle);
	cycle->out->best = choose_count(cycle, highest);
	index = stage_pick(draw, cycle->out->best);
	while (index >= cycle->memory.ties[block])
		index -= cycle->memory.ties[block++];
	cycle->out->node = choose_word(cycle, cycle_block(cycle, block), highest, index);
	cycle->out->total = (int64_t)highest + cycle->bonus;
}
