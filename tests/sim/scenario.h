/*
 * The scenario is what a world places where: nodes of several clusters and pods of every
 * kind, by their numbers. The JSON of both carries in an annotation the numbers that
 * judges need, so that they need not read it as the product does.
 *
 *	node n: n-<n> of cluster c<k>, in one of four zones
 *	pod p:  p-<p> of namespace ns<k>; six in a row are a group of one kind
 *
 * The pods of a group have one controller, so that one shard decides about all of them;
 * except for the APART kinds, where each pod has a controller of its own: their shards
 * meet only in what the store holds about their rule. A large gang is several such rows.
 * Some gangs have a rule of another kind, too; of the others the small ones are to be in
 * one zone.
 *
 * A pod that is submitted again by its name may have other labels, as a pod of another
 * revision does: the rule of its group selects it in one incarnation and not in the next,
 * and it has that rule or not.
 */
#ifndef TESTS_SIM_SCENARIO_H
#define TESTS_SIM_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "store/base/span.h"

/* X(NAME, text): what a pod asks for. */
#define SCENARIO_KIND_MAP(X)                                 \
	X(BASIC, "basic")                                    \
	X(NODEAFFINITY, "node affinity")                     \
	X(SELECTOR, "node selector")                         \
	X(TOLERATES, "tolerating")                           \
	X(PORT, "host port")                                 \
	X(SPREAD_ZONE, "zone spread")                        \
	X(SPREAD_HOST, "host spread")                        \
	X(AFFINITY, "zone affinity")                         \
	X(ANTI_HOST, "host anti-affinity")                   \
	X(ANTI_ZONE, "zone anti-affinity")                   \
	X(STATEFUL, "statefulset")                           \
	X(GANG, "gang")                                      \
	X(FILL, "low priority, in few places")               \
	X(HIGH, "high priority, in few places")              \
	X(MAINTENANCE, "tolerating maintenance")             \
	X(APART_SPREAD, "zone spread over controllers")      \
	X(APART_AFFINITY, "zone affinity over controllers")  \
	X(APART_ANTI, "zone anti-affinity over controllers") \
	X(LARGE, "large gang")                               \
	X(NEVER, "never fitting")

#define SCENARIO_KIND_ENUM(kind, text) SCENARIO_##kind,
enum scenario_kind { SCENARIO_KIND_MAP(SCENARIO_KIND_ENUM) SCENARIO_KINDS };

enum {
	SCENARIO_GROUP = 6,
	SCENARIO_ZONES = 4,
	SCENARIO_ZONES_ALL,      /* and one that has only nodes that were moved there */
	SCENARIO_LARGE_ROWS = 3, /* rows of a large gang */
	SCENARIO_GANG_PODS = SCENARIO_LARGE_ROWS * SCENARIO_GROUP,
	SCENARIO_GANG_MIN = 4,
	SCENARIO_LARGE_MIN = 6,
	SCENARIO_INCARNATIONS = 64, /* incarnations of a pod's name */
	SCENARIO_LABEL_SETS = 4,    /* sets of labels, which incarnations take in turn */
	SCENARIO_FOREVER = UINT8_MAX,
	SCENARIO_NAME_SIZE = 24,
	SCENARIO_JSON_SIZE = 2304,
	SCENARIO_NAMESPACES = 3,
	/* The smallest world that is ever drawn. */
	SCENARIO_NODES_MIN = 60,
	SCENARIO_PODS_MIN = 300,
	SCENARIO_CLUSTERS_MIN = 2,
	SCENARIO_SHARDS_MIN = 3,
	SCENARIO_PARTITIONS_MIN = 4,
};

struct scenario {
	unsigned clusters, nodes, pods;
	unsigned extra; /* nodes that are added in the recovery phase, so that all pods
			 * fit */
};

/* The fields of a node, and of a pod, that may be changed. */
struct scenario_node {
	uint32_t version;
	int64_t cpu_milli, memory_mib, pods;
	unsigned zone;
	bool tainted, cordoned;
	bool closed;       /* tainted NoExecute, for maintenance */
	int64_t closed_ms; /* since when, as the taint says; 0: the taint does not say */
};

struct scenario_pod {
	uint32_t incarnation; /* how often the name was used before */
	uint32_t version;     /* number of edits */
	uint32_t
		labels; /* the incarnation whose labels it has: its own, or the one that an
			  * edit gave it */
	int64_t cpu_milli, memory_mib;
};

extern const char *const scenario_kind_text[SCENARIO_KINDS];

enum scenario_kind scenario_kind(uint32_t pod);
/* Pods of one group and kind are judged together. */
uint32_t scenario_group(uint32_t pod);
int32_t scenario_priority(enum scenario_kind kind);
static inline bool scenario_is_gang(uint32_t pod)
{
	return scenario_kind(pod) == SCENARIO_GANG ||
	       scenario_kind(pod) == SCENARIO_LARGE;
}
/* Returns the number of the pod's gang, as groups are numbered, less than the number of
 * rows. */
uint32_t scenario_gang(uint32_t pod);
/* Writes the existing members to out, in order, and returns how many there are. */
uint32_t scenario_gang_pods(uint32_t gang, uint32_t pods,
                            uint32_t out[SCENARIO_GANG_PODS]);
uint32_t scenario_gang_min(uint32_t gang);
/* The rule of its members about each other, over zones; BASIC: none. */
enum scenario_kind scenario_gang_rule(uint32_t gang);
/* The gang is to be in one zone: small gangs without a rule are. */
bool scenario_gang_has_domain(uint32_t gang);
/* The gang whose rule selects the pod, though it is no member; UINT32_MAX: none. */
uint32_t scenario_selected_by(uint32_t pod);
/* UINT32_MAX: not of this scenario. */
uint32_t scenario_gang_of(struct pl_span namespace, struct pl_span name, uint32_t pods);
void scenario_gang_name(uint32_t gang, char out[SCENARIO_NAME_SIZE]);
void scenario_gang_namespace(uint32_t gang, char out[SCENARIO_NAME_SIZE]);
/* Pods of that kind must be bound once there is room. */
bool scenario_must_fit(enum scenario_kind kind);
/* The pod's labels may be edited to those of the incarnation before or after: it does not
 * need them itself, and gangs stay as they are. */
bool scenario_may_relabel(uint32_t pod, uint32_t incarnation);
/* In that incarnation the pod has the rule of its kind, or of its gang. */
bool scenario_has_rule(uint32_t pod, uint32_t incarnation);
/* With the labels of that incarnation the rule of the pod's group, or of
 * scenario_selected_by, selects the pod, whether the pod has the rule or not. */
bool scenario_is_selected(uint32_t pod, uint32_t labels);
/* The half of all pods that the pod's label of that name puts it in. */
unsigned scenario_half(uint32_t pod, uint32_t incarnation);
/* Seconds for which the pod stays on a node that is closed; or SCENARIO_FOREVER. */
unsigned scenario_toleration_s(uint32_t pod);

bool scenario_is_ssd(uint32_t node);
bool scenario_is_tight(uint32_t node);     /* few pods fit there */
bool scenario_stays_closed(uint32_t node); /* also in the recovery phase */
/* The zone suits a pod with an affinity to zones. */
bool scenario_wants_zone(uint32_t pod, unsigned zone);

struct scenario_node scenario_node_first(const struct scenario *scenario, uint32_t node);
struct scenario_pod scenario_pod_first(uint32_t pod);
/* The partition of partitions in which the incarnation stands. An incarnation with a rule
 * stands where its controller falls, and one without where its name falls; members of a
 * gang always stand together. */
uint32_t scenario_pod_partition(uint32_t pod, uint32_t incarnation, uint32_t partitions);
/* A pod of which is known only that it stands in that partition: the given incarnation if
 * that one stands there, else the first one that does. */
struct scenario_pod scenario_pod_in(uint32_t pod, uint32_t incarnation,
                                    uint32_t partition, uint32_t partitions);

void scenario_node_cluster(const struct scenario *scenario, uint32_t node,
                           char out[SCENARIO_NAME_SIZE]);
void scenario_node_name(uint32_t node, char out[SCENARIO_NAME_SIZE]);
void scenario_pod_namespace(uint32_t pod, char out[SCENARIO_NAME_SIZE]);
void scenario_pod_name(uint32_t pod, char out[SCENARIO_NAME_SIZE]);
/* UINT32_MAX: not of this scenario. */
uint32_t scenario_node_of(const struct scenario *scenario, struct pl_span cluster,
                          struct pl_span name);
uint32_t scenario_pod_of(const struct scenario *scenario, struct pl_span namespace,
                         struct pl_span name);

void scenario_node_json(const struct scenario *scenario, uint32_t node,
                        const struct scenario_node *what, char out[SCENARIO_JSON_SIZE]);
void scenario_pod_json(uint32_t pod, const struct scenario_pod *what,
                       char out[SCENARIO_JSON_SIZE]);
/* Reads the numbers in the annotation; false: the JSON is not of this scenario. */
bool scenario_numbers(struct pl_span json, int64_t *out, unsigned count);
bool scenario_node_read(struct pl_span json, struct scenario_node *out);
bool scenario_pod_read(struct pl_span json, struct scenario_pod *out);

#endif
