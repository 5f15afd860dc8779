/* A pod as a shard knows it: its facts, and what follows from them. */
#ifndef SHARDSCHED_SHARD_CACHE_POD_H
#define SHARDSCHED_SHARD_CACHE_POD_H

#include "shardsched/model/pod.h"
#include "shardsched/model/uuid.h"
#include "shardsched/queue/entry.h"
#include "shardsched/queue/queue.h"
#include "shardsched/records/pod_state.h"

struct sched_gang;
struct sched_node;
struct preemption_plan;

enum pod_stage {
	POD_IDLE,       /* not ours to place, or not now */
	POD_QUEUED,     /* in the queue, or just popped */
	POD_ASSUMED,    /* assumed, at its node */
	POD_COMMITTING, /* assumed, in a call */
};

enum pod_list {
	LINKED_NOT,
	LINKED_WAITING,     /* at its node */
	LINKED_SPEC_WANTED, /* its spec is to be read */
	LINKED_MISMATCH,    /* state and alloc do not agree */
	LINKED_TERMINATING, /* at its node, or where those without are */
	LINKED_ORPHAN,      /* its node is not known here */
	LINKED_REMOTE_LIST, /* in the queue, until a visit ends, or there is room in errands */
	LINKED_FOLLOWER, /* in the queue, behind one of its class that is so */
};

enum {
	POD_HAS_NODE_NAME = 1 << 0, /* spec.nodeName: not ours to place */
	POD_ENDED = 1 << 1,         /* being deleted, or run */
	POD_BAD_SPEC = 1 << 2,      /* makes no sense */
	POD_BAD_STATE = 1 << 3,
	POD_MISSING = 1 << 4, /* its spec was read by key, and is not there */
	POD_MISMATCH_REPORTED = 1
	                        << 5, /* it was told that state and alloc do not agree */
	POD_RESET = 1 << 6,           /* lost since its call was made */
	POD_REFUSED = 1 << 7,         /* no class: no profile, or no room */
	POD_REASON_REPORTED =
		1 << 8,       /* its state tells why it is pending, as far as known */
	POD_BATCHED = 1 << 9, /* it waits as a part of the bundle */
	POD_NO_STATE =
		1 << 12, /* listed, and there is no state by which it could be told to
	                     * go: preempts.c */
	POD_NO_PROFILE = 1 << 14,  /* POD_REFUSED since there is no profile for it */
	POD_TAINTED = 1 << 13,     /* its node's taints are not tolerated any more */
	POD_DELETED = 1 << 10,     /* by us; the store's word of it is to come */
	POD_NAME_CLASH = 1 << 11,  /* something else stands below its name */
	POD_SPEC_ABSENT = 1 << 15, /* POD_MISSING for certain, which was told */
};

/* A pod of a gang. */
struct gang_member_pod {
	struct sched_pod *pod;
	struct sched_gang *gang;
	struct pl_list of_gang;
};

/* Without a phase: no state is there. */
enum { PHASE_NONE = STATE_PHASES };

/* A million of them wait: 272 bytes. */
struct sched_pod {
	struct bucket_link by_key;
	uint32_t number;     /* of the table */
	uint32_t next, prev; /* of the partition's, by number; 0: none */
	uint32_t key[3];     /* partition, namespace, name; held */
	/* As pod_uid and pod_uid_text give it. */
	union {
		uint8_t packed[UUID_SIZE];
		uint32_t text; /* held; 0: not said */
	} uid;
	const struct spec *spec; /* held; NULL: not known */
	struct queue_pod queue;
	struct sched_node *node; /* WAITS, SENT: where to; listed: one that lists it */
	struct sched_node *nominated;      /* one that holds room for it */
	struct preemption_plan *victim_of; /* it has to go by that; its own: pod_plan */
	struct gang_member_pod *member;    /* of a gang; NULL: of none */
	struct pl_list link;
	int64_t rev[2];
	int64_t unknown_rev; /* since then it may be somewhere, and its spec is not known
	                      */
	int64_t created_ms;
	int64_t since_ms; /* of the phase */
	/* Cluster and node of the state: where it is; of one that waits, where the state
	 * says that room is held for it. */
	uint32_t at[2];
	uint32_t placed;     /* WAITS: in the snapshot */
	uint32_t attempts;   /* before it came here */
	uint32_t reported_s; /* when its state last told why it is pending; 0: long ago */
	uint32_t gang_reported; /* what its gang said then */
	uint32_t index;         /* of labels beside the class */
	uint32_t why;    /* the state's reason, where it has a place or is asked to go */
	uint16_t listed; /* by so many nodes */
	uint16_t reserved_by; /* for by so many */
	uint16_t flags;
	unsigned char stage : 3;  /* enum pod_place */
	unsigned char linked : 5; /* enum pod_linked */
	uint8_t phase;            /* enum state_phase, or PHASE_NONE */
	uint8_t txn;
	uint8_t seen[2];
	uint8_t conflicts; /* in a row */
	uint8_t beside;    /* which labels stand beside the class: identity.h */
	unsigned char ask : 4, ended : 4; /* enum state_ask, enum state_ended */
	bool next_pending : 1;
	bool asks_state : 1; /* its state is to be read with its spec */
	bool relisted : 1;   /* it may be another by now than what was read */
	bool edited : 1;     /* its spec is not as it was made */
	bool gated : 1;      /* of a gang */
	bool tried : 1;      /* likewise: it waited when that was refused */
	bool pinned : 1;     /* an alloc that lists it is being taken */
	bool packed : 1;     /* its uid is */
	bool exempt : 1;     /* that it goes could not be written: plans.c */
};

/* NULL: it is in none. */
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

/* In a call, and in the queue no more: its class was of other settings (sched_configure),
 * or its partition is lost. If it is not committed it starts anew. */
static inline bool pod_is_loose(const struct sched_pod *pod)
{
	return pod->stage == POD_COMMITTING && pod->queue.class == NULL;
}

#endif
