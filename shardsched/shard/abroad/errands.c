/*
 * Commits on nodes of others: in transactions of their own, small ones, so that nobody
 * who is in the way there holds up what is put on own nodes. How many are under way, how
 * much is in one and how long to wait follows from how they fare: a little more after
 * each that went through; after a conflict half of it, and a pause that doubles, since
 * where the owner is busy the next one would conflict as well. A node that keeps refusing
 * is set aside for a while, longer each time.
 */
#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/commit/commit.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"

enum {
	MOST = 32, /* placements in one */
	ITEMS = (COMMIT_POD_ITEMS + COMMIT_NODE_ITEMS) * (MOST + 1),
	REFUSALS = 3,
	ASIDE_MS = 1000,
	ASIDE_MAX_MS = 60000,
	BUSY_MS = 100, /* between two, while own nodes are put: others will be as busy */
	PAUSE_MS = 20, /* after a conflict, and twice that after the next */
	PAUSE_MAX_MS = 250,
	MANY = 16, /* nodes */
};

/* What is known of the node is of now, or nobody knows better. */
static bool is_fresh(struct sched *sched, const struct sched_node *node)
{
	if (sched->whole.revision == 0 && whole_is_wanted(sched))
		return false; /* it comes */
	return visit_is_fresh(sched, node->partition);
}

static bool add_some(struct sched *sched, struct call *call)
{
	const uint32_t most = sched->abroad.most;

	PL_LIST_EACH (link, &sched->abroad.ready) {
		struct sched_node *node = PL_LIST_ITEM(link, struct sched_node, ready);
		uint32_t room;

		if (!is_fresh(sched, node))
			continue;
		if (call->item == NULL || call->placements >= most ||
		    call->items - call->extras + COMMIT_NODE_ITEMS > ITEMS)
			break;
		room = ITEMS - (call->items - call->extras) - COMMIT_NODE_ITEMS;
		if (room > most - call->placements)
			room = most - call->placements;
		if (commit_add(sched, call, node, room) == PL_BUSY && call->items > 0)
			break;
	}
	return call->items > 0;
}

static bool send(struct sched *sched)
{
	struct call *call = call_begin(sched, CALL_ABROAD);

	if (call == NULL)
		return false;
	(void)!call_room(call, ITEMS);
	if (!add_some(sched, call)) {
		call_end(sched, call);
		return false;
	}
	call_post(sched, call);
	if (sched->commits > 0 && sched->abroad.resume_ms < sched->now_ms + BUSY_MS)
		sched->abroad.resume_ms = sched->now_ms + BUSY_MS;
	return true;
}

uint32_t errands_room(const struct sched *sched)
{
	const struct abroad *abroad = &sched->abroad;
	uint32_t calls = abroad->window > abroad->out ? abroad->window - abroad->out : 0;
	uint32_t most = calls * abroad->most;

	if (sched->now_ms < abroad->resume_ms || most < abroad->waiting)
		return 0;
	return most - abroad->waiting;
}

/* Some node is known well enough, or is to be looked at for that. */
static bool is_any_due(const struct sched *sched)
{
	if (sched->whole.revision != 0)
		return !pl_list_empty(&sched->abroad.ready);
	if (whole_is_wanted(sched))
		return false;
	PL_LIST_EACH (link, &sched->abroad.ready)
		if (visit_is_due(sched,
		                 PL_LIST_ITEM(link, struct sched_node, ready)->partition))
			return true;
	return false;
}

bool abroad_may(const struct sched *sched)
{
	return sched->abroad.out < sched->abroad.window &&
	       sched->now_ms >= sched->abroad.resume_ms && is_any_due(sched);
}

/* Until the pause is over what was decided grows old: it is decided again then. */
static void redo_waiting(struct sched *sched)
{
	PL_LIST_EACH (link, &sched->abroad.ready) {
		struct sched_node *node = PL_LIST_ITEM(link, struct sched_node, ready);

		while (!pl_list_empty(&node->waiting))
			pod_redo(sched, PL_LIST_ITEM(node->waiting.next, struct sched_pod,
			                             link));
		node_ready(sched, node);
	}
}

/* -- nodes that refuse ------------------------------------------------------ */

void abroad_refused(struct sched *sched, struct sched_node *node,
                    enum conflict_cause cause)
{
	unsigned shift;
	uint64_t wait_ms;

	if (node->refusals < UINT8_MAX)
		node->refusals++;
	sched->partition[node->partition].visit.stale = true;
	if (node->refusals < REFUSALS)
		return;
	shift = node->refusals - REFUSALS < 6 ? node->refusals - REFUSALS : 6;
	wait_ms = (uint64_t)ASIDE_MS << shift;
	node->aside_ms =
		sched->now_ms + (wait_ms < ASIDE_MAX_MS ? wait_ms : ASIDE_MAX_MS);
	if (sched->abroad.aside_ms == 0 || node->aside_ms < sched->abroad.aside_ms)
		sched->abroad.aside_ms = node->aside_ms;
	conflicts_set_aside(&sched->conflicts, node->key, cause, node->aside_ms,
	                    sched->now_ms);
}

static void bring_back(struct sched *sched)
{
	uint64_t next_ms = 0;

	if (sched->abroad.aside_ms == 0 || sched->now_ms < sched->abroad.aside_ms)
		return;
	PL_MAP_EACH (at, &sched->nodes) {
		struct sched_node *node = PL_CONTAINER_OF(at, struct sched_node, by_name);

		if (node->aside_ms == 0)
			continue;
		if (node->aside_ms <= sched->now_ms) {
			node->aside_ms = 0;
			node_settle(sched, node);
		} else if (next_ms == 0 || node->aside_ms < next_ms) {
			next_ms = node->aside_ms;
		}
	}
	sched->abroad.aside_ms = next_ms;
}

void abroad_run(struct sched *sched)
{
	bring_back(sched);
	while (abroad_may(sched) && send(sched))
		;
	if (sched->now_ms < sched->abroad.resume_ms && sched->abroad.waiting > 0)
		redo_waiting(sched);
	abroad_room(sched, errands_room(sched));
}

uint64_t abroad_deadline_ms(const struct sched *sched)
{
	const struct abroad *abroad = &sched->abroad;
	uint64_t at_ms = abroad->aside_ms == 0 ? UINT64_MAX : abroad->aside_ms;

	if (!(pl_list_empty(&abroad->ready) && pl_list_empty(&abroad->crowd)) &&
	    abroad->resume_ms > sched->now_ms && abroad->resume_ms < at_ms)
		at_ms = abroad->resume_ms;
	return at_ms;
}

/* -- how they fare ----------------------------------------------------------- */

/* Pods are to leave many nodes, of which what is known is old. They can not go elsewhere,
 * as those can that are to be placed; then it is less to follow all nodes than to look at
 * one partition after the other. */
static bool many_leave(const struct sched *sched)
{
	uint32_t nodes = 0;

	PL_LIST_EACH (link, &sched->abroad.ready)
		nodes += !pl_list_empty(
			&PL_LIST_ITEM(link, struct sched_node, ready)->ending);
	return nodes >= MANY;
}

void abroad_answered(struct sched *sched, const struct call *call, bool conflict)
{
	struct abroad *abroad = &sched->abroad;

	if (conflict) {
		abroad->window = abroad->window > 1 ? abroad->window / 2 : 1;
		abroad->most = abroad->most > 1 ? abroad->most / 2 : 1;
		abroad->streak = 0;
		abroad->pause_ms =
			abroad->pause_ms * 2 < PAUSE_MS ? PAUSE_MS : abroad->pause_ms * 2;
		if (abroad->pause_ms > PAUSE_MAX_MS)
			abroad->pause_ms = PAUSE_MAX_MS;
		abroad->resume_ms = sched->now_ms + abroad->pause_ms;
		if (many_leave(sched))
			view_use(sched);
		return;
	}
	abroad->pause_ms /= 2;
	if (call->placements >= abroad->most && abroad->most < MOST)
		abroad->most++;
	if (++abroad->streak >= abroad->window && abroad->window < SCHED_ABROAD_MAX) {
		abroad->window++;
		abroad->streak = 0;
	}
}
