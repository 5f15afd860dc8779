/*
 * The pods that a shard has to place: in what order, when again, and what each waits for.
 *
 *	add --> ACTIVE --pop--> FLIGHT --placed, remove--> out
 *	 |        ^  ^           |  |
 *	 |  rested|  |at once    |  |refused: nothing can help but a change
 *	 |      BACKOFF <--retry-+  v
 *	 v        ^               WAITING --an event that can help--> BACKOFF or ACTIVE
 *	GATED     +-- refused, within its budget of retries
 *
 * Intrusive and pure: entries are embedded in the caller's pods, time is a parameter,
 * chance comes from the seed, and no call but queue_init and queue_class_open allocates.
 *
 * **Classes.** Pods alike in everything that scheduling reads share a class, and a
 * verdict about one of them is a verdict about all. So a class waits as a whole: an
 * event is judged once a class, and wakes one pod of it, the oldest. When that one is
 * placed two more follow, then four, and so on; when it is refused, and nothing that
 * could help happened since it was popped, the class goes on waiting. A node with room
 * for three among a million equal pods costs five attempts, not a million. Any pod
 * placed shows that its class fits, and opens it. Whoever's verdicts are its own (a pod
 * with a nomination, a gang) needs a class of its own.
 *
 * A class that was woken for nothing rests before it is woken again, longer each time,
 * and the shorter the more pods wait: as if they backed off in turn.
 *
 * **No event is lost.** An event is recorded with a number, and judged by queue_run, a
 * bounded piece at a time. A popped pod remembers the number it was popped at; when it
 * is refused, what happened since is judged first. Events older than the record has
 * room for are taken to help everybody who waits for their kind.
 *
 * **Order.** By priority then time of queueing, as kube-scheduler; or by SLA, priority,
 * age. What shares SLA and priority is a band; where it is fair, the namespaces of a
 * band take turns by weight (start-time fair queueing), and within a namespace the order
 * is the same as without. A turn is an attempt. Weights shift turns inside a band only:
 * whoever is to be served at all costs belongs in a higher band.
 *
 * **Lanes.** A class is in one of a few lanes. A lane that is shut is passed over, so
 * that what can not be tried at the moment holds up nobody, and keeps its place. Of the
 * lanes that are not, the first pods are compared by band, then by age.
 */
#ifndef SHARDSCHED_QUEUE_QUEUE_H
#define SHARDSCHED_QUEUE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shardsched/queue/entry.h"
#include "shardsched/queue/events.h"
#include "store/base/err.h"

/* May something that happened help the pods of this class? object and detail are
 * judged against the cluster as it is now. Asked only about kinds the plugin waits for.
 */
typedef bool queue_hint_fn(void *ctx, const struct queue_class *class,
                           const struct queue_event *event);

struct queue_plugin {
	const char *name;
	uint64_t events; /* QUEUE_ON(...) | ...: what can help a pod that it refused */
	queue_hint_fn *hint; /* NULL: each of them does */
};

enum queue_sort { QUEUE_BY_PRIORITY, QUEUE_BY_SLA };

enum { QUEUE_NO_BUDGET = -1, QUEUE_PLUGINS_MAX = 64, QUEUE_WEIGHT_MAX = 10000 };

struct queue_opts {
	enum queue_sort sort;
	bool fair; /* between namespaces, inside a band */
	uint64_t seed;
	uint64_t backoff_first_ms, backoff_max_ms; /* 0: 1,000 and 10,000 */
	uint32_t jitter_percent;                   /* up to so much earlier; at most 90 */
	uint64_t flush_ms;                         /* 0: 300,000 */
	/* Infeasible attempts that are retried by time before a pod is parked, to be
	 * moved by events only. QUEUE_NO_BUDGET: none is, but what waits is flushed. */
	int budget[QUEUE_LEVELS];
	uint32_t events_max; /* kept in detail; 0: 1,024 */
	const struct queue_plugin
		*plugins; /* borrowed; a mask of who refused has a bit each */
	unsigned plugins_count;
	void *hint_ctx;
	void *owner; /* whose queue it is, to be asked of its classes */
};

/* kube-scheduler's order and times; or the SLA order, with budgets 0, 1 and 3 for
 * gold, silver and bronze. Jitter is 20 %. */
struct queue_opts queue_opts_for(enum queue_sort sort);

struct queue;

PL_NODISCARD enum pl_code queue_new(const struct queue_opts *opts, struct queue **out,
                                    struct pl_err *err);
/* Classes and pods must be out of it. */
void queue_free(struct queue *queue);

/* -- classes ------------------------------------------------------------------ */

struct queue_class_opts {
	uint32_t namespace_id;
	int32_t priority;
	enum queue_level level;
	uint32_t weight; /* of the namespace, up to QUEUE_WEIGHT_MAX; 0: as it is, or 1 */
	unsigned lane;
	uint8_t kind; /* for the caller to read again */
};

/* PL_NOMEM. */
PL_NODISCARD enum pl_code queue_class_open(struct queue *queue, struct queue_class *class,
                                           const struct queue_class_opts *opts,
                                           struct pl_err *err);
/* No pod of it is in the queue. */
void queue_class_close(struct queue *queue, struct queue_class *class);

/* Of the queue that it is in. */
void *queue_class_owner(const struct queue_class *class);

/* To another lane, with its pods. PL_NOMEM: it stays where it is. */
PL_NODISCARD enum pl_code queue_class_move(struct queue *queue, struct queue_class *class,
                                           unsigned lane, struct pl_err *err);

/* Those in the mask are passed over from now on, the others are not. */
void queue_shut_lanes(struct queue *queue, unsigned mask);
unsigned queue_lanes_shut(const struct queue *queue);

/* Of a namespace, in all its bands. */
void queue_weigh(struct queue *queue, uint32_t namespace_id, uint32_t weight);

/* -- pods ---------------------------------------------------------------------- */

/* now_ms never runs backwards. created_ms: what age counts from. */
void queue_add(struct queue *queue, struct queue_pod *pod, struct queue_class *class,
               uint64_t created_ms, uint64_t now_ms);
void queue_add_gated(struct queue *queue, struct queue_pod *pod,
                     struct queue_class *class, uint64_t created_ms, uint64_t now_ms);

/* Of one queue after the other: who waits in both, is one after the other in both. */
void queue_continue(struct queue *queue, const struct queue *before);

/* What a pod keeps when it goes from a queue to the one that follows it. */
struct queue_order {
	uint64_t order_ms, seq;
};

static inline struct queue_order queue_order_of(const struct queue_pod *pod)
{
	return (struct queue_order){pod->order_ms, pod->seq};
}

/* One that was in the queue before: where it would be, had it been here all along. */
void queue_add_ordered(struct queue *queue, struct queue_pod *pod,
                       struct queue_class *class, const struct queue_order *turn,
                       bool gated, uint64_t created_ms, uint64_t now_ms);

/* From whatever place; no place will do. */
void queue_remove(struct queue *queue, struct queue_pod *pod, uint64_t now_ms);

/* Its spec changed, and so, perhaps, its class: it starts anew, keeping its age. An
 * attempt in flight is void, and its outcome must not be told. */
void queue_edit(struct queue *queue, struct queue_pod *pod, struct queue_class *class,
                bool gated, uint64_t now_ms);

/* The next one, now in FLIGHT; NULL: none is active, or only such as were woken for a
 * class that has meanwhile turned out not to fit, and now wait again. */
struct queue_pod *queue_pop(struct queue *queue, uint64_t now_ms);

/* As if it had not been popped: no attempt was made. */
void queue_put_back(struct queue *queue, struct queue_pod *pod, uint64_t now_ms);

/* The first that is active, in a lane that is not shut. */
struct queue_pod *queue_peek(const struct queue *queue);

/* What became of an attempt, for a pod in FLIGHT. */

/* A node was found and is assumed; the pod stays in FLIGHT until the commit is known:
 * then queue_remove, or queue_retry. */
void queue_placed(struct queue *queue, struct queue_pod *pod, uint64_t now_ms);

/* No node: refused by these plugins. 0: there was none that anybody could refuse; any
 * event helps. reason is for people. */
void queue_refuse(struct queue *queue, struct queue_pod *pod, uint64_t plugins,
                  uint32_t reason, uint64_t now_ms);

/* A conflict, a fault, or a nomination: costs no budget. after_backoff: not at once. Room
 * that was assumed and is free again is an event like any other, for the caller to
 * tell. */
void queue_retry(struct queue *queue, struct queue_pod *pod, enum queue_cause cause,
                 bool after_backoff, uint32_t reason, uint64_t now_ms);

/* Likewise, but something that the caller knows of is to come first, then he calls
 * queue_activate; or so long has passed. No attempt was made, and none the worse. */
void queue_defer(struct queue *queue, struct queue_pod *pod, uint64_t backoff_ms,
                 uint64_t now_ms);

/* To ACTIVE from BACKOFF or WAITING, because the caller knows better. */
void queue_activate(struct queue *queue, struct queue_pod *pod, uint64_t now_ms);

/* -- what happens -------------------------------------------------------------- */

/* O(1); queue_run judges it. */
void queue_event(struct queue *queue, const struct queue_event *event);

enum { QUEUE_RUN_MAX = 1024 };

/* Moves what is due and judges events, at most QUEUE_RUN_MAX moves and verdicts of
 * each kind a call: when more is left the deadline has passed already. */
void queue_run(struct queue *queue, uint64_t now_ms);

/* When to call queue_run. UINT64_MAX: only after an event. */
uint64_t queue_deadline_ms(const struct queue *queue);

/* -- questions ------------------------------------------------------------------ */

struct queue_where {
	enum queue_place place;
	/* ACTIVE: pops of its lane before its own, if nothing arrives. BACKOFF: by time.
	 * WAITING: those of its class before it. GATED: by arrival. */
	uint32_t position, of;
	bool parked; /* only events will move it */
};

/* O(log n); in a fair band also O(namespaces with active pods). */
struct queue_where queue_where(const struct queue *queue, const struct queue_pod *pod);

struct queue_stats {
	uint32_t pods[QUEUE_PLACES];
	uint32_t classes, classes_waiting;
	uint64_t events, attempts, woken, helped_in_flight, flushed, recalled;
};

void queue_stats(const struct queue *queue, struct queue_stats *out);
const char *queue_place_name(enum queue_place place);
const char *queue_cause_name(enum queue_cause cause);
const char *queue_level_name(enum queue_level level);

/* Asserts every invariant; for tests: O(n). */
void queue_check(const struct queue *queue);
void queue_check_class(const struct queue *queue, const struct queue_class *class);

#endif
