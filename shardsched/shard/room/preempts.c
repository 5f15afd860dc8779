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

#include <stdlib.h>

#include "shardsched/preempt/preempt.h"
#include "shardsched/shard/tables/tables.h"
#include "store/base/alloc.h"

enum { VICTIMS_AT_ONCE = 48 };

/* -- a plan comes and goes ------------------------------------------------ */

static struct pl_span key_of(const struct sched_pod *pod)
{
	return pl_span(&pod->number, sizeof pod->number);
}

struct sched_plan *pod_plan(const struct sched *sched, const struct sched_pod *pod)
{
	struct pl_map_node *at;

	if (sched->plans.count == 0)
		return NULL;
	at = pl_map_get(&sched->plans, key_of(pod));
	return at == NULL ? NULL : PL_CONTAINER_OF(at, struct sched_plan, by_pod);
}

static void mark(struct sched *sched, struct sched_node *node,
                 const struct sched_pod *victim)
{
	uint32_t i = listed_find(node, victim);

	if (i != UINT32_MAX)
		listed_mark(sched, node, i);
}

static void plan_free(struct sched *sched, struct sched_plan *plan)
{
	shields_unplan(sched, plan);
	pl_map_del(&sched->plans, &plan->by_pod);
	plan->node->plan = NULL;
	for (uint32_t i = 0; i < plan->victims; i++) {
		plan->victim[i]->doomed_by = NULL;
		mark(sched, plan->node, plan->victim[i]);
		pod_tidy(sched, plan->victim[i]);
	}
	free(plan->victim);
	free(plan);
}

enum pl_code preempts_new(struct sched *sched, struct pl_err *err)
{
	if (strings_add(&sched->model.strings, PL_SPAN_LIT("preempted"),
	                &sched->preempted) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "make a scheduler");
	return preempt_new(&sched->preempt, err);
}

void preempts_free(struct sched *sched)
{
	PL_MAP_EACH (at, &sched->nodes) {
		struct sched_node *node = PL_CONTAINER_OF(at, struct sched_node, by_name);

		if (node->plan != NULL)
			plan_free(sched, node->plan);
	}
	strings_unref(&sched->model.strings, sched->preempted);
	preempt_free(sched->preempt);
	sched->preempt = NULL;
}

void preempts_cancel(struct sched *sched, struct sched_plan *plan)
{
	struct sched_node *node;
	struct sched_pod *pod;

	if (plan == NULL || plan->sent)
		return;
	node = plan->node;
	pod = plan->pod;
	plan_free(sched, plan);
	hold_unplan(sched, node, pod);
	node_ready(sched, node);
}

void preempts_cancel_of(struct sched *sched, const struct sched_pod *pod)
{
	preempts_cancel(sched, pod_plan(sched, pod));
	preempts_cancel(sched, pod->doomed_by);
}

void preempts_stand(struct sched *sched, struct sched_node *node)
{
	struct sched_plan *plan = node->plan;
	struct sched_pod *pod;

	if (plan == NULL || !plan->sent)
		return;
	plan->sent = false;
	pod = plan->pod;
	sched->figures.preempted++;
	if (!plan->whole) /* the hold comes with the rest */
		return;
	hold_planned(sched, node, pod);
	plan_free(sched, plan);
	pod_tidy(sched, pod);
}

void preempts_fail(struct sched *sched, struct sched_node *node)
{
	struct sched_plan *plan = node->plan;

	if (plan == NULL || !plan->sent)
		return;
	plan->sent = false;
	for (uint32_t i = 0; i < plan->victims; i++)
		if (!pod_is_owned(sched, plan->victim[i])) /* may be old: read again */
			plan->victim[i]->rev[FACT_STATE] = 0;
	preempts_cancel(sched, plan);
}

void preempts_check(struct sched *sched, struct sched_node *node)
{
	struct sched_plan *plan = node->plan;

	if (plan != NULL && !plan->sent && plan->fits && !holds_fit(sched, plan))
		preempts_cancel(sched, plan);
}

/* The one that the pod had may have been in the way of others, as long as not all have
 * gone that have to. */
void preempts_keep(struct sched *sched, struct sched_node *node)
{
	struct sched_plan *plan = node->plan;
	struct sched_pod *pod;
	struct pl_err err = {0};

	if (plan == NULL || plan->sent)
		return;
	pod = plan->pod;
	if (!node->reset && pod->place == POD_QUEUED) { /* else: decided, or gone */
		if (hold_of_pod(node, pod) != NULL ||
		    hold_plan(sched, node, pod, sched->wall_ms + HOLD_MS, &err) == PL_OK)
			return;
		tell_trouble(sched, &err);
	}
	preempts_cancel(sched, plan);
	pod_tidy(sched, pod);
}

/* -- from the decision to a plan -------------------------------------------- */

static struct sched_pod *pod_placed(const struct sched_node *node, uint32_t placed)
{
	for (uint32_t i = 0; i < node->count; i++)
		if (node->listed[i].placed == placed)
			return node->listed[i].pod;
	PL_LIST_EACH (link, &node->waiting) {
		struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);

		if (pod->placed == placed)
			return pod;
	}
	PL_UNREACHABLE("a pod on a node");
}

static struct sched_plan *plan_new(uint32_t victims)
{
	struct sched_plan *plan = pl_calloc(1, sizeof *plan);

	if (plan == NULL)
		return NULL;
	plan->victim = pl_calloc(victims + 1, sizeof(void *));
	plan->limit = VICTIMS_AT_ONCE;
	if (plan->victim != NULL)
		return plan;
	free(plan);
	return NULL;
}

static bool is_sent(const struct sched_plan *plan)
{
	return plan != NULL && plan->sent;
}

static bool leaves(const struct sched_node *node, const struct sched_pod *pod)
{
	uint32_t i = listed_find(node, pod);

	return i != UINT32_MAX && node->listed[i].leaving;
}

/* It can be told to go from there. What came of another plan has to be heard of first;
 * and as long as a pod's state is not what its node's alloc says, one of them is old. */
static bool may_go(const struct sched *sched, const struct sched_node *node,
                   const struct sched_pod *victim)
{
	if (is_sent(pod_plan(sched, victim)) || is_sent(victim->doomed_by))
		return false;
	return victim->place != POD_IDLE || leaves(node, victim) ||
	       !pod_is_owned(sched, victim) || pod_is_at(victim, node);
}

/* Whoever put that alloc put its state, which somebody has deleted since, or written
 * over: by what is known it can not be told, now or later. */
static bool is_mute(const struct sched *sched, const struct sched_node *node,
                    const struct sched_pod *victim)
{
	const struct sched_partition *part = &sched->partition[victim->key[0]];

	return part->owned && part->open && victim->place == POD_IDLE &&
	       victim->call == 0 && !leaves(node, victim) && !pod_is_at(victim, node) &&
	       part->upto[SCHED_SCHEDULES] >= node->rev[FACT_ALLOC];
}

/* Until its state is heard of it is not chosen again: another node may do. */
static void spare_mute(struct sched *sched, struct sched_node *node,
                       struct sched_pod *const *victim, uint32_t victims)
{
	for (uint32_t i = 0; i < victims; i++) {
		if (!is_mute(sched, node, victim[i]))
			continue;
		victim[i]->flags |= POD_MUTE;
		mark(sched, node, victim[i]);
	}
}

/* What is known of it may be of another time, when it was elsewhere, or left. */
static void want_state(struct sched *sched, struct sched_node *node,
                       struct sched_pod *victim)
{
	if (victim->phase != STATE_BOUND || !pod_is_at(victim, node)) {
		victim->phase = PHASE_NONE;
		victim->rev[FACT_STATE] = 0;
	}
	if (victim->rev[FACT_STATE] != 0)
		return;
	victim->asks_state = true;
	specs_want(sched, victim, node->rev[FACT_ALLOC]);
}

/* Whoever only waits there is decided again, and need not be told. */
static void doom(struct sched *sched, struct sched_plan *plan, struct sched_pod *victim)
{
	struct sched_node *node = plan->node;

	if (victim->place == POD_WAITS) {
		pod_redo(sched, victim);
		return;
	}
	if (leaves(node, victim))
		return;
	preempts_cancel_of(sched, victim);
	victim->doomed_by = plan;
	plan->victim[plan->victims++] = victim;
	mark(sched, node, victim);
	if (!pod_is_owned(sched, victim))
		want_state(sched, node, victim);
}

static bool plan_make(struct sched *sched, struct sched_pod *pod, struct sched_node *node,
                      struct sched_pod *const *victim, uint32_t victims)
{
	struct sched_plan *plan = plan_new(victims);
	const struct pl_map_node *twin;
	struct pl_err err = {0};

	if (plan == NULL ||
	    hold_plan(sched, node, pod, sched->wall_ms + HOLD_MS, &err) != PL_OK) {
		if (plan == NULL)
			pl_err_set(&err, PL_NOMEM, "make room for a pod");
		else
			free(plan->victim);
		free(plan);
		tell_trouble(sched, &err);
		return false;
	}
	plan->pod = pod;
	plan->node = node;
	plan->leavers = victims;
	PL_ASSERT(!pod_is_doomed(pod));
	node->plan = plan;
	twin = pl_map_add(&sched->plans, &plan->by_pod, key_of(pod));
	PL_ASSERT(twin == NULL);
	for (uint32_t i = 0; i < victims && node->plan == plan; i++)
		doom(sched, plan, victim[i]);
	if (node->plan != plan) /* without memory for a hold the node was lost */
		return false;
	if (!shields_plan(sched, plan)) {
		preempts_cancel(sched, plan);
		return false;
	}
	plan->fits = holds_fit(sched, plan);
	node_ready(sched, node);
	return true;
}

/* Somebody else's plan is in the way: it gives way to who is more important. */
static bool is_free(struct sched *sched, struct sched_node *node,
                    const struct sched_pod *pod)
{
	const struct sched_plan *plan = node->plan;

	if (plan != NULL && !plan->sent &&
	    plan->pod->spec->priority < pod->spec->priority)
		preempts_cancel(sched, node->plan);
	return node->plan == NULL && node->bundled == 0;
}

/* As far as it can be begun now; if not, the pod is tried again soon. */
static void plan_try(struct sched *sched, struct sched_pod *pod,
                     const struct preempt_outcome *found)
{
	struct sched_node *node = sched->by_slot[found->node];
	struct sched_pod **victim = pl_calloc(found->victims + 1, sizeof(void *));
	bool may = victim != NULL;
	struct pl_err err;

	if (victim == NULL) {
		pl_err_set(&err, PL_NOMEM, "make room for a pod");
		tell_trouble(sched, &err);
		return;
	}
	/* Before anything is called off: it may be placed anew by that. */
	for (uint32_t i = 0; i < found->victims; i++) {
		victim[i] = pod_placed(node, found->victim[i]);
		may = may && may_go(sched, node, victim[i]);
	}
	if (!may)
		spare_mute(sched, node, victim, found->victims);
	may = may && is_free(sched, node, pod);
	if (may) /* it is not where it was to leave for somebody else */
		preempts_cancel(sched, pod->doomed_by);
	if (may && node->plan == NULL)
		(void)plan_make(sched, pod, node, victim, found->victims);
	free(victim);
}

void preempts_settle(struct sched *sched, struct sched_pod *victim)
{
	struct sched_plan *plan = victim->doomed_by;
	struct sched_node *node = plan->node;

	if (plan->sent || leaves(node, victim))
		return;
	if (victim->rev[FACT_STATE] == 0 && !pod_is_owned(sched, victim)) {
		if (victim->linked == LINKED_WANTED || victim->call != 0)
			return;
		if ((victim->flags & POD_MUTE) == 0) {
			want_state(sched, node, victim);
			return;
		}
	}
	if (victim->place == POD_IDLE && !pod_is_at(victim, node)) {
		bool pinned = victim->pinned;

		sched->partition[node->partition].visit.stale = true;
		victim->pinned = true; /* whoever settles it is not through yet */
		preempts_cancel(sched, plan);
		victim->pinned = pinned;
		return;
	}
	node_ready(sched, node);
}

void preempts_give_up(struct sched *sched, struct sched_pod *pod)
{
	preempts_cancel(sched, pod_plan(sched, pod));
	if (pod->nominated != NULL && pod_plan(sched, pod) == NULL)
		hold_give_up(sched, pod->nominated, pod);
}

/* -- whose nodes are looked at ------------------------------------------------- */

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
			return PREEMPTS_NONE;
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

	if (pod_plan(sched, pod) != NULL || is_sent(pod->doomed_by))
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
	*refused_by |= found.refused_by;
	if (found.code != VERDICT_SUCCESS)
		return PREEMPTS_NONE;
	if (pod->call == 0 && shields_known(sched)) /* else its state is being told */
		plan_try(sched, pod, &found);
	return PREEMPTS_WAIT;
}
