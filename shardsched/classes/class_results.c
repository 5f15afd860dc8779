#include "shardsched/classes/class_results.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"

size_t class_results_bytes(uint32_t capacity, uint32_t columns)
{
	size_t slot = sizeof(uint8_t) + sizeof(int32_t) * (1 + (size_t)columns);

	return sizeof(struct class_results) + capacity / 8 + capacity * slot +
	       best_tree_bytes(capacity);
}

struct class_results *class_results_new(uint32_t capacity)
{
	struct class_results *results = pl_calloc(1, sizeof(*results));

	if (results == NULL)
		return NULL;
	results->capacity = capacity;
	results->bytes = class_results_bytes(capacity, 0);
	results->feasible = pl_calloc(capacity / 64, sizeof(*results->feasible));
	results->refuser = pl_malloc(capacity);
	results->total = pl_malloc(capacity * sizeof(*results->total));
	if (results->feasible == NULL || results->refuser == NULL ||
	    results->total == NULL ||
	    !best_tree_init(&results->tree, results->total, capacity)) {
		class_results_free(results);
		return NULL;
	}
	return results;
}

void class_results_free(struct class_results *results)
{
	if (results == NULL)
		return;
	best_tree_done(&results->tree);
	for (uint32_t i = 0; i < STAGE_BY_MAX_LIMIT; i++)
		free(results->by_max[i].raw);
	free(results->feasible);
	free(results->refuser);
	free(results->total);
	free(results);
}

void class_results_reset(struct class_results *results, const struct stage_plan *plan)
{
	size_t capacity = results->capacity;

	results->plan = *plan;
	memset(results->feasible, 0, capacity / 8);
	memset(results->refuser, REFUSED_BY_NONE, capacity);
	for (size_t i = 0; i < capacity; i++)
		results->total[i] = BEST_NONE;
	best_tree_build(&results->tree);
	for (uint32_t i = 0; i < STAGE_BY_MAX_LIMIT; i++) {
		struct class_results_maxed *by_max = &results->by_max[i];

		if (by_max->raw != NULL)
			memset(by_max->raw, 0, capacity * sizeof(*by_max->raw));
		by_max->max = 0;
		by_max->holders = 0;
		by_max->basis = 0;
		by_max->of_zero =
			i < plan->by_max_count ? stage_weigh(&plan->by_max[i], 0, 0) : 0;
	}
	memset(&results->shown, 0, sizeof(results->shown));
}

/* -- one slot ------------------------------------------------------------------------ */

/* By the basis, which may be below the maximum: then all totals are weighed again in the
 * end. */
static int32_t weigh_raw(const struct class_results *results, uint32_t i, int32_t raw)
{
	const struct class_results_maxed *by_max = &results->by_max[i];

	if (raw == 0)
		return by_max->of_zero;
	return stage_weigh(&results->plan.by_max[i],
	                   raw < by_max->basis ? raw : by_max->basis, by_max->basis);
}

static void forget_slot(struct class_results *results, uint32_t slot)
{
	if (results->total[slot] == BEST_NONE) {
		if (results->refuser[slot] != REFUSED_BY_NONE)
			results->shown.refused[results->refuser[slot]]--;
		results->refuser[slot] = REFUSED_BY_NONE;
		return;
	}
	results->total[slot] = BEST_NONE;
	results->shown.count--;
	for (uint32_t i = 0; i < results->plan.by_max_count; i++) {
		struct class_results_maxed *by_max = &results->by_max[i];

		if (by_max->raw != NULL && by_max->raw[slot] == by_max->max)
			by_max->holders--;
	}
}

/* raw > 0 where all were 0 so far. */
static bool begin_column(struct class_results *results,
                         struct class_results_maxed *by_max)
{
	by_max->raw = pl_calloc(results->capacity, sizeof(*by_max->raw));
	if (by_max->raw == NULL)
		return false;
	results->bytes += results->capacity * sizeof(*by_max->raw);
	return true;
}

/* Sets what the slot adds to its total; false: no memory. */
static bool note_raw(struct class_results *results, uint32_t i, uint32_t slot,
                     int32_t raw)
{
	struct class_results_maxed *by_max = &results->by_max[i];

	if (by_max->raw == NULL) {
		if (raw == 0)
			return true;
		if (!begin_column(results, by_max))
			return false;
	}
	by_max->raw[slot] = raw;
	/* also the first value that is not 0, before which no slot has the maximum */
	if (raw > by_max->max) {
		by_max->max = raw;
		by_max->holders = 0;
	}
	by_max->holders += raw == by_max->max;
	return true;
}

/* at: the slot's index in the scratch. */
static bool note_feasible(struct class_results *results,
                          const struct class_results_scratch *scratch, uint32_t slot,
                          uint32_t at)
{
	int32_t total = scratch->total[at];

	for (uint32_t i = 0; i < results->plan.by_max_count; i++) {
		if (!note_raw(results, i, slot, scratch->by_max[i][at]))
			return false;
		total += weigh_raw(results, i, scratch->by_max[i][at]);
	}
	results->total[slot] = total;
	results->shown.count++;
	return true;
}

/* -- some words ------------------------------------------------------------------------
 */

/* dirty: slots of the word; live: of these, nodes; at: of the word in the scratch. */
static bool note_word(struct class_results *results,
                      const struct class_results_scratch *scratch, uint32_t word,
                      uint64_t dirty, uint64_t live, uint32_t at)
{
	uint64_t good = scratch->bits[at];

	for (uint64_t left = dirty; left != 0; left &= left - 1)
		forget_slot(results, word * 64 + (uint32_t)__builtin_ctzll(left));
	results->feasible[word] = (results->feasible[word] & ~dirty) | good;
	for (uint64_t left = good; left != 0; left &= left - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(left);

		if (!note_feasible(results, scratch, word * 64 + bit, at * 64 + bit))
			return false;
	}
	for (uint64_t left = live & ~good; left != 0; left &= left - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(left);
		uint8_t refuser = scratch->refuser[at * 64 + bit];

		results->refuser[word * 64 + bit] = refuser;
		results->shown.refused[refuser]++;
	}
	return true;
}

static bool update_words(struct class_results *results, struct cycle *cycle,
                         const struct snapshot *snapshot, const uint64_t *dirty,
                         struct node_span span, struct class_results_scratch *scratch)
{
	struct stage_out out = {.refuser = scratch->refuser, .total = scratch->total};
	const uint64_t *nodes = fw_nodes(results->local, snapshot).word;

	for (uint32_t i = 0; i < results->plan.by_max_count; i++)
		out.by_max[i] = scratch->by_max[i];
	SPAN_EACH_WORD(i, span)
	span.bits[i] = dirty[i] & nodes[span.word + i];
	if (!stage_local(cycle, span, &out))
		return false;
	SPAN_EACH_WORD(i, span)
	{
		uint64_t live = dirty[i] & nodes[span.word + i];

		if (dirty[i] != 0 &&
		    !note_word(results, scratch, span.word + i, dirty[i], live, i))
			return false;
	}
	return true;
}

/* -- all of it -------------------------------------------------------------------------
 */

/* To be called when the slot with the maximum is no longer feasible. */
static void find_max(struct class_results *results, struct class_results_maxed *by_max)
{
	by_max->max = 0;
	by_max->holders = 0;
	for (uint32_t slot = 0; slot < results->capacity; slot++) {
		if (results->total[slot] == BEST_NONE || by_max->raw[slot] < by_max->max)
			continue;
		if (by_max->raw[slot] > by_max->max)
			by_max->holders = 0;
		by_max->max = by_max->raw[slot];
		by_max->holders++;
	}
}

/* The totals, by another maximum. */
static void weigh_all(struct class_results *results, uint32_t i)
{
	struct class_results_maxed *by_max = &results->by_max[i];
	const struct stage_by_max *plan = &results->plan.by_max[i];
	struct class_results_maxed old = *by_max;

	by_max->basis = by_max->max;
	by_max->of_zero = stage_weigh(plan, 0, by_max->max);
	for (uint32_t slot = 0; slot < results->capacity; slot++) {
		int32_t raw = by_max->raw[slot];
		int32_t was = raw < old.basis ? raw : old.basis;

		if (results->total[slot] == BEST_NONE)
			continue;
		results->total[slot] += stage_weigh(plan, raw, by_max->max) -
		                        stage_weigh(plan, was, old.basis);
	}
}

/* Whether totals outside the dirty slots have changed. */
static bool refresh_maxima(struct class_results *results)
{
	bool all = false;

	for (uint32_t i = 0; i < results->plan.by_max_count; i++) {
		struct class_results_maxed *by_max = &results->by_max[i];

		if (by_max->raw == NULL)
			continue;
		if (by_max->holders == 0)
			find_max(results, by_max);
		if (by_max->max == by_max->basis)
			continue;
		weigh_all(results, i);
		all = true;
	}
	return all;
}

static void publish_results(struct class_results *results)
{
	struct stage_results *shown = &results->shown;

	shown->feasible = (struct pl_bitset){results->feasible, results->capacity};
	shown->refuser = results->refuser;
	shown->total = results->total;
	for (uint32_t i = 0; i < STAGE_BY_MAX_LIMIT; i++) {
		bool planned = i < results->plan.by_max_count;

		shown->by_max[i] = planned ? results->by_max[i].raw : NULL;
		shown->max[i] = planned ? results->by_max[i].max : 0;
	}
}

static bool update_listed(struct class_results *results, struct cycle *cycle,
                          const struct snapshot *snapshot,
                          const struct class_results_dirty *dirty,
                          struct class_results_scratch *scratch)
{
	for (uint32_t i = 0; i < dirty->count; i++) {
		struct node_span span = {dirty->list[i], 1, scratch->bits};

		if (!update_words(results, cycle, snapshot, dirty->word + span.word, span,
		                  scratch))
			return false;
	}
	return true;
}

static bool update_blocks(struct class_results *results, struct cycle *cycle,
                          const struct snapshot *snapshot,
                          const struct class_results_dirty *dirty,
                          struct class_results_scratch *scratch)
{
	const uint32_t most = CYCLE_BLOCK / 64;

	for (uint32_t word = 0; word < dirty->words; word += most) {
		uint32_t left = dirty->words - word;
		struct node_span span = {word, left < most ? left : most, scratch->bits};

		if (!update_words(results, cycle, snapshot, dirty->word + word, span,
		                  scratch))
			return false;
	}
	return true;
}

bool class_results_update(struct class_results *results, struct cycle *cycle,
                          const struct snapshot *snapshot,
                          const struct class_results_dirty *dirty,
                          struct class_results_scratch *scratch)
{
	bool many = dirty->count > dirty->words / 4;

	if (!(many ? update_blocks(results, cycle, snapshot, dirty, scratch)
	           : update_listed(results, cycle, snapshot, dirty, scratch)))
		return false;
	if (refresh_maxima(results) || many) {
		best_tree_build(&results->tree);
	} else {
		for (uint32_t i = 0; i < dirty->count; i++)
			best_tree_update(&results->tree, dirty->list[i]);
	}
	publish_results(results);
	return true;
}
