/* Judges what pods want of their nodes, and keeps the values of topology keys, as the
 * Nodes are fed. All pods are known by then. */
#include <inttypes.h>

#include "coord/service/fsck/fsck_int.h"

/* -- the tables -------------------------------------------------------------------- */

/* Makes sure that there is a row for each node up to this one. */
static bool rows_to(struct fsck_core *core, uint32_t number)
{
	struct fsck_rules *rules = &core->rules;
	uint32_t cap = rules->value_cap;

	while (rules->valued <= number && core->code == PL_OK)
		if (name_table_room((void **)&rules->value, &cap, rules->valued,
		                    rules->keys * sizeof *rules->value) &&
		    name_table_room((void **)&rules->counted, &rules->counted_cap,
		                    rules->valued, sizeof *rules->counted))
			rules->valued++;
		else
			fsck_no_memory(core);
	rules->value_cap = cap;
	return core->code == PL_OK;
}

static uint32_t value_of(const struct fsck_core *core, uint32_t node, uint32_t key)
{
	const struct fsck_rules *rules = &core->rules;
	uint32_t at = fsck_key_number(rules, key);

	if (at == RULES_KEYS_MAX || node >= rules->valued)
		return 0;
	return rules->value[(size_t)node * rules->keys + at];
}

uint32_t fsck_domain_of(const struct fsck_core *core, uint32_t node, uint32_t key)
{
	uint32_t value = value_of(core, node, key);

	return value != 0 && node_is_domain(&core->model, key) ? node + 1 : value;
}

struct pl_span fsck_domain_text(const struct fsck_core *core, uint32_t node, uint32_t key)
{
	return model_text(&core->model, value_of(core, node, key));
}

static bool is_wanted(const struct fsck_core *core,
                      const struct fsck_constraint *constraint, const struct node *node)
{
	return labels_include(node->labels, constraint->labels) &&
	       (constraint->required == NULL ||
	        node_selector_matches(&core->model.strings, constraint->required,
	                              node->labels, node->name));
}

static bool scope_counts_node(const struct fsck_core *core,
                              const struct fsck_scope *scope, const uint32_t *value,
                              const struct node *node)
{
	const struct fsck_constraint *constraint =
		&core->rules.constraint[scope->constraint];

	for (uint32_t i = 0; i < core->rules.keys; i++)
		if ((scope->keys >> i & 1) != 0 && value[i] == 0)
			return false;
	if (scope->affinity && !constraint->plain && !is_wanted(core, constraint, node))
		return false;
	return !scope->taints ||
	       taints_first_untolerated(node->taints, constraint->tolerations,
	                                TAINT_HARD) == NULL;
}

static void keep_values(struct fsck_core *core, uint32_t number, const struct node *node)
{
	struct fsck_rules *rules = &core->rules;
	uint32_t *value;

	if (rules->keys == 0 || !rows_to(core, number))
		return;
	value = &rules->value[(size_t)number * rules->keys];
	for (uint32_t i = 0; i < rules->keys; i++)
		value[i] = strings_ref(&core->model.strings,
		                       labels_get(node->labels, rules->key[i]));
	for (uint32_t i = 0; i < rules->scopes; i++)
		if (scope_counts_node(core, &rules->scope[i], value, node))
			rules->counted[number] |= UINT64_C(1) << i;
}

/* -- rules of pods ----------------------------------------------------------------- */

/* As in kube-scheduler a cordon counts as a taint that a pod may tolerate. */
static bool tolerates_cordon(struct fsck_core *core,
                             const struct tolerations *tolerations)
{
	struct taint taint = {.effect = TAINT_NO_SCHEDULE};
	struct strings *strings = &core->model.strings;
	bool bears = false;

	if (strings_add(strings, PL_SPAN_LIT("node.kubernetes.io/unschedulable"),
	                &taint.key) != PL_OK ||
	    strings_add(strings, PL_SPAN_LIT(""), &taint.value) != PL_OK)
		fsck_no_memory(core);
	else
		bears = tolerations_cover(tolerations, &taint);
	strings_unref(strings, taint.key);
	strings_unref(strings, taint.value);
	return bears;
}

/* Why the pod does not want the node; NULL: it does. *late: the reason does not apply
 * to pods that are there already. */
static const char *find_objection(struct fsck_core *core,
                                  const struct fsck_constraint *constraint,
                                  const struct node *node, bool *late)
{
	*late = false;
	if (!labels_include(node->labels, constraint->labels))
		return "it has not the labels of the pod's nodeSelector";
	if (!is_wanted(core, constraint, node))
		return "the pod's required node affinity does not find it";
	if (taints_first_untolerated(node->taints, constraint->tolerations, TAINT_HARD) !=
	    NULL)
		return "it has a taint that the pod does not tolerate";
	*late = true;
	if (node->unschedulable && !tolerates_cordon(core, constraint->tolerations))
		return "it was cordoned";
	return NULL;
}

static struct pl_span state_key(const struct fsck_core *core,
                                const struct fsck_bound *bound, struct keys_text *out)
{
	return fsck_key(out, KEYS_STATE, bound->partition,
	                name_table_get(&core->pods, bound->entry));
}

/* Whether the node is unchanged since the pod was bound there. */
static bool was_so(const struct fsck_core *core, const struct fsck_bound *bound)
{
	return !bound->of_gang && core->node[bound->node].node_rev < bound->lo &&
	       bound->spec_rev < bound->lo;
}

static void judge_node_rules(struct fsck_core *core, uint32_t number,
                             const struct node *node)
{
	const struct fsck_rules *rules = &core->rules;
	struct fsck_node *at = &core->node[number];
	struct pl_span key;
	struct keys_text text, other;
	const char *why, *first_why = NULL;
	uint32_t since = 0, first = FSCK_NONE;
	bool late;

	key = fsck_key(&text, KEYS_NODE, at->partition,
	               name_table_get(&core->nodes, number));
	for (uint32_t i = at->first_bound; i != FSCK_NONE; i = rules->bound[i].next) {
		const struct fsck_bound *bound = &rules->bound[i];

		why = find_objection(core, &rules->constraint[bound->constraint], node,
		                     &late);
		if (why == NULL)
			continue;
		if (was_so(core, bound)) {
			fsck_report(core, FSCK_RULES_NODE, state_key(core, bound, &other),
			            key, "it was placed on that node although %s", why);
		} else if (!late) {
			since++;
			first = i;
			first_why = why;
		}
	}
	if (since > 0)
		fsck_report(core, FSCK_RULES_NODE_SINCE, key,
		            state_key(core, &rules->bound[first], &other),
		            "%" PRIu32 " pod%s on it would not be placed there now: %s",
		            since, since == 1 ? "" : "s", first_why);
}

/* A quick check: most pods want nothing of nodes, and most nodes have no taints. */
static bool is_plain(const struct fsck_core *core, uint32_t number,
                     const struct node *node)
{
	const struct fsck_rules *rules = &core->rules;

	if (node->unschedulable || (node->taints->effects & TAINT_HARD) != 0)
		return false;
	for (uint32_t i = core->node[number].first_bound; i != FSCK_NONE;
	     i = rules->bound[i].next)
		if (!rules->constraint[rules->bound[i].constraint].plain)
			return false;
	return true;
}

void fsck_rules_node(struct fsck_core *core, uint32_t number, const struct node *node)
{
	keep_values(core, number, node);
	if (core->code == PL_OK && !is_plain(core, number, node))
		judge_node_rules(core, number, node);
}
