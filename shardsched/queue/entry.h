/*
 * What is embedded in the caller's pods and classes. To be read by anybody, and written
 * by the queue only (queue.h).
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
	QUEUE_WAITING, /* unschedulable, or parked when its budget is used up */
	QUEUE_GATED,
	QUEUE_IN_FLIGHT, /* popped; its attempt is the caller's */
	QUEUE_PLACES,
};

/* Why a pod is where it is. */
enum queue_cause {
	QUEUE_NEW, /* no attempt yet, or edited since */
	QUEUE_REFUSED,
	QUEUE_FAULT, /* the attempt failed, which says nothing about the pod */
	QUEUE_CONFLICT,
	QUEUE_NOMINATED, /* room is being made for this one, not for its class */
	QUEUE_CAUSES,
};

/* What a class waits for; wait.c has the transitions. */
enum queue_class_state {
	QUEUE_CLASS_EMPTY,  /* no pod of it waits */
	QUEUE_CLASS_CLOSED, /* pods wait, in a bucket, for an event that can help */
	QUEUE_CLASS_OPEN, /* pods wait, and probes are out to find out whether it fits */
	QUEUE_CLASS_STATES,
};

/* Shared by the pods of a class. The caller's memory, from open to close. */
struct queue_class {
	struct queue_flow *flow;
	struct rank_tree waiting; /* by age */
	struct pl_list link;      /* of the bucket; by heard */
	struct pl_list flush;     /* by judged_ms */
	uint64_t judged_event;    /* events up to here can not help */
	uint64_t refused_by;      /* the verdict */
	uint64_t verdict_seen;    /* the event up to which it had seen the cluster */
	uint64_t judged_ms;
	uint32_t backoff_ms;     /* after that: no attempt of those waiting before */
	uint32_t pods;           /* in any place */
	uint16_t probes;         /* woken, and not heard from yet */
	uint16_t probes_max;     /* how many scouts there may be */
	uint8_t failures;        /* times in a row that it was woken for nothing */
	uint8_t bucket;          /* waiting and closed: its number and one */
	uint8_t kind;            /* the caller's, as it was opened with */
	unsigned char level : 2; /* enum queue_level */
	unsigned char lane : 3;
	unsigned char state : 2; /* enum queue_class_state */
	bool fits : 1;           /* a pod was placed since the last verdict */
};

/* A pod. Zeroed: in no queue. */
struct queue_pod {
	struct rank_node node;
	uint64_t order_ms; /* within its class: age, or time of queueing */
	uint64_t seq;      /* of adding */
	struct queue_class *class;
	uint64_t since_ms;   /* in this place */
	uint64_t seen;       /* events up to here were before its last attempt */
	uint32_t backoff_ms; /* BACKOFF: from then on */
	uint32_t reason;     /* the caller's code, of the last attempt */
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

/* BACKOFF: when it is over. */
static inline uint64_t queue_pod_until_ms(const struct queue_pod *pod)
{
	return pod->since_ms + pod->backoff_ms;
}

#endif
