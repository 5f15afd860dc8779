/*
 * The workload of the benches: nodes and pods by number, after the workloads of
 * kube-scheduler's own bench (scheduler_perf, performance-config.yaml) where it has the
 * case. Profile and number determine every object, so the content of the store need not
 * be read to be known.
 *
 * Node n is node-<n> of one of two clusters. Pod i is pod-<i> of namespace sched-1.
 * Some profiles have pods that are on nodes *before* the first pod is to be placed:
 * these are before-<k> of namespace sched-0, each on the node that follows from its
 * number.
 */
#ifndef BENCH_LIVE_LOAD_H
#define BENCH_LIVE_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/span.h"

enum { LOAD_NAME_SIZE = 40, LOAD_JSON_SIZE = 2048 };

/* X(NAME, name, description) */
#define LOAD_PROFILE_MAP(X)                                                            \
	X(BASIC, "basic", "SchedulingBasic: 100m cpu and 500Mi each")                  \
	X(NODEAFFINITY, "nodeaffinity", "SchedulingNodeAffinity: to a zone, required") \
	X(AFFINITY, "affinity", "SchedulingPodAffinity: in the zone of all others")    \
	X(SPREAD, "spread", "TopologySpreading: 3 zones, maxSkew 5, required")         \
	X(ANTIAFFINITY, "antiaffinity",                                                \
	  "SchedulingPodAntiAffinity: by host, each colour on 2/5 of the nodes")       \
	X(GANG, "gang", "gangs of 16")                                                 \
	X(LARGEGANG, "largegang", "gangs of 1,000, too large for one transaction")     \
	X(PREEMPTION, "preemption",                                                    \
	  "PreemptionBasic: nodes full of 4 low pods each, one high pod per node")     \
	X(FULL95, "full95", "nodes are 90 to 100 % full at first, 95 % on average")    \
	X(ONEDEPLOYMENT, "onedeployment",                                              \
	  "replicas of one Deployment, 3 zones, maxSkew 1, required")                  \
	X(MIXED, "mixed",                                                              \
	  "MixedSchedulingBasePod: basic, affinity, antiaffinity, preferred ones")     \
	X(AWAY, "away", "a fifth of the pods must go to remote nodes")

#define LOAD_PROFILE_ENUM(profile, name, about) LOAD_##profile,
enum load_profile { LOAD_PROFILE_MAP(LOAD_PROFILE_ENUM) LOAD_PROFILES };

extern const char *const load_profile_names[LOAD_PROFILES + 1]; /* ends with NULL */
/* All profiles, a line each, for --help. */
extern const char load_profile_help[];

struct load {
	enum load_profile profile;
	uint32_t partitions, nodes, pods;
	uint32_t shards; /* AWAY: a fifth of the pods needs nodes of other shards */
};

struct load_object {
	char scope[LOAD_NAME_SIZE]; /* the cluster, or the namespace */
	char name[LOAD_NAME_SIZE];
	char json[LOAD_JSON_SIZE];
	size_t json_len;
};

static inline struct pl_span load_json(const struct load_object *object)
{
	return pl_span(object->json, object->json_len);
}

/* The usual number of pods for so many nodes: ten a node, or as the profile has it. */
uint32_t load_pods_usual(enum load_profile profile, uint32_t nodes);
/* An upper bound of the pods that can be placed. */
uint32_t load_pods_most(const struct load *load);
/* True when a pod's partition may be another than its name's (groups). */
bool load_has_groups(const struct load *load);

void load_node(const struct load *load, uint32_t number, struct load_object *out);
void load_pod(const struct load *load, uint32_t number, struct load_object *out);

/* -- pods that are placed before ---------------------------------------------------- */

struct load_before {
	uint32_t node;
	int64_t cpu_milli, memory;
};

/* Pods on each node before. */
uint32_t load_before_each(const struct load *load);
/* The k-th pod of a node. */
void load_before(const struct load *load, uint32_t node, uint32_t k,
                 struct load_object *out, struct load_before *what);

/* -- names -------------------------------------------------------------------------- */

/* The number in a name of the load; false: the name is not one of the load. */
bool load_node_of(struct pl_span name, uint32_t *out);
bool load_pod_of(struct pl_span name, uint32_t *out);

#endif
