/* The cells that a real API server prints for typical objects. */
#include "tests/harness/t.h"

#include <stdio.h>

#include "coord/api/reply/table.h"
#include "shardsched/model/timestamp.h"
#include "tests/harness/torture.h"

#define NOW "2026-11-21T06:00:00Z"
#define META(name) \
	"'metadata':{'name':'" name "','creationTimestamp':'2026-11-21T05:00:00Z'"
#define C1 "'containers':[{'name':'c1','image':'i1'}]"
#define C2 "'containers':[{'name':'c1','image':'i1'},{'name':'c2','image':'i2'}]"
#define RUNNING "'ready':true,'restartCount':0,'state':{'running':{}}"

struct table_rig {
	struct pl_arena arena;
	struct pl_buf text;
	struct pl_json_out out;
	struct table_writer writer;
};

static struct pl_json parse(struct pl_arena *arena, const char *single)
{
	size_t len = strlen(single);
	char *text = pl_arena_alloc(arena, len + 1);
	struct pl_json out = {0};
	struct pl_err err = {0};

	T_TRUE(text != NULL);
	for (size_t i = 0; i <= len; i++)
		if ((text[i] = single[i]) == '\'')
			text[i] = '"';
	T_OK(pl_json_parse(arena, pl_span(text, len), NULL, &out, &err), &err);
	return out;
}

static struct pl_json parse_table(struct pl_arena *arena, const char *text)
{
	struct pl_json out = {0};
	struct pl_err err = {0};

	T_OK(pl_json_parse(arena, pl_span_str(text), NULL, &out, &err), &err);
	return out;
}

static void rig_open(struct table_rig *rig, const char *group, const char *plural)
{
	pl_arena_init(&rig->arena, 0, 0);
	pl_buf_init(&rig->text, 1 << 20);
	pl_json_out_init(&rig->out, &rig->text);
	rig->writer = (struct table_writer){.out = &rig->out,
	                                    .arena = &rig->arena,
	                                    .kind = table_kind_find(group, plural)};
	T_TRUE(timestamp_parse(PL_SPAN_LIT(NOW), &rig->writer.now_ms));
	table_writer_init(&rig->writer);
}

static void rig_close(struct table_rig *rig)
{
	table_writer_done(&rig->writer);
	pl_buf_done(&rig->text);
	pl_arena_done(&rig->arena);
}

static const char *rig_text(struct table_rig *rig)
{
	T_OK(pl_json_out_done(&rig->out), NULL);
	T_OK(pl_buf_add(&rig->text, PL_SPAN_LIT("\0")), NULL);
	return (const char *)rig->text.at;
}

/* The cells of one row as JSON, and as many as the kind has columns. */
static void check(const char *group, const char *plural, const char *object,
                  const char *want)
{
	struct pl_json table = {0}, cells;
	struct table_rig rig;
	struct pl_buf got;
	struct pl_json_out out;
	size_t columns = 0;

	rig_open(&rig, group, plural);
	while (rig.writer.kind->columns[columns].name != NULL)
		columns++;
	rig.writer.include = TABLE_NONE;
	table_of_one(&rig.writer, parse(&rig.arena, object), true);
	table = parse_table(&rig.arena, rig_text(&rig));
	cells = pl_json_member(pl_json_first(pl_json_member(table, "rows")), "cells");
	T_EQ(pl_json_count(cells), columns);
	T_EQ(pl_json_count(pl_json_member(table, "columnDefinitions")), columns);
	pl_buf_init(&got, 1 << 20);
	pl_json_out_init(&out, &got);
	pl_json_out_value(&out, cells);
	T_OK(pl_json_out_done(&out), NULL);
	for (size_t i = 0; i < got.len; i++)
		if (got.at[i] == '"')
			got.at[i] = '\'';
	T_OK(pl_buf_add(&got, PL_SPAN_LIT("\0")), NULL);
	T_STR((const char *)got.at, want);
	pl_buf_done(&got);
	rig_close(&rig);
}

/* The first cells of a pod: Name, Ready, Status, Restarts. */
static void check_pod(const char *object, const char *want)
{
	struct pl_json table = {0}, cell;
	struct table_rig rig;
	char got[256] = "";

	rig_open(&rig, "", "pods");
	rig.writer.include = TABLE_NONE;
	table_of_one(&rig.writer, parse(&rig.arena, object), false);
	table = parse_table(&rig.arena, rig_text(&rig));
	cell = pl_json_first(
		pl_json_member(pl_json_first(pl_json_member(table, "rows")), "cells"));
	for (int i = 0; i < 3; i++) {
		const char *text = "";

		cell = pl_json_next(cell);
		T_OK(pl_json_as_string(cell, &text, NULL), NULL);
		(void)snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s",
		               i == 0 ? "" : " | ", text);
	}
	T_STR(got, want);
	rig_close(&rig);
}

T_CASE(pods_show_their_place)
{
	check("", "pods",
	      "{'metadata':{'name':'p',"
	      "'creationTimestamp':'2026-11-21T05:00:00Z'},'spec':{'nodeName':'east:n1'," C2
	      ","
	      "'readinessGates':[{'conditionType':'a'},{'conditionType':'b'}]},"
	      "'status':{'phase':'Running','podIPs':[{'ip':'10.1.2.3'},{'ip':'::1'}],"
	      "'conditions':[{'type':'a','status':'True'},{'type':'b','status':'False'}],"
	      "'containerStatuses':[{" RUNNING "},{" RUNNING "}]}}",
	      "['p','2/2','Running','0','60m','10.1.2.3','east:n1','<none>','1/2','east','']");
	check("", "pods",
	      "{" META(
		      "p") "},'spec':{" C1 "},'status':{'phase':'Pending',"
	                   "'nominatedNodeName':'n2','conditions':[{'type':'PodScheduled',"
	                   "'status':'False','reason':'Unschedulable'}]}}",
	      "['p','0/1','Pending','0','60m','<none>','<none>','n2','<none>','',"
	      "'Unschedulable']");
	check("", "pods", "{}",
	      "['','0/0','','0','<unknown>','<none>','<none>','<none>','<none>','','']");
}

T_CASE(the_status_of_a_pod_is_what_its_containers_say)
{
#define POD(spec, status) "{'spec':{" spec "},'status':{" status "}}"
	check_pod(POD(C1, "'phase':'Running','containerStatuses':[{'ready':false,"
	                  "'restartCount':7,'state':{'waiting':{'reason':"
	                  "'CrashLoopBackOff'}},'lastState':{'terminated':{'finishedAt':"
	                  "'2026-11-21T05:56:40Z'}}}]"),
	          "0/1 | CrashLoopBackOff | 7 (3m20s ago)");
	check_pod(POD(C2, "'phase':'Running','containerStatuses':[{'state':{'waiting':"
	                  "{'reason':'ImagePullBackOff'}}},{'state':{'terminated':"
	                  "{'reason':'OOMKilled','exitCode':137}}}]"),
	          "0/2 | ImagePullBackOff | 0");
	check_pod(POD(C1, "'phase':'Failed','containerStatuses':[{'restartCount':3,"
	                  "'state':{'terminated':{'signal':9}}}]"),
	          "0/1 | Signal:9 | 3");
	check_pod(POD(C1, "'phase':'Failed','containerStatuses':[{'state':{'terminated':"
	                  "{'exitCode':2}}}]"),
	          "0/1 | ExitCode:2 | 0");
	check_pod(POD(C1, "'phase':'Failed','reason':'Evicted'"), "0/1 | Evicted | 0");
	check_pod(POD(C2,
	              "'phase':'Running','conditions':[{'type':'Ready','status':'True'}],"
	              "'containerStatuses':[{'state':{'terminated':{'reason':"
	              "'Completed'}}},{" RUNNING "}]"),
	          "1/2 | Running | 0");
	check_pod(POD(C2, "'phase':'Running','containerStatuses':[{'state':{'terminated':"
	                  "{'reason':'Completed'}}},{" RUNNING "}]"),
	          "1/2 | NotReady | 0");
	check_pod(POD(C1,
	              "'phase':'Succeeded','containerStatuses':[{'state':{'terminated':"
	              "{'reason':'Completed'}}}]"),
	          "0/1 | Completed | 0");
	check_pod(POD(C1,
	              "'phase':'Pending','conditions':[{'type':'PodScheduled','status':"
	              "'False','reason':'SchedulingGated'}]"),
	          "0/1 | SchedulingGated | 0");
	check_pod(
		POD(C1,
	            "'phase':'Running','containerStatuses':[{'ready':true,'state':null}]"),
		"0/1 | Running | 0");
}

#define INIT2 "'initContainers':[{'name':'i1'},{'name':'i2'}]," C1
#define SIDECAR \
	"'initContainers':[{'name':'i1','restartPolicy':'Always'},{'name':'i2'}]," C1

T_CASE(a_pod_that_is_initialised_says_how_far)
{
	check_pod(POD(INIT2, "'phase':'Pending','initContainerStatuses':[{'name':'i1',"
	                     "'state':{'running':{}}},{'name':'i2'}]"),
	          "0/1 | Init:0/2 | 0");
	check_pod(POD(INIT2, "'phase':'Pending','initContainerStatuses':[{'name':'i1',"
	                     "'restartCount':1,'state':{'terminated':{'exitCode':0}}},"
	                     "{'name':'i2','restartCount':2,'state':{'waiting':{'reason':"
	                     "'PodInitializing'}}}]"),
	          "0/1 | Init:1/2 | 3");
	check_pod(POD(INIT2, "'phase':'Pending','initContainerStatuses':[{'name':'i1',"
	                     "'state':{'waiting':{'reason':'ErrImagePull'}}}]"),
	          "0/1 | Init:ErrImagePull | 0");
	check_pod(POD(INIT2, "'phase':'Pending','initContainerStatuses':[{'name':'i1',"
	                     "'state':{'terminated':{'exitCode':1,'reason':'Error'}}}]"),
	          "0/1 | Init:Error | 0");
	check_pod(POD(INIT2, "'phase':'Pending','initContainerStatuses':[{'name':'i1',"
	                     "'state':{'terminated':{'exitCode':1}}}]"),
	          "0/1 | Init:ExitCode:1 | 0");
	check_pod(POD(INIT2, "'phase':'Pending','initContainerStatuses':[{'name':'i1',"
	                     "'state':{'terminated':{'exitCode':1,'signal':9}}}]"),
	          "0/1 | Init:Signal:9 | 0");
	check_pod(POD(SIDECAR,
	              "'phase':'Running','initContainerStatuses':[{'name':'i1',"
	              "'started':true,'ready':true,'restartCount':4},{'name':'i2',"
	              "'restartCount':1,'state':{'terminated':{'exitCode':0}}}],"
	              "'containerStatuses':[{'ready':true,'restartCount':1,"
	              "'state':{'running':{}}}]"),
	          "2/2 | Running | 5");
	check_pod(POD(SIDECAR, "'phase':'Pending','initContainerStatuses':[{'name':'i1',"
	                       "'started':false}]"),
	          "0/2 | Init:0/2 | 0");
	check_pod(POD(INIT2,
	              "'phase':'Running','conditions':[{'type':'Initialized','status':"
	              "'True'}],'initContainerStatuses':[{'name':'i1','restartCount':3,"
	              "'state':{'running':{}}}],'containerStatuses':[{" RUNNING "}]"),
	          "1/1 | Init:0/2 | 0");
}

#define GOING(spec, status)                                                           \
	"{'metadata':{'deletionTimestamp':'2026-11-21T05:59:00Z'},'spec':{" spec "}," \
	"'status':{" status "}}"

T_CASE(a_pod_that_is_deleted_terminates)
{
	check_pod(GOING(C1, "'phase':'Running','containerStatuses':[{" RUNNING "}]"),
	          "1/1 | Terminating | 0");
	check_pod(GOING(C1, "'phase':'Running','reason':'NodeLost'"),
	          "0/1 | Unknown | 0");
	check_pod(GOING(C1, "'phase':'Succeeded','reason':'Completed'"),
	          "0/1 | Completed | 0");
}

T_CASE(nodes_and_namespaces)
{
	check("", "nodes",
	      "{'metadata':{'name':'west:n','creationTimestamp':'2026-11-19T05:00:00Z',"
	      "'labels':{'node-role.kubernetes.io/worker':'',"
	      "'node-role.kubernetes.io/control-plane':'','kubernetes.io/role':'gpu'"
	      "}},'spec':{'unschedulable':true},'status':{"
	      "'conditions':[{'type':'Ready','status':'True'}],'addresses':[{'type':"
	      "'Hostname','address':'n'},{'type':'InternalIP','address':'10.0.0.7'}],"
	      "'nodeInfo':{'kubeletVersion':'v1.32.1','osImage':'Debian','kernelVersion':"
	      "'6.1','containerRuntimeVersion':'containerd://1.7'}}}",
	      "['west:n','Ready,SchedulingDisabled','control-plane,gpu,worker','2d1h','v1.32.1',"
	      "'10.0.0.7','<none>','Debian','6.1','containerd://1.7','west']");
	check("", "nodes",
	      "{" META(
		      "n") "},'status':{'conditions':[{'type':'Ready','status':'Unknown'}]}}",
	      "['n','NotReady','<none>','60m','','<none>','<none>','<unknown>','<unknown>',"
	      "'<unknown>','default']");
	check("", "nodes", "{" META("n") "}}",
	      "['n','Unknown','<none>','60m','','<none>','<none>','<unknown>','<unknown>',"
	      "'<unknown>','default']");
	check("", "namespaces", "{" META("a") "},'status':{'phase':'Active'}}",
	      "['a','Active','60m']");
	check("coordination.k8s.io", "leases",
	      "{" META("l") "},'spec':{'holderIdentity':'n_1'}}", "['l','n_1','60m']");
}

T_CASE(events_of_both_groups)
{
	check("", "events",
	      "{" META(
		      "e.1") "},'involvedObject':{'kind':'Pod','name':'p','fieldPath':"
	                     "'spec.containers{c}'},'type':'Warning','reason':'FailedScheduling','message':"
	                     "' 0/3 nodes. \\n','source':{'component':'default-scheduler'},"
	                     "'firstTimestamp':'2026-11-21T05:50:30Z','lastTimestamp':"
	                     "'2026-11-21T05:59:00Z','count':4}",
	      "['60s','Warning','FailedScheduling','pod/p','spec.containers{c}',"
	      "'default-scheduler','0/3 nodes.','9m30s',4,'e.1']");
	check("", "events",
	      "{" META(
		      "e.2") "},'involvedObject':{'kind':'Node'},'eventTime':"
	                     "'2026-11-21T05:59:10.123456Z','reportingComponent':'placet',"
	                     "'reportingInstance':'east-0','source':{},'firstTimestamp':null}",
	      "['49s','','','node','','placet, east-0','','49s',1,'e.2']");
	check("events.k8s.io", "events",
	      "{" META(
		      "e.3") "},'regarding':{'kind':'Pod','name':'p'},'note':'bound',"
	                     "'type':'Normal','reason':'Scheduled','reportingController':'placet',"
	                     "'eventTime':'2026-11-21T05:00:00.000000Z','series':{'count':9,"
	                     "'lastObservedTime':'2026-11-21T05:59:59.000000Z'}}",
	      "['1s','Normal','Scheduled','pod/p','','placet','bound','60m',9,'e.3']");
}

#define SELECTOR                                                                      \
	"'selector':{'matchLabels':{'b':'2','a':'1'},'matchExpressions':[{'key':'c'," \
	"'operator':'In','values':['y','x']},{'key':'e','operator':'DoesNotExist'},"  \
	"{'key':'d','operator':'Exists'},{'key':'f','operator':'NotIn','values':['z']}]}"
#define SELECTED "a=1,b=2,c in (x,y),d,!e,f notin (z)"
#define TEMPLATE "'template':{'spec':{" C2 "}}"

T_CASE(workloads)
{
	check("apps", "deployments",
	      "{" META(
		      "d") "},'spec':{'replicas':3," SELECTOR "," TEMPLATE "},'status':{"
	                   "'readyReplicas':1,'updatedReplicas':2,'availableReplicas':1}}",
	      "['d','1/3',2,1,'60m','c1,c2','i1,i2','" SELECTED "']");
	check("apps", "deployments", "{" META("d") "},'spec':{'replicas':0}}",
	      "['d','0/0',0,0,'60m','','','']");
	check("apps", "replicasets",
	      "{" META("r") "},'spec':{'replicas':3," TEMPLATE "},'status':{'replicas':2,"
	                    "'readyReplicas':1}}",
	      "['r',3,2,1,'60m','c1,c2','i1,i2','<none>']");
	check("apps", "statefulsets",
	      "{" META("s") "},'spec':{'replicas':3," TEMPLATE
	                    "},'status':{'readyReplicas':3}}",
	      "['s','3/3','60m','c1,c2','i1,i2']");
	check("apps", "daemonsets",
	      "{" META(
		      "d") "},'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{"
	                   "'spec':{'nodeSelector':{'z':'1','y':''}," C1 "}}},'status':{"
	                   "'desiredNumberScheduled':5,'currentNumberScheduled':4,'numberReady':3,"
	                   "'updatedNumberScheduled':2,'numberAvailable':1}}",
	      "['d',5,4,3,2,1,'y=,z=1','60m','c1','i1','a=b']");
	check("", "replicationcontrollers",
	      "{" META("r") "},'spec':{'replicas':1,'selector':{'k':'v'}," TEMPLATE "}}",
	      "['r',1,0,0,'60m','c1,c2','i1,i2','k=v']");
	check("", "podtemplates",
	      "{" META("t") "},'template':{'metadata':{'labels':{'a':'b'}},'spec':{" C1
	                    "}}}",
	      "['t','c1','i1','a=b']");
	check("policy", "poddisruptionbudgets",
	      "{" META(
		      "b") "},'spec':{'minAvailable':'50%'},'status':{'disruptionsAllowed':2}}",
	      "['b','50%','N/A',2,'60m']");
	check("policy", "poddisruptionbudgets",
	      "{" META("b") "},'spec':{'maxUnavailable':1}}", "['b','N/A','1',0,'60m']");
	check("autoscaling", "scales",
	      "{" META("s") "},'spec':{'replicas':3},'status':{'replicas':2}}",
	      "['s',3,2,'60m']");
}

T_CASE(jobs_and_cron_jobs)
{
	check("batch", "jobs",
	      "{" META(
		      "j") "},'spec':{'completions':5,'parallelism':2," TEMPLATE "},"
	                   "'status':{'succeeded':2,'startTime':'2026-11-21T05:30:00Z'}}",
	      "['j','Running','2/5','30m','60m','c1,c2','i1,i2','<none>']");
	check("batch", "jobs",
	      "{" META(
		      "j") "},'spec':{'parallelism':3},'status':{'succeeded':1,'startTime':"
	                   "'2026-11-21T05:30:00Z','completionTime':'2026-11-21T05:31:05Z','conditions':"
	                   "[{'type':'Complete','status':'True'}]}}",
	      "['j','Complete','1/1 of 3','65s','60m','','','<none>']");
	check("batch", "jobs",
	      "{" META("j") "},'spec':{'parallelism':1},'status':{'conditions':[{'type':"
	                    "'Suspended','status':'True'}]}}",
	      "['j','Suspended','0/1','','60m','','','<none>']");
	check("batch", "cronjobs",
	      "{" META(
		      "c") "},'spec':{'schedule':'*/5 * * * *','suspend':false,'jobTemplate':{"
	                   "'spec':{" TEMPLATE
	                   "}}},'status':{'active':[{},{}],'lastScheduleTime':"
	                   "'2026-11-21T05:55:00Z'}}",
	      "['c','*/5 * * * *','<none>','False',2,'5m','60m','c1,c2','i1,i2','<none>']");
	check("batch", "cronjobs",
	      "{" META("c") "},'spec':{'schedule':'@daily','timeZone':'Europe/Berlin'}}",
	      "['c','@daily','Europe/Berlin','<unset>',0,'<none>','60m','','','<none>']");
}

T_CASE(services_and_small_objects)
{
	check("", "services",
	      "{" META(
		      "s") "},'spec':{'type':'NodePort','clusterIPs':['10.0.0.1'],'ports':["
	                   "{'port':80,'nodePort':30080,'protocol':'TCP'},{'port':53,'protocol':'UDP'}],"
	                   "'selector':{'a':'b'}}}",
	      "['s','NodePort','10.0.0.1','<none>','80:30080/TCP,53/UDP','60m','a=b']");
	check("", "services",
	      "{" META(
		      "s") "},'spec':{'type':'LoadBalancer','clusterIP':'None',"
	                   "'externalIPs':['1.1.1.1']},'status':{'loadBalancer':{'ingress':[{'ip':"
	                   "'9.9.9.9'},{'hostname':'lb'},{'ip':'8.8.8.8'}]}}}",
	      "['s','LoadBalancer','None','8.8.8.8,9.9.9.9,lb,1.1.1.1','<none>','60m',"
	      "'<none>']");
	check("", "services", "{" META("s") "},'spec':{'type':'LoadBalancer'}}",
	      "['s','LoadBalancer','<none>','<pending>','<none>','60m','<none>']");
	check("", "services",
	      "{" META("s") "},'spec':{'type':'ExternalName','externalName':'x.org'}}",
	      "['s','ExternalName','<none>','x.org','<none>','60m','<none>']");
	check("", "configmaps",
	      "{" META("c") "},'data':{'a':'1','b':'2'},'binaryData':{'c':'AA=='}}",
	      "['c',3,'60m']");
	check("", "serviceaccounts", "{" META("default") "}}", "['default',0,'60m']");
	check("scheduling.k8s.io", "priorityclasses",
	      "{" META("high") "},'value':1000,'preemptionPolicy':'Never'}",
	      "['high',1000,false,'60m','Never']");
	check("example.com", "unknowns", "{" META("u") "}}",
	      "['u','2026-11-21T05:00:00Z']");
}

T_CASE(storage)
{
	check("", "persistentvolumes",
	      "{" META(
		      "v") "},'spec':{'capacity':{'storage':'5Gi'},'accessModes':["
	                   "'ReadWriteMany','ReadWriteOnce'],'persistentVolumeReclaimPolicy':'Retain',"
	                   "'claimRef':{'namespace':'n','name':'c'},'storageClassName':'fast',"
	                   "'volumeMode':'Filesystem'},'status':{'phase':'Bound'}}",
	      "['v','5Gi','RWO,RWX','Retain','Bound','n/c','fast','<unset>','','60m',"
	      "'Filesystem']");
	check("", "persistentvolumeclaims",
	      "{" META(
		      "c") "},'spec':{'volumeName':'v','storageClassName':'fast'},'status':{"
	                   "'phase':'Bound','capacity':{'storage':'5Gi'},'accessModes':['ReadOnlyMany']}}",
	      "['c','Bound','v','5Gi','ROX','fast','<unset>','60m','<unset>']");
	check("", "persistentvolumeclaims",
	      "{'metadata':{'name':'c','deletionTimestamp':'" NOW "','annotations':{"
	      "'volume.beta.kubernetes.io/storage-class':'old'}},'status':{'phase':'Pending'}}",
	      "['c','Terminating','','','','old','<unset>','<unknown>','<unset>']");
	check("storage.k8s.io", "storageclasses",
	      "{'metadata':{'name':'s','creationTimestamp':'2026-11-21T05:00:00Z',"
	      "'annotations':{'storageclass.kubernetes.io/is-default-class':'true'}},"
	      "'provisioner':'p','volumeBindingMode':'WaitForFirstConsumer'}",
	      "['s (default)','p','Delete','WaitForFirstConsumer',false,'60m']");
	check("storage.k8s.io", "csinodes", "{" META("n") "},'spec':{'drivers':[{},{}]}}",
	      "['n',2,'60m']");
	check("storage.k8s.io", "csidrivers",
	      "{" META(
		      "d") "},'spec':{'attachRequired':false,'podInfoOnMount':true,"
	                   "'tokenRequests':[{'audience':'a'},{'audience':'b'}],'volumeLifecycleModes':"
	                   "['Persistent','Ephemeral']}}",
	      "['d',false,true,false,'a,b',false,'Persistent,Ephemeral','60m']");
	check("storage.k8s.io", "csidrivers", "{" META("d") "},'spec':{}}",
	      "['d',true,false,false,'<unset>',false,'<none>','60m']");
	check("storage.k8s.io", "csistoragecapacities",
	      "{" META("c") "},'storageClassName':'fast','capacity':'1Ti'}",
	      "['c','fast','1Ti']");
}

T_CASE(kinds_of_placet)
{
	check("placet.io", "clusters",
	      "{" META(
		      "east") "},'spec':{'kind':'kubernetes','weight':10,'cordoned':true},"
	                      "'status':{'health':'healthy','nodes':5,'lastSeenTime':'2026-11-21T05:59:58Z'}}",
	      "['east','healthy','kubernetes',5,10,true,'2s','60m','<none>']");
	check("placet.io", "shards",
	      "{'metadata':{'name':'east-0'},'spec':{'weight':1000},'status':{'state':'active',"
	      "'host':'h1','version':'0.1.0','partitions':[1,2,3],'startTime':"
	      "'2026-11-21T05:59:00Z','work':{'pending':7,'placed':812,'conflicts':3}}}",
	      "['east-0','active',3,7,812,'<none>','h1','60s','0.1.0','<none>',1000,3]");
	check("placet.io", "partitions",
	      "{'metadata':{'name':'0003'},'status':{'shard':'a','epoch':'12','target':'b'}}",
	      "['0003','moving','a','12','b']");
	check("placet.io", "partitions", "{'metadata':{'name':'0004'},'status':{}}",
	      "['0004','unowned','<none>','<none>','<none>']");
	check("placet.io", "configs",
	      "{'metadata':{'name':'coord'},'status':{'version':3,'by':'me','time':"
	      "'2026-11-21T05:59:00Z'}}",
	      "['coord','3','60s','me','<none>']");
	check("placet.io", "gangs",
	      "{" META(
		      "g") "},'status':{'phase':'reserving','shard':'a','nodes':[{'pods':[{},"
	                   "{}]},{'pods':[{}]}]}}",
	      "['g','reserving',3,2,'a','60m']");
	check("placet.io", "explanations",
	      "{'metadata':{'name':'p'},'status':{'phase':'Pending','reason':'no-fit',"
	      "'nodes':9,'feasible':0,'message':'0/9 nodes'}}",
	      "['p','Pending','no-fit',9,0,'0/9 nodes','<none>','<none>']");
}

/* -- the whole ---------------------------------------------------------------------------- */

T_CASE(a_table_has_columns_rows_and_the_objects_metadata)
{
	static const char *const pods[] = {
		"{" META("a") "},'spec':{" C1 "},'status':{'phase':'Succeeded'}}",
		"{" META("b") "},'spec':{" C1 "},'status':{'phase':'Failed'}}",
	};
	struct list_meta list = {
		.revision = 42, .continue_token = PL_SPAN_LIT("more"), .remaining = 7};
	struct table_rig rig;

	rig_open(&rig, "", "pods");
	table_begin(&rig.writer, &list, true);
	for (size_t i = 0; i < 2; i++)
		table_add(&rig.writer, parse(&rig.arena, pods[i]));
	table_end(&rig.writer);
	t_golden("api/table.json", rig_text(&rig));
	rig_close(&rig);
}

static void check_include(enum table_include include, const char *want)
{
	struct table_rig rig;

	rig_open(&rig, "", "namespaces");
	rig.writer.include = include;
	rig.writer.beta = true;
	table_of_one(&rig.writer,
	             parse(&rig.arena, "{'kind':'Namespace','metadata':{'name':'n',"
	                               "'resourceVersion':'9'}}"),
	             false);
	T_STR(rig_text(&rig), want);
	rig_close(&rig);
}

T_CASE(a_row_includes_what_is_asked_for)
{
	enum table_include include = TABLE_OBJECT;

#define ONE(object)                                                                    \
	"{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1beta1\",\"metadata\":"     \
	"{\"resourceVersion\":\"9\"},\"columnDefinitions\":null,\"rows\":[{\"cells\":" \
	"[\"n\",\"\",\"<unknown>\"],\"object\":" object "}]}"
	check_include(TABLE_NONE, ONE("null"));
	check_include(TABLE_METADATA,
	              ONE("{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":"
	                  "\"meta.k8s.io/v1beta1\",\"metadata\":{\"name\":\"n\","
	                  "\"resourceVersion\":\"9\"}}"));
	check_include(TABLE_OBJECT,
	              ONE("{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\","
	                  "\"resourceVersion\":\"9\"}}"));
	T_TRUE(table_include_parse(PL_SPAN_LIT(""), &include));
	T_EQ(include, TABLE_METADATA);
	T_TRUE(table_include_parse(PL_SPAN_LIT("Object"), &include));
	T_EQ(include, TABLE_OBJECT);
	T_TRUE(!table_include_parse(PL_SPAN_LIT("object"), &include));
}

/* Any object can be shown: fields of other types count as absent. */
T_CASE(odd_objects_have_rows)
{
	static const char *const odd[] = {
		"null",
		"7",
		"[]",
		"{}",
		"{'metadata':7,'spec':[1],'status':'x'}",
		"{'metadata':{'name':{},'labels':[1],'annotations':7,'creationTimestamp':'x'},"
		"'spec':{'containers':[1,null,'x'],'initContainers':{'a':{}},'ports':[[]],"
		"'selector':7,'template':null,'accessModes':[7],'clusterIPs':[7]},"
		"'status':{'conditions':{'a':7},'containerStatuses':[7,[]],"
		"'initContainerStatuses':[null],'podIPs':['x'],'nodes':[7],"
		"'loadBalancer':{'ingress':['x']}},'secrets':7,'data':'x'}",
	};
	static const char *const kinds[][2] = {
		{"", "pods"},
		{"", "nodes"},
		{"", "services"},
		{"", "events"},
		{"", "persistentvolumes"},
		{"", "persistentvolumeclaims"},
		{"apps", "deployments"},
		{"apps", "daemonsets"},
		{"batch", "jobs"},
		{"batch", "cronjobs"},
		{"policy", "poddisruptionbudgets"},
		{"storage.k8s.io", "csidrivers"},
		{"placet.io", "shards"},
		{"placet.io", "gangs"},
		{"", "configmaps"},
	};

	for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
		for (size_t j = 0; j < sizeof kinds / sizeof kinds[0]; j++) {
			struct table_rig rig;

			rig_open(&rig, kinds[j][0], kinds[j][1]);
			table_of_one(&rig.writer, parse(&rig.arena, odd[i]), true);
			(void)rig_text(&rig);
			rig_close(&rig);
		}
}

static enum pl_code write_one(void)
{
	struct pl_arena arena;
	struct pl_json object = {0};
	struct pl_buf text;
	struct pl_json_out out;
	enum pl_code code;
	struct table_writer writer = {.out = &out,
	                              .arena = &arena,
	                              .kind = table_kind_find("apps", "daemonsets")};

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&text, 1 << 20);
	pl_json_out_init(&out, &text);
	table_writer_init(&writer);
	code = pl_json_parse(
		&arena,
		PL_SPAN_LIT("{\"spec\":{\"selector\":{\"matchExpressions\":[{"
	                    "\"key\":\"a\",\"operator\":\"In\",\"values\":"
	                    "[\"b\"]}]}}}"),
		NULL, &object, NULL);
	if (code == PL_OK) {
		table_of_one(&writer, object, true);
		code = pl_json_out_done(&out);
	}
	table_writer_done(&writer);
	pl_buf_done(&text);
	pl_arena_done(&arena);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(write_one, false);
}
