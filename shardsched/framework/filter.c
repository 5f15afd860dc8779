/* Filters, block by block, followed by the local scores while the block is in the
 * processor's cache. */
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

/* For plugins that have no filter: calls why for each node. */
static bool filter_by_why(struct cycle *cycle, unsigned plugin, struct node_span span)
{
	const struct plugin *row = cycle->profile->table->row[plugin];
	struct verdict verdict;

	SPAN_EACH_WORD(i, span)
	for (uint64_t left = span.bits[i]; left != 0; left &= left - 1) {
		uint32_t slot = (span.word + i) * 64 + (uint32_t)__builtin_ctzll(left);

		verdict_clear(&verdict);
		row->why(&cycle->call[plugin], slot, &verdict);
		if (verdict.code == VERDICT_ERROR) {
			cycle_fail(cycle, (int)plugin, &verdict);
			return false;
		}
		if (verdict.code != VERDICT_SUCCESS)
			span.bits[i] &= ~(left & (0 - left));
	}
	return true;
}

bool filter_ask(struct cycle *cycle, unsigned plugin, struct node_span span)
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
		if (!filter_ask(cycle, cycle->filter[i], span) || bits == 0)
			return (int)i;
	return -1;
}

/* Runs filter[from] and the ones behind it while any of the count bits are left. */
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
		if (!filter_ask(cycle, plugin, span))
			return false;
		refused = cycle->ops->drop(gone, before, span.bits, span.words);
		cycle->memory.filtered[block] = (uint8_t)(i + 1);
		cycle->out->refused[plugin] += refused;
		*count -= refused;
		if (!measure_call(cycle, plugin, POINT_FILTER))
			return false;
	}
	return true;
}

/* Adds the feasible nodes of the block that were judged on their own. Returns the first
 * judged node behind the block. */
static struct judged_node *judged_join(struct cycle *cycle, uint32_t block,
                                       struct judged_node *next, uint32_t *count)
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

static uint32_t block_candidates(struct cycle *cycle, uint32_t block,
                                 const uint64_t *from)
{
	struct node_span span = cycle_block(cycle, block);
	const uint64_t *judged =
		cycle->judged == NULL ? NULL : cycle->memory.judged + span.word;

	from += span.word;
	SPAN_EACH_WORD(i, span)
	span.bits[i] = judged == NULL ? from[i] : from[i] & ~judged[i];
	return cycle->ops->count(span.bits, span.words);
}

bool filter_all(struct cycle *cycle)
{
	const uint64_t *candidates = cycle_candidates(cycle);
	struct judged_node *judged = cycle->judged;

	/* An attempt to make cached results that failed may have left maxima. */
	memset(cycle->max, 0, sizeof cycle->max);
	cycle->highest = 0;
	for (uint32_t block = 0; block < cycle->blocks; block++) {
		uint32_t count = block_candidates(cycle, block, candidates);

		if (!filter_block(cycle, 0, block, &count))
			return false;
		judged = judged_join(cycle, block, judged, &count);
		cycle->memory.left[block] = count;
		cycle->out->feasible += count;
		if (count != 0 && !score_local_block(cycle, block))
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

/* -- with cached results ----------------------------------------------------------------- */

/* Counts the refusals of candidates that the cached results do not have as feasible. */
static void results_count_narrowed(struct cycle *cycle)
{
	const uint64_t *candidates = cycle_candidates(cycle);
	const struct stage_results *results = cycle->results;

	for (uint32_t i = 0; i < cycle->words; i++) {
		uint64_t left = candidates[i] & ~results->feasible.word[i];

		if (cycle->judged != NULL)
			left &= ~cycle->memory.judged[i];
		for (; left != 0; left &= left - 1)
			cycle->out->refused[results->refuser[i * 64 +
			                                     (uint32_t)__builtin_ctzll(
								     left)]]++;
	}
}

static void results_count(struct cycle *cycle)
{
	const struct stage_results *results = cycle->results;

	if (cycle->out->narrowed) {
		results_count_narrowed(cycle);
		return;
	}
	for (unsigned i = 0; i < cycle->filters_local; i++)
		cycle->out->refused[cycle->filter[i]] +=
			results->refused[cycle->filter[i]];
	/* Nodes judged on their own have been counted already. */
	for (struct judged_node *judged = cycle->judged; judged != NULL;
	     judged = judged->next)
		if (!pl_bitset_has(results->feasible, judged->slot))
			cycle->out->refused[results->refuser[judged->slot]]--;
}

static bool results_block(struct cycle *cycle, uint32_t block,
                          struct judged_node **judged)
{
	struct node_span span = cycle_block(cycle, block);
	uint32_t count = block_candidates(cycle, block, cycle->results->feasible.word);

	if (cycle->out->narrowed) {
		const uint64_t *examined = cycle->memory.examined + span.word;

		SPAN_EACH_WORD(i, span)
		span.bits[i] &= examined[i];
		count = cycle->ops->count(span.bits, span.words);
	}
	if (!filter_block(cycle, cycle->filters_local, block, &count))
		return false;
	*judged = judged_join(cycle, block, *judged, &count);
	cycle->memory.left[block] = count;
	cycle->out->feasible += count;
	return true;
}

bool filter_results_each(struct cycle *cycle)
{
	struct judged_node *judged = cycle->judged;

	for (uint32_t block = 0; block < cycle->blocks; block++)
		if (!results_block(cycle, block, &judged) || !measure_within(cycle))
			return false;
	return measure_stage(cycle);
}

bool filter_results(struct cycle *cycle)
{
	results_count(cycle);
	cycle->whole = !cycle->out->narrowed && cycle->judged == NULL &&
	               cycle->filters == cycle->filters_local;
	if (!cycle->whole)
		return filter_results_each(cycle);
	cycle->out->feasible = cycle->results->count;
	return true;
}
