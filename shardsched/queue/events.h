/*
 * A queue event is something that happened in a cluster and may help a pod that was
 * refused. Plugins name the kinds of events that they wait for.
 */
#ifndef SHARDSCHED_QUEUE_EVENTS_H
#define SHARDSCHED_QUEUE_EVENTS_H

#include <stdint.h>

/* X(kind, name): at most 64 kinds. docs/scheduling.md, "What helps a waiting pod", says
 * which event is sent when, with which object and detail. */
#define QUEUE_EVENT_MAP(X)                                                               \
	/* helps every pod: the configuration changed, or the store was restored */      \
	X(ANY, "anything")                                                               \
	X(NODE_ADDED, "node added")                                                      \
	X(NODE_REMOVED, "node removed") /* one topology domain less to spread over */    \
	X(NODE_ALLOCATABLE, "node's allocatable changed")                                \
	X(NODE_LABELS, "node's labels changed")                                          \
	X(NODE_TAINTS, "node's taints changed") /* or it was cordoned or uncordoned */   \
	X(NODE_IMAGES, "node's images changed")                                          \
	X(POD_ADDED, "pod placed")                                                       \
	X(POD_LABELS, "placed pod's labels changed") /* or the pod is terminating */     \
	X(POD_REMOVED, "pod gone from its node")     /* and what it held was returned */ \
	X(PVC_ADDED, "claim added")                                                      \
	X(PVC_CHANGED, "claim changed")                                                  \
	X(PV_ADDED, "volume added")                                                      \
	X(PV_CHANGED, "volume changed")                                                  \
	X(STORAGE_CLASS, "storage class added or changed")                               \
	X(CSI_NODE, "CSI node added or changed")                                         \
	X(CSI_DRIVER, "CSI driver added or changed")                                     \
	X(CSI_CAPACITY, "CSI capacity changed")                                          \
	X(NAMESPACE_LABELS, "namespace's labels changed")                                \
	X(WORKLOAD, "service or controller changed") /* for default spreading */         \
	X(BUDGET, "disruption budget changed")                                           \
	X(RULE_COUNTS, "counts of another shard changed")                                \
	X(DIGEST, "capacity of another shard changed")                                   \
	X(GANG, "member of the gang arrived")

#define QUEUE_EVENT_ENUM(kind, name) QUEUE_EV_##kind,
enum queue_event_kind { QUEUE_EVENT_MAP(QUEUE_EVENT_ENUM) QUEUE_EVENT_KINDS };

#define QUEUE_ON(kind) (UINT64_C(1) << QUEUE_EV_##kind)
/* Events about pods on nodes. */
#define QUEUE_ON_PODS (QUEUE_ON(POD_ADDED) | QUEUE_ON(POD_REMOVED) | QUEUE_ON(POD_LABELS))

_Static_assert(QUEUE_EVENT_KINDS <= 64, "kinds are kept in masks of 64 bits");

/* A plain value. It is kept for a while and judged later, so it names things by numbers
 * that stay valid (an interned name, a slot), never by pointers. */
struct queue_event {
	enum queue_event_kind kind;
	uint64_t object; /* the slot of a node, the name of a claim, ... */
	/* the meaning is agreed between the sender and the plugins' hints */
	uint64_t detail;
};

const char *queue_event_name(enum queue_event_kind kind);

#endif
