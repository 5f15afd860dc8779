#include "store/base/fault.h"
#include "tests/support/shardsched/framework/framework_rig.h"

static const char plain_pod[] = "{'metadata':{'name':'p','namespace':'a'},'spec':{"
				"'priority':5}}";
static const struct pod_self self = {.nominated = SNAPSHOT_NONE};

static struct cycle *cycle;
static struct cycle_outcome out;

static void run_begin(const struct cycle_opts *opts, uint32_t nodes)
{
	struct cycle_opts class_state = *opts;

	rig_begin(nodes, "{}", plain_pod);
	class_state.snapshot = &snapshot;
	T_OK(cycle_new(&class_state, &cycle, &err), &err);
}

static void run_end(void)
{
	cycle_free(cycle);
	rig_end();
}

static const struct cycle_opts none = {.clock = NULL};

T_CASE(without_nodes_nothing_is_feasible)
{
	run_begin(&none, 0);
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.result, CYCLE_NONE);
	T_EQ(out.feasible, 0);
	T_EQ(out.refused_by, 0);
	run_end();
}

T_CASE(first_refusal_of_a_node_is_counted)
{
	struct verdict verdict;

	run_begin(&none, 12);
	fake[0] = (struct fake_plugin){.refuses_mod = 3};
	fake[1] = (struct fake_plugin){.refuses_mod = 2};
	fake[4] = (struct fake_plugin){.refuses_mod = 5, .refuses_rest = 1};
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.result, CYCLE_NODE);
	T_EQ(out.refused[0], 4); /* 0 3 6 9 */
	T_EQ(out.refused[1], 4); /* 2 4 8 10 */
	T_EQ(out.refused[4], 2); /* 1 11 */
	T_EQ(out.feasible, 2);   /* 5 7 */
	T_EQ(out.refused_by, 1 << 0 | 1 << 1 | 1 << 4);
	cycle_why(cycle, 6, &verdict);
	T_EQ(verdict.code, VERDICT_UNSCHEDULABLE);
	T_EQ(verdict.plugin, 0);
	cycle_why_plugin(cycle, 1, 6, &verdict);
	T_EQ(verdict.plugin, 1);
	cycle_why(cycle, 5, &verdict);
	T_EQ(verdict.code, VERDICT_SUCCESS);
	run_end();
}

T_CASE(filters_run_only_while_nodes_are_left)
{
	run_begin(&none, 100);
	fake[0] = (struct fake_plugin){.refuses_mod = 1};
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.result, CYCLE_NONE);
	T_EQ(out.refused[0], 100);
	T_EQ(fake[0].asked, 1);
	T_EQ(fake[2].asked, 0);
	run_end();
}

T_CASE(draw_picks_among_equal_nodes_in_slot_order)
{
	run_begin(&none, 8);
	fake[0] = (struct fake_plugin){.refuses_mod = 2};
	for (uint64_t quarter = 0; quarter < 4; quarter++) {
		cycle_run(cycle, class, &self, quarter << 62, &out);
		T_EQ(out.best, 4);
		T_EQ(out.node, 1 + 2 * quarter);
		cycle_run(cycle, class, &self, (quarter << 62) + (1 << 30), &out);
		T_EQ(out.node, 1 + 2 * ((quarter + 1) % 4));
	}
	run_end();
}

T_CASE(skipped_filter_is_not_called)
{
	run_begin(&none, 8);
	fake[0] = (struct fake_plugin){.refuses_mod = 1, .pre_filter = VERDICT_SKIP};
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.feasible, 8);
	T_TRUE(cycle_skipped(cycle, 0, POINT_FILTER));
	T_TRUE(!cycle_skipped(cycle, 1, POINT_FILTER));
	run_end();
}

T_CASE(a_pre_filter_refuses_the_pod)
{
	struct verdict verdict;

	run_begin(&none, 8);
	fake[1].pre_filter = VERDICT_UNRESOLVABLE;
	fake[2].pre_filter = VERDICT_ERROR;
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.result, CYCLE_NONE);
	T_EQ(out.pre.code, VERDICT_UNRESOLVABLE);
	T_EQ(out.pre.plugin, 1);
	T_EQ(out.pre.reason[0].code, REASON_AFFINITY_NAMES);
	T_EQ(out.refused_by, 1 << 1);
	T_EQ(fake[0].asked, 0);
	T_TRUE(pl_bitset_empty(cycle_feasible(cycle)));
	cycle_why(cycle, 3, &verdict);
	T_EQ(verdict.plugin, 1);
	run_end();
}

T_CASE(narrowed_sets_are_intersected)
{
	run_begin(&none, 13);
	fake[0].narrow_mod = 2;
	fake[1].narrow_mod = 3;
	cycle_run(cycle, class, &self, 0, &out);
	T_TRUE(out.narrowed);
	T_EQ(out.feasible, 3); /* 0 6 12 */
	T_EQ(pl_bitset_count(cycle_examined(cycle)), 3);
	T_EQ(out.refused_by, 1 << 0 | 1 << 1);
	run_end();
}

T_CASE(disjoint_narrowed_sets_refuse_the_pod)
{
	struct pl_buf text;

	run_begin(&none, 8);
	pl_buf_init(&text, 1000);
	fake[3].narrow_mod = 1;
	fake[2].narrow_mod = 8;
	cycle_restrict_nodes(cycle, pl_bitset_init((uint64_t[8]){0}, snapshot.capacity));
	T_EQ(snapshot.capacity, 512);
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.result, CYCLE_NONE);
	T_EQ(out.pre.code, VERDICT_UNSCHEDULABLE);
	T_EQ(out.pre.plugin, -1);
	T_EQ(out.refused_by, 1 << 2);
	T_OK(reason_print(&model.strings, &out.pre.reason[0], &text), NULL);
	T_SPAN(pl_buf_span(&text), pl_span_str("node(s) didn't satisfy plugin Two"));
	pl_buf_done(&text);
	run_end();
}

T_CASE(scores_are_normalised_and_weighted)
{
	struct cycle_opts keep = {.keep_scores = true};

	run_begin(&keep, 4);
	fake[0].score_mod = 50; /* scores 0 7 14 21 */
	fake[2].score_mod = 50; /* by max: 0 33 66 100 */
	fake[3].score_mod = 50; /* down: 100 67 34 0 */
	fake[4].score_mod = 50; /* half: 0 3 7 10 */
	fake[5].score_mod = 15; /* 0 7 14 6, by max: 0 50 100 42 */
	fake[1].pre_score = VERDICT_SKIP;
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.result, CYCLE_NODE);
	T_EQ(cycle_scores(cycle, 0)[3], 21);
	T_TRUE(cycle_scores(cycle, 1) == NULL);
	T_EQ(cycle_scores(cycle, 2)[1], 33);
	T_EQ(cycle_scores(cycle, 3)[1], 67);
	T_EQ(cycle_scores(cycle, 4)[3], 10);
	T_EQ(cycle_scores(cycle, 5)[3], 42);
	T_EQ(cycle_totals(cycle)[0], 5 * 100);
	T_EQ(cycle_totals(cycle)[1], 7 + 2 * 33 + 5 * 67 + 7 * 3 + 50);
	T_EQ(cycle_totals(cycle)[3], 21 + 2 * 100 + 7 * 10 + 42);
	T_EQ(out.node, 0);
	T_EQ(out.total, 500);
	run_end();
}

T_CASE(failed_plugin_ends_the_cycle_and_is_named)
{
	run_begin(&none, 4);
	fake[1].pre_filter = VERDICT_ERROR;
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.result, CYCLE_ERROR);
	T_EQ(out.pre.plugin, 1);
	T_EQ(out.pre.code, VERDICT_ERROR);
	fake[1].pre_filter = VERDICT_SUCCESS;
	fake[2].pre_score = VERDICT_ERROR;
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.result, CYCLE_ERROR);
	T_EQ(out.pre.plugin, 2);
	/* No node is left to be scored. */
	fake[0].refuses_mod = 1;
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.result, CYCLE_NONE);
	fake[0].refuses_mod = 0;
	fake[2].pre_score = VERDICT_SUCCESS;
	fake[5].pre_score = VERDICT_ERROR;
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.result, CYCLE_ERROR);
	T_EQ(out.pre.plugin, 5);
	fake[5].pre_score = VERDICT_SUCCESS;
	cycle_run(cycle, class, &self, 0, &out);
	T_EQ(out.result, CYCLE_NODE);
	run_end();
}

T_CASE(score_out_of_range_fails_the_cycle)
{
	static const struct {
		unsigned plugin;
		int64_t score;
	} bad[] = {{0, 128}, {0, -1}, {2, INT64_C(1) << 31}, {2, -1},
	           {4, 256}, {4, -2}, {5, INT64_C(1) << 40}, {5, -1}};

	run_begin(&none, 70);
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		memset(fake, 0, sizeof fake);
		fake[1].refuses_mod = 3;
		fake[bad[i].plugin].score_plus = bad[i].score;
		cycle_run(cycle, class, &self, 0, &out);
		T_EQ(out.result, CYCLE_ERROR);
		T_EQ(out.pre.plugin, (int)bad[i].plugin);
		T_EQ(out.pre.reason[0].code, REASON_SCORE_RANGE);
	}
	run_end();
}
