/* A node as a shard knows it: its Node, what its alloc lists, and what follows. */
#ifndef SHARDSCHED_SHARD_CACHE_NODE_H
#define SHARDSCHED_SHARD_CACHE_NODE_H

#include "shardsched/model/node.h"
#include "store/base/list.h"
#include "store/base/map.h"

struct sched_reservation;
struct preemption_plan;
struct sched_pod;

struct sched_sums {
	uint64_t cpu_milli, memory, storage, pods;
	uint64_t nonzero_cpu_milli, nonzero_memory;
	uint64_t scalars; /* sum of amount times hash of the name: to compare with */
};

struct alloc_entry {
	struct sched_pod *pod;
	uint32_t placed;  /* in the snapshot; or SNAPSHOT_NONE */
	bool sent : 1;    /* not in the store's alloc yet */
	bool leaving : 1; /* the alloc says that it terminates */
	bool other : 1;   /* what is known of its spec is another's, or may be: lives.c */
	bool unconfirmed : 1; /* it may be another by now */
	uint8_t end; /* enum state_transition: what a call that is under way makes of it */
};

struct sched_node {
	struct pl_map_node by_name;
	uint32_t key[2]; /* cluster, name; held */
	uint32_t partition;
	uint32_t slot; /* in the snapshot; or SNAPSHOT_NONE */
	struct pl_list of_partition;
	struct pl_list ready;      /* has pods that can be committed */
	struct pl_list waiting;    /* pods, by link */
	struct pl_list mismatched; /* does not add up */
	struct pl_list incomplete; /* lists pods whose spec is not known; or in unread */
	struct pl_list sharing;    /* lists pods whose node is another */
	struct pl_list reserving;  /* has holds */
	struct pl_list batch;      /* pods that wait there are in the bundle */
	struct pl_list ending;     /* pods that are to leave, by link */
	struct pl_list
		departure; /* ... when those of others have left: termination_turn.c */
	uint64_t departure_ms;  /* until then; 0: to be worked out */
	int64_t departure_rev;  /* by that alloc */
	struct pl_list tainted; /* it has NoExecute among its taints */
	/* Since when it has each of its taints, by steady_ms of termination_taint.c; 0: to be
	 * looked at; NULL: so are all. */
	int64_t *tainted_ms;
	uint32_t waiting_count;
	uint32_t batched; /* of these */
	uint8_t txn;      /* its number and one; 0: in none */
	uint8_t seen[2];
	uint8_t viewed[2]; /* by the whole view: its generation */
	uint8_t scope;     /* enum node_scope, in the snapshot */
	uint8_t refusals;  /* conflicts in a row, abroad */
	bool moving;       /* to another scope */
	bool reset;        /* lost since its call was made */
	bool sure;      /* its alloc is as we wrote it, so its Node is the one we know */
	bool read;      /* the specs of what it lists are asked for */
	bool malformed; /* its alloc makes no sense */
	bool mismatch_reported; /* that it does not add up */
	bool asked;       /* whether specs of others have changed since they were read */
	bool full;        /* its alloc has no place for more */
	bool gang_full;   /* likewise, when a gang came last */
	bool ready_local; /* it is, or was, in ready of own nodes */
	int64_t rev[2];
	uint64_t generation, left;
	uint64_t alone_ms;          /* until then it travels alone */
	uint64_t excluded_ms;       /* until then nothing is put there; 0: it is not */
	struct node node;           /* name 0: not there, or makes no sense */
	struct alloc_entry *listed; /* in the order of alloc.h */
	uint32_t count, cap;
	struct sched_reservation *hold; /* in the order of alloc.h */
	uint32_t holds, reservation_cap;
	struct preemption_plan *plan;
	uint32_t unknown;     /* of these, pods whose spec is not known */
	uint32_t unconfirmed; /* and pods that may be others */
	uint32_t shared;      /* likewise, whose node is another, or none */
	uint32_t leaves;      /* how many go with what was printed last */
	int32_t least;        /* priority of those that are known */
	bool least_stale;     /* to be found out again */
	uint32_t with_scalars, with_ports;
	struct sched_sums used; /* of those that are listed and known, and of the holds */
	struct sched_sums alloc_used; /* by the alloc */
	/* It is in the snapshot without its amounts, and so aside. */
	struct pl_list uncounted;
};

static inline bool node_is_counted(const struct sched_node *node)
{
	return pl_list_empty(&node->uncounted);
}

#endif
