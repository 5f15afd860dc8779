/* Prepares a run: PreFilter, and the plan of which plugins run after it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardsched/framework/cycle_int.h"
#include "store/base/alloc.h"

enum { STATE_ALIGN = 16, NARROWED_TEXT_MAX = 1024 };

static size_t state_bytes(const struct plugin *row)
{
	return (row->state_size + STATE_ALIGN - 1) / STATE_ALIGN * STATE_ALIGN;
}

static bool states_make(struct cycle *cycle)
{
	const struct profile *profile = cycle->profile;
	size_t size = 0;

	for (uint64_t left = profile->enabled; left != 0; left &= left - 1)
		size += state_bytes(profile->table->row[__builtin_ctzll(left)]);
	if (size > cycle->state_size) {
		free(cycle->state);
		cycle->state_size = 0;
		cycle->state = pl_malloc(size);
		if (cycle->state == NULL) {
			cycle_fail(cycle, -1, NULL);
			return false;
		}
		cycle->state_size = size;
	}
	if (size != 0)
		memset(cycle->state, 0, size);
	return true;
}

static void calls_make(struct cycle *cycle)
{
	const struct profile *profile = cycle->profile;
	char *state = cycle->state;

	for (uint64_t left = profile->enabled; left != 0; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		struct plugin_call *call = &cycle->call[i];
		size_t size = state_bytes(profile->table->row[i]);

		call->spec = cycle->class->view->spec;
		call->view = cycle->class->view;
		call->args = profile->args[i];
		call->class_state = cycle->class->class_state[i];
		call->state = size == 0 ? NULL : state;
		if (size != 0)
			state += size;
	}
}

/* "plugin A" or "plugin(s) [A B] simultaneously", as a string that lives until the next
 * such refusal; 0: out of memory. */
static uint32_t describe_narrowing(struct cycle *cycle, uint64_t by)
{
	struct strings *strings = &cycle->snapshot->model->strings;
	bool one = (by & (by - 1)) == 0;
	char text[NARROWED_TEXT_MAX];
	uint32_t made = 0;
	size_t len = 0;

	len = (size_t)snprintf(text, sizeof text, one ? "plugin " : "plugin(s) [");
	for (uint64_t left = by; left != 0 && len < sizeof text; left &= left - 1)
		len += (size_t)snprintf(
			text + len, sizeof text - len, "%s%s", left == by ? "" : " ",
			cycle->profile->table->row[__builtin_ctzll(left)]->name);
	if (!one && len < sizeof text)
		(void)snprintf(text + len, sizeof text - len, "] simultaneously");
	if (strings_add(strings, pl_span_str(text), &made) != PL_OK)
		made = 0;
	strings_unref(strings, cycle->narrowed_text);
	cycle->narrowed_text = made;
	return made;
}

static void refuse_pod(struct cycle *cycle)
{
	cycle->out->result = CYCLE_NONE;
	cycle->out->pre = cycle->pre;
	if (cycle->pre.plugin >= 0)
		cycle->out->refused_by |= UINT64_C(1) << cycle->pre.plugin;
}

/* Intersects the candidates with the set. false: no node is left. */
static bool narrow_candidates(struct cycle *cycle, struct pl_bitset only)
{
	const uint64_t *with = cycle_candidates(cycle);
	uint32_t words = (uint32_t)pl_bitset_words(only.bits);
	uint64_t any = 0;

	cycle->memory.examined = memory_set(cycle, cycle->memory.examined);
	if (cycle_has_failed(cycle))
		return false;
	for (uint32_t i = 0; i < cycle->words; i++) {
		cycle->memory.examined[i] = i < words ? with[i] & only.word[i] : 0;
		any |= cycle->memory.examined[i];
	}
	cycle->out->narrowed = true;
	return any != 0;
}

static bool run_pre_filter(struct cycle *cycle, unsigned plugin)
{
	const struct plugin *row = cycle->profile->table->row[plugin];
	struct plugin_narrow narrow = {.only = {0}};
	uint64_t bit = UINT64_C(1) << plugin;
	enum verdict_code code =
		row->pre_filter(&cycle->call[plugin], &narrow, &cycle->pre);

	cycle->pre.plugin = (int)plugin;
	if (!measure_call(cycle, plugin, POINT_PRE_FILTER))
		return false;
	if (code == VERDICT_SKIP) {
		cycle->skipped[POINT_FILTER] |= bit;
		return true;
	}
	if (code == VERDICT_ERROR) {
		cycle_fail(cycle, (int)plugin, &cycle->pre);
		return false;
	}
	if (code != VERDICT_SUCCESS) {
		cycle->pre.code = code;
		refuse_pod(cycle);
		return false;
	}
	if (narrow.only.word == NULL)
		return true;
	cycle->narrowed_by |= bit;
	if (narrow_candidates(cycle, narrow.only) || cycle_has_failed(cycle))
		return !cycle_has_failed(cycle);
	verdict_clear(&cycle->pre);
	verdict_add(&cycle->pre, VERDICT_UNSCHEDULABLE,
	            &(struct reason){
			    .code = REASON_NARROWED,
			    .subject = describe_narrowing(cycle, cycle->narrowed_by)});
	cycle->out->refused_by = cycle->narrowed_by;
	refuse_pod(cycle);
	return false;
}

static bool run_pre_filters(struct cycle *cycle)
{
	const struct profile_point *at = &cycle->profile->at[POINT_PRE_FILTER];

	if (cycle->only.word != NULL && !narrow_candidates(cycle, cycle->only) &&
	    cycle_has_failed(cycle))
		return false;
	for (unsigned i = 0; i < at->count; i++) {
		verdict_clear(&cycle->pre);
		if (!run_pre_filter(cycle, at->plugin[i]))
			return false;
	}
	verdict_clear(&cycle->pre);
	PL_ASSERT(cycle->run_state == RUN_PREPARING);
	cycle->run_state = RUN_READY;
	return true;
}

/* PreScore of local plugins must not depend on which nodes are feasible, so it runs
 * before the filters. Its failure is reported only when a node is feasible. */
static bool pre_score_local(struct cycle *cycle)
{
	const struct profile_point *at = &cycle->profile->at[POINT_PRE_SCORE];

	verdict_clear(&cycle->pre_score);
	for (unsigned i = 0; i < at->count; i++) {
		unsigned plugin = at->plugin[i];
		const struct plugin *row = cycle->profile->table->row[plugin];
		enum verdict_code code = VERDICT_SUCCESS;

		if (row->global || cycle->pre_score.code == VERDICT_ERROR)
			continue;
		code = row->pre_score(&cycle->call[plugin], cycle->snapshot->live,
		                      &cycle->pre_score);
		if (code == VERDICT_SKIP)
			cycle->skipped[POINT_SCORE] |= UINT64_C(1) << plugin;
		else if (code != VERDICT_SUCCESS)
			cycle->pre_score.code = VERDICT_ERROR;
		cycle->pre_score.plugin = (int)plugin;
		if (!measure_call(cycle, plugin, POINT_PRE_SCORE))
			return false;
	}
	return true;
}

static void plan_epoch(struct cycle *cycle, unsigned plugin)
{
	const struct plugin *row = cycle->profile->table->row[plugin];

	/* Epochs only grow, so equal sums have equal parts. */
	if (row->epoch != NULL)
		cycle->local.epoch += row->epoch(&cycle->call[plugin]);
}

static void plan_filters(struct cycle *cycle)
{
	const struct profile_point *at = &cycle->profile->at[POINT_FILTER];
	const struct plugin *const *row = cycle->profile->table->row;

	for (unsigned i = 0; i < at->count; i++) {
		unsigned plugin = at->plugin[i];

		if ((cycle->skipped[POINT_FILTER] >> plugin & 1) != 0)
			continue;
		cycle->filter[cycle->filters++] = (uint8_t)plugin;
		if (row[plugin]->global)
			continue;
		if (cycle->filters_local + 1 != cycle->filters)
			cycle->in_order = false;
		cycle->filters_local++;
		cycle->local.filters |= UINT64_C(1) << plugin;
		plan_epoch(cycle, plugin);
	}
}

static void plan_score(struct cycle *cycle, unsigned plugin)
{
	const struct plugin *row = cycle->profile->table->row[plugin];
	struct stage_plan *local = &cycle->local;
	bool by_max = row->normal == PLUGIN_BY_MAX || row->normal == PLUGIN_BY_MAX_DOWN;

	if (!row->global && row->normal == PLUGIN_AS_IS) {
		cycle->as_is[cycle->as_is_count++] = (uint8_t)plugin;
		local->scores |= UINT64_C(1) << plugin;
	} else if (!row->global && by_max && local->by_max_count < STAGE_BY_MAX_LIMIT) {
		local->by_max[local->by_max_count++] = (struct stage_by_max){
			.plugin = (uint8_t)plugin,
			.down = row->normal == PLUGIN_BY_MAX_DOWN,
			.weight = cycle->profile->weight[plugin],
		};
	} else {
		cycle->deferred[cycle->deferred_count++] = (uint8_t)plugin;
		return;
	}
	/* The epoch of a plugin that filters was added already. */
	if ((local->filters >> plugin & 1) == 0)
		plan_epoch(cycle, plugin);
}

static void plan_make(struct cycle *cycle)
{
	const struct profile_point *scores = &cycle->profile->at[POINT_SCORE];

	cycle->filters = cycle->filters_local = 0;
	cycle->as_is_count = cycle->deferred_count = 0;
	cycle->in_order = true;
	cycle->local.filters = cycle->local.scores = cycle->local.epoch = 0;
	cycle->local.by_max_count = 0;
	plan_filters(cycle);
	for (unsigned i = 0; i < scores->count; i++)
		if ((cycle->skipped[POINT_SCORE] >> scores->plugin[i] & 1) == 0)
			plan_score(cycle, scores->plugin[i]);
}

static void outcome_begin(struct cycle_outcome *out)
{
	out->result = CYCLE_NONE;
	out->node = SNAPSHOT_NONE;
	out->total = 0;
	out->feasible = out->best = 0;
	out->refused_by = 0;
	memset(out->refused, 0, sizeof out->refused);
	out->narrowed = out->nominated = false;
	verdict_clear(&out->pre);
}

static void run_begin(struct cycle *cycle, struct fw_class *class,
                      const struct pod_self *pod)
{
	const struct snapshot *snapshot = cycle->snapshot;

	outcome_begin(cycle->out);
	cycle->class = class;
	cycle->profile = class->profile;
	cycle->pod = *pod;
	cycle->run_state = RUN_PREPARING;
	cycle->skipped[POINT_FILTER] = cycle->skipped[POINT_SCORE] = 0;
	cycle->narrowed_by = 0;
	cycle->words = (snapshot->slots + 63) / 64;
	cycle->blocks = (cycle->words + CYCLE_BLOCK_WORDS - 1) / CYCLE_BLOCK_WORDS;
	cycle->filters = cycle->filters_local = 0;
	cycle->results = NULL;
	cycle->whole = false;
	cycle->chosen = true;
	cycle->judged = NULL;
	cycle->bonus = 0;
	memset(cycle->max, 0, sizeof cycle->max);
	cycle->highest = 0;
	cycle->base = NULL;
}

/* Views need it only after a change of a namespace that could not be followed at once. */
static bool reconcile_views(struct cycle *cycle)
{
	if (view_reconcile(cycle->snapshot, NULL) == PL_OK)
		return true;
	cycle_fail(cycle, -1, NULL);
	return false;
}

bool cycle_prepare(struct cycle *cycle, struct fw_class *class,
                   const struct pod_self *pod)
{
	run_begin(cycle, class, pod);
	if (!reconcile_views(cycle) || !memory_begin(cycle) || !states_make(cycle))
		return false;
	calls_make(cycle);
	if (!run_pre_filters(cycle) || !pre_score_local(cycle))
		return false;
	plan_make(cycle);
	return memory_for_plan(cycle) && measure_stage(cycle);
}
