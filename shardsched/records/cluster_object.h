/* A cluster object of any kind, read from JSON, and the keys under which such objects
 * stand in the store. What the catalog does with one: snapshot/object_catalog.h. */
#ifndef SHARDSCHED_RECORDS_CLUSTER_OBJECT_H
#define SHARDSCHED_RECORDS_CLUSTER_OBJECT_H

#include "shardsched/model/cluster_objects.h"
#include "shardsched/model/storage.h"
#include "shardsched/model/volume.h"
#include "store/keys/keys.h"

/* X(KIND, the catalog's noun, which workload) */
#define CLUSTER_OBJECT_MAP(X)                                    \
	X(NAMESPACE, namespace, 0)                               \
	X(VOLUME, volume, 0)                                     \
	X(CLAIM, claim, 0)                                       \
	X(STORAGE_CLASS, storage_class, 0)                       \
	X(CSI_NODE, csi_node, 0)                                 \
	X(CSI_DRIVER, csi_driver, 0)                             \
	X(CSI_CAPACITY, csi_capacity, 0)                         \
	X(PRIORITY_CLASS, priority_class, 0)                     \
	X(BUDGET, budget, 0)                                     \
	X(SERVICE, workload, WORKLOAD_SERVICE)                   \
	X(CONTROLLER, workload, WORKLOAD_REPLICATION_CONTROLLER) \
	X(REPLICA_SET, workload, WORKLOAD_REPLICA_SET)           \
	X(STATEFUL_SET, workload, WORKLOAD_STATEFUL_SET)

/* The kinds that shards follow, and under which keys they stand. X(KIND, group, resource,
 * whether in a namespace) */
#define CLUSTER_FOLLOWED_MAP(X)                                     \
	X(NAMESPACE, "core", "namespaces", false)                   \
	X(SERVICE, "core", "services", true)                        \
	X(CONTROLLER, "core", "replicationcontrollers", true)       \
	X(REPLICA_SET, "apps", "replicasets", true)                 \
	X(STATEFUL_SET, "apps", "statefulsets", true)               \
	X(VOLUME, "core", "persistentvolumes", false)               \
	X(CLAIM, "core", "persistentvolumeclaims", true)            \
	X(STORAGE_CLASS, "storage.k8s.io", "storageclasses", false) \
	X(CSI_NODE, "storage.k8s.io", "csinodes", false)            \
	X(CSI_DRIVER, "storage.k8s.io", "csidrivers", false)        \
	X(CSI_CAPACITY, "storage.k8s.io", "csistoragecapacities", true)
/* Priority classes stand there, too, and are read where pods come in. */
#define CLUSTER_STORED_MAP(X)   \
	CLUSTER_FOLLOWED_MAP(X) \
	X(PRIORITY_CLASS, "scheduling.k8s.io", "priorityclasses", false)

#define CLUSTER_OBJECT_ENUM(kind, noun, sort) CLUSTER_##kind,
enum cluster_object_kind { CLUSTER_OBJECT_MAP(CLUSTER_OBJECT_ENUM) CLUSTER_OBJECT_KINDS };

struct cluster_object {
	enum cluster_object_kind kind;
	union {
		struct namespace namespace;
		struct volume volume;
		struct claim claim;
		struct storage_class storage_class;
		struct csi_node csi_node;
		struct csi_driver csi_driver;
		struct csi_capacity csi_capacity;
		struct priority_class priority_class;
		struct budget budget;
		struct workload workload;
	} as;
};

/* *out holds references until it is put or dropped. */
PL_NODISCARD enum pl_code cluster_object_parse(enum cluster_object_kind kind,
                                               struct parse *parse, struct pl_span json,
                                               struct cluster_object *out,
                                               struct pl_err *err);
void cluster_object_drop(struct model *model, struct cluster_object *object);

/* The kind that stands under that key; CLUSTER_OBJECT_KINDS: none of CLUSTER_STORED_MAP. */
enum cluster_object_kind cluster_object_kind_of(const struct keys_id *id);
/* The key of a stored object; the names are borrowed. */
struct keys_id cluster_object_id(enum cluster_object_kind kind, struct pl_span namespace,
                                 struct pl_span name);
/* As cluster_object_parse, and PL_INVALID if the object is not named as its key says. */
PL_NODISCARD enum pl_code cluster_object_read(const struct keys_id *id,
                                              struct parse *parse, struct pl_span json,
                                              struct cluster_object *out,
                                              struct pl_err *err);
/* A namespace that no object describes: it has the label that Kubernetes gives every
 * namespace. PL_NOMEM. */
PL_NODISCARD enum pl_code cluster_namespace_default(struct parse *parse, uint32_t name,
                                                    struct namespace *out);

struct cluster_object_name {
	uint32_t namespace; /* 0: of a kind that stands in none */
	uint32_t name;      /* 0: the object has none */
};
struct cluster_object_name cluster_object_name(const struct cluster_object *object);
/* The sort of a workload (enum workload_kind); 0 for any other kind. */
uint32_t cluster_object_sort(enum cluster_object_kind kind);

#endif
