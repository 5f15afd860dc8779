/*
 * Internals of the queue, shared by its files: queue.c moves pods between places for the
 * caller, active.c orders the pods to be tried, wait.c knows what the waiting ones wait
 * for.
 */
#ifndef SHARDSCHED_QUEUE_QUEUE_INT_H
#define SHARDSCHED_QUEUE_QUEUE_INT_H

#include "shardsched/queue/queue.h"
#include "store/base/map.h"
#include "store/base/rng.h"

/* The flows of one SLA and priority. A band lives as long as it has flows. */
struct queue_band {
	/* in active.bands; weighs as many as the band has active pods */
	struct rank_node node;
	enum queue_level level;
	int32_t priority;
	uint32_t flows;         /* number of flows, idle ones included */
	struct rank_tree turns; /* flows with active pods, by turn */
	uint64_t clock;         /* virtual time: the turn served last */
};

struct queue_flow_key {
	int32_t priority;
	uint32_t level;
	uint32_t namespace_id; /* 0 when bands are not fair */
};

/* The pods of a namespace in a band. A flow lives as long as classes refer to it. */
struct queue_flow {
	struct pl_map_node by_key;
	struct queue_flow_key key;
	struct queue_band *band;
	struct rank_node turn_node;
	struct rank_tree pods;
	uint64_t turn; /* virtual time at which its first pod is served */
	uint64_t cost; /* of a turn: a flow with a lower cost is served more often */
	uint32_t classes;
	void *owner; /* opts.owner of the queue */
};

struct queue_active {
	enum queue_sort sort;
	bool fair;
	struct rank_tree bands;
	/* orders: of the bands; of the flows of a band; of the pods of a flow */
	struct rank_kind by_band, by_turn, by_age;
	struct pl_map flows;
};

/* Classes that wait for the same kinds of events. */
struct queue_bucket {
	uint64_t helps;
	uint64_t latest;        /* number of the latest event of such a kind */
	struct pl_list classes; /* ordered by judged_event */
	uint32_t count;
};

enum { QUEUE_BUCKETS = 64 };

struct queue {
	struct queue_opts opts;
	struct pl_rng rng;
	uint64_t now_ms, seq;
	struct queue_active active[QUEUE_LANES];
	unsigned shut; /* mask of the lanes that are shut */
	struct rank_tree backoff, gated;
	/* orders: of backoff, of gated, of the waiting pods of a class */
	struct rank_kind by_due, by_seq, by_wait;
	uint32_t waiting, in_flight, classes, classes_waiting;

	struct queue_event *events; /* ring: event n is at n % events_max */
	uint64_t event;             /* number of the last event; the first is 1 */
	uint64_t last[QUEUE_EVENT_KINDS];
	struct queue_bucket
		/* the last bucket takes classes that find no other */
		buckets[QUEUE_BUCKETS];
	struct pl_list flush; /* CLOSED classes without a budget */
	uint64_t attempts, woken, helped_in_flight, flushed, recalled;
	enum queue_arrival arrival; /* of the pods that enter a place next */
	uint64_t arrived[QUEUE_PLACES][QUEUE_ARRIVALS];
};

static inline struct queue_pod *queue_pod_of(struct rank_node *node)
{
	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct queue_pod, node);
}

static inline struct queue_active *queue_lane_of(struct queue *queue,
                                                 const struct queue_class *class)
{
	return &queue->active[class->lane];
}

static inline bool queue_has_budget(const struct queue *queue,
                                    const struct queue_class *class)
{
	return queue->opts.budget[class->level] != QUEUE_NO_BUDGET;
}

/* -- active.c ---------------------------------------------------------------------------- */
void active_init(struct queue_active *active, enum queue_sort sort, bool fair);
void active_done(struct queue_active *active);
PL_NODISCARD enum pl_code active_open(struct queue_active *active,
                                      const struct queue_class_opts *opts,
                                      struct queue_flow **out, struct pl_err *err);
void active_close(struct queue_active *active, struct queue_flow *flow);
void active_weigh(struct queue_active *active, uint32_t namespace_id, uint32_t weight);
void active_add(struct queue_active *active, struct queue_pod *pod);
void active_del(struct queue_active *active, struct queue_pod *pod);
struct queue_pod *active_first(const struct queue_active *active);
/* Compares the first pods of two lanes: by band, then by age. */
bool active_before(const struct queue_pod *a, const struct queue_pod *b);
/* Moves the class's pods from one flow to another, of another lane. */
void active_move(struct queue_active *lane, struct queue_active *to_lane,
                 const struct queue_class *class, struct queue_flow *from,
                 struct queue_flow *to);
/* Takes active_first out and charges its namespace for a turn. */
void active_take(struct queue_active *active, struct queue_pod *pod);
uint32_t active_position(const struct queue_active *active, const struct queue_pod *pod);
void active_check(const struct queue_active *active);

/* -- wait.c ------------------------------------------------------------------------------ */
void wait_init(struct queue *queue);
void wait_class_init(struct queue_class *class);
/* Whether an event after that number can help a pod that these plugins refused. */
bool wait_helped(const struct queue *queue, const struct queue_class *class,
                 uint64_t plugins, uint64_t after);
/* A verdict on the class of the pod: it was refused, and no later event helps. The pod is
 * in no place; park: the pod will wait. */
void wait_judge(struct queue *queue, const struct queue_pod *pod, uint64_t plugins,
                bool park);
/* The kinds of events that these plugins wait for. */
uint64_t wait_helps(const struct queue *queue, uint64_t plugins);
void wait_add(struct queue *queue, struct queue_pod *pod);
void wait_del(struct queue *queue, struct queue_pod *pod);
/* The class may fit: wakes as many probes as it may have. */
void wait_open(struct queue *queue, struct queue_class *class);
/* The pod is a probe no longer; true if it was one. */
bool wait_end_probe(struct queue_pod *pod);
/* Whether the pod is a probe of a class that is known to be refused by now. */
bool wait_is_futile(const struct queue *queue, const struct queue_pod *pod);
/* A pod of the class was placed. */
void wait_fits(struct queue *queue, struct queue_class *class, bool probe);
void wait_event(struct queue *queue, const struct queue_event *event);
void wait_run(struct queue *queue);
uint64_t wait_deadline_ms(const struct queue *queue);

/* -- queue.c ----------------------------------------------------------------------------- */
/* Moves a pod that is in no place to ACTIVE, or to BACKOFF until until_ms. */
void queue_send(struct queue *queue, struct queue_pod *pod, uint64_t until_ms);
/* A random backoff after so many failures. */
uint64_t queue_backoff_ms(struct queue *queue, uint32_t failures);

#endif
