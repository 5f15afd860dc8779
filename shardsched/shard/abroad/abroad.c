/*
 * Pods that find no node at home.
 *
 *	all that is known is asked (home's verdict stands for home)
 *	  a node is found     it is taken, if what is known of it is young enough and
 *there is room in errands; else that is waited for none is             two partitions
 *whose digests admit the pod, and which were not looked at since they said so, are
 *visited none is left        it is refused, and waits for news, digests among them
 *
 * Partitions are drawn by the pod, so that shards in the same need do not all go to the
 * same. Of a class one pod goes ahead and waits for visits and for room; the others of it
 * follow: when it is placed, as many as there is room for; when it is refused, all.
 */
#include <stdlib.h>

#include "shardsched/shard/commit/commit.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"
#include "store/base/alloc.h"

enum {
	VISITS_AT_ONCE = 2,
	WAIT_MS = 2000,    /* in case that nobody wakes it */
	DIGESTS_MS = 3000, /* they are written once a second */
	FEW_PARTS = 16,    /* few nodes: of all */
	LACKING_MAX = 256, /* nodes that are looked at */
	SHARES_MAX = 16,
};

void abroad_init(struct sched *sched)
{
	pl_list_init(&sched->abroad.ready);
	pl_list_init(&sched->abroad.visitors);
	pl_list_init(&sched->abroad.crowd);
	sched->abroad.window = 2;
	sched->abroad.most = 8;
}

void travel_free(struct travel *travel)
{
	if (travel == NULL)
		return;
	PL_ASSERT(travel->ahead == NULL && pl_list_empty(&travel->followers));
	free(travel->tried);
	free(travel);
}

/* That of its class, made when there is none. NULL: no memory. */
static struct travel *travel_of(struct sched_pod *pod)
{
	struct own_class *own = own_class_of(pod->queue.class);
	struct class_rare *rare =
		own != NULL
			? NULL
			: class_rare_get(class_more_of(pool_class_of(pod->queue.class)));
	struct travel **at;

	if (own == NULL && rare == NULL)
		return NULL;
	at = own != NULL ? &own->travel : &rare->travel;
	if (*at == NULL) {
		*at = pl_calloc(1, sizeof **at);
		if (*at != NULL)
			pl_list_init(&(*at)->followers);
	}
	return *at;
}

/* -- waiting ---------------------------------------------------------------- */

static void wake(struct sched *sched, struct pl_list *list, uint32_t most)
{
	while (most-- > 0 && !pl_list_empty(list)) {
		struct sched_pod *pod = PL_LIST_ITEM(list->next, struct sched_pod, link);

		pod_unlink(sched, pod);
		PL_ASSERT(pod->place == POD_QUEUED);
		if (pod->queue.place == QUEUE_BACKOFF ||
		    pod->queue.place == QUEUE_WAITING)
			queue_activate(queue_of_class(sched, pod->queue.class),
			               &pod->queue, sched->now_ms);
	}
}

/* For a visit or for room, or behind the one of its class that does; or, without memory
 * for that, for nothing but a while. */
static void wait_in(struct sched *sched, struct sched_pod *pod, struct pl_list *list)
{
	struct travel *travel = travel_of(pod);
	bool follows;

	pod_unlink(sched, pod);
	if (travel != NULL) {
		follows = travel->ahead != NULL;
		pl_list_add_tail(follows ? &travel->followers : list, &pod->link);
		pod->linked = follows ? LINKED_FOLLOWS : LINKED_VISIT;
		if (!follows)
			travel->ahead = pod;
	}
	queue_defer(sched->queue, &pod->queue, WAIT_MS, sched->now_ms);
}

void abroad_followed(struct sched *sched, struct pool_class *open, uint32_t most)
{
	struct travel *travel = travel_of_class(queue_class_of(open));

	if (travel != NULL && travel->ahead == NULL)
		wake(sched, &travel->followers, most);
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

/* Since its digest says what it does. */
static bool is_untried(const struct sched *sched, const struct travel *travel,
                       uint32_t partition)
{
	const struct sched_partition *part = &sched->partition[partition];

	return !part->owned && part->offer.is != NULL &&
	       (travel == NULL || travel->tried == NULL ||
	        travel->tried[partition] != part->offer.number);
}

static bool is_candidate(const struct sched *sched, const struct travel *travel,
                         const struct spec *spec, uint32_t partition)
{
	return is_untried(sched, travel, partition) && !visit_fails(sched, partition) &&
	       offer_admits(sched, partition, spec);
}

/* Seen since its digest was written. */
static bool is_seen(const struct sched *sched, uint32_t partition)
{
	const struct sched_partition *part = &sched->partition[partition];
	int64_t told = offer_revision(&part->offer);

	return (sched->whole.revision != 0 && sched->whole.revision >= told) ||
	       (part->visit.known && part->visit.revision >= told);
}

/* Those known have been asked. */
static bool mark_tried(struct sched *sched, struct travel *travel)
{
	if (travel == NULL)
		return false;
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
	const struct travel *travel = travel_of_class(pod->queue.class);
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

static bool reads_specs(const struct sched *sched)
{
	for (unsigned i = 0; i < SCHED_CALLS; i++)
		if (sched->call[i].kind == CALL_READ && sched->call[i].state != CALL_FREE)
			return true;
	return !pl_list_empty(&sched->wanted);
}

/* Nodes that were seen and may do, but for pods there whose specs are still being read.
 * more: there may be, and are too many to look at them all. */
static bool specs_are_due(const struct sched *sched, const struct spec *spec, bool *more)
{
	unsigned looked = 0;

	*more = false;
	PL_LIST_EACH (link, &sched->lacking) {
		const struct sched_node *node =
			PL_LIST_ITEM(link, struct sched_node, lacking);

		if (++looked > LACKING_MAX) {
			*more = reads_specs(sched);
			return false;
		}
		if (node->slot != SNAPSHOT_NONE && !node_is_home(sched, node) &&
		    specs_are_coming(node) && offer_admits(sched, node->partition, spec))
			return true;
	}
	return false;
}

/* Some shards have not told yet what they have; who has just begun hears of it soon. */
static bool digests_are_due(const struct sched *sched)
{
	return sched->digests.told + 1 < sched->digests.shards &&
	       sched->now_ms < sched->digests.listed_ms + DIGESTS_MS;
}

bool abroad_hint(const struct sched *sched, const struct queue_class *class,
                 const struct queue_event *event)
{
	const struct spec *spec = pool_class_of_const(class)->spec;
	uint32_t partition = (uint32_t)event->object;

	return is_untried(sched, travel_of_class(class), partition) &&
	       (offer_admits(sched, partition, spec) ||
	        offer_least(sched, partition, spec) != INT32_MAX);
}

/* -- deciding -------------------------------------------------------------- */

static bool others_are_known(const struct sched *sched)
{
	return sched->whole.known || sched->visits.known > 0;
}

uint64_t abroad_draw(const struct sched *sched, uint64_t draw)
{
	uint64_t shards = (uint64_t)sched->digests.told + 1;
	uint64_t shares = shards < SHARES_MAX ? shards : SHARES_MAX;
	uint64_t all = UINT64_C(1) << 32;

	return ((sched->digests.rank % shares * all + (draw >> 32)) / shares) << 32;
}

bool abroad_ask(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                struct outcome *out)
{
	const struct pod_self self = {.name = pod->key[2],
	                              .uid = pod_uid(sched, pod),
	                              .nominated = pod->nominated == NULL
	                                                   ? SNAPSHOT_NONE
	                                                   : pod->nominated->slot,
	                              .created_ms = pod->created_ms};
	struct fw_class *all;
	struct pl_err err = {0};

	if (pool_all(sched->pool, pool_class_of(pod->queue.class), &all, &err) != PL_OK) {
		decide_fault(sched, pod, &err);
		return false;
	}
	cycle_run(sched->cycle, all, &self, abroad_draw(sched, draw), out);
	if (out->result != CYCLE_ERROR)
		return true;
	pl_err_set(&err, PL_NOMEM, "a plugin failed");
	decide_fault(sched, pod, &err);
	return false;
}

static void take(struct sched *sched, struct sched_pod *pod, uint32_t slot)
{
	struct sched_node *node = sched->by_slot[slot];

	if (node->scope == NODE_ABROAD && !visit_is_fresh(sched, node->partition))
		wait_in(sched, pod, &sched->abroad.visitors);
	else if (errands_room(sched) == 0) /* it would only grow old there */
		wait_in(sched, pod, &sched->abroad.crowd);
	else
		decide_assume(sched, pod, node);
}

/* Room is being made for it on a node that is known, so nobody else is looked for; and
 * what is known of some node changes whenever such a pod gets there. */
static bool is_expected(const struct sched_pod *pod)
{
	return pod->nominated != NULL && pl_list_empty(&pod->nominated->lacking);
}

bool abroad_decide(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                   struct outcome *outcome, bool *asked)
{
	struct outcome all;
	bool more;

	*asked = false;
	if (!sched->digests.listed)
		return false;
	if (others_are_known(sched)) {
		if (!abroad_ask(sched, pod, draw, &all))
			return true;
		if (all.result == CYCLE_NODE) {
			take(sched, pod, all.node);
			return true;
		}
		*outcome = all;
		*asked = true;
	}
	if (is_expected(pod))
		return false;
	if (!specs_are_due(sched, pod->spec, &more) &&
	    !abroad_read(sched, pod->spec, draw)) {
		if (*asked && !mark_tried(sched, travel_of(pod)))
			return false;
		if (!visit_some(sched, pod, draw) && !more && !digests_are_due(sched))
			return false;
	}
	wait_in(sched, pod, &sched->abroad.visitors);
	return true;
}

bool abroad_sees_all(const struct sched *sched)
{
	uint32_t lacking = 0;

	if (sched->whole.revision == 0)
		return false;
	PL_LIST_EACH (link, &sched->lacking)
		if (++lacking > sched->snapshot.nodes / FEW_PARTS)
			break;
	return lacking <= sched->snapshot.nodes / FEW_PARTS || !reads_specs(sched);
}

void abroad_await(struct sched *sched, struct sched_pod *pod)
{
	wait_in(sched, pod, &sched->abroad.visitors);
}

void abroad_await_view(struct sched *sched, struct sched_pod *pod)
{
	view_use(sched);
	abroad_await(sched, pod);
}

int32_t abroad_least(const struct sched *sched, const struct spec *spec)
{
	int32_t least = INT32_MAX;

	for (uint32_t i = 0; i < sched->opts.partitions; i++) {
		int32_t there = sched->partition[i].owned ? INT32_MAX
		                                          : offer_least(sched, i, spec);

		least = there < least ? there : least;
	}
	return least;
}
