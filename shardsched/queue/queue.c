/*
 * Moves pods between places: a pod leaves its place, its counters change, and it enters
 * the next place. wait.c decides what that means for its class.
 */
#include "shardsched/queue/queue.h"

#include <string.h>

#include "shardsched/queue/queue_int.h"

/* -- entering and leaving places --------------------------------------------------------- */

static void advance_clock(struct queue *queue, uint64_t now_ms)
{
	PL_ASSERT(now_ms >= queue->now_ms);
	queue->now_ms = now_ms;
}

static void enter_place(struct queue *queue, struct queue_pod *pod,
                        enum queue_place place)
{
	PL_ASSERT(pod->place == QUEUE_OUT);
	pod->place = place & 7;
	pod->since_ms = queue->now_ms;
	queue->arrived[place][queue->arrival]++;
}

/* A backoff fits in 32 bits of milliseconds, some weeks. */
void queue_send(struct queue *queue, struct queue_pod *pod, uint64_t until_ms)
{
	if (until_ms > queue->now_ms) {
		uint64_t backoff_ms = until_ms - queue->now_ms;

		enter_place(queue, pod, QUEUE_BACKOFF);
		pod->backoff_ms =
			backoff_ms < UINT32_MAX ? (uint32_t)backoff_ms : UINT32_MAX;
		rank_add(&queue->by_due, &queue->backoff, &pod->node, 1);
	} else {
		enter_place(queue, pod, QUEUE_ACTIVE);
		active_add(queue_lane_of(queue, pod->class), pod);
	}
}

static void send_gated(struct queue *queue, struct queue_pod *pod)
{
	enter_place(queue, pod, QUEUE_GATED);
	rank_add(&queue->by_seq, &queue->gated, &pod->node, 1);
}

static void leave_place(struct queue *queue, struct queue_pod *pod)
{
	switch ((enum queue_place)pod->place) {
	case QUEUE_ACTIVE:
		active_del(queue_lane_of(queue, pod->class), pod);
		break;
	case QUEUE_BACKOFF:
		rank_del(queue->by_due.before, &queue->backoff, &pod->node);
		break;
	case QUEUE_WAITING:
		wait_del(queue, pod);
		break;
	case QUEUE_GATED:
		rank_del(queue->by_seq.before, &queue->gated, &pod->node);
		break;
	case QUEUE_IN_FLIGHT:
		queue->in_flight--;
		break;
	case QUEUE_OUT:
	case QUEUE_PLACES:
		PL_UNREACHABLE("a pod that is in no place can not leave it");
	}
	pod->place = QUEUE_OUT;
}

/* Ends the attempt of a pod that is in flight. */
static void end_attempt(struct queue *queue, struct queue_pod *pod)
{
	PL_ASSERT(pod->place == QUEUE_IN_FLIGHT);
	leave_place(queue, pod);
	pod->placed = false;
}

/* A probe that will not report passes its turn to the next pod. */
static void release_probe(struct queue *queue, struct queue_pod *pod)
{
	if (wait_end_probe(pod))
		wait_open(queue, pod->class);
}

/* Doubles with each failure up to the maximum, and is then reduced by up to
 * jitter_percent. */
uint64_t queue_backoff_ms(struct queue *queue, uint32_t failures)
{
	uint64_t rest = queue->opts.backoff_first_ms, max = queue->opts.backoff_max_ms;
	uint64_t jitter;

	for (uint32_t i = 1; i < failures && rest < max; i++)
		rest = rest > max - rest ? max : 2 * rest;
	jitter = rest * queue->opts.jitter_percent / 100;
	return rest - pl_rng_below(&queue->rng, jitter + 1);
}

/* -- calls about pods -------------------------------------------------------------------- */

/* By priority, pods are served in the order in which they came. The offset keeps pods
 * that were added under the SLA order (with their age) in front of them. */
static uint64_t queueing_time(const struct queue *queue)
{
	return (UINT64_C(1) << 62) + queue->now_ms;
}

static void init_pod(struct queue *queue, struct queue_pod *pod,
                     struct queue_class *class, uint64_t created_ms)
{
	PL_ASSERT(class->flow != NULL);
	*pod = (struct queue_pod){
		.class = class,
		.seq = ++queue->seq,
		.order_ms = queue->opts.sort == QUEUE_BY_SLA ? created_ms
	                                                     : queueing_time(queue),
	};
	class->pods++;
}

void queue_add(struct queue *queue, struct queue_pod *pod, struct queue_class *class,
               uint64_t created_ms, uint64_t now_ms)
{
	PL_ASSERT(pod->place == QUEUE_OUT);
	advance_clock(queue, now_ms);
	queue->arrival = QUEUE_ARRIVAL_ADDED;
	init_pod(queue, pod, class, created_ms);
	queue_send(queue, pod, 0);
}

void queue_add_gated(struct queue *queue, struct queue_pod *pod,
                     struct queue_class *class, uint64_t created_ms, uint64_t now_ms)
{
	PL_ASSERT(pod->place == QUEUE_OUT);
	advance_clock(queue, now_ms);
	queue->arrival = QUEUE_ARRIVAL_ADDED;
	init_pod(queue, pod, class, created_ms);
	send_gated(queue, pod);
}

void queue_continue(struct queue *queue, const struct queue *before)
{
	queue->seq = before->seq;
	queue->attempts = before->attempts;
	queue->woken = before->woken;
	queue->helped_in_flight = before->helped_in_flight;
	queue->flushed = before->flushed;
	queue->recalled = before->recalled;
	memcpy(queue->arrived, before->arrived, sizeof queue->arrived);
}

void queue_add_ordered(struct queue *queue, struct queue_pod *pod,
                       struct queue_class *class, const struct queue_order *turn,
                       bool gated, uint64_t created_ms, uint64_t now_ms)
{
	PL_ASSERT(pod->place == QUEUE_OUT && turn->seq <= queue->seq);
	advance_clock(queue, now_ms);
	queue->arrival = QUEUE_ARRIVAL_EDITED;
	init_pod(queue, pod, class, created_ms);
	pod->seq = turn->seq;
	if (queue->opts.sort == QUEUE_BY_PRIORITY)
		pod->order_ms = turn->order_ms;
	if (gated)
		send_gated(queue, pod);
	else
		queue_send(queue, pod, 0);
}

void queue_remove(struct queue *queue, struct queue_pod *pod, uint64_t now_ms)
{
	advance_clock(queue, now_ms);
	if (pod->place == QUEUE_OUT)
		return;
	leave_place(queue, pod);
	release_probe(queue, pod);
	PL_ASSERT(pod->class->pods > 0);
	pod->class->pods--;
	*pod = (struct queue_pod){0};
}

void queue_edit(struct queue *queue, struct queue_pod *pod, struct queue_class *class,
                bool gated, uint64_t now_ms)
{
	const struct queue_pod old = *pod;

	PL_ASSERT(old.place != QUEUE_OUT);
	queue_remove(queue, pod, now_ms);
	queue->arrival = QUEUE_ARRIVAL_EDITED;
	init_pod(queue, pod, class, old.order_ms);
	pod->seq = old.seq;
	pod->order_ms = old.order_ms;
	if (gated)
		send_gated(queue, pod);
	else
		queue_send(queue, pod, 0);
}

/* Takes back a probe whose class turned out not to fit: trying it would be in vain. */
static void recall_pod(struct queue *queue, struct queue_pod *pod)
{
	leave_place(queue, pod);
	(void)wait_end_probe(pod);
	queue->arrival = QUEUE_ARRIVAL_PUT_BACK;
	enter_place(queue, pod, QUEUE_WAITING);
	wait_add(queue, pod);
	queue->recalled++;
}

struct queue_pod *queue_peek(const struct queue *queue)
{
	struct queue_pod *best = NULL;

	for (unsigned lane = 0; lane < QUEUE_LANES; lane++) {
		struct queue_pod *first = (queue->shut >> lane & 1) != 0
		                                  ? NULL
		                                  : active_first(&queue->active[lane]);

		if (first != NULL && (best == NULL || active_before(first, best)))
			best = first;
	}
	return best;
}

struct queue_pod *queue_pop(struct queue *queue, uint64_t now_ms)
{
	struct queue_pod *pod = queue_peek(queue);

	advance_clock(queue, now_ms);
	while (pod != NULL && wait_is_futile(queue, pod)) {
		recall_pod(queue, pod);
		pod = queue_peek(queue);
	}
	if (pod == NULL)
		return NULL;
	PL_ASSERT(pod->place == QUEUE_ACTIVE);
	active_take(queue_lane_of(queue, pod->class), pod);
	pod->place = QUEUE_OUT;
	enter_place(queue, pod, QUEUE_IN_FLIGHT);
	pod->seen = queue->event;
	pod->attempts++;
	queue->in_flight++;
	queue->attempts++;
	return pod;
}

void queue_put_back(struct queue *queue, struct queue_pod *pod, uint64_t now_ms)
{
	PL_ASSERT(!pod->placed && pod->attempts > 0);
	advance_clock(queue, now_ms);
	queue->arrival = QUEUE_ARRIVAL_PUT_BACK;
	end_attempt(queue, pod);
	pod->attempts--;
	queue->attempts--;
	queue_send(queue, pod, 0);
}

void queue_placed(struct queue *queue, struct queue_pod *pod, uint64_t now_ms)
{
	advance_clock(queue, now_ms);
	PL_ASSERT(pod->place == QUEUE_IN_FLIGHT && !pod->placed);
	pod->placed = true;
	wait_fits(queue, pod->class, wait_end_probe(pod));
}

static void record_attempt(struct queue *queue, struct queue_pod *pod,
                           enum queue_cause cause, uint32_t reason)
{
	pod->cause = cause & 7;
	pod->reason = reason;
	if (queue->opts.sort == QUEUE_BY_PRIORITY)
		pod->order_ms = queueing_time(queue);
	if (pod->failures < UINT8_MAX)
		pod->failures++;
}

/* An event while the pod was in flight may help: the pod is tried again after its
 * backoff, and its class is woken at once. */
static void send_helped(struct queue *queue, struct queue_pod *pod)
{
	queue->helped_in_flight++;
	queue_send(queue, pod, queue->now_ms + queue_backoff_ms(queue, pod->failures));
	wait_open(queue, pod->class);
}

void queue_refuse(struct queue *queue, struct queue_pod *pod, uint64_t plugins,
                  uint32_t reason, uint64_t now_ms)
{
	int budget = queue->opts.budget[pod->class->level];
	bool park;

	PL_ASSERT(!pod->placed);
	advance_clock(queue, now_ms);
	queue->arrival = QUEUE_ARRIVAL_FAILED;
	end_attempt(queue, pod);
	record_attempt(queue, pod, QUEUE_REFUSED, reason);
	if (pod->infeasible < UINT16_MAX)
		pod->infeasible++;
	(void)wait_end_probe(pod);
	if (wait_helped(queue, pod->class, plugins, pod->seen)) {
		send_helped(queue, pod);
		return;
	}
	park = pod->infeasible > budget;
	wait_judge(queue, pod, plugins, park);
	if (park) {
		enter_place(queue, pod, QUEUE_WAITING);
		wait_add(queue, pod);
	} else {
		queue_send(queue, pod,
		           queue->now_ms + queue_backoff_ms(queue, pod->failures));
	}
	/* The verdict may not have counted, and the class may still be open. */
	if (pod->class->state == QUEUE_CLASS_OPEN)
		wait_open(queue, pod->class);
}

void queue_retry(struct queue *queue, struct queue_pod *pod, enum queue_cause cause,
                 bool after_backoff, uint32_t reason, uint64_t now_ms)
{
	PL_ASSERT(cause != QUEUE_REFUSED);
	advance_clock(queue, now_ms);
	queue->arrival = QUEUE_ARRIVAL_FAILED;
	end_attempt(queue, pod);
	if (after_backoff) {
		record_attempt(queue, pod, cause, reason);
		queue_send(queue, pod,
		           queue->now_ms + queue_backoff_ms(queue, pod->failures));
	} else {
		pod->cause = cause & 7;
		pod->reason = reason;
		queue_send(queue, pod, 0);
	}
	release_probe(queue, pod);
}

void queue_defer(struct queue *queue, struct queue_pod *pod, uint64_t backoff_ms,
                 uint64_t now_ms)
{
	PL_ASSERT(!pod->placed && pod->attempts > 0);
	advance_clock(queue, now_ms);
	queue->arrival = QUEUE_ARRIVAL_PUT_BACK;
	end_attempt(queue, pod);
	pod->attempts--;
	queue->attempts--;
	pod->cause = QUEUE_CONFLICT;
	pod->reason = 0;
	queue_send(queue, pod, queue->now_ms + backoff_ms);
	release_probe(queue, pod);
}

void queue_activate(struct queue *queue, struct queue_pod *pod, uint64_t now_ms)
{
	PL_ASSERT(pod->place == QUEUE_BACKOFF || pod->place == QUEUE_WAITING);
	advance_clock(queue, now_ms);
	queue->arrival = QUEUE_ARRIVAL_ACTIVATED;
	leave_place(queue, pod);
	queue_send(queue, pod, 0);
}

unsigned queue_lanes_shut(const struct queue *queue)
{
	return queue->shut;
}

void queue_shut_lanes(struct queue *queue, unsigned mask)
{
	PL_ASSERT(mask < 1u << QUEUE_LANES);
	queue->shut = mask;
}

/* -- events and time --------------------------------------------------------------------- */

void queue_event(struct queue *queue, const struct queue_event *event)
{
	wait_event(queue, event);
}

void queue_run(struct queue *queue, uint64_t now_ms)
{
	advance_clock(queue, now_ms);
	wait_run(queue);
	queue->arrival = QUEUE_ARRIVAL_BACKED_OFF;
	for (unsigned i = 0; i < QUEUE_RUN_MAX; i++) {
		struct queue_pod *pod = queue_pod_of(rank_first(&queue->backoff));

		if (pod == NULL || queue_pod_until_ms(pod) > now_ms)
			break;
		leave_place(queue, pod);
		queue_send(queue, pod, 0);
	}
}

uint64_t queue_deadline_ms(const struct queue *queue)
{
	const struct queue_pod *first_backoff = queue_pod_of(rank_first(&queue->backoff));
	uint64_t wait_ms = wait_deadline_ms(queue);
	uint64_t backoff_until_ms =
		first_backoff == NULL ? UINT64_MAX : queue_pod_until_ms(first_backoff);

	return backoff_until_ms < wait_ms ? backoff_until_ms : wait_ms;
}
