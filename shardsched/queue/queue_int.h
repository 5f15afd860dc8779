/*
 * What the files of the queue share. queue.c moves pods between places on the
 * caller's behalf; active.c orders what is to be tried; wait.c knows what the others
 * wait for.
 */
#ifndef SHARDSCHED_QUEUE_QUEUE_INT_H
#define SHARDSCHED_QUEUE_QUEUE_INT_H

#include "shardsched/queue/queue.h"
#include "store/base/map.h"
#include "store/base/rng.h"

/* What shares SLA and priority. Lives as long as it has flows. */
struct queue_band {
	struct rank_node node; /* of active.bands; its weight is count */
	enum queue_level level;
	int32_t priority;
	uint32_t flows;         /* all of them */
	struct rank_tree turns; /* flows with pods, by their turn */
	uint64_t clock;         /* virtual time: the turn last served */
};

struct queue_flow_key {
	int32_t priority;
	uint32_t level;
	uint32_t namespace_id; /* 0 when bands are not fair */
};

/* A namespace's pods in a band. Lives as long as classes refer to it. */
struct queue_flow {
	struct pl_map_node by_key;
	struct queue_flow_key key;
	struct queue_band *band;
	struct rank_node turn_node;
	struct rank_tree pods;
	uint64_t turn; /* virtual time at which its first pod is served */
	uint64_t cost; /* of a turn: the less, the more often */
	uint32_t classes;
	void *owner; /* the queue's */
};

struct queue_active {
	enum queue_sort sort;
	bool fair;
	struct rank_tree bands;
	struct rank_kind by_band, by_turn, by_age; /* bands; flows of one, pods of one */
	struct pl_map flows;
};

/* Classes that wait for the same kinds of events. */
struct queue_bucket {
	uint64_t helps;
	uint64_t latest;        /* event of such a kind */
	struct pl_list classes; /* the one that has heard least first */
	uint32_t count;
};

enum { QUEUE_BUCKETS = 64 };

struct queue {
	struct queue_opts opts;
	struct pl_rng rng;
	uint64_t now_ms, seq;
	struct queue_active active[QUEUE_LANES];
	unsigned shut; /* lanes, as a mask */
	struct rank_tree backoff, gated;
	struct rank_kind by_due, by_seq, by_wait; /* these two; those of a class */
	uint32_t waiting, in_flight, classes, classes_waiting;

	struct queue_event *events; /* the last ones; number n at n % events_max */
	uint64_t event;             /* number of the last one; the first is 1 */
	uint64_t last[QUEUE_EVENT_KINDS];
	struct queue_bucket
		buckets[QUEUE_BUCKETS]; /* the last takes what finds no room */
	struct pl_list flush;           /* classes without a budget */
	uint64_t attempts, woken, helped_in_flight, flushed, recalled;
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

/* -- active.c -- */
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
/* Of two lanes: by band, then by age. */
bool active_before(const struct queue_pod *a, const struct queue_pod *b);
/* The class's pods from the one flow to the other, of another lane. */
void active_move(struct queue_active *lane, struct queue_active *to_lane,
                 const struct queue_class *class, struct queue_flow *from,
                 struct queue_flow *to);
/* Takes active_first out and charges its namespace. */
void active_take(struct queue_active *active, struct queue_pod *pod);
uint32_t active_position(const struct queue_active *active, const struct queue_pod *pod);
void active_check(const struct queue_active *active);

/* -- wait.c -- */
void wait_init(struct queue *queue);
void wait_class_init(struct queue_class *class);
/* Can what happened after that event help a pod that these plugins refused? */
bool wait_helped(const struct queue *queue, const struct queue_class *class,
                 uint64_t plugins, uint64_t after);
/* The pod, of no place now, was refused and what happened since does not help: a
 * verdict on its class. parks: it is going to wait. */
void wait_judge(struct queue *queue, const struct queue_pod *pod, uint64_t plugins,
                bool parks);
/* The kinds of events for which these wait. */
uint64_t wait_helps(const struct queue *queue, uint64_t plugins);
void wait_add(struct queue *queue, struct queue_pod *pod);
void wait_del(struct queue *queue, struct queue_pod *pod);
/* The class may fit: wakes as many of it as it may. */
void wait_open(struct queue *queue, struct queue_class *class);
/* pod is no scout any more; true if it was. */
bool wait_end_probe(struct queue_pod *pod);
/* Everybody knows already that the pod, woken for its class, will be refused. */
bool wait_is_futile(const struct queue *queue, const struct queue_pod *pod);
/* The class was seen to fit. */
void wait_fits(struct queue *queue, struct queue_class *class, bool probe);
void wait_event(struct queue *queue, const struct queue_event *event);
void wait_run(struct queue *queue);
uint64_t wait_deadline_ms(const struct queue *queue);

/* -- queue.c -- */
/* To ACTIVE, or to BACKOFF until then; the pod is in no place. */
void queue_send(struct queue *queue, struct queue_pod *pod, uint64_t until_ms);
/* Chance: how long to rest after so many failures. */
uint64_t queue_backoff_ms(struct queue *queue, uint32_t failures);

#endif
