/* Options, and the life of queues and classes: everything that allocates. */
#include <stdlib.h>

#include "shardsched/queue/queue_int.h"
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

	return queue_pod_until_ms(x) != queue_pod_until_ms(y)
	               ? queue_pod_until_ms(x) < queue_pod_until_ms(y)
	               : x->seq < y->seq;
}

static bool added_before(const struct rank_node *a, const struct rank_node *b)
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
		return pl_err_set(err, PL_INVALID, "jitter of %u %% is above %d %%",
		                  opts->jitter_percent, JITTER_MAX);
	if (opts->backoff_first_ms > opts->backoff_max_ms)
		return pl_err_set(err, PL_INVALID,
		                  "the first backoff is above the maximum");
	if (opts->plugins_count > QUEUE_PLUGINS_MAX)
		return pl_err_set(err, PL_LIMIT, "%u plugins, at most %d",
		                  opts->plugins_count, QUEUE_PLUGINS_MAX);
	for (unsigned i = 0; i < QUEUE_LEVELS; i++)
		if (opts->budget[i] < QUEUE_NO_BUDGET || opts->budget[i] > INT16_MAX)
			return pl_err_set(err, PL_INVALID,
			                  "budget out of range: %d retries",
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
		return pl_err_set(err, PL_NOMEM, "queue: out of memory");
	queue->opts = filled;
	queue->events = pl_calloc(filled.events_max, sizeof *queue->events);
	if (queue->events == NULL) {
		free(queue);
		return pl_err_set(err, PL_NOMEM, "events of a queue: out of memory");
	}
	pl_rng_init(&queue->rng, filled.seed);
	for (unsigned lane = 0; lane < QUEUE_LANES; lane++)
		active_init(&queue->active[lane], filled.sort, filled.fair);
	queue->by_due.before = due_before;
	queue->by_seq.before = added_before;
	wait_init(queue);
	*out = queue;
	return PL_OK;
}

void queue_free(struct queue *queue)
{
	if (queue == NULL)
		return;
	PL_ASSERT(queue->classes == 0 && queue->in_flight == 0);
	for (unsigned lane = 0; lane < QUEUE_LANES; lane++)
		active_done(&queue->active[lane]);
	free(queue->events);
	free(queue);
}

enum pl_code queue_class_open(struct queue *queue, struct queue_class *class,
                              const struct queue_class_opts *opts, struct pl_err *err)
{
	struct queue_flow *flow = NULL;
	enum pl_code code;

	PL_ASSERT(opts->level < QUEUE_LEVELS && opts->lane < QUEUE_LANES);
	code = active_open(&queue->active[opts->lane], opts, &flow, err);
	if (code != PL_OK)
		return code;
	flow->owner = queue->opts.owner;
	*class = (struct queue_class){.flow = flow,
	                              .level = opts->level & 3,
	                              .lane = opts->lane & 7,
	                              .kind = opts->kind};
	wait_class_init(class);
	queue->classes++;
	return PL_OK;
}

void queue_class_close(struct queue *queue, struct queue_class *class)
{
	PL_ASSERT(class->pods == 0 && class->probes == 0 && class->bucket == 0);
	active_close(queue_lane_of(queue, class), class->flow);
	queue->classes--;
	class->flow = NULL;
}

void *queue_class_owner(const struct queue_class *class)
{
	return class->flow->owner;
}

enum pl_code queue_class_move(struct queue *queue, struct queue_class *class,
                              unsigned lane, struct pl_err *err)
{
	struct queue_flow *from = class->flow, *to = NULL;
	const struct queue_class_opts opts = {
		.namespace_id = from->key.namespace_id,
		.priority = from->key.priority,
		.level = (enum queue_level)from->key.level,
	};
	enum pl_code code;

	PL_ASSERT(lane < QUEUE_LANES);
	if (lane == class->lane)
		return PL_OK;
	code = active_open(&queue->active[lane], &opts, &to, err);
	if (code != PL_OK)
		return code;
	to->owner = queue->opts.owner;
	active_move(queue_lane_of(queue, class), &queue->active[lane], class, from, to);
	class->flow = to;
	active_close(queue_lane_of(queue, class), from);
	class->lane = lane & 7;
	return PL_OK;
}

void queue_weigh(struct queue *queue, uint32_t namespace_id, uint32_t weight)
{
	for (unsigned lane = 0; lane < QUEUE_LANES; lane++)
		active_weigh(&queue->active[lane], namespace_id, weight);
}
