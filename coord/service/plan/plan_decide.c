#include "coord/service/plan/plan_int.h"

void plan_set_verdict(struct plan_op *op, uint32_t at, enum plan_verdict verdict)
{
	PL_ASSERT(!op->item[at].decided);
	op->pod[at].verdict = verdict;
	op->plan.verdicts[verdict]++;
	op->item[at].decided = true;
}

enum pl_code plan_set_message(struct plan_op *op, uint32_t at, struct pl_span message,
                              struct pl_err *err)
{
	op->pod[at].message = pl_arena_dup(&op->arena, message);
	if (op->pod[at].message.at == NULL && message.len > 0)
		return pl_err_set(err, PL_NOMEM, "keep a message of a plan");
	return PL_OK;
}

static void set_node(struct plan_op *op, uint32_t at, uint32_t slot)
{
	const struct node_row *row = &engine_snapshot(op->engine)->row[slot];
	const struct model *model = engine_model(op->engine);

	op->pod[at].cluster = model_text(model, row->cluster);
	op->pod[at].node = model_text(model, row->node.name);
	op->pod[at].added = op->is_added != NULL && op->is_added[slot];
}

enum pl_code plan_place(struct plan_op *op, uint32_t at, uint32_t slot,
                        struct pl_err *err)
{
	enum pl_code code = engine_assume(op->engine, &op->item[at].pod, slot, NULL, err);

	if (code != PL_OK)
		return code;
	op->refused = PLAN_NONE;
	set_node(op, at, slot);
	plan_set_verdict(op, at, PLAN_PLACED);
	return PL_OK;
}

/* -- without a decision ----------------------------------------------------- */

/* A pod of that name came before: it is one pod, with one node or none. */
static enum pl_code decide_twin(struct plan_op *op, uint32_t at, struct pl_err *err)
{
	const struct plan_pod *first = &op->pod[op->item[at].twin];
	struct plan_pod *pod = &op->pod[at];

	PL_ASSERT(op->item[op->item[at].twin].decided);
	pod->reasons = first->reasons;
	pod->cluster = first->cluster;
	pod->node = first->node;
	pod->added = first->added;
	plan_set_verdict(op, at,
	                 first->verdict == PLAN_PLACED ? PLAN_PRESENT : first->verdict);
	return plan_set_message(op, at, PL_SPAN_LIT("it comes twice in the plan"), err);
}

enum pl_code plan_may_decide(struct plan_op *op, uint32_t at, bool *may,
                             struct pl_err *err)
{
	const struct plan_item *item = &op->item[at];
	uint32_t slot;

	*may = false;
	if (!item->parsed) {
		plan_set_verdict(op, at, PLAN_REFUSED);
		return PL_OK;
	}
	if (item->twin != PLAN_NONE)
		return decide_twin(op, at, err);
	slot = engine_pod_slot(op->engine, &item->pod);
	if (slot != SNAPSHOT_NONE) {
		set_node(op, at, slot);
		plan_set_verdict(op, at, PLAN_PRESENT);
		return PL_OK;
	}
	if (item->pod.node != 0) {
		plan_set_verdict(op, at, PLAN_REFUSED);
		return plan_set_message(
			op, at,
			PL_SPAN_LIT("spec.nodeName: it names a node already; there is "
		                    "nothing to decide"),
			err);
	}
	*may = true;
	return store_snapshot_see_namespace(&op->cluster, op->pod[at].namespace, err);
}

static enum pl_code refuse_scheduler(struct plan_op *op, uint32_t at, struct pl_err *err)
{
	const struct pod *pod = &op->item[at].pod;
	const struct pl_span name =
		model_text(engine_model(op->engine), pod->spec->template->scheduler);
	struct pl_err why;

	(void)pl_err_set(&why, PL_INVALID,
	                 "spec.schedulerName: no shard schedules for '" PL_SPAN_FMT
	                 "': the configuration scheduler has no profile of that name",
	                 PL_SPAN_ARG(name));
	plan_set_verdict(op, at, PLAN_REFUSED);
	return plan_set_message(op, at, pl_span_str(why.msg), err);
}

/* -- one pod ---------------------------------------------------------------- */

/* Whether the pod is equal, for all that is looked at, to the one that was refused
 * last. */
static bool is_refused_again(const struct plan_op *op, uint32_t at)
{
	const struct model *model = engine_model(op->engine);
	const struct pod *pod = &op->item[at].pod, *last;
	struct identity_labels identity = pod_identity(pod), other;

	if (op->refused == PLAN_NONE)
		return false;
	last = &op->item[op->refused].pod;
	other = pod_identity(last);
	return pod->spec == last->spec && pod->nominated == 0 && last->nominated == 0 &&
	       identity_due_labels(model, pod->name, &identity) == 0 &&
	       identity_due_labels(model, last->name, &other) == 0;
}

static enum pl_code refuse_again(struct plan_op *op, uint32_t at, struct pl_err *err)
{
	const struct plan_pod *last = &op->pod[op->refused];

	op->pod[at].reasons = last->reasons;
	op->pod[at].preempts = last->preempts;
	plan_set_verdict(op, at, PLAN_UNSCHEDULABLE);
	return plan_set_message(op, at, last->message, err);
}

static void note_preemption(struct plan_op *op, uint32_t at,
                            const struct preempt_outcome *preempt)
{
	const struct model *model = engine_model(op->engine);
	const struct node_row *row;

	if (preempt->code != VERDICT_SUCCESS)
		return;
	row = &engine_snapshot(op->engine)->row[preempt->node];
	op->pod[at].preempts.cluster = model_text(model, row->cluster);
	op->pod[at].preempts.node = model_text(model, row->node.name);
	op->pod[at].preempts.victims = preempt->victims;
}

static enum pl_code refuse(struct plan_op *op, uint32_t at,
                           const struct engine_decision *decision, struct pl_err *err)
{
	enum pl_code code = plan_explain(op, at, decision, err);

	if (code != PL_OK)
		return code;
	if (decision->gated) {
		plan_set_verdict(op, at, PLAN_GATED);
	} else if (decision->outcome.result == CYCLE_ERROR) {
		plan_set_verdict(op, at, PLAN_FAILED);
	} else {
		if (decision->tried_preemption)
			note_preemption(op, at, &decision->preempt);
		plan_set_verdict(op, at, PLAN_UNSCHEDULABLE);
		op->refused = at;
	}
	return PL_OK;
}

static enum pl_code decide_pod(struct plan_op *op, uint32_t at, struct pl_err *err)
{
	struct engine_decision decision;
	enum pl_code code;

	if (is_refused_again(op, at))
		return refuse_again(op, at, err);
	code = engine_decide(op->engine, &op->item[at].pod, &decision, err);
	if (code == PL_NOTFOUND)
		return refuse_scheduler(op, at, err);
	if (code != PL_OK)
		return code;
	if (!decision.gated && decision.outcome.result == CYCLE_NODE)
		return plan_place(op, at, decision.outcome.node, err);
	return refuse(op, at, &decision, err);
}

enum pl_code plan_decide(struct plan_op *op, uint32_t at, struct pl_err *err)
{
	struct plan_gang *gang;
	enum pl_code code;
	bool may;

	if (op->item[at].decided)
		return PL_OK;
	code = plan_may_decide(op, at, &may, err);
	if (code != PL_OK || !may)
		return code;
	gang = plan_gang_of(op, at);
	return gang == NULL ? decide_pod(op, at, err) : plan_decide_gang(op, gang, err);
}
