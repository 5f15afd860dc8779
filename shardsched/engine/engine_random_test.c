/* Objects are put, changed and dropped at random: places agree with a naive model, and
 * the snapshot's sums with a recount. */
#include <stdlib.h>

#include "store/base/rng.h"
#include "tests/support/shardsched/engine/engine_rig.h"

enum { NODES = 6, PODS = 24, STEPS = 6000, CHECK_EVERY = 50 };

struct naive_pod {
	bool there, over, terminates, nominated;
	int node; /* -1: none */
};

static struct engine_rig rig;
static struct pl_rng rng;
static bool node_there[NODES];
static struct naive_pod pods[PODS];

static int below(int bound)
{
	return (int)pl_rng_below(&rng, (uint64_t)bound);
}

static void change_node(int n)
{
	char name[16], cpu[16];

	(void)snprintf(name, sizeof name, "n%d", n);
	(void)snprintf(cpu, sizeof cpu, "%d", 1 + below(8));
	if (node_there[n] && below(2) == 0) {
		T_OK(rig_drop(&rig, ENGINE_NODE, "", name), &rig.err);
		node_there[n] = false;
	} else {
		rig_node(&rig, name, cpu);
		node_there[n] = true;
	}
}

static void put_pod(int p)
{
	struct naive_pod pod = {.there = true,
	                        .over = below(6) == 0,
	                        .terminates = below(4) == 0,
	                        .node = below(NODES + 1) - 1};
	char json[1024], node[40] = "", nominated[60] = "";

	pod.nominated = pod.node >= 0 && below(4) == 0;
	if (pod.nominated)
		(void)snprintf(nominated, sizeof nominated,
		               ",\"nominatedNodeName\":\"n%d\"", pod.node);
	else if (pod.node >= 0)
		(void)snprintf(node, sizeof node, "\"nodeName\":\"n%d\",", pod.node);
	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"name\":\"p%d\",\"namespace\":\"s\"%s},\"spec\":{%s"
		"\"containers\":[{\"name\":\"c\",\"ports\":[{\"hostPort\":%d,"
		"\"containerPort\":1}],\"resources\":{\"requests\":{\"cpu\":\"%dm\","
		"\"example.com/x\":\"%d\"}}}]},\"status\":{\"phase\":\"%s\"%s}}",
		p,
		pod.terminates ? ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"" : "",
		node, 1 + below(3), 1 + below(3), below(3),
		pod.over ? "Failed" : "Running", nominated);
	rig_put(&rig, ENGINE_POD, json);
	pods[p] = pod;
}

static void drop_pod(int p)
{
	char name[8];

	(void)snprintf(name, sizeof name, "p%d", p);
	T_CODE(rig_drop(&rig, ENGINE_POD, "s", name), pods[p].there ? PL_OK : PL_NOTFOUND,
	       &rig.err);
	pods[p].there = false;
}

static void compare(void)
{
	struct snapshot *snapshot = engine_snapshot(rig.engine);
	uint32_t there = 0, without_node = 0, on[NODES] = {0};

	for (int p = 0; p < PODS; p++) {
		const struct naive_pod *pod = &pods[p];

		there += pod->there;
		if (!pod->there || pod->over || pod->node < 0)
			continue;
		without_node += !node_there[pod->node];
		on[pod->node] += !pod->nominated;
	}
	T_EQ(engine_pods(rig.engine), there);
	T_EQ(engine_pods_without_node(rig.engine), without_node);
	for (int n = 0; n < NODES; n++) {
		char name[8];

		(void)snprintf(name, sizeof name, "n%d", n);
		T_EQ(rig_pods_on(&rig, name), node_there[n] ? (int64_t)on[n] : -1);
	}
	snapshot_check(snapshot);
}

T_CASE_SECONDS(places_agree_with_a_naive_model, 60)
{
	pl_rng_init(&rng, t_seed());
	rig_open(&rig, &(struct engine_opts){0});
	for (int step = 0; step < STEPS; step++) {
		int what = below(10);

		if (what < 2)
			change_node(below(NODES));
		else if (what < 8)
			put_pod(below(PODS));
		else
			drop_pod(below(PODS));
		if (step % CHECK_EVERY == 0)
			compare();
	}
	compare();
	rig_close(&rig);
}
