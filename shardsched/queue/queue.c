/*
 * Pods between their places. A pod leaves its place, its counters change, and it is
 * sent to the next; what its class makes of that is wait.c's business.
 */
#include "shardsched/queue/queue.h"

#include <stdlib.h>

#include "shardsched/queue/inner.h"
#include "store/base/alloc.h"

enum {
	BACKOFF_FIRST_MS = 1000,
	BACKOFF_MAX_MS = 10000,
	FLUSH_MS = 300000,
	EVENTS_MAX = 1024,
	JITTER_MAX = 90,
};

static bool due_before(const struct rank_node *a, const struct rank_node *b)
{
	const struct queue_pod *x = PL_CONTAINER_OF_CONST(a, struct queue_pod, node);
	const struct queue_pod *y = PL_CONTAINER_OF_CONST(b, struct queue_pod, node);

	return x->until_ms != y->until_ms ? x->until_ms < y->until_ms : x->seq < y->seq;
}

static bool older(const struct rank_node *a, const struct rank_node *b)
{
	return PL_CONTAINER_OF_CONST(a, struct queue_pod, node)->seq <
	       PL_CONTAINER_OF_CONST(b, struct queue_pod, node)->seq;
}

struct queue_opts queue_opts_for(enum queue_sort sort)
{
	struct queue_opts opts = {.sort = sort, .jitter_percent = 20};

	for (unsigned i = 0; i < QUEUE_LEVELS; i++)
		opts.budget[i] = QUEUE_NO_BUDGET;
	if (sort == QUEUE_BY_SLA) {
		opts.budget[QUEUE_GOLD] = 0;
		opts.budget[QUEUE_SILVER] = 1;
		opts.budget[QUEUE_BRONZE] = 3;
	}
	return opts;
}

static enum pl_code check_opts(const struct queue_opts *opts, struct pl_err *err)
{
	if (opts->jitter_percent > JITTER_MAX)
		return pl_err_set(err, PL_INVALID, "jitter of %u %% is over %d %%",
		                  opts->jitter_percent, JITTER_MAX);
	if (opts->backoff_first_ms > opts->backoff_max_ms)
		return pl_err_set(err, PL_INVALID,
		                  "the first backoff is over the longest");
	if (opts->plugins_count > QUEUE_PLUGINS_MAX)
		return pl_err_set(err, PL_LIMIT, "%u plugins, at most %d",
		                  opts->plugins_count, QUEUE_PLUGINS_MAX);
	for (unsigned i = 0; i < QUEUE_LEVELS; i++)
		if (opts->budget[i] < QUEUE_NO_BUDGET || opts->budget[i] > INT16_MAX)
			return pl_err_set(err, PL_INVALID, "a budget of %d retries",
			                  opts->budget[i]);
	return PL_OK;
}

static void fill_opts(struct queue_opts *opts)
{
	if (opts->backoff_max_ms == 0)
		opts->backoff_max_ms = BACKOFF_MAX_MS;
	if (opts->backoff_first_ms == 0)
		opts->backoff_first_ms = BACKOFF_FIRST_MS < opts->backoff_max_ms
		                                 ? BACKOFF_FIRST_MS
		                                 : opts->backoff_max_ms;
	if (opts->flush_ms == 0)
		opts->flush_ms = FLUSH_MS;
	if (opts->events_max == 0)
		opts->events_max = EVENTS_MAX;
}

enum pl_code queue_new(const struct queue_opts *opts, struct queue **out,
                       struct pl_err *err)
{
	struct queue_opts filled = *opts;
	struct queue *queue;
	enum pl_code code;

	fill_opts(&filled);
	code = check_opts(&filled, err);
	if (code != PL_OK)
		return code;
	queue = pl_calloc(1, sizeof *queue);
	if (queue == NULL)
		return pl_err_set(err, PL_NOMEM, "no memory for a queue");
	queue->opts = filled;
	queue->events = pl_calloc(filled.events_max, sizeof *queue->events);
	if (queue->events == NULL) {
		free(queue);
		return pl_err_set(err, PL_NOMEM, "no memory for a queue's events");
	}
	pl_rng_init(&queue->rng, filled.seed);
	active_init(&queue->active, filled.sort, filled.fair);
	rank_init(&queue->backoff, due_before);
	rank_init(&queue->gated, older);
	wait_init(queue);
	*out = queue;
	return PL_OK;
}

void queue_free(struct queue *queue)
{
	if (queue == NULL)
		return;
	PL_ASSERT(queue->classes == 0 && queue->flight == 0);
	active_done(&queue->active);
	free(queue->events);
	free(queue);
}

/* -- classes ------------------------------------------------------------------ */

enum pl_code queue_class_open(struct queue *queue, struct queue_class *class,
                              const struct queue_class_opts *opts, struct pl_err *err)
{
	struct queue_flow *flow = NULL;
	enum pl_code code = active_open(&queue->active, opts, &flow, err);

	if (code != PL_OK)
		return code;
	PL_ASSERT(opts->level < QUEUE_LEVELS);
	*class = (struct queue_class){.flow = flow, .level = opts->level};
	wait_class_init(class);
	queue->classes++;
	return PL_OK;
}

void queue_class_close(struct queue *queue, struct queue_class *class)
{
	PL_ASSERT(class->pods == 0 && class->scouts == 0 && class->bucket == NULL);
	active_close(&queue->active, class->flow);
	queue->classes--;
	class->flow = NULL;
}

void queue_weigh(struct queue *queue, uint32_t namespace_id, uint32_t weight)
{
	active_weigh(&queue->active, namespace_id, weight);
}

/* -- into places and out of them ------------------------------------------------- */

static void tick(struct queue *queue, uint64_t now_ms)
{
	PL_ASSERT(now_ms >= queue->now_ms);
	queue->now_ms = now_ms;
}

static void enter(const struct queue *queue, struct queue_pod *pod,
                  enum queue_place place)
{
	PL_ASSERT(pod->place == QUEUE_OUT);
	pod->place = (uint8_t)place;
	pod->since_ms = queue->now_ms;
}

void queue_send(struct queue *queue, struct queue_pod *pod, uint64_t until_ms)
{
	if (until_ms > queue->now_ms) {
		enter(queue, pod, QUEUE_BACKOFF);
		pod->until_ms = until_ms;
		rank_add(&queue->backoff, &pod->node, 1);
	} else {
		enter(queue, pod, QUEUE_ACTIVE);
		active_add(&queue->active, pod);
	}
}

static void send_gated(struct queue *queue, struct queue_pod *pod)
{
	enter(queue, pod, QUEUE_GATED);
	rank_add(&queue->gated, &pod->node, 1);
}

static void leave(struct queue *queue, struct queue_pod *pod)
{
	switch ((enum queue_place)pod->place) {
	case QUEUE_ACTIVE:
		active_del(&queue->active, pod);
		break;
	case QUEUE_BACKOFF:
		rank_del(&queue->backoff, &pod->node);
		break;
	case QUEUE_WAITING:
		wait_del(queue, pod);
		break;
	case QUEUE_GATED:
		rank_del(&queue->gated, &pod->node);
		break;
	case QUEUE_FLIGHT:
		queue->flight--;
		break;
	case QUEUE_OUT:
	case QUEUE_PLACES:
		PL_UNREACHABLE("a pod that is in no place can not leave it");
	}
	pod->place = QUEUE_OUT;
}

/* Ends an attempt. */
static void land(struct queue *queue, struct queue_pod *pod)
{
	PL_ASSERT(pod->place == QUEUE_FLIGHT);
	leave(queue, pod);
	pod->placed = false;
}

/* A scout that will not report: the next one goes. */
static void pass_on(struct queue *queue, struct queue_pod *pod)
{
	if (wait_return(pod))
		wait_open(queue, pod->class);
}

/* Doubles with each failure, up to the longest; then up to so many percent less. */
uint64_t queue_rest_ms(struct queue *queue, uint32_t strikes)
{
	uint64_t rest = queue->opts.backoff_first_ms, max = queue->opts.backoff_max_ms;
	uint64_t jitter;

	for (uint32_t i = 1; i < strikes && rest < max; i++)
		rest = rest > max - rest ? max : 2 * rest;
	jitter = rest * queue->opts.jitter_percent / 100;
	return rest - pl_rng_below(&queue->rng, jitter + 1);
}

/* -- the caller's business --------------------------------------------------------- */

static void start(struct queue *queue, struct queue_pod *pod, struct queue_class *class,
                  uint64_t created_ms)
{
	PL_ASSERT(class->flow != NULL);
	*pod = (struct queue_pod){
		.class = class,
		.seq = ++queue->seq,
		.order_ms = queue->opts.sort == QUEUE_BY_SLA ? created_ms : queue->now_ms,
	};
	class->pods++;
}

void queue_add(struct queue *queue, struct queue_pod *pod, struct queue_class *class,
               uint64_t created_ms, uint64_t now_ms)
{
	PL_ASSERT(pod->place == QUEUE_OUT);
	tick(queue, now_ms);
	start(queue, pod, class, created_ms);
	queue_send(queue, pod, 0);
}

void queue_add_gated(struct queue *queue, struct queue_pod *pod,
                     struct queue_class *class, uint64_t created_ms, uint64_t now_ms)
{
	PL_ASSERT(pod->place == QUEUE_OUT);
	tick(queue, now_ms);
	start(queue, pod, class, created_ms);
	send_gated(queue, pod);
}

void queue_remove(struct queue *queue, struct queue_pod *pod, uint64_t now_ms)
{
	tick(queue, now_ms);
	if (pod->place == QUEUE_OUT)
		return;
	leave(queue, pod);
	pass_on(queue, pod);
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
	start(queue, pod, class, old.order_ms);
	pod->seq = old.seq;
	pod->order_ms = old.order_ms;
	if (gated)
		send_gated(queue, pod);
	else
		queue_send(queue, pod, 0);
}

struct queue_pod *queue_peek(const struct queue *queue)
{
	return active_first(&queue->active);
}

struct queue_pod *queue_pop(struct queue *queue, uint64_t now_ms)
{
	struct queue_pod *pod = active_first(&queue->active);

	tick(queue, now_ms);
	if (pod == NULL)
		return NULL;
	PL_ASSERT(pod->place == QUEUE_ACTIVE);
	active_take(&queue->active, pod);
	pod->place = QUEUE_OUT;
	enter(queue, pod, QUEUE_FLIGHT);
	pod->seen = queue->event;
	pod->attempts++;
	queue->flight++;
	queue->attempts++;
	return pod;
}

void queue_placed(struct queue *queue, struct queue_pod *pod, uint64_t now_ms)
{
	tick(queue, now_ms);
	PL_ASSERT(pod->place == QUEUE_FLIGHT && !pod->placed);
	pod->placed = true;
	wait_fits(queue, pod->class, wait_return(pod));
}

static void note(struct queue *queue, struct queue_pod *pod, enum queue_cause cause,
                 uint32_t reason)
{
	pod->cause = (uint8_t)cause;
	pod->reason = reason;
	if (queue->opts.sort == QUEUE_BY_PRIORITY)
		pod->order_ms = queue->now_ms;
	if (pod->strikes < UINT16_MAX)
		pod->strikes++;
}

/* What happened while it was in flight may help: again, once it has rested, and what
 * becomes of it is news for its class. */
static void send_helped(struct queue *queue, struct queue_pod *pod)
{
	queue->helped_in_flight++;
	pod->scout = true;
	pod->class->scouts++;
	queue_send(queue, pod, queue->now_ms + queue_rest_ms(queue, pod->strikes));
	wait_open(queue, pod->class);
}

void queue_refuse(struct queue *queue, struct queue_pod *pod, uint64_t plugins,
                  uint32_t reason, uint64_t now_ms)
{
	int budget = queue->opts.budget[pod->class->level];
	bool parks;

	PL_ASSERT(plugins != 0 && !pod->placed);
	tick(queue, now_ms);
	land(queue, pod);
	note(queue, pod, QUEUE_REFUSED, reason);
	pod->refused_by = plugins;
	if (pod->infeasible < UINT16_MAX)
		pod->infeasible++;
	(void)wait_return(pod);
	if (wait_helped(queue, pod->class, plugins, pod->seen)) {
		send_helped(queue, pod);
		return;
	}
	parks = pod->infeasible > budget;
	wait_judge(queue, pod, parks);
	if (parks) {
		enter(queue, pod, QUEUE_WAITING);
		wait_add(queue, pod);
	} else {
		queue_send(queue, pod,
		           queue->now_ms + queue_rest_ms(queue, pod->strikes));
	}
	/* Still in doubt when its word did not count. */
	if (pod->class->open)
		wait_open(queue, pod->class);
}

void queue_retry(struct queue *queue, struct queue_pod *pod, enum queue_cause cause,
                 bool after_backoff, uint32_t reason, uint64_t now_ms)
{
	PL_ASSERT(cause == QUEUE_FAULT || cause == QUEUE_CONFLICT);
	tick(queue, now_ms);
	land(queue, pod);
	if (after_backoff) {
		note(queue, pod, cause, reason);
		queue_send(queue, pod,
		           queue->now_ms + queue_rest_ms(queue, pod->strikes));
	} else {
		pod->cause = (uint8_t)cause;
		pod->reason = reason;
		queue_send(queue, pod, 0);
	}
	pass_on(queue, pod);
}

void queue_activate(struct queue *queue, struct queue_pod *pod, uint64_t now_ms)
{
	PL_ASSERT(pod->place == QUEUE_BACKOFF || pod->place == QUEUE_WAITING);
	tick(queue, now_ms);
	leave(queue, pod);
	queue_send(queue, pod, 0);
}

/* -- what happens -------------------------------------------------------------- */

void queue_event(struct queue *queue, const struct queue_event *event)
{
	wait_event(queue, event);
}

void queue_run(struct queue *queue, uint64_t now_ms)
{
	tick(queue, now_ms);
	wait_run(queue);
	for (unsigned i = 0; i < QUEUE_RUN_MAX; i++) {
		struct queue_pod *pod = queue_pod_of(queue->backoff.first);

		if (pod == NULL || pod->until_ms > now_ms)
			break;
		leave(queue, pod);
		queue_send(queue, pod, 0);
	}
}

uint64_t queue_deadline_ms(const struct queue *queue)
{
	const struct queue_pod *rested = queue_pod_of(queue->backoff.first);
	uint64_t wait_ms = wait_deadline_ms(queue);

	return rested != NULL && rested->until_ms < wait_ms ? rested->until_ms : wait_ms;
}
