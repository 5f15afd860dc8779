/*
 * Preemption: when a cycle has found no node, other pods may have to leave.
 *
 *	decided --> the snapshot has it: victims are marked, the pod is nominated
 *	   |        and the plan waits at the node
 *	   v
 *	one txn: the states of the victims (Terminating, to be placed again), the pod's
 *	   |     own state, the alloc with the leaving pods and the nomination
 *	   v
 *	the victims leave (termination.c), the pod is tried again with its nomination,
 *	and its bind is written without it (reservation.c)
 *
 * A plan holds as long as its reasons: an event about the node or the pod ends it, and
 * the pod is tried again. Once the txn is applied nothing is kept here: the reservation
 * is the nomination, and the next owner finds it.
 */
#include "shardsched/shard/reservations/preemption.h"

#include "shardsched/preempt/preempt.h"
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/metrics/record.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/preemption_plan.h"

/* Looks for victims on the nodes that the last cycle looked at. */
static void find_victims(struct sched *sched, const struct cycle_outcome *outcome,
                         uint64_t draw, struct preempt_outcome *out)
{
	struct preempt_request job = {
		.preempt = sched->preempt,
		.last = outcome,
		.opts = {.draw = draw},
		.out = {.code = VERDICT_UNSCHEDULABLE, .node = SNAPSHOT_NONE}};
	struct verdict say;

	cycle_set_post_filter_ctx(sched->cycle, &job);
	(void)cycle_post_filter(sched->cycle, &say);
	cycle_set_post_filter_ctx(sched->cycle, NULL);
	*out = job.out;
}

/* The highest priority among the pods that would have to leave. */
static int32_t highest_priority(const struct sched *sched,
                                const struct preempt_outcome *found)
{
	int32_t most = INT32_MIN;

	for (uint32_t i = 0; i < found->victims; i++) {
		const struct placed_pod *placed =
			&sched->snapshot.placed[found->victim[i]];
		int32_t priority = placed->view->spec->priority;

		most = priority > most ? priority : most;
	}
	return most;
}

/* No remote pod can be less important than the local ones that would have to leave. */
static bool is_good_locally(const struct sched *sched,
                            const struct preempt_outcome *found, int32_t least)
{
	return found->code == VERDICT_SUCCESS && found->violations == 0 &&
	       highest_priority(sched, found) <= least;
}

static bool try_local(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                      struct cycle_outcome *outcome)
{
	const struct pod_self self = {.name = pod->key[2],
	                              .uid = pod_uid(sched, pod),
	                              .nominated = pod->nominated == NULL
	                                                   ? SNAPSHOT_NONE
	                                                   : pod->nominated->slot,
	                              .created_ms = pod->created_ms};
	struct fw_class *class;
	struct pl_err err = {0};

	if (class_registry_fw(sched->class_registry, pool_class_of(pod->queue.class),
	                      &class, &err) != PL_OK)
		return false;
	cycle_run(sched->cycle, class, &self, draw, outcome);
	return outcome->result == CYCLE_NONE;
}

/* The local nodes were looked at after all known ones: the latter are reported. */
static enum preemption_result try_all(struct sched *sched, struct sched_pod *pod,
                                      uint64_t draw, struct cycle_outcome *outcome)
{
	if (!remote_run_cycle(sched, pod, draw, outcome))
		return PREEMPTION_DONE;
	return outcome->result == CYCLE_NONE ? PREEMPTION_NONE : PREEMPTION_WAITS;
}

/* Victims among all nodes; and while remote nodes are not known, local ones if no remote
 * node could be a better choice. */
static enum preemption_result find_or_wait(struct sched *sched, struct sched_pod *pod,
                                           uint64_t draw, bool asked,
                                           struct cycle_outcome *outcome,
                                           struct preempt_outcome *found)
{
	int32_t least;

	if (!remote_sees_all(sched) && pod->queue.class->lane != LANE_RULED) {
		least = remote_least_priority(sched, pod->spec);
		if (!try_local(sched, pod, draw, outcome))
			return PREEMPTION_WAITS;
		find_victims(sched, outcome, draw, found);
		if (found->waits || least == INT32_MAX ||
		    is_good_locally(sched, found, least))
			return asked && found->code == VERDICT_UNSCHEDULABLE
			               ? try_all(sched, pod, draw, outcome)
			               : PREEMPTION_NONE;
		remote_await_view(sched, pod);
		return PREEMPTION_DONE;
	}
	fleet_view_touch(sched);
	if (!asked && !remote_run_cycle(sched, pod, draw, outcome))
		return PREEMPTION_DONE;
	if (outcome->result != CYCLE_NONE)
		return PREEMPTION_WAITS;
	find_victims(sched, outcome, draw, found);
	return PREEMPTION_NONE;
}

/* Before any pod has to leave: there may be room that is not known, or that is being made
 * already. */
static bool awaits_remote_state(struct sched *sched, struct sched_pod *pod)
{
	if (!load_is_awaited(sched) && !nomination_lists_remote(sched, pod))
		return false;
	remote_await(sched, pod);
	return true;
}

/* Nothing tells when the victims have left a node that was only listed. */
static void retry_soon(struct sched *sched, const struct sched_pod *pod)
{
	const struct sched_node *node = pod->nominated;

	if (node != NULL && !sched->partition[node->partition].owned)
		(void)remote_list_is_fresh(sched, node->partition);
}

enum preemption_result preemption_try(struct sched *sched, struct sched_pod *pod,
                                      uint64_t draw, bool asked,
                                      struct cycle_outcome *outcome, uint64_t *refused_by)
{
	struct preempt_outcome found = {.code = VERDICT_UNSCHEDULABLE};
	enum preemption_result result;
	struct pl_err err = {0};

	if (pod_plan(sched, pod) != NULL || plan_is_sent(pod->victim_of))
		return PREEMPTION_WAITS;
	if ((pod->spec->flags & SPEC_NEVER_PREEMPTS) != 0)
		return PREEMPTION_NONE;
	if (awaits_remote_state(sched, pod))
		return PREEMPTION_DONE;
	result = find_or_wait(sched, pod, draw, asked, outcome, &found);
	if (result != PREEMPTION_NONE)
		return result;
	record_preemption(sched, found.code == VERDICT_SUCCESS ? found.victims : 0);
	if (found.waits) {
		retry_soon(sched, pod);
		return PREEMPTION_WAITS;
	}
	if (found.code == VERDICT_ERROR) { /* whether it helps is not known */
		(void)pl_err_set(&err, PL_NOMEM, "look for victims");
		report_trouble(sched, &err);
		return PREEMPTION_WAITS;
	}
	*refused_by |= found.refused_by;
	if (found.code != VERDICT_SUCCESS)
		return PREEMPTION_NONE;
	/* else its status is being written */
	if (pod->txn == 0 && disruption_known(sched))
		plan_try(sched, pod, &found);
	return PREEMPTION_WAITS;
}
