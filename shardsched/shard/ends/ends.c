/*
 * Pods that are to leave: who they are, and where they wait for it.
 *
 *	its node lists it       at the node: it rides with the node's next alloc
 *	it has no place         on its own: its keys go
 *	its node is gone        on its own, comparing that there is no alloc
 *	anything else           not yet, or not for us: what does not agree is fsck's
 *
 * What is to become of it follows from its state (state_end), each time anew: nothing is
 * kept but the lists, so whoever takes over finds what is half done.
 */
#include "shardsched/shard/ends/ends.h"

#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"
#include "store/keys/partition.h"

enum { ENDS_PAUSE_MS = 1000 };

enum where { NOWHERE, AT_NODE, ALONE };

static bool has_place(const struct sched_pod *pod)
{
	return pod->phase == STATE_BOUND || pod->phase == STATE_TERMINATING;
}

/* Nobody has such a node any more, as far as its partition's owner knows. */
static bool is_gone(const struct sched *sched, const struct sched_pod *pod)
{
	const struct sched_node *node = node_at(sched, pod->at);
	uint32_t partition;

	/* In a call: what is known of it waits for the answer. */
	if (node != NULL &&
	    (node->rev[FACT_NODE] != 0 || node->rev[FACT_ALLOC] != 0 || node->call != 0))
		return false;
	if (partition_of_node(sched_text(sched, pod->at[0]),
	                      sched_text(sched, pod->at[1]), sched->opts.partitions,
	                      &partition, NULL) != PL_OK)
		return false;
	return sched->partition[partition].owned && sched->partition[partition].open;
}

static enum where where_is(const struct sched *sched, const struct sched_pod *pod)
{
	const struct sched_node *node;

	if (!has_place(pod))
		return pod->listed == 0 ? ALONE : NOWHERE;
	node = node_at(sched, pod->at);
	if (node != NULL && pod->listed == 1 && listed_find(node, pod) != UINT32_MAX)
		return AT_NODE;
	return pod->listed == 0 && is_gone(sched, pod) ? ALONE : NOWHERE;
}

static struct pod_state state_of(const struct sched_pod *pod)
{
	return (struct pod_state){.phase = (enum state_phase)pod->phase,
	                          .ask = (enum state_ask)pod->ask,
	                          .ended = (enum state_ended)pod->ended,
	                          .next_pending = pod->next_pending};
}

bool ends_pod(const struct sched *sched, const struct sched_pod *pod)
{
	(void)sched;
	return pod->phase != PHASE_NONE && !has_place(pod) &&
	       pod->ask == STATE_ASK_DELETE;
}

/* Whose node is gone does not run any more. What has no spec can not be placed again. */
enum state_end ends_of(const struct sched *sched, const struct sched_pod *pod)
{
	struct pod_state state = state_of(pod);
	enum state_end end;

	if (pod->phase == PHASE_NONE)
		return STATE_END_NONE;
	if (has_place(pod) && state.ended == STATE_ENDED_NOT && pod->listed == 0 &&
	    is_gone(sched, pod))
		state.ended = STATE_ENDED_GONE;
	if ((pod->flags & POD_TAINTED) != 0 && pod->phase == STATE_BOUND &&
	    state.ask == STATE_ASK_NONE)
		state.ask = STATE_ASK_EVICT;
	end = state_end(&state);
	return end == STATE_END_PENDING && pod->rev[FACT_SPEC] == 0 ? STATE_END_REMOVE
	                                                            : end;
}

/* Or it is others', and our node's taints drive it away. */
static bool is_ours(const struct sched *sched, const struct sched_pod *pod)
{
	const struct sched_partition *part = &sched->partition[pod->key[0]];
	bool may = part->owned ? part->open && !part->quiet
	                       : (pod->flags & POD_TAINTED) != 0;

	return may && pod->rev[FACT_STATE] != 0 &&
	       (pod->flags & (POD_BAD_STATE | POD_REMOVED | POD_RESET)) == 0 &&
	       pod->call == 0 && pod->place == POD_IDLE;
}

static enum where wanted(const struct sched *sched, const struct sched_pod *pod)
{
	if (!is_ours(sched, pod) || ends_of(sched, pod) == STATE_END_NONE)
		return NOWHERE;
	return where_is(sched, pod);
}

bool ends_alone(const struct sched *sched, const struct sched_pod *pod)
{
	return wanted(sched, pod) == ALONE;
}

static void link_to(struct sched *sched, struct sched_pod *pod, struct pl_list *list)
{
	pl_list_add_tail(list, &pod->link);
	pod->linked = LINKED_ENDING;
	sched->ending++;
}

/* It is to leave a node of others, which is not known here: so it has to be. */
static void look_abroad(struct sched *sched, const struct sched_pod *pod)
{
	uint32_t partition;

	if (!is_ours(sched, pod) || ends_of(sched, pod) == STATE_END_NONE ||
	    partition_of_node(sched_text(sched, pod->at[0]),
	                      sched_text(sched, pod->at[1]), sched->opts.partitions,
	                      &partition, NULL) != PL_OK ||
	    sched->partition[partition].owned)
		return;
	visit_need(sched, partition);
}

void ends_settle(struct sched *sched, struct sched_pod *pod)
{
	enum where where = wanted(sched, pod);
	struct sched_node *node = where == AT_NODE ? node_at(sched, pod->at) : NULL;

	if (pod->linked == LINKED_ENDING || pod->linked == LINKED_ASTRAY)
		pod_unlink(sched, pod);
	if (pod->linked != LINKED_NOT)
		return;
	if (where == NOWHERE) {
		if (has_place(pod) && pod->listed == 0 && pod_is_owned(sched, pod)) {
			pl_list_add_tail(&sched->astray, &pod->link);
			pod->linked = LINKED_ASTRAY;
			look_abroad(sched, pod);
		}
		return;
	}
	if (sched->now_ms < sched->ends_ms) {
		link_to(sched, pod, &sched->ends_later);
		return;
	}
	listed_set_node(sched, pod, node);
	link_to(sched, pod, node == NULL ? &sched->ends : &node->ending);
	if (node == NULL)
		return;
	turn_take(sched, node);
	node_ready(sched, node);
}

uint64_t ends_again_ms(const struct sched *sched)
{
	if (sched->astray_due && !pl_list_empty(&sched->astray))
		return 0;
	return pl_list_empty(&sched->ends_later) ? UINT64_MAX : sched->ends_ms;
}

void ends_pause(struct sched *sched)
{
	sched->ends_ms = sched->now_ms + ENDS_PAUSE_MS;
}

/* A partition was opened, or a node is not there any more. */
static void look_for_astray(struct sched *sched)
{
	struct pl_list *last = sched->astray.prev;
	bool more = sched->astray_due && !pl_list_empty(&sched->astray);

	sched->astray_due = false;
	while (more) {
		struct pl_list *link = sched->astray.next;

		more = link != last; /* those that stay go to the end */
		ends_settle(sched, PL_LIST_ITEM(link, struct sched_pod, link));
	}
}

void ends_again(struct sched *sched)
{
	look_for_astray(sched);
	if (pl_list_empty(&sched->ends_later) || sched->now_ms < sched->ends_ms)
		return;
	PL_LIST_EACH (link, &sched->ends_later)
		ends_settle(sched, PL_LIST_ITEM(link, struct sched_pod, link));
}
