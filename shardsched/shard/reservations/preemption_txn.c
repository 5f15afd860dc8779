/*
 * Plans in txns. The victims' states are written like those of any pod that is to leave
 * (termination_txn.c); the alloc along with them, by whatever puts the node into the txn.
 */
#include <stdio.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/preemption_plan.h"
#include "shardsched/shard/termination/termination.h"
#include "shardsched/shard/txn/commit.h"
#include "shardsched/shard/txn/inflight.h"

enum { MESSAGE_SIZE = 160 };

/* The victim is not told yet that it has to leave. */
static bool is_victim_due(const struct sched_node *node, const struct sched_pod *victim)
{
	uint32_t i = alloc_entry_find(node, victim);

	return i != UINT32_MAX && !node->listed[i].leaving &&
	       node->listed[i].end == STATE_TRANSITION_NONE;
}

bool preemption_goes(const struct sched *sched, const struct sched_node *node)
{
	const struct preemption_plan *plan = node->plan;

	if (plan == NULL || plan->state == PREEMPTION_PLAN_SENT ||
	    sched->disruption.rev == 0 || plan->pod->txn != 0)
		return false;
	for (uint32_t i = 0; i < plan->victims; i++) {
		const struct sched_pod *victim = plan->victim[i];

		if (is_victim_due(node, victim) &&
		    (victim->txn != 0 || victim->rev[FACT_STATE] == 0 ||
		     !pod_is_at(victim, node)))
			return false;
	}
	return disruption_may_go(sched, plan);
}

static enum pl_code print_pod_state(struct sched *sched, struct shard_txn *txn,
                                    const struct preemption_plan *plan,
                                    struct pl_span *out, struct pl_err *err)
{
	const struct sched_pod *pod = plan->pod;
	const struct sched_reservation *reservation = reservation_of_pod(plan->node, pod);
	char message[MESSAGE_SIZE];
	char uid[UUID_TEXT_LEN];
	struct pod_state state = {
		.phase = STATE_PENDING,
		.uid = pod_uid_text(sched, pod, uid),
		.shard = pl_span_str(sched->shard),
		.epoch = sched->partition[pod->key[0]].epoch,
		.attempts = pod->attempts + pod->queue.attempts,
		.reason = PL_SPAN_LIT("preempting"),
		.since_ms = pod->phase == STATE_PENDING ? pod->since_ms : sched->wall_ms,
	};
	enum pl_code code;

	(void)snprintf(message, sizeof message,
	               "room is made on %.*s/%.*s, where %u pod%s to leave",
	               PL_SPAN_ARG(sched_text(sched, plan->node->key[0])),
	               PL_SPAN_ARG(sched_text(sched, plan->node->key[1])), plan->leavers,
	               plan->leavers == 1 ? " has" : "s have");
	state.message = pl_span_str(message);
	nomination_state(sched, pod, &state);
	/* the nomination is in this txn's alloc */
	if (reservation != NULL && reservation->state == RESERVATION_ADDING) {
		state.nominated_cluster = sched_text(sched, plan->node->key[0]);
		state.nominated_node = sched_text(sched, plan->node->key[1]);
	}
	pl_buf_clear(&sched->buf, sched->buf.cap);
	code = state_print(&state, &sched->buf, err);
	if (code != PL_OK)
		return code;
	*out = pl_arena_dup(&txn->arena, pl_buf_span(&sched->buf));
	return out->at == NULL ? pl_err_set(err, PL_NOMEM, "write a state") : PL_OK;
}

static enum pl_code put_pod_state(struct sched *sched, struct shard_txn *txn,
                                  const struct preemption_plan *plan, struct pl_err *err)
{
	struct sched_pod *pod = plan->pod;
	struct builder_decision decided = txn_decided(sched, pod);
	enum pl_code code = print_pod_state(sched, txn, plan, &decided.state, err);

	if (code != PL_OK)
		return code;
	if (!builder_put_state(&txn->builder, &decided))
		return txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	txn_add(txn, &(struct txn_entry){.kind = ENTRY_STATUS,
	                                 .pod = pod,
	                                 .value = decided.state,
	                                 .since_ms = pod->phase == STATE_PENDING
	                                                     ? pod->since_ms
	                                                     : sched->wall_ms,
	                                 .compared = true});
	return PL_OK;
}

static uint32_t victims_due(const struct preemption_plan *plan)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->victims; i++)
		count += is_victim_due(plan->node, plan->victim[i]);
	return count;
}

enum pl_code preemption_put(struct sched *sched, struct shard_txn *txn,
                            struct sched_node *node, struct pl_err *err)
{
	struct preemption_plan *plan = node->plan;
	enum pl_code code = PL_OK;
	uint32_t taken = txn->entries - txn->extra_entries + 1 + COMMIT_NODE_ENTRIES;
	uint32_t left = taken < txn->entry_cap ? txn->entry_cap - taken : 0;
	uint32_t from = txn->entries;

	if (left == 0)
		return PL_BUSY;
	if (left > plan->limit)
		left = plan->limit;
	plan->is_last = victims_due(plan) <= left;
	for (uint32_t i = 0; i < plan->victims && code == PL_OK; i++) {
		if (!is_victim_due(node, plan->victim[i]))
			continue;
		if (left-- == 0)
			break;
		code = termination_put_one(sched, txn, plan->victim[i], node, err);
	}
	if (code == PL_OK)
		code = disruption_put(sched, txn, plan, from, err);
	if (code != PL_OK)
		return code;
	plan_set_state(plan, PREEMPTION_PLAN_PUTTING);
	if (plan->is_last)
		reservation_send_planned(sched, node, plan->pod);
	return PL_OK;
}

/* The pod's state is compared, so that nothing is done for a pod that is gone. It names
 * the node if the nomination stands in this txn's alloc, and not if that was crowded out:
 * then the nomination comes with the last victims. */
enum pl_code preemption_report(struct sched *sched, struct shard_txn *txn,
                               struct sched_node *node, struct pl_err *err)
{
	const struct preemption_plan *plan = node->plan;

	if (plan == NULL || plan->state != PREEMPTION_PLAN_PUTTING ||
	    (plan->reported && !plan->is_last &&
	     nomination_is_reported(sched, plan->pod)))
		return PL_OK;
	return put_pod_state(sched, txn, plan, err);
}

/* Victims cannot be told, or not for that pod. Until the repair one of the victims is
 * exempt, or the pod is refused; else the same plan would be found and fail again. */
static void plan_give_up(struct sched *sched, struct preemption_plan *plan)
{
	struct sched_node *node = plan->node;
	struct sched_pod *pod = plan->pod, *due = NULL;

	for (uint32_t i = 0; i < plan->victims && due == NULL; i++)
		due = is_victim_due(node, plan->victim[i]) ? plan->victim[i] : NULL;
	if (due != NULL) /* the victim is marked when the plan ends */
		due->exempt = true;
	preemption_cancel(sched, plan);
	if (due != NULL || pod->stage != POD_QUEUED)
		return;
	pod_withdraw(sched, pod);
	pod->flags |= POD_REFUSED;
}

void preemption_shrink(struct sched *sched, struct sched_node *node,
                       const struct pl_err *err)
{
	struct preemption_plan *plan = node->plan;

	if (plan->limit > 1) {
		plan->limit /= 2;
		return;
	}
	report_repair(sched, err);
	plan_give_up(sched, plan);
}

void preemption_seal(struct sched_node *node)
{
	struct preemption_plan *plan = node->plan;

	if (plan == NULL || plan->state != PREEMPTION_PLAN_PUTTING)
		return;
	plan_set_state(plan, PREEMPTION_PLAN_SENT);
	plan->reported = true;
	disruption_seal(plan, node->txn);
}

void preemption_undo(struct sched *sched, struct sched_node *node)
{
	struct preemption_plan *plan = node->plan;

	if (plan == NULL || plan->state != PREEMPTION_PLAN_PUTTING)
		return;
	plan_set_state(plan, PREEMPTION_PLAN_WAITS);
	reservation_unsend_planned(sched, node, plan->pod);
}
