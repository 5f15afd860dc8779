/*
 * Pods that find no node at home.
 *
 *	all that is known is asked (home's verdict stands for home)
 *	  a node is found     it is taken, if what is known of it is young enough; else
 *its partition is visited (again), and the pod is decided then none is             two
 *partitions whose digests admit the pod, and which were not looked at since they said so,
 *are visited none is left        it is refused, and waits for news, digests among them
 *
 * Partitions are drawn by the pod, so that shards in the same need do not all go to the
 * same. Of a class one pod waits for visits; when it is placed the others follow.
 */
#include <stdlib.h>

#include "shardsched/shard/commit/commit.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"
#include "store/base/alloc.h"

enum {
	VISITS_AT_ONCE = 2,
};

void abroad_init(struct sched *sched)
{
	pl_list_init(&sched->abroad.ready);
	pl_list_init(&sched->abroad.visitors);
	pl_list_init(&sched->abroad.crowd);
	sched->abroad.window = 1;
	sched->abroad.most = 1;
}

void travel_done(struct travel *travel)
{
	PL_ASSERT(travel->visitors == 0);
	free(travel->tried);
	travel->tried = NULL;
}

static struct travel *travel_of(struct sched_pod *pod)
{
	return &class_more_of(pod->queue.class)->travel;
}

/* -- waiting for visits, or for room in errands
 * --------------------------------------------------- */

/* False: one of its class does already. */
static bool wait_in(struct sched *sched, struct sched_pod *pod, struct pl_list *list)
{
	struct travel *travel = travel_of(pod);

	if (travel->visitors > 0)
		return false;
	pod_unlink(sched, pod);
	pl_list_add_tail(list, &pod->link);
	pod->linked = LINKED_VISIT;
	travel->visitors++;
	queue_retry(sched->queue, &pod->queue, QUEUE_CONFLICT, true, REASON_NONE,
	            sched->now_ms);
	return true;
}

static void wake(struct sched *sched, struct pl_list *list, uint32_t most)
{
	while (most-- > 0 && !pl_list_empty(list)) {
		struct sched_pod *pod = PL_LIST_ITEM(list->next, struct sched_pod, link);

		pod_unlink(sched, pod);
		PL_ASSERT(pod->place == POD_QUEUED);
		if (pod->queue.place == QUEUE_BACKOFF ||
		    pod->queue.place == QUEUE_WAITING)
			queue_activate(sched->queue, &pod->queue, sched->now_ms);
	}
}

void abroad_visited(struct sched *sched)
{
	wake(sched, &sched->abroad.visitors, UINT32_MAX);
}

void abroad_room(struct sched *sched, uint32_t room)
{
	wake(sched, &sched->abroad.crowd, room);
}

/* -- where to look -------------------------------------------------------- */

static bool is_candidate(const struct sched *sched, const struct travel *travel,
                         const struct spec *spec, uint32_t partition)
{
	const struct sched_partition *part = &sched->partition[partition];

	if (part->owned || part->offer.is == NULL)
		return false;
	if (travel->tried != NULL && travel->tried[partition] == part->offer.number)
		return false;
	return offer_admits(sched, partition, spec);
}

/* Seen since its digest was written. */
static bool is_seen(const struct sched *sched, uint32_t partition)
{
	const struct sched_partition *part = &sched->partition[partition];

	return sched->whole.known ||
	       (part->visit.known &&
	        part->visit.revision >= offer_revision(&part->offer));
}

/* Those known have been asked. */
static bool mark_tried(struct sched *sched, struct travel *travel)
{
	if (travel->tried == NULL)
		travel->tried = pl_calloc(sched->opts.partitions, sizeof *travel->tried);
	for (uint32_t i = 0; travel->tried != NULL && i < sched->opts.partitions; i++)
		if (is_seen(sched, i))
			travel->tried[i] = sched->partition[i].offer.number;
	return travel->tried != NULL;
}

/* Two of them, drawn. False: there is none. */
static bool visit_some(struct sched *sched, struct sched_pod *pod, uint64_t draw)
{
	const struct travel *travel = travel_of(pod);
	uint32_t count = sched->opts.partitions, first = (uint32_t)(draw % count);
	unsigned found = 0;

	for (uint32_t i = 0; i < count && found < VISITS_AT_ONCE; i++) {
		uint32_t partition = (first + i) % count;

		if (!is_candidate(sched, travel, pod->spec, partition))
			continue;
		visit_want(sched, partition);
		found++;
	}
	return found > 0;
}

bool abroad_hint(const struct sched *sched, const struct queue_class *class,
                 const struct queue_event *event)
{
	const struct pool_class *open =
		PL_CONTAINER_OF_CONST(class, struct pool_class, extra);

	return is_candidate(sched, &class_more_of_const(class)->travel, open->spec,
	                    (uint32_t)event->object);
}

/* -- deciding -------------------------------------------------------------- */

static bool others_are_known(const struct sched *sched)
{
	return sched->whole.known || sched->visits.known > 0;
}

bool abroad_ask(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                struct outcome *out)
{
	const struct pod_self self = {.name = pod->key[2],
	                              .uid = pod->uid,
	                              .nominated = SNAPSHOT_NONE,
	                              .created_ms = pod->created_ms};
	struct fw_class *all;
	struct pl_err err = {0};

	if (pool_all(&sched->pool, pool_class_of(pod->queue.class), &all, &err) !=
	    PL_OK) {
		decide_fault(sched, pod, &err);
		return false;
	}
	cycle_run(sched->cycle, all, &self, draw, out);
	if (out->result != CYCLE_ERROR)
		return true;
	pl_err_set(&err, PL_NOMEM, "a plugin failed");
	decide_fault(sched, pod, &err);
	return false;
}

static bool take(struct sched *sched, struct sched_pod *pod, uint32_t slot)
{
	struct sched_node *node = sched->by_slot[slot];

	if (node->scope == NODE_ABROAD && !visit_is_fresh(sched, node->partition))
		return wait_in(sched, pod, &sched->abroad.visitors);
	if (errands_room(sched) == 0) /* it would only grow old there */
		return wait_in(sched, pod, &sched->abroad.crowd);
	decide_assume(sched, pod, node);
	return true;
}

bool abroad_decide(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                   struct outcome *outcome)
{
	struct outcome all;

	if (!sched->digests.listed)
		return false;
	if (others_are_known(sched)) {
		if (!abroad_ask(sched, pod, draw, &all))
			return true;
		if (all.result == CYCLE_NODE)
			return take(sched, pod, all.node);
		*outcome = all;
		if (!mark_tried(sched, travel_of(pod)))
			return false;
	}
	return visit_some(sched, pod, draw) &&
	       wait_in(sched, pod, &sched->abroad.visitors);
}
