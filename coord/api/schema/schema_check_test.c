#include "coord/api/schema/schema_check.h"
#include "coord/api/schema/schema_kit.h"

static struct json_tree tree;

static enum pl_code decode(const struct schema_type *type, const char *text)
{
	kit_reset();
	tree = kit_tree(text);
	return schema_decode(&tree, type, &kit_report);
}

static void decoded(const struct schema_type *type, const char *text, const char *want)
{
	T_EQ(decode(type, text), PL_OK);
	T_STR(kit_text(json_tree_root(&tree)), want);
}

static void unreadable(const struct schema_type *type, const char *text, const char *why)
{
	T_EQ(decode(type, text), PL_INVALID);
	T_STR((const char *)kit_report.wrong.at, why);
}

T_CASE(unknown_fields_are_removed_and_named_in_order)
{
	struct pl_span strict;

	decoded(&schema_apps_deployment,
	        "{'kind':'Deployment','metadata':{'name':'a','unknownMeta':1},'x':{},"
	        "'spec':{'unknown1':[1],'template':{'spec':{'containers':[{'name':'c'},"
	        "{'name':'d','unknownNested':null}]}}}}",
	        "{'kind':'Deployment','metadata':{'name':'a'},"
	        "'spec':{'template':{'spec':{'containers':[{'name':'c'},{'name':'d'}]}}}}");
	T_EQ(kit_report.unknown_count, 4);
	strict = schema_report_strict(&kit_report);
	T_SPAN(strict,
	       PL_SPAN_LIT(
		       "strict decoding error: unknown field \"metadata.unknownMeta\", "
		       "unknown field \"x\", unknown field \"spec.unknown1\", unknown "
		       "field \"spec.template.spec.containers[1].unknownNested\""));
}

T_CASE(names_of_fields_are_told_by_their_case)
{
	decoded(&schema_core_pod, "{'spec':{'nodename':'x','nodeName':'n'}}",
	        "{'spec':{'nodeName':'n'}}");
	T_EQ(kit_report.unknown_count, 1);
}

T_CASE(a_known_object_has_nothing_unknown)
{
	T_EQ(decode(&schema_core_config_map, "{'data':{'a':'b'}}"), PL_OK);
	T_EQ(kit_report.unknown_count, 0);
	T_EQ(schema_report_strict(&kit_report).len, 0);
}

T_CASE(many_unknown_fields_are_counted)
{
	char text[4096] = "{", *at = text + 1;

	for (int i = 0; i < 150; i++)
		at += snprintf(at, 16, "%s'x%d':1", i == 0 ? "" : ",", i);
	*at++ = '}';
	*at = '\0';
	T_EQ(decode(&schema_core_pod, text), PL_OK);
	T_EQ(kit_report.unknown_count, SCHEMA_UNKNOWN_MAX);
	T_EQ(kit_report.more_unknown, 50);
}

T_CASE(nulls_stand_for_absent)
{
	decoded(&schema_core_pod,
	        "{'metadata':{'creationTimestamp':null,'labels':{'a':null}},"
	        "'spec':{'priority':null,'containers':[null],'nodeSelector':null}}",
	        "{'metadata':{'labels':{'a':''}},'spec':{'containers':[{}]}}");
}

T_CASE(quantities_and_times_are_canonical)
{
	decoded(&schema_core_pod,
	        "{'metadata':{'creationTimestamp':'2026-01-01T01:00:00.5+01:00'},"
	        "'spec':{'overhead':{'cpu':0.5,'memory':'1024Mi','pods':2,'x':'1000m'}}}",
	        "{'metadata':{'creationTimestamp':'2026-01-01T00:00:00Z'},"
	        "'spec':{'overhead':{'cpu':'500m','memory':'1Gi','pods':'2','x':'1'}}}");
	decoded(&schema_coordination_lease,
	        "{'spec':{'renewTime':'2026-01-01T00:00:00Z'}}",
	        "{'spec':{'renewTime':'2026-01-01T00:00:00.000000Z'}}");
}

T_CASE(wrong_types_are_told_as_go_tells_them)
{
	unreadable(&schema_core_pod, "[]",
	           "json: cannot unmarshal array into Go value of type v1.Pod");
	unreadable(&schema_apps_deployment, "{'spec':{'replicas':'3'}}",
	           "json: cannot unmarshal string into Go struct field "
	           "DeploymentSpec.spec.replicas of type int32");
	unreadable(&schema_core_pod, "{'spec':{'priority':1.5}}",
	           "json: cannot unmarshal number 1.5 into Go struct field "
	           "PodSpec.spec.priority of type int32");
	unreadable(&schema_core_pod, "{'spec':{'priority':3000000000}}",
	           "json: cannot unmarshal number 3000000000 into Go struct field "
	           "PodSpec.spec.priority of type int32");
	unreadable(&schema_core_pod, "{'spec':{'containers':{}}}",
	           "json: cannot unmarshal object into Go struct field "
	           "PodSpec.spec.containers of type []v1.Container");
	unreadable(&schema_core_pod, "{'spec':{'containers':['x']}}",
	           "json: cannot unmarshal string into Go struct field "
	           "PodSpec.spec.containers of type v1.Container");
	unreadable(&schema_core_pod,
	           "{'spec':{'containers':[{'ports':[{'containerPort':'80'}]}]}}",
	           "json: cannot unmarshal string into Go struct field "
	           "ContainerPort.spec.containers.ports.containerPort of type int32");
	unreadable(&schema_core_pod, "{'metadata':{'labels':{'a':1}}}",
	           "json: cannot unmarshal number into Go struct field "
	           "ObjectMeta.metadata.labels of type string");
	unreadable(&schema_core_pod, "{'metadata':{'labels':[]}}",
	           "json: cannot unmarshal array into Go struct field "
	           "ObjectMeta.metadata.labels of type map[string]string");
	unreadable(&schema_core_pod, "{'spec':{'hostNetwork':'true','affinity':5}}",
	           "json: cannot unmarshal string into Go struct field "
	           "PodSpec.spec.hostNetwork of type bool");
	unreadable(&schema_core_pod, "{'spec':{'affinity':5}}",
	           "json: cannot unmarshal number into Go struct field "
	           "PodSpec.spec.affinity of type v1.Affinity");
}

T_CASE(wrong_values_are_told)
{
	unreadable(&schema_core_pod, "{'spec':{'overhead':{'cpu':'many'}}}",
	           "quantities must match the regular expression "
	           "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
	unreadable(&schema_core_pod, "{'spec':{'overhead':{'cpu':true}}}",
	           "quantities must match the regular expression "
	           "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
	unreadable(
		&schema_core_pod, "{'metadata':{'creationTimestamp':'now'}}",
		"parsing time \"now\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"now\" "
		"as \"2006\"");
	unreadable(&schema_core_config_map, "{'binaryData':{'a':'AA=A'}}",
	           "illegal base64 data at input byte 2");
	unreadable(&schema_policy_pod_disruption_budget, "{'spec':{'minAvailable':[]}}",
	           "json: cannot unmarshal array into Go value of type int32");
	unreadable(&schema_policy_pod_disruption_budget, "{'spec':{'minAvailable':1.5}}",
	           "json: cannot unmarshal number 1.5 into Go value of type int32");
}

T_CASE(managed_fields_are_kept_as_they_are)
{
	decoded(&schema_core_pod,
	        "{'metadata':{'managedFields':[{'fieldsV1':{'f:a':{'.':{},'k:{}':null}}}]}}",
	        "{'metadata':{'managedFields':[{'fieldsV1':{'f:a':{'.':{},'k:{}':null}}}]}}");
}

T_CASE(the_words_of_strictness)
{
	enum schema_strictness how = SCHEMA_IGNORE;

	T_TRUE(schema_strictness_of(PL_SPAN_LIT(""), &how));
	T_EQ(how, SCHEMA_WARN);
	T_TRUE(schema_strictness_of(PL_SPAN_LIT("Strict"), &how));
	T_EQ(how, SCHEMA_STRICT);
	T_TRUE(!schema_strictness_of(PL_SPAN_LIT("strict"), &how));
}

/* -- duplicates ------------------------------------------------------------------------- */

static void without_duplicates(const char *text, const char *want, const char *names)
{
	struct pl_span out, strict;

	kit_reset();
	T_OK(schema_drop_duplicates(pl_span_str(text), &kit_report, &out), NULL);
	T_SPAN(out, pl_span_str(want));
	strict = schema_report_strict(&kit_report);
	T_SPAN(strict, pl_span_str(names));
}

T_CASE(of_members_that_come_twice_the_last_one_counts)
{
	without_duplicates("{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}", "");
	without_duplicates("{\"a\":1, \"b\":2,\"a\":{\"b\":3,\"c\":[]}}",
	                   "{ \"b\":2,\"a\":{\"b\":3,\"c\":[]}}",
	                   "strict decoding error: duplicate field \"a\"");
	without_duplicates(
		"{\"s\":{\"l\":[{\"x\":1},{\"i\":\"a,b\",\"i\":\"\\\"}\",\"i\":3}]}}",
		"{\"s\":{\"l\":[{\"x\":1},{\"i\":3}]}}",
		"strict decoding error: duplicate field \"s.l[1].i\", duplicate field "
		"\"s.l[1].i\"");
	without_duplicates(
		"{\"a\":{\"b\":1,\"b\":2},\"a\":3}", "{\"a\":3}",
		"strict decoding error: duplicate field \"a.b\", duplicate field \"a\"");
}

T_CASE(objects_may_have_the_same_names)
{
	static const char object[] =
		"{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":{\"a\":5,\"b\":6},"
		"\"f\":7,\"g\":8,\"h\":[{\"a\":9,\"c\":0}]}";
	static char text[1 << 18];
	size_t len = 0;

	for (int i = 0; i < 2500; i++)
		len += (size_t)sprintf(text + len, "%s%s", i == 0 ? "[" : ",", object);
	sprintf(text + len, "]");
	without_duplicates(text, text, "");
}

T_CASE(text_that_is_no_json_is_left_to_the_reader)
{
	static const char *const bad[] = {"",
	                                  "{",
	                                  "{\"a\":1,\"a\"",
	                                  "}",
	                                  "{\"a\" 1}",
	                                  "[}]",
	                                  "{\"a\":\"\\",
	                                  "\"",
	                                  "{\"a\":1,,}",
	                                  "\x01{]"};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct pl_span out;

		kit_reset();
		T_OK(schema_drop_duplicates(pl_span_str(bad[i]), &kit_report, &out),
		     NULL);
		T_SPAN(out, pl_span_str(bad[i]));
	}
}

/* -- checks ----------------------------------------------------------------------------- */

static const struct schema_resource *resource_of(const char *api_version,
                                                 const char *kind)
{
	return schema_kind_find(pl_span_str(api_version), pl_span_str(kind));
}

static void checked(const char *api_version, const char *kind, const char *text,
                    const char *want)
{
	struct schema_object object = {resource_of(api_version, kind), {NULL, NULL}};

	T_EQ(decode(object.resource->type, text), PL_OK);
	object.value = json_tree_root(&tree);
	schema_check(&object, &kit_report);
	T_STR(kit_causes(), want);
}

T_CASE(required_fields_that_lack)
{
	checked("apps/v1", "Deployment", "{'metadata':{'name':'a','namespace':'b'}}",
	        "spec.selector: FieldValueRequired: Required value\n"
	        "spec.template.spec.containers: FieldValueRequired: Required value");
	checked("v1", "Pod",
	        "{'metadata':{'name':'a','namespace':'b'},'spec':{'containers':[{'name':'',"
	        "'env':[{'value':'x'}]}]}}",
	        "spec.containers[0].name: FieldValueRequired: Required value\n"
	        "spec.containers[0].image: FieldValueRequired: Required value\n"
	        "spec.containers[0].env[0].name: FieldValueRequired: Required value");
	checked("v1", "Node", "{'metadata':{'name':'n'},'status':{'conditions':[{}]}}",
	        "");
	checked("scheduling.k8s.io/v1", "PriorityClass", "{'metadata':{'name':'n'}}", "");
}

T_CASE(values_that_depend_on_their_type_or_on_each_other)
{
	checked("apps/v1", "Deployment",
	        "{'metadata':{'name':'a','namespace':'b'},'spec':{'replicas':-1,'selector':{"
	        "'matchLabels':{'x':'y'}},'template':{'metadata':{'labels':{'x':'z'}},'spec':{"
	        "'containers':[{'name':'c','image':'i'}]}}}}",
	        "spec.replicas: FieldValueInvalid: Invalid value: -1: must be greater than or "
	        "equal to 0\n"
	        "spec.template.metadata.labels: FieldValueInvalid: Invalid value: "
	        "{\"x\":\"z\"}: `selector` does not match template `labels`");
	checked("v1", "Service",
	        "{'metadata':{'name':'a','namespace':'b'},'spec':{'ports':[{'port':80},{"
	        "'port':65536}]}}",
	        "spec.ports[1].port: FieldValueInvalid: Invalid value: 65536: must be between 1 "
	        "and 65535, inclusive");
	checked("v1", "ConfigMap",
	        "{'metadata':{'name':'a','namespace':'b'},'data':{'a.b_c-D':'','..':'x'},"
	        "'binaryData':{'a.b_c-D':'eA=='}}",
	        "data[a.b_c-D]: FieldValueInvalid: Invalid value: \"a.b_c-D\": duplicate of key "
	        "present in binaryData\n"
	        "data[..]: FieldValueInvalid: Invalid value: \"..\": must not be '..'");
	checked("v1", "PersistentVolumeClaim",
	        "{'metadata':{'name':'a','namespace':'b'},'spec':{'accessModes':["
	        "'ReadWriteOnce']}}",
	        "spec.resources[storage]: FieldValueRequired: Required value");
	checked("scheduling.k8s.io/v1", "PriorityClass",
	        "{'metadata':{'name':'system-a'},'value':1000000001}",
	        "metadata.name: FieldValueForbidden: Forbidden: priority class names with "
	        "'system-' prefix are reserved for system use only\n"
	        "value: FieldValueForbidden: Forbidden: maximum allowed value of a user defined "
	        "priority is 1000000000");
	checked("scheduling.k8s.io/v1", "PriorityClass",
	        "{'metadata':{'name':'system-node-critical'},'value':2000001000}", "");
	checked("policy/v1", "PodDisruptionBudget",
	        "{'metadata':{'name':'a','namespace':'b'},'spec':{'minAvailable':-1,"
	        "'maxUnavailable':'101%'}}",
	        "spec.minAvailable: FieldValueInvalid: Invalid value: -1: must be greater than "
	        "or equal to 0\n"
	        "spec.maxUnavailable: FieldValueInvalid: Invalid value: \"101%\": must not be "
	        "greater than 100%\n"
	        "spec: FieldValueInvalid: Invalid value: \"\": minAvailable and maxUnavailable "
	        "cannot be both set");
}

T_CASE(words_that_are_no_choice)
{
	checked("v1", "Pod",
	        "{'metadata':{'name':'a','namespace':'b'},'spec':{'restartPolicy':'Sometimes',"
	        "'dnsPolicy':'','containers':[{'name':'c','image':'i'}],"
	        "'tolerations':[{'effect':'noschedule'}]}}",
	        "spec.restartPolicy: FieldValueNotSupported: Unsupported value: \"Sometimes\": "
	        "supported values: \"Always\", \"Never\", \"OnFailure\"\n"
	        "spec.tolerations[0].effect: FieldValueNotSupported: Unsupported value: "
	        "\"noschedule\": supported values: \"NoExecute\", \"NoSchedule\", "
	        "\"PreferNoSchedule\"");
}

T_CASE(metadata_is_checked_in_the_words_of_kubernetes)
{
	checked("v1", "ConfigMap", "{'metadata':{}}",
	        "metadata.name: FieldValueRequired: Required value: name or generateName is "
	        "required\n"
	        "metadata.namespace: FieldValueRequired: Required value");
	checked("v1", "ConfigMap", "{'metadata':{'name':'A_b','namespace':'x'}}",
	        "metadata.name: FieldValueInvalid: Invalid value: \"A_b\": a lowercase RFC 1123 "
	        "subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
	        "must start and end with an alphanumeric character (e.g. 'example.com', regex "
	        "used for validation is "
	        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
	checked("v1", "Node", "{'metadata':{'name':'n','namespace':'x'}}",
	        "metadata.namespace: FieldValueForbidden: Forbidden: not allowed on this type");
	checked("v1", "Namespace", "{'metadata':{'name':'a.b'}}",
	        "metadata.name: FieldValueInvalid: Invalid value: \"a.b\": must not contain dots");
	checked("v1", "Pod",
	        "{'metadata':{'generateName':'a-','name':'a-x','namespace':'b','labels':{'a b':"
	        "'c d'}},'spec':{'containers':[{'name':'c','image':'i'}]}}",
	        "metadata.labels: FieldValueInvalid: Invalid value: \"a b\": name part must "
	        "consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
	        "an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
	        "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\n"
	        "metadata.labels: FieldValueInvalid: Invalid value: \"c d\": a valid label must "
	        "be an empty string or consist of alphanumeric characters, '-', '_' or '.', and "
	        "must start and end with an alphanumeric character (e.g. 'MyValue',  or "
	        "'my_value',  or '12345', regex used for validation is "
	        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
	checked("v1", "ConfigMap",
	        "{'metadata':{'name':'a','namespace':'b','annotations':{'EX.com/A':'x'},"
	        "'finalizers':['/x'],'ownerReferences':[{'apiVersion':'v1','kind':'K','name':'n',"
	        "'uid':'u','controller':true},{'apiVersion':'v1','kind':'L','name':'m','uid':'',"
	        "'controller':true}]}}",
	        "metadata.ownerReferences.uid: FieldValueInvalid: Invalid value: \"\": uid must "
	        "not be empty\n"
	        "metadata.ownerReferences: FieldValueInvalid: Invalid value: "
	        "[{\"apiVersion\":\"v1\",\"kind\":\"K\",\"name\":\"n\",\"uid\":\"u\","
	        "\"controller\":true},{\"apiVersion\":\"v1\",\"kind\":\"L\",\"name\":\"m\","
	        "\"uid\":\"\",\"controller\":true}]: Only one reference can have Controller set "
	        "to true. Found \"true\" in references for K/n and L/m\n"
	        "metadata.finalizers: FieldValueInvalid: Invalid value: \"/x\": prefix part must "
	        "be non-empty");
}

T_CASE(names_of_nodes_say_their_cluster)
{
	checked("v1", "Node", "{'metadata':{'name':'east:n-1.example'}}", "");
	checked("v1", "Node", "{'metadata':{'name':'ea.st:n'}}",
	        "metadata.name: FieldValueInvalid: Invalid value: \"ea.st:n\": must not "
	        "contain dots");
	checked("v1", "Node", "{'metadata':{'name':'east:a:b'}}",
	        "metadata.name: FieldValueInvalid: Invalid value: \"east:a:b\": a lowercase "
	        "RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
	        "'.', and must start and end with an alphanumeric character (e.g. "
	        "'example.com', regex used for validation is "
	        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
}

T_CASE(some_names_are_shorter)
{
	checked("batch/v1", "CronJob",
	        "{'metadata':{'name':'a23456789-123456789-123456789-123456789-123456789-123',"
	        "'namespace':'b'},'spec':{'schedule':'x','jobTemplate':{'spec':{'template':{'spec':"
	        "{'containers':[{'name':'c','image':'i'}]}}}}}}",
	        "metadata.name: FieldValueInvalid: Invalid value: "
	        "\"a23456789-123456789-123456789-123456789-123456789-123\": must be no more than "
	        "52 characters");
	checked("apps/v1", "StatefulSet",
	        "{'metadata':{'name':'a.b','namespace':'b'},'spec':{'selector':{},'template':"
	        "{'spec':{'containers':[{'name':'c','image':'i'}]}}}}",
	        "metadata.name: FieldValueInvalid: Invalid value: \"a.b\": must not contain dots");
	checked("v1", "Service", "{'metadata':{'name':'1a','namespace':'b'}}",
	        "metadata.name: FieldValueInvalid: Invalid value: \"1a\": a DNS-1035 label must "
	        "consist of lower case alphanumeric characters or '-', start with an alphabetic "
	        "character, and end with an alphanumeric character (e.g. 'my-name',  or "
	        "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')");
}

/* -- updates ---------------------------------------------------------------------------- */

static void updated(const char *api_version, const char *kind, const char *before,
                    const char *after, const char *want)
{
	struct schema_object object = {resource_of(api_version, kind), {NULL, NULL}};
	struct json_tree old, new;

	kit_reset();
	old = kit_tree(before);
	new = kit_tree(after);
	object.value = json_tree_root(&new);
	schema_check_update(&object, json_tree_root(&old), &kit_report);
	T_STR(kit_causes(), want);
}

T_CASE(immutable_fields_stay)
{
	updated("v1", "ConfigMap", "{'metadata':{'name':'a','uid':'u'}}",
	        "{'metadata':{'name':'b','uid':'u'}}",
	        "metadata.name: FieldValueInvalid: Invalid value: \"b\": field is immutable");
	updated("apps/v1", "Deployment",
	        "{'spec':{'replicas':1,'selector':{'matchLabels':{'a':'b'}},"
	        "'template':{'metadata':{'name':'x'}}}}",
	        "{'spec':{'replicas':2,'selector':{'matchLabels':{'a':'c'}},"
	        "'template':{'metadata':{'name':'y'}}}}",
	        "spec.selector: FieldValueInvalid: Invalid value: "
	        "{\"matchLabels\":{\"a\":\"c\"}}: field is immutable");
	updated("storage.k8s.io/v1", "StorageClass", "{'provisioner':'a'}",
	        "{'provisioner':'b'}",
	        "provisioner: FieldValueForbidden: Forbidden: updates to provisioner are "
	        "forbidden.");
	updated("v1", "ConfigMap", "{'immutable':true,'data':{'a':'b'}}",
	        "{'immutable':true,'data':{'a':'c'}}",
	        "data: FieldValueForbidden: Forbidden: field is immutable when `immutable` is "
	        "set");
	updated("apps/v1", "StatefulSet", "{'spec':{'replicas':1,'serviceName':'a'}}",
	        "{'spec':{'replicas':2,'serviceName':'b'}}",
	        "spec: FieldValueForbidden: Forbidden: updates to statefulset spec for fields "
	        "other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
	        "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden");
	updated("v1", "ConfigMap",
	        "{'metadata':{'deletionTimestamp':'x','finalizers':['a/b']}}",
	        "{'metadata':{'deletionTimestamp':'x','finalizers':['c/d']}}",
	        "metadata.finalizers: FieldValueForbidden: Forbidden: no new finalizers can be "
	        "added if the object is being deleted, found new finalizers []string{\"c/d\"}");
}

#define POD_WORDS                                                                           \
	"spec: FieldValueForbidden: Forbidden: pod updates may not change fields other "    \
	"than `spec.containers[*].image`,`spec.initContainers[*].image`,"                   \
	"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "      \
	"tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it " \
	"was previously negative)\n"

T_CASE(of_a_pod_only_some_fields_change)
{
	updated("v1", "Pod",
	        "{'spec':{'containers':[{'name':'a','image':'x'}],'schedulingGates':[{'name':'g'}"
	        "],'tolerations':[{'key':'a','tolerationSeconds':3}],'nodeSelector':{'a':'b'}}}",
	        "{'spec':{'containers':[{'name':'a','image':'y'}],'activeDeadlineSeconds':5,"
	        "'tolerations':[{'key':'b'},{'key':'a','tolerationSeconds':4}],"
	        "'nodeSelector':{'a':'b','c':'d'}}}",
	        "");
	updated("v1", "Pod", "{'spec':{'containers':[{'name':'a','resources':{}}]}}",
	        "{'spec':{'containers':[{'name':'a','resources':{'requests':{'cpu':'1'}}}]}}",
	        POD_WORDS "changed: spec.containers: resources");
	updated("v1", "Pod", "{'spec':{'nodeSelector':{'a':'b'}}}", "{'spec':{}}",
	        POD_WORDS "changed: spec.nodeSelector");
	updated("v1", "Pod", "{'spec':{'containers':[]}}", "{'spec':{'containers':[{}]}}",
	        "spec.containers: FieldValueForbidden: Forbidden: pod updates may not add or "
	        "remove containers");
	updated("v1", "Pod",
	        "{'spec':{'tolerations':[{'key':'a'}],'activeDeadlineSeconds':5}}",
	        "{'spec':{'activeDeadlineSeconds':6,'schedulingGates':[{'name':'g'}]}}",
	        "spec.activeDeadlineSeconds: FieldValueInvalid: Invalid value: 6: must be less "
	        "than or equal to previous value\n"
	        "spec.tolerations: FieldValueForbidden: Forbidden: existing toleration can not "
	        "be modified except its tolerationSeconds\n"
	        "spec.schedulingGates[0].name: FieldValueForbidden: Forbidden: only deletion is "
	        "allowed, but found new scheduling gate 'g'");
	updated("v1", "Pod",
	        "{'spec':{'schedulingGates':[{'name':'g'}],'nodeSelector':{'a':'b'}}}",
	        "{'spec':{'nodeSelector':{'a':'c'}}}",
	        "spec.nodeSelector: FieldValueInvalid: Invalid value: {\"a\":\"c\"}: only "
	        "additions to spec.nodeSelector are allowed (no mutations or deletions)");
	updated("v1", "Pod", "{'spec':{'terminationGracePeriodSeconds':-1}}",
	        "{'spec':{'terminationGracePeriodSeconds':1}}", "");
}

T_CASE(claims_volumes_and_jobs)
{
	updated("v1", "PersistentVolumeClaim", "{'spec':{'accessModes':['a']}}",
	        "{'spec':{'accessModes':['a'],'volumeName':'v','resources':{}}}", "");
	updated("v1", "PersistentVolumeClaim", "{'spec':{'volumeName':'v'}}",
	        "{'spec':{'volumeName':'w'}}",
	        "spec: FieldValueForbidden: Forbidden: spec is immutable after creation except "
	        "resources.requests and volumeAttributesClassName for bound claims\nchanged: "
	        "spec.volumeName");
	updated("v1", "PersistentVolume", "{'spec':{'nfs':{'path':'/'},'capacity':{}}}",
	        "{'spec':{'nfs':{'path':'/x'}}}",
	        "spec.persistentvolumesource: FieldValueForbidden: Forbidden: "
	        "spec.persistentvolumesource is immutable after creation\nchanged: spec.nfs");
	updated("batch/v1", "Job", "{'spec':{'template':{},'parallelism':1}}",
	        "{'spec':{'template':{'spec':{}},'parallelism':2,'completions':2}}",
	        "spec.template: FieldValueInvalid: Invalid value: {\"spec\":{}}: field is "
	        "immutable\n"
	        "spec.completions: FieldValueInvalid: Invalid value: 2: field is immutable");
	updated("batch/v1", "CronJob",
	        "{'spec':{'jobTemplate':{'spec':{'managedBy':'a'}}}}",
	        "{'spec':{'jobTemplate':{'spec':{'managedBy':'b'}}}}", "");
	updated("batch/v1", "Job", "{'spec':{'managedBy':'a'}}",
	        "{'spec':{'managedBy':'b'}}",
	        "spec.managedBy: FieldValueInvalid: Invalid value: \"b\": field is immutable");
	updated("batch/v1", "Job", "{'spec':{'template':{},'suspend':true}}",
	        "{'spec':{'template':{'spec':{}},'suspend':true}}", "");
	updated("v1", "Node", "{'spec':{'providerID':'a'}}",
	        "{'spec':{'providerID':'b'}}",
	        "spec.providerID: FieldValueForbidden: Forbidden: node updates may not change "
	        "providerID except from \"\" to valid");
}

/* -- memory ----------------------------------------------------------------------------- */

/* A call that lacks memory says so. */
T_CASE(a_small_arena_is_told)
{
	static const char text[] =
		"{\"x\":1,\"x\":2,\"metadata\":{\"labels\":{\"a b\":\"c d\"}},\"spec\":{"
		"\"overhead\":{\"cpu\":0.5},\"restartPolicy\":\"x\"}}";
	unsigned enough = 0;

	for (size_t max = 64; max < 8192; max += 64) {
		struct schema_object object = {resource_of("v1", "Pod"), {NULL, NULL}};
		struct schema_report report;
		struct pl_arena arena;
		struct pl_span out;
		struct pl_err err;
		enum pl_code code;

		pl_arena_init(&arena, 64, max);
		schema_report_init(&report, &arena);
		code = schema_drop_duplicates(pl_span_str(text), &report, &out);
		if (code == PL_OK)
			code = json_tree_parse(&arena, out, NULL, &tree, &err);
		if (code == PL_OK)
			code = schema_decode(&tree, &schema_core_pod, &report);
		if (code == PL_OK) {
			object.value = json_tree_root(&tree);
			schema_check(&object, &report);
			code = report.code;
		}
		T_TRUE(code == PL_OK || code == PL_NOMEM);
		if (code == PL_OK) {
			T_TRUE(report.cause_count >= 4);
			enough++;
		}
		pl_arena_done(&arena);
	}
	T_TRUE(enough > 0);
}

/* -- bounds ------------------------------------------------------------------------------ */

/* Input of any size is told in few words, and soon. */
T_CASE(many_duplicates_and_long_names_take_little)
{
	static char text[1 << 20];
	struct schema_report report;
	struct pl_arena arena;
	struct pl_span out;
	size_t len = 0;

	text[len++] = '{';
	for (int i = 0; i < 3000; i++)
		len += (size_t)sprintf(text + len, "%s\"%0200d\":{\"a\":1}",
		                       i == 0 ? "" : ",", i % 3);
	text[len++] = '}';
	pl_arena_init(&arena, 0, 4 << 20);
	schema_report_init(&report, &arena);
	T_OK(schema_drop_duplicates(pl_span(text, len), &report, &out), NULL);
	T_EQ(report.unknown_count, SCHEMA_UNKNOWN_MAX);
	T_EQ(report.more_unknown, 2997 - SCHEMA_UNKNOWN_MAX);
	T_EQ(out.len, 3 * (2 + 200 + 1 + 7) + 4);
	pl_arena_done(&arena);
}

T_CASE(long_lists_are_not_compared)
{
	static char before[1 << 17], after[1 << 17];
	size_t len = 0;

	for (int i = 0; i < 2000; i++)
		len += (size_t)sprintf(before + len, "%s{'key':'k%d'}",
		                       i == 0 ? "{'spec':{'tolerations':[" : ",", i);
	sprintf(before + len, "]}}");
	memcpy(after, before, sizeof before);
	updated("v1", "Pod", before, after, "");
	after[len - 5] = 'x';
	updated("v1", "Pod", before, after,
	        "spec.tolerations: FieldValueForbidden: Forbidden: there are too many to be "
	        "changed");
}
