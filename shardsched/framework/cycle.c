#include "shardsched/framework/cycle.h"

#include <stdlib.h>
#include <string.h>

#include "shardsched/framework/cycle_int.h"
#include "store/base/alloc.h"

enum { ARENA_CHUNK = 1 << 14 };

enum pl_code cycle_new(const struct cycle_opts *opts, struct cycle **out,
                       struct pl_err *err)
{
	struct cycle *cycle = pl_calloc(1, sizeof *cycle);

	if (cycle == NULL)
		return pl_err_set(err, PL_NOMEM, "cycle: out of memory");
	cycle->opts = *opts;
	cycle_set_plugin_budget(cycle, opts->plugin_budget_ns);
	cycle->snapshot = opts->snapshot;
	cycle->ops = column_ops();
	cycle->out = &cycle->result;
	for (unsigned i = 0; i < PLUGINS_MAX; i++)
		cycle->call[i] = (struct plugin_call){.snapshot = cycle->snapshot,
		                                      .pod = &cycle->pod,
		                                      .arena = &cycle->arena};
	pl_arena_init(&cycle->arena, ARENA_CHUNK, CYCLE_ARENA_MAX);
	*out = cycle;
	return PL_OK;
}

void cycle_free(struct cycle *cycle)
{
	if (cycle == NULL)
		return;
	strings_unref(&cycle->snapshot->model->strings, cycle->narrowed_text);
	measure_done(cycle);
	memory_done(&cycle->memory);
	pl_arena_done(&cycle->arena);
	free(cycle->state);
	free(cycle->added);
	free(cycle);
}

void cycle_set_plugin_budget(struct cycle *cycle, uint64_t budget_ns)
{
	cycle->opts.plugin_budget_ns = cycle->opts.clock == NULL ? 0 : budget_ns;
}

void cycle_fail(struct cycle *cycle, int plugin, const struct verdict *verdict)
{
	struct cycle_outcome *out = cycle->out;

	cycle->run_state = RUN_FAILED;
	out->result = CYCLE_ERROR;
	if (verdict != NULL) {
		out->pre = *verdict;
	} else {
		verdict_clear(&out->pre);
		verdict_add(&out->pre, VERDICT_ERROR,
		            &(struct reason){.code = REASON_FAILED});
	}
	out->pre.code = VERDICT_ERROR;
	out->pre.plugin = plugin;
	if (plugin >= 0)
		cycle->measure[plugin].failed++;
}

struct pl_bitset cycle_set(const struct cycle *cycle, uint64_t *word)
{
	return (struct pl_bitset){word, cycle->memory.capacity};
}

const uint64_t *cycle_candidates(const struct cycle *cycle)
{
	return cycle->out->narrowed ? cycle->memory.examined
	                            : fw_class_nodes(cycle->class, cycle->snapshot).word;
}

/* -- running ----------------------------------------------------------------------------- */

/* Whether the cached results of the class may be used in this run. */
static bool may_use_results(const struct cycle *cycle)
{
	const struct cycle_opts *opts = &cycle->opts;

	return opts->cache != NULL && !opts->no_cache && !opts->keep_scores &&
	       cycle->in_order && !snapshot_probing(cycle->snapshot) &&
	       (cycle->class->view->spec->flags & SPEC_BY_NAME) == 0;
}

/* The node that the pod is nominated for is tried first: other pods are leaving it for
 * this one. */
static bool try_nominated_node(struct cycle *cycle)
{
	uint32_t slot = cycle->pod.nominated;

	if (slot >= cycle->snapshot->slots ||
	    (cycle_candidates(cycle)[slot / 64] >> slot % 64 & 1) == 0 ||
	    nominated_filter(cycle, slot) >= 0 || cycle_has_failed(cycle))
		return false;
	filter_only(cycle, slot);
	return true;
}

static bool filter_candidates(struct cycle *cycle)
{
	const struct cycle_cache *cache = cycle->opts.cache;
	bool done;

	if (may_use_results(cycle))
		cycle->results = cache->get_results(cache->ctx, cycle, cycle->class,
		                                    &cycle->local);
	done = !cycle_has_failed(cycle) && nominated_judge_nodes(cycle);
	if (done)
		done = cycle->results != NULL ? filter_results(cycle) : filter_all(cycle);
	nominated_release(cycle);
	return done && !cycle_has_failed(cycle);
}

static bool filter_nodes(struct cycle *cycle)
{
	if (try_nominated_node(cycle))
		return score_local_block(cycle, cycle->pod.nominated / CYCLE_BLOCK);
	return !cycle_has_failed(cycle) && filter_candidates(cycle);
}

/* Plugins that excluded nodes count as refusing: the excluded nodes might be good. */
static void report_refusers(struct cycle *cycle)
{
	cycle->out->refused_by = cycle->narrowed_by;
	for (unsigned i = 0; i < cycle->filters; i++)
		if (cycle->out->refused[cycle->filter[i]] != 0)
			cycle->out->refused_by |= UINT64_C(1) << cycle->filter[i];
}

static void run_cycle(struct cycle *cycle, struct fw_class *class,
                      const struct pod_self *pod, uint64_t draw, bool timed)
{
	measure_begin(cycle, timed);
	if (!cycle_prepare(cycle, class, pod) || !filter_nodes(cycle))
		return;
	report_refusers(cycle);
	if (cycle->out->feasible == 0 || !score_all(cycle))
		return;
	choose_node(cycle, draw);
	cycle->out->result = CYCLE_NODE;
}

void cycle_run(struct cycle *cycle, struct fw_class *class, const struct pod_self *pod,
               uint64_t draw, struct cycle_outcome *out)
{
	struct pod_self self = *pod;

	run_cycle(cycle, class, &self, draw, measure_due(cycle));
	if (cycle->slow && !cycle_has_failed(cycle)) {
		cycle->suspect = CYCLE_SAMPLED;
		run_cycle(cycle, class, &self, draw, true);
	}
	measure_end(cycle);
	*out = *cycle->out;
}

/* -- questions about the last run -------------------------------------------------------- */

struct pl_bitset cycle_feasible(const struct cycle *cycle)
{
	struct pl_bitset set = cycle_set(cycle, cycle->memory.feasible);

	if (cycle->whole && cycle_is_ready(cycle))
		return (struct pl_bitset){cycle->results->feasible.word, set.bits};
	/* The set may hold the result of an earlier run. */
	if (!cycle_is_ready(cycle) && set.word != NULL)
		pl_bitset_clear(set);
	return set;
}

struct pl_bitset cycle_examined(const struct cycle *cycle)
{
	uint64_t *all = fw_class_nodes(cycle->class, cycle->snapshot).word;

	return cycle_set(cycle, cycle->out->narrowed ? cycle->memory.examined : all);
}

bool cycle_skipped(const struct cycle *cycle, unsigned plugin, enum point point)
{
	return (cycle->skipped[point] >> plugin & 1) != 0;
}

const int64_t *cycle_totals(struct cycle *cycle)
{
	struct pl_bitset feasible = cycle_feasible(cycle);

	if (cycle->memory.totals == NULL)
		cycle->memory.totals = pl_calloc(cycle->memory.capacity + 1,
		                                 sizeof *cycle->memory.totals);
	if (cycle->memory.totals == NULL || cycle->base == NULL)
		return cycle->memory.totals;
	PL_BITSET_EACH (slot, feasible)
		cycle->memory.totals[slot] = (int64_t)cycle->base[slot] + cycle->bonus;
	return cycle->memory.totals;
}

const int64_t *cycle_scores(const struct cycle *cycle, unsigned plugin)
{
	const struct profile_point *at = NULL;

	if (!cycle->opts.keep_scores || !cycle_is_ready(cycle) ||
	    cycle_skipped(cycle, plugin, POINT_SCORE))
		return NULL;
	at = &cycle->profile->at[POINT_SCORE];
	for (unsigned i = 0; i < at->count; i++)
		if (at->plugin[i] == plugin)
			return cycle->memory.scores[plugin];
	return NULL;
}

void cycle_set_post_filter_ctx(struct cycle *cycle, void *post_filter_ctx)
{
	cycle->post_filter_ctx = post_filter_ctx;
}

void *cycle_post_filter_ctx(const struct cycle *cycle)
{
	return cycle->post_filter_ctx;
}

void cycle_restrict_nodes(struct cycle *cycle, struct pl_bitset only)
{
	cycle->only = only;
}

struct snapshot *cycle_snapshot(struct cycle *cycle)
{
	return cycle->snapshot;
}

const struct fw_class *cycle_class(const struct cycle *cycle)
{
	return cycle->class;
}

const struct pod_self *cycle_pod(const struct cycle *cycle)
{
	return &cycle->pod;
}
