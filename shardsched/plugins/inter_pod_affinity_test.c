#include "store/base/fault.h"
#include "tests/support/shardsched/plugins/inter_pod_rig.h"

T_CASE(scores_are_scaled_to_their_range)
{
	struct inter_pod_state state = {.low = -5, .high = 10};
	const struct plugin_call call = {.state = &state};
	int64_t score[64] = {-5, 10, 2, 99999};
	uint64_t bits = 7;
	struct pl_bitset set = {&bits, 64};

	row->normalize(&call, set, score);
	T_EQ(score[0], 0);
	T_EQ(score[1], 100);
	T_EQ(score[2], 46);
	T_EQ(score[3], 99999);
	state = (struct inter_pod_state){.low = 0, .high = 99999};
	bits = UINT64_MAX;
	row->normalize(&call, set, score);
	T_EQ(score[3], 100);
	T_EQ(score[1], 0);
	state.low = state.high = 7;
	row->normalize(&call, set, score);
	T_EQ(score[3], 0);
}

T_CASE(hint_tells_helpful_events_from_others)
{
	struct queue_event node = {.kind = QUEUE_EV_NODE_ADDED};
	struct queue_event added = {.kind = QUEUE_EV_POD_ADDED};
	struct queue_event removed = {.kind = QUEUE_EV_POD_REMOVED};
	struct asked_class near = {0}, away = {0};
	struct plugin_call call;

	begin();
	(void)put_node("{'metadata':{'name':'a','labels':{'zone':'1'}}}");
	near.pod = pod_from(
		"{'metadata':{'name':'p','namespace':'a'},'spec':{'containers':"
		"[{'name':'c'}],'affinity':{'podAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':"
		"{'matchLabels':{'app':'y'}},'topologyKey':'zone'}]}}}}");
	away.pod = pod_from(
		"{'metadata':{'name':'p','namespace':'a'},'spec':{'containers':"
		"[{'name':'c'}],'affinity':{'podAntiAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':"
		"{'matchLabels':{'app':'y'}},'topologyKey':'zone'}]}}}}");
	T_OK(asked_open(&near), &err);
	T_OK(asked_open(&away), &err);
	call = call_of(&near, NULL);
	T_TRUE(row->hint(&call, &added));
	T_TRUE(row->hint(&call, &removed));
	T_TRUE(!row->hint(&call, &node));
	call = call_of(&away, NULL);
	T_TRUE(!row->hint(&call, &added));
	T_TRUE(row->hint(&call, &removed));
	T_TRUE(row->hint(&call, &node));
	(void)put_pod(0, "{'metadata':{'name':'q','namespace':'b'},'spec':{'containers':"
	                 "[{'name':'c'}]}}");
	call = call_of(&near, NULL);
	T_TRUE(row->hint(&call, &node)); /* pods of the node may be wanted elsewhere */
	T_TRUE((row->events & QUEUE_ON(NODE_REMOVED)) != 0);
	snapshot_pod_remove(&snapshot, snapshot.row[0].first_pod);
	node.object = 17; /* the node does not exist any more */
	call = call_of(&near, NULL);
	T_TRUE(row->hint(&call, &node));
	asked_close(&near);
	asked_close(&away);
	end();
}

static enum pl_code args_of(const char *text_of_args, struct inter_pod_args *out)
{
	struct pl_json json;
	char room[4096];
	enum pl_code code;

	begin();
	T_OK(pl_json_parse(&arena, json_of(room, text_of_args), NULL, &json, &err), &err);
	code = row->args_parse(&model, json, out, &err);
	end();
	return code;
}

T_CASE(arguments_are_checked)
{
	struct inter_pod_args args;

	T_OK(row->args_parse(&model, (struct pl_json){0}, &args, &err), &err);
	T_EQ(args.hard_weight, 1);
	T_TRUE(!args.ignore_others);
	T_OK(args_of("{'hardPodAffinityWeight':0,'ignorePreferredTermsOfExistingPods':"
	             "true,'kind':'InterPodAffinityArgs'}",
	             &args),
	     &err);
	T_EQ(args.hard_weight, 0);
	T_TRUE(args.ignore_others);
	T_CODE(args_of("{'hardPodAffinityWeight':101}", &args), PL_INVALID, NULL);
	T_TRUE(strstr(err.msg, "hardPodAffinityWeight") != NULL);
	T_CODE(args_of("{'hardPodAffinityWeight':-1}", &args), PL_INVALID, NULL);
	T_CODE(args_of("{'hardWeight':1}", &args), PL_INVALID, NULL);
	T_TRUE(strstr(err.msg, "hardWeight") != NULL);
}

#define BOTH                                                                         \
	"{'metadata':{'name':'p','namespace':'a','labels':{'app':'x'}},'spec':{'c"   \
	"ontainers':[{'name':'c'}],'affinity':{'podAffinity':{'preferredDuringSched" \
	"ulingIgnoredDuringExecution':[{'weight':1,'podAffinityTerm':{'labelSelecto" \
	"r':{},'topologyKey':'zone'}}]},'podAntiAffinity':{'requiredDuringSchedulin" \
	"gIgnoredDuringExecution':[{'labelSelector':{'matchLabels':{'app':'x'}},'to" \
	"pologyKey':'host'}]}}}}"

static void decide_and_place(struct asked_class *asked)
{
	struct inter_pod_state state = {0};
	struct plugin_call call = call_of(asked, &state);
	struct pod_on_node there = on_node(&asked->pod);
	struct plugin_narrow narrow = {0};
	struct verdict verdict;
	int64_t score[SNAPSHOT_PAD];
	uint64_t bits[SNAPSHOT_PAD / 64] = {3};
	const struct node_span span = {0, 1, bits};
	uint32_t placed;

	verdict_clear(&verdict);
	T_EQ(row->pre_filter(&call, &narrow, &verdict), VERDICT_SUCCESS);
	row->filter(&call, span);
	T_EQ(bits[0], 2);
	T_EQ(row->pre_score(&call, (struct pl_bitset){bits, 64}, &verdict),
	     VERDICT_SUCCESS);
	T_TRUE(row->score(&call, span, score));
	row->normalize(&call, (struct pl_bitset){bits, 64}, score);
	T_OK(snapshot_pod_add(&snapshot, 1, &there, &placed, &err), &err);
	snapshot_pod_remove(&snapshot, placed);
	pl_arena_reset(&arena);
}

T_CASE(cycle_allocates_nothing)
{
	struct asked_class asked = {0};

	begin();
	(void)put_node("{'metadata':{'name':'a','labels':{'zone':'1','host':'a'}}}");
	(void)put_node("{'metadata':{'name':'b','labels':{'zone':'1','host':'b'}}}");
	asked.pod = pod_from(BOTH);
	T_OK(asked_open(&asked), &err);
	(void)put_pod(0, BOTH);
	decide_and_place(&asked);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	for (unsigned i = 0; i < 10; i++)
		decide_and_place(&asked);
	T_TRUE(!pl_fault_fired(PL_FAULT_ALLOC));
	pl_fault_reset();
	asked_close(&asked);
	snapshot_pod_remove(&snapshot, snapshot.row[0].first_pod);
	end();
}

T_CASE(every_allocation_of_open_may_fail)
{
	enum pl_code code = PL_NOMEM;
	uint64_t nth = 0;
	struct asked_class asked = {0};

	begin();
	asked.pod = pod_from(
		"{'metadata':{'name':'p','namespace':'a','labels':{'app':'x'}},'spec':"
		"{'containers':[{'name':'c'}],'affinity':{'podAffinity':{"
		"'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':{},"
		"'topologyKey':'zone'},{'labelSelector':{},'topologyKey':'host'}],"
		"'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':1,"
		"'podAffinityTerm':{'labelSelector':null,'topologyKey':'rack'}}]},"
		"'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':["
		"{'labelSelector':{'matchLabels':{'app':'y'}},'topologyKey':'zone'}]}}}}");
	while (code != PL_OK) {
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, ++nth);
		code = asked_open(&asked);
		T_CODE(code, pl_fault_fired(PL_FAULT_ALLOC) ? PL_NOMEM : PL_OK, &err);
		pl_fault_reset();
		snapshot_check(&snapshot);
	}
	T_TRUE(nth > 10);
	asked_close(&asked);
	end();
}
