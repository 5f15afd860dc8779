#include "shardsched/plugins/pod_topology_spread.h"
#include "shardsched/plugins/slot_words.h"

uint64_t spread_keys_word(const struct spread_rules *rules, uint32_t word, uint64_t bits)
{
	for (uint32_t i = 0; i < rules->count && bits != 0; i++) {
		const uint32_t *value = rules->at[i].column->value + (size_t)word * 64;

		bits &= ~slot_words_equal(value, 0);
	}
	return bits;
}

static bool is_tolerated(const struct plugin_call *call, uint32_t slot)
{
	return taints_first_untolerated(call->snapshot->row[slot].node.taints,
	                                call->spec->template->tolerations,
	                                TAINT_HARD) == NULL;
}

/* The nodes of the word that count by the policies of the rule. */
static uint64_t policy_word(const struct plugin_call *call,
                            const struct spread_rule *rule, uint32_t word, uint64_t bits)
{
	const struct spread_class *class_state = call->class_state;
	const struct snapshot *snapshot = call->snapshot;
	uint64_t tainted;

	if (rule->constraint.affinity && !node_match_is_everything(&class_state->match))
		bits = node_match_word(&class_state->match, snapshot, word, bits);
	if (!rule->constraint.taints)
		return bits;
	tainted = bits & snapshot->hard_taints.word[word];
	SLOT_WORDS_EACH(bit, tainted)
	if (!is_tolerated(call, word * 64 + (uint32_t)bit))
		bits &= ~(UINT64_C(1) << bit);
	return bits;
}

bool spread_counts(const struct plugin_call *call, const struct spread_rules *rules,
                   const struct spread_rule *rule, uint32_t slot)
{
	for (uint32_t i = 0; i < rules->count; i++)
		if (rules->at[i].column->value[slot] == 0)
			return false;
	if (rule->constraint.affinity &&
	    !node_match_slot(call->spec->template->node_selector,
	                     call->spec->template->required, call->snapshot, slot))
		return false;
	return !rule->constraint.taints || is_tolerated(call, slot);
}

/* Whether every node that has the key counts. */
static bool counts_all(const struct plugin_call *call, const struct spread_rules *rules,
                       const struct spread_rule *rule, bool all_keys)
{
	const struct spread_class *class_state = call->class_state;

	if (rule->constraint.affinity && !node_match_is_everything(&class_state->match))
		return false;
	if (rule->constraint.taints && !pl_bitset_empty(call->snapshot->hard_taints))
		return false;
	return !all_keys || rules->covered || rules->count == 1;
}

/* A free number has text 0, and no node is in such a domain. */
static void copy_counts(const struct spread_rule *rule, int32_t *count)
{
	const struct label_column *column = rule->column;
	const struct tally *tally = rule->tally;
	uint32_t end = column->domains_end;

	if (tally != NULL && end > 0)
		memcpy(count, tally->in_domain, end * sizeof *count);
	count[0] = tally == NULL ? 0 : (int32_t)tally->others;
	if (column->domains + 1 < end)
		for (uint32_t i = 1; i < end; i++)
			if (column->domain[i].text == 0)
				count[i] = SPREAD_ABSENT;
}

/* The nodes that count; computed once for all rules with equal policies. NULL: out of
 * memory. */
static const uint64_t *find_counted(const struct plugin_call *call,
                                    const struct spread_rules *rules,
                                    const struct spread_rule *rule, bool all_keys)
{
	struct spread_class *class_state = call->class_state;
	struct spread_state *state = call->state;
	const struct snapshot *snapshot = call->snapshot;
	uint32_t words = (uint32_t)pl_bitset_words(snapshot->slots);
	unsigned policies =
		(rule->constraint.affinity ? 2U : 0) + (rule->constraint.taints ? 1U : 0);
	uint64_t **counted = &state->counted[rules == &class_state->soft][policies];

	if (*counted != NULL)
		return *counted;
	*counted = pl_arena_zalloc(call->arena, words + 1U, sizeof **counted);
	if (*counted == NULL)
		return NULL;
	node_match_ready(&class_state->match, snapshot);
	for (uint32_t word = 0; word < words; word++) {
		uint64_t bits = snapshot->live.word[word];

		if (all_keys)
			bits = spread_keys_word(rules, word, bits);
		(*counted)[word] = policy_word(call, rule, word, bits);
	}
	return *counted;
}

static void sum_counts(const struct snapshot *snapshot, const struct spread_rule *rule,
                       const uint64_t *counted, int32_t *count)
{
	const uint32_t *found = rule->matcher == NULL ? NULL : rule->matcher->on_node;
	const uint32_t *value = rule->column->value;
	uint32_t words = (uint32_t)pl_bitset_words(snapshot->slots);

	for (uint32_t i = 0; i < rule->column->domains_end; i++)
		count[i] = SPREAD_ABSENT;
	for (uint32_t word = 0; word < words; word++)
		SLOT_WORDS_EACH(bit, counted[word])
		{
			size_t slot = (size_t)word * 64 + bit;
			int32_t *in = &count[value[slot]];

			*in = *in == SPREAD_ABSENT ? 0 : *in;
			*in += found == NULL ? 0 : (int32_t)found[slot];
		}
}

int32_t *spread_count(const struct plugin_call *call, const struct spread_rules *rules,
                      const struct spread_rule *rule, bool all_keys)
{
	size_t end = rule->column->domains_end;
	/* Number 0 always exists. */
	int32_t *count = pl_arena_zalloc(call->arena, end + 1, sizeof *count);
	const uint64_t *counted;

	if (count == NULL)
		return NULL;
	if (counts_all(call, rules, rule, all_keys)) {
		copy_counts(rule, count);
		return count;
	}
	counted = find_counted(call, rules, rule, all_keys);
	if (counted == NULL)
		return NULL;
	sum_counts(call->snapshot, rule, counted, count);
	return count;
}
