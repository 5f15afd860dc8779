/* That the objects are such as an API server would take, and what the profiles say. */
#include <stdlib.h>

#include "bench/live/load.h"
#include "shardsched/model/parse.h"
#include "store/keys/partition.h"
#include "tests/harness/t.h"

enum { NODES = 44, PARTITIONS = 16 };

static struct model model;
static struct pl_arena arena;
static struct field_errors errors;
static struct load_object object;

static struct load load_of_profile(enum load_profile profile)
{
	return (struct load){.profile = profile,
	                     .partitions = PARTITIONS,
	                     .nodes = NODES,
	                     .pods = load_pods_usual(profile, NODES),
	                     .shards = 4};
}

static void kit_up(void)
{
	model_init(&model);
	pl_arena_init(&arena, 1 << 16, 0);
}

static void kit_down(void)
{
	model_done(&model);
	pl_arena_done(&arena);
}

static struct pod pod_of_object(void)
{
	struct parse parse = {.model = &model, .arena = &arena, .errors = &errors};
	struct pl_err err = {0};
	struct pod pod;

	pl_arena_reset(&arena);
	T_OK(pod_parse(&parse, load_json(&object), &pod, &err), &err);
	T_SPAN(model_text(&model, pod.name), pl_span_str(object.name));
	T_SPAN(model_text(&model, pod.spec->namespace), pl_span_str(object.scope));
	return pod;
}

static struct node node_of_object(void)
{
	struct parse parse = {.model = &model, .arena = &arena, .errors = &errors};
	struct pl_err err = {0};
	struct node node;

	pl_arena_reset(&arena);
	T_OK(node_parse(&parse, load_json(&object), &node, &err), &err);
	T_SPAN(model_text(&model, node.name), pl_span_str(object.name));
	return node;
}

T_CASE(every_object_of_every_profile_is_valid)
{
	kit_up();
	for (unsigned p = 0; p < LOAD_PROFILES; p++) {
		struct load load = load_of_profile((enum load_profile)p);
		uint32_t number;

		T_TRUE(load.pods > 0 && load.pods <= load_pods_most(&load));
		for (uint32_t i = 0; i < load.pods; i++) {
			struct pod pod;

			load_pod(&load, i, &object);
			T_TRUE(load_pod_of(pl_span_str(object.name), &number));
			T_EQ(number, i);
			pod = pod_of_object();
			pod_drop(&model, &pod);
		}
		for (uint32_t n = 0; n < NODES; n++) {
			struct node node;

			load_node(&load, n, &object);
			T_TRUE(load_node_of(pl_span_str(object.name), &number));
			T_EQ(number, n);
			node = node_of_object();
			node_drop(&model, &node);
		}
	}
	kit_down();
}

/* CPU of the pods before, on all nodes together, in millicores. */
static int64_t before_cpu(const struct load *load, int64_t most)
{
	int64_t sum = 0;

	for (uint32_t n = 0; n < NODES; n++) {
		int64_t on_node = 0;

		for (uint32_t k = 0; k < load_before_each(load); k++) {
			struct load_before what;
			struct pod pod;

			load_before(load, n, k, &object, &what);
			T_EQ(what.node, n);
			pod = pod_of_object();
			T_EQ(pod.spec->priority, 0);
			pod_drop(&model, &pod);
			on_node += what.cpu_milli;
		}
		T_TRUE(on_node <= most);
		sum += on_node;
	}
	return sum;
}

T_CASE(pods_before_fill_nodes_as_the_profile_says)
{
	struct load full = load_of_profile(LOAD_FULL95),
		    low = load_of_profile(LOAD_PREEMPTION);

	kit_up();
	T_EQ(before_cpu(&full, 32000), NODES * 32000 * 95 / 100);
	T_EQ(before_cpu(&low, 4000), NODES * 3600);
	full = load_of_profile(LOAD_BASIC);
	T_EQ(load_before_each(&full), 0);
	kit_down();
}

/* A quarter of the partitions is the pod's own shard's, so more of them leave. */
T_CASE(a_fifth_of_the_pods_needs_other_shards)
{
	struct load load = load_of_profile(LOAD_AWAY);
	unsigned sent = 0;

	load.pods = 1000;
	for (uint32_t i = 0; i < load.pods; i++) {
		const char *pool;
		uint32_t own = 0;

		load_pod(&load, i, &object);
		pool = strstr(object.json, "\"pool-");
		if (pool == NULL)
			continue;
		sent++;
		T_EQ(partition_of_pod(pl_span_str(object.scope), pl_span_str(object.name),
		                      PARTITIONS, &own, NULL),
		     PL_OK);
		T_TRUE((uint32_t)strtoul(pool + 6, NULL, 10) != own);
	}
	T_NEAR(sent * 0.75, 200, 10);
}

T_CASE(replicas_and_gangs_are_numbered_together)
{
	struct load one = load_of_profile(LOAD_ONEDEPLOYMENT),
		    gang = load_of_profile(LOAD_GANG);

	T_TRUE(load_has_groups(&one) && load_has_groups(&gang));
	gang.pods = 20;
	load_pod(&gang, 15, &object);
	T_TRUE(strstr(object.json, "\"placet.io/gang-min\":\"16\"") != NULL);
	load_pod(&gang, 16, &object);
	T_TRUE(strstr(object.json, "\"placet.io/gang\":\"gang-1\"") != NULL);
	T_TRUE(strstr(object.json, "\"placet.io/gang-min\":\"4\"") != NULL);
	gang.profile = LOAD_LARGEGANG;
	gang.pods = 1500;
	load_pod(&gang, 999, &object);
	T_TRUE(strstr(object.json, "\"placet.io/gang-min\":\"1000\"") != NULL);
	load_pod(&gang, 1000, &object);
	T_TRUE(strstr(object.json, "\"placet.io/gang-min\":\"500\"") != NULL);
}
