/*
 * What is to be placed where: nodes of several clusters and pods of every kind, by their
 * numbers. The JSON of both carries in an annotation what judges need of it, so that
 * they need not read it as the product does.
 *
 *	node n: n-<n> of cluster c<k>, in one of four zones
 *	pod p:  p-<p> of namespace ns<k>; six in a row are a group of one kind
 *
 * Those of a group have one controller, so that one shard decides about all of them; but
 * where each has its own: these meet only in what the store holds about their rule. A
 * large gang is several such rows. Some gangs have a rule of another kind, too; of the
 * others the small ones are to be in one zone.
 *
 * A pod that comes back by its name may look otherwise, as one of another revision does:
 * the rule of its group finds it in one life and not in the next, and it carries that
 * rule or does not.
 */
#ifndef TESTS_SIM_SCENE_H
#define TESTS_SIM_SCENE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "store/base/span.h"

/* X(NAME, text): what a pod asks for. */
#define SCENE_KIND_MAP(X)                                    \
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
	X(BEARS, "tolerating maintenance")                   \
	X(APART_SPREAD, "zone spread over controllers")      \
	X(APART_AFFINITY, "zone affinity over controllers")  \
	X(APART_ANTI, "zone anti-affinity over controllers") \
	X(LARGE, "large gang")                               \
	X(NEVER, "never fitting")

#define SCENE_KIND_ENUM(kind, text) SCENE_##kind,
enum scene_kind { SCENE_KIND_MAP(SCENE_KIND_ENUM) SCENE_KINDS };

enum {
	SCENE_GROUP = 6,
	SCENE_ZONES = 4,
	SCENE_ZONES_ALL,      /* and one where only is what was moved there */
	SCENE_LARGE_ROWS = 3, /* of a large gang */
	SCENE_GANG_PODS = SCENE_LARGE_ROWS * SCENE_GROUP,
	SCENE_GANG_MIN = 4,
	SCENE_LARGE_MIN = 6,
	SCENE_LIVES = 64, /* of a pod's name */
	SCENE_LOOKS = 4,  /* then they have the same labels again */
	SCENE_FOR_EVER = UINT8_MAX,
	SCENE_NAME_SIZE = 24,
	SCENE_JSON_SIZE = 2304,
	SCENE_SPACES = 3,
	/* The smallest world that is ever drawn. */
	SCENE_NODES_MIN = 60,
	SCENE_PODS_MIN = 300,
	SCENE_CLUSTERS_MIN = 2,
	SCENE_SHARDS_MIN = 3,
	SCENE_PARTITIONS_MIN = 4,
};

struct scene {
	unsigned clusters, nodes, pods;
	unsigned extra; /* nodes that come when all is calm: so all pods have room */
};

/* What of a node may be changed; and of a pod. */
struct scene_node {
	uint32_t version;
	int64_t cpu_milli, memory_mib, pods;
	unsigned zone;
	bool tainted, cordoned;
	bool closed;       /* tainted NoExecute, for maintenance */
	int64_t closed_ms; /* since when, the taint says; 0: it does not say */
};

struct scene_pod {
	uint32_t life;    /* how often its name was used before */
	uint32_t version; /* edits */
	int64_t cpu_milli, memory_mib;
};

extern const char *const scene_kind_text[SCENE_KINDS];

enum scene_kind scene_kind(uint32_t pod);
/* Those of one group and kind are judged together. */
uint32_t scene_group(uint32_t pod);
int32_t scene_priority(enum scene_kind kind);
static inline bool scene_is_gang(uint32_t pod)
{
	return scene_kind(pod) == SCENE_GANG || scene_kind(pod) == SCENE_LARGE;
}
/* Of the gang that it is of: a number as groups have them, less than the number of rows.
 */
uint32_t scene_gang(uint32_t pod);
/* Its members, in order, of those that there are. */
uint32_t scene_gang_pods(uint32_t gang, uint32_t pods, uint32_t out[SCENE_GANG_PODS]);
uint32_t scene_gang_min(uint32_t gang);
/* What its members require of each other, over zones; BASIC: nothing. */
enum scene_kind scene_gang_rule(uint32_t gang);
/* All of it in one zone: of small gangs, those without a rule. */
bool scene_gang_has_domain(uint32_t gang);
/* The gang whose rule finds it, too, though it is no member; UINT32_MAX: none. */
uint32_t scene_found_by(uint32_t pod);
/* UINT32_MAX: none of ours. */
uint32_t scene_gang_of(struct pl_span namespace, struct pl_span name, uint32_t pods);
void scene_gang_name(uint32_t gang, char out[SCENE_NAME_SIZE]);
void scene_gang_space(uint32_t gang, char out[SCENE_NAME_SIZE]);
/* It must be bound once there is room. */
bool scene_must_fit(enum scene_kind kind);
/* In that life it carries the rule of its kind, or of its gang. */
bool scene_is_carrier(uint32_t pod, uint32_t life);
/* In that life the rule finds it, its group's or that of scene_found_by, be it one of
 * those who carry it or not. */
bool scene_is_found(uint32_t pod, uint32_t life);
/* Of two halves of everything, by the label of that name. */
unsigned scene_half(uint32_t pod, uint32_t life);
/* Seconds for which it stays on a node that is closed; or SCENE_FOR_EVER. */
unsigned scene_bears_s(uint32_t pod);

bool scene_is_ssd(uint32_t node);
bool scene_is_tight(uint32_t node);     /* one of the few places */
bool scene_stays_closed(uint32_t node); /* when all is calm, too */
/* Of a pod with a zone affinity of nodes. */
bool scene_wants_zone(uint32_t pod, unsigned zone);

struct scene_node scene_node_first(const struct scene *scene, uint32_t node);
struct scene_pod scene_pod_first(uint32_t pod);

void scene_node_cluster(const struct scene *scene, uint32_t node,
                        char out[SCENE_NAME_SIZE]);
void scene_node_name(uint32_t node, char out[SCENE_NAME_SIZE]);
void scene_pod_space(uint32_t pod, char out[SCENE_NAME_SIZE]);
void scene_pod_name(uint32_t pod, char out[SCENE_NAME_SIZE]);
/* UINT32_MAX: none of ours. */
uint32_t scene_node_of(const struct scene *scene, struct pl_span cluster,
                       struct pl_span name);
uint32_t scene_pod_of(const struct scene *scene, struct pl_span namespace,
                      struct pl_span name);

void scene_node_json(const struct scene *scene, uint32_t node,
                     const struct scene_node *what, char out[SCENE_JSON_SIZE]);
void scene_pod_json(uint32_t pod, const struct scene_pod *what,
                    char out[SCENE_JSON_SIZE]);
/* What the JSON says of itself; false: it is none of ours. */
bool scene_numbers(struct pl_span json, int64_t *out, unsigned count);
bool scene_node_read(struct pl_span json, struct scene_node *out);
bool scene_pod_read(struct pl_span json, struct scene_pod *out);

#endif
