/* Resources of a cycle: memory and time, and what happens when there is not enough. */
#include "tests/harness/torture.h"
#include "tests/support/shardsched/framework/framework_rig.h"

static const char plain_pod[] = "{'metadata':{'name':'p','uid':'u'},'spec':{'priority':"
				"5}}";
static const struct pod_self self = {.nominated = SNAPSHOT_NONE};

static struct cycle *cycle;
static struct cycle_outcome out;

static uint64_t fake_clock(void *ctx)
{
	(void)ctx;
	return fake_now_ns += 10;
}

static void run_begin(struct cycle_opts opts, uint32_t nodes)
{
	rig_begin(nodes, "{}", plain_pod);
	fake_now_ns = 0;
	opts.snapshot = &snapshot;
	T_OK(cycle_new(&opts, &cycle, &err), &err);
}

static void run_end(void)
{
	cycle_free(cycle);
	rig_end();
}

static void nominate(uint32_t slot, const char *text)
{
	struct pod pod = pod_from(text);
	struct pod_on_node there = on_node(&pod);
	uint32_t nomination = 0;

	T_OK(snapshot_nominate(&snapshot, slot, &there, &nomination, &err), &err);
	pod_drop(&model, &pod);
}

/* -- memory ------------------------------------------------------------------------------ */

T_CASE_SECONDS(later_runs_allocate_nothing, 60)
{
	run_begin((struct cycle_opts){.clock = fake_clock}, 5000);
	fake[0] =
		(struct fake_plugin){.refuses_mod = 3, .score_mod = 50, .narrow_mod = 1};
	fake[2].arena_bytes = 100000;
	fake[4] = (struct fake_plugin){.pods_max = 1, .score_mod = 9};
	nominate(7, "{'metadata':{'name':'x'},'spec':{'priority':9}}");
	for (unsigned i = 0; i < 3; i++)
		cycle_run(cycle, class, &self, 0, &out);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	for (unsigned i = 0; i < 40; i++)
		cycle_run(cycle, class, &self, UINT64_C(1) << i, &out);
	T_TRUE(!pl_fault_fired(PL_FAULT_ALLOC));
	pl_fault_reset();
	T_EQ(out.result, CYCLE_NODE);
	T_EQ(out.refused[4], 1);
	T_EQ(fake[4].moved, 0);
	run_end();
}

T_CASE(cycle_grows_with_its_snapshot)
{
	run_begin((struct cycle_opts){.keep_scores = true}, 1);
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.feasible, 1);
	put_nodes(1500);
	cycle_run(cycle, class, &self, UINT64_MAX - UINT32_MAX, &out);
	T_EQ(out.feasible, 1500);
	T_EQ(out.node, 1499);
	T_EQ(cycle_totals(cycle)[1499], out.total);
	run_end();
}

static enum pl_code tortured(void)
{
	struct cycle_opts opts = {.snapshot = &snapshot, .keep_scores = true};
	enum pl_code code = cycle_new(&opts, &cycle, &err);

	if (code != PL_OK)
		return code;
	cycle_run(cycle, class, &self, 0, &out);
	if (out.result == CYCLE_ERROR) {
		T_EQ(out.pre.code, VERDICT_ERROR);
		T_EQ(out.pre.plugin, -1);
		T_EQ(fake[4].moved, 0);
		code = PL_NOMEM;
		/* Later runs have all the memory that they need. */
		cycle_run(cycle, class, &self, 0, &out);
	}
	T_EQ(out.result, CYCLE_NODE);
	if (cycle_totals(cycle) == NULL)
		code = PL_NOMEM;
	cycle_free(cycle);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	rig_begin(10, "{}", plain_pod);
	fake[0].narrow_mod = 0;
	nominate(3, "{'metadata':{'name':'x'},'spec':{'priority':9}}");
	t_torture(tortured, false);
	rig_end();
}

T_CASE(failed_class_open_leaves_nothing_open)
{
	struct pod pod;

	rig_begin(1, "{}", plain_pod);
	pod = pod_from("{'metadata':{'name':'z'},'spec':{'priority':1}}");
	for (uint64_t nth = 1;; nth++) {
		struct fw_class *opened = NULL;
		enum pl_code code = PL_OK;

		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = fw_class_open(&snapshot, &profiles.at[0], pod.spec, &opened, &err);
		if (!pl_fault_fired(PL_FAULT_ALLOC)) {
			T_OK(code, &err);
			fw_class_close(&snapshot, opened);
			break;
		}
		T_EQ(code, PL_NOMEM);
	}
	pl_fault_reset();
	pod_drop(&model, &pod);
	rig_end();
}

/* -- what is kept ------------------------------------------------------------------------ */

static unsigned brought;

static const struct stage_results *bring_nothing(void *ctx, struct cycle *of,
                                                 struct fw_class *asked_class,
                                                 const struct stage_plan *plan)
{
	(void)ctx, (void)of, (void)asked_class, (void)plan;
	brought++;
	return NULL;
}

static unsigned bring_asked(struct cycle_opts opts, const char *pod, const char *config)
{
	static const struct cycle_cache cache = {.get_results = bring_nothing};

	rig_begin(3, config, pod);
	opts.snapshot = &snapshot;
	opts.cache = &cache;
	T_OK(cycle_new(&opts, &cycle, &err), &err);
	brought = 0;
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.feasible, 3);
	/* Results of a probe are not cached. */
	snapshot_probe(&snapshot);
	cycle_run(cycle, class, &self, 0, &out);
	snapshot_probe_end(&snapshot);
	T_EQ(out.feasible, 3);
	run_end();
	return brought;
}

T_CASE(cached_results_are_used_where_allowed)
{
	static const char by_name[] =
		"{'metadata':{'name':'p'},'spec':{'volumes':[{'name':'v','ephemeral':{"
		"'volumeClaimTemplate':{'spec':{'accessModes':['ReadWriteOnce'],"
		"'resources':{'requests':{'storage':'1Gi'}}}}}}]}}";
	static const char global_first[] =
		"{'profiles':[{'plugins':{'filter':{'enabled':[{'name':'Four'}]}}}]}";

	T_EQ(bring_asked((struct cycle_opts){.no_cache = false}, plain_pod, "{}"), 1);
	T_EQ(bring_asked((struct cycle_opts){.no_cache = true}, plain_pod, "{}"), 0);
	T_EQ(bring_asked((struct cycle_opts){.keep_scores = true}, plain_pod, "{}"), 0);
	T_EQ(bring_asked((struct cycle_opts){.clock = NULL}, by_name, "{}"), 0);
	T_EQ(bring_asked((struct cycle_opts){.clock = NULL}, plain_pod, global_first), 0);
}

/* -- nominations ------------------------------------------------------------------------- */

T_CASE(nominated_pod_goes_to_its_node)
{
	struct pod_self nominated = {.nominated = 5};

	run_begin((struct cycle_opts){.clock = NULL}, 8);
	fake[0].score_mod = 100;
	cycle_run(cycle, class, &nominated, 0, &out);
	T_TRUE(out.nominated);
	T_EQ(out.node, 5);
	T_EQ(out.feasible, 1);
	T_EQ(out.total, 35 + 5 * 100); /* the third score counts down */
	T_EQ(fake[0].asked, 1);
	/* The nominated node does not fit any more: the pod is decided as any other. */
	fake[2] = (struct fake_plugin){.refuses_mod = 8, .refuses_rest = 5};
	cycle_run(cycle, class, &nominated, 0, &out);
	T_TRUE(!out.nominated);
	T_EQ(out.node, 7);
	T_EQ(out.refused[2], 1);
	/* The nominated node does not exist. */
	nominated.nominated = 400;
	cycle_run(cycle, class, &nominated, 0, &out);
	T_EQ(out.node, 7);
	run_end();
}

static bool fits(uint32_t slot)
{
	bool does = false;

	snapshot_probe(&snapshot);
	does = cycle_fits(cycle, slot);
	snapshot_probe_end(&snapshot);
	return does;
}

T_CASE(own_nomination_does_not_count_against_a_pod)
{
	struct pod_self one = {.nominated = SNAPSHOT_NONE};

	run_begin((struct cycle_opts){.clock = NULL}, 2);
	fake[0].pods_max = 1;
	nominate(0, "{'metadata':{'name':'p','uid':'u1'},'spec':{'priority':5}}");
	nominate(1, "{'metadata':{'name':'q','uid':'u2'},'spec':{'priority':5}}");
	one.uid = id("u1");
	cycle_run(cycle, class, &one, 0, &out);
	T_EQ(out.feasible, 1);
	T_EQ(out.node, 0);
	T_EQ(out.refused[0], 1);
	T_TRUE(fits(0));
	T_TRUE(!fits(1));
	run_end();
}

T_CASE(plugins_follow_a_probe)
{
	uint32_t placed = 0;

	run_begin((struct cycle_opts){.clock = NULL}, 2);
	placed = put_pod(0, "{'metadata':{'name':'v'}}");
	(void)put_pod(1, "{'metadata':{'name':'w'}}");
	fake[4].pods_max = 1;
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.result, CYCLE_NONE);
	snapshot_probe(&snapshot);
	cycle_remove_pod(cycle, placed);
	T_EQ(fake[4].moved, -1);
	T_TRUE(cycle_fits(cycle, 0));
	T_TRUE(!cycle_fits(cycle, 1));
	cycle_add_pod(cycle, placed);
	T_TRUE(!cycle_fits(cycle, 0));
	snapshot_probe_end(&snapshot);
	T_EQ(fake[4].moved, 0);
	run_end();
}

/* -- time -------------------------------------------------------------------------------- */

T_CASE(plugin_over_its_budget_fails_the_cycle)
{
	struct plugin_metrics figures;

	run_begin((struct cycle_opts){.clock = fake_clock, .plugin_budget_ns = 1000}, 4);
	for (unsigned i = 0; i < 3; i++) {
		cycle_run(cycle, class, &self, 0, &out);
		T_EQ(out.result, CYCLE_NODE);
	}
	/* The cycle is not timed at first, and is run again. */
	fake[2].takes_ns = 5000;
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.result, CYCLE_ERROR);
	T_EQ(out.pre.plugin, 2);
	T_EQ(out.pre.reason[0].code, REASON_OVERRAN);
	cycle_plugin_metrics(cycle, 2, &figures);
	T_EQ(figures.overran, 1);
	T_EQ(figures.failed, 1);
	fake[2].takes_ns = 0;
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.result, CYCLE_NODE);
	run_end();
}

T_CASE(plugins_over_the_budget_only_together_do_not_fail)
{
	run_begin((struct cycle_opts){.clock = fake_clock, .plugin_budget_ns = 1000}, 4);
	for (unsigned i = 0; i < FAKES; i++)
		fake[i].takes_ns = 700;
	for (unsigned i = 0; i < 40; i++) {
		cycle_run(cycle, class, &self, 0, &out);
		T_EQ(out.result, CYCLE_NODE);
	}
	run_end();
}

T_CASE(plugin_times_are_estimated_from_timed_cycles)
{
	struct plugin_metrics figures;

	run_begin((struct cycle_opts){.clock = fake_clock}, 4);
	fake[0] = (struct fake_plugin){.takes_ns = 1000, .refuses_mod = 4};
	fake[2] = (struct fake_plugin){.pre_filter = VERDICT_SKIP,
	                               .pre_score = VERDICT_SKIP};
	for (unsigned i = 0; i < 160; i++)
		cycle_run(cycle, class, &self, 0, &out);
	cycle_plugin_metrics(cycle, 0, &figures);
	T_EQ(figures.runs, 160);
	T_EQ(figures.refused, 160);
	T_EQ(figures.failed, 0);
	T_TRUE(figures.ns[POINT_FILTER] >= 160000 && figures.ns[POINT_FILTER] < 170000);
	T_TRUE(figures.ns[POINT_SCORE] < 5000);
	cycle_plugin_metrics(cycle, 2, &figures);
	T_EQ(figures.runs, 0);
	T_EQ(figures.skips, 160);
	run_end();
}
