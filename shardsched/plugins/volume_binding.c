/*
 * VolumeBinding refuses nodes from which a pod's volumes can not be reached, or where no
 * volume can be had for its claims.
 *
 * Reserve assumes what the claims get on the chosen node (assumed.h), so that the next
 * pod does not take it. The driver of the binding reads there what to write before the
 * pod is bound; PreBind only checks that the assumptions still hold.
 */
#include "shardsched/plugins/volume_binding.h"

#include "shardsched/plugins/volume_plan.h"
#include "shardsched/snapshot/assumed.h"

/* -- configuration ----------------------------------------------------------------------- */

enum { BIND_TIMEOUT_S = 600 };

static enum pl_code args_parse(struct model *model, struct pl_json json, void *args_,
                               struct pl_err *err)
{
	static const char *const known[] = {"apiVersion", "kind", "bindTimeoutSeconds",
	                                    NULL};
	struct volume_binding_args *args = args_;
	enum pl_code code;

	(void)model;
	args->timeout_s = BIND_TIMEOUT_S;
	if (json.node == NULL)
		return PL_OK;
	code = pl_json_only(json, known, err);
	if (code == PL_OK)
		code = pl_json_int_in(json, "bindTimeoutSeconds", PL_JSON_OPTIONAL,
		                      (struct pl_json_range){0, INT32_MAX},
		                      &args->timeout_s, err);
	return code;
}

/* -- pre-filter: local volumes name their nodes ------------------------------------------ */

static enum verdict_code fail_pod(struct verdict *verdict)
{
	verdict_add(verdict, VERDICT_ERROR, &(struct reason){.code = REASON_FAILED});
	return VERDICT_ERROR;
}

static bool has_value(const struct selector *selector, const struct selector_row *row,
                      uint32_t value)
{
	for (uint32_t i = 0; i < row->count; i++)
		if (selector_values(selector, row)[i] == value)
			return true;
	return false;
}

/* Whether every row of the term that lists host names lists this one. */
static bool term_names(const struct selector *term, uint32_t hostname, uint32_t name)
{
	for (uint32_t i = 0; i < term->count; i++)
		if (term->row[i].key == hostname && term->row[i].op == SELECTOR_IN &&
		    !has_value(term, &term->row[i], name))
			return false;
	return true;
}

static const struct selector_row *find_names(const struct selector *term,
                                             uint32_t hostname)
{
	for (uint32_t i = 0; i < term->count; i++)
		if (term->row[i].key == hostname && term->row[i].op == SELECTOR_IN)
			return &term->row[i];
	return NULL;
}

static void add_nodes(const struct snapshot *snapshot, uint32_t name,
                      struct pl_bitset set)
{
	uint32_t slot = snapshot_node_named(snapshot, name, SNAPSHOT_NONE);

	for (; slot != SNAPSHOT_NONE; slot = snapshot_node_named(snapshot, name, slot))
		pl_bitset_add(set, slot);
}

/* The nodes that the volume names by host name; false: it names none. */
static bool named_nodes(const struct snapshot *snapshot, const struct volume *volume,
                        struct pl_bitset set)
{
	uint32_t hostname = strings_find(&snapshot->model->strings,
	                                 PL_SPAN_LIT("kubernetes.io/hostname"));
	bool any = false;

	if (volume->source != VOLUME_ON_LOCAL || volume->reachable == NULL)
		return false;
	pl_bitset_clear(set);
	for (uint64_t i = 0; i < volume->reachable->count; i++) {
		const struct selector *term = volume->reachable->term[i].labels;
		const struct selector_row *row = find_names(term, hostname);

		for (uint32_t j = 0; row != NULL && j < row->count; j++) {
			uint32_t name = selector_values(term, row)[j];

			if (!term_names(term, hostname, name))
				continue;
			any = true;
			add_nodes(snapshot, name, set);
		}
	}
	return any;
}

/* The nodes that all local volumes name. If a volume is gone, no node is excluded: the
 * filter says so for each. */
static enum verdict_code narrow_to_local(const struct plugin_call *call,
                                         const struct volume_plan *plan,
                                         struct plugin_narrow *narrow,
                                         struct verdict *verdict)
{
	size_t bits = call->snapshot->capacity;
	struct pl_bitset all = {0}, one = {0};

	for (uint32_t i = 0; i < plan->bound_count; i++)
		if (plan->bound[i] == NULL)
			return VERDICT_SUCCESS;
	for (uint32_t i = 0; i < plan->bound_count; i++) {
		if (plan->bound[i]->source != VOLUME_ON_LOCAL)
			continue;
		if (one.word == NULL && pl_bitset_make(call->arena, bits, &one) != PL_OK)
			return fail_pod(verdict);
		if (!named_nodes(call->snapshot, plan->bound[i], one))
			continue;
		if (all.word != NULL) {
			pl_bitset_and(all, one);
			continue;
		}
		all = one;
		one = (struct pl_bitset){0};
	}
	narrow->only = all;
	return VERDICT_SUCCESS;
}

static enum verdict_code pre_filter(const struct plugin_call *call,
                                    struct plugin_narrow *narrow, struct verdict *verdict)
{
	struct volume_plan *plan = call->state;

	if (!spec_has_volumes(call->spec, CLAIM_KINDS))
		return VERDICT_SKIP;
	switch (volume_plan_make(call, plan, verdict)) {
	case PLAN_MADE:
		return narrow_to_local(call, plan, narrow, verdict);
	case PLAN_NOTHING:
		return VERDICT_SKIP;
	case PLAN_REFUSED:
		return VERDICT_UNRESOLVABLE;
	case PLAN_FAILED:
		break;
	}
	return fail_pod(verdict);
}

/* -- filter ------------------------------------------------------------------------------ */

static void filter_nodes(const struct plugin_call *call, struct node_span span)
{
	const struct volume_plan *plan = call->state;

	if (plan->anywhere)
		return;
	SPAN_EACH_WORD(i, span)
	for (uint64_t left = span.bits[i]; left != 0; left &= left - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(left);
		uint32_t slot = (span.word + i) * 64 + bit;

		if (volume_plan_judge(call->snapshot, plan, slot) != 0)
			span.bits[i] &= ~(UINT64_C(1) << bit);
	}
}

static void add_reasons(unsigned refusal, struct verdict *verdict)
{
	static const enum reason_code code[] = {REASON_VOLUME_NODE, REASON_VOLUME_NONE,
	                                        REASON_VOLUME_SPACE, REASON_VOLUME_GONE};

	for (unsigned i = 0; i < sizeof code / sizeof code[0]; i++)
		if ((refusal >> i & 1) != 0)
			verdict_add(verdict, VERDICT_UNRESOLVABLE,
			            &(struct reason){.code = (uint32_t)code[i]});
}

static void explain_refusal(const struct plugin_call *call, uint32_t slot,
                            struct verdict *verdict)
{
	add_reasons(volume_plan_judge(call->snapshot, call->state, slot), verdict);
}

/* -- reserve ----------------------------------------------------------------------------- */

static struct assumed_pod assuming_pod(const struct plugin_call *call)
{
	return (struct assumed_pod){call->spec->namespace, call->pod->name,
	                            call->pod->uid};
}

static enum pl_code assume_one(const struct plugin_call *call, uint32_t slot,
                               const struct plan_claim *it)
{
	const struct claim *claim = it->claim;
	struct assumed decision = {.claim = {claim->namespace, claim->name, 0}};

	if (it->chosen != NULL)
		decision.volume = it->chosen->name;
	else
		decision.node = call->snapshot->row[slot].node.name;
	return assumed_add(&call->change->catalog, assuming_pod(call), &decision, NULL);
}

/* Makes a plan of its own, since the cycle's plan is gone by the time of Reserve. */
static enum verdict_code reserve_volumes(const struct plugin_call *call, uint32_t slot,
                                         struct verdict *verdict)
{
	struct volume_plan plan;
	enum plan_result made;
	unsigned refusal;

	if (!spec_has_volumes(call->spec, CLAIM_KINDS))
		return VERDICT_SUCCESS;
	made = volume_plan_make(call, &plan, verdict);
	if (made == PLAN_REFUSED)
		return VERDICT_UNRESOLVABLE;
	if (made != PLAN_MADE)
		return fail_pod(verdict);
	refusal = volume_plan_judge(call->snapshot, &plan, slot);
	if (refusal != 0) {
		add_reasons(refusal, verdict);
		return VERDICT_UNRESOLVABLE;
	}
	for (uint32_t i = 0; i < plan.open_count; i++)
		if (assume_one(call, slot, &plan.open[i]) != PL_OK)
			return fail_pod(verdict);
	return VERDICT_SUCCESS;
}

static void unreserve_volumes(const struct plugin_call *call, uint32_t slot)
{
	(void)slot;
	assumed_forget(&call->change->catalog, assuming_pod(call));
}

static enum verdict_code pre_bind(const struct plugin_call *call, uint32_t slot,
                                  struct verdict *verdict)
{
	(void)slot;
	if (!assumed_holds(&call->snapshot->catalog, assuming_pod(call)))
		return fail_pod(verdict);
	return VERDICT_SUCCESS;
}

/* -- hint -------------------------------------------------------------------------------- */

/* Whether one of the pod's claims has no volume yet. */
static bool wants_a_volume(const struct plugin_call *call)
{
	const struct spec_volume *volume = spec_volumes(call->spec);

	if (!volume_claims_known(call))
		return true;
	for (unsigned i = 0; i < call->spec->volumes; i++) {
		const struct claim *claim;

		if (!volume_has_claim(&volume[i]))
			continue;
		claim = volume_claim(call->snapshot, claims_of_call(call), &volume[i]);
		if (claim == NULL || claim->volume == 0)
			return true;
	}
	return false;
}

/* A removed pod gives back what was assumed for it, and so does a claim that gets another
 * volume than the assumed one. */
static bool queueing_hint(const struct plugin_call *call, const struct queue_event *event)
{
	switch (event->kind) {
	case QUEUE_EV_POD_REMOVED:
		return wants_a_volume(call);
	case QUEUE_EV_PVC_CHANGED:
		return claims_hint(call, event) || wants_a_volume(call);
	default:
		return claims_hint(call, event);
	}
}

const struct plugin plugin_volume_binding = {
	.name = "VolumeBinding",
	.refusal = PLUGIN_REFUSES_UNRESOLVABLE,
	.events = QUEUE_ON(STORAGE_CLASS) | QUEUE_ON(PVC_ADDED) | QUEUE_ON(PVC_CHANGED) |
                  QUEUE_ON(PV_ADDED) | QUEUE_ON(PV_CHANGED) | QUEUE_ON(NODE_ADDED) |
                  QUEUE_ON(NODE_LABELS) | QUEUE_ON(CSI_NODE) | QUEUE_ON(CSI_DRIVER) |
                  QUEUE_ON(CSI_CAPACITY) | QUEUE_ON(POD_REMOVED),
	.hint = queueing_hint,
	.args_size = sizeof(struct volume_binding_args),
	.args_parse = args_parse,
	.epoch = volume_claims_epoch,
	.state_size = sizeof(struct volume_plan),
	.pre_filter = pre_filter,
	.filter = filter_nodes,
	.why = explain_refusal,
	.reserve = reserve_volumes,
	.unreserve = unreserve_volumes,
	.pre_bind = pre_bind,
};
