/* The faults of a pod, as the API server of Kubernetes tells them. */
#include "coord/api/schema/schema_kit.h"
#include "coord/api/schema/schema_model_words.h"
#include "shardsched/model/parse.h"
#include "shardsched/model/pod_validate.h"
#include "tests/harness/torture.h"

static enum pl_code judge(struct pl_json pod)
{
	struct field_errors errors = {0};
	struct pl_arena scratch;
	struct model model;
	struct parse parse = {.model = &model,
	                      .arena = &scratch,
	                      .errors = &errors,
	                      .scope = VALIDATE_SUBMITTED};
	struct pod out = {0};
	enum pl_code code;

	pl_arena_init(&scratch, 0, 0);
	model_init(&model);
	code = pod_parse_tree(&parse, pod, &out, NULL);
	if (code == PL_INVALID)
		schema_report_model(&kit_report, &errors, pod);
	pod_drop(&model, &out);
	model_done(&model);
	pl_arena_done(&scratch);
	return code;
}

#define META "'metadata':{'name':'p','namespace':'default'}"
#define POD(spec) "{" META ",'spec':{'containers':[{'name':'a','image':'b'}]," spec "}}"
#define CONTAINER(more) \
	"{" META ",'spec':{'containers':[{'name':'a','image':'b'," more "}]}}"

/* wants: a cause a line, without "spec.". */
static void told(const char *pod, const char *wants)
{
	char want[4096] = "";
	struct json_tree tree;

	for (const char *at = wants; *at != '\0';) {
		size_t len = strcspn(at, "\n");

		snprintf(want + strlen(want), sizeof want - strlen(want), "%sspec.%.*s",
		         at == wants ? "" : "\n", (int)len, at);
		at += len + (at[len] == '\n');
	}
	kit_reset();
	tree = kit_tree(pod);
	T_EQ(judge(json_tree_root(&tree)), PL_INVALID);
	T_STR(kit_causes(), want);
}

#define INVALID ": FieldValueInvalid: Invalid value: "
#define REQUIRED ": FieldValueRequired: Required value"
#define FORBIDDEN ": FieldValueForbidden: Forbidden: "
#define DUPLICATE ": FieldValueDuplicate: Duplicate value: "
#define UNSUPPORTED ": FieldValueNotSupported: Unsupported value: "

T_CASE(amounts)
{
#define AT "containers[0].resources."
	told(CONTAINER("'resources':{'requests':{'cpu':'-1'}}"),
	     AT "requests[cpu]" INVALID "\"-1\": must be greater than or equal to 0");
	told(CONTAINER("'resources':{'limits':{'a.com/b':'500m'},'requests':{'a.com/b':"
	               "'500m'}}"),
	     AT "limits[a.com/b]" INVALID "\"500m\": must be an integer\n" AT
	        "requests[a.com/b]" INVALID "\"500m\": must be an integer");
	told(CONTAINER("'resources':{'limits':{'cpu':'1000m','memory':'1Gi'},"
	               "'requests':{'cpu':'1500m','memory':'2Gi'}}"),
	     AT "requests" INVALID
	        "\"1500m\": must be less than or equal to cpu limit of 1\n" AT
	        "requests" INVALID
	        "\"2Gi\": must be less than or equal to memory limit of 1Gi");
	told(CONTAINER(
		     "'resources':{'limits':{'a.com/b':'2'},'requests':{'a.com/b':'1'}}"),
	     AT "requests" INVALID "\"1\": must be equal to a.com/b limit of 2");
	told(CONTAINER("'resources':{'requests':{'a.com/b':'1'}}"),
	     AT "limits" REQUIRED ": Limit must be set for non overcommitable resources");
	told(CONTAINER("'resources':{'requests':{'wheels':'1'},'limits':{'wheels':'1'}}"),
	     AT "limits[wheels]" INVALID
	        "\"wheels\": must be a standard resource type or fully qualified\n" AT
	        "limits[wheels]" INVALID
	        "\"wheels\": must be a standard resource for containers\n" AT
	        "requests[wheels]" INVALID
	        "\"wheels\": must be a standard resource type or fully qualified\n" AT
	        "requests[wheels]" INVALID
	        "\"wheels\": must be a standard resource for containers");
	told(CONTAINER("'resources':{'requests':{'hugepages-2Mi':'3Mi','cpu':'1'},"
	               "'limits':{'hugepages-2Mi':'3Mi'}}"),
	     AT "limits[hugepages-2Mi]" INVALID
	        "\"3Mi\": 3Mi is not positive integer multiple of hugepages-2Mi\n" AT
	        "requests[hugepages-2Mi]" INVALID
	        "\"3Mi\": 3Mi is not positive integer multiple of hugepages-2Mi");
	told(CONTAINER("'resources':{'requests':{'hugepages-2Mi':'4Mi'},"
	               "'limits':{'hugepages-2Mi':'4Mi'}}"),
	     "containers[0].resources" FORBIDDEN "HugePages require cpu or memory");
#undef AT
}

T_CASE(containers_and_ports)
{
	told("{" META ",'spec':{'containers':[{'name':'a','image':'b'},{'name':'a'}]}}",
	     "containers[1].image" REQUIRED "\ncontainers[1].name" DUPLICATE "\"a\"");
	told(CONTAINER("'ports':[{'containerPort':80,'protocol':'TCP','name':'A_b'},"
	               "{'containerPort':70000,'protocol':'UDP'},{'protocol':'X'}]"),
	     "containers[0].ports[0].name" INVALID
	     "\"A_b\": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)\n"
	     "containers[0].ports[1].containerPort" INVALID
	     "70000: must be between 1 and 65535, inclusive\n"
	     "containers[0].ports[2].containerPort" REQUIRED
	     "\ncontainers[0].ports[2].protocol" UNSUPPORTED
	     "\"X\": supported values: \"SCTP\", \"TCP\", \"UDP\"");
	told(CONTAINER("'ports':[{'containerPort':80,'hostPort':80,'hostIP':'10.0.0.1',"
	               "'protocol':'TCP'},{'containerPort':81,'hostPort':80,"
	               "'hostIP':'10.0.0.1','protocol':'TCP'}]"),
	     "containers[0].ports[1].hostPort" DUPLICATE "\"TCP/10.0.0.1/80\"");
}

T_CASE(texts)
{
	told(POD("'nodeSelector':{'a b':'1','c':'d e','/x':'y'}"),
	     "nodeSelector" INVALID
	     "\"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and "
	     "must start and end with an alphanumeric character (e.g. 'MyName',  or "
	     "'my.name',  or '123-abc', regex used for validation is "
	     "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\n"
	     "nodeSelector" INVALID
	     "\"d e\": a valid label must be an empty string or consist of alphanumeric "
	     "characters, '-', '_' or '.', and must start and end with an alphanumeric "
	     "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
	     "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\n"
	     "nodeSelector" INVALID "\"/x\": prefix part must be non-empty");
	told(POD("'schedulingGates':[{'name':'/a'},{'name':'b'},{'name':'b'}]"),
	     "schedulingGates[0]" INVALID "\"/a\": prefix part must be non-empty\n"
	     "schedulingGates[2]" DUPLICATE "\"b\"");
	told(POD("'tolerations':[{'key':'a','value':"
	         "'0123456789012345678901234567890123456789012345678901234567890123'}]"),
	     "tolerations[0].operator" INVALID
	     "\"0123456789012345678901234567890123456789012345678901234567890123\": must be "
	     "no more than 63 characters");
	told(POD("'affinity':{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution'"
	         ":[{'topologyKey':'z','namespaces':['good','not.good','x.y']}]}}"),
	     "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
	     ".namespace" INVALID "\"not.good\": must not contain dots\n"
	     "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
	     ".namespace" INVALID "\"x.y\": must not contain dots");
}

T_CASE(tolerations)
{
	told(POD("'tolerations':[{'operator':'Equal','value':'v'}]"),
	     "tolerations[0].operator" INVALID
	     "\"Equal\": operator must be Exists when `key` is empty, which means \"match all "
	     "values and all keys\"");
	told(POD("'tolerations':[{'key':'a','operator':'Exists','value':'v'}]"),
	     "tolerations[0].operator" INVALID
	     "\"v\": value must be empty when `operator` is 'Exists'");
	told(POD("'tolerations':[{'key':'a','operator':'Like','effect':'Never'}]"),
	     "tolerations[0].operator" UNSUPPORTED
	     "\"Like\": supported values: \"Equal\", \"Exists\"\n"
	     "tolerations[0].effect" UNSUPPORTED
	     "\"Never\": supported values: \"NoSchedule\", \"PreferNoSchedule\", "
	     "\"NoExecute\"");
	told(POD("'tolerations':[{'key':'a','operator':'Exists','tolerationSeconds':1}]"),
	     "tolerations[0].effect" INVALID
	     "\"\": effect must be 'NoExecute' when `tolerationSeconds` is set");
}

T_CASE(affinity)
{
#define NODES(terms)                                                             \
	POD("'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuring" \
	    "Execution':{'nodeSelectorTerms':[" terms "]}}}")
#define AT                                                                      \
	"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution." \
	"nodeSelectorTerms"
	told(NODES(""), AT REQUIRED ": must have at least one node selector term");
	told(NODES("{'matchExpressions':[{'key':'a','operator':'In'}]}"),
	     AT "[0].matchExpressions[0].values" REQUIRED
	        ": must be specified when `operator` is 'In' or 'NotIn'");
	told(NODES("{'matchExpressions':[{'key':'a','operator':'Exists','values':['x']}]}"),
	     AT "[0].matchExpressions[0].values" FORBIDDEN
	        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
	told(NODES("{'matchExpressions':[{'key':'a','operator':'Gt'},"
	           "{'key':'a','operator':'Is'}]}"),
	     AT "[0].matchExpressions[0].values" REQUIRED
	        ": must be specified single value when `operator` is 'Lt' or 'Gt'\n" AT
	        "[0].matchExpressions[1].operator" INVALID
	        "\"Is\": not a valid selector operator");
	told(NODES("{'matchFields':[{'key':'spec.x','operator':'In','values':[]}]}"), AT
	     "[0].matchFields[0].values" REQUIRED
	     ": must be only one value when `operator` is 'In' or 'NotIn' for node field "
	     "selector\n" AT "[0].matchFields[0].key" INVALID
	     "\"spec.x\": not a valid field selector key");
	told(POD("'affinity':{'nodeAffinity':{'preferredDuringSchedulingIgnoredDuring"
	         "Execution':[{'weight':101,'preference':{}}]}}"),
	     "affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
	     ".weight" INVALID "101: must be in the range 1-100");
#undef AT
}

T_CASE(spreads)
{
#define SPREAD(more) \
	"{'maxSkew':1,'topologyKey':'z','whenUnsatisfiable':'ScheduleAnyway'" more "}"
#define AT "topologySpreadConstraints[0]."
	told(POD("'topologySpreadConstraints':[{'maxSkew':0,'topologyKey':'',"
	         "'whenUnsatisfiable':'No'}]"),
	     AT "maxSkew" INVALID "0: must be greater than zero\n" AT
	        "topologyKey" REQUIRED ": can not be empty\n" AT
	        "whenUnsatisfiable" UNSUPPORTED
	        "\"No\": supported values: \"DoNotSchedule\", \"ScheduleAnyway\"");
	told(POD("'topologySpreadConstraints':[" SPREAD() "," SPREAD() "]"),
	     AT "{topologyKey, whenUnsatisfiable}" DUPLICATE "\"{z, ScheduleAnyway}\"");
	told(POD("'topologySpreadConstraints':[" SPREAD(
		     ",'minDomains':2,'matchLabelKeys':['k']") "]"),
	     AT "minDomains" INVALID
	        "2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not "
	        "ScheduleAnyway\n" AT "matchLabelKeys" FORBIDDEN
	        "must not be specified when labelSelector is not set");
	told(POD("'topologySpreadConstraints':[" SPREAD(
		     ",'labelSelector':{'matchLabels':{'k':'v'}},'matchLabelKeys':['k']") "]"),
	     AT "matchLabelKeys[0]" INVALID
	        "\"k\": exists in both matchLabelKeys and labelSelector");
#undef AT
}

T_CASE(volumes_and_words)
{
	told(POD("'volumes':[{'name':'v','persistentVolumeClaim':{}},{'name':'v'}]"),
	     "volumes[0].persistentVolumeClaim.claimName" REQUIRED
	     "\nvolumes[1].name" DUPLICATE "\"v\"");
	told(POD("'volumes':[{'name':'v','ephemeral':{'volumeClaimTemplate':{'spec':{}}}}]"),
	     "volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes" REQUIRED
	     ": at least 1 access mode is required\n"
	     "volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]" REQUIRED);
	told(POD("'volumes':[{'name':'v','gcePersistentDisk':{'pdName':'d','partition':256}}]"),
	     "volumes[0].gcePersistentDisk.partition" INVALID
	     "256: must be between 1 and 255, inclusive");
	told(POD("'nodeName':'n','schedulingGates':[{'name':'a'}]"),
	     "nodeName" FORBIDDEN
	     "cannot be set until all schedulingGates have been cleared");
	told(POD("'preemptionPolicy':'Now'"),
	     "preemptionPolicy" UNSUPPORTED
	     "\"Now\": supported values: \"PreemptLowerPriority\", \"Never\"");
}

/* Paths are cut when they are long: whatever they are, none is walked beyond its end. */
T_CASE(odd_paths_are_told)
{
	static const char *const paths[] = {"",    "[",       "a[",   "a]",    "..",
	                                    "a..", "spec[0]", "a.b[", "[0][1", "spec.[x"};
	struct json_tree tree;

	kit_reset();
	tree = kit_tree("{'a':[{'b':1}],'spec':{'x':[]}}");
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct field_errors errors;
		struct pl_arena scratch;

		pl_arena_init(&scratch, 0, 0);
		field_errors_init(&errors, &scratch);
		field_errors_add(&errors, FIELD_INVALID, paths[i],
		                 "want at most 63 bytes");
		field_errors_add(&errors, FIELD_INVALID, paths[i],
		                 "want at most the limit");
		field_errors_add(&errors, FIELD_INVALID, paths[i],
		                 "want what is not known");
		schema_report_model(&kit_report, &errors, json_tree_root(&tree));
		pl_arena_done(&scratch);
	}
	T_EQ(kit_report.cause_count, 3 * sizeof paths / sizeof *paths);
}

static enum pl_code tell_all(void)
{
	struct schema_report report;
	struct json_tree tree;
	struct pl_arena arena;
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	schema_report_init(&report, &arena);
	code = json_tree_parse(
		&arena,
		PL_SPAN_LIT(
			"{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\"},\"spec\":{"
			"\"containers\":[{\"name\":\"a\",\"image\":\"b\",\"resources\":{"
			"\"requests\":{\"cpu\":\"2\"},\"limits\":{\"cpu\":\"1\"}}}],"
			"\"tolerations\":[{\"key\":\"a b\",\"operator\":\"No\"}],"
			"\"topologySpreadConstraints\":[{},{}]}}"),
		NULL, &tree, NULL);
	if (code == PL_OK) {
		struct field_errors errors;
		struct pl_arena scratch;

		pl_arena_init(&scratch, 0, 0);
		field_errors_init(&errors, &scratch);
		field_errors_add(&errors, FIELD_INVALID,
		                 "spec.containers[0].resources.requests",
		                 "want at most the limit");
		field_errors_add(&errors, FIELD_NOT_SUPPORTED,
		                 "spec.tolerations[0].operator", "want Equal or Exists");
		code = errors.code;
		if (code == PL_OK)
			schema_report_model(&report, &errors, json_tree_root(&tree));
		pl_arena_done(&scratch);
	}
	if (code == PL_OK)
		code = report.code;
	pl_arena_done(&arena);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(tell_all, false);
}
