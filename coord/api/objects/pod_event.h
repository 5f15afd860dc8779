/*
 * An event that follows from a pod's state, so that it is told without being stored.
 *
 *	state                             event
 *	on a node, or ended on one        Scheduled         Successfully assigned ns/pod to n-1
 *	Pending with a reason of a cycle  FailedScheduling  0/5 nodes are available: ...
 *	Pending, nominated                Nominated
 *	Terminating, displaced            Preempted
 *	Terminating, to be placed again   Evicted
 *
 * Invariants:
 *  - A pod has at most one event of each kind. Its name is the pod's with a hash of the
 *    pod's uid and the kind (of Scheduled also the node): it stays the same while the pod
 *    waits, whatever the message and the count.
 *  - Its resourceVersion is that of the state, so it changes when the state does.
 *  - It lasts as long as what it tells. What was before the present state is forgotten.
 */
#ifndef COORD_API_OBJECTS_POD_EVENT_H
#define COORD_API_OBJECTS_POD_EVENT_H

#include "coord/api/objects/sources.h"
#include "shardsched/expand/stable_uid.h"

/* X(KIND, reason, type, action) */
#define POD_EVENT_MAP(X)                                       \
	X(SCHEDULED, "Scheduled", "Normal", "Binding")         \
	X(FAILED, "FailedScheduling", "Warning", "Scheduling") \
	X(NOMINATED, "Nominated", "Normal", "Preempting")      \
	X(PREEMPTED, "Preempted", "Normal", "Preempting")      \
	X(EVICTED, "Evicted", "Warning", "Evicting")

#define POD_EVENT_ENUM(kind, reason, type, action) POD_EVENT_##kind,
enum pod_event_kind { POD_EVENT_MAP(POD_EVENT_ENUM) POD_EVENT_KINDS };

enum { POD_EVENT_NAME_SIZE = 253 + 1 + STABLE_UID_WORD_SIZE };

struct pod_event {
	enum pod_event_kind kind;
	struct object pod;  /* borrows */
	char uid[UID_SIZE]; /* of the pod */
	char name[POD_EVENT_NAME_SIZE];
	size_t name_len;
	size_t order_len;
	char order[SOURCE_ORDER_MAX]; /* where it stands in a list; set by its walk */
};

/* The events that the pod has, a bit for each kind. */
unsigned pod_event_kinds(const struct object *pod);
/* False: the pod has no such event. */
bool pod_event_make(const struct object *pod, enum pod_event_kind kind,
                    struct pod_event *out);
/* The event as an object of one of the two resources of events; borrows both. */
struct object pod_event_object(const struct schema_resource *resource,
                               const struct pod_event *event);
/* Whether both are the same event and say the same. */
bool pod_event_same(const struct pod_event *a, const struct pod_event *b);

/* Tells the events that a change of a pod creates, changes and deletes, as changes of
 * core/v1 Events. */
void pod_event_changes(const struct source_change *change,
                       void (*changed)(void *ctx, const struct source_change *change),
                       void *ctx);

/* The value of a field for a selector, by the names of either resource; at NULL: it has no
 * such field. */
struct pl_span pod_event_field(const struct pod_event *event, struct pl_span path,
                               char out[MEMBER_NAME_SIZE]);

/* kube-scheduler's sentence from the message of a state: "12 nodes: Insufficient cpu; 1
 * node: node(s) had ..." becomes "0/13 nodes are available: 1 node(s) had ..., 12
 * Insufficient cpu.". Another message stays as it is. JSON escapes are kept. */
PL_NODISCARD enum pl_code pod_event_sentence(struct pl_span message, struct pl_buf *out);

/* Whether the resource is one of the two that show events. */
bool resource_is_events(const struct schema_resource *resource);

#endif
