/* Arguments of spreading, the default selector, and failing allocations. */
#include "shardsched/plugins/pod_topology_spread.h"
#include "store/base/fault.h"
#include "tests/support/shardsched/plugins/plugin_rig.h"

static struct spread_args args;

static enum pl_code parse_args(const char *text)
{
	struct pl_json json = {0};
	struct pl_arena parse_arena;
	char quoted[4096];
	enum pl_code code;

	pl_arena_init(&parse_arena, 0, 0);
	if (text != NULL)
		T_OK(pl_json_parse(&parse_arena, json_of(quoted, text), NULL, &json,
		                   &err),
		     &err);
	code = spread_args_parse(&model, json, &args, &err);
	pl_arena_done(&parse_arena);
	return code;
}

T_CASE(without_arguments_system_defaults_apply)
{
	begin();
	T_OK(parse_args(NULL), &err);
	T_TRUE(args.system);
	T_EQ(args.count, 2);
	T_EQ(args.rule[0].topology_key, args.hostname);
	T_EQ(args.rule[0].max_skew, 3);
	T_EQ(args.rule[1].topology_key, id("topology.kubernetes.io/zone"));
	T_EQ(args.rule[1].max_skew, 5);
	T_EQ(args.rule[0].hard + args.rule[1].hard, 0);
	spread_args_drop(&model, &args);
	T_OK(parse_args("{'defaultingType':'System','defaultConstraints':[]}"), &err);
	T_TRUE(args.system);
	spread_args_drop(&model, &args);
	end();
}

T_CASE(list_replaces_system_defaults)
{
	begin();
	T_OK(parse_args("{'kind':'PodTopologySpreadArgs','defaultingType':'List',"
	                "'defaultConstraints':[{'maxSkew':2,'topologyKey':'rack',"
	                "'whenUnsatisfiable':'DoNotSchedule','minDomains':4,"
	                "'nodeAffinityPolicy':'Ignore','nodeTaintsPolicy':'Honor'},"
	                "{'maxSkew':1,'topologyKey':'rack',"
	                "'whenUnsatisfiable':'ScheduleAnyway'}]}"),
	     &err);
	T_TRUE(!args.system);
	T_EQ(args.count, 2);
	T_EQ(args.rule[0].hard, 1);
	T_EQ(args.rule[0].min_domains, 4);
	T_EQ(args.rule[0].affinity, 0);
	T_EQ(args.rule[0].taints, 1);
	T_EQ(args.rule[1].hard, 0);
	T_EQ(args.rule[1].affinity, 1);
	T_EQ(args.rule[1].taints, 0);
	spread_args_drop(&model, &args);
	T_OK(parse_args("{'defaultingType':'List'}"), &err);
	T_EQ(args.count, 0);
	spread_args_drop(&model, &args);
	end();
}

static void refuse(const char *text, const char *says)
{
	T_CODE(parse_args(text), PL_INVALID, &err);
	if (strstr(err.msg, says) == NULL)
		T_STR(err.msg, says);
}

#define RULE(more)                                                             \
	"{'defaultingType':'List','defaultConstraints':[{'topologyKey':'rack'" \
	",'maxSkew':1,'whenUnsatisfiable':'DoNotSchedule'" more "}]}"

T_CASE(arguments_are_validated_whole)
{
	begin();
	T_OK(parse_args(RULE("")), &err);
	spread_args_drop(&model, &args);
	refuse("{'defaults':[]}", "defaults");
	refuse("{'defaultingType':'Both'}", "defaultingType");
	refuse("{'defaultConstraints':[{}]}", "defaultConstraints");
	refuse(RULE(",'labelSelector':{}"), "defaultConstraints[0].labelSelector");
	refuse(RULE(",'nodeTaintsPolicy':'Maybe'"), "nodeTaintsPolicy");
	refuse(RULE(",'minDomains':0"), "minDomains");
	refuse(RULE("},{'topologyKey':'a b','maxSkew':1,'whenUnsatisfiable':"
	            "'DoNotSchedule'"),
	       "[1].topologyKey");
	refuse(RULE("},{'topologyKey':'a','maxSkew':0,'whenUnsatisfiable':"
	            "'DoNotSchedule'"),
	       "[1].maxSkew");
	refuse(RULE("},{'topologyKey':'a','maxSkew':1,'whenUnsatisfiable':'Never'"),
	       "[1].whenUnsatisfiable");
	refuse(RULE("},{'topologyKey':'a','maxSkew':1"), "whenUnsatisfiable");
	refuse(RULE("},{'topologyKey':'a','maxSkew':1,'minDomains':2,"
	            "'whenUnsatisfiable':'ScheduleAnyway'"),
	       "minDomains");
	refuse(RULE("},{'topologyKey':'rack','maxSkew':1,'whenUnsatisfiable':"
	            "'DoNotSchedule'"),
	       "of an earlier entry");
	end();
}

/* -- the default selector ---------------------------------------------------------------- */

static void put_workload(enum workload_kind kind, const char *text)
{
	struct parse parse = {.model = &model, .arena = &arena};
	struct workload made;
	char quoted[4096];

	T_OK(workload_parse(&parse, kind, json_of(quoted, text), &made, &err), &err);
	pl_arena_reset(&arena);
	T_OK(catalog_put_workload(&snapshot.catalog, &made, &err), &err);
}

#define WORKLOAD(name, selector)                                                       \
	"{'metadata':{'name':'" name "','namespace':'x'},'spec':{'selector':" selector \
	"}}"
#define OWNED_BY(api, kind, name)                                                    \
	"{'metadata':{'name':'p','namespace':'x','labels':{'app':'a','tier':'t'},"   \
	"'ownerReferences':[{'apiVersion':'" api "','kind':'" kind "','name':'" name \
	"','uid':'1','controller':true}]}}"
#define OWNED(kind, name) OWNED_BY("apps/v1", kind, name)

/* Whether the default selector of the pod selects pods with the other's labels; -1: there
 * is no selector. */
static int selects(const char *pod, const char *other)
{
	const struct selector *selector = NULL;
	struct pod one = pod_from(pod), two = pod_from(other);
	int out = -1;

	T_OK(spread_default_selector(&snapshot, one.spec, &selector, &err), &err);
	if (selector != NULL)
		out = selector_matches(&model.strings, selector, two.spec->labels);
	model_unref(&model, MODEL_SELECTORS, selector);
	pod_drop(&model, &one);
	pod_drop(&model, &two);
	return out;
}

#define LABELS(labels) "{'metadata':{'name':'q','labels':{" labels "}}}"

T_CASE(default_selector_joins_services_and_controller)
{
	begin();
	T_EQ(selects(OWNED("ReplicaSet", "w"), LABELS("'app':'a'")), -1);
	put_workload(WORKLOAD_SERVICE, WORKLOAD("s1", "{'app':'a'}"));
	put_workload(WORKLOAD_SERVICE, WORKLOAD("s2", "{'app':'b'}"));
	put_workload(WORKLOAD_SERVICE, WORKLOAD("s3", "{}"));
	T_EQ(selects(OWNED("ReplicaSet", "w"), LABELS("'app':'a'")), 1);
	T_EQ(selects(OWNED("ReplicaSet", "w"), LABELS("'app':'b'")), 0);
	put_workload(WORKLOAD_REPLICA_SET,
	             WORKLOAD("w", "{'matchExpressions':[{'key':'tier','operator':"
	                           "'NotIn','values':['u']},{'key':'no','operator':"
	                           "'DoesNotExist'}]}"));
	T_EQ(selects(OWNED("ReplicaSet", "w"), LABELS("'app':'a'")), 1);
	T_EQ(selects(OWNED("ReplicaSet", "w"), LABELS("'app':'a','tier':'u'")), 0);
	T_EQ(selects(OWNED("ReplicaSet", "w"), LABELS("'app':'a','no':''")), 0);
	/* The owner has another kind or does not exist: only the service counts. */
	T_EQ(selects(OWNED("StatefulSet", "w"), LABELS("'app':'a','tier':'u'")), 1);
	T_EQ(selects(OWNED("ReplicaSet", "v"), LABELS("'app':'a','tier':'u'")), 1);
	/* A ReplicationController's map overrides that of services. */
	put_workload(WORKLOAD_REPLICATION_CONTROLLER, WORKLOAD("w", "{'app':'z'}"));
	T_EQ(selects(OWNED_BY("v1", "ReplicationController", "w"), LABELS("'app':'z'")),
	     1);
	T_EQ(selects(OWNED_BY("v1", "ReplicationController", "w"), LABELS("'app':'a'")),
	     0);
	/* The owner is another API's kind of the same name: only the service counts. */
	T_EQ(selects(OWNED("ReplicationController", "w"), LABELS("'app':'a'")), 1);
	T_EQ(selects(OWNED_BY("apps.kruise.io/v1alpha1", "ReplicaSet", "w"),
	             LABELS("'app':'a','tier':'u'")),
	     1);
	end();
}

/* -- each allocation failing ------------------------------------------------------------- */

/* Failures are armed for this plugin's part only. */
static const struct plugin *tortured;
static const char *tortured_args;
static uint64_t nth;

#define WHEN "DuringSchedulingIgnoredDuringExecution"
#define ROWS                                                                         \
	"{'nodeSelectorTerms':[{'matchExpressions':[{'key':'cores','operator':'Gt'," \
	"'values':['3']},{'key':'zone','operator':'In','values':['a','b']}]}]}"
#define ADDED "{'addedAffinity':{'required" WHEN "':" ROWS "}}"

static enum pl_code open_and_close(void)
{
	static const char pod[] =
		"{'metadata':{'name':'p','namespace':'x','labels':{'app':'a'}},'spec':{"
		"'containers':[{'name':'c','image':'i','ports':[{'containerPort':1,"
		"'hostPort':1}]}],'affinity':{'nodeAffinity':{'required" WHEN "':" ROWS
		"}},'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'zone',"
		"'whenUnsatisfiable':'DoNotSchedule','labelSelector':{'matchLabels':"
		"{'app':'a'}}},{'maxSkew':1,'topologyKey':'kubernetes.io/hostname',"
		"'whenUnsatisfiable':'ScheduleAnyway','labelSelector':{'matchLabels':"
		"{'app':'b'}}}]}}";
	struct plugin_rig rig;
	enum pl_code code;

	begin();
	put_node("{'metadata':{'name':'a','labels':{'zone':'a','cores':'4'}}}");
	put_workload(WORKLOAD_SERVICE, WORKLOAD("s1", "{'app':'a'}"));
	rig_begin_pod(&rig, tortured,
	              tortured_args == NULL
	                      ? pod
	                      : "{'metadata':{'name':'p','namespace':'x','labels':"
	                        "{'app':'a'}}}");
	rig_fails = nth;
	code = rig_args(&rig, tortured_args, &err);
	if (code == PL_OK)
		code = rig_open_class(&rig);
	if (code == PL_OK)
		rig_close(&rig);
	else
		rig_free(&rig);
	rig_fails = 0;
	end();
	return code;
}

static void torture_row(const struct plugin *row, const char *with)
{
	tortured = row;
	tortured_args = with;
	for (nth = 1;; nth++) {
		enum pl_code code;

		pl_fault_reset();
		code = open_and_close();
		if (!pl_fault_fired(PL_FAULT_ALLOC)) {
			T_OK(code, &err);
			break;
		}
		T_CODE(code, PL_NOMEM, NULL);
	}
	pl_fault_reset();
}

T_CASE(failed_allocation_leaves_nothing_open)
{
	torture_row(&plugin_taint_toleration, NULL);
	torture_row(&plugin_node_affinity, NULL);
	torture_row(&plugin_node_affinity, ADDED);
	torture_row(&plugin_node_ports, NULL);
	torture_row(&plugin_image_locality, NULL);
	torture_row(&plugin_pod_topology_spread, NULL);
	torture_row(&plugin_pod_topology_spread, RULE(",'minDomains':4"));
}
