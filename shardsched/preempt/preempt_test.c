#include "tests/harness/torture.h"
#include "tests/support/shardsched/preempt/preempt_rig.h"

#define NODE(name, cpu)                                                    \
	"{'metadata':{'name':'" name "','labels':{'zone':'z'}},'status':{" \
	"'allocatable':{'cpu':'" cpu "','memory':'64Gi','pods':'100'}}}"
#define POD(name, spec)              \
	"{'metadata':{'name':'" name \
	"','namespace':'d','labels':{'app':'a'}},'spec':{" spec "}}"
#define ASKS(cpu)                                                                    \
	"'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'" cpu \
	"'}}}]"

static struct preempt_outcome out;
static struct cycle_outcome last;

static void decide(const struct pod *pod, const struct preempt_opts *opts)
{
	struct pod_self self = rig_self(pod);

	cycle_run(rig.cycle, rig_class(pod->spec), &self, opts->draw, &last);
	T_EQ(last.result, CYCLE_NONE);
	preempt_run(rig.preempt, rig.cycle, &last, opts, &out);
}

static const struct preempt_opts kube = {
	.candidates_percent = 10, .candidates_least = 100, .keep_all = true};

static void preempts(const char *json, const char *node, const char *victims)
{
	struct pod pod = pod_from(json);
	struct rig_text text = {{0}, 0};

	decide(&pod, &kube);
	T_EQ(out.code, node == NULL ? VERDICT_UNSCHEDULABLE : VERDICT_SUCCESS);
	if (node != NULL)
		T_SPAN(model_text(&model, snapshot.row[out.node].node.name),
		       pl_span_str(node));
	for (uint32_t i = 0; i < out.victims; i++)
		rig_say(&text, "%s" PL_SPAN_FMT, i == 0 ? "" : " ",
		        PL_SPAN_ARG(
				model_text(&model, snapshot.placed[out.victim[i]].name)));
	T_STR(text.at, victims);
	snapshot_check(&snapshot);
	pod_drop(&model, &pod);
}

static void put_placed(uint32_t slot, const char *json)
{
	struct pod pod = pod_from(json);

	(void)rig_put_placed(slot, &pod);
	pod_drop(&model, &pod);
}

#define PUT_PLACED(slot, name, cpu, priority) \
	put_placed(slot, POD(name, ASKS(cpu) ",'priority':" priority))
#define STARTED(name, priority, time)                                    \
	"{'metadata':{'name':'" name "','namespace':'d'},'spec':{" ASKS( \
		"1") ",'priority':" priority                             \
		     "},'status':{'startTime':'2024-01-01T00:00:" time "Z'}}"

T_CASE(as_many_pods_as_possible_are_reprieved)
{
	uint32_t a;

	rig_begin("", false);
	a = put_node(NODE("a", "4"));
	PUT_PLACED(a, "high", "1", "50");
	PUT_PLACED(a, "mid", "1", "20");
	PUT_PLACED(a, "low", "1", "10");
	PUT_PLACED(a, "above", "1", "100");
	preempts(POD("p", ASKS("2") ",'priority':100"), "a", "mid low");
	preempts(POD("q", ASKS("1") ",'priority':100"), "a", "low");
	preempts(POD("r", ASKS("1") ",'priority':15"), "a", "low");
	preempts(POD("s", ASKS("1") ",'priority':10"), NULL, "");
	preempts(POD("t", ASKS("4") ",'priority':100"), NULL, "");
	preempts(POD("u", ASKS("1") ",'priority':100,'preemptionPolicy':'Never'"), NULL,
	         "");
	rig_end();
}

T_CASE(youngest_pods_are_victims_first)
{
	uint32_t a;

	rig_begin("", false);
	a = put_node(NODE("a", "3"));
	put_placed(a, STARTED("old", "1", "01"));
	put_placed(a, STARTED("young", "1", "03"));
	put_placed(a, STARTED("middle", "1", "02"));
	preempts(POD("p", ASKS("1") ",'priority':9"), "a", "young");
	preempts(POD("q", ASKS("2") ",'priority':9"), "a", "middle young");
	rig_end();
}

T_CASE(names_decide_between_equal_starts)
{
	uint32_t a, b;

	rig_begin("", false);
	a = put_node(NODE("a", "3"));
	put_placed(a, STARTED("r", "1", "01"));
	put_placed(a, STARTED("s", "1", "01"));
	PUT_PLACED(a, "t", "1", "9");
	preempts(POD("p", ASKS("1") ",'priority':9"), "a", "s");
	preempts(POD("q", ASKS("2") ",'priority':9"), "a", "r s");
	rig_end();
	rig_begin("", false);
	b = put_node(NODE("b", "3"));
	PUT_PLACED(b, "r", "1", "1");
	put_placed(b, STARTED("s", "1", "01"));
	PUT_PLACED(b, "t", "1", "1");
	preempts(POD("p", ASKS("1") ",'priority':9"), "b", "r");
	preempts(POD("q", ASKS("2") ",'priority':9"), "b", "t r");
	rig_end();
}

T_CASE(protected_pods_are_reprieved_first)
{
	uint32_t a;

	rig_begin("", false);
	a = put_node(NODE("a", "3"));
	PUT_PLACED(a, "high", "1", "5");
	put_placed(
		a,
		"{'metadata':{'name':'protected','namespace':'d','labels':{'app':'w'}},"
		"'spec':{" ASKS("1") ",'priority':1}}");
	put_placed(
		a,
		"{'metadata':{'name':'protected2','namespace':'d','labels':{'app':'w'}},"
		"'spec':{" ASKS("1") ",'priority':1}}");
	rig_budget("{'metadata':{'name':'b','namespace':'d'},'spec':{'selector':{"
	           "'matchLabels':{'app':'w'}}},'status':{'disruptionsAllowed':1}}");
	/* One protected pod may go, the second one would overdraw the budget. */
	preempts(POD("p", ASKS("1") ",'priority':9"), "a", "protected2");
	T_EQ(out.violations, 0);
	preempts(POD("q", ASKS("2") ",'priority':9"), "a", "high protected2");
	T_EQ(out.violations, 0);
	preempts(POD("r", ASKS("3") ",'priority':9"), "a", "protected high protected2");
	T_EQ(out.violations, 1);
	rig_budget("{'metadata':{'name':'b','namespace':'d'},'spec':{'selector':{"
	           "'matchLabels':{'app':'w'}}},'status':{'disruptionsAllowed':0,"
	           "'disruptedPods':{'protected':'2024-01-01T00:00:00Z'}}}");
	preempts(POD("s", ASKS("1") ",'priority':9"), "a", "protected");
	T_EQ(out.violations, 0);
	rig_end();

	/* A budget never selects pods without labels. */
	rig_begin("", false);
	a = put_node(NODE("a", "2"));
	PUT_PLACED(a, "high", "1", "5");
	put_placed(a, "{'metadata':{'name':'bare','namespace':'d'},'spec':{" ASKS(
			      "1") ",'priority':1}}");
	rig_budget("{'metadata':{'name':'b','namespace':'d'},'spec':{'selector':{"
	           "'matchExpressions':[{'key':'no','operator':'DoesNotExist'}]}}}");
	preempts(POD("p", ASKS("1") ",'priority':9"), "a", "bare");
	T_EQ(out.violations, 0);
	rig_end();
}

T_CASE(better_candidate_is_chosen)
{
	uint32_t a, b, c;

	rig_begin("", false);
	a = put_node(NODE("a", "2"));
	b = put_node(NODE("b", "2"));
	c = put_node(NODE("c", "2"));
	PUT_PLACED(a, "a1", "2", "7");
	PUT_PLACED(b, "b1", "2", "3");
	PUT_PLACED(c, "c1", "1", "3");
	PUT_PLACED(c, "c2", "1", "3");
	/* lowest sum of priorities */
	preempts(POD("p", ASKS("2") ",'priority':9"), "b", "b1");
	T_EQ(out.candidates, 3);
	T_EQ(out.tied_count, 1);
	/* a tie: the first node */
	preempts(POD("q", ASKS("1") ",'priority':9"), "b", "b1");
	T_EQ(out.tied_count, 2);
	rig_end();

	/* The lowest priority adds nothing to a sum, so here the number of victims
	 * decides. */
	rig_begin("", false);
	a = put_node(NODE("a", "2"));
	b = put_node(NODE("b", "2"));
	PUT_PLACED(a, "a1", "1", "0");
	PUT_PLACED(a, "a2", "1", "-2147483648");
	PUT_PLACED(b, "b1", "2", "0");
	preempts(POD("p", ASKS("2") ",'priority':9"), "b", "b1");
	T_EQ(out.tied_count, 1);
	rig_end();
}

#define PROTECTED(name, time)                                                       \
	"{'metadata':{'name':'" name                                                \
	"','namespace':'d','labels':{'app':'w'}},'spec':{" ASKS(                    \
		"1") ",'priority':1},'status':{'startTime':'2024-01-01T00:00:" time \
		     "Z'}}"

T_CASE(protected_and_other_victims_of_equal_age)
{
	uint32_t a, b;

	rig_begin("", false);
	a = put_node(NODE("a", "2"));
	b = put_node(NODE("b", "2"));
	put_placed(a, PROTECTED("protected-a", "03"));
	put_placed(a, STARTED("other-a", "1", "01"));
	put_placed(b, PROTECTED("protected-b", "02"));
	put_placed(b, STARTED("other-b", "1", "04"));
	rig_budget("{'metadata':{'name':'b','namespace':'d'},'spec':{'selector':{"
	           "'matchLabels':{'app':'w'}}},'status':{'disruptionsAllowed':0}}");
	preempts(POD("p", ASKS("2") ",'priority':9"), "b", "protected-b other-b");
	T_EQ(out.violations, 1);
	T_EQ(out.tied_count, 1);
	rig_end();
}

#define BUDGET(allowed)                                                 \
	"{'metadata':{'name':'b','namespace':'d'},'spec':{'selector':{" \
	"'matchLabels':{'app':'w'}}},'status':{'disruptionsAllowed':" allowed "}}"

static void best_is(const char *json, uint32_t node)
{
	struct preempt_opts opts = kube;
	struct pod pod = pod_from(json);

	opts.keep_all = false;
	decide(&pod, &opts);
	T_EQ(out.node, node);
	pod_drop(&model, &pod);
}

T_CASE(losing_node_may_win_next_time)
{
	uint32_t a, b;

	rig_begin("", false);
	b = put_node(NODE("b", "4"));
	a = put_node(NODE("a", "4"));
	PUT_PLACED(b, "y1", "2", "2");
	PUT_PLACED(b, "y2", "2", "2");
	put_placed(a, PROTECTED("x1", "01"));
	PUT_PLACED(a, "x2", "3", "3");
	/* A pod of another class asks. */
	best_is(POD("p", ASKS("2") ",'priority':9"), b);
	best_is(POD("q", ASKS("1") ",'priority':9"), a);
	best_is(POD("p", ASKS("2") ",'priority':9"), b);
	/* A budget allows more evictions. */
	rig_budget(BUDGET("0"));
	best_is(POD("q", ASKS("1") ",'priority':9"), b);
	rig_budget(BUDGET("1"));
	best_is(POD("q", ASKS("1") ",'priority':9"), a);
	rig_end();
}

T_CASE(nominated_pod_waits_for_its_victims)
{
	uint32_t a;

	rig_begin("", false);
	a = put_node(NODE("a", "1"));
	put_placed(
		a,
		"{'metadata':{'name':'going','namespace':'d',"
		"'deletionTimestamp':'2024-01-01T00:00:00Z'},'spec':{" ASKS(
			"1") "},'status':{'conditions':[{'type':'DisruptionTarget','status':'True',"
			     "'reason':'PreemptionByScheduler'}]}}");
	preempts("{'metadata':{'name':'p','namespace':'d'},'spec':{" ASKS(
			 "1") ",'priority':9},'status':{'nominatedNodeName':'a'}}",
	         NULL, "");
	preempts(POD("q", ASKS("1") ",'priority':9"), "a", "going");
	rig_end();

	rig_begin("", false);
	a = put_node(NODE("a", "1"));
	put_placed(a,
	           "{'metadata':{'name':'rolled','namespace':'d',"
	           "'deletionTimestamp':'2024-01-01T00:00:00Z'},'spec':{" ASKS("1") "}}");
	preempts("{'metadata':{'name':'p','namespace':'d'},'spec':{" ASKS(
			 "1") ",'priority':9},'status':{'nominatedNodeName':'a'}}",
	         "a", "rolled");
	rig_end();
}

T_CASE(unresolvable_nodes_are_not_tried)
{
	uint32_t a;

	rig_begin("", false);
	a = put_node("{'metadata':{'name':'a'},'spec':{'taints':[{'key':'k','effect':"
	             "'NoSchedule'}]},'status':{'allocatable':{'cpu':'1','pods':'9'}}}");
	PUT_PLACED(a, "low", "1", "1");
	preempts(POD("p", ASKS("1") ",'priority':9"), NULL, "");
	T_EQ(out.tried, 0);
	preempts(
		POD("q", ASKS("1") ",'priority':9,'tolerations':[{'operator':'Exists'}]"),
		"a", "low");
	T_EQ(out.tried, 1);
	(void)put_node(NODE("b", "1"));
	preempts(POD("r",
	             ASKS("1") ",'priority':9,'affinity':{'podAffinity':{"
	                       "'requiredDuringSchedulingIgnoredDuringExecution':[{"
	                       "'topologyKey':'zone','labelSelector':{'matchLabels':{"
	                       "'app':'none'}}}]}}"),
	         NULL, "");
	T_EQ(out.tried, 0);
	rig_end();
}

T_CASE(search_stops_at_enough_candidates)
{
	struct preempt_opts opts = {.candidates_percent = 10, .candidates_least = 3};
	uint32_t seen = 0;

	rig_begin("", false);
	for (int i = 0; i < 100; i++) {
		struct rig_text text = {{0}, 0};

		rig_say(&text,
		        "{'metadata':{'name':'n%d'},'status':{'allocatable':{'cpu':'1',"
		        "'pods':'9'}}}",
		        i);
		PUT_PLACED(put_node(text.at), "low", "1", "1");
	}
	for (uint64_t draw = 0; draw < 100; draw++) {
		struct pod pod = pod_from(POD("p", ASKS("1") ",'priority':9"));

		opts.draw = draw;
		decide(&pod, &opts);
		T_EQ(out.tried, 10);
		T_EQ(out.node, draw);
		seen += out.candidates;
		pod_drop(&model, &pod);
	}
	T_EQ(seen, 0); /* not reported unless asked for */
	rig_end();
}

static const struct pod *preemptor;

static enum pl_code tortured(void)
{
	struct pod_self self = rig_self(preemptor);
	struct preempt *made = NULL;
	enum pl_code code = preempt_new(&made, &err);

	if (code != PL_OK)
		return code;
	cycle_run(rig.cycle, rig_class(preemptor->spec), &self, 0, &last);
	if (last.result == CYCLE_NONE) {
		preempt_run(made, rig.cycle, &last, &kube, &out);
		code = out.code == VERDICT_ERROR ? PL_NOMEM : PL_OK;
		if (code == PL_OK)
			T_EQ(out.candidates, 20);
	} else {
		code = PL_NOMEM;
	}
	preempt_free(made);
	snapshot_check(&snapshot);
	return code;
}

T_CASE(failed_allocation_restores_the_snapshot)
{
	struct pod pod;

	rig_begin("", false);
	for (int i = 0; i < 20; i++) {
		struct rig_text text = {{0}, 0};
		uint32_t slot;

		rig_say(&text,
		        "{'metadata':{'name':'n%d'},'status':{'allocatable':{'cpu':'9',"
		        "'pods':'9'}}}",
		        i);
		slot = put_node(text.at);
		for (int k = 0; k < 9; k++)
			PUT_PLACED(slot, "low", "1", "1");
	}
	rig_budget("{'metadata':{'name':'b','namespace':'d'},'spec':{'selector':{"
	           "'matchLabels':{'app':'a'}}},'status':{'disruptionsAllowed':1}}");
	pod = pod_from(POD("p", ASKS("4") ",'priority':9"));
	preemptor = &pod;
	(void)rig_class(pod.spec);
	t_torture(tortured, false);
	rig.preempt->never_sums = true;
	decide(&pod, &kube);
	T_EQ(out.candidates, 20);
	pod_drop(&model, &pod);
	rig_end();
}

T_CASE(later_runs_allocate_nothing)
{
	uint64_t before;
	struct pod pod;
	uint32_t a;

	rig_begin("", true);
	a = put_node(NODE("a", "3"));
	PUT_PLACED(a, "x", "1", "1");
	PUT_PLACED(a, "y", "1", "2");
	PUT_PLACED(a, "z", "1", "3");
	pod = pod_from(POD("p", ASKS("2") ",'priority':9"));
	decide(&pod, &kube);
	pl_fault_reset();
	before = pl_fault_hits(PL_FAULT_ALLOC);
	for (int i = 0; i < 100; i++)
		decide(&pod, &kube);
	T_EQ(pl_fault_hits(PL_FAULT_ALLOC), before);
	pod_drop(&model, &pod);
	rig_end();
}

static void refuses(const char *args, const char *words)
{
	struct rig_text text = {{0}, 0};
	struct profiles profiles;
	char room[4096];

	rig_say(&text,
	        "{'profiles':[{'schedulerName':'s','pluginConfig':[{'name':"
	        "'DefaultPreemption','args':%s}]}]}",
	        args);
	begin();
	if (words == NULL) {
		T_OK(profiles_parse(&model, &plugins, json_of(room, text.at), &profiles,
		                    &err),
		     &err);
		profiles_drop(&profiles);
	} else {
		T_CODE(profiles_parse(&model, &plugins, json_of(room, text.at), &profiles,
		                      &err),
		       PL_INVALID, &err);
		if (strstr(err.msg, words) == NULL)
			t_fail(__FILE__, __LINE__, "'%s' is not in '%s'", words, err.msg);
	}
	end();
}

T_CASE(arguments_are_checked)
{
	refuses("{}", NULL);
	refuses("{'kind':'DefaultPreemptionArgs','minCandidateNodesPercentage':100,"
	        "'minCandidateNodesAbsolute':0}",
	        NULL);
	refuses("{'minCandidateNodesPercentage':101}",
	        "args.minCandidateNodesPercentage");
	refuses("{'minCandidateNodesPercentage':-1}", "args.minCandidateNodesPercentage");
	refuses("{'minCandidateNodesAbsolute':-1}", "args.minCandidateNodesAbsolute");
	refuses("{'minCandidateNodesAbsolute':0,'minCandidateNodesPercentage':0}",
	        "both 0");
	refuses("{'minCandidates':1}", "minCandidates");
}

T_CASE(plugin_uses_its_arguments)
{
	struct preempt_request job = {.opts = {.keep_all = true}};
	struct verdict verdict;
	struct pod pod;
	uint32_t a;

	char room[4096];
	struct pl_span config = json_of(
		room,
		"{'profiles':[{'schedulerName':'default-scheduler','pluginConfig':[{"
		"'name':'DefaultPreemption','args':{'minCandidateNodesPercentage':0,"
		"'minCandidateNodesAbsolute':1}}]}]}");

	room[config.len] = '\0';
	rig_begin(room, false);
	for (int i = 0; i < 4; i++) {
		static const char *const nodes[] = {NODE("a", "1"), NODE("b", "1"),
		                                    NODE("c", "1"), NODE("d", "1")};

		a = put_node(nodes[i]);
		PUT_PLACED(a, "low", "1", "1");
	}
	pod = pod_from(POD("p", ASKS("1") ",'priority':9"));
	decide(&pod, &kube);
	job.preempt = rig.preempt;
	job.last = &last;
	cycle_set_post_filter_ctx(rig.cycle, &job);
	T_EQ(cycle_post_filter(rig.cycle, &verdict), VERDICT_SUCCESS);
	cycle_set_post_filter_ctx(rig.cycle, NULL);
	T_TRUE(job.ran);
	T_EQ(job.out.candidates, 1);
	/* without a request */
	T_EQ(cycle_post_filter(rig.cycle, &verdict), VERDICT_UNSCHEDULABLE);
	pod_drop(&model, &pod);
	rig_end();
}

/* The plugin that the pod waits for need not be the first one to refuse. */
T_CASE(plugins_that_refuse_without_victims_are_reported)
{
	static const char request[] =
		POD("p", "'priority':5,'containers':[{'name':'c','ports':[{"
	                 "'containerPort':1,'hostPort':1}],'resources':{'requests':{"
	                 "'cpu':'3'}}}]");
	static const char lacks[] =
		POD("q", "'priority':5,'containers':[{'name':'c','resources':{"
	                 "'requests':{'example.com/none':'1'}}}]");
	const uint64_t fit = UINT64_C(1) << index_of_plugin_fit;
	const uint64_t ports = UINT64_C(1) << index_of_plugin_node_ports;

	rig_begin("", false);
	(void)put_node(NODE("a", "4"));
	put_placed(0, POD("low", "'priority':1,'containers':[{'name':'c','ports':[{"
	                         "'containerPort':1,'hostPort':1}]}]"));
	PUT_PLACED(0, "high", "2", "9");
	for (unsigned i = 0; i < 2; i++) { /* the second run uses the cached sums */
		preempts(request, NULL, "");
		T_EQ(last.refused_by, ports);
		T_EQ(out.refused_by, fit);
	}
	preempts(lacks, NULL, "");
	T_EQ(out.refused_by, fit);
	put_placed(0, POD("keeper", "'priority':9,'containers':[{'name':'c','ports':[{"
	                            "'containerPort':1,'hostPort':2}]}]"));
	preempts(POD("r", "'priority':5,'containers':[{'name':'c','ports':[{"
	                  "'containerPort':1,'hostPort':2}],'resources':{'requests':{"
	                  "'cpu':'2'}}}]"),
	         NULL, "");
	T_EQ(out.refused_by, ports);
	rig_end();
}
