#include "shardsched/gang/gang.h"
#include "shardsched/gang/gang_int.h"
#include "shardsched/snapshot/assumed.h"
#include "tests/harness/torture.h"
#include "tests/support/shardsched/preempt/preempt_rig.h"

enum { MOST = 64 };

static struct pod pod[MOST];
static struct gang_member member[MOST];
static uint32_t members;
static struct gang *gang;
static struct gang_outcome out;
static struct gang_opts opts;

static void start(void)
{
	rig_begin("", true);
	T_OK(gang_new(&gang, &err), &err);
	opts = (struct gang_opts){.draw = 7};
	members = 0;
}

static void dismiss(void)
{
	while (members > 0)
		pod_drop(&model, &pod[--members]);
}

static void finish(void)
{
	dismiss();
	gang_free(gang);
	rig_end();
}

#define OF(name, more)               \
	"{'metadata':{'name':'" name \
	"','namespace':'d','annotations':{'placet.io/gang':'g'" more
#define ASKS(cpu, more)                                                                      \
	"'spec':{'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'" cpu \
	"'}}}]" more "}}"
#define MIN(count) ",'placet.io/gang-min':'" count "'"
#define DOMAIN(key) ",'placet.io/gang-domain':'" key "'"

static void join(const char *json)
{
	T_TRUE(members < MOST);
	pod[members] = pod_from(json);
	member[members].class = rig_class(pod[members].spec);
	member[members].self = rig_self(&pod[members]);
	members++;
}

static void join_many(uint32_t count, const char *annotations, const char *rest)
{
	for (uint32_t i = 0; i < count; i++) {
		struct rig_text text = {{0}, 0};

		rig_say(&text,
		        "{'metadata':{'name':'m%u','namespace':'d','labels':{'app':'g'},"
		        "'annotations':{'placet.io/gang':'g'%s}},%s",
		        members, annotations, rest);
		join(text.at);
	}
}

static void decide(enum gang_result result)
{
	uint32_t before = snapshot.placed_count;

	T_OK(gang_decide(gang, rig.cycle, member, members, &opts, &out, &err), &err);
	if (out.result != result)
		t_fail(__FILE__, __LINE__, "it is %s, want %s",
		       gang_result_word(out.result), gang_result_word(result));
	T_EQ(snapshot.placed_count, before);
	snapshot_check(&snapshot);
}

/* want: "a b - a", the node of each member. */
static void goes(const char *want)
{
	struct rig_text text = {{0}, 0};

	for (uint32_t i = 0; i < members; i++) {
		struct pl_span name = PL_SPAN_LIT("-");

		if (out.slot[i] != SNAPSHOT_NONE)
			name = model_text(&model, snapshot.row[out.slot[i]].node.name);
		rig_say(&text, "%s" PL_SPAN_FMT, i == 0 ? "" : " ", PL_SPAN_ARG(name));
	}
	T_STR(text.at, want);
}

static uint32_t node(const char *name, const char *rack, const char *cpu)
{
	struct rig_text text = {{0}, 0};

	rig_say(&text,
	        "{'metadata':{'name':'%s','labels':{'rack':'%s','host':'%s'}},'status':{"
	        "'allocatable':{'cpu':'%s','memory':'64Gi','pods':'100'}}}",
	        name, rack, name, cpu);
	return put_node(text.at);
}

T_CASE(gang_is_placed_whole_or_not_at_all)
{
	start();
	(void)node("a", "r", "2");
	(void)node("b", "r", "2");
	join_many(4, MIN("4"), ASKS("1", ""));
	decide(GANG_PLACED);
	T_EQ(out.placed, 4);
	T_EQ(out.work, 4);
	join_many(1, MIN("4"), ASKS("1", ""));
	decide(GANG_PLACED); /* beyond the minimum */
	T_EQ(out.placed, 4);
	T_EQ(out.slot[4], SNAPSHOT_NONE);
	dismiss();
	join_many(5, MIN("5"), ASKS("1", ""));
	decide(GANG_NO_ROOM);
	T_EQ(out.placed, 4);
	T_EQ(out.blocked, 4);
	T_EQ(out.why.result, CYCLE_NONE);
	T_EQ(out.why.refused[index_of_plugin_fit], 2);
	T_TRUE(out.slot == NULL);
	opts.present = 1; /* one member is placed already: four more are enough */
	decide(GANG_PLACED);
	T_EQ(out.placed, 4);
	finish();
}

T_CASE(incomplete_gang_waits)
{
	start();
	(void)node("a", "r", "2");
	decide(GANG_INCOMPLETE);
	join_many(2, MIN("3"), ASKS("1", ""));
	decide(GANG_INCOMPLETE);
	opts.present = 1;
	decide(GANG_PLACED);
	opts.present = 9; /* as many more as fit */
	decide(GANG_PLACED);
	T_EQ(out.placed, 2);
	finish();
}

static void disagrees(const char *one, const char *two, enum gang_fault fault)
{
	start();
	(void)node("a", "r", "9");
	join(one);
	join(one);
	pod_drop(&model, &pod[1]);
	members = 1;
	join(two);
	decide(GANG_DISAGREES);
	T_EQ(out.fault, fault);
	T_EQ(out.member, 1);
	T_EQ(out.other, 0);
	T_TRUE(gang_fault_field(fault)[0] != '\0' &&
	       gang_fault_sentence(fault)[0] != '\0');
	finish();
}

T_CASE(disagreeing_gang_is_excluded)
{
	const char *one = OF("a", "") "}}," ASKS("1", "");

	disagrees(one,
	          "{'metadata':{'name':'b','namespace':'d','annotations':{"
	          "'placet.io/gang':'h'}}," ASKS("1", ""),
	          GANG_FAULT_GANG);
	disagrees(one,
	          "{'metadata':{'name':'b','namespace':'e','annotations':{"
	          "'placet.io/gang':'g'}}," ASKS("1", ""),
	          GANG_FAULT_NAMESPACE);
	disagrees(one, OF("b", MIN("2")) "}}," ASKS("1", ""), GANG_FAULT_MINIMUM);
	disagrees(one, OF("b", DOMAIN("rack")) "}}," ASKS("1", ""), GANG_FAULT_DOMAIN);
	disagrees(one, OF("a", "") "}}," ASKS("2", ""), GANG_FAULT_NAME);
	disagrees(OF("a", "") "},'uid':'u'}," ASKS("1", ""),
	          OF("b", "") "},'uid':'u'}," ASKS("1", ""), GANG_FAULT_UID);
}

T_CASE(rules_between_members_hold)
{
	start();
	(void)node("a", "r", "9");
	(void)node("b", "r", "9");
	(void)node("c", "s", "9");
	join_many(4, MIN("3"),
	          ASKS("1", ",'affinity':{'podAntiAffinity':{"
	                    "'requiredDuringSchedulingIgnoredDuringExecution':[{"
	                    "'topologyKey':'host','labelSelector':{'matchLabels':{"
	                    "'app':'g'}}}]}}"));
	decide(GANG_PLACED);
	T_EQ(out.placed, 3);
	T_TRUE(out.slot[0] != out.slot[1] && out.slot[0] != out.slot[2] &&
	       out.slot[1] != out.slot[2]);
	finish();
}

T_CASE(members_are_spread)
{
	start();
	(void)node("a", "r", "9");
	(void)node("b", "r", "9");
	(void)node("c", "s", "9");
	join_many(6, MIN("6"),
	          ASKS("1", ",'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':"
	                    "'rack','whenUnsatisfiable':'DoNotSchedule','labelSelector':{"
	                    "'matchLabels':{'app':'g'}}}]"));
	decide(GANG_PLACED);
	{
		uint32_t in_s = 0;

		for (uint32_t i = 0; i < 6; i++)
			in_s += out.slot[i] == 2;
		T_EQ(in_s, 3);
	}
	finish();
}

T_CASE(group_that_needs_others_is_tried_again)
{
	start();
	(void)node("a", "r", "4");
	(void)node("b", "s", "4");
	join_many(2, MIN("3"),
	          ASKS("2", ",'affinity':{'podAffinity':{"
	                    "'requiredDuringSchedulingIgnoredDuringExecution':[{"
	                    "'topologyKey':'rack','labelSelector':{'matchLabels':{"
	                    "'role':'leader'}}}]}}"));
	join("{'metadata':{'name':'leader','namespace':'d','labels':{'role':'leader'},"
	     "'annotations':{'placet.io/gang':'g'" MIN("3") "}}," ASKS("100m", ""));
	decide(GANG_NO_ROOM); /* no rack has room for all three */
	dismiss();
	rig_close_classes();
	join_many(2, MIN("3"),
	          ASKS("1500m", ",'affinity':{'podAffinity':{"
	                        "'requiredDuringSchedulingIgnoredDuringExecution':[{"
	                        "'topologyKey':'rack','labelSelector':{'matchLabels':{"
	                        "'role':'leader'}}}]}}"));
	join("{'metadata':{'name':'leader','namespace':'d','labels':{'role':'leader'},"
	     "'annotations':{'placet.io/gang':'g'" MIN("3") "}}," ASKS("100m", ""));
	decide(GANG_PLACED);
	T_EQ(out.placed, 3);
	T_EQ(out.slot[0], out.slot[2]);
	T_EQ(out.slot[1], out.slot[2]);
	T_EQ(out.tries, 1);
	finish();
}

T_CASE(members_are_in_one_domain)
{
	uint32_t t, bare;

	start();
	(void)node("r1", "r", "4");
	(void)node("r2", "r", "4");
	(void)node("s1", "s", "3");
	(void)node("s2", "s", "2");
	t = node("t1", "t", "2");
	bare = put_node(
		"{'metadata':{'name':'u1'},'status':{'allocatable':{'cpu':'0'}}}");
	join_many(4, MIN("4") DOMAIN("rack"), ASKS("1", ""));
	decide(GANG_PLACED);
	/* the tightest domain */
	T_SPAN(model_text(&model, out.domain), PL_SPAN_LIT("s"));
	T_EQ(out.domains, 3);
	for (uint32_t i = 0; i < 4; i++)
		T_TRUE(out.slot[i] == 2 || out.slot[i] == 3);
	join_many(2, MIN("4") DOMAIN("rack"), ASKS("1", ""));
	decide(GANG_PLACED); /* only r holds all six */
	T_SPAN(model_text(&model, out.domain), PL_SPAN_LIT("r"));
	T_EQ(out.placed, 6);
	opts.present_node = t + 1;
	decide(GANG_NO_ROOM);
	T_EQ(out.placed, 2);
	T_EQ(out.why.refused[index_of_plugin_fit], 1);
	opts.present_node = bare + 1;
	decide(GANG_NO_ROOM);
	T_EQ(out.blocked, SNAPSHOT_NONE);
	opts.present_node = 0;
	dismiss();
	join_many(9, MIN("9") DOMAIN("rack"), ASKS("1", ""));
	decide(GANG_NO_ROOM);
	T_EQ(out.placed, 8);
	T_EQ(out.tries, 1); /* the other domains are known not to hold it */
	dismiss();
	join_many(1, DOMAIN("row"), ASKS("1", ""));
	decide(GANG_NO_ROOM);
	T_EQ(out.domains, 0);
	T_EQ(out.blocked, SNAPSHOT_NONE);
	finish();
}

T_CASE(second_order_is_tried)
{
	/* Memory is scarce on a: the group that needs much of it has only one feasible
	 * node, but is the smaller one. */
	start();
	(void)put_node("{'metadata':{'name':'a'},'status':{'allocatable':{'cpu':'4',"
	               "'memory':'8Gi','pods':'9'}}}");
	(void)put_node(
		"{'metadata':{'name':'b'},'spec':{'taints':[{'key':'k','effect':"
		"'NoSchedule'}]},'status':{'allocatable':{'cpu':'3','memory':'8Gi',"
		"'pods':'9'}}}");
	join_many(1, MIN("2"), ASKS("3", ",'tolerations':[{'operator':'Exists'}]"));
	join_many(1, MIN("2"), ASKS("2", ""));
	decide(GANG_PLACED);
	goes("b a");
	T_TRUE(out.tries == 1 || out.tries == 2);
	finish();
}

#define PUT(kind, text)                                                           \
	do {                                                                      \
		struct parse parse = {.model = &model, .arena = &arena};          \
		struct kind it;                                                   \
		char room[4096];                                                  \
		T_OK(kind##_parse(&parse, json_of(room, text), &it, &err), &err); \
		pl_arena_reset(&arena);                                           \
		T_OK(catalog_put_##kind(&snapshot.catalog, &it, &err), &err);     \
	} while (0)

static void put_volume(const char *name)
{
	struct rig_text text = {{0}, 0};

	rig_say(&text,
	        "{'metadata':{'name':'%s','uid':'u-%s'},'spec':{'capacity':{'storage':"
	        "'1Gi'},'accessModes':['ReadWriteOnce'],'storageClassName':'s'},'status':{'phase':'Available'}}",
	        name, name);
	PUT(volume, text.at);
}

static void join_with_claim(const char *name)
{
	struct rig_text text = {{0}, 0};

	rig_say(&text,
	        "{'metadata':{'name':'%s','namespace':'d','uid':'u-%s'},'spec':{"
	        "'accessModes':['ReadWriteOnce'],'storageClassName':'s','resources':{"
	        "'requests':{'storage':'1Gi'}}}}",
	        name, name);
	PUT(claim, text.at);
	text.len = 0;
	rig_say(&text,
	        OF("%s", MIN("2")) "}}," ASKS("1", ",'volumes':[{'name':'v',"
	                                           "'persistentVolumeClaim':{"
	                                           "'claimName':'%s'}}]"),
	        name, name);
	join(text.at);
}

T_CASE(volume_is_not_given_to_two_members)
{
	start();
	(void)node("a", "r", "9");
	PUT(storage_class, "{'metadata':{'name':'s'},'provisioner':"
	                   "'kubernetes.io/no-provisioner','volumeBindingMode':"
	                   "'WaitForFirstConsumer'}");
	put_volume("v1");
	join_with_claim("c1");
	join_with_claim("c2");
	decide(GANG_NO_ROOM);
	T_EQ(out.placed, 1);
	T_EQ(out.blocked, 1);
	put_volume("v2");
	decide(GANG_PLACED);
	for (uint32_t i = 0; i < members; i++) {
		struct assumed_pod assumed = {id("d"), pod[i].name, pod[i].uid};

		T_TRUE(assumed_get(&snapshot.catalog, assumed, 0) == NULL);
	}
	decide(GANG_PLACED); /* nothing stays reserved */
	finish();
}

T_CASE(members_with_own_claims_are_decided_each)
{
	start();
	(void)node("a", "r", "9");
	PUT(storage_class, "{'metadata':{'name':'s'},'provisioner':"
	                   "'kubernetes.io/no-provisioner','volumeBindingMode':"
	                   "'WaitForFirstConsumer'}");
	put_volume("v1");
	join_many(3, MIN("1"),
	          ASKS("1", ",'volumes':[{'name':'v','ephemeral':{'volumeClaimTemplate':{"
	                    "'spec':{}}}}]"));
	T_TRUE(member[0].class == member[2].class);
	/* Only the last member's claim exists. */
	PUT(claim,
	    "{'metadata':{'name':'m2-v','namespace':'d','uid':'u','ownerReferences':[{"
	    "'kind':'Pod','name':'m2','uid':'m2','controller':true}]},'spec':{"
	    "'accessModes':['ReadWriteOnce'],'storageClassName':'s','resources':{"
	    "'requests':{'storage':'1Gi'}}}}");
	member[2].self.uid = id("m2");
	decide(GANG_PLACED);
	goes("- - a");
	finish();
}

T_CASE(hardest_group_comes_first_and_lost_member_stops_no_other)
{
	start();
	(void)node("a", "r", "4");
	(void)node("b", "r", "4");
	join_many(2, MIN("3"), ASKS("1", ""));
	join_many(1, MIN("3"), ASKS("4", ""));
	decide(GANG_PLACED);
	T_EQ(out.tries, 1);
	dismiss();
	rig_close_classes();
	join_many(3, MIN("3"), ASKS("3", ""));
	join_many(2, MIN("3"), ASKS("1", ""));
	decide(GANG_PLACED);
	goes("a b - b a");
	T_EQ(out.tries, 1);
	finish();
}

T_CASE(work_is_bounded)
{
	start();
	(void)node("a", "r", "9");
	join_many(6, MIN("4"), ASKS("1", ""));
	opts.work_max = 3;
	decide(GANG_TOO_MUCH);
	T_EQ(out.work, 3);
	T_EQ(out.placed, 3);
	opts.work_max = 5; /* the minimum is placed by then */
	decide(GANG_PLACED);
	T_EQ(out.placed, 5);
	finish();
}

T_CASE(failed_plugin_fails_the_gang)
{
	start();
	(void)node("a", "r", "9");
	join_many(1, MIN("2"), ASKS("1", ""));
	join_many(1, MIN("2"),
	          ASKS("1",
	               ",'affinity':{'nodeAffinity':{"
	               "'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':1,"
	               "'preference':{'matchExpressions':[{'key':'rack','operator':'Gt',"
	               "'values':['x']}]}}]}}"));
	decide(GANG_FAILED);
	T_EQ(out.blocked, 1);
	T_EQ(out.why.result, CYCLE_ERROR);
	finish();
}

static enum pl_code tortured(void)
{
	struct gang *made = NULL;
	enum pl_code code = gang_new(&made, &err);

	if (code == PL_OK)
		code = gang_decide(made, rig.cycle, member, members, &opts, &out, &err);
	if (code == PL_OK && out.result == GANG_FAILED)
		code = PL_NOMEM; /* the cycle ran out of memory */
	if (code == PL_OK)
		T_EQ(out.result, GANG_PLACED);
	gang_free(made);
	return code;
}

T_CASE(failed_allocation_takes_all_members_back)
{
	start();
	(void)node("a", "r", "9");
	(void)node("b", "s", "9");
	join_many(3, MIN("4") DOMAIN("rack"), ASKS("1", ""));
	join_many(1, MIN("4") DOMAIN("rack"), ASKS("2", ""));
	t_torture(tortured, true);
	T_EQ(snapshot.placed_count, 0);
	finish();
}

T_CASE(nomination_does_not_lead_out_of_the_domain)
{
	uint32_t slot, b;

	start();
	slot = node("a", "r", "2");
	b = node("b", "s", "9");
	join_many(2, MIN("2") DOMAIN("rack"), ASKS("1", ""));
	member[0].self.nominated = b;
	opts.present_node = slot + 1;
	decide(GANG_PLACED);
	T_EQ(out.slot[0], slot);
	T_EQ(out.slot[1], slot);
	opts.present_node = b + 1;
	decide(GANG_PLACED);
	T_EQ(out.slot[0], b);
	finish();
}

T_CASE(later_decisions_allocate_nothing)
{
	uint64_t before;

	start();
	(void)node("a", "r", "9");
	(void)node("b", "s", "9");
	join_many(3, MIN("4") DOMAIN("rack"), ASKS("1", ""));
	join_many(1, MIN("4") DOMAIN("rack"), ASKS("2", ""));
	decide(GANG_PLACED);
	pl_fault_reset();
	before = pl_fault_hits(PL_FAULT_ALLOC);
	for (int i = 0; i < 20; i++)
		decide(GANG_PLACED);
	T_EQ(pl_fault_hits(PL_FAULT_ALLOC), before);
	finish();
}

/* A refusal counts even for a member that found a node elsewhere: on that node it would
 * make room for another member. */
T_CASE(plugins_that_refused_any_member_are_reported)
{
	start();
	(void)node("a", "r", "4");
	(void)node("b", "s", "2");
	join_many(1, MIN("2"), ASKS("3", ",'nodeSelector':{'host':'a'}"));
	join_many(1, MIN("2"), ASKS("3", ""));
	decide(GANG_NO_ROOM);
	T_EQ(out.placed, 1);
	T_EQ(out.refused_by, UINT64_C(1) << index_of_plugin_fit |
	                             UINT64_C(1) << index_of_plugin_node_affinity);
	finish();
}
