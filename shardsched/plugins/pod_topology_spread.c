/*
 * PodTopologySpread: the pod may not go to a node whose domain would then have more
 * matching pods than the emptiest domain by more than maxSkew.
 */
#include "shardsched/plugins/pod_topology_spread.h"

#include "shardsched/plugins/node_event.h"
#include "shardsched/plugins/plugins.h"
#include "shardsched/plugins/slot_words.h"

enum verdict_code spread_fail(struct verdict *verdict)
{
	verdict_add(verdict, VERDICT_ERROR, &(struct reason){.code = REASON_FAILED});
	return VERDICT_ERROR;
}

/* -- counts ------------------------------------------------------------------------------ */

/* The least count of all numbers but one; absent numbers count as above all. */
static int32_t least_without(const struct spread_hard *hard, uint32_t number)
{
	int32_t least = SPREAD_ABSENT;

	for (uint32_t i = 1; i < hard->end; i++) {
		int32_t count = i == number ? SPREAD_ABSENT : hard->count[i];

		least = count < least ? count : least;
	}
	return least;
}

static uint32_t domains_of(const struct spread_hard *hard)
{
	uint32_t domains = 0;

	for (uint32_t i = 1; i < hard->end; i++)
		domains += hard->count[i] != SPREAD_ABSENT;
	return domains;
}

/* Number 0 stands for nodes without the key: it is made one that is refused. */
static bool hard_make(const struct plugin_call *call, const struct spread_rule *rule,
                      struct spread_hard *out)
{
	const struct spread_class *class_state = call->class_state;

	out->count = spread_count(call, &class_state->hard, rule, true);
	if (out->count == NULL)
		return false;
	out->count[0] = SPREAD_ABSENT;
	out->end = rule->column->domains_end;
	out->domains = domains_of(out);
	out->least = least_without(out, 0);
	return true;
}

static enum verdict_code pre_filter(const struct plugin_call *call,
                                    struct plugin_narrow *narrow, struct verdict *verdict)
{
	const struct spread_class *class_state = call->class_state;
	struct spread_state *state = call->state;
	struct pl_err err;

	(void)narrow;
	if (spread_refresh(call, &err) != PL_OK)
		return spread_fail(verdict);
	if (class_state->hard.count == 0)
		return VERDICT_SKIP;
	state->hard = pl_arena_zalloc(call->arena, class_state->hard.count,
	                              sizeof *state->hard);
	if (state->hard == NULL)
		return spread_fail(verdict);
	for (uint32_t i = 0; i < class_state->hard.count; i++)
		if (!hard_make(call, &class_state->hard.at[i], &state->hard[i]))
			return spread_fail(verdict);
	return VERDICT_SUCCESS;
}

/* How many pods a domain may have so that one more may come; unbounded without any
 * domain. */
static int64_t max_count(const struct spread_rule *rule, const struct spread_hard *hard)
{
	int64_t least = hard->least;

	if (hard->domains == 0)
		return SPREAD_ABSENT;
	if (rule->constraint.min_domains > 0 &&
	    hard->domains < (uint32_t)rule->constraint.min_domains)
		least = 0;
	return rule->constraint.max_skew + least - rule->self;
}

/* -- filter ------------------------------------------------------------------------------ */

/* By how much the domain exceeds the limit. A domain in which no node counts has no
 * pods. */
static int64_t count_excess(const struct spread_hard *hard, uint32_t number,
                            int64_t limit)
{
	int32_t count = hard->count[number];

	return (count == SPREAD_ABSENT ? 0 : count) - limit;
}

/* The nodes of the word that the rule lets through. */
static uint64_t hard_word(const struct spread_hard *hard, const uint32_t *value,
                          int64_t limit, uint64_t bits)
{
	const int32_t *count = hard->count;
	/* Numbers in which no node counts are always looked at again. */
	int32_t bound = limit >= SPREAD_ABSENT ? SPREAD_ABSENT - 1
	                : limit < INT32_MIN    ? INT32_MIN
	                                       : (int32_t)limit;
	uint64_t beyond = 0, again;
	uint8_t hit[64];

	if (slot_words_sparse(bits)) {
		SLOT_WORDS_EACH(bit, bits)
		beyond |= (uint64_t)(count[value[bit]] > bound) << bit;
	} else {
		for (unsigned i = 0; i < 64; i++)
			hit[i] = count[value[i]] > bound;
		beyond = slot_words_pack(hit) & bits;
	}
	again = beyond;
	SLOT_WORDS_EACH(bit, again)
	if (value[bit] != 0 && count[value[bit]] == SPREAD_ABSENT &&
	    count_excess(hard, value[bit], limit) <= 0)
		beyond &= ~(UINT64_C(1) << bit);
	return bits & ~beyond;
}

static void filter_nodes(const struct plugin_call *call, struct node_span span)
{
	const struct spread_class *class_state = call->class_state;
	const struct spread_state *state = call->state;

	for (uint32_t i = 0; i < class_state->hard.count; i++) {
		const struct spread_rule *rule = &class_state->hard.at[i];
		const uint32_t *value = rule->column->value + (size_t)span.word * 64;
		int64_t limit = max_count(rule, &state->hard[i]);

		SPAN_EACH_WORD(j, span)
		if (span.bits[j] != 0)
			span.bits[j] = hard_word(&state->hard[i], value + (size_t)j * 64,
			                         limit, span.bits[j]);
	}
}

static void explain_refusal(const struct plugin_call *call, uint32_t slot,
                            struct verdict *verdict)
{
	const struct spread_class *class_state = call->class_state;
	const struct spread_state *state = call->state;

	for (uint32_t i = 0; i < class_state->hard.count; i++) {
		const struct spread_rule *rule = &class_state->hard.at[i];
		uint32_t number = rule->column->value[slot];
		struct reason reason = {.code = REASON_SPREAD,
		                        .subject = rule->constraint.topology_key,
		                        .detail = rule->index};

		if (number == 0) {
			reason.code = REASON_SPREAD_LABEL;
			verdict_add(verdict, VERDICT_UNRESOLVABLE, &reason);
			return;
		}
		reason.lacks = count_excess(&state->hard[i], number,
		                            max_count(rule, &state->hard[i]));
		reason.value = rule->column->domain[number].text;
		if (reason.lacks > 0) {
			verdict_add(verdict, VERDICT_UNSCHEDULABLE, &reason);
			return;
		}
	}
}

/* -- what-if ----------------------------------------------------------------------------- */

static void hard_move(struct spread_hard *hard, uint32_t number, int32_t delta)
{
	int32_t *count = &hard->count[number];

	if (*count == SPREAD_ABSENT)
		return;
	if (hard->moved != number) {
		hard->others =
			*count > hard->least ? hard->least : least_without(hard, number);
		hard->moved = number;
	}
	*count += delta;
	hard->least = *count < hard->others ? *count : hard->others;
}

/* As in kube-scheduler, a terminating pod is subtracted too, although it was not
 * counted. */
static void pod_moved(const struct plugin_call *call, const struct placed_pod *pod,
                      int delta)
{
	const struct strings *strings = &call->snapshot->model->strings;
	const struct spread_class *class_state = call->class_state;
	struct spread_state *state = call->state;

	if (pod->view->spec->namespace != call->spec->namespace)
		return;
	for (uint32_t i = 0; i < class_state->hard.count; i++) {
		const struct spread_rule *rule = &class_state->hard.at[i];

		if (selector_matches(strings, rule->constraint.selector,
		                     pod->view->spec->labels) &&
		    spread_counts(call, &class_state->hard, rule, pod->node))
			hard_move(&state->hard[i], rule->column->value[pod->node], delta);
	}
}

const struct plugin plugin_pod_topology_spread = {
	.name = "PodTopologySpread",
	.global = true,
	.refusal = PLUGIN_REFUSES_MIXED,
	.normal = PLUGIN_BY_ITSELF,
	.weight = 2,
	.events = NODE_EVENTS | QUEUE_ON(NODE_REMOVED) | QUEUE_ON(NODE_LABELS) |
                  QUEUE_ON(NODE_TAINTS) | QUEUE_ON(POD_ADDED) | QUEUE_ON(POD_LABELS) |
                  QUEUE_ON(POD_REMOVED) | QUEUE_ON(WORKLOAD) | QUEUE_ON(RULE_COUNTS),
	.args_size = sizeof(struct spread_args),
	.args_parse = spread_args_parse,
	.args_drop = spread_args_drop,
	.class_state_size = sizeof(struct spread_class),
	.open = spread_open,
	.close = spread_close,
	.state_size = sizeof(struct spread_state),
	.pre_filter = pre_filter,
	.filter = filter_nodes,
	.why = explain_refusal,
	.moved = pod_moved,
	.pre_score = spread_pre_score,
	.score = spread_score,
	.normalize = spread_normalize,
};
