/*
 * The queue's entries, embedded in the caller's pods and classes. Anybody may read them;
 * only the queue (queue.h) writes them.
 */
#ifndef SHARDSCHED_QUEUE_ENTRY_H
#define SHARDSCHED_QUEUE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "shardsched/queue/rank.h"
#include "store/base/list.h"

enum { QUEUE_LANES = 6 };

enum queue_level { QUEUE_NO_SLA, QUEUE_BRONZE, QUEUE_SILVER, QUEUE_GOLD, QUEUE_LEVELS };

enum queue_place {
	QUEUE_OUT,
	QUEUE_ACTIVE,
	QUEUE_BACKOFF,
	/* refused: waits for an event, parked once its budget is used up */
	QUEUE_WAITING,
	QUEUE_GATED,
	QUEUE_IN_FLIGHT, /* popped: the caller is trying it */
	QUEUE_PLACES,
};

/* Why a pod is in its place. */
enum queue_cause {
	QUEUE_NEW, /* not tried yet, or edited since */
	QUEUE_REFUSED,
	QUEUE_FAULT, /* the attempt failed for a reason that is not the pod's */
	QUEUE_CONFLICT,
	/* room is being made for this pod, which says nothing about its class */
	QUEUE_NOMINATED,
	QUEUE_CAUSES,
};

/* State of a class; wait.c has the transitions. */
enum queue_class_state {
	QUEUE_CLASS_EMPTY,  /* no pod of it waits */
	QUEUE_CLASS_CLOSED, /* pods wait, in a bucket, for an event that can help */
	QUEUE_CLASS_OPEN, /* pods wait, and probes are out to find out whether it fits */
	QUEUE_CLASS_STATES,
};

/* State shared by the pods of a class. The caller's memory, from open to close. */
struct queue_class {
	struct queue_flow *flow;
	struct rank_tree waiting; /* waiting pods, by age */
	struct pl_list link;      /* in the list of its bucket, ordered by judged_event */
	/* in the list of classes to be flushed, ordered by judged_ms */
	struct pl_list flush;
	uint64_t judged_event; /* events up to this number are known not to help */
	uint64_t refused_by;   /* plugins of the last verdict */
	/* number of the last event that the verdict took into account */
	uint64_t verdict_seen;
	uint64_t judged_ms;
	uint32_t backoff_ms;     /* after judged_ms: no waiting pod is tried before */
	uint32_t pods;           /* number of pods, in any place */
	uint16_t probes;         /* pods that were woken and have not been judged yet */
	uint16_t probes_max;     /* how many probes there may be at once */
	uint8_t failures;        /* how often in a row the class was woken for nothing */
	uint8_t bucket;          /* while CLOSED: index of its bucket plus one; else 0 */
	uint8_t kind;            /* given by the caller at open */
	unsigned char level : 2; /* enum queue_level */
	unsigned char lane : 3;
	unsigned char state : 2; /* enum queue_class_state */
	bool fits : 1; /* a pod of the class was placed since the last verdict */
};

/* The queue's part of a pod. Zeroed: in no queue. */
struct queue_pod {
	struct rank_node node;
	uint64_t order_ms; /* order within its class: by age, or by time of queueing */
	uint64_t seq;      /* number in the order of adding */
	struct queue_class *class;
	uint64_t since_ms;   /* since when it is in this place */
	uint64_t seen;       /* number of the last event before its last attempt */
	uint32_t backoff_ms; /* in BACKOFF: counts from since_ms */
	uint32_t reason;     /* the caller's code for the last attempt */
	uint32_t attempts;
	uint16_t infeasible;     /* attempts that count against the budget */
	uint8_t failures;        /* attempts that count for the backoff */
	unsigned char place : 3; /* enum queue_place */
	unsigned char cause : 3; /* enum queue_cause */
	bool probe : 1;
	bool placed : 1;
};

_Static_assert(sizeof(struct queue_class) == 96 && sizeof(struct queue_pod) == 80,
               "a million of them wait");

/* When its backoff is over; only in BACKOFF. */
static inline uint64_t queue_pod_until_ms(const struct queue_pod *pod)
{
	return pod->since_ms + pod->backoff_ms;
}

#endif
