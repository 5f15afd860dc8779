/*
 * An engine makes scheduling decisions for a cluster whose objects it is given as JSON.
 * It joins model, snapshot, profiles, classes and cycle, for offline verdicts,
 * explaining, replaying, benches and tests.
 *
 * Objects are named by kind, namespace (for nodes: cluster) and name. Putting an object
 * that is there replaces it. A pod that has a node is placed; while the node is not there
 * the pod waits for it, and it waits again when the node goes. A pod that is nominated
 * for a node has a nomination in the snapshot. A pod that is over (Succeeded, Failed)
 * takes no room.
 *
 * Classes of pods that were asked about stay open: the ENGINE_IDLE_CLASSES used last.
 */
#ifndef SHARDSCHED_ENGINE_ENGINE_H
#define SHARDSCHED_ENGINE_ENGINE_H

#include "shardsched/classes/class_cache.h"
#include "shardsched/model/field_errors.h"
#include "shardsched/preempt/preempt.h"

/* X(KIND, Kubernetes' kind, name of the list in a case) */
#define ENGINE_KIND_MAP(X)                                               \
	X(NODE, "Node", "nodes")                                         \
	X(POD, "Pod", "pods")                                            \
	X(NAMESPACE, "Namespace", "namespaces")                          \
	X(VOLUME, "PersistentVolume", "pvs")                             \
	X(CLAIM, "PersistentVolumeClaim", "pvcs")                        \
	X(STORAGE_CLASS, "StorageClass", "storageClasses")               \
	X(CSI_NODE, "CSINode", "csiNodes")                               \
	X(CSI_DRIVER, "CSIDriver", "csiDrivers")                         \
	X(CSI_CAPACITY, "CSIStorageCapacity", "csiStorageCapacities")    \
	X(PRIORITY_CLASS, "PriorityClass", "priorityClasses")            \
	X(BUDGET, "PodDisruptionBudget", "pdbs")                         \
	X(SERVICE, "Service", "services")                                \
	X(CONTROLLER, "ReplicationController", "replicationControllers") \
	X(REPLICA_SET, "ReplicaSet", "replicaSets")                      \
	X(STATEFUL_SET, "StatefulSet", "statefulSets")

#define ENGINE_KIND_ENUM(kind, name, list) ENGINE_##kind,
enum engine_kind { ENGINE_KIND_MAP(ENGINE_KIND_ENUM) ENGINE_KINDS };

enum { ENGINE_IDLE_CLASSES = 1024 };

struct engine_opts {
	struct pl_span config; /* profiles; empty: the default */
	uint64_t seed;         /* of the draws */
	bool keep_scores;
	bool keep_candidates; /* keep all candidates of preemption */
	bool unique;          /* refuse to put an object that is there: PL_EXISTS */
	bool no_cache;
	size_t cache_bytes;        /* 0: 256 MiB */
	enum validate_scope scope; /* of what is put with errors */
	cycle_clock_fn *clock;
	void *clock_ctx;
};

struct engine;

PL_NODISCARD enum pl_code engine_new(const struct engine_opts *opts, struct engine **out,
                                     struct pl_err *err);
void engine_free(struct engine *engine);

/* errors NULL: the object is not validated; else its errors are added there, in text that
 * holds until the next put (field_errors.h). PL_INVALID, PL_LIMIT, PL_EXISTS: err names
 * the field, and nothing has changed. */
PL_NODISCARD enum pl_code engine_put(struct engine *engine, enum engine_kind kind,
                                     struct pl_span json, struct field_errors *errors,
                                     struct pl_err *err);
/* The same for nodes and pods of one of several clusters. */
PL_NODISCARD enum pl_code engine_put_in(struct engine *engine, enum engine_kind kind,
                                        struct pl_span cluster, struct pl_span json,
                                        struct field_errors *errors, struct pl_err *err);
/* namespace: for a node its cluster; empty: none. PL_NOTFOUND. */
PL_NODISCARD enum pl_code engine_drop(struct engine *engine, enum engine_kind kind,
                                      struct pl_span namespace, struct pl_span name,
                                      struct pl_err *err);

struct engine_decision {
	const struct profile *profile; /* the profile that decided */
	bool gated;
	struct verdict gate;
	struct cycle_outcome outcome;
	bool tried_preemption;
	struct preempt_outcome preempt;
	uint64_t draw;
};

/* Decides for a pod, whether it was put or not; nothing changes. What the cycle says
 * about it and what preempt points to hold until the next decision, and *out must stay in
 * place until then. PL_NOTFOUND: no profile has its schedulerName; PL_NOMEM, PL_LIMIT. */
PL_NODISCARD enum pl_code engine_decide(struct engine *engine, const struct pod *pod,
                                        struct engine_decision *out, struct pl_err *err);
/* The same with a given draw. */
PL_NODISCARD enum pl_code engine_decide_with(struct engine *engine, const struct pod *pod,
                                             uint64_t draw, struct engine_decision *out,
                                             struct pl_err *err);
/* Puts the pod on that node (assumed) under its name; placed may be NULL. PL_EXISTS: a
 * pod of that name is on a node already. */
PL_NODISCARD enum pl_code engine_assume(struct engine *engine, const struct pod *pod,
                                        uint32_t slot, uint32_t *placed,
                                        struct pl_err *err);

/* The slot of the node that a pod of that name is on; SNAPSHOT_NONE: it is on none. */
uint32_t engine_pod_slot(const struct engine *engine, const struct pod *pod);
/* The number of pods, and how many of them wait for a node that is not there. */
uint32_t engine_pods(const struct engine *engine);
uint32_t engine_pods_without_node(const struct engine *engine);

struct model *engine_model(struct engine *engine);
struct snapshot *engine_snapshot(struct engine *engine);
struct cycle *engine_cycle(struct engine *engine);
/* Opens the class of a spec; engine_release when it is no longer needed. */
PL_NODISCARD enum pl_code engine_class(struct engine *engine, const struct spec *spec,
                                       struct fw_class **out, struct pl_err *err);
/* The same for a pod, with those of its labels in the class that selectors ask for by
 * now. */
PL_NODISCARD enum pl_code engine_pod_class(struct engine *engine, const struct pod *pod,
                                           struct fw_class **out, struct pl_err *err);
void engine_release(struct engine *engine, struct fw_class *class);

/* The draw of the n-th attempt for a pod. It follows from the seed and the pod's uid or
 * name, so decisions do not depend on each other's order. */
uint64_t engine_draw(const struct engine *engine, const struct pod *pod,
                     uint64_t attempt);

#endif
