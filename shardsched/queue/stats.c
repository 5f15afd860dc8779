/* Statistics, names and invariants of the queue. */
#include <string.h>

#include "shardsched/queue/queue_int.h"

#define NAME(kind, name) [QUEUE_EV_##kind] = (name),
static const char *const event_names[] = {QUEUE_EVENT_MAP(NAME)};

static const char *const place_names[] = {
	[QUEUE_OUT] = "out",         [QUEUE_ACTIVE] = "active",
	[QUEUE_BACKOFF] = "backoff", [QUEUE_WAITING] = "waiting",
	[QUEUE_GATED] = "gated",     [QUEUE_IN_FLIGHT] = "in flight",
};

static const char *const cause_names[] = {
	[QUEUE_NEW] = "new",
	[QUEUE_REFUSED] = "refused",
	[QUEUE_FAULT] = "fault",
	[QUEUE_CONFLICT] = "conflict",
	[QUEUE_NOMINATED] = "nominated",
};

static const char *const level_names[] = {
	[QUEUE_NO_SLA] = "none",
	[QUEUE_BRONZE] = "bronze",
	[QUEUE_SILVER] = "silver",
	[QUEUE_GOLD] = "gold",
};

const char *queue_event_name(enum queue_event_kind kind)
{
	PL_ASSERT(kind < QUEUE_EVENT_KINDS);
	return event_names[kind];
}

const char *queue_place_name(enum queue_place place)
{
	PL_ASSERT(place < QUEUE_PLACES);
	return place_names[place];
}

const char *queue_arrival_name(enum queue_arrival arrival)
{
#define ARRIVAL(arrival, word) [QUEUE_ARRIVAL_##arrival] = (word),
	static const char *const names[] = {QUEUE_ARRIVAL_MAP(ARRIVAL)};

	PL_ASSERT(arrival < QUEUE_ARRIVALS);
	return names[arrival];
}

const char *queue_cause_name(enum queue_cause cause)
{
	PL_ASSERT(cause < QUEUE_CAUSES);
	return cause_names[cause];
}

const char *queue_level_name(enum queue_level level)
{
	PL_ASSERT(level < QUEUE_LEVELS);
	return level_names[level];
}

static uint32_t active_count(const struct queue *queue)
{
	uint32_t count = 0;

	for (unsigned lane = 0; lane < QUEUE_LANES; lane++)
		count += rank_sum(&queue->active[lane].bands);
	return count;
}

static uint32_t count_in_place(const struct queue *queue, enum queue_place place)
{
	switch (place) {
	case QUEUE_ACTIVE:
		return active_count(queue);
	case QUEUE_BACKOFF:
		return rank_sum(&queue->backoff);
	case QUEUE_WAITING:
		return queue->waiting;
	case QUEUE_GATED:
		return rank_sum(&queue->gated);
	case QUEUE_IN_FLIGHT:
		return queue->in_flight;
	case QUEUE_OUT:
	case QUEUE_PLACES:
		break;
	}
	return 0;
}

struct queue_where queue_where(const struct queue *queue, const struct queue_pod *pod)
{
	struct queue_where where = {.place = (enum queue_place)pod->place};

	where.of = count_in_place(queue, where.place);
	if (where.place == QUEUE_ACTIVE)
		where.position = active_position(&queue->active[pod->class->lane], pod);
	else if (where.place == QUEUE_BACKOFF)
		where.position =
			rank_of(queue->by_due.before, &queue->backoff, &pod->node);
	else if (where.place == QUEUE_GATED)
		where.position = rank_of(queue->by_seq.before, &queue->gated, &pod->node);
	else if (where.place == QUEUE_WAITING)
		where.position =
			rank_of(queue->by_wait.before, &pod->class->waiting, &pod->node);
	if (where.place == QUEUE_WAITING) {
		where.of = rank_sum(&pod->class->waiting);
		where.parked = queue_has_budget(queue, pod->class);
	}
	return where;
}

void queue_stats(const struct queue *queue, struct queue_stats *out)
{
	*out = (struct queue_stats){
		.classes = queue->classes,
		.classes_waiting = queue->classes_waiting,
		.events = queue->event,
		.attempts = queue->attempts,
		.woken = queue->woken,
		.helped_in_flight = queue->helped_in_flight,
		.flushed = queue->flushed,
		.recalled = queue->recalled,
	};
	for (unsigned i = 0; i < QUEUE_PLACES; i++)
		out->pods[i] = count_in_place(queue, (enum queue_place)i);
	memcpy(out->arrived, queue->arrived, sizeof out->arrived);
}

static void check_tree(const struct rank_kind *kind, const struct rank_tree *tree,
                       enum queue_place place)
{
	rank_check(kind, tree);
	for (const struct rank_node *node = rank_first(tree); node != NULL;
	     node = rank_next(kind->before, tree, node)) {
		const struct queue_pod *pod =
			PL_CONTAINER_OF_CONST(node, struct queue_pod, node);

		PL_ASSERT(pod->place == place && pod->class->pods > 0);
		PL_ASSERT(!pod->probe || pod->class->probes > 0);
		PL_ASSERT(!pod->placed);
	}
}

/* A waiting class is either CLOSED in one bucket, or OPEN with probes out. */
static void check_class(const struct queue *queue, const struct queue_class *class)
{
	check_tree(&queue->by_wait, &class->waiting, QUEUE_WAITING);
	PL_ASSERT(class->waiting.root != NULL && class->state == QUEUE_CLASS_CLOSED);
	PL_ASSERT(class->judged_event <= queue->event);
	PL_ASSERT(pl_list_empty(&class->flush) == queue_has_budget(queue, class));
}

static void check_bucket(const struct queue *queue, const struct queue_bucket *bucket)
{
	uint64_t judged_event = 0;
	uint32_t count = 0;

	PL_LIST_EACH (link, &bucket->classes) {
		const struct queue_class *class =
			PL_LIST_ITEM(link, struct queue_class, link);

		check_class(queue, class);
		PL_ASSERT(&queue->buckets[class->bucket - 1] == bucket &&
		          class->judged_event >= judged_event);
		PL_ASSERT((wait_helps(queue, class->refused_by) & ~bucket->helps) == 0);
		judged_event = class->judged_event;
		count++;
	}
	PL_ASSERT(count == bucket->count);
}

void queue_check_class(const struct queue *queue, const struct queue_class *class)
{
	PL_ASSERT(class->probes_max > 0 && class->probes <= class->pods);
	PL_ASSERT(class->state != QUEUE_CLASS_OPEN || class->probes > 0);
	PL_ASSERT((class->state == QUEUE_CLASS_EMPTY) == (class->waiting.root == NULL));
	PL_ASSERT((class->state == QUEUE_CLASS_CLOSED) == (class->bucket != 0));
	PL_ASSERT(rank_sum(&class->waiting) <= queue->waiting);
}

void queue_check(const struct queue *queue)
{
	uint64_t judged_ms = 0;

	for (unsigned lane = 0; lane < QUEUE_LANES; lane++)
		active_check(&queue->active[lane]);
	check_tree(&queue->by_due, &queue->backoff, QUEUE_BACKOFF);
	check_tree(&queue->by_seq, &queue->gated, QUEUE_GATED);
	for (unsigned i = 0; i < QUEUE_BUCKETS; i++)
		check_bucket(queue, &queue->buckets[i]);
	PL_LIST_EACH (link, &queue->flush) {
		const struct queue_class *class =
			PL_LIST_ITEM(link, struct queue_class, flush);

		PL_ASSERT(class->bucket != 0 && class->judged_ms >= judged_ms);
		judged_ms = class->judged_ms;
	}
}
