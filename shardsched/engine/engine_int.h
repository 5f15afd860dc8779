/* Internals of the engine, shared by its files. Invariant: every pod has one place (enum
 * engine_place), which follows from what the pod says of its node and from which nodes
 * are there. */
#ifndef SHARDSCHED_ENGINE_ENGINE_INT_H
#define SHARDSCHED_ENGINE_ENGINE_INT_H

#include "shardsched/classes/class_registry.h"
#include "shardsched/engine/engine.h"
#include "store/base/list.h"
#include "store/base/map.h"

struct engine {
	struct model model;
	struct snapshot snapshot;
	struct profiles profiles;
	struct cycle *cycle;
	struct class_cache *classes; /* NULL: nothing is cached */
	struct preempt *preempt;
	struct pl_arena arena; /* of the object that is being read */
	struct engine_opts opts;
	struct pl_map pods;    /* struct engine_pod, by namespace and name */
	struct pl_map missing; /* struct engine_missing_node, by cluster and name */
	uint32_t without_node; /* number of pods that wait for missing nodes */
	uint32_t
		identity_pods; /* number of pods with labels beside their class (identity.h) */
	/* the model's count of named identity labels that all pods were brought up to */
	uint64_t named;
	struct class_registry pool; /* the open classes */
};

enum engine_place {
	ENGINE_WAITS,        /* the pod has no node, or is over */
	ENGINE_PLACED,       /* number is that of a struct placed */
	ENGINE_NOMINATED,    /* number is that of a struct nomination */
	ENGINE_NODE_MISSING, /* in the list of a missing node */
};

struct engine_pod {
	struct pl_map_node by_name;
	uint32_t key[2]; /* namespace, name */
	enum engine_place place;
	uint32_t number;
	uint32_t cluster;    /* with a reference; 0: none */
	struct pod pod;      /* owned */
	struct pl_list link; /* in engine_missing_node.pods */
};

/* A node that pods are waiting for. */
struct engine_missing_node {
	struct pl_map_node by_name;
	uint32_t key[2]; /* cluster, name; with references */
	struct pl_list pods;
};

/* -- pods.c: put takes the pod over, also on failure ------------------------------------- */

PL_NODISCARD enum pl_code engine_pod_put(struct engine *engine, uint32_t cluster,
                                         struct pod *pod, struct pl_err *err);
PL_NODISCARD enum pl_code engine_pod_drop(struct engine *engine, uint32_t namespace,
                                          uint32_t name, struct pl_err *err);
/* Places the pods that wait for that node, which has come; on failure they all wait
 * on. */
PL_NODISCARD enum pl_code engine_pods_adopt(struct engine *engine, uint32_t slot,
                                            struct pl_err *err);
/* All pods on that node, or nominated for it, wait for it from now on. */
PL_NODISCARD enum pl_code engine_pods_detach(struct engine *engine, uint32_t slot,
                                             struct pl_err *err);
/* The slot that the pod is nominated for, or SNAPSHOT_NONE. */
uint32_t engine_pod_nominated(const struct engine *engine, const struct pod *pod);
/* Puts the pod on that node, or nominates it. */
PL_NODISCARD enum pl_code engine_pod_place(struct engine *engine,
                                           struct engine_pod *entry, uint32_t slot,
                                           struct pl_err *err);
/* Takes the pod over; the caller owns what was in the entry. */
void engine_pod_set(struct engine *engine, struct engine_pod *entry, struct pod *pod);
void engine_pods_done(struct engine *engine);

/* -- label_promotion.c ------------------------------------------------------------------- */

/* Moves labels that a selector asks for by now into the classes of all pods. */
PL_NODISCARD enum pl_code engine_pods_promote_labels(struct engine *engine,
                                                     struct pl_err *err);
/* The same for one pod, which may have been read before. */
PL_NODISCARD enum pl_code engine_pod_promote_labels(struct engine *engine,
                                                    struct pod *pod, struct pl_err *err);

/* -- missing_nodes.c --------------------------------------------------------------------- */

/* Makes the entry if there is none. */
PL_NODISCARD enum pl_code missing_node_get(struct engine *engine, uint32_t cluster,
                                           uint32_t name,
                                           struct engine_missing_node **out,
                                           struct pl_err *err);
/* NULL: no pod waits for that node. */
struct engine_missing_node *missing_node_find(struct engine *engine, uint32_t cluster,
                                              uint32_t name);
void missing_node_add(struct engine *engine, struct engine_missing_node *missing,
                      struct engine_pod *pod);
void missing_node_remove(struct engine *engine, struct engine_pod *pod);
/* Frees the entry if no pod waits for it. */
void missing_node_tidy(struct engine *engine, struct engine_missing_node *missing);

/* -- nodes.c, objects.c ------------------------------------------------------------------ */

PL_NODISCARD enum pl_code engine_node_put(struct engine *engine, uint32_t cluster,
                                          struct node *node, struct pl_err *err);
PL_NODISCARD enum pl_code engine_node_drop(struct engine *engine, uint32_t cluster,
                                           uint32_t name, struct pl_err *err);
PL_NODISCARD enum pl_code engine_object_put(struct engine *engine, enum engine_kind kind,
                                            struct parse *parse, struct pl_span json,
                                            struct pl_err *err);
PL_NODISCARD enum pl_code engine_object_drop(struct engine *engine, enum engine_kind kind,
                                             struct catalog_key key, struct pl_err *err);

/* PL_INVALID: "metadata.name: missing". PL_EXISTS: there is one, and names must be
 * unique. */
PL_NODISCARD enum pl_code engine_name_check(const struct engine *engine, uint32_t name,
                                            bool there, struct pl_err *err);

static inline struct pl_span engine_key(const uint32_t key[2])
{
	return pl_span(key, 2 * sizeof key[0]);
}

#endif
