/*
 * Preemption: after a cycle that found nothing, other pods may have to go.
 *
 *	decided --> the snapshot has it: victims are doomed, the pod is nominated
 *	   |        and the plan waits at the node
 *	   v
 *	one transaction: states of the victims (Terminating, to be placed again), the
 *	|        pod's own, the alloc with who leaves and with a hold for the pod
 *	   |
 *	   v
 *	the victims go (ends.c), the pod is tried again, with its hold, and its bind is
 *	written without it (holds.c)
 *
 * A plan is as good as what it was made for: news of the node, or of the pod, end it, and
 * the pod is tried again. Once the transaction stands nothing is kept here: the hold is
 * the nomination, and whoever takes over finds it.
 */
#include "shardsched/shard/room/preempts.h"

#include "shardsched/preempt/preempt.h"
#include "shardsched/shard/room/plans.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"

/* After a cycle that found nothing: on the nodes that it looked at. */
static void find(struct sched *sched, const struct outcome *outcome, uint64_t draw,
                 struct preempt_outcome *out)
{
	struct preempt_job job = {
		.preempt = sched->preempt,
		.last = outcome,
		.opts = {.draw = draw},
		.out = {.code = VERDICT_UNSCHEDULABLE, .node = SNAPSHOT_NONE}};
	struct verdict say;

	cycle_lend(sched->cycle, &job);
	(void)cycle_post_filter(sched->cycle, &say);
	cycle_lend(sched->cycle, NULL);
	*out = job.out;
}

/* The most important of those who would have to go. */
static int32_t highest(const struct sched *sched, const struct preempt_outcome *found)
{
	int32_t most = INT32_MIN;

	for (uint32_t i = 0; i < found->victims; i++) {
		const struct placed *placed = &sched->snapshot.placed[found->victim[i]];
		int32_t priority = placed->view->spec->priority;

		most = priority > most ? priority : most;
	}
	return most;
}

/* Nobody elsewhere can be less important than those who would have to go at home. */
static bool is_good_at_home(const struct sched *sched,
                            const struct preempt_outcome *found, int32_t least)
{
	return found->code == VERDICT_SUCCESS && found->violations == 0 &&
	       highest(sched, found) <= least;
}

static bool ask_home(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                     struct outcome *outcome)
{
	const struct pod_self self = {.name = pod->key[2],
	                              .uid = pod_uid(sched, pod),
	                              .nominated = pod->nominated == NULL
	                                                   ? SNAPSHOT_NONE
	                                                   : pod->nominated->slot,
	                              .created_ms = pod->created_ms};
	struct fw_class *class;
	struct pl_err err = {0};

	if (pool_fw(sched->pool, pool_class_of(pod->queue.class), &class, &err) != PL_OK)
		return false;
	cycle_run(sched->cycle, class, &self, draw, outcome);
	return outcome->result == CYCLE_NONE;
}

/* Home was asked after all that are known: they are what is told of. */
static enum preempts_said ask_all(struct sched *sched, struct sched_pod *pod,
                                  uint64_t draw, struct outcome *outcome)
{
	if (!abroad_ask(sched, pod, draw, outcome))
		return PREEMPTS_DONE;
	return outcome->result == CYCLE_NONE ? PREEMPTS_NONE : PREEMPTS_WAIT;
}

/* What preemption says of all nodes; and as long as the others are not known: of home, if
 * nobody elsewhere could be a better choice. */
static enum preempts_said look(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                               bool asked, struct outcome *outcome,
                               struct preempt_outcome *found)
{
	int32_t least;

	if (!abroad_sees_all(sched) && pod->queue.class->lane != LANE_WIDE) {
		least = abroad_least(sched, pod->spec);
		if (!ask_home(sched, pod, draw, outcome))
			return PREEMPTS_WAIT;
		find(sched, outcome, draw, found);
		if (found->waits || least == INT32_MAX ||
		    is_good_at_home(sched, found, least))
			return asked && found->code == VERDICT_UNSCHEDULABLE
			               ? ask_all(sched, pod, draw, outcome)
			               : PREEMPTS_NONE;
		abroad_await_view(sched, pod);
		return PREEMPTS_DONE;
	}
	view_use(sched);
	if (!asked && !abroad_ask(sched, pod, draw, outcome))
		return PREEMPTS_DONE;
	if (outcome->result != CYCLE_NONE)
		return PREEMPTS_WAIT;
	find(sched, outcome, draw, found);
	return PREEMPTS_NONE;
}

/* Before anybody has to go: there may be room that is not known, or be made already. */
static bool awaits_news(struct sched *sched, struct sched_pod *pod)
{
	if (!load_is_awaited(sched) && !hold_visit(sched, pod))
		return false;
	abroad_await(sched, pod);
	return true;
}

/* Nobody tells when they have left a node that was visited. */
static void look_again(struct sched *sched, const struct sched_pod *pod)
{
	const struct sched_node *node = pod->nominated;

	if (node != NULL && !sched->partition[node->partition].owned)
		(void)visit_is_fresh(sched, node->partition);
}

enum preempts_said preempts_try(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                                bool asked, struct outcome *outcome, uint64_t *refused_by)
{
	struct preempt_outcome found = {.code = VERDICT_UNSCHEDULABLE};
	enum preempts_said said;
	struct pl_err err = {0};

	if (pod_plan(sched, pod) != NULL || plan_is_sent(pod->doomed_by))
		return PREEMPTS_WAIT;
	if ((pod->spec->flags & SPEC_NEVER_PREEMPTS) != 0)
		return PREEMPTS_NONE;
	if (awaits_news(sched, pod))
		return PREEMPTS_DONE;
	said = look(sched, pod, draw, asked, outcome, &found);
	if (said != PREEMPTS_NONE)
		return said;
	if (found.waits) {
		look_again(sched, pod);
		return PREEMPTS_WAIT;
	}
	if (found.code == VERDICT_ERROR) { /* nobody knows whether it helps */
		(void)pl_err_set(&err, PL_NOMEM, "look for pods that may have to go");
		tell_trouble(sched, &err);
		return PREEMPTS_WAIT;
	}
	*refused_by |= found.refused_by;
	if (found.code != VERDICT_SUCCESS)
		return PREEMPTS_NONE;
	if (pod->call == 0 && shields_known(sched)) /* else its state is being told */
		plan_try(sched, pod, &found);
	return PREEMPTS_WAIT;
}
