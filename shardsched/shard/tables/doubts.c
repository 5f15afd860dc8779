/*
 * What does not agree: a state that names a node of ours which does not list the pod; a
 * pod that is listed while its state says otherwise; an alloc that says something else
 * than what its pods use. For a moment that is normal, since all these are watched apart.
 * When it stays so it is told: mending it is not the scheduler's business.
 */
#include "shardsched/shard/ends/ends.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"

enum { DOUBT_MS = 5000 };

static bool is_empty(const struct sched *sched)
{
	return pl_list_empty(&sched->doubts[0]) && pl_list_empty(&sched->doubts[1]) &&
	       pl_list_empty(&sched->odd[0]) && pl_list_empty(&sched->odd[1]);
}

static void add(struct sched *sched, struct pl_list *fresh, struct pl_list *link)
{
	if (is_empty(sched))
		sched->doubts_ms = sched->now_ms + DOUBT_MS;
	pl_list_add_tail(fresh, link);
}

/* -- pods ---------------------------------------------------------------- */

static bool is_known(const struct sched *sched, uint32_t partition)
{
	const struct sched_partition *part = &sched->partition[partition];

	return part->owned && part->open;
}

static bool is_doubtful(const struct sched *sched, const struct sched_pod *pod)
{
	bool placed = pod->phase == STATE_BOUND || pod->phase == STATE_TERMINATING;
	const struct sched_node *node;

	if (!is_known(sched, pod->key[0]) || pod->place != POD_IDLE)
		return false;
	/* What is known of a node of somebody else may be old. */
	if (!placed)
		return pod->listed > 0 &&
		       (pod->node == NULL || node_is_home(sched, pod->node));
	node = node_find(sched, sched_text(sched, pod->at[0]),
	                 sched_text(sched, pod->at[1]));
	if (node != NULL && listed_find(node, pod) != UINT32_MAX)
		return pod->listed != 1;
	return pod->listed > 0 || (node != NULL && is_known(sched, node->partition) &&
	                           node->rev[FACT_ALLOC] != 0 && !node->bad);
}

void doubt_pod(struct sched *sched, struct sched_pod *pod)
{
	bool is = is_doubtful(sched, pod);

	if (!is)
		pod->flags &= (uint16_t)~POD_DOUBTED;
	if (pod->linked == LINKED_DOUBT && !is)
		pod_unlink(sched, pod);
	if (is && pod->linked == LINKED_ASTRAY)
		pod_unlink(sched, pod);
	if (!is || pod->linked != LINKED_NOT || (pod->flags & POD_DOUBTED) != 0)
		return;
	add(sched, &sched->doubts[0], &pod->link);
	pod->linked = LINKED_DOUBT;
}

static void tell_pod(struct sched *sched, struct sched_pod *pod)
{
	const struct keys_id id = {.kind = KEYS_STATE,
	                           .partition = pod->key[0],
	                           .scope = sched_text(sched, pod->key[1]),
	                           .name = sched_text(sched, pod->key[2])};
	struct pl_err err;

	pod_unlink(sched, pod);
	if (!is_doubtful(sched, pod)) {
		ends_settle(sched, pod);
		return;
	}
	pod->flags |= POD_DOUBTED;
	pl_err_set(&err, PL_INVALID, "%s",
	           pod->listed == 0 ? "its node's alloc does not list it"
	                            : "it is listed by an alloc that it does not name");
	tell_garbled(sched, &id, &err);
	ends_settle(sched, pod);
}

/* -- nodes ---------------------------------------------------------------- */

void doubt_node(struct sched *sched, struct sched_node *node)
{
	if (!node->told && pl_list_empty(&node->odd))
		add(sched, &sched->odd[0], &node->odd);
}

static void tell_node(struct sched *sched, struct sched_node *node)
{
	const struct keys_id id = {.kind = KEYS_ALLOC,
	                           .partition = node->partition,
	                           .scope = sched_text(sched, node->key[0]),
	                           .name = sched_text(sched, node->key[1])};
	struct pl_err err;

	pl_list_del(&node->odd);
	node->told = true;
	pl_err_set(&err, PL_INVALID, "used: not the sum of the pods that it lists");
	tell_garbled(sched, &id, &err);
}

/* -- time ------------------------------------------------------------------ */

static void age(struct pl_list *fresh, struct pl_list *old)
{
	PL_LIST_EACH (link, fresh) {
		pl_list_del(link);
		pl_list_add_tail(old, link);
	}
}

void doubts_run(struct sched *sched)
{
	if (is_empty(sched) || sched->now_ms < sched->doubts_ms)
		return;
	PL_LIST_EACH (link, &sched->doubts[1])
		tell_pod(sched, PL_LIST_ITEM(link, struct sched_pod, link));
	PL_LIST_EACH (link, &sched->odd[1])
		tell_node(sched, PL_LIST_ITEM(link, struct sched_node, odd));
	age(&sched->doubts[0], &sched->doubts[1]);
	age(&sched->odd[0], &sched->odd[1]);
	sched->doubts_ms = sched->now_ms + DOUBT_MS;
}

uint64_t doubts_deadline_ms(const struct sched *sched)
{
	return is_empty(sched) ? UINT64_MAX : sched->doubts_ms;
}
