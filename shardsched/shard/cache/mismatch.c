/*
 * Mismatches: a state that names a local node which does not list the pod; a pod that is
 * listed while its state says otherwise; an alloc whose sums are not those of its pods. A
 * mismatch is normal for a moment, since these keys are watched apart. One that lasts for
 * five to ten seconds is reported; repairing it is not the scheduler's business (placet
 * fsck does it).
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/termination/termination.h"

enum { DOUBT_MS = 5000 };

static bool has_no_mismatch(const struct sched *sched)
{
	return pl_list_empty(&sched->mismatched_pods[0]) &&
	       pl_list_empty(&sched->mismatched_pods[1]) &&
	       pl_list_empty(&sched->mismatched[0]) &&
	       pl_list_empty(&sched->mismatched[1]);
}

static void set_deadline(struct sched *sched)
{
	if (has_no_mismatch(sched))
		sched->mismatch_ms = sched->now_ms + DOUBT_MS;
}

/* -- pods -------------------------------------------------------------------- */

static bool is_partition_known(const struct sched *sched, uint32_t partition)
{
	const struct sched_partition *part = &sched->partition[partition];

	return part->owned && part->open;
}

static bool is_pod_mismatched(const struct sched *sched, const struct sched_pod *pod)
{
	bool placed = pod->phase == STATE_BOUND || pod->phase == STATE_TERMINATING;
	const struct sched_node *node;

	if (!is_partition_known(sched, pod->key[0]) || pod->stage != POD_IDLE)
		return false;
	/* The known alloc of another shard's node may be old. */
	if (!placed)
		return pod->listed > 0 &&
		       (pod->node == NULL || node_is_local(sched, pod->node));
	node = node_find(sched, sched_text(sched, pod->at[0]),
	                 sched_text(sched, pod->at[1]));
	if (node != NULL && alloc_entry_find(node, pod) != UINT32_MAX)
		return pod->listed != 1;
	return pod->listed > 0 ||
	       (node != NULL && is_partition_known(sched, node->partition) &&
	        node->alloc >= NODE_ALLOC_READ);
}

void mismatch_suspect_pod(struct sched *sched, struct sched_pod *pod)
{
	bool is = is_pod_mismatched(sched, pod);

	if (!is)
		pod->flags &= (uint16_t)~POD_MISMATCH_REPORTED;
	if (pod->linked == LINKED_MISMATCH && !is)
		pod_unlink(sched, pod);
	if (is && pod->linked == LINKED_ORPHAN)
		pod_unlink(sched, pod);
	if (!is || pod->linked != LINKED_NOT || (pod->flags & POD_MISMATCH_REPORTED) != 0)
		return;
	set_deadline(sched);
	pod_link(pod, &sched->mismatched_pods[0], LINKED_MISMATCH);
}

static void report_pod(struct sched *sched, struct sched_pod *pod)
{
	const struct keys_id id = {.kind = KEYS_STATE,
	                           .partition = pod->key[0],
	                           .scope = sched_text(sched, pod->key[1]),
	                           .name = sched_text(sched, pod->key[2])};
	struct pl_err err;

	pod_unlink(sched, pod);
	if (!is_pod_mismatched(sched, pod)) {
		termination_reconcile(sched, pod);
		return;
	}
	pod->flags |= POD_MISMATCH_REPORTED;
	pl_err_set(&err, PL_INVALID, "%s",
	           pod->listed == 0 ? "its node's alloc does not list it"
	                            : "an alloc lists it that its state does not name");
	report_malformed(sched, &id, &err);
	termination_reconcile(sched, pod);
}

/* -- nodes ------------------------------------------------------------------- */

void mismatch_suspect_node(struct sched *sched, struct sched_node *node)
{
	if (node->sums == NODE_SUMS_REPORTED || !pl_list_empty(&node->mismatched))
		return;
	set_deadline(sched);
	pl_list_add_tail(&sched->mismatched[0], &node->mismatched);
}

static void report_node(struct sched *sched, struct sched_node *node)
{
	const struct keys_id id = {.kind = KEYS_ALLOC,
	                           .partition = node->partition,
	                           .scope = sched_text(sched, node->key[0]),
	                           .name = sched_text(sched, node->key[1])};
	struct pl_err err;

	pl_list_del(&node->mismatched);
	node_set_sums(node, NODE_SUMS_REPORTED);
	pl_err_set(&err, PL_INVALID, "used: not the sum of the pods that it lists");
	report_malformed(sched, &id, &err);
}

/* -- time -------------------------------------------------------------------- */

static void age_lists(struct pl_list *fresh, struct pl_list *old)
{
	PL_LIST_EACH (link, fresh) {
		pl_list_del(link);
		pl_list_add_tail(old, link);
	}
}

void mismatch_run(struct sched *sched)
{
	if (has_no_mismatch(sched) || sched->now_ms < sched->mismatch_ms)
		return;
	PL_LIST_EACH (link, &sched->mismatched_pods[1])
		report_pod(sched, PL_LIST_ITEM(link, struct sched_pod, link));
	PL_LIST_EACH (link, &sched->mismatched[1])
		report_node(sched, PL_LIST_ITEM(link, struct sched_node, mismatched));
	age_lists(&sched->mismatched_pods[0], &sched->mismatched_pods[1]);
	age_lists(&sched->mismatched[0], &sched->mismatched[1]);
	sched->mismatch_ms = sched->now_ms + DOUBT_MS;
}

uint64_t mismatch_deadline_ms(const struct sched *sched)
{
	return has_no_mismatch(sched) ? UINT64_MAX : sched->mismatch_ms;
}
