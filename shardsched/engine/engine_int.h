/* Inside the engine. */
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
	struct class_cache *classes; /* NULL: without */
	struct preempt *preempt;
	struct pl_arena arena; /* of one object while it is read */
	struct engine_opts opts;
	struct pl_map pods;         /* by namespace and name */
	struct pl_map missing;      /* by cluster and name: nodes that pods wait for */
	uint32_t without_node;      /* pods that do */
	uint32_t beside;            /* pods with labels beside their class: identity.h */
	uint64_t named;             /* up to where all of them were seen to */
	struct class_registry pool; /* of open classes */
};

enum engine_place {
	ENGINE_WAITS,        /* nowhere, or over */
	ENGINE_PLACED,       /* number: of struct placed */
	ENGINE_NOMINATED,    /* number: of struct nomination */
	ENGINE_NODE_MISSING, /* in the list of an absent node */
};

struct engine_pod {
	struct pl_map_node by_name;
	uint32_t key[2]; /* namespace, name */
	enum engine_place place;
	uint32_t number;
	uint32_t cluster;    /* with a reference; 0: none */
	struct pod pod;      /* held */
	struct pl_list link; /* of those set aside for one node */
};

/* A node that is not there. */
struct engine_missing_node {
	struct pl_map_node by_name;
	uint32_t key[2]; /* cluster, name; held */
	struct pl_list pods;
};

/* -- pods.c: takes the pod over, on failure too ---------------------------------- */

PL_NODISCARD enum pl_code engine_pod_put(struct engine *engine, uint32_t cluster,
                                         struct pod *pod, struct pl_err *err);
PL_NODISCARD enum pl_code engine_pod_drop(struct engine *engine, uint32_t namespace,
                                          uint32_t name, struct pl_err *err);
/* Those that wait for that node, which has come; on failure they wait on. */
PL_NODISCARD enum pl_code engine_pods_adopt(struct engine *engine, uint32_t slot,
                                            struct pl_err *err);
/* Everybody on that node, and nominated for it, is set aside. */
PL_NODISCARD enum pl_code engine_pods_detach(struct engine *engine, uint32_t slot,
                                             struct pl_err *err);
/* The slot, or SNAPSHOT_NONE. */
uint32_t engine_pod_nominated(const struct engine *engine, const struct pod *pod);
/* On that node, or nominated for it. */
PL_NODISCARD enum pl_code engine_pod_place(struct engine *engine,
                                           struct engine_pod *entry, uint32_t slot,
                                           struct pl_err *err);
/* Takes the pod over; what was there is the caller's. */
void engine_pod_set(struct engine *engine, struct engine_pod *entry, struct pod *pod);
void engine_pods_done(struct engine *engine);

/* -- join.c ------------------------------------------------------------------------- */

/* Labels that are asked for by now go into the classes of all pods. */
PL_NODISCARD enum pl_code engine_pods_promote_labels(struct engine *engine,
                                                     struct pl_err *err);
/* The same for one that was read, perhaps before. */
PL_NODISCARD enum pl_code engine_pod_promote_labels(struct engine *engine,
                                                    struct pod *pod, struct pl_err *err);

/* -- absent.c ---------------------------------------------------------------------- */

/* Made when there is none. */
PL_NODISCARD enum pl_code missing_node_get(struct engine *engine, uint32_t cluster,
                                           uint32_t name,
                                           struct engine_missing_node **out,
                                           struct pl_err *err);
/* NULL: nobody waits for that one. */
struct engine_missing_node *missing_node_find(struct engine *engine, uint32_t cluster,
                                              uint32_t name);
void missing_node_add(struct engine *engine, struct engine_missing_node *missing,
                      struct engine_pod *pod);
void missing_node_remove(struct engine *engine, struct engine_pod *pod);
/* Gone when nobody waits for it. */
void missing_node_tidy(struct engine *engine, struct engine_missing_node *missing);

/* -- nodes.c, objects.c -------------------------------------------------------------- */

PL_NODISCARD enum pl_code engine_node_put(struct engine *engine, uint32_t cluster,
                                          struct node *node, struct pl_err *err);
PL_NODISCARD enum pl_code engine_node_drop(struct engine *engine, uint32_t cluster,
                                           uint32_t name, struct pl_err *err);
PL_NODISCARD enum pl_code engine_object_put(struct engine *engine, enum engine_kind kind,
                                            struct parse *parse, struct pl_span json,
                                            struct pl_err *err);
PL_NODISCARD enum pl_code engine_object_drop(struct engine *engine, enum engine_kind kind,
                                             struct catalog_key key, struct pl_err *err);

/* "metadata.name: missing", or PL_EXISTS when there is one and names are unique. */
PL_NODISCARD enum pl_code engine_name_check(const struct engine *engine, uint32_t name,
                                            bool there, struct pl_err *err);

static inline struct pl_span engine_key(const uint32_t key[2])
{
	return pl_span(key, 2 * sizeof key[0]);
}

#endif
