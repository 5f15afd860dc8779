/* Filters, block by block, and local scores with them while the block is near. */
#include <string.h>

#include "shardsched/framework/cycle_int.h"

struct node_span cycle_block(const struct cycle *cycle, uint32_t block)
{
	uint32_t word = block * CYCLE_BLOCK_WORDS;
	uint32_t words = cycle->words - word;

	if (words > CYCLE_BLOCK_WORDS)
		words = CYCLE_BLOCK_WORDS;
	return (struct node_span){word, words, cycle->memory.feasible + word};
}

/* A row that can only tell about one node. */
static bool filter_by_why(struct cycle *cycle, unsigned plugin, struct node_span span)
{
	const struct plugin *row = cycle->profile->table->row[plugin];
	struct verdict say;

	SPAN_EACH_WORD(i, span)
	for (uint64_t left = span.bits[i]; left != 0; left &= left - 1) {
		uint32_t slot = (span.word + i) * 64 + (uint32_t)__builtin_ctzll(left);

		verdict_clear(&say);
		row->why(&cycle->call[plugin], slot, &say);
		if (say.code == VERDICT_ERROR) {
			cycle_fail(cycle, (int)plugin, &say);
			return false;
		}
		if (say.code != VERDICT_SUCCESS)
			span.bits[i] &= ~(left & (0 - left));
	}
	return true;
}

bool filter_call(struct cycle *cycle, unsigned plugin, struct node_span span)
{
	const struct plugin *row = cycle->profile->table->row[plugin];

	if (row->filter == NULL)
		return filter_by_why(cycle, plugin, span);
	row->filter(&cycle->call[plugin], span);
	return true;
}

int filter_one(struct cycle *cycle, uint32_t slot)
{
	uint64_t bits = UINT64_C(1) << slot % 64;
	struct node_span span = {slot / 64, 1, &bits};

	for (unsigned i = 0; i < cycle->filters; i++)
		if (!filter_call(cycle, cycle->filter[i], span) || bits == 0)
			return (int)i;
	return -1;
}

/* filter[from] and those behind it, while any of the count bits are left. */
static bool filter_block(struct cycle *cycle, unsigned from, uint32_t block,
                         uint32_t *count)
{
	struct node_span span = cycle_block(cycle, block);
	uint64_t before[CYCLE_BLOCK_WORDS];

	cycle->memory.filtered[block] = (uint8_t)from;
	for (unsigned i = from; i < cycle->filters && *count != 0; i++) {
		unsigned plugin = cycle->filter[i];
		uint64_t *gone = cycle->memory.gone[i] + span.word;
		uint32_t refused = 0;

		memcpy(before, span.bits, span.words * sizeof before[0]);
		if (!filter_call(cycle, plugin, span))
			return false;
		refused = cycle->ops->drop(gone, before, span.bits, span.words);
		cycle->memory.filtered[block] = (uint8_t)(i + 1);
		cycle->out->refused[plugin] += refused;
		*count -= refused;
		if (!measured(cycle, plugin, POINT_FILTER))
			return false;
	}
	return true;
}

/* Those of the block that were judged on their own join what is left; next is the
 * first that may be in it. */
static struct held_node *held_join(struct cycle *cycle, uint32_t block,
                                   struct held_node *next, uint32_t *count)
{
	struct node_span span = cycle_block(cycle, block);

	for (; next != NULL && next->slot / 64 < span.word + span.words;
	     next = next->next)
		if (next->refused_by < 0) {
			span.bits[next->slot / 64 - span.word] |= UINT64_C(1)
			                                          << next->slot % 64;
			++*count;
		}
	return next;
}

static uint32_t block_begin(struct cycle *cycle, uint32_t block, const uint64_t *from)
{
	struct node_span span = cycle_block(cycle, block);
	const uint64_t *held =
		cycle->held == NULL ? NULL : cycle->memory.held + span.word;

	from += span.word;
	SPAN_EACH_WORD(i, span)
	span.bits[i] = held == NULL ? from[i] : from[i] & ~held[i];
	return cycle->ops->count(span.bits, span.words);
}

bool filter_all(struct cycle *cycle)
{
	const uint64_t *candidates = cycle_candidates(cycle);
	struct held_node *held = cycle->held;

	/* Who could not keep the class after all may have asked for scores. */
	memset(cycle->max, 0, sizeof cycle->max);
	cycle->highest = 0;
	for (uint32_t block = 0; block < cycle->blocks; block++) {
		uint32_t count = block_begin(cycle, block, candidates);

		if (!filter_block(cycle, 0, block, &count))
			return false;
		held = held_join(cycle, block, held, &count);
		cycle->memory.left[block] = count;
		cycle->out->feasible += count;
		if (count != 0 && !score_block(cycle, block))
			return false;
		if (!measure_within(cycle))
			return false;
	}
	return measure_stage(cycle);
}

void filter_only(struct cycle *cycle, uint32_t slot)
{
	struct cycle_memory *memory = &cycle->memory;

	memset(memory->feasible, 0, cycle->words * sizeof *memory->feasible);
	memset(memory->left, 0, cycle->blocks * sizeof *memory->left);
	memset(memory->filtered, 0, cycle->blocks);
	pl_bitset_add(cycle_set(cycle, memory->feasible), slot);
	memory->left[slot / CYCLE_BLOCK] = 1;
	cycle->out->feasible = 1;
	cycle->out->nominated = true;
}

/* -- with what is kept ------------------------------------------------------------- */

/* Who refused the candidates that are not among what is kept. */
static void kept_count_narrowed(struct cycle *cycle)
{
	const uint64_t *candidates = cycle_candidates(cycle);
	const struct stage_kept *kept = cycle->kept;

	for (uint32_t i = 0; i < cycle->words; i++) {
		uint64_t left = candidates[i] & ~kept->feasible.word[i];

		if (cycle->held != NULL)
			left &= ~cycle->memory.held[i];
		for (; left != 0; left &= left - 1)
			cycle->out->refused[kept->refuser[i * 64 +
			                                  (uint32_t)__builtin_ctzll(
								  left)]]++;
	}
}

static void kept_count(struct cycle *cycle)
{
	const struct stage_kept *kept = cycle->kept;

	if (cycle->out->narrowed) {
		kept_count_narrowed(cycle);
		return;
	}
	for (unsigned i = 0; i < cycle->filters_local; i++)
		cycle->out->refused[cycle->filter[i]] += kept->refused[cycle->filter[i]];
	/* Those judged on their own have been counted by themselves. */
	for (struct held_node *held = cycle->held; held != NULL; held = held->next)
		if (!pl_bitset_has(kept->feasible, held->slot))
			cycle->out->refused[kept->refuser[held->slot]]--;
}

static bool kept_block(struct cycle *cycle, uint32_t block, struct held_node **held)
{
	struct node_span span = cycle_block(cycle, block);
	uint32_t count = block_begin(cycle, block, cycle->kept->feasible.word);

	if (cycle->out->narrowed) {
		const uint64_t *examined = cycle->memory.examined + span.word;

		SPAN_EACH_WORD(i, span)
		span.bits[i] &= examined[i];
		count = cycle->ops->count(span.bits, span.words);
	}
	if (!filter_block(cycle, cycle->filters_local, block, &count))
		return false;
	*held = held_join(cycle, block, *held, &count);
	cycle->memory.left[block] = count;
	cycle->out->feasible += count;
	return true;
}

bool filter_kept_each(struct cycle *cycle)
{
	struct held_node *held = cycle->held;

	for (uint32_t block = 0; block < cycle->blocks; block++)
		if (!kept_block(cycle, block, &held) || !measure_within(cycle))
			return false;
	return measure_stage(cycle);
}

bool filter_kept(struct cycle *cycle)
{
	kept_count(cycle);
	cycle->whole = !cycle->out->narrowed && cycle->held == NULL &&
	               cycle->filters == cycle->filters_local;
	if (!cycle->whole)
		return filter_kept_each(cycle);
	cycle->out->feasible = cycle->kept->count;
	return true;
}
