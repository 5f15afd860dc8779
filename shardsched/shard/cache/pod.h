/*
 * A pod as a shard knows it: the facts that stand at its keys, and what follows from
 * them.
 *
 * How far a pod has come is its stage:
 *
 *	       pod_enqueue           decided             its node goes into a txn
 *	IDLE -------------> QUEUED -----------> ASSUMED ---------------------> COMMITTING
 *	  ^                  |  ^                |  |  ^                         |    |
 *	  |     withdrawn    |  '-- taken back --'  |  '------ not applied ------'    |
 *	  |<-----------------+----------------------'                                 |
 *	  '---------------------------------- applied --------------------------------'
 *
 * A member of a gang that is bound becomes ASSUMED straight from IDLE, and a loose pod
 * (pod_is_loose) goes from COMMITTING to IDLE in any case.
 *
 * Facts are applied first; pod_reconcile then works out the stage. The stage changes only
 * through pod_set_stage, which asserts that the picture allows the change.
 *
 * Beside the stage a pod stands in at most one list, by link; linked says in which. Pods
 * enter a list through pod_link and leave it through pod_unlink.
 */
#ifndef SHARDSCHED_SHARD_CACHE_POD_H
#define SHARDSCHED_SHARD_CACHE_POD_H

#include "shardsched/model/pod.h"
#include "shardsched/model/uuid.h"
#include "shardsched/queue/entry.h"
#include "shardsched/queue/queue.h"
#include "shardsched/records/pod_state.h"
#include "store/base/compiler.h"

struct sched_gang;
struct sched_node;
struct preemption_plan;

enum pod_stage {
	POD_IDLE,       /* not this shard's to place, or not now */
	POD_QUEUED,     /* in the queue, or popped and being decided */
	POD_ASSUMED,    /* placed in the snapshot; waits at its node for a txn */
	POD_COMMITTING, /* in a txn that puts its node's alloc */
};

/* The list in which a pod stands. */
enum pod_list {
	LINKED_NOT,
	LINKED_WAITING,     /* the waiting list of its node; the pod is ASSUMED */
	LINKED_SPEC_WANTED, /* sched.wanted: the pod's spec is to be read by key */
	LINKED_MISMATCH,    /* the pod's state and the allocs do not agree */
	LINKED_TERMINATING, /* the ending list of its node, or that of unplaced pods */
	LINKED_ORPHAN,      /* the node that the pod's state names is not known here */
	LINKED_REMOTE_LIST, /* QUEUED; leads its class in waiting for a remote list or for
	                     * room in remote commits */
	LINKED_FOLLOWER,    /* QUEUED; waits behind the leader of its class */
};

/* Facts about a pod, as bits of its flags. */
enum {
	POD_HAS_NODE_NAME = 1 << 0,     /* spec.nodeName is set: not to be placed */
	POD_ENDED = 1 << 1,             /* is being deleted, or has run */
	POD_BAD_SPEC = 1 << 2,          /* the spec is malformed */
	POD_BAD_STATE = 1 << 3,         /* the state is malformed */
	POD_MISSING = 1 << 4,           /* the spec was read by key and was not there */
	POD_MISMATCH_REPORTED = 1 << 5, /* the mismatch of state and alloc was reported */
	POD_RESET = 1 << 6,           /* the partition was lost since the txn was made */
	POD_REFUSED = 1 << 7,         /* no class: no profile, or no memory */
	POD_REASON_REPORTED = 1 << 8, /* the state tells why the pod is pending */
	POD_BATCHED = 1 << 9,         /* ASSUMED as a part of the atomic batch */
	POD_DELETED = 1 << 10,        /* by this shard; the store's event is to come */
	POD_NAME_CLASH = 1 << 11,     /* another key stands below the pod's name */
	POD_NO_STATE = 1 << 12,       /* an alloc lists the pod, and there is no state
	                                 * that could ask it to leave (preemption.c) */
	POD_TAINTED = 1 << 13,        /* does not tolerate its node's taints any more */
	POD_NO_PROFILE = 1 << 14,     /* POD_REFUSED for want of a profile */
	POD_SPEC_ABSENT = 1 << 15,    /* POD_MISSING was confirmed and reported */
};

/* The membership of a pod in a gang. */
struct gang_member_pod {
	struct sched_pod *pod;
	struct sched_gang *gang;
	struct pl_list of_gang;
};

/* The phase of a pod that has no state. */
enum { PHASE_NONE = STATE_PHASES };

/* A shard may hold a million of these: 272 bytes each. */
struct sched_pod {
	struct bucket_link by_key;
	uint32_t number;     /* in the pod table */
	uint32_t next, prev; /* numbers of neighbours in the partition's list; 0: none */
	uint32_t key[3];     /* partition, namespace, name; held */
	/* Read through pod_uid and pod_uid_text. */
	union {
		uint8_t packed[UUID_SIZE];
		uint32_t text; /* held; 0: unknown */
	} uid;
	const struct spec *spec; /* held; NULL: unknown */
	struct queue_pod queue;
	struct sched_node
		*node; /* ASSUMED, COMMITTING: the target; else one that lists the
	                          * pod, or NULL */
	struct sched_node *nominated; /* a node that holds a reservation for the pod */
	struct preemption_plan *victim_of; /* the plan that evicts the pod; NULL: none */
	struct gang_member_pod *member;    /* NULL: not in a gang */
	struct pl_list link;               /* in the list that linked names */
	int64_t rev[2];      /* of spec and state, by enum fact; 0: absent */
	int64_t unknown_rev; /* the revision since which an unknown spec may be listed */
	int64_t created_ms;
	int64_t since_ms; /* start of the phase */
	/* Cluster and node in the state: where the pod is; of a pending pod, where the
	 * state says that it is nominated. */
	uint32_t at[2];
	uint32_t placed;     /* ASSUMED: number in the snapshot */
	uint32_t attempts;   /* made by earlier owners */
	uint32_t reported_s; /* time of the last pending status; 0: long ago */
	union {
		uint32_t gang_reported; /* the gang's reason_number in that status */
		/* Since when a pod that is in no gang is in the queue: 32 bits of the
		 * milliseconds of sched_measure_at */
		uint32_t queued_ms;
	};
	uint32_t index;  /* of the labels beside the class */
	uint32_t why;    /* the state's reason, when placed or asked to leave; held */
	uint16_t listed; /* number of nodes that list the pod */
	uint16_t reserved_by; /* number of nodes with a reservation for the pod */
	uint16_t flags;
	unsigned char stage : 3;  /* enum pod_stage */
	unsigned char linked : 5; /* enum pod_list */
	uint8_t phase;            /* enum state_phase, or PHASE_NONE */
	uint8_t txn;              /* number of the txn plus one; 0: in none */
	uint8_t seen[2];          /* generation of the list that had each fact last */
	uint8_t conflicts;        /* in a row */
	uint8_t identity_keys;    /* which labels stand beside the class (identity.h) */
	unsigned char ask : 4, ended : 4; /* enum state_ask, enum state_ended */
	bool next_pending : 1;            /* the state asks for another placement */
	bool awaits : 1;                  /* asked to go, and finalizers keep the keys */
	bool asks_state : 1;              /* the state is to be read with the spec */
	bool relisted : 1; /* the pod may have been replaced since it was read */
	bool edited : 1;   /* the spec has changed since it was created */
	bool gated : 1;    /* a gang member with scheduling gates */
	bool tried : 1;    /* a gang member that the gang's last try counted */
	bool pinned : 1;   /* not freed while an alloc is being applied */
	bool packed : 1;   /* the uid is packed */
	bool exempt : 1;   /* not a victim: its eviction cannot be written */
};

/* NULL: the pod is in no gang. */
static inline struct sched_gang *pod_gang(const struct sched_pod *pod)
{
	return pod->member == NULL ? NULL : pod->member->gang;
}

static inline struct sched_pod *member_of(struct pl_list *of_gang)
{
	return PL_LIST_ITEM(of_gang, struct gang_member_pod, of_gang)->pod;
}

static inline struct sched_pod *pod_of_queue(struct queue_pod *pod)
{
	return PL_CONTAINER_OF(pod, struct sched_pod, queue);
}

/* A pod in a txn that has left the queue, because its class belonged to older settings
 * (sched_configure) or its partition was lost. Unless it is committed it starts anew. */
static inline bool pod_is_loose(const struct sched_pod *pod)
{
	return pod->stage == POD_COMMITTING && pod->queue.class == NULL;
}

static inline void pod_set_stage(struct sched_pod *pod, enum pod_stage to)
{
	static const uint8_t from[] = {
		[POD_IDLE] = 1 << POD_QUEUED | 1 << POD_ASSUMED | 1 << POD_COMMITTING,
		[POD_QUEUED] = 1 << POD_IDLE | 1 << POD_ASSUMED,
		[POD_ASSUMED] = 1 << POD_IDLE | 1 << POD_QUEUED | 1 << POD_COMMITTING,
		[POD_COMMITTING] = 1 << POD_ASSUMED,
	};

	PL_ASSERT((from[to] >> pod->stage & 1) != 0);
	pod->stage = (unsigned char)to & 7U;
}

/* Into the list; the pod stands in no other. */
static inline void pod_link(struct sched_pod *pod, struct pl_list *list,
                            enum pod_list linked)
{
	PL_ASSERT(pod->linked == LINKED_NOT && linked != LINKED_NOT);
	pl_list_add_tail(list, &pod->link);
	pod->linked = (unsigned char)linked & 31U;
}

#endif
