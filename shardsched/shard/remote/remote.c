/*
 * Pods that find no local node.
 *
 *	a cycle runs over all known nodes (the verdict on local nodes stands)
 *	  it finds a node     the pod is placed, if its list is fresh and there is room in
 *	                      remote commits; else the pod waits for these
 *	  it finds none       two partitions whose digests admit the pod, and that were
 *	                      not tried since they were written, are listed; it waits
 *	    none is left      the pod is refused, and waits for events, digests among them
 *
 * Partitions are drawn by the pod, so that shards in the same need do not all go to the
 * same one. Of each class one pod, the leader, waits for lists and for room. The others
 * follow it: when it is placed, as many as there is room for; when it is refused, all.
 */
#include <stdlib.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/metrics/record.h"
#include "shardsched/shard/txn/commit.h"
#include "store/base/alloc.h"

enum {
	LISTS_AT_ONCE = 2,
	WAIT_MS = 2000, /* a waiting pod is tried again at the latest */
	/* Digests are written once a second; a new shard waits so long for them */
	DIGESTS_MS = 3000,
	FEW_PARTS = 16,    /* few nodes: this part of all */
	LACKING_MAX = 256, /* incomplete nodes that are looked at */
	SHARES_MAX = 16,
};

void remote_init(struct sched *sched)
{
	pl_list_init(&sched->remote.ready);
	pl_list_init(&sched->remote.list_waiters);
	pl_list_init(&sched->remote.room_waiters);
	sched->remote.window = 2;
	sched->remote.placements_max = 8;
}

void remote_search_free(struct remote_search *remote_search)
{
	if (remote_search == NULL)
		return;
	PL_ASSERT(remote_search->leader == NULL &&
	          pl_list_empty(&remote_search->followers));
	free(remote_search->tried);
	free(remote_search);
}

/* The search of the pod's class, made if there is none. NULL: no memory. */
static struct remote_search *search_of(struct sched_pod *pod)
{
	struct own_class *own = own_class_of(pod->queue.class);
	struct class_rare *rare =
		own != NULL
			? NULL
			: class_rare_get(class_more_of(pool_class_of(pod->queue.class)));
	struct remote_search **at;

	if (own == NULL && rare == NULL)
		return NULL;
	at = own != NULL ? &own->remote_search : &rare->remote_search;
	if (*at == NULL) {
		*at = pl_calloc(1, sizeof **at);
		if (*at != NULL)
			pl_list_init(&(*at)->followers);
	}
	return *at;
}

/* -- waiting ----------------------------------------------------------------------- */

static void wake_pods(struct sched *sched, struct pl_list *list, uint32_t most)
{
	while (most-- > 0 && !pl_list_empty(list)) {
		struct sched_pod *pod = PL_LIST_ITEM(list->next, struct sched_pod, link);

		pod_unlink(sched, pod);
		PL_ASSERT(pod->stage == POD_QUEUED);
		if (pod->queue.place == QUEUE_BACKOFF ||
		    pod->queue.place == QUEUE_WAITING)
			queue_activate(queue_of_class(sched, pod->queue.class),
			               &pod->queue, sched->now_ms);
	}
}

/* The pod waits in the list, or behind the leader of its class. Without memory for a
 * search it waits for WAIT_MS only. */
static void enqueue_waiter(struct sched *sched, struct sched_pod *pod,
                           struct pl_list *list)
{
	struct remote_search *remote_search = search_of(pod);
	bool follows;

	pod_unlink(sched, pod);
	if (remote_search != NULL) {
		follows = remote_search->leader != NULL;
		pod_link(pod, follows ? &remote_search->followers : list,
		         follows ? LINKED_FOLLOWER : LINKED_REMOTE_LIST);
		if (!follows)
			remote_search->leader = pod;
	}
	queue_defer(sched->queue, &pod->queue, WAIT_MS, sched->now_ms);
}

void remote_wake_followers(struct sched *sched, struct registered_class *open,
                           uint32_t most)
{
	struct remote_search *remote_search =
		remote_search_of_class(queue_class_of(open));

	if (remote_search != NULL && remote_search->leader == NULL)
		wake_pods(sched, &remote_search->followers, most);
}

void remote_wake_listed(struct sched *sched)
{
	wake_pods(sched, &sched->remote.list_waiters, UINT32_MAX);
}

void remote_wake_room(struct sched *sched, uint32_t room)
{
	wake_pods(sched, &sched->remote.room_waiters, room);
}

/* -- where to look ----------------------------------------------------------------- */

/* The partition was not tried since its digest entry changed. */
static bool is_untried(const struct sched *sched,
                       const struct remote_search *remote_search, uint32_t partition)
{
	const struct sched_partition *part = &sched->partition[partition];

	return !part->owned && part->digest_entry.is != NULL &&
	       (remote_search == NULL || remote_search->tried == NULL ||
	        remote_search->tried[partition] != part->digest_entry.number);
}

static bool is_candidate(const struct sched *sched,
                         const struct remote_search *remote_search,
                         const struct spec *spec, uint32_t partition)
{
	return is_untried(sched, remote_search, partition) &&
	       !remote_list_keeps_failing(sched, partition) &&
	       digest_admits(sched, partition, spec);
}

/* The partition's nodes were seen after its digest was written. */
static bool is_seen_since_digest(const struct sched *sched, uint32_t partition)
{
	const struct sched_partition *part = &sched->partition[partition];
	int64_t published = digest_entry_revision(&part->digest_entry);

	return (sched->fleet_view.revision != 0 &&
	        sched->fleet_view.revision >= published) ||
	       (remote_list_is_known(&part->remote_list) &&
	        part->remote_list.revision >= published);
}

/* Marks the partitions whose known nodes were asked. */
static bool mark_tried(struct sched *sched, struct remote_search *remote_search)
{
	if (remote_search == NULL)
		return false;
	if (remote_search->tried == NULL)
		remote_search->tried =
			pl_calloc(sched->opts.partitions, sizeof *remote_search->tried);
	for (uint32_t i = 0; remote_search->tried != NULL && i < sched->opts.partitions;
	     i++)
		if (is_seen_since_digest(sched, i))
			remote_search->tried[i] = sched->partition[i].digest_entry.number;
	return remote_search->tried != NULL;
}

/* Requests lists of two partitions, drawn. False: there is none to list. */
static bool list_some(struct sched *sched, struct sched_pod *pod, uint64_t draw)
{
	const struct remote_search *remote_search =
		remote_search_of_class(pod->queue.class);
	uint32_t count = sched->opts.partitions, first = (uint32_t)(draw % count);
	unsigned found = 0;

	for (uint32_t i = 0; i < count && found < LISTS_AT_ONCE; i++) {
		uint32_t partition = (first + i) % count;

		if (!is_candidate(sched, remote_search, pod->spec, partition))
			continue;
		remote_list_request(sched, partition);
		found++;
	}
	return found > 0;
}

static bool reads_specs(const struct sched *sched)
{
	for (unsigned i = 0; i < SCHED_TXNS; i++)
		if (sched->txn[i].kind == TXN_READ && txn_is_posted(&sched->txn[i]))
			return true;
	return !pl_list_empty(&sched->wanted);
}

/* Some seen node may do once the specs of its pods have been read. *more: there may be
 * such a node among too many to look at. */
static bool specs_are_due(const struct sched *sched, const struct spec *spec, bool *more)
{
	unsigned looked = 0;

	*more = false;
	PL_LIST_EACH (link, &sched->incomplete) {
		const struct sched_node *node =
			PL_LIST_ITEM(link, struct sched_node, incomplete);

		if (++looked > LACKING_MAX) {
			*more = reads_specs(sched);
			return false;
		}
		if (node->slot != SNAPSHOT_NONE && !node_is_local(sched, node) &&
		    spec_reads_are_pending(node) &&
		    digest_admits(sched, node->partition, spec))
			return true;
	}
	return false;
}

/* Some shards have no digest yet; a shard that has just begun hears of them soon. */
static bool digests_are_due(const struct sched *sched)
{
	return sched->digests.published + 1 < sched->digests.shards &&
	       sched->now_ms < sched->digests.listed_ms + DIGESTS_MS;
}

bool remote_hint(const struct sched *sched, const struct queue_class *class,
                 const struct queue_event *event)
{
	const struct spec *spec = pool_class_of_const(class)->spec;
	uint32_t partition = (uint32_t)event->object;

	return is_untried(sched, remote_search_of_class(class), partition) &&
	       (digest_admits(sched, partition, spec) ||
	        digest_least_priority(sched, partition, spec) != INT32_MAX);
}

/* -- deciding ---------------------------------------------------------------------- */

static bool others_are_known(const struct sched *sched)
{
	return sched->fleet_view.known || sched->remote_lists.known > 0;
}

uint64_t remote_draw(const struct sched *sched, uint64_t draw)
{
	uint64_t shards = (uint64_t)sched->digests.published + 1;
	uint64_t shares = shards < SHARES_MAX ? shards : SHARES_MAX;
	uint64_t all = UINT64_C(1) << 32;

	return ((sched->digests.rank % shares * all + (draw >> 32)) / shares) << 32;
}

bool remote_run_cycle(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                      struct cycle_outcome *out)
{
	const struct pod_self self = {.name = pod->key[2],
	                              .uid = pod_uid(sched, pod),
	                              .nominated = pod->nominated == NULL
	                                                   ? SNAPSHOT_NONE
	                                                   : pod->nominated->slot,
	                              .created_ms = pod->created_ms};
	struct fw_class *all;
	struct pl_err err = {0};

	if (class_registry_all(sched->class_registry, pool_class_of(pod->queue.class),
	                       &all, &err) != PL_OK) {
		decide_fault(sched, pod, &err);
		return false;
	}
	cycle_run(sched->cycle, all, &self, remote_draw(sched, draw), out);
	record_cycle(sched, all, out->result);
	if (out->result != CYCLE_ERROR)
		return true;
	decide_cycle_error(sched, "", &pod->key[1], out, &err);
	decide_fault(sched, pod, &err);
	return false;
}

static void place_remote(struct sched *sched, struct sched_pod *pod, uint32_t slot)
{
	struct sched_node *node = sched->by_slot[slot];

	if (node->scope == NODE_REMOTE && !remote_list_is_fresh(sched, node->partition))
		enqueue_waiter(sched, pod, &sched->remote.list_waiters);
	/* The decision would only grow old there */
	else if (remote_commit_room(sched) == 0)
		enqueue_waiter(sched, pod, &sched->remote.room_waiters);
	else
		decide_assume(sched, pod, node);
}

/* Room is being made for the pod on a known node, so no other node is looked for: such a
 * node becomes outdated whenever a pod gets there. */
static bool is_room_coming(const struct sched_pod *pod)
{
	return pod->nominated != NULL && pl_list_empty(&pod->nominated->incomplete);
}

bool remote_decide(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                   struct cycle_outcome *outcome, bool *asked)
{
	struct cycle_outcome all;
	bool more;

	*asked = false;
	if (!sched->digests.listed)
		return false;
	if (others_are_known(sched)) {
		if (!remote_run_cycle(sched, pod, draw, &all))
			return true;
		if (all.result == CYCLE_NODE) {
			place_remote(sched, pod, all.node);
			return true;
		}
		*outcome = all;
		*asked = true;
	}
	if (is_room_coming(pod))
		return false;
	if (!specs_are_due(sched, pod->spec, &more) &&
	    !remote_read_nodes(sched, pod->spec, draw)) {
		if (*asked && !mark_tried(sched, search_of(pod)))
			return false;
		if (!list_some(sched, pod, draw) && !more && !digests_are_due(sched))
			return false;
	}
	enqueue_waiter(sched, pod, &sched->remote.list_waiters);
	return true;
}

bool remote_sees_all(const struct sched *sched)
{
	uint32_t incomplete = 0;

	if (sched->fleet_view.revision == 0)
		return false;
	PL_LIST_EACH (link, &sched->incomplete)
		if (++incomplete > sched->snapshot.nodes / FEW_PARTS)
			break;
	return incomplete <= sched->snapshot.nodes / FEW_PARTS || !reads_specs(sched);
}

void remote_await(struct sched *sched, struct sched_pod *pod)
{
	enqueue_waiter(sched, pod, &sched->remote.list_waiters);
}

void remote_await_view(struct sched *sched, struct sched_pod *pod)
{
	fleet_view_touch(sched);
	remote_await(sched, pod);
}

int32_t remote_least_priority(const struct sched *sched, const struct spec *spec)
{
	int32_t least = INT32_MAX;

	for (uint32_t i = 0; i < sched->opts.partitions; i++) {
		int32_t there = sched->partition[i].owned
		                        ? INT32_MAX
		                        : digest_least_priority(sched, i, spec);

		least = there < least ? there : least;
	}
	return least;
}
