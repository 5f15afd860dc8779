/*
 * The queue has the pending pods of a shard: in which order they are tried, when a pod is
 * tried again, and what each waits for.
 *
 *	add --> ACTIVE --pop--> IN_FLIGHT --placed, remove--> out
 *	 |        ^  ^           |  |
 *	 |  timer |  |at once    |  | refused, retries used up
 *	 |      BACKOFF <--retry-+  v
 *	 v        ^               WAITING --an event that can help--> BACKOFF or ACTIVE
 *	GATED     +-- refused, within its budget of retries
 *
 * Intrusive and pure: entries are embedded in the caller's pods, time is a parameter,
 * chance comes from a seed, and only queue_new, queue_class_open and queue_class_move
 * allocate.
 *
 * **Classes.** Pods that are equal in everything that scheduling reads share a class, and
 * a verdict about one of them is a verdict about all. So a class waits as a whole: an
 * event is judged once for the class and wakes one pod of it, the oldest, as a *probe*.
 * When the probe is placed, two more follow, then four, and so on; when it is refused,
 * and no event that could help happened since it was popped, the class waits on. A node
 * with room for three of a million equal pods costs five attempts. Any pod that is placed
 * shows that its class fits, and opens the class. A pod whose verdicts are its own (one
 * with a nomination, a gang) needs a class of its own.
 *
 * A class that was woken for nothing backs off before it is woken again: longer each
 * time, and shorter the more pods wait, as if these backed off in turn.
 *
 * **No event is lost.** An event gets a number and is judged by queue_run, a bounded
 * number at a time. A popped pod remembers the number of the last event; when the pod is
 * refused, later events are judged first. Only so many events are kept in detail; older
 * ones are taken to help every class that waits for their kind.
 *
 * **Order.** By priority and time of queueing, as kube-scheduler; or by SLA, priority and
 * age. Pods of one SLA and priority are a band. In a fair band the namespaces take turns
 * by weight (start-time fair queueing); within a namespace the order stays the same. A
 * turn is an attempt. Weights shift turns inside a band only; a band comes before the
 * next one without exception.
 *
 * **Lanes.** A class is in one of a few lanes. A lane that is shut is passed over: its
 * pods keep their places and delay no other lane. The first pods of the other lanes are
 * compared by band, then by age.
 */
#ifndef SHARDSCHED_QUEUE_QUEUE_H
#define SHARDSCHED_QUEUE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shardsched/queue/entry.h"
#include "shardsched/queue/events.h"
#include "store/base/err.h"

/* Whether the event may help the pods of the class. object and detail are judged against
 * the cluster as it is now. Called only for kinds that the plugin waits for. */
typedef bool queue_hint_fn(void *ctx, const struct queue_class *class,
                           const struct queue_event *event);

struct queue_plugin {
	const char *name;
	/* QUEUE_ON(...) | ...: events that can help a pod that the plugin refused */
	uint64_t events;
	queue_hint_fn *hint; /* NULL: each of these events may help */
};

enum queue_sort { QUEUE_BY_PRIORITY, QUEUE_BY_SLA };

enum { QUEUE_NO_BUDGET = -1, QUEUE_PLUGINS_MAX = 64, QUEUE_WEIGHT_MAX = 10000 };

struct queue_opts {
	enum queue_sort sort;
	bool fair; /* whether the namespaces of a band take turns */
	uint64_t seed;
	uint64_t backoff_first_ms, backoff_max_ms; /* 0: 1,000 and 10,000 */
	uint32_t jitter_percent; /* how much earlier a backoff may end; at most 90 */
	uint64_t flush_ms;       /* 0: 300,000 */
	/* By level: refusals that are retried after a backoff before the pod is parked,
	 * to be moved by events only. QUEUE_NO_BUDGET: no refusal is, but waiting pods
	 * are tried every flush_ms. */
	int budget[QUEUE_LEVELS];
	uint32_t events_max; /* how many events are kept in detail; 0: 1,024 */
	const struct queue_plugin
		*plugins; /* borrowed; bit i in a mask of plugins is plugins[i] */
	unsigned plugins_count;
	void *hint_ctx;
	void *owner; /* given back by queue_class_owner */
};

/* Order and times of kube-scheduler; or the SLA order, with budgets of 0, 1 and 3 for
 * gold, silver and bronze. Jitter is 20 %. */
struct queue_opts queue_opts_for(enum queue_sort sort);

struct queue;

PL_NODISCARD enum pl_code queue_new(const struct queue_opts *opts, struct queue **out,
                                    struct pl_err *err);
/* All classes and pods must be out of the queue. */
void queue_free(struct queue *queue);

/* -- classes ----------------------------------------------------------------------------- */

struct queue_class_opts {
	uint32_t namespace_id;
	int32_t priority;
	enum queue_level level;
	/* weight of the namespace, up to QUEUE_WEIGHT_MAX; 0: unchanged, or 1 */
	uint32_t weight;
	unsigned lane;
	uint8_t kind; /* for the caller: stored in the class */
};

/* Only fails with PL_NOMEM. */
PL_NODISCARD enum pl_code queue_class_open(struct queue *queue, struct queue_class *class,
                                           const struct queue_class_opts *opts,
                                           struct pl_err *err);
/* No pod of the class may be in the queue. */
void queue_class_close(struct queue *queue, struct queue_class *class);

/* opts.owner of the queue that the class is in. */
void *queue_class_owner(const struct queue_class *class);

/* Moves the class to another lane, with its pods. PL_NOMEM: the class stays where it
 * is. */
PL_NODISCARD enum pl_code queue_class_move(struct queue *queue, struct queue_class *class,
                                           unsigned lane, struct pl_err *err);

/* The lanes in the mask are shut from now on, the others are open. */
void queue_shut_lanes(struct queue *queue, unsigned mask);
unsigned queue_lanes_shut(const struct queue *queue);

/* Sets the weight of a namespace in all its bands. */
void queue_weigh(struct queue *queue, uint32_t namespace_id, uint32_t weight);

/* -- pods -------------------------------------------------------------------------------- */

/* now_ms never goes back. created_ms: what the pod's age counts from. */
void queue_add(struct queue *queue, struct queue_pod *pod, struct queue_class *class,
               uint64_t created_ms, uint64_t now_ms);
void queue_add_gated(struct queue *queue, struct queue_pod *pod,
                     struct queue_class *class, uint64_t created_ms, uint64_t now_ms);

/* For two queues of which one replaces the other: pods that wait in both keep their
 * order. */
void queue_continue(struct queue *queue, const struct queue *before);

/* The part of a pod's state that moves with it to the queue that replaces its own. */
struct queue_order {
	uint64_t order_ms, seq;
};

static inline struct queue_order queue_order_of(const struct queue_pod *pod)
{
	return (struct queue_order){pod->order_ms, pod->seq};
}

/* Adds a pod that was in the replaced queue, in the place that it would have had here. */
void queue_add_ordered(struct queue *queue, struct queue_pod *pod,
                       struct queue_class *class, const struct queue_order *turn,
                       bool gated, uint64_t created_ms, uint64_t now_ms);

/* From any place; does nothing if the pod is in no queue. */
void queue_remove(struct queue *queue, struct queue_pod *pod, uint64_t now_ms);

/* The pod's spec changed, and perhaps its class: the pod starts anew but keeps its age.
 * The outcome of an attempt in flight must not be reported. */
void queue_edit(struct queue *queue, struct queue_pod *pod, struct queue_class *class,
                bool gated, uint64_t now_ms);

/* Returns the next pod, now IN_FLIGHT. NULL: no pod is active, or only probes of a class
 * that turned out not to fit, which wait again now. */
struct queue_pod *queue_pop(struct queue *queue, uint64_t now_ms);

/* Undoes queue_pop: no attempt was made. */
void queue_put_back(struct queue *queue, struct queue_pod *pod, uint64_t now_ms);

/* The first active pod of the open lanes; NULL: there is none. */
struct queue_pod *queue_peek(const struct queue *queue);

/* The outcome of an attempt, for a pod that is IN_FLIGHT. */

/* A node was found and is assumed. The pod stays IN_FLIGHT until the commit is known;
 * then the caller calls queue_remove or queue_retry. */
void queue_placed(struct queue *queue, struct queue_pod *pod, uint64_t now_ms);

/* No node fits: these plugins refused. 0: there was no node to refuse, so any event
 * helps. reason is for people. */
void queue_refuse(struct queue *queue, struct queue_pod *pod, uint64_t plugins,
                  uint32_t reason, uint64_t now_ms);

/* A conflict, a fault, or a nomination: it costs no budget. after_backoff: not at once.
 * The caller sends an event for assumed room that is free again. */
void queue_retry(struct queue *queue, struct queue_pod *pod, enum queue_cause cause,
                 bool after_backoff, uint32_t reason, uint64_t now_ms);

/* As queue_retry, but the pod waits for something that the caller knows of, and then
 * calls queue_activate, or for rest_ms. It does not count as an attempt. */
void queue_defer(struct queue *queue, struct queue_pod *pod, uint64_t backoff_ms,
                 uint64_t now_ms);

/* From BACKOFF or WAITING to ACTIVE at once. */
void queue_activate(struct queue *queue, struct queue_pod *pod, uint64_t now_ms);

/* -- events and time --------------------------------------------------------------------- */

/* O(1); queue_run judges the event. */
void queue_event(struct queue *queue, const struct queue_event *event);

enum { QUEUE_RUN_MAX = 1024 };

/* Moves pods whose time has come and judges events, at most QUEUE_RUN_MAX of each. When
 * more is left, queue_deadline_ms is in the past. */
void queue_run(struct queue *queue, uint64_t now_ms);

/* When to call queue_run again. UINT64_MAX: only after an event. */
uint64_t queue_deadline_ms(const struct queue *queue);

/* -- questions --------------------------------------------------------------------------- */

struct queue_where {
	enum queue_place place;
	/* ACTIVE: how many pods of its lane are popped before it, if no other pod
	 * arrives. BACKOFF: by time. WAITING: among its class. GATED: by arrival. */
	uint32_t position, of;
	bool parked; /* only an event will move it */
};

/* O(log n); in a fair band also O(namespaces with active pods). */
struct queue_where queue_where(const struct queue *queue, const struct queue_pod *pod);

/* X(ARRIVAL, word): why a pod came to its place. The words are kube-scheduler's. */
#define QUEUE_ARRIVAL_MAP(X)                \
	X(ADDED, "PodAdd")                  \
	X(EDITED, "PodUpdate")              \
	X(FAILED, "ScheduleAttemptFailure") \
	X(BACKED_OFF, "BackoffComplete")    \
	X(WOKEN, "ClusterEvent")            \
	X(ACTIVATED, "ForceActivate")       \
	X(PUT_BACK, "PutBack") /* no attempt was made */

#define QUEUE_ARRIVAL_ENUM(arrival, word) QUEUE_ARRIVAL_##arrival,
enum queue_arrival { QUEUE_ARRIVAL_MAP(QUEUE_ARRIVAL_ENUM) QUEUE_ARRIVALS };

/* The counts go on in a queue that replaces another one (queue_continue). */
struct queue_stats {
	uint32_t pods[QUEUE_PLACES];
	uint64_t arrived[QUEUE_PLACES][QUEUE_ARRIVALS];
	uint32_t classes, classes_waiting;
	uint64_t events, attempts, woken, helped_in_flight, flushed, recalled;
};

void queue_stats(const struct queue *queue, struct queue_stats *out);
const char *queue_place_name(enum queue_place place);
const char *queue_arrival_name(enum queue_arrival arrival);
const char *queue_cause_name(enum queue_cause cause);
const char *queue_level_name(enum queue_level level);

/* Asserts all invariants, in O(n); for tests. */
void queue_check(const struct queue *queue);
void queue_check_class(const struct queue *queue, const struct queue_class *class);

#endif
