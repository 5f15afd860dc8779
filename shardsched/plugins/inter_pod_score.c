/*
 * Score of InterPodAffinity: what the pod's preferences find in the domains of a node,
 * and what pods there whose terms match it add.
 *
 * Labels with few domains (zones) are added up in a table by domain, one look-up for a
 * node. Labels with many domains (host names) mostly have pods in few of them, so only
 * the nodes with pods are visited, rule by rule.
 */
#include <string.h>

#include "shardsched/plugins/inter_pod_affinity.h"

enum {
	TABLE_DOMAINS_MAX = 512, /* labels with more domains have no table */
	SHARES_MAX = 4096,       /* a larger range of scores has no table */
};

/* The part of one rule in the score. */
struct inter_pod_part {
	const struct label_column *column;
	const uint32_t *in_domain;
	const struct tally *tally; /* either tally or carrier is set */
	const struct carrier *carrier;
	int64_t weight;
};

static int64_t weight_of(const struct inter_pod_args *args, const struct carrier *carrier)
{
	switch (carrier->kind) {
	case CARRIER_ANTI:
		return 0;
	case CARRIER_AFFINITY:
		return args->hard_weight;
	case CARRIER_SOFT:
		return carrier->weight;
	case CARRIER_SOFT_ANTI:
		return -carrier->weight;
	}
	PL_UNREACHABLE("no such carrier");
}

static struct inter_pod_table *table_of(struct inter_pod_state *state,
                                        const struct label_column *column)
{
	for (uint32_t i = 0; i < state->tables; i++)
		if (state->table[i].column == column)
			return &state->table[i];
	return NULL;
}

static bool add_to_table(const struct plugin_call *call,
                         const struct inter_pod_part *part)
{
	struct inter_pod_state *state = call->state;
	struct inter_pod_table *table = table_of(state, part->column);
	uint32_t domains = part->column->domains_end;

	if (table == NULL) {
		table = &state->table[state->tables];
		table->column = part->column;
		table->score =
			pl_arena_zalloc(call->arena, domains, sizeof *table->score);
		if (table->score == NULL)
			return false;
		state->tables++;
	}
	for (uint32_t i = 1; i < domains; i++)
		table->score[i] += part->weight * part->in_domain[i];
	return true;
}

static bool add_part(const struct plugin_call *call, const struct inter_pod_part *part)
{
	struct inter_pod_state *state = call->state;
	const uint64_t *nodes;

	if (part->column->domains_end <= TABLE_DOMAINS_MAX)
		return add_to_table(call, part);
	if (part->tally != NULL) {
		tally_refresh(call->snapshot, part->tally);
		nodes = tally_nodes(part->tally);
	} else {
		carrier_refresh(call->snapshot, part->carrier);
		nodes = carrier_nodes(part->carrier);
	}
	state->sparse[state->sparse_count++] = (struct inter_pod_sparse){
		.column = part->column,
		.nodes = nodes,
		.in_domain = part->in_domain,
		.weight = part->weight,
	};
	return true;
}

static bool add_preferences(const struct plugin_call *call)
{
	const struct inter_pod_class *class_state = call->class_state;
	const struct inter_pod_tally *soft = inter_pod_soft(class_state);

	for (uint32_t i = 0; i < class_state->soft; i++) {
		const struct tally *tally = soft[i].tally;
		struct inter_pod_part part = {tally->column, tally->in_domain, tally,
		                              NULL, soft[i].weight};

		if (tally_inside(tally) > 0 && !add_part(call, &part))
			return false;
	}
	return true;
}

static bool add_carriers(const struct plugin_call *call)
{
	for (uint32_t i = 0; i < call->view->concerns_count; i++) {
		const struct carrier *carrier = call->view->concerns[i];
		struct inter_pod_part part = {carrier->column, carrier->in_domain, NULL,
		                              carrier, weight_of(call->args, carrier)};

		if (carrier->inside > 0 && part.weight != 0 && !add_part(call, &part))
			return false;
	}
	return true;
}

enum verdict_code inter_pod_pre_score(const struct plugin_call *call,
                                      struct pl_bitset feasible, struct verdict *verdict)
{
	const struct inter_pod_args *args = call->args;
	const struct inter_pod_class *class_state = call->class_state;
	struct inter_pod_state *state = call->state;
	size_t most = (size_t)class_state->soft + call->view->concerns_count;
	bool done;

	(void)feasible;
	if (most == 0 || (args->ignore_others && class_state->soft == 0))
		return VERDICT_SKIP;
	state->low = INT64_MAX;
	state->high = INT64_MIN;
	state->table = pl_arena_alloc(call->arena, most * sizeof *state->table);
	state->sparse = pl_arena_alloc(call->arena, most * sizeof *state->sparse);
	done = state->table != NULL && state->sparse != NULL && add_preferences(call) &&
	       add_carriers(call);
	if (!done) {
		verdict_add(verdict, VERDICT_ERROR,
		            &(struct reason){.code = REASON_FAILED});
		return VERDICT_ERROR;
	}
	return state->tables + state->sparse_count > 0 ? VERDICT_SUCCESS : VERDICT_SKIP;
}

/* Sets all 64 slots, whichever are asked about. */
static void set_from_table(const struct inter_pod_table *table, uint32_t word,
                           int64_t *score)
{
	const uint32_t *value = table->column->value + (size_t)word * 64;
	const int64_t *by_domain = table->score;

	for (unsigned i = 0; i < 64; i++)
		score[i] = by_domain[value[i]];
}

static void add_table(const struct inter_pod_table *table, uint32_t word, int64_t *score)
{
	const uint32_t *value = table->column->value + (size_t)word * 64;
	const int64_t *by_domain = table->score;

	for (unsigned i = 0; i < 64; i++)
		score[i] += by_domain[value[i]];
}

static void add_sparse(const struct inter_pod_sparse *sparse, uint32_t word,
                       uint64_t bits, int64_t *score)
{
	const uint32_t *value = sparse->column->value + (size_t)word * 64;

	for (bits &= sparse->nodes[word]; bits != 0; bits &= bits - 1) {
		unsigned i = (unsigned)__builtin_ctzll(bits);

		score[i] += sparse->weight * sparse->in_domain[value[i]];
	}
}

static void widen_range(struct inter_pod_state *state, uint64_t bits,
                        const int64_t *score)
{
	int64_t low = state->low, high = state->high;

	for (unsigned i = 0; i < 64 && bits == UINT64_MAX; i++) {
		low = score[i] < low ? score[i] : low;
		high = score[i] > high ? score[i] : high;
	}
	for (bits = bits == UINT64_MAX ? 0 : bits; bits != 0; bits &= bits - 1) {
		unsigned i = (unsigned)__builtin_ctzll(bits);

		low = score[i] < low ? score[i] : low;
		high = score[i] > high ? score[i] : high;
	}
	state->low = low;
	state->high = high;
}

bool inter_pod_score(const struct plugin_call *call, struct node_span span,
                     int64_t *score)
{
	struct inter_pod_state *state = call->state;

	SPAN_EACH_WORD(i, span)
	{
		int64_t *at = score + (size_t)i * 64;

		if (span.bits[i] == 0)
			continue;
		if (state->tables == 0)
			memset(at, 0, 64 * sizeof *at);
		else
			set_from_table(&state->table[0], span.word + i, at);
		for (uint32_t j = 1; j < state->tables; j++)
			add_table(&state->table[j], span.word + i, at);
		for (uint32_t j = 0; j < state->sparse_count; j++)
			add_sparse(&state->sparse[j], span.word + i, span.bits[i], at);
		widen_range(state, span.bits[i], at);
	}
	return true;
}

static int64_t share_of_range(int64_t above, int64_t range)
{
	return (int64_t)((double)PLUGIN_SCORE_MAX * ((double)above / (double)range));
}

/* Divisions are slow, and many nodes have the same score: the normalised value of each
 * score above the lowest is computed once. */
struct inter_pod_shares {
	int64_t low, range;
	uint8_t known[SHARES_MAX + 1]; /* the value plus one; 0: not computed yet */
};

static int64_t cached_share(struct inter_pod_shares *shares, int64_t score)
{
	int64_t above = score - shares->low;
	uint8_t *known;

	if (shares->range > SHARES_MAX)
		return share_of_range(above, shares->range);
	known = &shares->known[above];
	if (*known == 0)
		*known = (uint8_t)(share_of_range(above, shares->range) + 1);
	return *known - 1;
}

static void clear_all(struct pl_bitset feasible, int64_t *score)
{
	for (size_t word = 0; word < pl_bitset_words(feasible.bits); word++)
		if (feasible.word[word] != 0)
			memset(score + word * 64, 0, 64 * sizeof *score);
}

/* Scales the range from lowest to highest to 0..100; 0 for all if they are equal. Both
 * were found while scoring, which saw exactly the feasible nodes. */
void inter_pod_normalize(const struct plugin_call *call, struct pl_bitset feasible,
                         int64_t *score)
{
	const struct inter_pod_state *state = call->state;
	struct inter_pod_shares shares;

	if (state->low >= state->high) {
		clear_all(feasible, score);
		return;
	}
	shares.low = state->low;
	shares.range = state->high - state->low;
	if (shares.range <= SHARES_MAX)
		memset(shares.known, 0, (size_t)shares.range + 1);
	for (size_t word = 0; word < pl_bitset_words(feasible.bits); word++) {
		int64_t *at = score + word * 64;

		for (uint64_t left = feasible.word[word]; left != 0; left &= left - 1) {
			unsigned i = (unsigned)__builtin_ctzll(left);

			at[i] = cached_share(&shares, at[i]);
		}
	}
}
