/*
 * Plans in calls. The victims' states are written as those of any pod that is to leave
 * (ends_commit.c); the alloc with them, by whoever takes the node into the call.
 */
#include <stdio.h>

#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/commit/commit.h"
#include "shardsched/shard/ends/ends.h"
#include "shardsched/shard/room/plans.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"

enum { MESSAGE_SIZE = 160 };

/* Still to be told that it has to go. */
static bool is_due(const struct sched_node *node, const struct sched_pod *victim)
{
	uint32_t i = listed_find(node, victim);

	return i != UINT32_MAX && !node->listed[i].leaving &&
	       node->listed[i].end == STATE_END_NONE;
}

bool preempts_go(const struct sched *sched, const struct sched_node *node)
{
	const struct sched_plan *plan = node->plan;

	if (plan == NULL || plan->sent || sched->shields.rev == 0 || plan->pod->call != 0)
		return false;
	for (uint32_t i = 0; i < plan->victims; i++) {
		const struct sched_pod *victim = plan->victim[i];

		if (is_due(node, victim) &&
		    (victim->call != 0 || victim->rev[FACT_STATE] == 0 ||
		     !pod_is_at(victim, node)))
			return false;
	}
	return shields_go(sched, plan);
}

static enum pl_code print(struct sched *sched, struct call *call,
                          const struct sched_plan *plan, struct pl_span *out,
                          struct pl_err *err)
{
	const struct sched_pod *pod = plan->pod;
	const struct sched_hold *hold = hold_of_pod(plan->node, pod);
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
	hold_say(sched, pod, &state);
	if (hold != NULL && hold->sent && !hold->out) { /* it comes with it */
		state.nominated_cluster = sched_text(sched, plan->node->key[0]);
		state.nominated_node = sched_text(sched, plan->node->key[1]);
	}
	pl_buf_clear(&sched->buf, sched->buf.cap);
	code = state_print(&state, &sched->buf, err);
	if (code != PL_OK)
		return code;
	*out = pl_arena_dup(&call->arena, pl_buf_span(&sched->buf));
	return out->at == NULL ? pl_err_set(err, PL_NOMEM, "write a state") : PL_OK;
}

static enum pl_code put_pod(struct sched *sched, struct call *call,
                            const struct sched_plan *plan, struct pl_err *err)
{
	struct sched_pod *pod = plan->pod;
	struct book_decided decided = call_decided(sched, pod);
	enum pl_code code = print(sched, call, plan, &decided.state, err);

	if (code != PL_OK)
		return code;
	if (!book_put_state(&call->book, &decided))
		return call->book.code == PL_OK ? PL_BUSY : call->book.code;
	call_item_add(call, &(struct call_item){.pod = pod,
	                                        .value = decided.state,
	                                        .since_ms = pod->phase == STATE_PENDING
	                                                            ? pod->since_ms
	                                                            : sched->wall_ms,
	                                        .compared = true,
	                                        .tells = true});
	return PL_OK;
}

static uint32_t due_of(const struct sched_plan *plan)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->victims; i++)
		count += is_due(plan->node, plan->victim[i]);
	return count;
}

enum pl_code preempts_put(struct sched *sched, struct call *call, struct sched_node *node,
                          struct pl_err *err)
{
	struct sched_plan *plan = node->plan;
	enum pl_code code = PL_OK;
	uint32_t taken = call->items - call->extras + 1 + COMMIT_NODE_ITEMS;
	uint32_t left = taken < call->item_cap ? call->item_cap - taken : 0;
	uint32_t from = call->items;

	if (left == 0)
		return PL_BUSY;
	if (left > plan->limit)
		left = plan->limit;
	plan->whole = due_of(plan) <= left;
	for (uint32_t i = 0; i < plan->victims && code == PL_OK; i++) {
		if (!is_due(node, plan->victim[i]))
			continue;
		if (left-- == 0)
			break;
		code = ends_put_one(sched, call, plan->victim[i], node, err);
	}
	if (code == PL_OK)
		code = shields_put(sched, call, plan, from, err);
	if (code != PL_OK)
		return code;
	plan->putting = true;
	if (plan->whole)
		hold_send_planned(sched, node, plan->pod);
	return PL_OK;
}

/* So that nothing is done for a pod that has gone meanwhile. It names the node if the
 * hold stands in this transaction's alloc, and not if that was crowded out: then the hold
 * comes with the last victims. */
enum pl_code preempts_say(struct sched *sched, struct call *call, struct sched_node *node,
                          struct pl_err *err)
{
	const struct sched_plan *plan = node->plan;

	if (plan == NULL || !plan->putting ||
	    (plan->told && !plan->whole && hold_is_said(sched, plan->pod)))
		return PL_OK;
	return put_pod(sched, call, plan, err);
}

/* Nobody can be told to go, or not for that pod: until the repair it is one of others who
 * goes, or the pod is set aside. Else all would be found again, and fail again. */
static void give_up(struct sched *sched, struct sched_plan *plan)
{
	struct sched_node *node = plan->node;
	struct sched_pod *pod = plan->pod, *due = NULL;

	for (uint32_t i = 0; i < plan->victims && due == NULL; i++)
		due = is_due(node, plan->victim[i]) ? plan->victim[i] : NULL;
	if (due != NULL) /* as it is marked when the plan ends */
		due->spared = true;
	preempts_cancel(sched, plan);
	if (due != NULL || pod->place != POD_QUEUED)
		return;
	pod_withdraw(sched, pod);
	pod->flags |= POD_REFUSED;
}

void preempts_shrink(struct sched *sched, struct sched_node *node,
                     const struct pl_err *err)
{
	struct sched_plan *plan = node->plan;

	if (plan->limit > 1) {
		plan->limit /= 2;
		return;
	}
	tell_repair(sched, err);
	give_up(sched, plan);
}

void preempts_seal(struct sched_node *node)
{
	struct sched_plan *plan = node->plan;

	if (plan == NULL || !plan->putting)
		return;
	plan->putting = false;
	plan->sent = plan->told = true;
	shields_seal(plan, node->call);
}

void preempts_undo(struct sched *sched, struct sched_node *node)
{
	struct sched_plan *plan = node->plan;

	if (plan == NULL || !plan->putting)
		return;
	plan->putting = false;
	hold_unsend_planned(sched, node, plan->pod);
}
