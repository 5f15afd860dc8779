/*
 * Measures how long plugins take, and whether one takes too long.
 *
 * Reading the clock around each call would cost as much as the smaller plugins do. So one
 * cycle in CYCLE_SAMPLED is timed call by call, and the others read the clock a few times
 * in all. When a stage of such a cycle takes longer than a plugin may, the cycle is run
 * again, timed, to find out whether one plugin was the cause and which.
 */
#include <stdlib.h>

#include "shardsched/framework/cycle_int.h"
#include "store/base/alloc.h"

static uint64_t now_ns(const struct cycle *cycle)
{
	return cycle->opts.clock(cycle->opts.clock_ctx);
}

bool measure_due(struct cycle *cycle)
{
	if (cycle->opts.clock == NULL)
		return false;
	if (cycle->suspect != 0) {
		cycle->suspect--;
		return true;
	}
	return cycle->runs % CYCLE_SAMPLED == 0;
}

void measure_begin(struct cycle *cycle, bool timed)
{
	bool asked = timed || cycle->opts.plugin_budget_ns != 0;

	cycle->timed = timed;
	cycle->slow = false;
	if (cycle->opts.clock != NULL && asked)
		cycle->mark_ns = cycle->stage_ns = now_ns(cycle);
	for (unsigned i = 0; timed && i < PLUGINS_MAX; i++) {
		cycle->measure[i].now_ns = 0;
		memset(cycle->measure[i].run_ns, 0, sizeof cycle->measure[i].run_ns);
	}
}

bool measure_took(struct cycle *cycle, unsigned plugin, enum point point)
{
	struct plugin_measure *measure = &cycle->measure[plugin];
	uint64_t budget = cycle->opts.plugin_budget_ns, now = now_ns(cycle);
	struct verdict verdict;

	measure->ns[point] += now - cycle->mark_ns;
	measure->now_ns += now - cycle->mark_ns;
	measure->run_ns[point] += now - cycle->mark_ns;
	cycle->mark_ns = now;
	if (budget == 0 || measure->now_ns <= budget)
		return true;
	measure->overran++;
	verdict_clear(&verdict);
	verdict_add(&verdict, VERDICT_ERROR, &(struct reason){.code = REASON_OVERRAN});
	cycle_fail(cycle, (int)plugin, &verdict);
	return false;
}

bool measure_within(struct cycle *cycle)
{
	uint64_t budget = cycle->opts.plugin_budget_ns;

	if (cycle->opts.clock == NULL || budget == 0 || cycle->timed)
		return true;
	cycle->slow = now_ns(cycle) - cycle->stage_ns > budget;
	return !cycle->slow;
}

bool measure_stage(struct cycle *cycle)
{
	uint64_t budget = cycle->opts.plugin_budget_ns, now = 0;

	if (cycle->opts.clock == NULL || (!cycle->timed && budget == 0))
		return true;
	now = now_ns(cycle);
	cycle->slow = !cycle->timed && now - cycle->stage_ns > budget;
	cycle->mark_ns = cycle->stage_ns = now;
	return !cycle->slow;
}

/* A histogram is made when the first time comes for it; without memory the time is left
 * out. */
static void keep_times(struct plugin_measure *measure)
{
	for (unsigned i = 0; i < POINTS; i++) {
		struct histogram **took = &measure->took_ns[i];

		if (measure->run_ns[i] == 0)
			continue;
		if (*took == NULL)
			*took = pl_calloc(1, sizeof **took);
		if (*took != NULL)
			histogram_add(*took, measure->run_ns[i]);
	}
}

void measure_done(struct cycle *cycle)
{
	for (unsigned i = 0; i < PLUGINS_MAX; i++)
		for (unsigned k = 0; k < POINTS; k++)
			free(cycle->measure[i].took_ns[k]);
}

bool cycle_timing(const struct cycle *cycle, uint64_t ns[POINTS])
{
	if (!cycle->timed)
		return false;
	for (unsigned i = 0; i < POINTS; i++) {
		ns[i] = 0;
		for (unsigned k = 0; k < PLUGINS_MAX; k++)
			ns[i] += cycle->measure[k].run_ns[i];
	}
	return true;
}

void measure_end(struct cycle *cycle)
{
	uint64_t skipped = cycle->skipped[POINT_FILTER] | cycle->skipped[POINT_SCORE];
	uint64_t ran = 0;

	cycle->runs++;
	cycle->timed_runs += cycle->timed;
	for (unsigned i = 0; cycle->timed && i < PLUGINS_MAX; i++)
		keep_times(&cycle->measure[i]);
	for (unsigned i = 0; i < cycle->filters; i++) {
		unsigned plugin = cycle->filter[i];

		ran |= UINT64_C(1) << plugin;
		cycle->measure[plugin].refused += cycle->out->refused[plugin];
	}
	ran |= cycle->local.scores;
	for (uint32_t i = 0; i < cycle->local.by_max_count; i++)
		ran |= UINT64_C(1) << cycle->local.by_max[i].plugin;
	for (unsigned i = 0; i < cycle->deferred_count; i++)
		if (!cycle_skipped(cycle, cycle->deferred[i], POINT_SCORE))
			ran |= UINT64_C(1) << cycle->deferred[i];
	for (uint64_t left = ran; left != 0; left &= left - 1)
		cycle->measure[__builtin_ctzll(left)].runs++;
	for (uint64_t left = skipped & ~ran; left != 0; left &= left - 1)
		cycle->measure[__builtin_ctzll(left)].skips++;
}

void cycle_plugin_metrics(const struct cycle *cycle, unsigned plugin,
                          struct plugin_metrics *out)
{
	const struct plugin_measure *measure = &cycle->measure[plugin];

	PL_ASSERT(plugin < PLUGINS_MAX);
	*out = (struct plugin_metrics){
		.runs = measure->runs,
		.skips = measure->skips,
		.refused = measure->refused,
		.failed = measure->failed,
		.overran = measure->overran,
	};
	for (unsigned i = 0; i < POINTS; i++)
		out->took_ns[i] = measure->took_ns[i];
	if (cycle->timed_runs == 0)
		return;
	for (unsigned i = 0; i < POINTS; i++)
		out->ns[i] = (uint64_t)((double)measure->ns[i] * (double)cycle->runs /
		                        (double)cycle->timed_runs);
}
