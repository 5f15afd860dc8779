#include "shardsched/classes/kept.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"

size_t kept_bytes(uint32_t capacity, uint32_t columns)
{
	size_t slot = sizeof(uint8_t) + sizeof(int32_t) * (1 + (size_t)columns);

	return sizeof(struct kept) + capacity / 8 + capacity * slot +
	       best_tree_bytes(capacity);
}

struct kept *kept_new(uint32_t capacity)
{
	struct kept *kept = pl_calloc(1, sizeof(*kept));

	if (kept == NULL)
		return NULL;
	kept->capacity = capacity;
	kept->bytes = kept_bytes(capacity, 0);
	kept->feasible = pl_calloc(capacity / 64, sizeof(*kept->feasible));
	kept->refuser = pl_malloc(capacity);
	kept->total = pl_malloc(capacity * sizeof(*kept->total));
	if (kept->feasible == NULL || kept->refuser == NULL || kept->total == NULL ||
	    !best_tree_init(&kept->tree, kept->total, capacity)) {
		kept_free(kept);
		return NULL;
	}
	return kept;
}

void kept_free(struct kept *kept)
{
	if (kept == NULL)
		return;
	best_tree_done(&kept->tree);
	for (uint32_t i = 0; i < STAGE_MAXED_MAX; i++)
		free(kept->maxed[i].raw);
	free(kept->feasible);
	free(kept->refuser);
	free(kept->total);
	free(kept);
}

void kept_reset(struct kept *kept, const struct stage_plan *plan)
{
	size_t capacity = kept->capacity;

	kept->plan = *plan;
	memset(kept->feasible, 0, capacity / 8);
	memset(kept->refuser, KEPT_NO_ONE, capacity);
	for (size_t i = 0; i < capacity; i++)
		kept->total[i] = BEST_NONE;
	best_tree_build(&kept->tree);
	for (uint32_t i = 0; i < STAGE_MAXED_MAX; i++) {
		struct kept_maxed *maxed = &kept->maxed[i];

		if (maxed->raw != NULL)
			memset(maxed->raw, 0, capacity * sizeof(*maxed->raw));
		maxed->max = 0;
		maxed->holders = 0;
		maxed->basis = 0;
		maxed->of_zero =
			i < plan->maxed_count ? stage_weigh(&plan->maxed[i], 0, 0) : 0;
	}
	memset(&kept->shown, 0, sizeof(kept->shown));
}

/* -- one slot ------------------------------------------------------------------------ */

/* By the basis, which may be below: then all is weighed anew in the end. */
static int32_t weigh(const struct kept *kept, uint32_t i, int32_t raw)
{
	const struct kept_maxed *maxed = &kept->maxed[i];

	if (raw == 0)
		return maxed->of_zero;
	return stage_weigh(&kept->plan.maxed[i], raw < maxed->basis ? raw : maxed->basis,
	                   maxed->basis);
}

static void forget(struct kept *kept, uint32_t slot)
{
	if (kept->total[slot] == BEST_NONE) {
		if (kept->refuser[slot] != KEPT_NO_ONE)
			kept->shown.refused[kept->refuser[slot]]--;
		kept->refuser[slot] = KEPT_NO_ONE;
		return;
	}
	kept->total[slot] = BEST_NONE;
	kept->shown.count--;
	for (uint32_t i = 0; i < kept->plan.maxed_count; i++) {
		struct kept_maxed *maxed = &kept->maxed[i];

		if (maxed->raw != NULL && maxed->raw[slot] == maxed->max)
			maxed->holders--;
	}
}

/* raw > 0 where all were 0 so far. */
static bool begin_column(struct kept *kept, struct kept_maxed *maxed)
{
	maxed->raw = pl_calloc(kept->capacity, sizeof(*maxed->raw));
	if (maxed->raw == NULL)
		return false;
	kept->bytes += kept->capacity * sizeof(*maxed->raw);
	return true;
}

/* What the slot adds to its total; false: no memory. */
static bool note_raw(struct kept *kept, uint32_t i, uint32_t slot, int32_t raw)
{
	struct kept_maxed *maxed = &kept->maxed[i];

	if (maxed->raw == NULL) {
		if (raw == 0)
			return true;
		if (!begin_column(kept, maxed))
			return false;
	}
	maxed->raw[slot] = raw;
	/* Also the first that is not 0, before which nobody counted. */
	if (raw > maxed->max) {
		maxed->max = raw;
		maxed->holders = 0;
	}
	maxed->holders += raw == maxed->max;
	return true;
}

/* at: of the slot in the scratch. */
static bool note_feasible(struct kept *kept, const struct kept_scratch *scratch,
                          uint32_t slot, uint32_t at)
{
	int32_t total = scratch->total[at];

	for (uint32_t i = 0; i < kept->plan.maxed_count; i++) {
		if (!note_raw(kept, i, slot, scratch->maxed[i][at]))
			return false;
		total += weigh(kept, i, scratch->maxed[i][at]);
	}
	kept->total[slot] = total;
	kept->shown.count++;
	return true;
}

/* -- some words ------------------------------------------------------------------------
 */

/* dirty: slots of the word; live: of these, nodes; at: of the word in the scratch. */
static bool note_word(struct kept *kept, const struct kept_scratch *scratch,
                      uint32_t word, uint64_t dirty, uint64_t live, uint32_t at)
{
	uint64_t good = scratch->bits[at];

	for (uint64_t left = dirty; left != 0; left &= left - 1)
		forget(kept, word * 64 + (uint32_t)__builtin_ctzll(left));
	kept->feasible[word] = (kept->feasible[word] & ~dirty) | good;
	for (uint64_t left = good; left != 0; left &= left - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(left);

		if (!note_feasible(kept, scratch, word * 64 + bit, at * 64 + bit))
			return false;
	}
	for (uint64_t left = live & ~good; left != 0; left &= left - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(left);
		uint8_t refuser = scratch->refuser[at * 64 + bit];

		kept->refuser[word * 64 + bit] = refuser;
		kept->shown.refused[refuser]++;
	}
	return true;
}

static bool mend_words(struct kept *kept, struct cycle *cycle,
                       const struct snapshot *snapshot, const uint64_t *dirty,
                       struct node_span span, struct kept_scratch *scratch)
{
	struct stage_out out = {.refuser = scratch->refuser, .total = scratch->total};
	const uint64_t *nodes = fw_nodes(kept->home, snapshot).word;

	for (uint32_t i = 0; i < kept->plan.maxed_count; i++)
		out.maxed[i] = scratch->maxed[i];
	SPAN_EACH_WORD(i, span)
	span.bits[i] = dirty[i] & nodes[span.word + i];
	if (!stage_local(cycle, span, &out))
		return false;
	SPAN_EACH_WORD(i, span)
	{
		uint64_t live = dirty[i] & nodes[span.word + i];

		if (dirty[i] != 0 &&
		    !note_word(kept, scratch, span.word + i, dirty[i], live, i))
			return false;
	}
	return true;
}

/* -- all of it -------------------------------------------------------------------------
 */

/* Who held the maximum is not feasible any more. */
static void find_max(struct kept *kept, struct kept_maxed *maxed)
{
	maxed->max = 0;
	maxed->holders = 0;
	for (uint32_t slot = 0; slot < kept->capacity; slot++) {
		if (kept->total[slot] == BEST_NONE || maxed->raw[slot] < maxed->max)
			continue;
		if (maxed->raw[slot] > maxed->max)
			maxed->holders = 0;
		maxed->max = maxed->raw[slot];
		maxed->holders++;
	}
}

/* The totals, by another maximum. */
static void weigh_all(struct kept *kept, uint32_t i)
{
	struct kept_maxed *maxed = &kept->maxed[i];
	const struct stage_maxed *plan = &kept->plan.maxed[i];
	struct kept_maxed old = *maxed;

	maxed->basis = maxed->max;
	maxed->of_zero = stage_weigh(plan, 0, maxed->max);
	for (uint32_t slot = 0; slot < kept->capacity; slot++) {
		int32_t raw = maxed->raw[slot];
		int32_t was = raw < old.basis ? raw : old.basis;

		if (kept->total[slot] == BEST_NONE)
			continue;
		kept->total[slot] += stage_weigh(plan, raw, maxed->max) -
		                     stage_weigh(plan, was, old.basis);
	}
}

/* Whether totals have changed that are not dirty. */
static bool settle(struct kept *kept)
{
	bool all = false;

	for (uint32_t i = 0; i < kept->plan.maxed_count; i++) {
		struct kept_maxed *maxed = &kept->maxed[i];

		if (maxed->raw == NULL)
			continue;
		if (maxed->holders == 0)
			find_max(kept, maxed);
		if (maxed->max == maxed->basis)
			continue;
		weigh_all(kept, i);
		all = true;
	}
	return all;
}

static void show(struct kept *kept)
{
	struct stage_kept *shown = &kept->shown;

	shown->feasible = (struct pl_bitset){kept->feasible, kept->capacity};
	shown->refuser = kept->refuser;
	shown->total = kept->total;
	for (uint32_t i = 0; i < STAGE_MAXED_MAX; i++) {
		bool planned = i < kept->plan.maxed_count;

		shown->maxed[i] = planned ? kept->maxed[i].raw : NULL;
		shown->max[i] = planned ? kept->maxed[i].max : 0;
	}
}

static bool mend_listed(struct kept *kept, struct cycle *cycle,
                        const struct snapshot *snapshot, const struct kept_dirty *dirty,
                        struct kept_scratch *scratch)
{
	for (uint32_t i = 0; i < dirty->count; i++) {
		struct node_span span = {dirty->list[i], 1, scratch->bits};

		if (!mend_words(kept, cycle, snapshot, dirty->word + span.word, span,
		                scratch))
			return false;
	}
	return true;
}

static bool mend_blocks(struct kept *kept, struct cycle *cycle,
                        const struct snapshot *snapshot, const struct kept_dirty *dirty,
                        struct kept_scratch *scratch)
{
	const uint32_t most = CYCLE_BLOCK / 64;

	for (uint32_t word = 0; word < dirty->words; word += most) {
		uint32_t left = dirty->words - word;
		struct node_span span = {word, left < most ? left : most, scratch->bits};

		if (!mend_words(kept, cycle, snapshot, dirty->word + word, span, scratch))
			return false;
	}
	return true;
}

bool kept_mend(struct kept *kept, struct cycle *cycle, const struct snapshot *snapshot,
               const struct kept_dirty *dirty, struct kept_scratch *scratch)
{
	bool many = dirty->count > dirty->words / 4;

	if (!(many ? mend_blocks(kept, cycle, snapshot, dirty, scratch)
	           : mend_listed(kept, cycle, snapshot, dirty, scratch)))
		return false;
	if (settle(kept) || many) {
		best_tree_build(&kept->tree);
	} else {
		for (uint32_t i = 0; i < dirty->count; i++)
			best_tree_update(&kept->tree, dirty->list[i]);
	}
	show(kept);
	return true;
}
