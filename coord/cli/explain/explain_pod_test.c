/* placet explain pod, against a store with what shards would have written. */
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
	if (alloc == NULL)
		return;
	(void)snprintf(key, sizeof key, "/alloc/0000/%s/%s", cluster, name);
	placet_put(key, alloc);
}

static void pod(const char *name, const char *cpu, const char *more, const char *state)
{
	char key[128], json[512];

	(void)snprintf(key, sizeof key, "/schedules/0000/web/%s/spec", name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s\"},\"spec\":{%s\"containers\":[{\"name\":\"c\","
	               "\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}",
	               name, name, more, cpu);
	placet_put(key, json);
	if (state == NULL)
		return;
	(void)snprintf(key, sizeof key, "/schedules/0000/web/%s/state", name);
	placet_put(key, state);
}

static const char empty[] = "{\"v\":1,\"generation\":1}";
static const char bound[] =
	"{\"v\":1,\"uid\":\"u-on\",\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":"
	"\"n-1\",\"shard\":\"a-0\",\"epoch\":\"12\",\"attempts\":3,"
	"\"since\":\"2026-11-21T09:00:00.000Z\"}";

/* One partition, so that everything falls there. */
static void up(void)
{
	placet_up(1);
	node("east", "n-1", "4",
	     "{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"3000m\",\"pods\":\"1\"},"
	     "\"pods\":{\"0000\":{\"web\":[\"on\"]}}}");
	node("west", "n-2", "2", empty);
	node("west", "n-3", "2",
	     "{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"1500m\",\"pods\":\"1\"},"
	     "\"holds\":[{\"kind\":\"gang\",\"namespace\":\"ml\",\"name\":\"train\","
	     "\"used\":{\"cpu\":\"1500m\",\"pods\":\"1\"},"
	     "\"until\":\"2026-11-21T09:00:00.000Z\"}]}");
	pod("on", "3", "", bound);
}

T_CASE(a_pod_without_a_node_is_explained_by_cluster)
{
	up();
	pod("big", "6", "",
	    "{\"v\":1,\"uid\":\"u-big\",\"phase\":\"Pending\",\"attempts\":4,"
	    "\"shard\":\"a-0\",\"epoch\":\"12\",\"reason\":\"fit.cpu\",\"message\":"
	    "\"3 nodes: Insufficient cpu\",\"since\":\"2026-11-21T09:00:00.000Z\"}");
	placet_owner(0, "a-0");
	T_EQ(PLACET("explain", "pod", "web/big"), 1);
	placet_prints("web/big is Pending since 2026-11-21T09:00:00.000Z");
	placet_prints("  fit.cpu: 3 nodes: Insufficient cpu\n");
	placet_prints("  4 attempts, reported by a-0 under epoch 12\n");
	placet_prints("  partition 0, of shard a-0\n");
	placet_prints("web/big fits on none of 2 nodes\n");
	placet_prints("  2 nodes lack 4 cpu or more");
	placet_prints("west                               1          0   "
	              "NodeResourcesFit 1\n");
	placet_prints("east/n-1                     lacks 5 cpu");
	placet_prints("west/n-2                     lacks 4 cpu");
	T_EQ(PLACET("explain", "pod", "web/big", "-o", "json"), 1);
	placet_prints("\"kind\": \"PodExplanation\"");
	placet_prints("\"reason\": \"fit.cpu\"");
	placet_prints("\"clusters\": [");
	placet_prints("\"attempts\": 4");
	T_EQ(PLACET("explain", "pod", "big", "-n", "web", "-o", "dot"), 1);
	placet_prints("digraph");
	placet_down();
}

T_CASE(a_placed_pod_shows_its_node_and_shard)
{
	up();
	T_EQ(PLACET("explain", "pod", "web/on"), 0);
	placet_prints("web/on is Bound on east/n-1 since 2026-11-21T09:00:00.000Z");
	placet_prints("placed by a-0 under epoch 12");
	placet_prints("which no shard owns at the moment");
	placet_prints("if it were decided now, as if it had no node:\n"
	              "web/on goes to east/n-1");
	pod("on", "3", "",
	    "{\"v\":1,\"uid\":\"u-on\",\"phase\":\"Succeeded\",\"cluster\":\"east\","
	    "\"node\":\"n-1\",\"since\":\"2026-11-21T09:00:00.000Z\"}");
	T_EQ(PLACET("explain", "pod", "web/on"), 0);
	placet_prints("web/on is Succeeded");
	placet_prints_not("goes to");
	placet_down();
}

/* Counted among the waiting pods of its shard. */
T_CASE(pods_ahead_in_the_queue_are_counted)
{
	static const char pending[] =
		"{\"v\":1,\"uid\":\"u\",\"phase\":\"Pending\",\"since\":"
		"\"2026-11-21T09:00:00.000Z\"}";
	static const char failed[] =
		"{\"v\":1,\"uid\":\"u\",\"phase\":\"Failed\",\"since\":"
		"\"2026-11-21T09:00:00.000Z\"}";
	static const char old[] =
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"old\",\"uid\":\"u\","
		"\"labels\":{\"sla\":\"gold\"},"
		"\"creationTimestamp\":\"2026-11-20T09:00:00Z\"},\"spec\":{\"priority\":5,"
		"\"containers\":[{\"name\":\"c\"}]}}";
	static const char young[] =
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"me\",\"uid\":\"u\","
		"\"creationTimestamp\":\"2026-11-21T09:00:00Z\"},\"spec\":{\"priority\":5,"
		"\"containers\":[{\"name\":\"c\"}]}}";

	up();
	placet_put("/schedules/0000/web/me/spec", young);
	placet_put("/schedules/0000/web/old/spec", old);
	pod("high", "9", "\"priority\":6,", NULL);
	pod("higher", "9", "\"priority\":7,", pending);
	pod("over", "9", "\"priority\":7,", failed);
	pod("gated", "9", "\"priority\":7,\"schedulingGates\":[{\"name\":\"g\"}],", NULL);
	pod("named", "9", "\"priority\":7,\"nodeName\":\"n-1\",", NULL);
	pod("low", "9", "\"priority\":4,", pending);
	placet_put("/schedules/0000/web/bad/spec", "what");
	T_EQ(PLACET("explain", "pod", "web/me"), 0);
	placet_prints_not("that wait");
	placet_owner(0, "a-0");
	T_EQ(PLACET("explain", "pod", "web/me"), 0);
	placet_prints("  of the pods of a-0 that wait 2 come before it by priority, 1 is "
	              "as important, 1 of these older\n");
	T_EQ(PLACET("config", "set", "scheduler", "queue={sort: sla}"), 0);
	T_EQ(PLACET("explain", "pod", "web/me", "-o", "json"), 0);
	placet_prints("\"sort\": \"sla\"");
	placet_prints("\"before\": 3");
	placet_prints("\"alike\": 0");
	T_EQ(PLACET("explain", "pod", "web/on"), 0);
	placet_prints_not("that wait");
	placet_down();
}

/* Malformed nodes are left out, as a shard does. */
T_CASE(malformed_nodes_are_left_out_and_named)
{
	up();
	node("east", "n-4", "64", NULL);
	node("east", "n-5", "64", "what");
	node("east", "n-6", "64",
	     "{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
	     "\"pods\":{\"0000\":{\"web\":[\"lost\"]}}}");
	placet_put("/nodes/0000/east/n-7", "{}");
	pod("new", "6", "", NULL);
	T_EQ(PLACET("explain", "pod", "web/new"), 1);
	placet_prints("web/new is Pending, and no shard has decided it yet\n");
	placet_prints("left out: 1 node, it has no alloc (/nodes/0000/east/n-4)");
	placet_prints("left out: 1 node, its alloc is malformed (/nodes/0000/east/n-5: ");
	placet_prints("a pod on it is lost or malformed (/nodes/0000/east/n-6: "
	              "0000/web/lost)");
	placet_prints("left out: 1 node, its Node is malformed (/nodes/0000/east/n-7");
	placet_prints("fits on none of 2 nodes");
	T_EQ(PLACET("explain", "pod", "web/new", "-o", "json"), 1);
	placet_prints("\"store.no-alloc\"");
	placet_down();
}

/* Unknown words are ignored, as a shard does. */
T_CASE(malformed_objects_are_malformed_here_too)
{
	up();
	pod("bad", "1", "\"tolerations\":[{\"key\":\"gpu\",\"effect\":\"noschedule\"}],",
	    NULL);
	pod("good", "1",
	    "\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\","
	    "\"whenUnsatisfiable\":\"ScheduleAnyway\",\"labelSelector\":{}}],",
	    NULL);
	placet_put(
		"/nodes/0000/west/n-2",
		"{\"metadata\":{\"name\":\"n-2\"},\"spec\":{\"taints\":[{\"key\":\"gpu\","
		"\"effect\":\"noschedule\"}]},\"status\":{\"allocatable\":{\"cpu\":\"2\","
		"\"memory\":\"8Gi\",\"pods\":\"10\"}}}");
	T_EQ(PLACET("explain", "pod", "web/bad"), 1);
	placet_says("the pod's spec: spec.tolerations[0].effect: want NoSchedule");
	T_EQ(PLACET("explain", "pod", "web/good"), 0);
	placet_prints("left out: 1 node,");
	placet_prints("spec.taints[0].effect: want NoSchedule");
	placet_prints(
		"  warning: spec.topologySpreadConstraints[0].topologyKey: no node has "
		"the label zone\n");
	placet_down();
}

T_CASE(the_nominated_node_is_shown)
{
	up();
	pod("high", "6", "",
	    "{\"v\":1,\"uid\":\"u-high\",\"phase\":\"Pending\",\"nominated\":{"
	    "\"cluster\":\"east\",\"node\":\"n-1\"},\"attempts\":1,\"shard\":\"a-0\","
	    "\"epoch\":\"12\",\"reason\":\"preempting\","
	    "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	T_EQ(PLACET("explain", "pod", "web/high"), 1);
	placet_prints("\n  nominated for east/n-1\n");
	T_EQ(PLACET("explain", "pod", "web/high", "-o", "json"), 1);
	placet_prints("\"nominated\": {\n      \"cluster\": \"east\",\n      "
	              "\"node\": \"n-1\"\n");
	T_EQ(PLACET("get", "pods", "-n", "web", "-o", "wide"), 0);
	placet_prints("NOMINATED");
	placet_prints("east/n-1");
	placet_down();
}

/* Otherwise there would seem to be room. */
T_CASE(a_node_with_a_gangs_reservation_has_its_own_flaw)
{
	up();
	pod("small", "2", "\"nodeSelector\":{\"kubernetes.io/hostname\":\"n-3\"},", NULL);
	placet_owner(0, "a-0");
	T_EQ(PLACET("explain", "pod", "web/small"), 1);
	placet_prints(
		"  left out: 1 node, a gang has a reservation there, and no other pod is placed there (/nodes/0000/west/n-3: ml/train)\n");
	placet_prints("web/small fits on none of 2 nodes\n");
	placet_prints("west                               1          0   ");
	T_EQ(PLACET("explain", "pod", "web/small", "-o", "json"), 1);
	placet_prints("\"reason\": \"node.closed\"");
	placet_prints("\"first\": \"/nodes/0000/west/n-3\"");
	placet_prints("\"why\": \"ml/train\"");
	pod("tiny", "100m", "", NULL);
	T_EQ(PLACET("explain", "pod", "web/tiny", "-o", "json"), 0);
	placet_prints("\"own\": {\n    \"nodes\": 2,\n    \"feasible\": 2\n");
	placet_down();
}

T_CASE(the_live_configuration_decides_the_explanation)
{
	static const char night[] =
		"profiles=[{schedulerName: night, pluginConfig: [{name: NodeResourcesFit, "
		"args: {scoringStrategy: {type: MostAllocated}}}]}]";

	up();
	pod("p", "1", "\"schedulerName\":\"night\",", NULL);
	T_EQ(PLACET("explain", "pod", "web/p"), 1);
	placet_says("no shard schedules for 'night'");
	T_EQ(PLACET("config", "set", "scheduler", night), 0);
	T_EQ(PLACET("explain", "pod", "web/p"), 0);
	placet_prints("by version 1 of scheduler");
	placet_prints("web/p goes to east/n-1");
	placet_down();
}

T_CASE(a_pod_that_stands_with_its_group_is_found)
{
	placet_up(2);
	/* shop/web-1 falls in one of the two, and stands in the other. */
	placet_put("/schedules/0000/shop/web-1/spec", "{\"v\":1,\"at\":1}");
	placet_put("/schedules/0001/shop/web-1/spec",
	           "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"web-1\",\"uid\":"
	           "\"u\"},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}");
	T_EQ(PLACET("explain", "pod", "shop/web-1"), 1);
	placet_prints("shop/web-1 fits on none of 0 nodes");
	placet_down();
}

T_CASE(a_large_gangs_phase_is_shown)
{
	up();
	placet_put("/schedules/0000/ml/w-0/spec",
	           "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"w-0\",\"uid\":\"u\","
	           "\"annotations\":{\"placet.io/gang\":\"train\"}},\"spec\":{"
	           "\"containers\":[{\"name\":\"c\"}]}}");
	T_EQ(PLACET("explain", "pod", "ml/w-0"), 0);
	placet_prints("it is of the gang train, which is placed as a whole");
	placet_prints_not("record");
	placet_put("/gangs/ml/train",
	           "{\"v\":1,\"phase\":\"reserving\",\"shard\":\"a-0\",\"epoch\":\"12\","
	           "\"until\":\"2026-11-21T09:00:00.000Z\",\"nodes\":[{\"at\":0,"
	           "\"cluster\":\"west\",\"node\":\"n-3\",\"pods\":{\"w-0\":\"7\"}}]}");
	T_EQ(PLACET("explain", "pod", "ml/w-0"), 0);
	placet_prints("the gang's record says: reserving");
	T_EQ(PLACET("explain", "pod", "ml/w-0", "-o", "json"), 0);
	placet_prints("\"gangPhase\": \"reserving\"");
	placet_put("/gangs/ml/train", "{}");
	T_EQ(PLACET("explain", "pod", "ml/w-0"), 0);
	placet_prints("the gang's record says: malformed");
	placet_down();
}

T_CASE(missing_objects_are_reported)
{
	up();
	T_EQ(PLACET("explain", "pod", "web/none"), 1);
	placet_says("there is no pod web/none");
	T_EQ(PLACET("explain", "pod", "web"), 1);
	placet_says("there is no pod default/web");
	T_EQ(PLACET("explain", "pod", "Web/x"), 2);
	T_EQ(PLACET("explain", "pod"), 2);
	T_EQ(PLACET("explain", "pod", "web/on", "-o", "yaml"), 2);
	placet_says("want text, json or dot");
	placet_put("/schedules/0000/web/ptr/spec", "{\"v\":1,\"at\":7}");
	T_EQ(PLACET("explain", "pod", "web/ptr"), 1);
	placet_says("names partition 7 of 1");
	placet_down();
}
