/*
 * Random filters and scores on random nodes, with nominations and narrowed searches: a
 * cycle, with and without cached results, agrees with a loop that judges the nodes one by
 * one.
 */
#include "tests/support/shardsched/framework/framework_rig.h"

enum { NODES = 150, ROUNDS = 1500 };

static struct pl_rng rng;
static struct cycle *cycles[2];

/* -- what is kept: everything, made anew each time --------------------------------------- */

static struct stage_results results;
/* the cache fails after everything was asked, as when memory runs out */
static bool gives_up;
static uint64_t kept_word[CYCLE_BLOCK / 64];
static uint8_t kept_refuser[CYCLE_BLOCK];
static int32_t kept_total[CYCLE_BLOCK], kept_raw[STAGE_BY_MAX_LIMIT][CYCLE_BLOCK];

static const struct stage_results *get_results(void *ctx, struct cycle *of,
                                               struct fw_class *asked_class,
                                               const struct stage_plan *plan)
{
	struct node_span span = {0, snapshot.capacity / 64, kept_word};
	struct stage_out put = {.refuser = kept_refuser, .total = kept_total};

	(void)ctx;
	T_TRUE(asked_class == class);
	results = (struct stage_results){.feasible = {kept_word, snapshot.capacity},
	                                 .refuser = kept_refuser,
	                                 .total = kept_total};
	pl_bitset_copy(results.feasible, snapshot.live);
	for (uint32_t i = 0; i < plan->by_max_count; i++)
		results.by_max[i] = put.by_max[i] = kept_raw[i];
	fake_local = true;
	T_TRUE(stage_local(of, span, &put));
	fake_local = false;
	if (gives_up)
		return NULL;
	results.count = (uint32_t)pl_bitset_count(results.feasible);
	PL_BITSET_EACH (slot, snapshot.live)
		results.refused[kept_refuser[slot]] +=
			!pl_bitset_has(results.feasible, slot);
	PL_BITSET_EACH (slot, results.feasible)
		for (uint32_t i = 0; i < plan->by_max_count; i++)
			if (kept_raw[i][slot] > results.max[i])
				results.max[i] = kept_raw[i][slot];
	PL_BITSET_EACH (slot, results.feasible)
		for (uint32_t i = 0; i < plan->by_max_count; i++)
			kept_total[slot] += stage_weigh(
				&plan->by_max[i], kept_raw[i][slot], results.max[i]);
	return &results;
}

static void best(void *ctx, struct fw_class *asked_class, uint64_t draw,
                 struct stage_winner *to)
{
	uint32_t left = 0;

	(void)ctx, (void)asked_class;
	*to = (struct stage_winner){.total = -1};
	PL_BITSET_EACH (slot, results.feasible) {
		if (kept_total[slot] > to->total)
			*to = (struct stage_winner){.total = kept_total[slot]};
		to->ties += kept_total[slot] == to->total;
	}
	left = stage_pick(draw, to->ties);
	PL_BITSET_EACH (slot, results.feasible)
		if (kept_total[slot] == to->total && left-- == 0)
			to->slot = (uint32_t)slot;
}

/* -- the model --------------------------------------------------------------------------- */

struct model_answer {
	struct cycle_outcome out;
	int refused_by[NODES]; /* -1: no plugin */
	bool examined[NODES];
	int64_t total[NODES];
};

static const struct pod_self self = {.nominated = SNAPSHOT_NONE};

static bool counts(const struct nomination *at)
{
	return at->view->spec->priority >= class->view->spec->priority;
}

/* The first plugin that refuses the node with more pods on it. */
static int model_refuser(uint32_t slot, uint32_t more)
{
	const struct profile_point *at = &class->profile->at[POINT_FILTER];

	for (unsigned i = 0; i < at->count; i++) {
		const struct fake_plugin *is = &fake[at->plugin[i]];
		uint32_t pods = snapshot.row[slot].pods + more;

		if (is->pre_filter == VERDICT_SKIP)
			continue;
		if ((is->refuses_mod != 0 &&
		     slot % is->refuses_mod == is->refuses_rest) ||
		    (is->pods_max != 0 && pods >= is->pods_max) || pods < is->pods_min)
			return at->plugin[i];
	}
	return -1;
}

static int model_node(uint32_t slot)
{
	uint32_t more = 0;
	int by = -1;

	for (uint32_t i = snapshot.row[slot].first_nomination; i != SNAPSHOT_NONE;
	     i = snapshot.nomination[i].next)
		more += counts(&snapshot.nomination[i]);
	by = more == 0 ? -1 : model_refuser(slot, more);
	return by >= 0 ? by : model_refuser(slot, 0);
}

static bool model_examined(uint32_t slot)
{
	for (unsigned i = 0; i < FAKES; i++)
		if (fake[i].narrow_mod != 0 && fake[i].pre_filter != VERDICT_SKIP &&
		    slot % fake[i].narrow_mod != 0)
			return false;
	return pl_bitset_has(snapshot.live, slot);
}

static void model_filter(struct model_answer *answer)
{
	for (unsigned i = 0; i < FAKES; i++)
		if (fake[i].narrow_mod != 0 && fake[i].pre_filter != VERDICT_SKIP)
			answer->out.refused_by |= UINT64_C(1) << i;
	for (uint32_t slot = 0; slot < NODES; slot++) {
		answer->examined[slot] = model_examined(slot);
		answer->refused_by[slot] = FAKES; /* not called */
		if (!answer->examined[slot])
			continue;
		answer->refused_by[slot] = model_node(slot);
		if (answer->refused_by[slot] >= 0) {
			answer->out.refused[answer->refused_by[slot]]++;
			answer->out.refused_by |= UINT64_C(1) << answer->refused_by[slot];
		} else {
			answer->out.feasible++;
		}
	}
}

static int64_t model_normal(unsigned plugin, int64_t raw, int64_t most)
{
	int64_t share = most == 0 ? 0 : raw * 100 / most;

	switch (fake_rows[plugin]->normal) {
	case PLUGIN_AS_IS:
		return raw;
	case PLUGIN_BY_MAX:
		return share;
	case PLUGIN_BY_MAX_DOWN:
		return 100 - share;
	case PLUGIN_BY_ITSELF:
		break;
	}
	return raw / 2;
}

static void model_score(struct model_answer *answer, unsigned plugin)
{
	int64_t most = 0;

	if (fake[plugin].pre_score == VERDICT_SKIP)
		return;
	for (uint32_t slot = 0; slot < NODES; slot++)
		if (answer->refused_by[slot] == -1 && fake_score(plugin, slot) > most)
			most = fake_score(plugin, slot);
	for (uint32_t slot = 0; slot < NODES; slot++)
		answer->total[slot] +=
			class->profile->weight[plugin] *
			model_normal(plugin, fake_score(plugin, slot), most);
}

static void model_choose(struct model_answer *answer, uint64_t draw)
{
	uint32_t left = 0;

	answer->out.total = -1;
	for (uint32_t slot = 0; slot < NODES; slot++) {
		if (answer->refused_by[slot] != -1)
			continue;
		if (answer->total[slot] > answer->out.total) {
			answer->out.total = answer->total[slot];
			answer->out.best = 0;
		}
		answer->out.best += answer->total[slot] == answer->out.total;
	}
	left = stage_pick(draw, answer->out.best);
	for (uint32_t slot = 0; slot < NODES; slot++)
		if (answer->refused_by[slot] == -1 &&
		    answer->total[slot] == answer->out.total && left-- == 0)
			answer->out.node = slot;
}

static void model_run(struct model_answer *answer, uint64_t draw)
{
	memset(answer, 0, sizeof *answer);
	model_filter(answer);
	for (unsigned i = 0; i < FAKES; i++)
		model_score(answer, i);
	if (answer->out.feasible != 0)
		model_choose(answer, draw);
}

/* -- compared ---------------------------------------------------------------------------- */

static void same_sets(struct cycle *cycle, const struct model_answer *want)
{
	struct pl_bitset feasible = cycle_feasible(cycle);
	struct pl_bitset examined = cycle_examined(cycle);
	const int64_t *totals = cycle_totals(cycle);
	uint64_t word[CYCLE_BLOCK / 64];
	struct pl_bitset refused = pl_bitset_init(word, snapshot.capacity);
	struct verdict verdict;

	for (uint32_t slot = 0; slot < NODES; slot++) {
		T_EQ(pl_bitset_has(feasible, slot), want->refused_by[slot] == -1);
		T_EQ(pl_bitset_has(examined, slot), want->examined[slot]);
		if (want->refused_by[slot] == -1)
			T_EQ(totals[slot], want->total[slot]);
		if (!want->examined[slot])
			continue;
		cycle_why(cycle, slot, &verdict);
		T_EQ(verdict.plugin, want->refused_by[slot]);
		T_EQ(verdict.code == VERDICT_SUCCESS, want->refused_by[slot] == -1);
	}
	for (unsigned i = 0; i < FAKES; i++) {
		cycle_refused(cycle, i, refused);
		T_EQ(pl_bitset_count(refused), want->out.refused[i]);
		PL_BITSET_EACH (slot, refused)
			T_EQ(want->refused_by[slot], (int)i);
	}
}

static void same(struct cycle *cycle, const struct cycle_outcome *got,
                 const struct model_answer *want)
{
	if (got->pre.code != VERDICT_SUCCESS) { /* narrowed to no node */
		T_EQ(got->pre.plugin, -1);
		T_EQ(got->pre.reason[0].code, REASON_NARROWED);
		for (uint32_t slot = 0; slot < NODES; slot++)
			T_TRUE(!want->examined[slot]);
		return;
	}
	T_EQ(got->feasible, want->out.feasible);
	T_EQ(got->result, want->out.feasible == 0 ? CYCLE_NONE : CYCLE_NODE);
	T_EQ(got->refused_by, want->out.refused_by);
	for (unsigned i = 0; i < FAKES; i++)
		T_EQ(got->refused[i], want->out.refused[i]);
	if (want->out.feasible != 0) {
		T_EQ(got->total, want->out.total);
		T_EQ(got->best, want->out.best);
		T_EQ(got->node, want->out.node);
	}
	same_sets(cycle, want);
}

static uint32_t mostly_none(uint32_t below)
{
	return pl_rng_chance(&rng, 1, 2) ? 0 : 1 + (uint32_t)pl_rng_below(&rng, below);
}

static void any_fakes(void)
{
	static const uint32_t mods[] = {1, 2, 5, 30, 101};

	for (unsigned i = 0; i < FAKES; i++) {
		fake[i] = (struct fake_plugin){.refuses_mod = mostly_none(20),
		                               .score_mod = mods[pl_rng_below(&rng, 5)],
		                               .pods_max = mostly_none(6),
		                               .pods_min = pl_rng_chance(&rng, 1, 12)};
		if (i == FAKE_BLIND)
			fake[i].pods_max = 0;
		if (i < FAKE_FIRST_GLOBAL) /* more pods do not help */
			fake[i].pods_min = 0;
		if (fake[i].refuses_mod != 0)
			fake[i].refuses_rest =
				(uint32_t)pl_rng_below(&rng, fake[i].refuses_mod);
		if (pl_rng_chance(&rng, 1, 20))
			fake[i].narrow_mod = 1 + (uint32_t)pl_rng_below(&rng, 200);
		if (pl_rng_chance(&rng, 1, 6))
			fake[i].pre_filter = VERDICT_SKIP;
		if (pl_rng_chance(&rng, 1, 6))
			fake[i].pre_score = VERDICT_SKIP;
	}
}

static void any_pods(void)
{
	static const char *const texts[] = {
		"{'metadata':{'name':'x'},'spec':{'priority':4}}",
		"{'metadata':{'name':'x'},'spec':{'priority':5}}",
		"{'metadata':{'name':'x'},'spec':{'priority':6}}"};

	for (uint32_t i = 0; i < NODES; i++)
		for (uint64_t left = pl_rng_below(&rng, 4); left > 0; left--)
			(void)put_pod(i, texts[0]);
	for (unsigned i = 0; i < NODES / 3; i++) {
		struct pod pod = pod_from(texts[i % 3]);
		struct pod_on_node there = on_node(&pod);
		uint32_t nomination = 0;

		T_OK(snapshot_nominate(&snapshot, (uint32_t)pl_rng_below(&rng, NODES),
		                       &there, &nomination, &err),
		     &err);
		pod_drop(&model, &pod);
	}
}

static void compare_one(void)
{
	static struct model_answer answer;
	uint64_t draw = pl_rng_next(&rng);
	struct cycle_outcome got;

	model_run(&answer, draw);
	gives_up = pl_rng_chance(&rng, 1, 10);
	for (unsigned i = 0; i < 2; i++) {
		cycle_run(cycles[i], class, &self, draw, &got);
		same(cycles[i], &got, &answer);
	}
}

static void compare(const char *config, bool nominated)
{
	const struct cycle_cache cache = {.get_results = get_results, .best = best};
	struct cycle_opts opts = {.snapshot = &snapshot};

	pl_rng_init(&rng, t_seed());
	rig_begin(NODES, config, "{'metadata':{'name':'p'},'spec':{'priority':5}}");
	if (nominated)
		any_pods();
	T_OK(cycle_new(&opts, &cycles[0], &err), &err);
	opts.cache = &cache;
	T_OK(cycle_new(&opts, &cycles[1], &err), &err);
	for (unsigned round = 0; round < ROUNDS; round++) {
		any_fakes();
		compare_one();
	}
	cycle_free(cycles[0]);
	cycle_free(cycles[1]);
	rig_end();
}

T_CASE_SECONDS(cycles_agree_with_a_loop_over_nodes, 60)
{
	compare("{}", false);
}

T_CASE_SECONDS(nominated_pods_count, 60)
{
	compare("{}", true);
}

T_CASE_SECONDS(filters_run_in_the_order_of_the_profile, 60)
{
	compare("{'profiles':[{'plugins':{'filter':{'enabled':[{'name':'Five'},{'name':"
	        "'Three'},{'name':'One'}]},'score':{'enabled':[{'name':'Two','weight':"
	        "100000},{'name':'Four','weight':3}]}}}]}",
	        true);
}
