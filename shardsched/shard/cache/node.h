/*
 * A node as a shard knows it: its Node object, what its alloc lists, and what follows
 * from both.
 *
 * Membership in the snapshot:
 *
 *	        its Node and its alloc are known, and it is local or
 *	        in a partition that is followed
 *	OUT ------------------------------------------------------> COUNTED
 *	 ^ \                                                           |
 *	 |  '--> UNCOUNTED    its amounts exceed the snapshot's limit  |
 *	 |           |                                                 |
 *	 '-----------+----------- node_leave --------------------------'
 *
 * A member has a slot and a scope: local, remote, or excluded. An excluded node is in the
 * snapshot, so that rules see its pods, but nothing is placed there; an UNCOUNTED one is
 * always excluded.
 *
 * The invariants that sched_check asserts: a node that is OUT has no waiting pods and no
 * slot; unknown, unconfirmed, shared and the sums are those of the listed entries; a node
 * stands in a ready list only while it is in no txn.
 */
#ifndef SHARDSCHED_SHARD_CACHE_NODE_H
#define SHARDSCHED_SHARD_CACHE_NODE_H

#include "shardsched/model/node.h"
#include "store/base/compiler.h"
#include "store/base/list.h"
#include "store/base/map.h"

struct sched_reservation;
struct preemption_plan;
struct sched_pod;

struct sched_sums {
	uint64_t cpu_milli, memory, storage, pods;
	uint64_t nonzero_cpu_milli, nonzero_memory;
	uint64_t scalars; /* sum of amount times hash of the name: enough to compare */
};

/* A pod in a node's list: one that the alloc lists, or that a txn is adding to it. */
struct alloc_entry {
	struct sched_pod *pod;
	uint32_t placed;  /* number in the snapshot, or SNAPSHOT_NONE */
	bool sent : 1;    /* a txn adds it: not in the store's alloc yet */
	bool leaving : 1; /* the alloc says that the pod terminates */
	bool other : 1;   /* the known spec is, or may be, that of another incarnation */
	bool unconfirmed : 1; /* the alloc may list another incarnation by now */
	uint8_t end;          /* enum state_transition that a txn under way makes */
};

enum node_membership { NODE_OUT, NODE_UNCOUNTED, NODE_COUNTED };

/* How the alloc is known; NODE_ALLOC_ABSENT exactly while rev[FACT_ALLOC] is 0. */
enum node_alloc {
	NODE_ALLOC_ABSENT,    /* not read yet, or deleted */
	NODE_ALLOC_MALFORMED, /* nothing of it is known */
	NODE_ALLOC_READ,      /* as another writer left it */
	NODE_ALLOC_OWN, /* as this shard wrote it, for the Node that is known here */
};

/* How long the alloc's sums have not been those of its pods. */
enum node_sums {
	NODE_SUMS_AGREE,
	NODE_SUMS_RECHECKED, /* specs of remote pods are read again, once */
	NODE_SUMS_REPORTED,  /* as a mismatch that has lasted */
};

struct sched_node {
	struct pl_map_node by_name;
	uint32_t key[2]; /* cluster, name; held */
	uint32_t partition;
	uint32_t slot;               /* in the snapshot, or SNAPSHOT_NONE */
	struct pl_list of_partition; /* in the partition's nodes */
	struct pl_list ready;      /* in sched.ready or remote.ready: can be committed */
	struct pl_list waiting;    /* ASSUMED pods, by their link */
	struct pl_list mismatched; /* in sched.mismatched: the sums do not agree */
	struct pl_list incomplete; /* in sched.incomplete or unread: unknown specs */
	struct pl_list sharing;    /* in sched.sharing: shared > 0 */
	struct pl_list reserving;  /* in sched.reserving: holds > 0 */
	struct pl_list batch;      /* in the batch's nodes: batched > 0 */
	struct pl_list ending;     /* pods that are to leave, by their link */
	struct pl_list departure;  /* in the departure order (termination_turn.c) */
	uint64_t departure_ms;     /* pods leave from then on; 0: to be worked out */
	int64_t departure_rev;     /* of the alloc by which departure_ms was set */
	struct pl_list tainted;    /* in sched.tainted: has a NoExecute taint */
	/* When each taint was first seen, by the steady clock of termination_taint.c; 0: to be
	 * looked at; NULL: all are. */
	int64_t *tainted_ms;
	uint32_t waiting_count;
	uint32_t batched;   /* waiting pods that are in the batch */
	uint8_t txn;        /* number of the txn that puts the alloc, plus one; 0: none */
	uint8_t seen[2];    /* generation of the list that had each fact last */
	uint8_t viewed[2];  /* generation of the fleet view that had each fact last */
	uint8_t scope;      /* enum node_scope, while a member of the snapshot */
	uint8_t refusals;   /* conflicts in a row, of a remote node */
	uint8_t membership; /* enum node_membership */
	uint8_t alloc;      /* enum node_alloc */
	uint8_t sums;       /* enum node_sums */
	bool moving;        /* changes from local to remote scope just now */
	bool reset;         /* in a txn that was made before the node was forgotten */
	bool read;          /* specs of the pods that it lists are read */
	bool refused;     /* submission would refuse the Node: nothing is placed there */
	bool full;        /* the alloc has no room for another entry */
	bool gang_full;   /* full was set for a gang the last time */
	bool ready_local; /* ready is, or was last, in sched.ready */
	int64_t rev[2];   /* mod_revision of Node and alloc, by enum fact; 0: absent */
	uint64_t generation;  /* of the alloc: counts its writes */
	uint64_t left;        /* of the alloc: counts the pods that have left it */
	uint64_t alone_ms;    /* until then it shares no txn with other nodes */
	uint64_t excluded_ms; /* excluded until then for its conflicts; 0: it is not */
	struct node node;     /* name 0: the Node is absent or malformed */
	struct alloc_entry *listed; /* in the alloc's order (records/alloc.h) */
	uint32_t count, cap;        /* of listed */
	struct sched_reservation *reservation; /* in the alloc's order */
	uint32_t reservations, reservation_cap;
	struct preemption_plan *plan; /* NULL: none */
	uint32_t unknown;             /* listed pods whose spec is not known */
	uint32_t unconfirmed;         /* listed pods that may have been replaced */
	uint32_t shared;              /* listed pods whose node is another one, or NULL */
	uint32_t leaves;        /* pods that the alloc leaves out that was printed last */
	int32_t least;          /* lowest priority of listed pods; INT32_MAX: none */
	bool least_stale;       /* least is to be worked out again */
	uint32_t with_scalars;  /* listed pods that ask for extended resources */
	uint32_t with_ports;    /* listed pods with host ports */
	struct sched_sums used; /* of the listed pods and of the reservations */
	struct sched_sums alloc_used; /* sums that the alloc says are used */
	struct pl_list uncounted;     /* in sched.uncounted, while UNCOUNTED */
};

static inline bool node_is_counted(const struct sched_node *node)
{
	return node->membership != NODE_UNCOUNTED;
}

/* A member leaves before it enters another way. */
static inline void node_set_membership(struct sched_node *node, enum node_membership to)
{
	PL_ASSERT((node->membership == NODE_OUT) != (to == NODE_OUT));
	node->membership = (uint8_t)to;
}

/* The alloc lists what a txn of this shard has put: it was known, and not malformed. */
static inline void node_set_alloc_own(struct sched_node *node)
{
	PL_ASSERT(node->alloc == NODE_ALLOC_READ || node->alloc == NODE_ALLOC_OWN);
	node->alloc = NODE_ALLOC_OWN;
}

/* A mismatch is rechecked before it is reported. */
static inline void node_set_sums(struct sched_node *node, enum node_sums to)
{
	PL_ASSERT(to != NODE_SUMS_REPORTED || node->sums == NODE_SUMS_RECHECKED);
	node->sums = (uint8_t)to;
}

#endif
