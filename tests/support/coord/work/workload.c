#include "tests/support/coord/work/workload.h"

#include <stdio.h>

#include "store/base/num.h"
#include "tests/support/coord/work/workload_int.h"

enum { SPACES = 20, APPS = 50, CPU_STEP = 50, CPU_KINDS = 3 };

#define WORKLOAD_PROFILE_NAME(profile, name) [WORKLOAD_##profile] = (name),
static const char *const profile_names[WORKLOAD_PROFILES] = {
	WORKLOAD_PROFILE_MAP(WORKLOAD_PROFILE_NAME)};

const char *workload_profile_name(enum workload_profile profile)
{
	return profile_names[profile];
}

uint32_t workload_pod_cpu(uint32_t pod)
{
	return CPU_STEP * (1 + pod % CPU_KINDS);
}

void workload_node_cluster(uint32_t node, char out[WORKLOAD_NAME_SIZE])
{
	(void)snprintf(out, WORKLOAD_NAME_SIZE, "%s", node % 2 == 0 ? "east" : "west");
}

void workload_node_name(uint32_t node, char out[WORKLOAD_NAME_SIZE])
{
	(void)snprintf(out, WORKLOAD_NAME_SIZE, "node-%u", node);
}

void workload_pod_namespace(uint32_t pod, char out[WORKLOAD_NAME_SIZE])
{
	(void)snprintf(out, WORKLOAD_NAME_SIZE, "team-%02u", pod % SPACES);
}

void workload_pod_name(uint32_t pod, char out[WORKLOAD_NAME_SIZE])
{
	(void)snprintf(out, WORKLOAD_NAME_SIZE, "pod-%u", pod);
}

static bool number_of(struct pl_span name, struct pl_span start, uint32_t *out)
{
	uint64_t number;

	if (!pl_span_starts(name, start) ||
	    pl_num_u64_in(pl_span(name.at + start.len, name.len - start.len), 0,
	                  UINT32_MAX - 1, &number, NULL) != PL_OK)
		return false;
	*out = (uint32_t)number;
	return true;
}

bool workload_node_of(struct pl_span name, uint32_t *out)
{
	return number_of(name, PL_SPAN_LIT("node-"), out);
}

bool workload_pod_of(struct pl_span name, uint32_t *out)
{
	return number_of(name, PL_SPAN_LIT("pod-"), out);
}

char *workload_node_json(struct pl_arena *arena, uint32_t node)
{
	char name[WORKLOAD_NAME_SIZE];

	workload_node_name(node, name);
	return pl_arena_printf(
		arena,
		"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\","
		"\"labels\":{\"kubernetes.io/hostname\":\"%s\","
		"\"kubernetes.io/os\":\"linux\",\"kubernetes.io/arch\":\"amd64\","
		"\"topology.kubernetes.io/zone\":\"zone-%u\"}},"
		"\"status\":{\"allocatable\":{\"cpu\":\"%dm\",\"memory\":\"32Gi\","
		"\"ephemeral-storage\":\"100Gi\",\"pods\":\"%d\"}}}",
		name, name, node % WORKLOAD_ZONES, WORKLOAD_NODE_CPU_MILLI,
		WORKLOAD_NODE_PODS);
}

static const char affinity_format[] =
	"\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuring"
	"Execution\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"
	"\"topology.kubernetes.io/zone\",\"operator\":\"In\",\"values\":[\"zone-%u\","
	"\"zone-%u\"]}]}]}}},";

char *workload_pod_json(const struct workload_spec *workload, struct pl_arena *arena,
                        uint32_t pod)
{
	uint32_t zone = pod % WORKLOAD_ZONES;
	char name[WORKLOAD_NAME_SIZE], namespace[WORKLOAD_NAME_SIZE], more[512] = "";

	workload_pod_name(pod, name);
	workload_pod_namespace(pod, namespace);
	if (workload->profile == WORKLOAD_NODEAFFINITY)
		(void)snprintf(more, sizeof more, affinity_format, zone,
		               (zone + 3) % WORKLOAD_ZONES);
	return pl_arena_printf(
		arena,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
		"\"namespace\":\"%s\",\"uid\":\"7c6e1c52-0000-4000-8000-0000%08x\","
		"\"labels\":{\"app\":\"app-%u\"}},\"spec\":{%s\"containers\":[{\"name\":"
		"\"main\",\"image\":\"registry.example/app:1\",\"resources\":{\"requests\":"
		"{\"cpu\":\"%um\",\"memory\":\"64Mi\"}}}]}}",
		name, namespace, pod, pod % APPS, more, workload_pod_cpu(pod));
}
