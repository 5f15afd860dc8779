/*
 * InterPodAffinity: a pod goes near pods that its affinity matches, away from pods that
 * its anti-affinity matches, and away from pods whose anti-affinity matches it.
 *
 * Nothing is counted here: the tally of each rule has the set of nodes in domains with
 * matching pods, so the filter is one operation on words for each rule. While a probe
 * changes such sets they are not brought up to date for the few nodes that it asks about:
 * these are looked up by their domain.
 */
#include "shardsched/plugins/inter_pod_affinity.h"

#include <stdlib.h>

#include "shardsched/plugins/node_event.h"
#include "store/base/alloc.h"

enum { HARD_WEIGHT_DEFAULT = 1, HARD_WEIGHT_MOST = 100 };

/* -- configuration ----------------------------------------------------------------------- */

static enum pl_code args_parse(struct model *model, struct pl_json json, void *args_,
                               struct pl_err *err)
{
	static const char *const known[] = {"apiVersion", "kind", "hardPodAffinityWeight",
	                                    "ignorePreferredTermsOfExistingPods", NULL};
	static const struct pl_json_range range = {0, HARD_WEIGHT_MOST};
	struct inter_pod_args *args = args_;
	int64_t weight = HARD_WEIGHT_DEFAULT;
	enum pl_code code;

	(void)model;
	*args = (struct inter_pod_args){.hard_weight = HARD_WEIGHT_DEFAULT};
	if (json.node == NULL)
		return PL_OK;
	code = pl_json_only(json, known, err);
	if (code == PL_OK)
		code = pl_json_int_in(json, "hardPodAffinityWeight", PL_JSON_OPTIONAL,
		                      range, &weight, err);
	if (code == PL_OK)
		code = pl_json_bool(json, "ignorePreferredTermsOfExistingPods",
		                    PL_JSON_OPTIONAL, &args->ignore_others, err);
	args->hard_weight = (int32_t)weight;
	return code;
}

/* -- a class ----------------------------------------------------------------------------- */

static void close_class(struct snapshot *snapshot, const struct plugin_call *call)
{
	struct inter_pod_class *class_state = call->class_state;
	uint32_t count = class_state->affinity + class_state->anti + class_state->soft;

	while (count > 0)
		tally_close(snapshot, class_state->at[--count].tally);
	free(class_state->at);
	*class_state = (struct inter_pod_class){0};
}

static bool has_tally(const struct inter_pod_tally *at, uint32_t count,
                      const struct tally *tally)
{
	for (uint32_t i = 0; i < count; i++)
		if (at[i].tally == tally)
			return true;
	return false;
}

/* All affinity terms are matched together, and counted by the topology key of each. */
static enum pl_code open_affinity(struct snapshot *snapshot, const struct spec *spec,
                                  struct inter_pod_class *class_state, struct pl_err *err)
{
	const struct spec_term *row = spec_affinity(spec);
	uint32_t count = spec->template->affinity.count;
	const struct pod_term **term;
	struct matcher *matcher;
	enum pl_code code;

	if (count == 0)
		return PL_OK;
	term = pl_malloc(count * sizeof(void *));
	if (term == NULL)
		return pl_err_set(err, PL_NOMEM, "terms of pod affinity: out of memory");
	for (uint32_t i = 0; i < count; i++)
		term[i] = row[i].term;
	code = matcher_open_terms(snapshot, term, count, &matcher, err);
	free(term);
	if (code != PL_OK)
		return code;
	for (uint32_t i = 0; i < count && code == PL_OK; i++) {
		struct tally *tally;

		code = tally_open(snapshot, matcher, row[i].term->topology_key, &tally,
		                  err);
		if (code == PL_OK &&
		    has_tally(class_state->at, class_state->affinity, tally))
			tally_close(snapshot, tally);
		else if (code == PL_OK)
			class_state->at[class_state->affinity++].tally = tally;
	}
	matcher_close(snapshot, matcher);
	return code;
}

static enum pl_code open_term(struct snapshot *snapshot, const struct pod_term *term,
                              struct tally **out, struct pl_err *err)
{
	struct matcher *matcher;
	enum pl_code code = matcher_open_terms(snapshot, &term, 1, &matcher, err);

	if (code != PL_OK)
		return code;
	code = tally_open(snapshot, matcher, term->topology_key, out, err);
	matcher_close(snapshot, matcher);
	return code;
}

/* Each term alone; at points to the first free entry. */
static enum pl_code open_terms(struct snapshot *snapshot, const struct spec_term *row,
                               uint32_t rows, int sign, struct inter_pod_tally *at,
                               uint32_t *count, struct pl_err *err)
{
	for (uint32_t i = 0; i < rows; i++) {
		enum pl_code code;

		code = open_term(snapshot, row[i].term, &at[*count].tally, err);
		if (code != PL_OK)
			return code;
		at[(*count)++].weight = sign * row[i].weight;
	}
	return PL_OK;
}

static enum pl_code open_class(struct snapshot *snapshot, const struct plugin_call *call,
                               struct pl_err *err)
{
	const struct spec *spec = call->spec;
	struct inter_pod_class *class_state = call->class_state;
	size_t most = (size_t)spec->template->affinity.count +
	              spec->template->anti_affinity.count +
	              spec->template->soft_affinity.count +
	              spec->template->soft_anti_affinity.count;
	enum pl_code code;

	if (most == 0)
		return PL_OK;
	class_state->at = pl_calloc(most, sizeof *class_state->at);
	if (class_state->at == NULL)
		return pl_err_set(err, PL_NOMEM, "terms about other pods: out of memory");
	code = open_affinity(snapshot, spec, class_state, err);
	if (code == PL_OK)
		code = open_terms(snapshot, spec_anti_affinity(spec),
		                  spec->template->anti_affinity.count, 1,
		                  class_state->at + class_state->affinity,
		                  &class_state->anti, err);
	if (code == PL_OK)
		code = open_terms(snapshot, spec_soft_affinity(spec),
		                  spec->template->soft_affinity.count, 1,
		                  class_state->at + class_state->affinity +
		                          class_state->anti,
		                  &class_state->soft, err);
	if (code == PL_OK)
		code = open_terms(snapshot, spec_soft_anti_affinity(spec),
		                  spec->template->soft_anti_affinity.count, -1,
		                  class_state->at + class_state->affinity +
		                          class_state->anti,
		                  &class_state->soft, err);
	if (code != PL_OK)
		close_class(snapshot, call);
	return code;
}

/* -- filter ------------------------------------------------------------------------------ */

/* Anti-affinity of placed pods refuses a node only if it matches anywhere. */
static bool blocks_others(const struct carrier *carrier)
{
	return carrier->kind == CARRIER_ANTI && carrier->inside > 0;
}

static enum verdict_code pre_filter(const struct plugin_call *call,
                                    struct plugin_narrow *narrow, struct verdict *verdict)
{
	const struct inter_pod_class *class_state = call->class_state;
	const struct spec_view *view = call->view;
	bool needed = class_state->affinity + class_state->anti > 0;

	(void)narrow;
	if (!view_is_reconciled(call->snapshot)) {
		verdict_add(verdict, VERDICT_ERROR,
		            &(struct reason){.code = REASON_FAILED});
		return VERDICT_ERROR;
	}
	for (uint32_t i = 0; i < class_state->affinity + class_state->anti; i++)
		tally_refresh(call->snapshot, class_state->at[i].tally);
	for (uint32_t i = 0; i < view->concerns_count; i++) {
		if (!blocks_others(view->concerns[i]))
			continue;
		carrier_refresh(call->snapshot, view->concerns[i]);
		needed = true;
	}
	return needed ? VERDICT_SUCCESS : VERDICT_SKIP;
}

/* The nodes among bits that are in a domain with pods. */
static uint64_t nodes_with_pods(const struct label_column *column,
                                const uint32_t *in_domain, uint32_t word, uint64_t bits)
{
	const uint32_t *value = column->value + (size_t)word * 64;
	uint64_t found = 0;

	for (; bits != 0; bits &= bits - 1) {
		unsigned i = (unsigned)__builtin_ctzll(bits);

		found |= (uint64_t)(in_domain[value[i]] != 0) << i;
	}
	return found;
}

static void refuse_tally(const struct tally *tally, struct node_span span)
{
	const uint64_t *nodes = tally_nodes(tally);

	if (nodes != NULL) {
		SPAN_EACH_WORD(i, span)
		span.bits[i] &= ~nodes[span.word + i];
		return;
	}
	SPAN_EACH_WORD(i, span)
	span.bits[i] &= ~nodes_with_pods(tally->column, tally->in_domain, span.word + i,
	                                 span.bits[i]);
}

static void require_tally(const struct tally *tally, struct node_span span)
{
	const uint64_t *nodes = tally_nodes(tally);

	if (nodes != NULL) {
		SPAN_EACH_WORD(i, span)
		span.bits[i] &= nodes[span.word + i];
		return;
	}
	SPAN_EACH_WORD(i, span)
	span.bits[i] &= nodes_with_pods(tally->column, tally->in_domain, span.word + i,
	                                span.bits[i]);
}

static void refuse_carrier(const struct carrier *carrier, struct node_span span)
{
	const uint64_t *nodes = carrier_nodes(carrier);

	if (nodes != NULL) {
		SPAN_EACH_WORD(i, span)
		span.bits[i] &= ~nodes[span.word + i];
		return;
	}
	SPAN_EACH_WORD(i, span)
	span.bits[i] &= ~nodes_with_pods(carrier->column, carrier->in_domain,
	                                 span.word + i, span.bits[i]);
}

static void require_label(const struct label_column *column, struct node_span span)
{
	SPAN_EACH_WORD(i, span)
	{
		const uint32_t *value = column->value + (size_t)(span.word + i) * 64;

		for (uint64_t left = span.bits[i]; left != 0; left &= left - 1) {
			unsigned bit = (unsigned)__builtin_ctzll(left);

			if (value[bit] == 0)
				span.bits[i] &= ~(UINT64_C(1) << bit);
		}
	}
}

/* The first pod of a group whose affinity is to the group itself: no pod matches in any
 * domain, and it matches itself. */
static bool is_first_of_group(const struct plugin_call *call)
{
	const struct inter_pod_class *class_state = call->class_state;

	for (uint32_t i = 0; i < class_state->affinity; i++)
		if (tally_inside(class_state->at[i].tally) > 0)
			return false;
	return matcher_finds(call->snapshot, class_state->at[0].tally->matcher,
	                     call->spec);
}

static void filter_nodes(const struct plugin_call *call, struct node_span span)
{
	const struct inter_pod_class *class_state = call->class_state;
	const struct inter_pod_tally *anti = inter_pod_anti(class_state);
	const struct spec_view *view = call->view;
	bool first = class_state->affinity > 0 && is_first_of_group(call);

	for (uint32_t i = 0; i < class_state->affinity; i++)
		if (first)
			require_label(class_state->at[i].tally->column, span);
		else
			require_tally(class_state->at[i].tally, span);
	for (uint32_t i = 0; i < class_state->anti; i++)
		if (tally_inside(anti[i].tally) > 0)
			refuse_tally(anti[i].tally, span);
	for (uint32_t i = 0; i < view->concerns_count; i++)
		if (blocks_others(view->concerns[i]))
			refuse_carrier(view->concerns[i], span);
}

static bool satisfies_affinity(const struct plugin_call *call, uint32_t slot)
{
	const struct inter_pod_class *class_state = call->class_state;
	bool near = true;

	for (uint32_t i = 0; i < class_state->affinity; i++) {
		const struct tally *tally = class_state->at[i].tally;
		uint32_t domain = tally->column->value[slot];

		if (domain == 0)
			return false;
		near = near && tally->in_domain[domain] > 0;
	}
	return near || is_first_of_group(call);
}

static bool satisfies_anti_affinity(const struct plugin_call *call, uint32_t slot)
{
	const struct inter_pod_class *class_state = call->class_state;
	const struct inter_pod_tally *anti = inter_pod_anti(class_state);

	for (uint32_t i = 0; i < class_state->anti; i++)
		if (anti[i].tally->in_domain[anti[i].tally->column->value[slot]] > 0)
			return false;
	return true;
}

static bool satisfies_existing_anti_affinity(const struct plugin_call *call,
                                             uint32_t slot)
{
	const struct spec_view *view = call->view;

	for (uint32_t i = 0; i < view->concerns_count; i++) {
		const struct carrier *carrier = view->concerns[i];

		if (blocks_others(carrier) &&
		    carrier->in_domain[carrier->column->value[slot]] > 0)
			return false;
	}
	return true;
}

static void explain_refusal(const struct plugin_call *call, uint32_t slot,
                            struct verdict *verdict)
{
	if (!satisfies_affinity(call, slot))
		verdict_add(verdict, VERDICT_UNRESOLVABLE,
		            &(struct reason){.code = REASON_POD_AFFINITY});
	else if (!satisfies_anti_affinity(call, slot))
		verdict_add(verdict, VERDICT_UNSCHEDULABLE,
		            &(struct reason){.code = REASON_POD_ANTI_AFFINITY});
	else if (!satisfies_existing_anti_affinity(call, slot))
		verdict_add(verdict, VERDICT_UNSCHEDULABLE,
		            &(struct reason){.code = REASON_POD_ANTI_AFFINITY_OTHERS});
}

/* A placed pod helps only pods with affinity. A new node without pods could help others,
 * and must fit itself. */
static bool queueing_hint(const struct plugin_call *call, const struct queue_event *event)
{
	uint32_t slot;

	if (event->kind == QUEUE_EV_POD_ADDED)
		return call->spec->template->affinity.count > 0;
	if (event->kind != QUEUE_EV_NODE_ADDED)
		return true;
	slot = node_event_slot(call, event);
	if (slot == SNAPSHOT_NONE || call->snapshot->row[slot].pods > 0)
		return true;
	return satisfies_affinity(call, slot) && satisfies_anti_affinity(call, slot) &&
	       satisfies_existing_anti_affinity(call, slot);
}

const struct plugin plugin_inter_pod_affinity = {
	.name = "InterPodAffinity",
	.global = true,
	.refusal = PLUGIN_REFUSES_MIXED,
	.normal = PLUGIN_BY_ITSELF,
	.weight = 2,
	.events = NODE_EVENTS | QUEUE_ON(NODE_REMOVED) | QUEUE_ON(NODE_LABELS) |
                  QUEUE_ON(POD_ADDED) | QUEUE_ON(POD_LABELS) | QUEUE_ON(POD_REMOVED) |
                  QUEUE_ON(NAMESPACE_LABELS) | QUEUE_ON(RULE_COUNTS),
	.hint = queueing_hint,
	.hint_needs_class = QUEUE_ON(NODE_ADDED),
	.args_size = sizeof(struct inter_pod_args),
	.args_parse = args_parse,
	.class_state_size = sizeof(struct inter_pod_class),
	.open = open_class,
	.close = close_class,
	.state_size = sizeof(struct inter_pod_state),
	.pre_filter = pre_filter,
	.filter = filter_nodes,
	.why = explain_refusal,
	.pre_score = inter_pod_pre_score,
	.score = inter_pod_score,
	.normalize = inter_pod_normalize,
};
