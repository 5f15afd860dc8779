/*
 * Pods that are to leave: which they are, and where they wait.
 *
 *	its node lists it       at the node: it goes with the node's next alloc
 *	it has no place         by itself: its keys are deleted
 *	its node is gone        by itself; the txn compares that there is no alloc
 *	anything else           not yet, or not for this shard: fsck's if it stays so
 *
 * The lists are all that is kept: what becomes of a pod is derived from its state
 * (state_transition) each time.
 */
#include "shardsched/shard/termination/termination.h"

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "store/keys/partition.h"

enum { PAUSE_MS = 1000 };

enum termination_place { PLACE_NONE, PLACE_NODE, PLACE_UNPLACED };

static bool has_place(const struct sched_pod *pod)
{
	return pod->phase == STATE_BOUND || pod->phase == STATE_TERMINATING;
}

/* There is no such node, as far as the owner of its partition knows. */
static bool is_node_gone(const struct sched *sched, const struct sched_pod *pod)
{
	const struct sched_node *node = node_by_key(sched, pod->at);
	uint32_t partition;

	/* While the node is in a txn its facts wait for the answer. */
	if (node != NULL &&
	    (node->rev[FACT_NODE] != 0 || node->rev[FACT_ALLOC] != 0 || node->txn != 0))
		return false;
	if (partition_of_node(sched_text(sched, pod->at[0]),
	                      sched_text(sched, pod->at[1]), sched->opts.partitions,
	                      &partition, NULL) != PL_OK)
		return false;
	return sched->partition[partition].owned && sched->partition[partition].open;
}

static enum termination_place place_of(const struct sched *sched,
                                       const struct sched_pod *pod)
{
	const struct sched_node *node;

	if (!has_place(pod))
		return pod->listed == 0 ? PLACE_UNPLACED : PLACE_NONE;
	node = node_by_key(sched, pod->at);
	if (node != NULL && pod->listed == 1 && alloc_entry_find(node, pod) != UINT32_MAX)
		return PLACE_NODE;
	return pod->listed == 0 && is_node_gone(sched, pod) ? PLACE_UNPLACED : PLACE_NONE;
}

static struct pod_state state_of(const struct sched_pod *pod)
{
	return (struct pod_state){.phase = (enum state_phase)pod->phase,
	                          .ask = (enum state_ask)pod->ask,
	                          .ended = (enum state_ended)pod->ended,
	                          .next_pending = pod->next_pending,
	                          .awaits_finalizers = pod->awaits};
}

bool termination_is_wanted(const struct sched_pod *pod)
{
	return pod->phase != PHASE_NONE && !has_place(pod) &&
	       pod->ask == STATE_ASK_DELETE;
}

/* A pod whose node is gone does not run any more. A pod without a spec can not be placed
 * again. */
enum state_transition termination_of(const struct sched *sched,
                                     const struct sched_pod *pod)
{
	struct pod_state state = state_of(pod);
	enum state_transition end;

	if (pod->phase == PHASE_NONE)
		return STATE_TRANSITION_NONE;
	if (has_place(pod) && state.ended == STATE_ENDED_NOT && pod->listed == 0 &&
	    is_node_gone(sched, pod))
		state.ended = STATE_ENDED_GONE;
	if ((pod->flags & POD_TAINTED) != 0 && pod->phase == STATE_BOUND &&
	    state.ask == STATE_ASK_NONE)
		state.ask = STATE_ASK_EVICT;
	end = state_transition(&state);
	return end == STATE_TRANSITION_PENDING && pod->rev[FACT_SPEC] == 0
	               ? STATE_TRANSITION_REMOVE
	               : end;
}

/* The shard owns the pod, or a local node's taints drive a remote pod away. */
static bool is_ours_to_end(const struct sched *sched, const struct sched_pod *pod)
{
	const struct sched_partition *part = &sched->partition[pod->key[0]];
	bool may = part->owned ? part->open && !part->quiet
	                       : (pod->flags & POD_TAINTED) != 0;

	return may && pod->rev[FACT_STATE] != 0 &&
	       (pod->flags & (POD_BAD_STATE | POD_DELETED | POD_RESET)) == 0 &&
	       pod->txn == 0 && pod->stage == POD_IDLE;
}

static enum termination_place wanted_place(const struct sched *sched,
                                           const struct sched_pod *pod)
{
	if (!is_ours_to_end(sched, pod) ||
	    termination_of(sched, pod) == STATE_TRANSITION_NONE)
		return PLACE_NONE;
	return place_of(sched, pod);
}

bool termination_is_unplaced(const struct sched *sched, const struct sched_pod *pod)
{
	return wanted_place(sched, pod) == PLACE_UNPLACED;
}

static void link_ending(struct sched *sched, struct sched_pod *pod, struct pl_list *list)
{
	pod_link(pod, list, LINKED_TERMINATING);
	sched->ending++;
}

/* The pod is to leave a remote node that is not known here, so the node has to be
 * known. */
static void require_remote_list(struct sched *sched, const struct sched_pod *pod)
{
	uint32_t partition;

	if (!is_ours_to_end(sched, pod) ||
	    termination_of(sched, pod) == STATE_TRANSITION_NONE ||
	    partition_of_node(sched_text(sched, pod->at[0]),
	                      sched_text(sched, pod->at[1]), sched->opts.partitions,
	                      &partition, NULL) != PL_OK ||
	    sched->partition[partition].owned)
		return;
	remote_list_require(sched, partition);
}

void termination_reconcile(struct sched *sched, struct sched_pod *pod)
{
	enum termination_place place = wanted_place(sched, pod);
	struct sched_node *node =
		place == PLACE_NODE ? node_by_key(sched, pod->at) : NULL;

	if (pod->linked == LINKED_TERMINATING || pod->linked == LINKED_ORPHAN)
		pod_unlink(sched, pod);
	if (pod->linked != LINKED_NOT)
		return;
	if (place == PLACE_NONE) {
		if (has_place(pod) && pod->listed == 0 && pod_is_owned(sched, pod)) {
			pod_link(pod, &sched->orphans, LINKED_ORPHAN);
			require_remote_list(sched, pod);
		}
		return;
	}
	if (sched->now_ms < sched->ending_ms) {
		link_ending(sched, pod, &sched->ending_later);
		return;
	}
	pod_set_node(sched, pod, node);
	link_ending(sched, pod, node == NULL ? &sched->ending_unplaced : &node->ending);
	if (node == NULL)
		return;
	departure_enqueue(sched, node);
	node_set_ready(sched, node);
}

uint64_t termination_retry_ms(const struct sched *sched)
{
	if (sched->orphans_due && !pl_list_empty(&sched->orphans))
		return 0;
	return pl_list_empty(&sched->ending_later) ? UINT64_MAX : sched->ending_ms;
}

void termination_pause(struct sched *sched)
{
	sched->ending_ms = sched->now_ms + PAUSE_MS;
}

/* A partition was opened, or a node is gone: where orphans belong may be known now. */
static void retry_orphans(struct sched *sched)
{
	struct pl_list *last = sched->orphans.prev;
	bool more = sched->orphans_due && !pl_list_empty(&sched->orphans);

	sched->orphans_due = false;
	while (more) {
		struct pl_list *link = sched->orphans.next;

		more = link != last; /* orphans that stay go to the end of the list */
		termination_reconcile(sched, PL_LIST_ITEM(link, struct sched_pod, link));
	}
}

void termination_retry(struct sched *sched)
{
	retry_orphans(sched);
	if (pl_list_empty(&sched->ending_later) || sched->now_ms < sched->ending_ms)
		return;
	PL_LIST_EACH (link, &sched->ending_later)
		termination_reconcile(sched, PL_LIST_ITEM(link, struct sched_pod, link));
}
