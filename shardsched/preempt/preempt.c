#include "shardsched/preempt/preempt.h"

#include <stdlib.h>

#include "shardsched/preempt/preempt_int.h"
#include "store/base/alloc.h"

enum pl_code preempt_new(struct preempt **out, struct pl_err *err)
{
	struct preempt *made = pl_calloc(1, sizeof *made);

	if (made == NULL)
		return pl_err_set(err, PL_NOMEM, "preemption: out of memory");
	made->rankings.most = POD_RANKINGS_MAX;
	*out = made;
	return PL_OK;
}

void preempt_free(struct preempt *preempt)
{
	if (preempt == NULL)
		return;
	budgets_done(&preempt->budgets);
	reclaimable_done(preempt);
	pod_rankings_done(&preempt->rankings);
	candidate_cache_done(&preempt->candidate_cache);
	scratch_done(&preempt->words);
	scratch_done(&preempt->victims);
	scratch_done(&preempt->sorted);
	scratch_done(&preempt->keys);
	scratch_done(&preempt->order);
	scratch_done(&preempt->candidate_victims);
	scratch_done(&preempt->candidates);
	scratch_done(&preempt->ranks);
	scratch_done(&preempt->tied);
	free(preempt);
}

/* Whether room is being made already: a pod of lower priority is terminating for this one
 * on the node that this one is nominated for, or is about to. */
static bool waits_for_victims(const struct preempt *preempt, uint32_t slot)
{
	const struct snapshot *snapshot = preempt->snapshot;
	const uint32_t leaving = PLACED_TERMINATING | PLACED_VICTIM;
	struct verdict verdict;

	if (slot == SNAPSHOT_NONE || !pl_bitset_has(snapshot->live, slot))
		return false;
	verdict_clear(&verdict);
	cycle_why(preempt->cycle, slot, &verdict);
	if (verdict.code == VERDICT_UNRESOLVABLE)
		return false;
	for (uint32_t i = snapshot->row[slot].first_pod; i != SNAPSHOT_NONE;
	     i = snapshot->placed[i].next_on_node) {
		const struct placed_pod *pod = &snapshot->placed[i];

		if ((pod->flags & PLACED_PREEMPTED) != 0 && (pod->flags & leaving) != 0 &&
		    pod->view->spec->priority < preempt->priority)
			return true;
	}
	return false;
}

/* Whether only the fit plugin can refuse a node that it was the first to refuse: plugins
 * before it let the node through and do not look at pods, and plugins behind it are skipped
 * for this pod. */
static bool only_fit_refuses(const struct preempt *preempt)
{
	const struct profile *profile = cycle_class(preempt->cycle)->profile;
	const struct profile_point *filters = &profile->at[POINT_FILTER];
	bool behind = false;

	for (uint8_t i = 0; i < filters->count; i++) {
		unsigned plugin = filters->plugin[i];

		if ((int)plugin == preempt->fit)
			behind = true;
		else if (!cycle_skipped(preempt->cycle, plugin, POINT_FILTER) &&
		         (behind ||
		          (profile->table->row[plugin]->events & QUEUE_ON_PODS) != 0))
			return false;
	}
	return behind;
}

static bool make_sets(struct preempt *preempt)
{
	size_t bits = cycle_feasible(preempt->cycle).bits, words = pl_bitset_words(bits);
	uint64_t *at;

	if (!scratch_grow(&preempt->words, 3 * words, sizeof *at))
		return false;
	at = preempt->words.at;
	preempt->potential = pl_bitset_init(at, bits);
	preempt->by_fit = pl_bitset_init(at + words, bits);
	preempt->mixed = pl_bitset_init(at + 2 * words, bits);
	return true;
}

static bool run_begin(struct preempt *preempt)
{
	preempt->fit = resource_request_plugin(cycle_class(preempt->cycle)->profile);
	if (preempt->fit >= 0 &&
	    cycle_skipped(preempt->cycle, (unsigned)preempt->fit, POINT_FILTER))
		preempt->fit = -1;
	preempt->only_fit = only_fit_refuses(preempt);
	resource_request_init(&preempt->request, preempt->snapshot,
	                      cycle_class(preempt->cycle), preempt->fit);
	budgets_begin(&preempt->budgets, preempt->snapshot);
	preempt->run++;
	preempt->candidate_victim_count = 0;
	preempt->candidates_count = 0;
	preempt->found = 0;
	preempt->found_without_violations = 0;
	preempt->no_memory = false;
	preempt->refused_by = 0;
	return make_sets(preempt) && reclaimable_ready(preempt) &&
	       pod_rankings_ready(preempt) && candidate_cache_ready(preempt);
}

/* How many candidates are enough. */
static uint64_t candidates_wanted(const struct preempt_opts *opts, uint32_t potential)
{
	uint64_t want = (uint64_t)potential * opts->candidates_percent / 100;

	want = want < opts->candidates_least ? opts->candidates_least : want;
	return want < 1 ? 1 : want;
}

static size_t nth_bit(struct pl_bitset set, uint32_t n)
{
	size_t bit = 0;

	for (size_t i = 0;; i++) {
		uint32_t here = (uint32_t)__builtin_popcountll(set.word[i]);

		if (n < here) {
			bit = pl_bitset_next(set, i * 64);
			break;
		}
		n -= here;
	}
	while (n-- > 0)
		bit = pl_bitset_next(set, bit + 1);
	return bit;
}

/* The pods of the next node are fetched into the processor's cache while this node is
 * tried. */
static void prefetch_pods(const struct preempt *preempt, uint32_t i)
{
	const struct node_scan *scan = &preempt->scan[i];

	if (i < preempt->scans && scan->state != SCAN_HOPELESS &&
	    !candidate_cache_has(preempt, scan->slot))
		pod_ranking_prefetch(&preempt->rankings, scan->slot);
}

/* Tries nodes from a random one on, until there are enough candidates, one of which
 * overdraws no budget. */
static uint32_t search_candidates(struct preempt *preempt,
                                  const struct preempt_opts *opts, uint32_t potential)
{
	uint64_t want = candidates_wanted(opts, potential);
	size_t slot = nth_bit(preempt->potential, (uint32_t)(opts->draw % potential));
	uint32_t tried = 0;

	while (tried < potential && !preempt->no_memory) {
		slot = scan_ahead(preempt, slot, potential - tried);
		for (uint32_t i = 0; i < preempt->scans && !preempt->no_memory; i++) {
			tried++;
			prefetch_pods(preempt, i + 1);
			if (preempt->scan[i].state == SCAN_HOPELESS)
				note_refused_by_fit(preempt);
			else if (!candidate_cache_loses(preempt, preempt->scan[i].slot))
				victims_find(preempt, preempt->scan[i].slot);
			if (preempt->found_without_violations > 0 &&
			    preempt->found >= want)
				return tried;
		}
	}
	return tried;
}

static void run_preemption(struct preempt *preempt, const struct cycle_outcome *last,
                           const struct preempt_opts *opts, struct preempt_outcome *out)
{
	uint32_t potential;

	preempt->no_memory = !run_begin(preempt);
	if (!preempt->no_memory && preempt->request.impossible)
		note_refused_by_fit(preempt);
	if (!preempt->no_memory && !preempt->request.impossible) {
		potential = potential_find(preempt, last);
		snapshot_probe(preempt->snapshot);
		if (potential > 0)
			out->tried = search_candidates(preempt, opts, potential);
		snapshot_probe_end(preempt->snapshot);
	}
	if (preempt->no_memory)
		out->code = VERDICT_ERROR;
	else
		candidates_choose(preempt, out);
	out->refused_by = preempt->refused_by;
}

void preempt_run(struct preempt *preempt, struct cycle *cycle,
                 const struct cycle_outcome *last, const struct preempt_opts *opts,
                 struct preempt_outcome *out)
{
	const struct spec *spec = cycle_class(cycle)->view->spec;

	PL_ASSERT(last->result == CYCLE_NONE);
	*out = (struct preempt_outcome){.code = VERDICT_UNSCHEDULABLE,
	                                .node = SNAPSHOT_NONE};
	preempt->cycle = cycle;
	preempt->snapshot = cycle_snapshot(cycle);
	preempt->priority = spec->priority;
	preempt->keep_all = opts->keep_all;
	/* A refusal by PreFilter is about all nodes, so removing pods does not help. */
	if (last->pre.code != VERDICT_SUCCESS || (spec->flags & SPEC_NEVER_PREEMPTS) != 0)
		return;
	out->waits = waits_for_victims(preempt, cycle_pod(cycle)->nominated);
	if (out->waits)
		return;
	run_preemption(preempt, last, opts, out);
}
