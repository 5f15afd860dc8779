/*
 * A snapshot: the cluster as one scheduling cycle sees it, nodes as columns and the pods
 * on them.
 *
 * A node is a slot; a pod on a node (or assumed there) is a number; both are reused after
 * removal. Fields of a node that hot loops read stand in columns indexed by the slot,
 * other fields in the node's row.
 *
 * Invariants: columns are as long as the capacity, a multiple of SNAPSHOT_PAD, and zero
 * behind the slots in use, so vector code may read to the end of a word. Every change
 * costs O(what changed): a pod that comes or goes changes its node's amounts, ports and
 * volumes, and the counts of the rules that it matches (matcher.h) or carries (view.h).
 * Nothing is computed anew for a cycle, and once the tables have their size nothing is
 * allocated.
 *
 * Assuming a pod is adding it; forgetting it is removing it.
 *
 * **Reservations** are amounts on a node that belong to no pod there. They count as used
 * for every decision, except that the decision for which the room is reserved lifts them.
 *
 * **Changes** are numbered by `changes`. The last SNAPSHOT_LOG changed slots are kept, so
 * that caches of results by node can be updated.
 *
 * **Probing**: changes between snapshot_probe and snapshot_probe_end are not logged. The
 * prober asks "what if", and undoes all of its changes, in any order, before the end.
 */
#ifndef SHARDSCHED_SNAPSHOT_SNAPSHOT_H
#define SHARDSCHED_SNAPSHOT_SNAPSHOT_H

#include "shardsched/model/node.h"
#include "shardsched/model/pod.h"
#include "shardsched/snapshot/catalog.h"
#include "store/base/bitset.h"

enum {
	SNAPSHOT_PAD = 512, /* slots; eight words */
	SNAPSHOT_LOG = 65536,
	SNAPSHOT_NODES_MAX = 1 << 24,
	SNAPSHOT_PODS_MAX = 1 << 26,
	SNAPSHOT_SCALARS_MAX = 64, /* kinds of scalar resources at once */
};

/* No slot, no number; where every chain ends. */
#define SNAPSHOT_NONE UINT32_MAX

/* The maximum of each resource in use on a node. It is half of what 64 bits hold, so that
 * a probe may add pods before it has restored the pods that it lifted. A pod beyond the
 * maximum is refused, so removing a pod takes away exactly what adding it added. */
#define SNAPSHOT_USED_MOST (INT64_MAX / 2)

/* 8 TiB: vector code counts in doubles what is below. */
#define SNAPSHOT_LARGE (INT64_C(1) << 43)

struct label_column;
struct spec_view;

/* Exact amounts of one node. */
struct node_amounts {
	int64_t cpu_milli;
	int64_t memory;
	int64_t storage;
	int64_t pods; /* used: number of pods, and of pods for which room is reserved */
};

/* The fields of one node that no column has. */
struct node_row {
	struct node node; /* the slot is free: name 0 */
	uint32_t cluster; /* string; 0: there is but one */
	uint32_t pods;    /* number of pods, assumed ones included */
	uint32_t first_pod;
	uint32_t first_port;       /* first of the used host ports */
	uint32_t first_nomination; /* pods for which room is being made on the node */
	uint32_t first_reservation;
	uint32_t volume_pods; /* pods on the node that have volumes */
	struct node_amounts alloc;
	struct node_amounts used;
	int64_t nonzero_cpu_milli; /* used, as LeastAllocated counts */
	int64_t nonzero_memory;
	uint64_t volumes;    /* volumes of all pods on the node, counted as often as they
			      * are named */
	uint64_t generation; /* grows with each change of this node */
	struct bucket_link by_name;
};

/* A pod on a node. */
struct placed_pod {
	struct spec_view *view; /* the pod's class; view->spec */
	uint32_t name;
	uint32_t uid;
	uint32_t node;
	uint32_t flags; /* PLACED_... */
	uint32_t next_on_node, prev_on_node;
	uint32_t next_of_view, prev_of_view;
	int64_t started_ms; /* 0: absent */
	uint64_t user;      /* the adder's: any value */
};

enum {
	PLACED_IN_USE = 1 << 0,
	PLACED_TERMINATING = 1 << 1, /* counts for everything but spreading */
	PLACED_PREEMPTED = 1 << 2,   /* terminates to make room for another pod */
	PLACED_LIFTED = 1 << 3,      /* lifted by a probe: in no chain, not counted */
	PLACED_VICTIM = 1 << 4, /* is to terminate: counts for spread until it does */
	PLACED_EXEMPT = 1 << 5, /* can not be evicted */
};

/* A pod that waits for room to be made on a node (status.nominatedNodeName). */
struct nomination {
	struct spec_view *view;
	uint32_t name;
	uint32_t uid;
	uint32_t node;
	uint32_t next;
	int64_t started_ms;
};

/* Amounts that are reserved on a node. */
struct node_reservation {
	const struct resources *amounts; /* pods: number of pods that the room is for */
	int64_t nonzero_cpu_milli, nonzero_memory;
};

struct reservation {
	struct node_reservation is; /* amounts NULL: the number is free */
	uint32_t node;
	uint32_t next;
	bool lifted;
};

/* kube-scheduler keeps used ports as a set: in its preemption the first removed user of a
 * port removes the port, even when another pod of the node has the same port (two pods
 * that were bound by hand). Here a lift hides the port in the same way, and restoring the
 * pod shows it again. */
struct port_use {
	struct spec_port port;
	uint32_t users;
	uint32_t hidden; /* users that a lift hides */
	uint32_t next;
};

static inline bool port_is_taken(const struct port_use *use)
{
	return use->users > use->hidden;
}

/* Amounts in vector form. cpu is in int32: a node that has or uses INT32_MAX or more
 * (two million cores) is counted in `wide`, and while there is such a node, readers
 * use the rows instead. A unit is the share of one in the allocatable amount: 1 /
 * alloc, rounded; 0 where alloc is 0. With units, shares are computed without a
 * division. */
struct hot_columns {
	int32_t *cpu_alloc, *cpu_used, *cpu_nonzero;
	int64_t *memory_alloc, *memory_used, *memory_nonzero;
	double *cpu_unit, *memory_unit;
	uint32_t wide;
};

struct scalar_column {
	uint32_t name;  /* 0: this column is free */
	uint32_t users; /* nodes that have the resource, plus pods that use it */
	int64_t *alloc, *used;
};

/* Sets of slots, updated with the nodes. X(name) */
#define SNAPSHOT_SETS_MAP(X)                                                 \
	X(live)          /* a node is there */                               \
	X(local)         /* live nodes of the shard's own partitions */      \
	X(open)          /* local and remote nodes, without excluded ones */ \
	X(unschedulable) /* cordoned */                                      \
	X(hard_taints)   /* NoSchedule or NoExecute among its taints */      \
	X(soft_taints)   /* PreferNoSchedule among them */                   \
	X(vacant)        /* at least one pod more is allowed */              \
	X(large)         /* SNAPSHOT_LARGE of memory or more */              \
	X(with_ports)    /* host ports in use */                             \
	X(with_volumes)  /* pods on it have volumes */                       \
	X(nominated)     /* pods are nominated for it */

struct snapshot {
	struct model *model; /* borrowed */
	struct catalog catalog;
	uint32_t slots;    /* slots that were ever in use */
	uint32_t capacity; /* length of the columns */
	uint32_t nodes;    /* number of nodes */
	uint32_t placed_count;
	uint32_t nominated_nodes; /* bits in nominated */
	struct node_row *row;
	struct hot_columns hot;
	int64_t *storage_free; /* allocatable minus used; may be negative */
	uint32_t *taints;      /* item.id of the node's taints */
#define SNAPSHOT_SET_FIELD(name) struct pl_bitset name;
	SNAPSHOT_SETS_MAP(SNAPSHOT_SET_FIELD)
	struct scalar_column scalar[SNAPSHOT_SCALARS_MAX];
	struct placed_pod *placed;
	struct nomination *nomination;
	struct reservation *reservation;
	struct port_use *port_use;
	uint64_t changes;     /* changes of nodes, and of pods and reservations on them */
	uint64_t nodes_epoch; /* grows when a node comes, goes or changes; not for its
			       * pods */
	uint64_t images_epoch; /* grows when the images of nodes, or the number of nodes,
			        * change */
	struct snapshot_inner *inner;
};

/* model outlives it. PL_NOMEM. */
PL_NODISCARD enum pl_code snapshot_init(struct snapshot *snapshot, struct model *model,
                                        struct pl_err *err);
/* Frees everything, nodes and pods included. */
void snapshot_done(struct snapshot *snapshot);

/* -- nodes ------------------------------------------------------------------------ */

/* Takes references of its own. A node without allocatable is not *counted*: it has no
 * resources, and its pods are in no sum; they are there for rules, and nothing may be
 * reserved on it. PL_EXISTS: there is a node of that cluster and name; PL_LIMIT,
 * PL_NOMEM: nothing changed. */
PL_NODISCARD enum pl_code snapshot_node_add(struct snapshot *snapshot, uint32_t cluster,
                                            const struct node *node, uint32_t *slot,
                                            struct pl_err *err);
/* Replaces the node by one of the same cluster and name. Both are counted. */
PL_NODISCARD enum pl_code snapshot_node_change(struct snapshot *snapshot, uint32_t slot,
                                               const struct node *node,
                                               struct pl_err *err);
/* Which classes consider a node. For counts, such as pods in domains, the scope makes no
 * difference. */
enum node_scope {
	NODE_LOCAL,    /* all classes; the scope of a node that is added */
	NODE_REMOTE,   /* classes that are not restricted to local nodes */
	NODE_EXCLUDED, /* none */
};

void snapshot_node_set_scope(struct snapshot *snapshot, uint32_t slot,
                             enum node_scope scope);
/* The node has no pods, no nominations and no reservations. */
void snapshot_node_remove(struct snapshot *snapshot, uint32_t slot);

/* SNAPSHOT_NONE: not found. */
uint32_t snapshot_node_find(const struct snapshot *snapshot, uint32_t cluster,
                            uint32_t name);
/* The first node of that name in any cluster; then the next one. */
uint32_t snapshot_node_named(const struct snapshot *snapshot, uint32_t name,
                             uint32_t after);

/* -- pods ------------------------------------------------------------------------- */

/* A pod to be added. */
struct pod_on_node {
	const struct spec *spec;
	uint32_t name, uid;
	uint32_t flags;
	int64_t started_ms;
	uint64_t user;
};

/* The pod is added whether it fits or not. PL_LIMIT: more than can be counted (on the
 * node, in all, kinds of scalars); PL_NOMEM: nothing changed. */
PL_NODISCARD enum pl_code snapshot_pod_add(struct snapshot *snapshot, uint32_t slot,
                                           const struct pod_on_node *pod,
                                           uint32_t *placed, struct pl_err *err);
void snapshot_pod_remove(struct snapshot *snapshot, uint32_t placed);
/* Marks the pod as terminating. */
void snapshot_pod_terminate(struct snapshot *snapshot, uint32_t placed);

/* Lifts the pod off its node, and restores it; only while probing. Its number stays
 * valid. */
void snapshot_pod_lift(struct snapshot *snapshot, uint32_t placed);
void snapshot_pod_restore(struct snapshot *snapshot, uint32_t placed);

PL_NODISCARD enum pl_code snapshot_nominate(struct snapshot *snapshot, uint32_t slot,
                                            const struct pod_on_node *pod,
                                            uint32_t *nomination, struct pl_err *err);
void snapshot_nominate_end(struct snapshot *snapshot, uint32_t nomination);

/* -- holds ------------------------------------------------------------------------ */

/* Reserves the amounts whether they are free or not. Takes a reference to them. PL_LIMIT:
 * more than can be counted; PL_NOMEM: nothing changed. */
PL_NODISCARD enum pl_code snapshot_reserve(struct snapshot *snapshot, uint32_t slot,
                                           const struct node_reservation *is,
                                           uint32_t *reservation, struct pl_err *err);
void snapshot_unreserve(struct snapshot *snapshot, uint32_t reservation);
/* A lifted reservation does not count until it is restored: for the decision for which
 * the room is reserved. Each call is a change of the node, except in a probe, which has
 * to restore it. */
void snapshot_reservation_lift(struct snapshot *snapshot, uint32_t number);
void snapshot_reservation_restore(struct snapshot *snapshot, uint32_t number);

/* -- what changed ----------------------------------------------------------------- */

/* Calls fn for each slot that changed since, at least once each. False: the log does not
 * reach back so far, and any slot may have changed. */
bool snapshot_changed_since(const struct snapshot *snapshot, uint64_t changes,
                            void (*fn)(void *ctx, uint32_t slot), void *ctx);

void snapshot_probe(struct snapshot *snapshot);
void snapshot_probe_end(struct snapshot *snapshot);
/* Whether a probe goes on: results by node can not be updated then. */
bool snapshot_probing(const struct snapshot *snapshot);

/* -- columns that are made on demand ---------------------------------------------- */

/* The index in scalar[]; SNAPSHOT_NONE: no node has the resource. */
uint32_t snapshot_scalar(const struct snapshot *snapshot, uint32_t name);

/* Number of nodes that have the image. */
uint32_t snapshot_image_nodes(const struct snapshot *snapshot, uint32_t image);

/* -- namespaces ------------------------------------------------------------------- */

/* As catalog_put_namespace and catalog_drop_namespace, and also updates the rules that
 * select namespaces by their labels. PL_NOMEM: the catalog may have changed and the rules
 * not; the same call again completes the change. */
PL_NODISCARD enum pl_code snapshot_namespace_put(struct snapshot *snapshot,
                                                 struct namespace *namespace,
                                                 struct pl_err *err);
PL_NODISCARD enum pl_code snapshot_namespace_drop(struct snapshot *snapshot,
                                                  uint32_t name, struct pl_err *err);
/* Rules that are known select namespaces by their labels. */
bool snapshot_reads_namespaces(const struct snapshot *snapshot);
/* Whether pods of the namespace are there or asked about, so that its labels may matter.
 * If not, dropping the namespace does not fail. */
bool snapshot_namespace_is_used(const struct snapshot *snapshot, uint32_t name);

/* Bytes of heap, for metrics. */
size_t snapshot_memory(const struct snapshot *snapshot);
/* Asserts every sum, count and chain against a count from scratch; for tests. */
void snapshot_check(const struct snapshot *snapshot);

#endif
