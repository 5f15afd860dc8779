/* placet plan, against a store with what shards would have written. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/coord/cli/placet_rig.h"

static void node(const char *cluster, const char *name, const char *cpu,
                 const char *alloc)
{
	char key[128], json[512];

	(void)snprintf(key, sizeof key, "/nodes/0000/%s/%s", cluster, name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{"
	               "\"kubernetes.io/hostname\":\"%s\"}},\"status\":{\"allocatable\":"
	               "{\"cpu\":\"%s\",\"memory\":\"8Gi\",\"pods\":\"10\"}}}",
	               name, name, cpu);
	placet_put(key, json);
	(void)snprintf(key, sizeof key, "/alloc/0000/%s/%s", cluster, name);
	placet_put(key, alloc);
}

static const char empty[] = "{\"v\":1,\"generation\":1}";

/* One partition, so that everything falls there. */
static void up(void)
{
	placet_up(1);
	node("east", "n-1", "4",
	     "{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"3000m\",\"pods\":\"1\"},"
	     "\"pods\":{\"0000\":{\"web\":[\"on\"]}}}");
	node("west", "n-2", "4", empty);
	placet_put("/schedules/0000/web/on/spec",
	           "{\"metadata\":{\"namespace\":\"web\",\"name\":\"on\",\"uid\":\"u\"},"
	           "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\","
	           "\"resources\":{\"requests\":{\"cpu\":\"3\"}}}]}}");
}

/* A Deployment with that many pods of 1 cpu. */
static const char *deployment(unsigned replicas)
{
	static char text[1024];

	(void)snprintf(text, sizeof text,
	               "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, "
	               "namespace: web, uid: d}\nspec:\n  replicas: %u\n  selector: "
	               "{matchLabels: {app: web}}\n  template:\n    metadata: {labels: "
	               "{app: web}}\n    spec:\n      containers:\n      - {name: c, "
	               "image: i, resources: {requests: {cpu: \"1\"}}}\n",
	               replicas);
	return text;
}

static int plan(const char *input, const char *more, const char *value)
{
	const char *const args[] = {"plan", "-f", "-", more, value, NULL};

	return placet_run(input, args);
}

T_CASE(pods_that_fit_are_shown_with_their_nodes)
{
	up();
	T_EQ(plan(deployment(5), NULL, NULL), 0);
	placet_prints("5 of 5 pods fit on 2 nodes, as of revision ");
	placet_prints("by the default profile\n");
	placet_prints("NAMESPACE   NAME");
	placet_prints("placed");
	placet_prints("west/n-2");
	placet_prints("east/n-1");
	T_EQ(PLACET("get", "pods", "-n", "web", "-o", "name"), 0);
	placet_prints("web/on\n");
	placet_prints_not("web/web"); /* nothing was written */
	placet_down();
}

T_CASE(pods_that_do_not_fit_are_shown_with_their_reasons)
{
	up();
	T_EQ(plan(deployment(6), NULL, NULL), 1);
	placet_prints("5 of 6 pods fit on 2 nodes");
	placet_prints("unschedulable   -          2 nodes: Insufficient cpu");
	/* The first of them comes after many that fit. */
	T_EQ(plan(deployment(310), "--add-nodes", "3:cpu=100,memory=8Gi"), 1);
	placet_prints("305 of 310 pods fit");
	placet_prints("unschedulable   -");
	placet_prints("5 nodes: Insufficient cpu");
	T_EQ(plan(deployment(6), "-o", "json"), 1);
	placet_prints("{\"kind\":\"Plan\",\"v\":1,\"revision\":\"");
	placet_prints("\"fits\":false,\"nodes\":2,\"nodesAdded\":0");
	placet_prints("\"pods\":6,\"displaced\":0,\"placed\":5");
	placet_prints("\"reason\":\"fit.cpu\"");
	placet_down();
}

T_CASE(a_pod_may_name_a_class_of_the_store)
{
	static const char pod[] =
		"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\","
		"\"namespace\":\"web\"},\"spec\":{\"priorityClassName\":\"high\","
		"\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}";

	up();
	T_EQ(plan(pod, NULL, NULL), 2);
	placet_says("spec.priorityClassName: want its PriorityClass in the store");
	placet_put("/objects/scheduling.k8s.io/priorityclasses/high",
	           "{\"metadata\":{\"name\":\"high\"},\"value\":1000}");
	T_EQ(plan(pod, NULL, NULL), 0);
	placet_prints("1 of 1 pod fits");
	/* So do the other commands that read files. */
	T_EQ(placet_run(pod, (const char *const[]){"delete", "pod", "-f", "-", "--yes",
	                                           "--ignore-not-found", NULL}),
	     0);
	placet_down();
}

T_CASE(added_nodes_make_room)
{
	static const char file[] = "plan-node.yaml";
	char path[256], arg[300];
	FILE *out;

	up();
	T_EQ(plan(deployment(9), "--add-nodes", "1:cpu=8,memory=32Gi"), 0);
	placet_prints("9 of 9 pods fit on 3 nodes");
	placet_prints("  with 1 node added\n");
	placet_prints("added/added-0");
	(void)snprintf(path, sizeof path, "/tmp/%d-%s", (int)getpid(), file);
	out = fopen(path, "w");
	T_TRUE(out != NULL);
	(void)fputs("kind: Node\nmetadata: {name: big}\nstatus: {allocatable: {cpu: 1, "
	            "memory: 8Gi, pods: 9}}\n",
	            out);
	T_EQ(fclose(out), 0);
	(void)snprintf(arg, sizeof arg, "2:%s", path);
	T_EQ(plan(deployment(7), "--add-nodes", arg), 0);
	placet_prints("added/big-1");
	T_EQ(unlink(path), 0);
	placet_down();
}

T_CASE(a_lost_cluster_is_planned_again)
{
	up();
	T_EQ(PLACET("plan", "--without", "cluster=east"), 0);
	placet_prints("1 of 1 pod fits on 1 node");
	placet_prints("  without 1 node, whose 1 pod is planned again\n");
	placet_prints("web         on     placed    west/n-2   east/n-1\n");
	T_EQ(plan(deployment(2), "--without", "cluster=east"), 1);
	placet_prints("2 of 3 pods fit on 1 node");
	T_EQ(PLACET("plan", "--without", "cluster=east", "--without", "cluster=west"), 1);
	placet_prints("there is no node");
	placet_down();
}

T_CASE(a_past_revision_can_be_asked_about)
{
	struct kv_req compact = {.op = KV_COMPACT};
	char first[32];
	int64_t revision;

	up();
	revision = etcd_rig_put(&placet_rig.rig, "/x", "y");
	(void)snprintf(first, sizeof first, "%lld", (long long)revision);
	node("east", "n-1", "16", empty);
	T_EQ(plan(deployment(12), NULL, NULL), 0);
	T_EQ(plan(deployment(12), "--at-revision", first), 1);
	placet_prints("as of revision ");
	placet_prints(first);
	T_EQ(plan(deployment(1), "--at-revision", "900000"), 2);
	placet_says("the store has not come to revision 900000");
	compact.compact.revision = revision + 1;
	T_EQ(etcd_rig_call(&placet_rig.rig, &compact, ETCD_RIG_TIMEOUT_MS, NULL), PL_OK);
	T_EQ(plan(deployment(12), "--at-revision", first), 2);
	placet_says("was compacted");
	placet_down();
}

T_CASE(wrong_usage_and_input_are_errors)
{
	up();
	T_EQ(PLACET("plan"), 2);
	placet_says("want -f FILE, or --without cluster=NAME");
	T_EQ(plan(deployment(1), "--without", "east"), 2);
	placet_says("want cluster=NAME");
	T_EQ(plan(deployment(1), "--add-nodes", "0:cpu=1"), 2);
	T_EQ(plan(deployment(1), "--add-nodes", "1:cpu=1,cpu=2"), 2);
	placet_says("add[0]: shape: cpu comes twice");
	T_EQ(plan(deployment(1), "--add-nodes", "1:cpu=lots"), 2);
	placet_says("add[0]: ");
	T_EQ(plan(deployment(1), "--add-nodes", "1:/no/such/file"), 2);
	T_EQ(plan(deployment(1), "--at-revision", "x"), 2);
	T_EQ(plan("kind: Pod\nmetadata: {name: BAD}\n", NULL, NULL), 2);
	placet_says("refused");
	T_EQ(plan(deployment(10001), NULL, NULL), 2);
	placet_says("at most 10000 are planned at once");
	placet_down();
}
