/*
 * Binds a gang whose record is bound: on each node the reservation becomes its pods.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/gangs/gang_records.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/reservation.h"
#include "shardsched/shard/termination/termination.h"

enum { ARENA_CHUNK = 4 << 10, TELL_MS = 1000 };

/* The pod is not what was decided any more: it was deleted, replaced, or has run. */
static bool is_pod_over(const struct sched_pod *pod, const struct gang_plan_pod *is)
{
	const unsigned not_meant = POD_HAS_NODE_NAME | POD_ENDED | POD_BAD_SPEC |
	                           POD_BAD_STATE | POD_DELETED;

	if (pod == NULL || pod->rev[FACT_SPEC] != is->spec_rev || pod->listed > 0)
		return true;
	if (pod->phase != PHASE_NONE && pod->phase != STATE_PENDING)
		return true;
	return (pod->flags & not_meant) != 0 || termination_is_wanted(pod);
}

/* The pod was decided before its gang was bound. That it could not be decided now, for
 * want of a profile or of memory, and so is in no queue, does not matter. */
static bool pod_may_go(const struct sched_pod *pod)
{
	return pod->stage == POD_QUEUED ||
	       (pod->stage == POD_IDLE && (pod->flags & POD_REFUSED) != 0 &&
	        pod->spec != NULL);
}

/* The pods that are to be bound now. False: it is too early for some. Events about a pod
 * in a txn are deferred to its answer, and the pod may be one whose partition was lost
 * and came back since, so that nothing is known of it yet. A pod that was not kept for
 * want of memory is not known either, until all are listed anew. */
static bool gather_pods(struct sched *sched, const struct gang_work *work,
                        const struct gang_plan_node *is, struct sched_pod **pod,
                        uint32_t *count)
{
	*count = 0;
	if (sched->partition[work->gang->key[0]].missed[SCHED_SCHEDULES])
		return false;
	for (uint32_t i = 0; i < is->pods; i++) {
		struct sched_pod *it = gang_plan_find_pod(sched, work->gang, &is->pod[i]);

		if (it != NULL && it->txn != 0)
			return false;
		if (is_pod_over(it, &is->pod[i]))
			continue;
		if (!pod_may_go(it))
			return false;
		pod[(*count)++] = it;
	}
	return true;
}

/* Not even a pod alone fits: rules that select it were registered since it was bound.
 * Leaving pods that go along on that node take room only for a while. */
static void report_stuck(struct sched *sched, struct gang_work *work)
{
	const struct gang_record_entry *known = work->known;
	struct pl_err err = {0};

	if (work->reported || sched->now_ms < work->since_ms + TELL_MS)
		return;
	work->reported = true;
	pl_err_set(&err, PL_LIMIT,
	           "gang %.*s/%.*s is bound, and a member of it does not fit into a "
	           "transaction",
	           PL_SPAN_ARG(sched_text(sched, known->key[0])),
	           PL_SPAN_ARG(sched_text(sched, known->key[1])));
	report_trouble(sched, &err);
	gang_set_reason(
		sched, work->gang, REASON_GANG_LARGE,
		"it is bound, and does not fit into a transaction with the locks of "
		"the rules that concern it");
}

bool large_gang_bind_on(struct sched *sched, struct gang_work *work,
                        struct gang_step *step, const struct gang_plan_node *is)
{
	struct sched_node *node = gang_plan_find_node(sched, is);
	const struct sched_reservation *reservation =
		node == NULL ? NULL : reservation_of_gang(node, work->known->key);
	struct pl_arena arena;
	struct sched_pod **pod;
	uint32_t count;

	if (reservation == NULL)
		return false;
	if (node->txn != 0 || reservation_is_planned(reservation) || step->full)
		return true;
	pl_arena_init(&arena, ARENA_CHUNK, 0);
	pod = pl_arena_zalloc(&arena, is->pods, sizeof(struct sched_pod *));
	if (pod != NULL && gather_pods(sched, work, is, pod, &count) &&
	    gang_step_bind(sched, step, node, pod, count) == GANG_STEP_NEVER)
		report_stuck(sched, work);
	pl_arena_done(&arena);
	return true;
}
