/* Bytes of heap a node and a placed pod, shown with T_VERBOSE=1. */
#include "tests/support/shardsched/snapshot/snapshot_rig.h"

enum { NODES = 100000, PODS = 200000, NODE_MOST = 400, POD_MOST = 100 };

static uint32_t named(const char *word, unsigned number)
{
	char room[32];
	uint32_t out;

	snprintf(room, sizeof room, "%s-%06u", word, number);
	T_OK(strings_add(&model.strings, pl_span_str(room), &out), NULL);
	return out;
}

static void fill_nodes(void)
{
	struct node node = node_from(
		"{'metadata':{'name':'n','labels':{'zone':'a'}},'status':{'allocatable':{"
		"'cpu':'4','memory':'8Gi','pods':'110'}}}");
	uint32_t name = node.name, slot;

	for (unsigned i = 0; i < NODES; i++) {
		node.name = named("node", i);
		T_OK(snapshot_node_add(&snapshot, 0, &node, &slot, &err), &err);
		strings_unref(&model.strings, node.name);
	}
	node.name = name;
	node_drop(&model, &node);
}

static void fill_pods(void)
{
	struct pod pod = pod_from(
		"{'metadata':{'name':'p','namespace':'x'},'spec':{'containers':[{'name':"
		"'c','image':'i','resources':{'requests':{'cpu':'1'}}}]}}");
	struct pod_on_node there = on_node(&pod);
	uint32_t placed;

	for (unsigned i = 0; i < PODS; i++) {
		T_OK(snapshot_pod_add(&snapshot, i % NODES, &there, &placed, &err), &err);
	}
	pod_drop(&model, &pod);
}

T_CASE(nodes_and_pods_are_small)
{
	size_t empty, nodes, pods, names;

	begin();
	empty = snapshot_memory(&snapshot);
	fill_nodes();
	nodes = (snapshot_memory(&snapshot) - empty) / NODES;
	names = model_memory(&model) / NODES;
	fill_pods();
	pods = (snapshot_memory(&snapshot) - empty) / PODS - nodes * NODES / PODS;
	printf("%zu bytes a node, its name %zu; %zu bytes a placed pod; %zu empty\n",
	       nodes, names, pods, empty);
	T_TRUE(nodes + names < NODE_MOST);
	T_TRUE(pods < POD_MOST);
	end();
}
