/*
 * The engine: objects in, decisions out. Model, snapshot, profiles, classes and cycle
 * together, for whoever has a cluster's objects as JSON: offline verdicts, explaining,
 * replaying, benches, tests, and the shard.
 *
 * Objects are named by kind, namespace (or cluster, of nodes) and name. Putting one that
 * is there replaces it. Pods that have a node are placed; on a node that is not there
 * they are set aside until it comes, and again when it goes. Pods that are nominated for
 * a node have that told to the snapshot; pods that are over take no room.
 *
 * Classes of pods that were asked about stay open for a while: ENGINE_IDLE_CLASSES of
 * them, those used last.
 */
#ifndef SHARDSCHED_ENGINE_ENGINE_H
#define SHARDSCHED_ENGINE_ENGINE_H

#include "shardsched/classes/class_cache.h"
#include "shardsched/model/field_errors.h"
#include "shardsched/preempt/preempt.h"

/* X(KIND, Kubernetes' kind, list in a case) */
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
	bool keep_candidates; /* of preemption: each is told */
	bool unique;          /* putting what is there is refused: PL_EXISTS */
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

/* errors NULL: not validated (field_errors.h); else it is told there what is wrong, in
 * text that holds until the next put. PL_INVALID, PL_LIMIT, PL_EXISTS: with the field;
 * nothing changed. */
PL_NODISCARD enum pl_code engine_put(struct engine *engine, enum engine_kind kind,
                                     struct pl_span json, struct field_errors *errors,
                                     struct pl_err *err);
/* The same of one of several clusters, for nodes and pods. */
PL_NODISCARD enum pl_code engine_put_in(struct engine *engine, enum engine_kind kind,
                                        struct pl_span cluster, struct pl_span json,
                                        struct field_errors *errors, struct pl_err *err);
/* By name; PL_NOTFOUND. space: the namespace, or a node's cluster; empty: none. */
PL_NODISCARD enum pl_code engine_drop(struct engine *engine, enum engine_kind kind,
                                      struct pl_span namespace, struct pl_span name,
                                      struct pl_err *err);

struct engine_decision {
	const struct profile *profile; /* by which it was decided */
	bool gated;
	struct verdict gate;
	struct cycle_outcome outcome;
	bool tried_preemption;
	struct preempt_outcome preempt;
	uint64_t draw;
};

/* Decides for a pod, put or not. Nothing changes. What the cycle tells about it, and what
 * preempt points to, holds until the next one; *out stays where it is for so long.
 * PL_NOTFOUND: nobody schedules for its schedulerName; PL_NOMEM, PL_LIMIT. */
PL_NODISCARD enum pl_code engine_decide(struct engine *engine, const struct pod *pod,
                                        struct engine_decision *out, struct pl_err *err);
/* The same with a draw that was drawn before. */
PL_NODISCARD enum pl_code engine_decide_with(struct engine *engine, const struct pod *pod,
                                             uint64_t draw, struct engine_decision *out,
                                             struct pl_err *err);
/* It is on that node from now on (assumed), under that name; placed may be NULL.
 * PL_EXISTS: one of that name is on a node already. */
PL_NODISCARD enum pl_code engine_assume(struct engine *engine, const struct pod *pod,
                                        uint32_t slot, uint32_t *placed,
                                        struct pl_err *err);

/* How many pods there are, and of these, how many wait for a node that is not there. */
uint32_t engine_pods(const struct engine *engine);
uint32_t engine_pods_without_node(const struct engine *engine);

struct model *engine_model(struct engine *engine);
struct snapshot *engine_snapshot(struct engine *engine);
struct cycle *engine_cycle(struct engine *engine);
/* The class of a spec, opened; engine_release when it is not needed. */
PL_NODISCARD enum pl_code engine_class(struct engine *engine, const struct spec *spec,
                                       struct fw_class **out, struct pl_err *err);
void engine_release(struct engine *engine, struct fw_class *class);

/* The draw of the n-th decision about a pod: from the seed and the pod's uid or name,
 * so that decisions do not depend on each other's order. */
uint64_t engine_draw(const struct engine *engine, const struct pod *pod,
                     uint64_t attempt);

#endif
