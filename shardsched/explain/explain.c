/*
 * Explains a decision. Every filter is asked about every node by itself, so a node that
 * an early filter refused is judged by all of them.
 */
#include "shardsched/explain/explain.h"

#include <stdlib.h>
#include <string.h>

struct explain_work {
	struct explain *out;
	struct cycle *cycle;
	struct verdict verdict; /* the last that was asked for */
};

/* -- what a node has of what it lacks ------------------------------------------------ */

static int64_t has_of(const struct snapshot *snapshot, uint32_t slot,
                      const struct reason *reason)
{
	const struct node_row *row = &snapshot->row[slot];

	switch ((enum reason_code)reason->code) {
	case REASON_FIT_CPU:
		return row->alloc.cpu_milli;
	case REASON_FIT_MEMORY:
		return row->alloc.memory;
	case REASON_FIT_STORAGE:
		return row->alloc.storage;
	case REASON_FIT_PODS:
		return row->alloc.pods;
	case REASON_FIT_SCALAR:
		return resources_get(row->node.allocatable, reason->subject);
	default:
		return 0;
	}
}

/* The missing part of what the node has; a lack that can not be measured counts as all of
 * it. */
static double distance_of(const struct snapshot *snapshot, uint32_t slot,
                          const struct reason *reason)
{
	int64_t has = has_of(snapshot, slot, reason);

	if (reason->lacks <= 0 || has <= 0)
		return 1;
	return (double)reason->lacks / (double)has;
}

/* -- counting reasons ---------------------------------------------------------------- */

static bool is_same(const struct explain_reason *row, unsigned plugin,
                    const struct reason *reason)
{
	return row->plugin == plugin && row->reason.code == reason->code &&
	       row->reason.subject == reason->subject &&
	       row->reason.value == reason->value;
}

static struct explain_reason *row_of(struct explain *out, unsigned plugin,
                                     enum verdict_code code, const struct reason *reason)
{
	for (uint32_t i = 0; i < out->reasons; i++)
		if (is_same(&out->reason[i], plugin, reason))
			return &out->reason[i];
	if (out->reasons == EXPLAIN_REASONS_MAX) {
		out->unlisted++;
		return NULL;
	}
	out->reason[out->reasons] = (struct explain_reason){
		.plugin = plugin,
		.code = code,
		.reason = *reason,
		.lacks_most = reason->lacks,
		.row = out->reasons,
	};
	return &out->reason[out->reasons++];
}

static void count_reason(struct explain *out, struct explain_cluster *cluster,
                         unsigned plugin, enum verdict_code code,
                         const struct reason *reason, bool only)
{
	struct explain_reason *row = row_of(out, plugin, code, reason);

	if (row == NULL)
		return;
	row->nodes++;
	cluster->reasons[row->row]++;
	row->only += only;
	if (reason->lacks < row->reason.lacks)
		row->reason.lacks = reason->lacks;
	if (reason->lacks > row->lacks_most)
		row->lacks_most = reason->lacks;
}

/* -- by cluster ---------------------------------------------------------------------- */

static struct explain_cluster *cluster_of(struct explain *out, uint32_t cluster)
{
	struct explain_cluster *last = &out->cluster[EXPLAIN_CLUSTERS_MAX - 1];

	for (uint32_t i = 0; i < out->clusters; i++)
		if (out->cluster[i].cluster == cluster && !out->cluster[i].others)
			return &out->cluster[i];
	if (out->clusters < EXPLAIN_CLUSTERS_MAX) {
		out->cluster[out->clusters].cluster = cluster;
		return &out->cluster[out->clusters++];
	}
	last->cluster = 0;
	last->others = true;
	return last;
}

static int by_size(const void *a, const void *b)
{
	const struct explain_cluster *x = a, *y = b;

	if (x->others != y->others)
		return x->others ? 1 : -1;
	if (x->nodes != y->nodes)
		return x->nodes > y->nodes ? -1 : 1;
	return x->cluster < y->cluster ? -1 : x->cluster > y->cluster;
}

/* Before anything is counted, as the rows are put in order here. */
static void count_clusters(struct explain_work *work)
{
	struct explain *out = work->out;
	struct pl_bitset feasible = cycle_feasible(work->cycle);
	bool fits = out->decision->outcome.result == CYCLE_NODE;

	for (uint32_t slot = 0; slot < out->snapshot->slots; slot++) {
		const struct node_row *row = &out->snapshot->row[slot];
		struct explain_cluster *cluster;

		if (!pl_bitset_has(out->snapshot->open, slot))
			continue;
		cluster = cluster_of(out, row->cluster);
		cluster->nodes++;
		cluster->feasible += fits && pl_bitset_has(feasible, slot);
	}
	qsort(out->cluster, out->clusters, sizeof out->cluster[0], by_size);
}

/* -- nodes that are near ------------------------------------------------------------- */

static bool is_nearer(const struct explain_near *a, const struct explain_near *b)
{
	return a->count != b->count ? a->count < b->count : a->distance < b->distance;
}

static void keep_near(struct explain *out, const struct explain_near *near)
{
	uint32_t at = out->nears;

	while (at > 0 && is_nearer(near, &out->near[at - 1]))
		at--;
	if (at == EXPLAIN_NEAR_MAX)
		return;
	if (out->nears < EXPLAIN_NEAR_MAX)
		out->nears++;
	memmove(&out->near[at + 1], &out->near[at],
	        (out->nears - at - 1) * sizeof out->near[0]);
	out->near[at] = *near;
}

static void near_add(struct explain_work *work, struct explain_near *near,
                     unsigned plugin)
{
	for (uint32_t i = 0; i < work->verdict.count; i++) {
		const struct reason *reason = &work->verdict.reason[i];

		near->distance += distance_of(work->out->snapshot, near->slot, reason);
		if (near->count < EXPLAIN_NODE_REASONS_MAX) {
			near->reason[near->count].plugin = plugin;
			near->reason[near->count].reason = *reason;
		}
		near->count++;
	}
}

/* -- filters ------------------------------------------------------------------------- */

static void ask_node(struct explain_work *work, uint32_t slot)
{
	struct explain *out = work->out;
	struct explain_cluster *cluster =
		cluster_of(out, out->snapshot->row[slot].cluster);
	struct explain_near near = {.slot = slot};
	struct verdict said[PLUGINS_MAX];
	bool refused = false;

	for (uint32_t i = 0; i < out->filters; i++) {
		struct explain_filter *filter = &out->filter[i];

		said[i].count = 0;
		if (filter->skipped)
			continue;
		verdict_clear(&work->verdict);
		cycle_why_plugin(work->cycle, filter->plugin, slot, &work->verdict);
		if (work->verdict.code == VERDICT_SUCCESS)
			continue;
		refused = true;
		filter->alone++;
		cluster->alone[i]++;
		said[i] = work->verdict;
		near_add(work, &near, filter->plugin);
	}
	for (uint32_t i = 0; i < out->filters; i++)
		for (uint32_t j = 0; j < said[i].count; j++)
			count_reason(out, cluster, out->filter[i].plugin, said[i].code,
			             &said[i].reason[j], near.count == 1);
	if (near.count > EXPLAIN_NODE_REASONS_MAX)
		near.count = EXPLAIN_NODE_REASONS_MAX;
	if (refused)
		keep_near(out, &near);
}

static int by_nodes(const void *a, const void *b)
{
	const struct explain_reason *x = a, *y = b;

	if (x->nodes != y->nodes)
		return x->nodes > y->nodes ? -1 : 1;
	if (x->plugin != y->plugin)
		return x->plugin < y->plugin ? -1 : 1;
	if (x->reason.code != y->reason.code)
		return x->reason.code < y->reason.code ? -1 : 1;
	return 0;
}

static void ask_filters(struct explain_work *work)
{
	struct explain *out = work->out;
	const struct profile_point *point = &out->profile->at[POINT_FILTER];
	struct pl_bitset examined = cycle_examined(work->cycle);

	out->examined = (uint32_t)pl_bitset_count(examined);
	for (uint32_t i = 0; i < point->count; i++)
		out->filter[out->filters++] = (struct explain_filter){
			.plugin = point->plugin[i],
			.skipped = cycle_skipped(work->cycle, point->plugin[i],
		                                 POINT_FILTER),
			.first = out->decision->outcome.refused[point->plugin[i]],
		};
	PL_BITSET_EACH (slot, examined)
		ask_node(work, (uint32_t)slot);
	qsort(out->reason, out->reasons, sizeof out->reason[0], by_nodes);
}

/* A reason of PreFilter holds for all nodes. */
static void report_prefilter(struct explain *out)
{
	const struct verdict *pre = &out->decision->outcome.pre;

	for (uint32_t i = 0; i < pre->count; i++) {
		struct explain_reason *row =
			row_of(out, (unsigned)pre->plugin, pre->code, &pre->reason[i]);

		if (row != NULL)
			row->nodes = out->nodes;
	}
}

/* -- scores -------------------------------------------------------------------------- */

static void keep_best(struct explain *out, uint32_t slot, int64_t total)
{
	uint32_t at = out->bests;

	/* the chosen node stays in front; of equal nodes the lower slot comes first */
	while (at > 1 && out->best[at - 1].total < total)
		at--;
	if (at == EXPLAIN_BEST_MAX)
		return;
	if (out->bests < EXPLAIN_BEST_MAX)
		out->bests++;
	memmove(&out->best[at + 1], &out->best[at],
	        (out->bests - at - 1) * sizeof out->best[0]);
	out->best[at] = (struct explain_best){.slot = slot, .total = total};
}

static void share_scores(const struct explain_work *work, struct explain_best *best)
{
	const struct profile *profile = work->out->profile;
	const struct profile_point *point = &profile->at[POINT_SCORE];

	for (uint32_t i = 0; i < point->count; i++) {
		unsigned plugin = point->plugin[i];
		const int64_t *column = cycle_scores(work->cycle, plugin);

		if (column == NULL)
			continue;
		best->share[best->count++] = (struct explain_score){
			.plugin = plugin,
			.score = column[best->slot],
			.weight = profile->weight[plugin],
		};
	}
}

static void report_scores(struct explain_work *work)
{
	struct explain *out = work->out;
	const struct cycle_outcome *outcome = &out->decision->outcome;
	const int64_t *totals = cycle_totals(work->cycle);
	struct pl_bitset feasible = cycle_feasible(work->cycle);

	keep_best(out, outcome->node, outcome->total);
	/* without memory there are no runners-up */
	PL_BITSET_EACH (slot, feasible)
		if (totals != NULL && slot != outcome->node)
			keep_best(out, (uint32_t)slot, totals[slot]);
	for (uint32_t i = 0; i < out->bests; i++)
		share_scores(work, &out->best[i]);
}

/* -- rules that mean nothing ----------------------------------------------------------- */

static bool some_node_has_label(const struct snapshot *snapshot, uint32_t key)
{
	PL_BITSET_EACH (slot, snapshot->live)
		if (labels_get(snapshot->row[slot].node.labels, key) != 0)
			return true;
	return false;
}

static void on_rule(void *ctx, const struct spec_rule *rule)
{
	struct explain *out = ctx;
	bool no_node = rule->topology_key != 0 && out->snapshot->nodes > 0 &&
	               !some_node_has_label(out->snapshot, rule->topology_key);

	if ((rule->impossible || no_node) && out->warnings < EXPLAIN_WARNINGS_MAX)
		out->warning[out->warnings++] =
			(struct explain_warning){.rule = *rule, .no_node = no_node};
}

void explain_make(struct engine *engine, const struct pod *pod,
                  const struct engine_decision *decision, struct explain *out)
{
	struct explain_work work = {.out = out, .cycle = engine_cycle(engine)};

	memset(out, 0, sizeof *out);
	out->model = engine_model(engine);
	out->snapshot = engine_snapshot(engine);
	out->pod = pod;
	out->decision = decision;
	out->profile = decision->profile;
	out->nodes = (uint32_t)pl_bitset_count(out->snapshot->open);
	spec_rules_each(out->model, pod->spec, on_rule, out);
	if (decision->gated)
		return;
	out->feasible = decision->outcome.feasible;
	if (decision->outcome.pre.code != VERDICT_SUCCESS) {
		report_prefilter(out);
		return;
	}
	count_clusters(&work);
	ask_filters(&work);
	if (decision->outcome.result == CYCLE_NODE)
		report_scores(&work);
}
