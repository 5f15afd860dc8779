/*
 * Commits on remote nodes. They go in small txns of their own, so that a conflict there
 * does not hold up local nodes. How many txns are in flight, how many placements are in
 * one, and the pause after a conflict adapt: each success adds a little; a conflict
 * halves them and doubles the pause, since the next txn would conflict as well while the
 * owner is busy. A node that keeps refusing is excluded for a while, longer each time.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/txn/commit.h"
#include "shardsched/shard/txn/inflight.h"
#include "store/base/backoff.h"

enum {
	PLACEMENTS_MAX = 32, /* in one txn */
	ENTRIES = (COMMIT_POD_ENTRIES + COMMIT_NODE_ENTRIES) * (PLACEMENTS_MAX + 1),
	REFUSALS = 3,
	EXCLUDED_MS = 1000,
	EXCLUDED_MAX_MS = 60000,
	/* Between two txns while local commits are in flight: other owners are as busy */
	BUSY_MS = 100,
	PAUSE_MS = 20, /* after a conflict; doubled by the next one */
	PAUSE_MAX_MS = 250,
	NODES_MANY = 16, /* nodes that many pods are to leave */
};

/* The facts of the node are current, or can not be made more so. */
static bool is_node_fresh(struct sched *sched, const struct sched_node *node)
{
	if (sched->fleet_view.revision == 0 && fleet_view_is_wanted(sched))
		return false; /* the fleet view is about to arrive */
	return remote_list_is_fresh(sched, node->partition);
}

static bool add_nodes(struct sched *sched, struct shard_txn *txn)
{
	const uint32_t placements_max = sched->remote.placements_max;

	PL_LIST_EACH (link, &sched->remote.ready) {
		struct sched_node *node = PL_LIST_ITEM(link, struct sched_node, ready);
		uint32_t room;

		if (!is_node_fresh(sched, node))
			continue;
		if (txn->entry == NULL || txn->placements >= placements_max ||
		    txn->entries - txn->extra_entries + COMMIT_NODE_ENTRIES > ENTRIES)
			break;
		room = ENTRIES - (txn->entries - txn->extra_entries) -
		       COMMIT_NODE_ENTRIES;
		if (room > placements_max - txn->placements)
			room = placements_max - txn->placements;
		if (commit_add(sched, txn, node, room) == PL_BUSY && txn->entries > 0)
			break;
	}
	return txn->entries > 0;
}

static bool send_remote(struct sched *sched)
{
	struct shard_txn *txn = txn_begin(sched, TXN_REMOTE);

	if (txn == NULL)
		return false;
	(void)!txn_reserve(txn, ENTRIES);
	if (!add_nodes(sched, txn)) {
		txn_end(sched, txn);
		return false;
	}
	txn_post(sched, txn);
	if (sched->commits > 0 && sched->remote.resume_ms < sched->now_ms + BUSY_MS)
		sched->remote.resume_ms = sched->now_ms + BUSY_MS;
	return true;
}

uint32_t remote_commit_room(const struct sched *sched)
{
	const struct remote_state *remote = &sched->remote;
	uint32_t txns = remote->window > remote->out ? remote->window - remote->out : 0;
	uint32_t placements_max = txns * remote->placements_max;

	if (sched->now_ms < remote->resume_ms || placements_max < remote->waiting)
		return 0;
	return placements_max - remote->waiting;
}

/* Some node is fresh, or is to be listed again. */
static bool is_any_node_due(const struct sched *sched)
{
	if (sched->fleet_view.revision != 0)
		return !pl_list_empty(&sched->remote.ready);
	if (fleet_view_is_wanted(sched))
		return false;
	PL_LIST_EACH (link, &sched->remote.ready)
		if (remote_list_is_due(
			    sched,
			    PL_LIST_ITEM(link, struct sched_node, ready)->partition))
			return true;
	return false;
}

bool remote_commit_is_ready(const struct sched *sched)
{
	return sched->remote.out < sched->remote.window &&
	       sched->now_ms >= sched->remote.resume_ms &&
	       !objects_labels_are_behind(sched) && is_any_node_due(sched);
}

/* The decisions would be outdated when the pause is over; they are made again then. */
static void redo_waiting_pods(struct sched *sched)
{
	PL_LIST_EACH (link, &sched->remote.ready) {
		struct sched_node *node = PL_LIST_ITEM(link, struct sched_node, ready);

		while (!pl_list_empty(&node->waiting))
			pod_redecide(sched, PL_LIST_ITEM(node->waiting.next,
			                                 struct sched_pod, link));
		node_set_ready(sched, node);
	}
}

/* -- nodes that refuse ------------------------------------------------------------- */

void remote_commit_refused(struct sched *sched, struct sched_node *node,
                           enum conflict_cause cause)
{
	if (node->refusals < UINT8_MAX)
		node->refusals++;
	remote_list_set_stale(sched, node->partition);
	if (node->refusals < REFUSALS)
		return;
	node->excluded_ms = sched->now_ms + pl_doubled_ms(node->refusals - REFUSALS,
	                                                  EXCLUDED_MS, EXCLUDED_MAX_MS);
	if (sched->remote.excluded_ms == 0 ||
	    node->excluded_ms < sched->remote.excluded_ms)
		sched->remote.excluded_ms = node->excluded_ms;
	conflicts_exclude(&sched->conflicts, node->key, cause, node->excluded_ms,
	                  sched->now_ms);
}

static void restore_excluded(struct sched *sched)
{
	uint64_t next_ms = 0;

	if (sched->remote.excluded_ms == 0 || sched->now_ms < sched->remote.excluded_ms)
		return;
	PL_MAP_EACH (at, &sched->nodes) {
		struct sched_node *node = PL_CONTAINER_OF(at, struct sched_node, by_name);

		if (node->excluded_ms == 0)
			continue;
		if (node->excluded_ms <= sched->now_ms) {
			node->excluded_ms = 0;
			node_reconcile(sched, node);
		} else if (next_ms == 0 || node->excluded_ms < next_ms) {
			next_ms = node->excluded_ms;
		}
	}
	sched->remote.excluded_ms = next_ms;
}

void remote_commit_run(struct sched *sched)
{
	restore_excluded(sched);
	while (remote_commit_is_ready(sched) && send_remote(sched))
		;
	if (sched->now_ms < sched->remote.resume_ms && sched->remote.waiting > 0)
		redo_waiting_pods(sched);
	remote_wake_room(sched, remote_commit_room(sched));
}

uint64_t remote_commit_deadline_ms(const struct sched *sched)
{
	const struct remote_state *remote = &sched->remote;
	uint64_t at_ms = remote->excluded_ms == 0 ? UINT64_MAX : remote->excluded_ms;

	if (!(pl_list_empty(&remote->ready) && pl_list_empty(&remote->room_waiters)) &&
	    remote->resume_ms > sched->now_ms && remote->resume_ms < at_ms)
		at_ms = remote->resume_ms;
	return at_ms;
}

/* -- adapting ---------------------------------------------------------------------- */

/* Pods are to leave many nodes whose lists are outdated. Unlike new pods they can not go
 * elsewhere, and following all nodes costs less than listing one partition after the
 * other. */
static bool many_nodes_drain(const struct sched *sched)
{
	uint32_t nodes = 0;

	PL_LIST_EACH (link, &sched->remote.ready)
		nodes += !pl_list_empty(
			&PL_LIST_ITEM(link, struct sched_node, ready)->ending);
	return nodes >= NODES_MANY;
}

void remote_commit_ended(struct sched *sched, const struct shard_txn *txn, bool conflict)
{
	struct remote_state *remote = &sched->remote;

	if (conflict) {
		remote->window = remote->window > 1 ? remote->window / 2 : 1;
		remote->placements_max =
			remote->placements_max > 1 ? remote->placements_max / 2 : 1;
		remote->streak = 0;
		remote->pause_ms =
			remote->pause_ms * 2 < PAUSE_MS ? PAUSE_MS : remote->pause_ms * 2;
		if (remote->pause_ms > PAUSE_MAX_MS)
			remote->pause_ms = PAUSE_MAX_MS;
		remote->resume_ms = sched->now_ms + remote->pause_ms;
		if (many_nodes_drain(sched))
			fleet_view_touch(sched);
		return;
	}
	remote->pause_ms /= 2;
	if (txn->placements >= remote->placements_max &&
	    remote->placements_max < PLACEMENTS_MAX)
		remote->placements_max++;
	if (++remote->streak >= remote->window && remote->window < SCHED_REMOTE_MAX) {
		remote->window++;
		remote->streak = 0;
	}
}
