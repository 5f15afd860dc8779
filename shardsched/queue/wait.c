/*
 * Waiting classes, and what they wait for.
 *
 *	                     an event can help, the flush is due,
 *	                     or a pod of the class was placed
 *	EMPTY ---> CLOSED ------------------------------------> OPEN
 *	  ^  first   |  ^                                        | |
 *	  |  pod     |  +----------------------------------------+ |
 *	  |  waits   |       a probe was refused, and no later     |
 *	  |          |       event helps                           |
 *	  +----------+---------------------------------------------+
 *	             the last waiting pod leaves
 *
 * A CLOSED class is in the bucket of the kinds of events that can help it. In a bucket,
 * the class that was judged against the fewest events is in front; so judging goes round,
 * in pieces, and a bucket whose front is up to date is done. An event that can not help
 * only moves the class to the end of its bucket.
 *
 * An OPEN class is judged against no event: its probes see what happened, or the events
 * are judged when they are refused. When a probe is placed, is gone or fails, the next
 * ones are woken.
 */
#include "shardsched/queue/queue_int.h"

enum { PROBES_MAX = 1024 };

static struct queue_class *class_of_link(struct pl_list *link)
{
	return PL_LIST_ITEM(link, struct queue_class, link);
}

static struct queue_class *class_of_flush(struct pl_list *link)
{
	return PL_LIST_ITEM(link, struct queue_class, flush);
}

static bool waits_before(const struct rank_node *a, const struct rank_node *b)
{
	const struct queue_pod *x = PL_CONTAINER_OF_CONST(a, struct queue_pod, node);
	const struct queue_pod *y = PL_CONTAINER_OF_CONST(b, struct queue_pod, node);

	return x->order_ms != y->order_ms ? x->order_ms < y->order_ms : x->seq < y->seq;
}

static void enter_state(struct queue_class *class, enum queue_class_state state)
{
	static const bool follows[QUEUE_CLASS_STATES][QUEUE_CLASS_STATES] = {
		[QUEUE_CLASS_EMPTY] = {[QUEUE_CLASS_CLOSED] = true},
		[QUEUE_CLASS_CLOSED] =
			{[QUEUE_CLASS_OPEN] = true, [QUEUE_CLASS_EMPTY] = true},
		[QUEUE_CLASS_OPEN] =
			{[QUEUE_CLASS_CLOSED] = true, [QUEUE_CLASS_EMPTY] = true},
	};

	PL_ASSERT(follows[class->state][state]);
	class->state = state & 3;
}

void wait_init(struct queue *queue)
{
	queue->by_wait.before = waits_before;
	pl_list_init(&queue->flush);
	for (unsigned i = 0; i < QUEUE_BUCKETS; i++)
		pl_list_init(&queue->buckets[i].classes);
}

void wait_class_init(struct queue_class *class)
{
	pl_list_init(&class->link);
	pl_list_init(&class->flush);
	class->probes_max = 1;
}

/* -- events and verdicts ----------------------------------------------------------------- */

uint64_t wait_helps(const struct queue *queue, uint64_t plugins)
{
	uint64_t helps = QUEUE_ON(ANY);

	if (plugins == 0)
		return (UINT64_C(1) << QUEUE_EVENT_KINDS) - 1;
	for (unsigned i = 0; i < queue->opts.plugins_count; i++)
		if ((plugins >> i & 1) != 0)
			helps |= queue->opts.plugins[i].events;
	return helps;
}

static uint64_t latest_event(const struct queue *queue, uint64_t helps)
{
	uint64_t latest = 0;

	for (unsigned kind = 0; kind < QUEUE_EVENT_KINDS; kind++)
		if ((helps >> kind & 1) != 0 && queue->last[kind] > latest)
			latest = queue->last[kind];
	return latest;
}

static bool event_helps(const struct queue *queue, const struct queue_class *class,
                        uint64_t plugins, const struct queue_event *event)
{
	if (event->kind == QUEUE_EV_ANY || plugins == 0)
		return true;
	for (unsigned i = 0; i < queue->opts.plugins_count; i++) {
		const struct queue_plugin *plugin = &queue->opts.plugins[i];

		if ((plugins >> i & 1) == 0 || (plugin->events >> event->kind & 1) == 0)
			continue;
		if (plugin->hint == NULL ||
		    plugin->hint(queue->opts.hint_ctx, class, event))
			return true;
	}
	return false;
}

bool wait_helped(const struct queue *queue, const struct queue_class *class,
                 uint64_t plugins, uint64_t after)
{
	uint64_t helps = wait_helps(queue, plugins);

	if (latest_event(queue, helps) <= after)
		return false;
	if (queue->event - after > queue->opts.events_max)
		return true;
	for (uint64_t n = after + 1; n <= queue->event; n++) {
		const struct queue_event *event =
			&queue->events[n % queue->opts.events_max];

		if ((helps >> event->kind & 1) != 0 &&
		    event_helps(queue, class, plugins, event))
			return true;
	}
	return false;
}

void wait_event(struct queue *queue, const struct queue_event *event)
{
	PL_ASSERT(event->kind < QUEUE_EVENT_KINDS);
	queue->event++;
	queue->last[event->kind] = queue->event;
	queue->events[queue->event % queue->opts.events_max] = *event;
	for (unsigned i = 0; i < QUEUE_BUCKETS; i++)
		if ((queue->buckets[i].helps >> event->kind & 1) != 0)
			queue->buckets[i].latest = queue->event;
}

/* -- buckets ----------------------------------------------------------------------------- */

/* The last bucket is for the classes that find no other, and is judged against every
 * event. */
static struct queue_bucket *bucket_for(struct queue *queue, uint64_t helps)
{
	struct queue_bucket *unused = NULL, *last = &queue->buckets[QUEUE_BUCKETS - 1];

	for (struct queue_bucket *b = queue->buckets; b < last; b++) {
		if (b->count > 0 && b->helps == helps)
			return b;
		if (b->count == 0 && unused == NULL)
			unused = b;
	}
	if (unused == NULL) {
		last->helps = ~UINT64_C(0);
		return last;
	}
	unused->helps = helps;
	return unused;
}

/* NULL: the class is in no bucket. */
static struct queue_bucket *bucket_of(struct queue *queue,
                                      const struct queue_class *class)
{
	return class->bucket == 0 ? NULL : &queue->buckets[class->bucket - 1];
}

static void leave_bucket(struct queue *queue, struct queue_class *class)
{
	if (class->bucket == 0)
		return;
	bucket_of(queue, class)->count--;
	class->bucket = 0;
	pl_list_del(&class->link);
	pl_list_del(&class->flush);
}

/* All events so far have been judged. */
static void enter_bucket(struct queue *queue, struct queue_class *class)
{
	struct queue_bucket *bucket = bucket_of(queue, class);
	uint64_t helps = wait_helps(queue, class->refused_by);

	if (bucket == NULL || bucket->helps != helps) {
		leave_bucket(queue, class);
		bucket = bucket_for(queue, helps);
		bucket->count++;
		class->bucket = (uint8_t)(bucket - queue->buckets + 1);
	}
	if (class->state != QUEUE_CLASS_CLOSED)
		enter_state(class, QUEUE_CLASS_CLOSED);
	class->judged_event = queue->event;
	pl_list_del(&class->link);
	pl_list_add_tail(&bucket->classes, &class->link);
	pl_list_del(&class->flush);
	if (!queue_has_budget(queue, class))
		pl_list_add_tail(&queue->flush, &class->flush);
}

/* -- probes ------------------------------------------------------------------------------ */

static void wake_probes(struct queue *queue, struct queue_class *class)
{
	while (class->probes < class->probes_max && class->waiting.root != NULL) {
		struct queue_pod *pod = queue_pod_of(rank_first(&class->waiting));

		wait_del(queue, pod);
		pod->probe = true;
		class->probes++;
		queue->woken++;
		queue->arrival = QUEUE_ARRIVAL_WOKEN;
		queue_send(queue, pod, class->judged_ms + class->backoff_ms);
	}
}

void wait_open(struct queue *queue, struct queue_class *class)
{
	if (class->waiting.root == NULL)
		return;
	if (class->state == QUEUE_CLASS_CLOSED) {
		enter_state(class, QUEUE_CLASS_OPEN);
		leave_bucket(queue, class);
	}
	wake_probes(queue, class);
}

bool wait_end_probe(struct queue_pod *pod)
{
	bool probe = pod->probe;

	if (probe) {
		PL_ASSERT(pod->class->probes > 0);
		pod->probe = false;
		pod->class->probes--;
	}
	return probe;
}

/* The class is closed by a verdict that knew more than this probe does, and is up to
 * date. */
bool wait_is_futile(const struct queue *queue, const struct queue_pod *pod)
{
	const struct queue_class *class = pod->class;

	return pod->probe && class->state == QUEUE_CLASS_CLOSED &&
	       class->judged_event >= queue->buckets[class->bucket - 1].latest &&
	       pod->seen <= class->verdict_seen;
}

void wait_fits(struct queue *queue, struct queue_class *class, bool probe)
{
	class->failures = 0;
	class->backoff_ms = 0;
	class->fits = true;
	/* Two pods follow each one that was placed, so the number of probes doubles each
	 * time. */
	if (probe && class->probes_max < PROBES_MAX)
		class->probes_max++;
	wait_open(queue, class);
}

/* A class that was woken for nothing backs off, unless it has just been seen to fit: then
 * it is only full. */
static void record_failure(struct queue *queue, struct queue_class *class)
{
	uint64_t waiting = rank_sum(&class->waiting) + 1, backoff_ms;

	if (class->fits)
		return;
	if (class->failures < UINT8_MAX)
		class->failures++;
	backoff_ms = queue_backoff_ms(queue, class->failures) / waiting;
	class->backoff_ms = backoff_ms < UINT32_MAX ? (uint32_t)backoff_ms : UINT32_MAX;
}

/* The rest of a running backoff is kept. */
static void mark_judged(const struct queue *queue, struct queue_class *class)
{
	uint64_t until_ms = class->judged_ms + class->backoff_ms;

	class->judged_ms = queue->now_ms;
	class->backoff_ms =
		until_ms > queue->now_ms ? (uint32_t)(until_ms - queue->now_ms) : 0;
}

void wait_judge(struct queue *queue, const struct queue_pod *pod, uint64_t plugins,
                bool park)
{
	struct queue_class *class = pod->class;
	bool waiting = class->waiting.root != NULL;

	/* The waiting pods wait because of a verdict that knew more. */
	if (waiting && pod->seen < class->verdict_seen)
		return;
	class->refused_by = plugins;
	class->verdict_seen = pod->seen;
	mark_judged(queue, class);
	if (class->state == QUEUE_CLASS_OPEN || (park && !waiting))
		record_failure(queue, class);
	class->fits = false;
	class->probes_max = 1;
	if (waiting)
		enter_bucket(queue, class);
}

void wait_add(struct queue *queue, struct queue_pod *pod)
{
	struct queue_class *class = pod->class;

	if (class->waiting.root == NULL)
		queue->classes_waiting++;
	rank_add(&queue->by_wait, &class->waiting, &pod->node, 1);
	queue->waiting++;
	if (class->state == QUEUE_CLASS_EMPTY)
		enter_bucket(queue, class);
}

void wait_del(struct queue *queue, struct queue_pod *pod)
{
	struct queue_class *class = pod->class;

	rank_del(waits_before, &class->waiting, &pod->node);
	queue->waiting--;
	pod->place = QUEUE_OUT;
	if (class->waiting.root != NULL)
		return;
	queue->classes_waiting--;
	enter_state(class, QUEUE_CLASS_EMPTY);
	leave_bucket(queue, class);
}

/* -- what is due ------------------------------------------------------------------------- */

static bool bucket_is_due(const struct queue_bucket *bucket)
{
	return bucket->count > 0 &&
	       class_of_link(bucket->classes.next)->judged_event < bucket->latest;
}

static unsigned run_bucket(struct queue *queue, struct queue_bucket *bucket,
                           unsigned moves_left)
{
	while (moves_left > 0 && bucket_is_due(bucket)) {
		struct queue_class *class = class_of_link(bucket->classes.next);

		moves_left--;
		if (wait_helped(queue, class, class->refused_by, class->judged_event)) {
			wait_open(queue, class);
			continue;
		}
		class->judged_event = queue->event;
		pl_list_del(&class->link);
		pl_list_add_tail(&bucket->classes, &class->link);
	}
	return moves_left;
}

static bool flush_is_due(const struct queue *queue)
{
	return !pl_list_empty(&queue->flush) &&
	       class_of_flush(queue->flush.next)->judged_ms + queue->opts.flush_ms <=
	               queue->now_ms;
}

void wait_run(struct queue *queue)
{
	unsigned moves_left = QUEUE_RUN_MAX;

	for (unsigned i = 0; i < QUEUE_BUCKETS; i++)
		moves_left = run_bucket(queue, &queue->buckets[i], moves_left);
	for (moves_left = QUEUE_RUN_MAX; moves_left > 0 && flush_is_due(queue);
	     moves_left--) {
		queue->flushed++;
		wait_open(queue, class_of_flush(queue->flush.next));
	}
}

uint64_t wait_deadline_ms(const struct queue *queue)
{
	for (unsigned i = 0; i < QUEUE_BUCKETS; i++)
		if (bucket_is_due(&queue->buckets[i]))
			return 0;
	if (pl_list_empty(&queue->flush))
		return UINT64_MAX;
	return class_of_flush(queue->flush.next)->judged_ms + queue->opts.flush_ms;
}
