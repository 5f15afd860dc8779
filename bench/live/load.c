#include "bench/live/load.h"

#include <stdarg.h>
#include <stdio.h>

#include "bench/common/report.h"
#include "store/base/num.h"
#include "store/keys/partition.h"

enum {
	CPU_MILLI = 100,
	MEMORY_MI = 500,
	NODE_CPU_MILLI = 4000,
	GANG_SIZE = 16,
	LARGE_GANG_SIZE = 1000, /* more than a transaction takes */
	LOW_CPU_MILLI = 900,    /* preemption */
	LOW_EACH = 4,
	HIGH_CPU_MILLI = 3000,
	HIGH_PRIORITY = 10,
	FULL_CPU_MILLI = 32000,
	FULL_STEPS = 11, /* 90 %, 91 %, ..., 100 % */
	AWAY_PERCENT = 20,
	MIXED_KINDS = 5,
	RULES_SIZE = 1024,
};

#define LOAD_PROFILE_NAME(profile, name, about) name,
const char *const load_profile_names[LOAD_PROFILES + 1] = {
	LOAD_PROFILE_MAP(LOAD_PROFILE_NAME)};

#define LOAD_PROFILE_HELP(profile, name, about) "  " name ": " about "\n"
const char load_profile_help[] = "profiles:\n" LOAD_PROFILE_MAP(LOAD_PROFILE_HELP);

PL_PRINTF(3, 4) static size_t text(char *out, size_t size, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(out, size, fmt, args);
	va_end(args);
	if (len < 0 || (size_t)len >= size)
		bench_fail("an object is longer than %zu bytes", size);
	return (size_t)len;
}

/* -- how many ---------------------------------------------------------------------- */

uint32_t load_pods_usual(enum load_profile profile, uint32_t nodes)
{
	return profile == LOAD_PREEMPTION ? nodes : nodes * 10;
}

uint32_t load_pods_most(const struct load *load)
{
	switch (load->profile) {
	case LOAD_PREEMPTION:
		return load->nodes;
	case LOAD_FULL95: /* free cores divided by the request of a pod */
		return load->nodes * (FULL_CPU_MILLI / 20 / 2);
	case LOAD_BASIC:
	case LOAD_NODEAFFINITY:
	case LOAD_AFFINITY:
	case LOAD_SPREAD:
	case LOAD_ANTIAFFINITY:
	case LOAD_GANG:
	case LOAD_LARGEGANG:
	case LOAD_ONEDEPLOYMENT:
	case LOAD_MIXED:
	case LOAD_AWAY:
	case LOAD_PROFILES:
		break;
	}
	return load->nodes * (NODE_CPU_MILLI / CPU_MILLI);
}

bool load_has_groups(const struct load *load)
{
	return load->profile == LOAD_GANG || load->profile == LOAD_LARGEGANG ||
	       load->profile == LOAD_ONEDEPLOYMENT;
}

/* -- nodes ------------------------------------------------------------------------- */

static void node_names(uint32_t number, struct load_object *out)
{
	(void)text(out->scope, sizeof out->scope, "%s",
	           number % 2 == 0 ? "east" : "west");
	(void)text(out->name, sizeof out->name, "node-%u", number);
}

static uint32_t node_partition(const struct load *load, uint32_t number)
{
	struct load_object object;
	uint32_t partition = 0;

	node_names(number, &object);
	bench_check(partition_of_node(pl_span_str(object.scope), pl_span_str(object.name),
	                              load->partitions, &partition, NULL),
	            NULL, "a node's partition");
	return partition;
}

/* As scheduler_perf labels them. */
static uint32_t zones_of(const struct load *load)
{
	switch (load->profile) {
	case LOAD_NODEAFFINITY:
	case LOAD_AFFINITY:
	case LOAD_MIXED:
		return 1;
	case LOAD_SPREAD:
	case LOAD_ONEDEPLOYMENT:
		return 3;
	case LOAD_BASIC:
	case LOAD_ANTIAFFINITY:
	case LOAD_GANG:
	case LOAD_LARGEGANG:
	case LOAD_PREEMPTION:
	case LOAD_FULL95:
	case LOAD_AWAY:
	case LOAD_PROFILES:
		break;
	}
	return 8;
}

void load_node(const struct load *load, uint32_t number, struct load_object *out)
{
	char pool[64] = "";

	node_names(number, out);
	if (load->profile == LOAD_AWAY)
		(void)text(pool, sizeof pool, ",\"bench.placet.io/pool\":\"pool-%u\"",
		           node_partition(load, number));
	out->json_len = text(
		out->json, sizeof out->json,
		"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\","
		"\"labels\":{\"kubernetes.io/hostname\":\"%s\","
		"\"kubernetes.io/os\":\"linux\",\"kubernetes.io/arch\":\"amd64\","
		"\"topology.kubernetes.io/zone\":\"zone%u\"%s}},"
		"\"status\":{\"allocatable\":{\"cpu\":\"%dm\",\"memory\":\"%s\","
		"\"ephemeral-storage\":\"100Gi\",\"pods\":\"110\"}}}",
		out->name, out->name, 1 + number % zones_of(load), pool,
		load->profile == LOAD_FULL95 ? (int)FULL_CPU_MILLI : (int)NODE_CPU_MILLI,
		load->profile == LOAD_FULL95 ? "256Gi" : "32Gi");
}

/* -- pods -------------------------------------------------------------------------- */

/* The parts of a pod by which profiles differ. */
struct pod_parts {
	char meta[RULES_SIZE]; /* behind the uid */
	char rules[RULES_SIZE];
	uint32_t cpu_milli;
};

static const char *const spaces = "\"namespaces\":[\"sched-1\",\"sched-0\"]";

static void set_colour(struct pod_parts *parts, const char *colour)
{
	(void)text(parts->meta, sizeof parts->meta, ",\"labels\":{\"color\":\"%s\"}",
	           colour);
}

/* kind: podAffinity or podAntiAffinity. */
static void require_term(struct pod_parts *parts, const char *kind, const char *colour,
                         const char *topology)
{
	set_colour(parts, colour);
	(void)text(
		parts->rules, sizeof parts->rules,
		"\"affinity\":{\"%s\":{\"requiredDuringSchedulingIgnoredDuringExecution"
		"\":[{\"labelSelector\":{\"matchLabels\":{\"color\":\"%s\"}},%s,"
		"\"topologyKey\":\"%s\"}]}},",
		kind, colour, spaces, topology);
}

static void prefer_term(struct pod_parts *parts, const char *kind, const char *colour)
{
	set_colour(parts, colour);
	(void)text(
		parts->rules, sizeof parts->rules,
		"\"affinity\":{\"%s\":{\"preferredDuringSchedulingIgnoredDuringExecution"
		"\":[{\"weight\":1,\"podAffinityTerm\":{\"labelSelector\":{\"matchLabels\":"
		"{\"color\":\"%s\"}},%s,\"topologyKey\":\"kubernetes.io/hostname\"}}]}},",
		kind, colour, spaces);
}

static void apart_pod(const struct load *load, uint32_t number, uint32_t pods,
                      struct pod_parts *parts)
{
	uint32_t most = load->nodes * 2 / 5, colours;
	char colour[32];

	most = most == 0 ? 1 : most;
	colours = (pods + most - 1) / most;
	(void)text(colour, sizeof colour, "green-%u",
	           number % (colours == 0 ? 1 : colours));
	require_term(parts, "podAntiAffinity", colour, "kubernetes.io/hostname");
}

static void spread_zones(struct pod_parts *parts, unsigned skew)
{
	(void)text(parts->rules, sizeof parts->rules,
	           "\"topologySpreadConstraints\":[{\"maxSkew\":%u,\"topologyKey\":"
	           "\"topology.kubernetes.io/zone\",\"whenUnsatisfiable\":\"DoNotSchedule"
	           "\",\"labelSelector\":{\"matchLabels\":{\"color\":\"blue\"}}}],",
	           skew);
}

static void one_deployment(struct pod_parts *parts)
{
	(void)text(
		parts->meta, sizeof parts->meta,
		",\"labels\":{\"color\":\"blue\"},\"ownerReferences\":[{\"apiVersion\":"
		"\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"web-5d78c9869d\",\"uid\":"
		"\"7c6e1c52-9f2e-4c3e-8a55-0f3f6d1f7a10\",\"controller\":true}]");
	spread_zones(parts, 1);
}

static void mixed_pod(const struct load *load, uint32_t number, struct pod_parts *parts)
{
	switch (number % MIXED_KINDS) {
	case 1:
		require_term(parts, "podAffinity", "blue", "topology.kubernetes.io/zone");
		return;
	case 2:
		apart_pod(load, number / MIXED_KINDS, load->pods / MIXED_KINDS + 1,
		          parts);
		return;
	case 3:
		prefer_term(parts, "podAffinity", "red");
		return;
	case 4:
		prefer_term(parts, "podAntiAffinity", "yellow");
		return;
	default: /* as basic */
		return;
	}
}

/* To the partition of some node, which is not the pod's own. */
static void away_pod(const struct load *load, uint32_t number,
                     const struct load_object *pod, struct pod_parts *parts)
{
	uint32_t shards = load->shards < 2 ? 2 : load->shards;
	uint32_t share = AWAY_PERCENT * shards / (shards - 1), own = 0, pool;
	uint32_t node = (uint32_t)(number * UINT64_C(2654435761) % load->nodes);

	if (number % 100 >= share)
		return;
	bench_check(partition_of_pod(pl_span_str(pod->scope), pl_span_str(pod->name),
	                             load->partitions, &own, NULL),
	            NULL, "a pod's partition");
	pool = node_partition(load, node);
	if (pool == own)
		pool = node_partition(load, (node + 1) % load->nodes);
	(void)text(parts->rules, sizeof parts->rules,
	           "\"nodeSelector\":{\"bench.placet.io/pool\":\"pool-%u\"},", pool);
}

/* Five eighths of what is left, at most 100m. */
static uint32_t full_cpu(const struct load *load)
{
	uint64_t left = (uint64_t)load->nodes * FULL_CPU_MILLI / 20 * 5 / 8;
	uint64_t each = left / (load->pods == 0 ? 1 : load->pods);

	return each > CPU_MILLI ? CPU_MILLI : each < 1 ? 1 : (uint32_t)each;
}

/* So many each; the last one is what is left. */
static void gang_pod(const struct load *load, uint32_t number, uint32_t size,
                     struct pod_parts *parts)
{
	(void)text(parts->meta, sizeof parts->meta,
	           ",\"annotations\":{\"placet.io/gang\":\"gang-%u\","
	           "\"placet.io/gang-min\":\"%u\"}",
	           number / size,
	           number / size == load->pods / size ? load->pods % size : size);
}

static void set_parts(const struct load *load, uint32_t number,
                      const struct load_object *pod, struct pod_parts *parts)
{
	*parts = (struct pod_parts){.cpu_milli = CPU_MILLI};
	switch (load->profile) {
	case LOAD_BASIC:
	case LOAD_PROFILES:
		return;
	case LOAD_NODEAFFINITY:
		(void)text(
			parts->rules, sizeof parts->rules,
			"\"affinity\":{\"nodeAffinity\":{\"requiredDuringScheduling"
			"IgnoredDuringExecution\":{\"nodeSelectorTerms\":[{"
			"\"matchExpressions\":[{\"key\":\"topology.kubernetes.io/zone"
			"\",\"operator\":\"In\",\"values\":[\"zone1\",\"zone2\"]}]}]}}},");
		return;
	case LOAD_AFFINITY:
		require_term(parts, "podAffinity", "blue", "topology.kubernetes.io/zone");
		return;
	case LOAD_SPREAD:
		set_colour(parts, "blue");
		spread_zones(parts, 5);
		return;
	case LOAD_ANTIAFFINITY:
		apart_pod(load, number, load->pods, parts);
		return;
	case LOAD_GANG:
		gang_pod(load, number, GANG_SIZE, parts);
		return;
	case LOAD_LARGEGANG:
		gang_pod(load, number, LARGE_GANG_SIZE, parts);
		return;
	case LOAD_PREEMPTION:
		parts->cpu_milli = HIGH_CPU_MILLI;
		(void)text(parts->rules, sizeof parts->rules, "\"priority\":%d,",
		           HIGH_PRIORITY);
		return;
	case LOAD_FULL95:
		parts->cpu_milli = full_cpu(load);
		return;
	case LOAD_ONEDEPLOYMENT:
		one_deployment(parts);
		return;
	case LOAD_MIXED:
		mixed_pod(load, number, parts);
		return;
	case LOAD_AWAY:
		away_pod(load, number, pod, parts);
		return;
	}
}

static void print_pod(struct load_object *out, const struct pod_parts *parts,
                      const char *uid_start, uint32_t number, int memory_mi)
{
	out->json_len = text(
		out->json, sizeof out->json,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
		"\"namespace\":\"%s\",\"uid\":\"%s-0000-4000-8000-0000%08x\"%s},"
		"\"spec\":{%s\"containers\":[{\"name\":\"pause\",\"image\":"
		"\"registry.k8s.io/pause:3.9\",\"ports\":[{\"containerPort\":80}],"
		"\"resources\":{\"requests\":{\"cpu\":\"%um\",\"memory\":\"%dMi\"}}}]}}",
		out->name, out->scope, uid_start, number, parts->meta, parts->rules,
		parts->cpu_milli, memory_mi);
}

void load_pod(const struct load *load, uint32_t number, struct load_object *out)
{
	struct pod_parts parts;

	(void)text(out->scope, sizeof out->scope, "sched-1");
	(void)text(out->name, sizeof out->name, "pod-%u", number);
	set_parts(load, number, out, &parts);
	print_pod(out, &parts, "7c6e1c52", number, MEMORY_MI);
}

/* -- before ------------------------------------------------------------------------ */

uint32_t load_before_each(const struct load *load)
{
	if (load->profile == LOAD_PREEMPTION)
		return LOW_EACH;
	return load->profile == LOAD_FULL95 ? 1 : 0;
}

void load_before(const struct load *load, uint32_t node, uint32_t k,
                 struct load_object *out, struct load_before *what)
{
	uint32_t number = node * load_before_each(load) + k;
	struct pod_parts parts = {.cpu_milli = LOW_CPU_MILLI};

	PL_ASSERT(k < load_before_each(load));
	if (load->profile == LOAD_FULL95)
		parts.cpu_milli =
			FULL_CPU_MILLI / 100 * (100 - FULL_STEPS + 1 + node % FULL_STEPS);
	*what = (struct load_before){.node = node,
	                             .cpu_milli = parts.cpu_milli,
	                             .memory = (int64_t)MEMORY_MI << 20};
	(void)text(out->scope, sizeof out->scope, "sched-0");
	(void)text(out->name, sizeof out->name, "before-%u", number);
	print_pod(out, &parts, "be4052e1", number, MEMORY_MI);
}

/* -- back -------------------------------------------------------------------------- */

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

bool load_node_of(struct pl_span name, uint32_t *out)
{
	return number_of(name, PL_SPAN_LIT("node-"), out);
}

bool load_pod_of(struct pl_span name, uint32_t *out)
{
	return number_of(name, PL_SPAN_LIT("pod-"), out);
}
