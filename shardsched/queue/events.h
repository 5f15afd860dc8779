/*
 * What can happen in a cluster that may help a pod which was refused: the words in
 * which a plugin says what it waits for.
 */
#ifndef SHARDSCHED_QUEUE_EVENTS_H
#define SHARDSCHED_QUEUE_EVENTS_H

#include <stdint.h>

/* Who tells what, with which object and detail: docs/scheduling.md, "What helps those who
 * wait". One list, so that a kind can not exist without its name. At most 64.
 * X(kind, name) */
#define QUEUE_EVENT_MAP(X)                                                                 \
	/* Helps everybody, unasked: the configuration changed, the store was restored.  \
	 */ \
	X(ANY, "anything")                                                                 \
	X(NODE_ADDED, "node added")                                                        \
	X(NODE_REMOVED, "node removed") /* a topology domain less to be spread over */     \
	X(NODE_ALLOCATABLE, "node's allocatable changed")                                  \
	X(NODE_LABELS, "node's labels changed")                                            \
	X(NODE_TAINTS, "node's taints changed") /* and unschedulable */                    \
	X(NODE_IMAGES, "node's images changed")                                            \
	X(POD_ADDED, "pod placed")                                                         \
	X(POD_LABELS, "placed pod's labels changed") /* or it terminates */                \
	X(POD_REMOVED, "pod gone from its node")     /* and whatever it held returned */   \
	X(PVC_ADDED, "claim added")                                                        \
	X(PVC_CHANGED, "claim changed")                                                    \
	X(PV_ADDED, "volume added")                                                        \
	X(PV_CHANGED, "volume changed")                                                    \
	X(STORAGE_CLASS, "storage class added or changed")                                 \
	X(CSI_NODE, "CSI node added or changed")                                           \
	X(CSI_DRIVER, "CSI driver added or changed")                                       \
	X(CSI_CAPACITY, "CSI capacity changed")                                            \
	X(NAMESPACE_LABELS, "namespace's labels changed")                                  \
	X(WORKLOAD, "service or controller changed") /* default spreading */               \
	X(BUDGET, "disruption budget changed")                                             \
	X(RULE_COUNTS, "counts of another shard changed")                                  \
	X(DIGEST, "capacity of another shard changed")                                     \
	X(GANG, "member of the gang arrived")

#define QUEUE_EVENT_ENUM(kind, name) QUEUE_EV_##kind,
enum queue_event_kind { QUEUE_EVENT_MAP(QUEUE_EVENT_ENUM) QUEUE_EVENT_KINDS };

#define QUEUE_ON(kind) (UINT64_C(1) << QUEUE_EV_##kind)

_Static_assert(QUEUE_EVENT_KINDS <= 64, "kinds are kept in masks of 64 bits");

/* A plain value: it is kept for a while and judged later, so it names things by
 * numbers that stay valid (an interned name, a slot), never by pointers. */
struct queue_event {
	enum queue_event_kind kind;
	uint64_t object; /* of nodes their slot; the claim, ... */
	uint64_t detail; /* what the plugins' hints agree on with whoever tells */
};

const char *queue_event_name(enum queue_event_kind kind);

#endif
