#include "coord/api/schema/schema_defaults.h"
#include "coord/api/schema/schema_kit.h"

static void filled(const struct schema_type *type, const char *text, const char *want)
{
	struct json_tree tree;

	kit_reset();
	tree = kit_tree(text);
	T_OK(schema_defaults(&tree, type), NULL);
	T_STR(kit_text(json_tree_root(&tree)), want);
	/* Again: defaults of what has its defaults change nothing. */
	T_OK(schema_defaults(&tree, type), NULL);
	T_STR(kit_text(json_tree_root(&tree)), want);
}

#define POD_TAIL                                                                   \
	"'restartPolicy':'Always','terminationGracePeriodSeconds':30,'dnsPolicy':" \
	"'ClusterFirst','securityContext':{},'schedulerName':'default-scheduler'"
#define CONTAINER_TAIL                                                                \
	"'terminationMessagePath':'/dev/termination-log','terminationMessagePolicy':" \
	"'File'"

T_CASE(a_pod)
{
	filled(&schema_core_pod, "{'spec':{'containers':[{'name':'a','image':'i'}]}}",
	       "{'spec':{'containers':[{'name':'a','image':'i','imagePullPolicy':'Always',"
	       "'resources':{}," CONTAINER_TAIL "}]," POD_TAIL
	       ",'enableServiceLinks':true}}");
}

T_CASE(a_template_is_no_pod)
{
	filled(&schema_core_pod_template,
	       "{'template':{'spec':{'containers':[{'name':'a','image':'i:1','resources':"
	       "{'limits':{'cpu':'1'}}}]}}}",
	       "{'template':{'spec':{'containers':[{'name':'a','image':'i:1','resources':"
	       "{'limits':{'cpu':'1'}},'imagePullPolicy':'IfNotPresent'," CONTAINER_TAIL
	       "}]," POD_TAIL "}}}");
}

static void pulled(const char *image, const char *policy)
{
	char text[256], want[512];

	snprintf(text, sizeof text, "{'name':'a','image':'%s','resources':{}}", image);
	snprintf(
		want, sizeof want,
		"{'name':'a','image':'%s','resources':{},'imagePullPolicy':'%s'," CONTAINER_TAIL
		"}",
		image, policy);
	filled(&schema_core_container, text, want);
}

T_CASE(the_pull_policy_follows_the_tag)
{
	pulled("busybox", "Always");
	pulled("busybox:latest", "Always");
	pulled("busybox:1.36", "IfNotPresent");
	pulled("registry:5000/busybox", "Always");
	pulled("registry:5000/a/busybox:v1", "IfNotPresent");
	pulled("busybox@sha256:0123", "IfNotPresent");
	pulled("busybox:latest@sha256:0123", "Always");
}

T_CASE(requests_come_from_limits_and_host_ports_from_ports)
{
	filled(&schema_core_pod,
	       "{'spec':{'hostNetwork':true,'containers':[{'image':'i:1','imagePullPolicy':'Never',"
	       "'resources':{'limits':{'cpu':'2','memory':'1Gi'},'requests':{'cpu':'1'}},"
	       "'ports':[{'containerPort':80},{'containerPort':81,'protocol':'UDP',"
	       "'hostPort':82}]," CONTAINER_TAIL "}]," POD_TAIL
	       ",'enableServiceLinks':false}}",
	       "{'spec':{'hostNetwork':true,'containers':[{'image':'i:1','imagePullPolicy':'Never',"
	       "'resources':{'limits':{'cpu':'2','memory':'1Gi'},'requests':{'cpu':'1',"
	       "'memory':'1Gi'}},'ports':[{'containerPort':80,'protocol':'TCP','hostPort':80},"
	       "{'containerPort':81,'protocol':'UDP','hostPort':82}]," CONTAINER_TAIL
	       "}]," POD_TAIL ",'enableServiceLinks':false}}");
}

T_CASE(values_that_are_given_stay_but_for_empty_ones)
{
	filled(&schema_core_probe, "{'timeoutSeconds':0,'periodSeconds':7}",
	       "{'timeoutSeconds':1,'periodSeconds':7,'successThreshold':1,'failureThreshold':3}");
	filled(&schema_core_container_port, "{'protocol':''}", "{'protocol':'TCP'}");
	filled(&schema_apps_replica_set, "{'spec':{'replicas':0}}",
	       "{'spec':{'replicas':0}}");
}

T_CASE(volumes)
{
	filled(&schema_core_volume, "{'name':'a'}", "{'name':'a','emptyDir':{}}");
	filled(&schema_core_volume, "{'name':'a','configMap':{'name':'c'}}",
	       "{'name':'a','configMap':{'name':'c','defaultMode':420}}");
	filled(&schema_core_volume, "{'name':'a','hostPath':{'path':'/'}}",
	       "{'name':'a','hostPath':{'path':'/','type':''}}");
	filled(&schema_core_persistent_volume_claim, "{'spec':{}}",
	       "{'spec':{'volumeMode':'Filesystem'},'status':{'phase':'Pending'}}");
}

T_CASE(a_deployment)
{
	filled(&schema_apps_deployment, "{'spec':{}}",
	       "{'spec':{'replicas':1,'strategy':{'rollingUpdate':{'maxUnavailable':'25%',"
	       "'maxSurge':'25%'},'type':'RollingUpdate'},'revisionHistoryLimit':10,"
	       "'progressDeadlineSeconds':600}}");
	filled(&schema_apps_deployment_strategy, "{'type':'Recreate'}",
	       "{'type':'Recreate'}");
}

T_CASE(other_workloads)
{
	filled(&schema_apps_daemon_set, "{'spec':{}}",
	       "{'spec':{'updateStrategy':{'rollingUpdate':{'maxUnavailable':1,'maxSurge':0},"
	       "'type':'RollingUpdate'},'revisionHistoryLimit':10}}");
	filled(&schema_apps_stateful_set, "{'spec':{}}",
	       "{'spec':{'updateStrategy':{'type':'RollingUpdate','rollingUpdate':"
	       "{'partition':0}},'replicas':1,'podManagementPolicy':'OrderedReady',"
	       "'revisionHistoryLimit':10,'persistentVolumeClaimRetentionPolicy':{'whenDeleted':"
	       "'Retain','whenScaled':'Retain'}}}");
	filled(&schema_apps_stateful_set,
	       "{'spec':{'updateStrategy':{'type':'RollingUpdate'},'replicas':1,"
	       "'podManagementPolicy':'Parallel','revisionHistoryLimit':1,"
	       "'persistentVolumeClaimRetentionPolicy':{'whenDeleted':'Delete','whenScaled':"
	       "'Retain'}}}",
	       "{'spec':{'updateStrategy':{'type':'RollingUpdate'},'replicas':1,"
	       "'podManagementPolicy':'Parallel','revisionHistoryLimit':1,"
	       "'persistentVolumeClaimRetentionPolicy':{'whenDeleted':'Delete','whenScaled':"
	       "'Retain'}}}");
	filled(&schema_batch_job,
	       "{'spec':{'template':{'metadata':{'labels':{'a':'b'}}}}}",
	       "{'spec':{'template':{'metadata':{'labels':{'a':'b'}}},'completions':1,"
	       "'backoffLimit':6,'podReplacementPolicy':'TerminatingOrFailed','parallelism':1,"
	       "'manualSelector':false,'completionMode':'NonIndexed','suspend':false},"
	       "'metadata':{'labels':{'a':'b'}}}");
	filled(&schema_batch_cron_job, "{'spec':{'schedule':'* * * * *'}}",
	       "{'spec':{'schedule':'* * * * *','concurrencyPolicy':'Allow','suspend':false,"
	       "'successfulJobsHistoryLimit':3,'failedJobsHistoryLimit':1}}");
	filled(&schema_core_replication_controller,
	       "{'metadata':{},'spec':{'template':{'metadata':{'labels':{'a':'b'}}}}}",
	       "{'metadata':{'labels':{'a':'b'}},'spec':{'template':{'metadata':{'labels':"
	       "{'a':'b'}}},'selector':{'a':'b'},'replicas':1}}");
}

T_CASE(services_namespaces_nodes_and_classes)
{
	filled(&schema_core_service, "{'spec':{'ports':[{'port':80}]}}",
	       "{'spec':{'ports':[{'port':80,'protocol':'TCP','targetPort':80}],"
	       "'type':'ClusterIP','sessionAffinity':'None','internalTrafficPolicy':'Cluster'}}");
	filled(&schema_core_service,
	       "{'spec':{'type':'LoadBalancer','sessionAffinity':'ClientIP'}}",
	       "{'spec':{'type':'LoadBalancer','sessionAffinity':'ClientIP',"
	       "'sessionAffinityConfig':{'clientIP':{'timeoutSeconds':10800}},"
	       "'externalTrafficPolicy':'Cluster','internalTrafficPolicy':'Cluster',"
	       "'allocateLoadBalancerNodePorts':true}}");
	filled(&schema_core_namespace, "{'metadata':{'name':'a'}}",
	       "{'metadata':{'name':'a','labels':{'kubernetes.io/metadata.name':'a'}},"
	       "'status':{'phase':'Active'}}");
	filled(&schema_core_node, "{'status':{'capacity':{'cpu':'4'}}}",
	       "{'status':{'capacity':{'cpu':'4'},'allocatable':{'cpu':'4'}}}");
	filled(&schema_storage_storage_class, "{}",
	       "{'reclaimPolicy':'Delete','volumeBindingMode':'Immediate'}");
	filled(&schema_storage_csi_driver, "{'spec':{}}",
	       "{'spec':{'attachRequired':true,'podInfoOnMount':false,'volumeLifecycleModes':"
	       "['Persistent'],'storageCapacity':false,'fsGroupPolicy':"
	       "'ReadWriteOnceWithFSType','requiresRepublish':false,'seLinuxMount':false}}");
}

T_CASE(a_small_arena_is_told_by_defaults)
{
	unsigned enough = 0;

	for (size_t max = 64; max < 8192; max += 32) {
		struct json_tree tree;
		struct pl_arena arena;
		struct pl_err err;
		enum pl_code code;

		pl_arena_init(&arena, 64, max);
		code = json_tree_parse(&arena,
		                       PL_SPAN_LIT("{\"spec\":{\"containers\":[{}]}}"),
		                       NULL, &tree, &err);
		if (code == PL_OK)
			code = schema_defaults(&tree, &schema_core_pod);
		T_TRUE(code == PL_OK || code == PL_NOMEM);
		enough += code == PL_OK;
		pl_arena_done(&arena);
	}
	T_TRUE(enough > 0);
}
