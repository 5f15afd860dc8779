/* NodeAffinity: nodes that a pod requires or prefers by their labels and names. */
#include "shardsched/plugins/node_affinity.h"

#include "shardsched/plugins/node_event.h"
#include "shardsched/plugins/node_match.h"
#include "shardsched/plugins/plugins.h"
#include "shardsched/plugins/slot_words.h"

struct node_affinity_class {
	struct node_match pod;   /* nodeSelector and required terms */
	struct node_match added; /* required by the configuration */
	struct node_match soft, added_soft;
	bool broken; /* a preferred term can not be parsed */
};

static const struct node_affinity_args *args_of(const struct plugin_call *call)
{
	return call->args;
}

/* -- a class ----------------------------------------------------------------------------- */

static void on_close(struct snapshot *snapshot, const struct plugin_call *call)
{
	struct node_affinity_class *class_state = call->class_state;

	node_match_close(snapshot, &class_state->pod);
	node_match_close(snapshot, &class_state->added);
	node_match_close(snapshot, &class_state->soft);
	node_match_close(snapshot, &class_state->added_soft);
}

/* Terms without weight or without anything in them are skipped before they are parsed. */
static bool is_broken(const struct node_selector *preferred)
{
	for (uint64_t i = 0; preferred != NULL && i < preferred->count; i++) {
		const struct node_term *term = &preferred->term[i];

		if (term->weight != 0 && !node_term_is_empty(term) &&
		    node_term_is_invalid(term))
			return true;
	}
	return false;
}

static enum pl_code on_open(struct snapshot *snapshot, const struct plugin_call *call,
                            struct pl_err *err)
{
	const struct node_affinity_args *args = args_of(call);
	const struct spec *spec = call->spec;
	struct node_affinity_class *class_state = call->class_state;
	enum pl_code code;

	class_state->broken = is_broken(spec->template->preferred);
	code = node_match_open(snapshot, spec->template->node_selector,
	                       spec->template->required, &class_state->pod, err);
	if (code == PL_OK)
		code = node_match_open(snapshot, NULL, args->required,
		                       &class_state->added, err);
	if (code == PL_OK)
		code = node_match_open(snapshot, NULL, spec->template->preferred,
		                       &class_state->soft, err);
	if (code == PL_OK)
		code = node_match_open(snapshot, NULL, args->preferred,
		                       &class_state->added_soft, err);
	if (code != PL_OK)
		on_close(snapshot, call);
	return code;
}

/* -- names ------------------------------------------------------------------------------- */

/* Whether a row lists node names; nodes have no other field. */
static bool lists_names(const struct selector_row *row)
{
	return row->op == SELECTOR_IN && row->number == 1;
}

/* Whether the name is in all rows that list names. */
static bool named_by_all(const struct selector *fields, uint32_t name)
{
	for (uint32_t i = 0; i < fields->count; i++)
		if (lists_names(&fields->row[i]) &&
		    !selector_row_matches_name(fields, &fields->row[i], name))
			return false;
	return true;
}

static const struct selector_row *first_of_names(const struct selector *fields)
{
	for (uint32_t i = 0; i < fields->count; i++)
		if (lists_names(&fields->row[i]))
			return &fields->row[i];
	return NULL;
}

static bool all_name_nodes(const struct node_selector *required)
{
	if (required == NULL || required->count == 0)
		return false;
	for (uint64_t i = 0; i < required->count; i++)
		if (first_of_names(required->term[i].fields) == NULL)
			return false;
	return true;
}

struct name_matches {
	uint32_t names; /* names in the lists, whether nodes have them or not */
	uint32_t nodes;
};

static void add_named(const struct snapshot *snapshot, const struct selector *fields,
                      struct pl_bitset only, struct name_matches *found)
{
	const struct selector_row *row = first_of_names(fields);
	const uint32_t *name = selector_values(fields, row);

	for (uint32_t i = 0; i < row->count; i++) {
		uint32_t slot = SNAPSHOT_NONE;

		if (!named_by_all(fields, name[i]))
			continue;
		found->names++;
		while ((slot = snapshot_node_named(snapshot, name[i], slot)) !=
		       SNAPSHOT_NONE) {
			pl_bitset_add(only, slot);
			found->nodes++;
		}
	}
}

/* When every required term lists names, only nodes with these names are looked at.
 * That none of them exists is an error to kube-scheduler; here the pod waits for such
 * a node. */
static enum verdict_code narrow_to_names(const struct plugin_call *call,
                                         struct plugin_narrow *narrow,
                                         struct verdict *verdict)
{
	const struct node_selector *required = call->spec->template->required;
	const struct snapshot *snapshot = call->snapshot;
	struct reason reason = {.code = REASON_AFFINITY_NAMES};
	struct name_matches found = {0};

	if (pl_bitset_make(call->arena, snapshot->live.bits, &narrow->only) != PL_OK) {
		verdict_add(verdict, VERDICT_ERROR,
		            &(struct reason){.code = REASON_FAILED});
		return VERDICT_ERROR;
	}
	for (uint64_t i = 0; i < required->count; i++)
		add_named(snapshot, required->term[i].fields, narrow->only, &found);
	if (found.nodes > 0)
		return VERDICT_SUCCESS;
	if (found.names > 0)
		reason.code = REASON_AFFINITY;
	verdict_add(verdict, VERDICT_UNRESOLVABLE, &reason);
	return VERDICT_UNRESOLVABLE;
}

/* -- filter ------------------------------------------------------------------------------ */

static enum verdict_code pre_filter(const struct plugin_call *call,
                                    struct plugin_narrow *narrow, struct verdict *verdict)
{
	const struct spec *spec = call->spec;

	if (spec->template->required == NULL &&
	    spec->template->node_selector->count == 0 && args_of(call)->required == NULL)
		return VERDICT_SKIP;
	return all_name_nodes(spec->template->required)
	               ? narrow_to_names(call, narrow, verdict)
	               : VERDICT_SUCCESS;
}

static void filter_by(struct node_match *match, const struct snapshot *snapshot,
                      struct node_span span)
{
	if (node_match_is_everything(match))
		return;
	node_match_ready(match, snapshot);
	SPAN_EACH_WORD(i, span)
	if (span.bits[i] != 0)
		span.bits[i] =
			node_match_word(match, snapshot, span.word + i, span.bits[i]);
}

static void filter_nodes(const struct plugin_call *call, struct node_span span)
{
	struct node_affinity_class *class_state = call->class_state;

	filter_by(&class_state->added, call->snapshot, span);
	filter_by(&class_state->pod, call->snapshot, span);
}

/* Compares labels, without the columns. */
static enum reason_code judge_node(const struct plugin_call *call, uint32_t slot)
{
	if (!node_match_slot(NULL, args_of(call)->required, call->snapshot, slot))
		return REASON_AFFINITY_ADDED;
	if (!node_match_slot(call->spec->template->node_selector,
	                     call->spec->template->required, call->snapshot, slot))
		return REASON_AFFINITY;
	return REASON_NONE;
}

static void explain_refusal(const struct plugin_call *call, uint32_t slot,
                            struct verdict *verdict)
{
	enum reason_code code = judge_node(call, slot);

	if (code != REASON_NONE)
		verdict_add(verdict, VERDICT_UNRESOLVABLE,
		            &(struct reason){.code = (uint32_t)code});
}

static bool queueing_hint(const struct plugin_call *call, const struct queue_event *event)
{
	uint32_t slot = node_event_slot(call, event);

	return slot == SNAPSHOT_NONE || judge_node(call, slot) == REASON_NONE;
}

/* -- score ------------------------------------------------------------------------------- */

static enum verdict_code pre_score(const struct plugin_call *call,
                                   struct pl_bitset feasible, struct verdict *verdict)
{
	const struct node_affinity_class *class_state = call->class_state;

	(void)feasible;
	if (class_state->broken) {
		verdict_add(verdict, VERDICT_ERROR,
		            &(struct reason){.code = REASON_FAILED});
		return VERDICT_ERROR;
	}
	return call->spec->template->preferred == NULL && args_of(call)->preferred == NULL
	               ? VERDICT_SKIP
	               : VERDICT_SUCCESS;
}

static void score_by(struct node_match *match, const struct snapshot *snapshot,
                     struct node_span span, int64_t *out)
{
	node_match_ready(match, snapshot);
	SPAN_EACH_WORD(i, span)
	for (uint32_t j = 0; j < match->terms && span.bits[i] != 0; j++) {
		struct node_span one = {span.word + i, 1, &span.bits[i]};
		uint64_t found = node_match_term_word(match, snapshot, j, one);

		SLOT_WORDS_EACH(bit, found)
		out[(size_t)i * 64 + bit] += match->term[j].term->weight;
	}
}

static bool score_nodes(const struct plugin_call *call, struct node_span span,
                        int64_t *out)
{
	struct node_affinity_class *class_state = call->class_state;

	memset(out, 0, (size_t)span.words * 64 * sizeof *out);
	score_by(&class_state->added_soft, call->snapshot, span, out);
	score_by(&class_state->soft, call->snapshot, span, out);
	return true;
}

const struct plugin plugin_node_affinity = {
	.name = "NodeAffinity",
	.refusal = PLUGIN_REFUSES_UNRESOLVABLE,
	.normal = PLUGIN_BY_MAX,
	.weight = 2,
	.events = NODE_EVENTS | QUEUE_ON(NODE_LABELS),
	.hint = queueing_hint,
	.args_size = sizeof(struct node_affinity_args),
	.args_parse = node_affinity_args_parse,
	.args_drop = node_affinity_args_drop,
	.class_state_size = sizeof(struct node_affinity_class),
	.open = on_open,
	.close = on_close,
	.pre_filter = pre_filter,
	.filter = filter_nodes,
	.why = explain_refusal,
	.pre_score = pre_score,
	.score = score_nodes,
};
