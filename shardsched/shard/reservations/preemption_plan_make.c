/* Makes a plan of what the search for victims has found. */
#include <stdlib.h>

#include "shardsched/preempt/preempt.h"
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/preemption_plan.h"
#include "store/base/alloc.h"

enum { VICTIMS_AT_ONCE = 48 };

static struct sched_pod *pod_of_placed(const struct sched_node *node, uint32_t placed)
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

static struct preemption_plan *plan_new(uint32_t victims)
{
	struct preemption_plan *plan = pl_calloc(1, sizeof *plan);

	if (plan == NULL)
		return NULL;
	plan->victim = pl_calloc(victims + 1, sizeof(void *));
	plan->limit = VICTIMS_AT_ONCE;
	if (plan->victim != NULL)
		return plan;
	free(plan);
	return NULL;
}

static bool is_leaving(const struct sched_node *node, const struct sched_pod *pod)
{
	uint32_t i = alloc_entry_find(node, pod);

	return i != UINT32_MAX && node->listed[i].leaving;
}

/* The victim can be told to leave. The outcome of another plan has to be known first; and
 * while a pod's state is not what its node's alloc says, one of the two is old. */
static bool victim_may_go(const struct sched *sched, const struct sched_node *node,
                          const struct sched_pod *victim)
{
	if (plan_is_sent(pod_plan(sched, victim)) || plan_is_sent(victim->victim_of))
		return false;
	return victim->stage != POD_IDLE || is_leaving(node, victim) ||
	       !pod_is_owned(sched, victim) || pod_is_at(victim, node);
}

/* The writer of that alloc wrote the pod's state, too; the state was deleted or
 * overwritten since. By what is known the pod cannot be told to leave, now or later. */
static bool has_no_state(const struct sched *sched, const struct sched_node *node,
                         const struct sched_pod *victim)
{
	const struct sched_partition *part = &sched->partition[victim->key[0]];

	return part->owned && part->open && victim->stage == POD_IDLE &&
	       victim->txn == 0 && !is_leaving(node, victim) &&
	       !pod_is_at(victim, node) &&
	       part->upto[SCHED_SCHEDULES] >= node->rev[FACT_ALLOC];
}

/* The pod is not chosen again until its state is known: another node may do. */
static void exempt_stateless(struct sched *sched, struct sched_node *node,
                             struct sched_pod *const *victim, uint32_t victims)
{
	for (uint32_t i = 0; i < victims; i++) {
		if (!has_no_state(sched, node, victim[i]))
			continue;
		victim[i]->flags |= POD_NO_STATE;
		plan_mark_victim(sched, node, victim[i]);
	}
}

/* The known state may be of another time, when the pod was elsewhere, or gone. */
static void read_victim_state(struct sched *sched, struct sched_node *node,
                              struct sched_pod *victim)
{
	if (victim->phase != STATE_BOUND || !pod_is_at(victim, node)) {
		victim->phase = PHASE_NONE;
		victim->rev[FACT_STATE] = 0;
	}
	if (victim->rev[FACT_STATE] != 0)
		return;
	victim->asks_state = true;
	spec_reads_want(sched, victim, node->rev[FACT_ALLOC]);
}

/* A pod that only waits there is decided again, and need not be told. */
static void add_victim(struct sched *sched, struct preemption_plan *plan,
                       struct sched_pod *victim)
{
	struct sched_node *node = plan->node;

	if (victim->stage == POD_ASSUMED) {
		pod_redecide(sched, victim);
		return;
	}
	if (is_leaving(node, victim))
		return;
	preemption_cancel_of(sched, victim);
	victim->victim_of = plan;
	plan->victim[plan->victims++] = victim;
	plan_mark_victim(sched, node, victim);
	if (!pod_is_owned(sched, victim))
		read_victim_state(sched, node, victim);
}

static bool plan_make(struct sched *sched, struct sched_pod *pod, struct sched_node *node,
                      struct sched_pod *const *victim, uint32_t victims)
{
	struct preemption_plan *plan = plan_new(victims);
	const struct pl_map_node *twin;
	struct pl_err err = {0};

	if (plan == NULL ||
	    reservation_plan(sched, node, pod, sched->wall_ms + RESERVATION_MS, &err) !=
	            PL_OK) {
		if (plan == NULL)
			pl_err_set(&err, PL_NOMEM, "make room for a pod");
		else
			free(plan->victim);
		free(plan);
		report_trouble(sched, &err);
		return false;
	}
	plan->pod = pod;
	plan->node = node;
	plan->leavers = victims;
	PL_ASSERT(!pod_is_victim(pod));
	node->plan = plan;
	twin = pl_map_add(&sched->plans, &plan->by_pod, plan_key(pod));
	PL_ASSERT(twin == NULL);
	for (uint32_t i = 0; i < victims && node->plan == plan; i++)
		add_victim(sched, plan, victim[i]);
	/* without memory for the nomination the node has left the snapshot */
	if (node->plan != plan)
		return false;
	if (!disruption_plan(sched, plan)) {
		preemption_cancel(sched, plan);
		return false;
	}
	if (disruption_exempt_victims(sched,
	                              /* other victims are looked for; or none, until
	                               * budgets allow it */
	                              plan)) {
		preemption_cancel(sched, plan);
		plans_mark_all(sched);
		return false;
	}
	plan->fits = reservations_fit(sched, plan);
	node_set_ready(sched, node);
	return true;
}

/* Another pod's plan there gives way to a pod of higher priority. */
static bool is_node_free(struct sched *sched, struct sched_node *node,
                         const struct sched_pod *pod)
{
	const struct preemption_plan *plan = node->plan;

	if (plan != NULL && plan->state != PREEMPTION_PLAN_SENT &&
	    plan->pod->spec->priority < pod->spec->priority)
		preemption_cancel(sched, node->plan);
	return node->plan == NULL && node->batched == 0;
}

/* Makes the plan as far as that can be begun now; if not, the pod is tried again soon. */
void plan_try(struct sched *sched, struct sched_pod *pod,
              const struct preempt_outcome *found)
{
	struct sched_node *node = sched->by_slot[found->node];
	struct sched_pod **victim = pl_calloc(found->victims + 1, sizeof(void *));
	bool may = victim != NULL;
	struct pl_err err;

	if (victim == NULL) {
		pl_err_set(&err, PL_NOMEM, "make room for a pod");
		report_trouble(sched, &err);
		return;
	}
	/* Checked before anything is cancelled, which may place pods anew. */
	for (uint32_t i = 0; i < found->victims; i++) {
		victim[i] = pod_of_placed(node, found->victim[i]);
		may = may && victim_may_go(sched, node, victim[i]);
	}
	if (!may)
		exempt_stateless(sched, node, victim, found->victims);
	may = may && is_node_free(sched, node, pod);
	if (may) /* the pod is not where it was to leave for another pod */
		preemption_cancel(sched, pod->victim_of);
	if (may && node->plan == NULL)
		(void)plan_make(sched, pod, node, victim, found->victims);
	free(victim);
}

void preemption_reconcile(struct sched *sched, struct sched_pod *victim)
{
	struct preemption_plan *plan = victim->victim_of;
	struct sched_node *node = plan->node;

	if (plan->state == PREEMPTION_PLAN_SENT || is_leaving(node, victim))
		return;
	if (victim->rev[FACT_STATE] == 0 && !pod_is_owned(sched, victim)) {
		if (victim->linked == LINKED_SPEC_WANTED || victim->txn != 0)
			return;
		if ((victim->flags & POD_NO_STATE) == 0) {
			read_victim_state(sched, node, victim);
			return;
		}
	}
	if (victim->stage == POD_IDLE && !pod_is_at(victim, node)) {
		bool pinned = victim->pinned;

		remote_list_set_stale(sched, node->partition);
		victim->pinned = true; /* the caller still uses the victim */
		preemption_cancel(sched, plan);
		victim->pinned = pinned;
		return;
	}
	node_set_ready(sched, node);
}

void preemption_give_up(struct sched *sched, struct sched_pod *pod)
{
	preemption_cancel(sched, pod_plan(sched, pod));
	if (pod->nominated != NULL && pod_plan(sched, pod) == NULL)
		reservation_give_up(sched, pod->nominated, pod);
}
