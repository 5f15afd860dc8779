/*
 * Soft rules: each matching pod of a domain counts against it, by a weight that grows
 * with the number of domains; then the scores are reversed, so that the emptiest domain
 * gets 100.
 */
#include <math.h>

#include "shardsched/plugins/pod_topology_spread.h"
#include "shardsched/plugins/slot_words.h"

/* -- pre-score --------------------------------------------------------------------------- */

/* Finds the feasible nodes that lack a key: they are not scored. */
static bool find_ignored(const struct plugin_call *call, struct pl_bitset feasible)
{
	const struct spread_class *class_state = call->class_state;
	struct spread_state *state = call->state;

	state->ignored = (struct pl_bitset){0};
	if (!class_state->all_keys || class_state->soft.covered)
		return true;
	if (pl_bitset_make(call->arena, feasible.bits, &state->ignored) != PL_OK)
		return false;
	for (uint32_t i = 0; i < pl_bitset_words(feasible.bits); i++) {
		uint64_t bits = feasible.word[i];

		state->ignored.word[i] =
			bits &
			~(bits == 0 ? 0 : spread_keys_word(&class_state->soft, i, bits));
	}
	return true;
}

static uint64_t scored_word(const struct spread_state *state, struct pl_bitset feasible,
                            uint32_t word)
{
	return state->ignored.word == NULL
	               ? feasible.word[word]
	               : feasible.word[word] & ~state->ignored.word[word];
}

static uint32_t count_scored(const struct spread_state *state, struct pl_bitset feasible)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < pl_bitset_words(feasible.bits); i++)
		count += (uint32_t)__builtin_popcountll(scored_word(state, feasible, i));
	return count;
}

/* To kube-scheduler a missing label has the empty value: where nodes without the key take
 * part, they share a domain with nodes whose value is empty. */
static uint32_t number_of_missing(const struct plugin_call *call,
                                  const struct spread_rule *rule)
{
	uint32_t empty = strings_find(&call->snapshot->model->strings, PL_SPAN_LIT(""));

	return empty == 0 || rule->hostname ? 0 : label_column_find(rule->column, empty);
}

/* Number of domains with scored nodes. 0: out of memory, since there is at least one such
 * node. */
static uint32_t count_domains(const struct plugin_call *call, struct pl_bitset feasible,
                              const struct spread_rule *rule, uint32_t missing)
{
	const struct spread_state *state = call->state;
	const struct label_column *column = rule->column;
	uint32_t found = 0, all = column->domains;
	uint8_t *seen = pl_arena_zalloc(call->arena, column->domains_end + 1U, 1);

	if (seen == NULL)
		return 0;
	all += rule->labelled < call->snapshot->nodes && missing == 0;
	for (uint32_t i = 0; i < pl_bitset_words(feasible.bits) && found < all; i++) {
		const uint32_t *value = column->value + (size_t)i * 64;

		SLOT_WORDS_EACH(bit, scored_word(state, feasible, i))
		{
			uint32_t number = value[bit] == 0 ? missing : value[bit];

			found += seen[number] == 0;
			seen[number] = 1;
		}
	}
	return found;
}

static double one_score(int32_t count, const struct spread_rule *rule, double weight)
{
	return count * weight + ((double)rule->constraint.max_skew - 1);
}

static bool fill_domains(const struct plugin_call *call, const struct spread_rule *rule,
                         uint32_t missing, struct spread_soft *soft)
{
	const struct spread_class *class_state = call->class_state;
	uint32_t end = rule->column->domains_end;
	int32_t *count =
		spread_count(call, &class_state->soft, rule, class_state->all_keys);

	soft->by_domain = pl_arena_zalloc(call->arena, end + 1U, sizeof(double));
	if (count == NULL || soft->by_domain == NULL)
		return false;
	if (missing != 0 && !class_state->all_keys && count[0] != SPREAD_ABSENT)
		count[missing] =
			count[0] + (count[missing] == SPREAD_ABSENT ? 0 : count[missing]);
	for (uint32_t i = 1; i < end; i++)
		soft->by_domain[i] = one_score(count[i] == SPREAD_ABSENT ? 0 : count[i],
		                               rule, soft->weight);
	return true;
}

/* An upper bound of what the rule adds; infinite when that may be negative. */
static double most_of(const struct spread_rule *rule, double weight)
{
	double pods = rule->matcher == NULL ? 0 : rule->matcher->pods;

	return rule->constraint.max_skew < 1 ? INFINITY
	                                     : pods * weight + rule->constraint.max_skew;
}

static bool soft_make(const struct plugin_call *call, struct pl_bitset feasible,
                      const struct spread_rule *rule, uint32_t scored)
{
	const struct spread_class *class_state = call->class_state;
	struct spread_state *state = call->state;
	struct spread_soft *soft = &state->soft[rule - class_state->soft.at];
	uint32_t missing = number_of_missing(call, rule), domains = scored;

	if (!rule->hostname && scored > 0) {
		domains = count_domains(call, feasible, rule, missing);
		if (domains == 0)
			return false;
	}
	soft->weight = log(domains + 2.0);
	return rule->hostname || fill_domains(call, rule, missing, soft);
}

enum verdict_code spread_pre_score(const struct plugin_call *call,
                                   struct pl_bitset feasible, struct verdict *verdict)
{
	const struct spread_class *class_state = call->class_state;
	struct spread_state *state = call->state;
	uint32_t scored;
	double most = 0;
	struct pl_err err;

	if (spread_refresh(call, &err) != PL_OK)
		return spread_fail(verdict);
	if (class_state->soft.count == 0)
		return VERDICT_SKIP;
	state->soft = pl_arena_zalloc(call->arena, class_state->soft.count,
	                              sizeof *state->soft);
	if (state->soft == NULL || !find_ignored(call, feasible))
		return spread_fail(verdict);
	scored = count_scored(state, feasible);
	for (uint32_t i = 0; i < class_state->soft.count; i++) {
		if (!soft_make(call, feasible, &class_state->soft.at[i], scored))
			return spread_fail(verdict);
		most += most_of(&class_state->soft.at[i], state->soft[i].weight);
	}
	state->small = most < INT32_MAX;
	return VERDICT_SUCCESS;
}

/* -- score ------------------------------------------------------------------------------- */

/* Rounds half away from zero. */
static int64_t round_half(double sum)
{
	int64_t whole = (int64_t)sum;
	double rest = sum - (double)whole;

	return whole + (rest >= 0.5) - (rest <= -0.5);
}

/* Rounds without comparisons: twice the fraction, cut off, is 1 or 0. */
static void round_small(const double sum[64], int64_t *out)
{
	int32_t whole[64];

	for (unsigned i = 0; i < 64; i++) {
		double rest;

		whole[i] = (int32_t)sum[i];
		rest = sum[i] - whole[i];
		whole[i] += (int32_t)(rest + rest);
	}
	for (unsigned i = 0; i < 64; i++)
		out[i] = whole[i];
}

static void add_domains(const double *by_domain, const uint32_t *value, double sum[64])
{
	for (unsigned i = 0; i < 64; i++)
		sum[i] += by_domain[value[i]];
}

static void add_nodes(const struct spread_rule *rule, double weight, size_t first,
                      double sum[64])
{
	static const uint32_t none[64];
	const uint32_t *on_node =
		rule->matcher == NULL ? none : rule->matcher->on_node + first;

	for (unsigned i = 0; i < 64; i++)
		sum[i] += one_score((int32_t)on_node[i], rule, weight);
}

/* Nodes without the key get 0. */
static void add_some_nodes(const struct spread_rule *rule, double weight, size_t first,
                           double sum[64])
{
	const uint32_t *value = rule->column->value + first;
	double one[64] = {0};

	add_nodes(rule, weight, first, one);
	for (unsigned i = 0; i < 64; i++)
		sum[i] += value[i] == 0 ? 0 : one[i];
}

static void score_word(const struct plugin_call *call, uint32_t word, int64_t *out)
{
	const struct spread_class *class_state = call->class_state;
	const struct spread_state *state = call->state;
	double sum[64] = {0};

	for (uint32_t i = 0; i < class_state->soft.count; i++) {
		const struct spread_rule *rule = &class_state->soft.at[i];
		const struct spread_soft *soft = &state->soft[i];
		size_t first = (size_t)word * 64;

		if (soft->by_domain != NULL)
			add_domains(soft->by_domain, rule->column->value + first, sum);
		else if (rule->labelled == call->snapshot->nodes)
			add_nodes(rule, soft->weight, first, sum);
		else
			add_some_nodes(rule, soft->weight, first, sum);
	}
	if (state->small)
		round_small(sum, out);
	else
		for (unsigned i = 0; i < 64; i++)
			out[i] = round_half(sum[i]);
}

bool spread_score(const struct plugin_call *call, struct node_span span, int64_t *out)
{
	SPAN_EACH_WORD(i, span)
	if (span.bits[i] != 0)
		score_word(call, span.word + i, out + (size_t)i * 64);
	return true;
}

/* -- normalize --------------------------------------------------------------------------- */

struct score_range {
	int64_t low, high;
};

static struct score_range range_of(const struct spread_state *state,
                                   struct pl_bitset feasible, const int64_t *score)
{
	struct score_range out = {INT64_MAX, 0};

	for (uint32_t i = 0; i < pl_bitset_words(feasible.bits); i++) {
		const int64_t *at = score + (size_t)i * 64;
		uint64_t bits = scored_word(state, feasible, i);

		if (bits == UINT64_MAX) {
			for (unsigned bit = 0; bit < 64; bit++) {
				out.low = at[bit] < out.low ? at[bit] : out.low;
				out.high = at[bit] > out.high ? at[bit] : out.high;
			}
			continue;
		}
		SLOT_WORDS_EACH(bit, bits)
		{
			out.low = at[bit] < out.low ? at[bit] : out.low;
			out.high = at[bit] > out.high ? at[bit] : out.high;
		}
	}
	return out;
}

/* Scores up to here can be divided as doubles: the added half keeps quotients away from
 * whole numbers by more than doubles are inexact. */
enum { QUICK_MAX = 1 << 30 };

/* Normalises all 64 slots: the value of an infeasible slot is clamped into the range, and
 * not used. */
static void normalize_quickly(struct score_range range, int64_t *score)
{
	int32_t top = (int32_t)(range.high + range.low);
	int32_t low = (int32_t)range.low, high = (int32_t)range.high;
	double part = PLUGIN_SCORE_MAX / (double)high, half = 0.5 / PLUGIN_SCORE_MAX;
	int32_t one[64];

	for (unsigned i = 0; i < 64; i++)
		one[i] = (int32_t)(uint32_t)(uint64_t)score[i];
	for (unsigned i = 0; i < 64; i++) {
		one[i] = one[i] < low ? low : one[i];
		one[i] = one[i] > high ? high : one[i];
	}
	for (unsigned i = 0; i < 64; i++)
		one[i] = (int32_t)(((double)(top - one[i]) + half) * part);
	for (unsigned i = 0; i < 64; i++)
		score[i] = one[i];
}

static void normalize_word(struct score_range range, uint64_t bits, int64_t *score)
{
	if (range.high == 0) {
		SLOT_WORDS_EACH(bit, bits)
		score[bit] = PLUGIN_SCORE_MAX;
	} else if (range.high + range.low < QUICK_MAX && range.low >= 0) {
		normalize_quickly(range, score);
	} else {
		SLOT_WORDS_EACH(bit, bits)
		score[bit] = PLUGIN_SCORE_MAX * (range.high + range.low - score[bit]) /
		             range.high;
	}
}

void spread_normalize(const struct plugin_call *call, struct pl_bitset feasible,
                      int64_t *score)
{
	const struct spread_state *state = call->state;
	struct score_range range = range_of(state, feasible, score);

	for (uint32_t i = 0; i < pl_bitset_words(feasible.bits); i++) {
		if (feasible.word[i] == 0)
			continue;
		normalize_word(range, scored_word(state, feasible, i),
		               score + (size_t)i * 64);
		if (state->ignored.word != NULL)
			SLOT_WORDS_EACH(bit, state->ignored.word[i])
		score[(size_t)i * 64 + bit] = 0;
	}
}
